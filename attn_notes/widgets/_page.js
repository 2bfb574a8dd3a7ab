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

const hidden = (...children) => html("span", { class: "attn-hidden" }, ...children);

/** Say something politely, once the reader pauses. */
function speaker() {
  const node = html("p", { class: "attn-hidden", "aria-live": "polite" });
  let timer;
  const say = (sentence) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (node.textContent !== sentence) node.textContent = sentence;
    }, 250);
  };
  return { node, say, quiet: () => clearTimeout(timer) };
}

/** A labelled choice; `set` takes pairs of value and text. */
function select({ uid, name, label, onchange }) {
  const box = html("select", { id: `${uid}-${name}`, onchange: () => onchange(box.value) });
  const node = html(
    "span",
    { class: "attn-choice" },
    html("label", { for: `${uid}-${name}` }, label),
    box,
  );
  const set = (options, value) => {
    const found = [...box.options].map((option) => option.text);
    if (found.join("\n") !== options.map(([, text]) => text).join("\n")) {
      box.replaceChildren(...options.map(([id, text]) => html("option", { value: id }, text)));
    }
    box.value = value;
  };
  return { node, set };
}

/** Move the one tab stop of a set of cells, and the focus with it. */
function rove(from, to) {
  if (!to) return;
  from?.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

const number = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

