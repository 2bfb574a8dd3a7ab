// Links in the text that open a state of a widget: <a href="#open-failed">one that failed</a>.
//
// A link opens it in the nearest widget that knows it, and Back returns to the link. #open-failed-2 names
// the second widget of the page that knows it. The page's own address opens one as well, so that it can be
// sent to somebody; without a number it means the first.

const LINKS = 'a[href^="#open-"]';

// Each widget has this module for itself, and they share one listener: what `opens` was told is kept here.
const SHARED = Symbol.for("attn_notes.opens");

/**
 * Let links open the states of the widget in `root`: `states` says by its name what to do; a name does not
 * end in a number. Gives how to stop.
 */
export function opens(root, states) {
  const shared = (document[SHARED] ??= listen());
  shared.states.set(root, states);
  root.dataset.opens = Object.keys(states).join(" ");
  shared.follow(root);
  return () => {
    delete root.dataset.opens;
    shared.states.delete(root);
  };
}

function listen() {
  const states = new Map();
  let here = location.hash;
  let pending = here; // until a widget that knows it is there

  function open({ state, root }, { look = true } = {}) {
    pending = "";
    states.get(root)[state]();
    if (look) lookAt(root);
  }

  function click(event) {
    const link = event.target.closest?.(LINKS);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // a new tab, say
    const asked = askedFor(link.getAttribute("href"), link);
    event.preventDefault();
    event.stopImmediatePropagation(); // there is no heading of that name, for which JupyterLab would look
    const nth = allLinks().indexOf(link);
    const sentence = { nth, top: link.getBoundingClientRect().top, to: asked.address };
    history.replaceState({ ...history.state, sentence }, "");
    history.pushState(null, "", asked.address);
    here = pending = asked.address;
    if (asked.root) open(asked);
  }

  /** Back, forward, or another address: Back to where a link was clicked goes to that sentence. */
  function travel() {
    const from = here;
    here = pending = location.hash;
    const sentence = history.state?.sentence;
    const returns = sentence?.to === from;
    const asked = askedFor(here);
    if (asked.root) open(asked, { look: !returns });
    // The browser goes to where it was, too, and before this; what was opened may be of another height.
    if (returns) setTimeout(() => returnTo(sentence));
  }

  /** Do what the page's address asks of this widget, once those before it are there to be counted. */
  function follow(root) {
    if (!pending || !states.has(root)) return;
    if (before(root)) requestAnimationFrame(() => follow(root));
    else {
      const asked = askedFor(pending);
      if (asked.root === root) open(asked);
    }
  }

  document.addEventListener("click", click, true);
  addEventListener("popstate", travel);
  return { states, follow };
}

const allLinks = () => [...document.querySelectorAll(LINKS)];

/** The state that an address names, the widget that is to open it, if any, and the address of just that. */
function askedFor(address, link) {
  const [, state, number] = /^#open-(.+?)(?:-(\d+))?$/.exec(address) ?? [];
  const knowing = [...document.querySelectorAll("[data-opens]")].filter(({ dataset }) =>
    dataset.opens.split(" ").includes(state),
  );
  const at = number ? number - 1 : link ? nearest(knowing, link) : 0;
  return { state, root: knowing[at], address: `#open-${state}${at ? `-${at + 1}` : ""}` };
}

/** Which of these elements is the least way up or down from a link. */
function nearest(elements, link) {
  const from = link.getBoundingClientRect();
  const ways = elements.map((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    const shown = element.getClientRects().length > 0;
    return shown ? Math.max(top - from.bottom, from.top - bottom, 0) : Infinity;
  });
  return Math.max(0, ways.indexOf(Math.min(...ways))); // there may be none
}

/** Whether a view that the host has put before this widget is still without its widget. */
const before = (root) =>
  [...document.querySelectorAll(".live-widget-view:not([data-state])")].some(
    (view) =>
      !view.contains(root) &&
      view.compareDocumentPosition(root) & Node.DOCUMENT_POSITION_FOLLOWING,
  );

/** Give a widget the focus, so that whoever does not see it hears where they are, and its top to see. */
function lookAt(root) {
  root.tabIndex = -1;
  root.focus({ preventScroll: true });
  const { top } = root.getBoundingClientRect();
  const header = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  if (top < header || top > innerHeight / 2) root.scrollIntoView({ behavior: "instant" });
}

/** Show a link where it was on the screen when it was clicked, with the focus. */
function returnTo({ nth, top }) {
  const link = allLinks()[nth];
  link?.focus({ preventScroll: true });
  for (let box = link; box; box = box.parentElement) { // the page scrolls, or, in JupyterLab, a part of it
    box.scrollTop += link.getBoundingClientRect().top - top;
  }
}
