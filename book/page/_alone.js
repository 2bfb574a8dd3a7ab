// One widget alone and large, for a lecture hall: `?show=sorter` does it, and the button on the widget. What is chosen
// stands in the address, `?show=sorter&text=cab&seed=3`, and is read from there on the next visit.
//
// The page stays as it is underneath, not seen: whoever comes back is where they were, and a model in training
// goes on. Only on the static page, whose host gives a widget its place; a notebook is not somebody's page to hide.

import { button, html, wholly } from "./_page.js";
import { choicesOf } from "./_chosen.js";

const PLACE = ".live-widget";
const SETTLES = 250; // milliseconds: a slider is not written at every step of its way

/**
 * Let the widget in `root` be shown alone by its name: a second one of its kind on the page is `sorter-2`. `chosen`
 * has, by their names, the traits that the address holds. Gives how to stop.
 */
export function alone({ name, root, el, model, chosen }) {
  if (!el.matches(`${PLACE} > .live-widget-view`)) return () => {};
  const { id, first, all } = namesOf(name, el.parentElement);
  const asked = () => new URLSearchParams(location.search).get("show");
  let timer = null;
  let scrolled = null; // where the page was

  const said = html("p", { class: "attn-alone-said", role: "status" });
  const go = button("Show alone", () => (root.dataset.alone === undefined ? enter() : leave()));
  const title = html("h1", { class: "attn-alone-title", hidden: true }, root.getAttribute("aria-label"));
  const bar = html("div", { class: "attn-alone" }, title, said, go);
  root.dataset.show = id;
  root.prepend(bar);

  /** Hide the rest of the page, or no longer. */
  function show(one) {
    if (one === (root.dataset.alone !== undefined)) return;
    clearTimeout(timer);
    const page = document.documentElement;
    if (one) {
      scrolled = scrollY;
      el.style.minHeight = `${root.offsetHeight}px`; // nothing below moves up
      root.dataset.alone = "";
    } else {
      delete root.dataset.alone;
      el.style.minHeight = "";
      said.textContent = "";
    }
    page.classList.toggle("attn-one-alone", one);
    title.hidden = !one; // the page's own is hidden
    go.textContent = one ? "Back to the page" : "Show alone";
    if (one) return;
    scrollTo({ top: scrolled, behavior: "instant" });
    const { top, bottom } = root.getBoundingClientRect();
    if (bottom < 0 || top > innerHeight) root.scrollIntoView({ behavior: "instant" }); // it came by an address
  }

  /** The page's address with the widget and what is chosen in it, or with neither. */
  function address(one) {
    const query = new URLSearchParams(location.search);
    for (const key of ["show", ...Object.keys(chosen)]) query.delete(key);
    for (const [key, text] of Object.entries(one ? { show: id, ...choicesOf(model, chosen) } : {})) query.set(key, text);
    const text = query.toString();
    return location.pathname + (text && `?${text}`); // what #open-… did is among what is chosen
  }

  function enter() {
    history.pushState({ alone: id }, "", address(true));
    show(true);
  }

  /** Back is where one was, if that was this page. */
  function leave() {
    if (history.state?.alone === id) return history.back();
    history.replaceState(history.state, "", address(false));
    show(false);
  }

  /** Take from the address what can be, and say what cannot. */
  function read() {
    const query = new URLSearchParams(location.search);
    const refusals = [];
    for (const [trait, each] of Object.entries(chosen)) {
      if (!query.has(trait)) continue;
      const { value, refused } = each.read(query.get(trait));
      if (refused) refusals.push(`“${trait}” in the address changes nothing. ${refused}`);
      else model.set(trait, value);
    }
    model.save_changes();
    said.textContent = refusals.join(" ");
  }

  function keepUpToDate() {
    if (root.dataset.alone === undefined) return;
    clearTimeout(timer);
    timer = setTimeout(() => history.replaceState(history.state, "", address(true)), SETTLES);
  }

  function travel() {
    const one = asked() === id;
    if (one && root.dataset.alone === undefined) read();
    show(one);
    // Of a page's widgets that can be alone all are of one kind, so the first knows every name.
    if (!first || !asked() || !wholly(document.body) || all().includes(asked())) return;
    said.textContent = `“${asked()}” in the address is no widget of this page. Here is ${all().join(", ")}.`;
  }

  /** Escape, unless something in the widget has a use for it; the page around has one always, and is not seen. */
  function onKey(event) {
    const inside = root.contains(event.target);
    if (event.key !== "Escape" || root.dataset.alone === undefined) return;
    if (event.currentTarget === root ? !event.defaultPrevented : !inside) leave();
  }

  const events = Object.keys(chosen).map((trait) => `change:${trait}`).join(" ");
  model.on(events, keepUpToDate);
  addEventListener("popstate", travel);
  for (const node of [root, document]) node.addEventListener("keydown", onKey);
  travel();
  document.addEventListener("DOMContentLoaded", travel); // there may be more widgets to come
  return () => {
    show(false);
    document.removeEventListener("DOMContentLoaded", travel);
    model.off(events, keepUpToDate);
    removeEventListener("popstate", travel);
    for (const node of [root, document]) node.removeEventListener("keydown", onKey);
    bar.remove();
  };
}

/**
 * The widget's name on its page, whether it is the first of its kind, and the names of all so far; by the places of
 * its kind, which are there before the widgets are.
 */
function namesOf(name, place) {
  const kind = () => [...document.querySelectorAll(PLACE)].filter(({ className }) => className === place.className);
  const named = (at) => (at > 0 ? `${name}-${at + 1}` : name);
  const at = kind().indexOf(place);
  return { id: named(at), first: at === 0, all: () => kind().map((_, i) => named(i)) };
}
