// A picture in its place: drawn from the page's store and the width there is, and drawn again when either changes. One thing
// in it is always on: ringed, and read out below.

import { html, rove } from "./_page.js";
import { draws } from "./_attention_kit.js";

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * A picture for `view`, of {draw, turnedOn, below}. `draw(now, width)` gives {height, label, start, parts}: what it is,
 * which thing is on at first, and its SVG. `turnedOn(now, row, column, svg, width)` is told which thing is on. `passes(now, hot)` says over what
 * the pointer passes without a press.
 */
export function picture({ store, name, view }) {
  const canvas = html("div", { class: "whole-canvas" });
  const readout = html("p", { class: "whole-readout", "aria-live": "polite" });
  const node = html("div", { class: "whole-picture", "data-picture": name }, canvas, readout);
  let width = 0;
  let chosen = null; // where the reader is in the picture, as long as there is something
  let now = null;

  const hots = () => [...canvas.querySelectorAll(".whole-hot")];
  const at = (place) => canvas.querySelector(`.whole-hot[data-at="${place}"]`);

  function draw() {
    now = store.now();
    width = Math.floor(canvas.clientWidth);
    if (!now || !width) return;
    const focused = canvas.contains(document.activeElement);
    const { height, label, start, parts } = view.draw(now, width, store);
    const svg = draws("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label }, parts);
    canvas.replaceChildren(svg);
    const first = (chosen && at(chosen)) ?? at(start) ?? hots()[0];
    if (!first) return;
    turnOn(first);
    if (focused) first.focus({ preventScroll: true });
  }

  function turnOn(hot) {
    for (const other of hots()) {
      other.classList.toggle("whole-on", other === hot);
      other.setAttribute("tabindex", other === hot ? 0 : -1);
    }
    const said = JSON.parse(hot.dataset.say);
    readout.replaceChildren(...said.map((part, i) => (i % 2 ? html("b", {}, part) : part)));
    view.turnedOn?.(now, ...hot.dataset.at.split(",").map(Number), canvas.firstChild, width);
  }

  function pointed({ type, target }) {
    const hot = target.closest?.(".whole-hot");
    if (!hot || (type !== "focusin" && (performance.now() < (canvas.deaf ?? 0) || view.passes?.(now, hot)))) return;
    chosen = hot.dataset.at;
    turnOn(hot);
  }

  function keys(event) {
    const hot = event.target.closest(".whole-hot");
    if (!hot) return;
    if ((event.key === "Enter" || event.key === " ") && hot.onpress) {
      event.preventDefault();
      hot.onpress();
    }
    if (!STEPS[event.key]) return;
    event.preventDefault();
    let place = hot.dataset.at.split(",").map(Number);
    for (let tries = 0; tries < 30; tries++) {
      place = place.map((value, axis) => value + STEPS[event.key][axis]);
      const next = at(place.join(","));
      if (next) return rove(hot, next); // over holes in the picture to the next thing
    }
  }

  for (const type of ["pointermove", "pointerdown", "focusin"]) canvas.addEventListener(type, pointed); // a page that scrolls moves no pointer
  canvas.addEventListener("keydown", keys);
  canvas.addEventListener("click", ({ target }) => {
    const hot = target.closest(".whole-hot");
    if (hot?.onpress) return hot.onpress();
    const place = target.closest("[data-place]")?.dataset.place;
    if (place !== undefined) store.set({ place: Number(place) });
  });
  view.listen?.(canvas, store);

  // What cannot be seen waits until the page has drawn what can.
  let waiting = false;
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }
  const stop = store.watch((change) => {
    const moved = change && ("word" in change || "place" in change || "model" in change);
    if (moved && !canvas.contains(document.activeElement)) chosen = null;
    const { top, bottom } = canvas.getBoundingClientRect();
    if (bottom > -200 && top < innerHeight + 200) draw();
    else later();
  });
  const sized = new ResizeObserver(() => {
    if (Math.floor(canvas.clientWidth) !== width) later(); // what changes its own size waits
  });
  sized.observe(canvas);
  draw();
  return {
    node,
    draw,
    free() {
      stop();
      sized.disconnect();
    },
  };
}
