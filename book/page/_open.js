// Words in the text that open a state of a widget: <a href="#open-failed">one that failed</a>.
//
// They become a button, which shows whether the state is on, and gives back what was before when it is pressed again.
// Nothing scrolls: whoever presses it is reading, and the widget is mostly in sight. Where it is not, a link
// beside the words leads there, and Back to the sentence. Without JavaScript the words are words.
//
// A button is about the nearest widget that knows its state; #open-failed-2 names the second of the page that
// knows it. The page's own address opens a state as well, and goes there, so that it can be sent to somebody.

const LINKS = 'a[href^="#open-"]:not(.attn-to)';

// Each widget has this module for itself, and they share one listener: what `opens` was told is kept here.
const SHARED = Symbol.for("attn_notes.opens");

/**
 * Let words open the states of the widget in `root`: `states` says by its name what to do; a name does not
 * end in a number. `chosen` has by their names the model's traits that a state may change. Gives how to stop.
 */
export function opens(root, states, { model, chosen }) {
  const shared = (document[SHARED] ??= listen());
  const names = Object.keys(chosen);
  const events = names.map((trait) => `change:${trait}`).join(" ");
  shared.widgets.set(root, { states, model, names, changes: new Map() });
  root.dataset.opens = Object.keys(states).join(" ");
  model.on(events, shared.refresh);
  shared.refresh();
  shared.follow(root);
  return () => {
    model.off(events, shared.refresh);
    delete root.dataset.opens;
    shared.widgets.delete(root);
    shared.refresh();
  };
}

