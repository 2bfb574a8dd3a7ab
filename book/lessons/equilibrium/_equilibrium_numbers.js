// Two neurons: B rests too high, and is nudged down. How far does each move, as they hear each other, and with the street between them turned round by some share, or by as much as the script's limit lets through?

import { button, html, number, player, segments, slider, svg } from "./_page.js";

/** Near rest z moves by J (z − z*): a row for who is moved, a column for who moves it. */
const street = { J: [[-1, 0], [2, -1]], rest: [1, 2] };
const CONNECTED = {
  "one way": street,
  "both ways": { J: [[-1, 0.5], [0.5, -1]], rest: [1, 2] },
  limited: { ...street, limited: true },
};
/** What can be chosen in each picture, and its words. */
export const CHOICES = {
  numbers: [["one way", "one way"], ["both ways", "both ways"]],
  limit: [["limited", "with the limit"], ["one way", "without"]],
};
const TARGET = 0; // of B
const brief = (x) => number(x, 1).replace(".0", "");
/** Two digits, without what says nothing. */
export const trimmed = (x) => number(x, 2).replace(/\.?0+$/, "");
const STEP = 0.1;
export const FRAMES = 60; // of the way to rest, each of so many steps:
const STEPS = 10;

/** With this share of AEP's force: (1 − s) J + s Jᵀ. */
export const turnedBy = (share, { J: [[a, b], [c, d]] }) => [
  [a, (1 - share) * b + share * c],
  [(1 - share) * c + share * b, d],
];

/** How far both have moved against a nudge of 1, after so many frames, or at rest in the end (null: they never are). */
export function moved(share, { J }, frames = FRAMES) {
  const [[a, b], [c, d]] = turnedBy(share, { J });
  const det = a * d - b * c;
  if (frames === FRAMES) return det > 1e-9 ? [b / det, -a / det] : null;
  return pushed({ J }, frames, () => share).away;
}

/** The same with AEP's force no longer than all others together, after so many frames, and the share that this leaves. */
export const held = (connected, frames = FRAMES) =>
  pushed(connected, frames, (force, extra) => Math.min(1, Math.hypot(...force) / Math.hypot(...extra)));

function pushed({ J: [[a, b], [c, d]] }, frames, shareOf) {
  let [u, v, share] = [0, 0, 1];
  for (let i = 0; i < frames * STEPS; i++) {
    const force = [a * u + b * v, c * u + d * v + 1];
    const extra = [(b - c) * v, (c - b) * u];
    share = shareOf(force, extra);
    [u, v] = [u, v].map((x, k) => x + STEP * (force[k] - share * extra[k]));
  }
  return { away: [u, v], share };
}

/** What words beside each picture open. */
const OPENED = { numbers: ["mutual"], limit: ["half", "whole"] };

// --- the drawing: a scale for each number, and the street between them

const TOP = 2.4;
/** The lowest number of a scale, how many lie between two marks, and how high one is. Under the limit both go far. */
const scaled = (low, every, unit, size) => ({ low, every, size, below: (z) => HEAD + (TOP - z) * unit });
const NEAR = scaled(-3.9, 1, 37, 9);
const LONG = scaled(-15.5, 5, 13, 5);
const HEAD = 78; // above the scales stand both neurons, and the street between them
const WIDTH = 400;
const ACROSS = [105, 295];
const HEIGHT = NEAR.below(NEAR.low) + 8;

export const words = (x, y, text, className = "", anchor = "middle") =>
  svg("text", { x, y, class: `eq-words ${className}`, "text-anchor": anchor }, text);

/** An arrow of the street: as thick as it is strong, its words above or below it. */
function lane([y, told], strength, hears, [from, to]) {
  if (Math.abs(strength) < 0.01) return [];
  const side = Math.sign(to - from);
  return [
    svg("path", { class: "eq-lane", d: `M${from} ${y}H${to - 9 * side}`, "stroke-width": 1 + 2 * strength }),
    svg("path", { class: "eq-tip", d: `M${to} ${y}l${-13 * side} -7v14Z` }),
    words((from + to) / 2, told, `${hears} × ${trimmed(strength)}`),
  ];
}

function scale(i, name, { low, every, below }) {
  const marks = [];
  for (let z = every * Math.ceil(low / every); z <= TOP; z += every) {
    marks.push(svg("path", { class: "eq-scale", d: `M${ACROSS[i] - 4} ${below(z)}h8` }));
    const side = i ? 1 : -1;
    marks.push(words(ACROSS[i] + 24 * side, below(z) + 4, number(z, 0), "eq-faint", i ? "start" : "end"));
  }
  const line = svg("path", { class: "eq-scale", d: `M${ACROSS[i]} ${below(TOP)}V${below(low)}` });
  const neuron = svg("circle", { class: "eq-neuron", cx: ACROSS[i], cy: 32, r: 17 });
  return [line, ...marks, neuron, words(ACROSS[i], 37, name)];
}

