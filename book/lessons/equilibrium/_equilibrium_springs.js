// Two rings between two walls, joined by three springs: one ring is pushed, and the other follows.

import { html, slider, svg } from "./_page.js";
import { trimmed, words } from "./_equilibrium_numbers.js";

/** The springs, from wall to wall, and how stiff one can be. */
export const SPRINGS = ["left", "middle", "right"];
export const STIFF = [1, 5];
const PUSH = 3;

/** How far both rings move, one of them pushed: K⁻¹ f, with K = [[a + b, −b], [−b, b + c]]. */
export function pushed(ring, [a, b, c]) {
  const det = a * b + b * c + c * a;
  return [[b + c, b], [b, a + b]][ring].map((x) => (PUSH * x) / det);
}

// --- the drawing: a row for each ring that is pushed

const [UNIT, HIGH] = [20, 112];
const [WALL, ...RINGS] = [10, 150, 300];
const FAR = 450;
const TURNS = 8;

/** A spring between two places, drawn thicker the stiffer it is. */
export function coil(from, to, stiff) {
  const turn = (to - from - 24) / TURNS;
  const wave = `l${turn / 4} -8l${turn / 2} 16l${turn / 4} -8`;
  return svg("path", { class: "eq-coil", d: `M${from} 0h12${wave.repeat(TURNS)}H${to}`, "stroke-width": 0.5 + 0.6 * stiff });
}

export const wall = (x) => svg("path", { class: "eq-wall", d: `M${x} -24V24` });

/** The arrow over whoever is pushed. */
export const push = (x) => [
  svg("path", { class: "eq-push", d: `M${x - 44} -28H${x + 4}` }),
  svg("path", { class: "eq-push-tip", d: `M${x + 12} -28l-12 -6v12Z` }),
];

function row(ring, stiff) {
  const far = pushed(ring, stiff);
  const at = RINGS.map((x, i) => x + UNIT * far[i]);
  const ends = [WALL, ...at, FAR];
  return svg(
    "g",
    { transform: `translate(0 ${52 + HIGH * ring})` },
    wall(WALL),
    wall(FAR),
    ...stiff.map((k, i) => coil(ends[i], ends[i + 1], k)),
    ...RINGS.map((x) => svg("circle", { class: "eq-from", cx: x, cy: 0, r: 9 })),
    ...at.map((x) => svg("circle", { class: "eq-bead", cx: x, cy: 0, r: 9 })),
    ...push(at[ring]),
    words(at[ring] - 50, -23, `pushed by ${PUSH}`, "eq-pushed", "end"),
    ...at.map((x, i) => words((x + RINGS[i]) / 2, 40, `moves by ${trimmed(far[i])}`, i === ring ? "" : "eq-follows")),
  );
}

export function springsView({ uid, model, save, say }) {
  const picture = svg("svg", { class: "eq-numbers", viewBox: `0 0 ${FAR + WALL} ${2 * HIGH - 8}`, role: "img" });
  const sliders = SPRINGS.map((name) =>
    slider({
      uid,
      name,
      label: `${name} spring`,
      min: STIFF[0],
      max: STIFF[1],
      step: 0.5,
      say: trimmed,
      oninput: (k) => save({ [name]: k }),
    }),
  );
  const told = html("p", { class: "eq-verdict" });
  const node = html(
    "div",
    { class: "eq-columns" },
    html("div", { class: "eq-left" }, picture),
    html("div", { class: "eq-right eq-stiff" }, ...sliders.map((each) => each.node), told),
  );

  function draw() {
    const stiff = SPRINGS.map((name) => model.get(name));
    const [[, right], [left]] = RINGS.map((_, ring) => pushed(ring, stiff).map(trimmed));
    picture.replaceChildren(...RINGS.map((_, ring) => row(ring, stiff)));
    sliders.forEach((each, i) => each.set(stiff[i]));
    told.textContent =
      `Push the left ring, and the right one follows by ${right}. ` +
      `Push the right ring, and the left one follows by ${left}.`;
    picture.setAttribute("aria-label", `Two rings and three springs, twice. ${told.textContent}`);
    say(told.textContent);
  }
  return { node, draw, leave() {} };
}