function listen() {
  const widgets = new Map(); // what `opens` was told of each, and what its states changed when they were opened
  let here = location.hash;
  let pending = { address: here, link: null }; // until a widget that knows it is there
  let due = false; // whether the buttons are about to be drawn anew

  function open({ state, root }) {
    const { states, model, names, changes } = widgets.get(root);
    const values = () => names.map((trait) => [trait, model.get(trait)]);
    const before = values();
    states[state]();
    const both = values().map(([trait, after], i) => ({ trait, before: before[i][1], after }));
    const changed = both.filter((each) => !same(each.before, each.after));
    changes.set(state, changed.length ? changed : both);
    pending = { address: "", link: null };
    refresh();
  }

  /** Whether a state is on: it was opened, and what that changed is still so. */
  function isOn({ state, root }) {
    const { model, changes } = widgets.get(root);
    return Boolean(changes.get(state)?.every(({ trait, after }) => same(model.get(trait), after)));
  }

  /** Give back what was before a state was opened. */
  function shut({ state, root }) {
    const { model, changes } = widgets.get(root);
    for (const { trait, before } of changes.get(state)) model.set(trait, before);
    model.save_changes();
    changes.delete(state);
    refresh();
  }

  function press(link) {
    const asked = askedFor(link.getAttribute("href"), link);
    if (!asked.root) {
      pending = { address: asked.address, link };
      return;
    }
    const sentence = standing(link); // a widget above it may be of another height now
    if (isOn(asked)) shut(asked);
    else {
      open(asked);
      draw();
      if (!inSight(asked.root)) link.after(wayTo(asked, link));
    }
    returnTo(sentence);
  }

  /** Go where a state is shown; Back returns to the sentence. */
  function go({ root, address }, link) {
    history.replaceState({ ...history.state, sentence: { ...standing(link), to: address } }, "");
    history.pushState(null, "", address);
    here = address;
    lookAt(root);
  }

  function wayTo(asked, link) {
    const above = asked.root.getBoundingClientRect().top < link.getBoundingClientRect().top;
    const way = document.createElement("a");
    way.className = "attn-to";
    way.href = asked.address;
    way.textContent = above ? "shown above ↑" : "shown below ↓";
    way.addEventListener("click", (event) => {
      if (isForElsewhere(event)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      go(asked, link);
    });
    return way;
  }

  function click(event) {
    const link = event.target.closest?.(LINKS);
    if (!link || isForElsewhere(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // there is no heading of that name, for which JupyterLab would look
    press(link);
  }

  /** The space bar presses a button, and does not press a link. */
  function onKey(event) {
    const link = event.key === " " && event.target.closest?.(`${LINKS}[aria-pressed]`);
    if (!link) return;
    event.preventDefault();
    press(link);
  }

  /** Soon, once for all that changes at a time. */
  function refresh() {
    if (!due) queueMicrotask(draw);
    due = true;
  }

  /** Make buttons of the words that a widget knows, and show of each whether its state is on. */
  function draw() {
    due = false;
    for (const link of allLinks()) {
      const asked = askedFor(link.getAttribute("href"), link);
      const on = Boolean(asked.root) && isOn(asked);
      if (asked.root) {
        link.setAttribute("role", "button");
        link.setAttribute("aria-pressed", on);
      } else {
        link.removeAttribute("role");
        link.removeAttribute("aria-pressed");
      }
      const way = link.nextElementSibling;
      if (!on && way?.matches(".attn-to")) way.remove();
    }
  }

  /** Back, forward, or another address: Back to where one left a sentence goes to that sentence. */
  function travel() {
    const from = here;
    here = location.hash;
    const sentence = history.state?.sentence;
    const returns = sentence?.to === from;
    if (here === from && !returns) return; // something else of the address has changed
    pending = { address: here, link: null };
    const asked = askedFor(here);
    if (asked.root) {
      open(asked);
      if (!returns) lookAt(asked.root);
    }
    // The browser goes to where it was, too, and before this; what was opened may be of another height.
    if (returns) setTimeout(() => returnTo(sentence));
  }

  /** Do what was asked before this widget was there, once those before it are there to be counted. */
  function follow(root) {
    if (!pending.address || !widgets.has(root)) return;
    if (before(root)) return requestAnimationFrame(() => follow(root));
    const { address, link } = pending;
    const asked = askedFor(address, link);
    if (asked.root !== root) return;
    if (link) return press(link);
    open(asked);
    lookAt(root);
    // What comes above it while the page is still being read moves it, unless the reader went on meanwhile.
    const again = () => setTimeout(() => document.activeElement === root && lookAt(root));
    if (document.readyState !== "complete") addEventListener("load", again, { once: true });
  }

  document.addEventListener("click", click, true);
  document.addEventListener("keydown", onKey, true);
  addEventListener("popstate", travel);
  document.addEventListener("DOMContentLoaded", refresh); // words that were read after the widgets were there
  return { widgets, refresh, follow };
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

const isForElsewhere = (event) => event.ctrlKey || event.metaKey || event.shiftKey || event.altKey; // a new tab, say

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
  if (elements.length < 2) return 0; // nothing to measure
  const from = link.getBoundingClientRect();
  const ways = elements.map((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    const shown = element.getClientRects().length > 0;
    return shown ? Math.max(top - from.bottom, from.top - bottom, 0) : Infinity;
  });
  return Math.max(0, ways.indexOf(Math.min(...ways)));
}

/** Whether a view that the host has put before this widget is still without its widget. */
const before = (root) =>
  [...document.querySelectorAll(".live-widget-view:not([data-state])")].some(
    (view) =>
      !view.contains(root) &&
      view.compareDocumentPosition(root) & Node.DOCUMENT_POSITION_FOLLOWING,
  );

const headerHeight = () => parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;

const SEEN = 240; // pixels of a widget that are enough to see that it has changed

/** Whether enough of a widget is on the screen. */
function inSight(root) {
  const { top, bottom } = root.getBoundingClientRect();
  const shown = Math.min(bottom, innerHeight) - Math.max(top, headerHeight());
  return shown >= Math.min(SEEN, bottom - top);
}

/** Give a widget the focus, so that whoever does not see it hears where they are, and its top to see. */
function lookAt(root) {
  root.tabIndex = -1;
  root.focus({ preventScroll: true });
  const { top } = root.getBoundingClientRect();
  if (top < headerHeight() || top > innerHeight / 2) root.scrollIntoView({ behavior: "instant" });
}

/** Where on the screen a sentence stands, by its button. */
const standing = (link) => ({ nth: allLinks().indexOf(link), top: link.getBoundingClientRect().top });

/** Show a sentence where it stood on the screen, its button with the focus. */
function returnTo({ nth, top }) {
  const link = allLinks()[nth];
  link?.focus({ preventScroll: true });
  for (let box = link; box; box = box.parentElement) { // the page scrolls, or, in JupyterLab, a part of it
    box.scrollTop += link.getBoundingClientRect().top - top;
  }
}
