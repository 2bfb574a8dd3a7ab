// What the panels of several chapters offer: rates around the one that suits, a pace, a challenge.

import { button, html } from "./_page.js";
import { series } from "./_training.js";

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

export const short = (rate) => `${Number(rate.toPrecision(2))}`;

/** The options of a menu of learning rates, around the one that suits, which says so. */
export const ratesAround = (rate) =>
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

/** Where a challenge stands: what is asked, what begins it if anything does, and how it went. */
export const challengeRow = (...parts) => html("div", { class: "attn-controls attn-challenge" }, ...parts);

export const tallyLine = () => html("p", { class: "attn-train-line", role: "status" });

/**
 * A challenge that trains seed after seed. `begin` gives {setup(seed), passed(done), words(met, tried)} for
 * the choices as they stand, or {refused}: why they do not suit.
 */
export function seedsChallenge({ esm, text, seeds, begin }) {
  const tally = tallyLine();
  const go = button(`${seeds} seeds`, () => run());
  let asked = 0;
  let runner = null;

  async function run() {
    const { refused, setup, passed, words } = begin();
    if (refused) {
      tally.textContent = refused;
      return;
    }
    const mine = ++asked;
    go.disabled = true;
    runner ??= series(esm);
    const setups = Array.from({ length: seeds }, (_, i) => setup(i + 1)); // whatever is chosen meanwhile
    let met = 0;
    for (const [i, each] of setups.entries()) {
      const done = await runner.next(each);
      if (mine !== asked) return;
      met += Number(done !== null && passed(done));
      tally.textContent = words(met, i + 1);
    }
    go.disabled = false;
  }
  function free() {
    asked++;
    runner?.free();
  }
  return { node: challengeRow(html("p", {}, text), go, tally), free };
}
