// What the panels of several chapters offer: rates around the one that suits, a pace, a challenge.

import { html, select } from "./_page.js";

const WATCHED = 8; // seconds that a run takes where one wants to see it
const FRAMES = 60; // a second

/** A row of choices with its name in sight; the row itself says it to a screen reader. */
export const labelled = (text, { node }) =>
  html(
    "span",
    { class: "attn-choice" },
    html("span", { class: "attn-label", "aria-hidden": "true" }, text),
    node,
  );

const short = (rate) => `${Number(rate.toPrecision(2))}`;

/** How a panel makes its choices: `make` a row or a menu of a name, with what to do when one is taken. */
export const fieldsOf = (uid) => (make, name, label, onchange) =>
  make({ uid, name: `train-${name}`, label, onchange });

/** The menus of learning rate and steps, which is all that some choose; `parts` of the steps that suit. */
export function rateAndSteps({ field, change, parts = [0.25, 0.5, 1, 2] }) {
  const rate = field(select, "rate", "Learning rate", (value) => change({ rate: Number(value) }));
  const total = field(select, "steps", "Steps", (value) => change({ total: Number(value) }));
  function show(suits, choice) {
    rate.set(ratesAround(suits.rate), choice.rate);
    total.set(stepsOf(suits.steps, parts), choice.total);
  }
  return { nodes: [rate.node, total.node], show };
}

/** What a run keeps of that: the choices, and whether they are those that suit, as the lesson's own. */
export const trainedWith = ({ rate, total }, suits) => ({
  choices: `${rate} ${total}`,
  taught: rate === suits.rate && total === suits.steps,
});

/** The options of a menu of learning rates, around the one that suits, which says so. */
const ratesAround = (rate) =>
  [-2, -1, 0, 1, 2]
    .map((power) => rate * 2 ** power)
    .map((each) => [each, each === rate ? `${short(each)}, suits it` : short(each)]);

/** The options of a menu of how many steps to take: parts of those that suit. */
export const stepsOf = (steps, parts) =>
  parts.map((part) => Math.round(part * steps)).map((total) => [total, `${total}`]);

export const SPEEDS = [["watch", "to watch"], ["fast", "as fast as it can"]];

/** How many steps go by from one frame to the next. */
export const paceOf = ({ speed, total }) =>
  speed === "watch" ? Math.max(1, Math.round(total / WATCHED / FRAMES)) : Infinity;

export const shapesOf = (draws) =>
  Object.fromEntries(Object.entries(draws).map(([name, { shape }]) => [name, shape]));

/** Where a challenge stands: what is asked, and how it went. */
export const challengeRow = (...parts) => html("div", { class: "attn-controls attn-challenge" }, ...parts);

export const tallyLine = () => html("p", { class: "attn-train-line", role: "status" });

/**
 * A challenge that the first so many seeds have to meet: `text()` says what is asked, `passed(run, last)` judges
 * one by what is kept of it and the last of its history, `done` says what they did, as in "sort all 27", and
 * `refused()` why the choices do not suit, if they do not.
 */
export const ofSeeds = ({ text, seeds, passed, done, refused = () => null }) => ({
  text,
  passed: (run, last) => Number.isFinite(last?.loss) && passed(run, last),
  judged(runs) {
    const why = refused();
    if (why) return { met: false, words: why };
    const met = runs.filter((run) => run.passed).length;
    const words = `${met} of ${runs.length} seeds ${done}`;
    if (met < runs.length) return { met: false, words };
    return runs.length < seeds ? { met: null, words: `${words}, ${seeds} are asked` } : { met: true, words };
  },
});
