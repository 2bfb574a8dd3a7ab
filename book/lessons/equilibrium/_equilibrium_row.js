// A row of rings on springs, one of them the output: each is pushed in turn, or the output once.

import { button, html, number, player, svg } from "./_page.js";
import { words } from "./_equilibrium_numbers.js";
import { coil, push, wall } from "./_equilibrium_springs.js";

/** How stiff each spring is, from wall to wall, and which ring is the output. */
export const STIFF = [1, 2, 1, 4, 1, 1, 3, 1];
export const OUTPUT = 4;
export const RINGS = STIFF.length - 1;

/** How far each ring moves if one of them is pushed by 1: as the springs to its left and to its right give way. */
export function followed(ring, stiff = STIFF) {
  const given = stiff.map((_, i) => stiff.slice(0, i + 1).reduce((all, k) => all + 1 / k, 0)); // from the left wall
  const all = given.at(-1);
  return given.slice(0, -1).map((there, i) => (i < ring ? there * (all - given[ring]) : given[ring] * (all - there)) / all);
}

// --- the drawing: the row as it is pushed now, and below each ring how far it moved the output, and was moved by it

const [GAP, UNIT, BAR] = [52, 20, 46];
const FAR = GAP * (RINGS + 1);
const [ROW, FLOOR] = [52, 174];
const HEIGHT = FLOOR + 42;
const place = (i) => GAP * (i + 1);

export function rowView({ model, save, say }) {
  const picture = svg("svg", { class: "eq-numbers", viewBox: `-10 0 ${FAR + 20} ${HEIGHT}`, role: "img" });
  const motion = player(700, (tried) => save({ tried, last: "tried" }));
  const each = button("Push each in turn", () => motion.play(1, RINGS));
  const once = button("Push the output once", () => {
    motion.stop();
    save({ nudged: 1, last: "nudged" });
  });
  const told = html("p", { class: "eq-verdict" });
  const node = html(
    "div",
    { class: "eq-columns" },
    html("div", { class: "eq-left" }, picture),
    html("div", { class: "eq-right" }, html("div", { class: "attn-controls" }, each, once), told),
  );

  function draw() {
    const [tried, nudged, last] = ["tried", "nudged", "last"].map((name) => model.get(name));
    const now = last === "nudged" ? OUTPUT : tried - 1; // whoever is pushed
    const far = now < 0 ? Array(RINGS).fill(0) : followed(now);
    const at = far.map((x, i) => place(i) + UNIT * x);
    const ends = [0, ...at, FAR];
    const credit = followed(OUTPUT);
    picture.replaceChildren(
      svg("g", { transform: `translate(0 ${ROW})` },
        wall(0), wall(FAR),
        ...STIFF.map((k, i) => coil(ends[i], ends[i + 1], k)),
        ...at.map((x, i) => svg("circle", { class: `eq-bead ${i === OUTPUT ? "eq-output" : ""}`, cx: x, cy: 0, r: 9 })),
        ...(now < 0 ? [] : push(at[now])),
      ),
      words(place(OUTPUT), ROW + 32, "output", "eq-faint"),
      svg("path", { class: "eq-scale", d: `M0 ${FLOOR}H${FAR}` }),
      ...credit.flatMap((moved, i) => {
        // How far the output moved as this ring was pushed is computed by itself.
        const moves = followed(i)[OUTPUT];
        return [
          ...(i < tried ? [svg("rect", { class: "eq-tried", x: place(i) - 15, y: FLOOR - BAR * moves, width: 30, height: BAR * moves })] : []),
          ...(nudged ? [svg("rect", { class: "eq-told", x: place(i) - 9, y: FLOOR - BAR * moved, width: 18, height: BAR * moved })] : []),
          ...(i < tried || nudged ? [words(place(i), FLOOR + 18, number(i < tried ? moves : moved), "eq-faint")] : []),
        ];
      }),
    );
    told.textContent = said(tried, nudged);
    picture.setAttribute("aria-label", `${RINGS} rings in a row, the ${OUTPUT + 1}th the output. ${told.textContent}`);
    if (!motion.going()) say(told.textContent);
  }
  return { node, draw, leave: motion.stop };
}

/** What the bars say, in a sentence or two. */
export function said(tried, nudged) {
  const frames = "Frame: how far the output moves when this ring is pushed by 1.";
  const bars = "Blue: how far this ring moves when the output is pushed by 1.";
  if (tried === RINGS && nudged) return `${RINGS} pushes and one push tell the same. ${frames} ${bars}`;
  return [tried && frames, nudged && bars].filter(Boolean).join(" ") || "At rest. Push each ring, then the output.";
}