/** Where a number was at rest, where B should be, how far it has moved, and how far it ought to. */
function moves(i, { rest, away, truth, nudged }, { low, size, below }) {
  const [x, from, to] = [ACROSS[i], below(rest), below(Math.max(low, rest - away))];
  const right = Math.abs(away - truth) < 0.005;
  return [
    ...(i ? [svg("path", { class: "eq-target", d: `M${x - 19} ${below(TARGET)}h38` })] : []),
    svg("circle", { class: "eq-from", cx: x, cy: from, r: size }),
    svg("path", { class: `eq-moved ${right ? "eq-full" : "eq-none"}`, d: `M${x} ${from}V${to}` }),
    ...(nudged ? [svg("circle", { class: "eq-true-end", cx: x, cy: below(rest - truth), r: 1.5 * size })] : []),
    rest - away < low
      ? svg("path", { class: "eq-gone", d: `M${x - 10} ${to - 14}l10 10l10 -10m-20 10l10 10l10 -10` })
      : svg("circle", { class: "eq-bead", cx: x, cy: to, r: size }),
  ];
}

export function numbersView({ uid, model, save, say }) {
  const choices = CHOICES[model.get("picture")];
  const chosen = () => CONNECTED[model.get("connected")];
  const ground = svg("g");
  const picture = svg(
    "svg",
    { class: "eq-numbers", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" },
    ground,
  );

  /** Show at once where they come to rest. */
  function settle(chosen) {
    motion.stop();
    save({ ...chosen, moved: FRAMES });
  }
  const motion = player(40, (frames) => save({ moved: frames }));
  const nudge = button("Nudge B down", () => motion.play(1, FRAMES));
  const ways = segments({
    uid,
    name: "connected",
    label: "Who hears whom",
    onchange: (connected) => settle({ connected }),
  });
  const turned = slider({
    uid,
    name: "turned",
    label: "Street turned round",
    max: 1,
    step: 0.1,
    say: (share) => `${number(100 * share, 0)} %`,
    oninput: (share) => settle({ turned: share }),
  });
  const cells = ["true", "measured"].map((name) => [name, [0, 1].map(() => html("td"))]);
  const table = html(
    "table",
    { class: "attn-table eq-credits" },
    html("thead", {}, html("tr", {}, ...["credit", "A", "B"].map((head) => html("th", { scope: "col" }, head)))),
    html("tbody", {}, ...cells.map(([name, row]) => html("tr", {}, html("th", { scope: "row" }, name), ...row))),
  );
  const verdict = html("p", { class: "eq-verdict" });
  const legend = html("p", { class: "attn-help" }, "Violet line: where B should rest. Dashed ring: as far from rest as its true credit.");
  const node = html(
    "div",
    { class: "eq-columns" },
    html("div", { class: "eq-left" }, picture),
    html("div", { class: "eq-right" }, nudge, turned.node, ways.node, verdict, table, legend),
  );

  function draw() {
    const [frames, way] = ["moved", "connected"].map((name) => model.get(name));
    const { limited } = chosen();
    const to = model.get("turned");
    const { away: there, share } = limited ? held(chosen(), frames) : { away: moved(to, chosen(), frames), share: to };
    const [away, truth] = [there ?? [99, 99], moved(1, chosen())];
    const [[, back], [forth]] = turnedBy(frames ? share : 0, chosen()); // only while the nudge lasts
    const [a, b] = ACROSS;
    const on = limited && chosen().rest.some((rest, i) => rest - away[i] < NEAR.low) ? LONG : NEAR;
    ground.replaceChildren(
      ...scale(0, "A", on),
      ...scale(1, "B", on),
      ...lane([25, 14], forth, "B hears A", [a + 22, b - 22]),
      ...lane([41, 62], back, way === "both ways" ? "A hears B" : "A hears B’s move", [b - 22, a + 22]),
      ...chosen().rest.flatMap((rest, i) => moves(i, { rest, away: away[i], truth: truth[i], nudged: frames > 0 }, on)),
    );
    const told = judge({ share, frames, way, there, truth });
    picture.setAttribute("aria-label", `Two scales. ${told}`);
    for (const [name, row] of cells) {
      const values = name === "true" ? truth : there;
      row.forEach((cell, i) => {
        if (name === "measured" && !frames) cell.textContent = "–"; // nothing has been
        else cell.textContent = values ? brief(values[i]) : "no end";
      });
    }
    turned.set(share);
    turned.input.disabled = Boolean(limited); // it says what the limit leaves
    ways.set(choices, way);
    verdict.textContent = told;
    if (!motion.going()) say(told);
  }

  const show = (connected, turned) => () => settle({ connected, turned });
  const states = {
    mutual: show("both ways", 0),
    half: show("one way", 0.5),
    whole: show("one way", 1),
  };
  const opened = OPENED[model.get("picture")].map((name) => [name, states[name]]);
  return { node, draw, states: Object.fromEntries(opened), leave: motion.stop };
}

/** What came of it, in a sentence or two. */
export function judge({ share, frames, way, there, truth }) {
  if (!frames) return "B should rest at 0, and rests 2 too high.";
  if (frames < FRAMES) return "B is nudged down by 1.";
  if (way === "limited") {
    const [a, b] = there.map((x) => number(x, 0));
    return `The limit leaves ${number(100 * share, 0)} % of the force. By now A gets ${a} in place of ${truth[0]}, and B ${b} in place of ${truth[1]}, and both still move.`;
  }
  if (way === "both ways") {
    return "Each hears the other alike, so turning changes nothing. Both credits are the true ones.";
  }
  if (!there) return "Each hears the other × 1, so every move comes back as large. They never rest.";
  if (share === 0) return "The naive way: nothing leads back to A. It stays, and gets no credit.";
  if (share === 1) return "AEP: the street is turned round. Both credits are the true ones.";
  const [a, b] = there.map(brief);
  return `Turned in part: A gets ${a} in place of ${truth[0]}, and B ${b} in place of ${truth[1]}.`;
}
