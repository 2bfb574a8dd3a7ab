// ---------------------------------------------------------------------------------------------
// Building blocks of the widgets' pages. Text enters a page only as text nodes and attributes.

function element(create, tag, attributes, children) {
  const node = create(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const html = (tag, attributes = {}, ...children) =>
  element((name) => document.createElement(name), tag, attributes, children);

const svg = (tag, attributes = {}, ...children) =>
  element(
    (name) => document.createElementNS("http://www.w3.org/2000/svg", name),
    tag,
    attributes,
    children,
  );

/** Move the one tab stop of a set of cells, and the focus with it. */
function rove(from, to) {
  if (!to) return;
  from?.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

const number = (value) => value.toFixed(2).replace("-", "−");
const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

