// The panel of a lesson: its choices as fields, and the runs that these ask for. All that a lesson's panel does itself is
// to say what it trains and how it is judged.

import { html, segments, select } from "./_page.js";
import { trainPanel } from "./_train_panel.js";

const WATCHED = 8; // seconds that a run takes where one wants to see it
const FRAMES = 60; // a second

/** A row of choices with its name in sight; the row itself says it to a screen reader. */
const labelled = (text, node) =>
  html("span", { class: "attn-choice" }, html("span", { class: "attn-label", "aria-hidden": "true" }, text), node);

const short = (rate) => `${Number(rate.toPrecision(2))}`;

/** A menu of learning rates, around the one that suits, which says so. */
export const RATE = {
  name: "rate",
  label: "Learning rate",
  make: select,
  options: ({ rate }) =>
    [-2, -1, 0, 1, 2]
      .map((power) => rate * 2 ** power)
      .map((each) => [each, each === rate ? `${short(each)}, suits it` : short(each)]),
};

/** A menu of how many steps to take: parts of those that suit. */
export const stepsOf = (...parts) => ({
  name: "steps",
  label: "Steps",
  make: select,
  options: ({ steps }) => parts.map((part) => Math.round(part * steps)).map((total) => [total, `${total}`]),
});
export const STEPS = stepsOf(0.25, 0.5, 1, 2);

const SPEEDS = [["watch", "to watch"], ["fast", "as fast as it can"]];
export const SPEED = { name: "speed", label: "Speed", make: select, options: () => SPEEDS };

/** How many steps go by from one frame to the next. */
const paceOf = ({ speed, steps }) => (speed === "watch" ? Math.max(1, Math.round(steps / WATCHED / FRAMES)) : Infinity);

/**
 * The panel; what is not said here goes to `trainPanel` as it is.
 *
 *   choice    what is chosen, by the names of the fields: the panel writes into it what the reader takes
 *   fields    of each choice {name, label, options(recipe)}, and where these are not the usual: `make`, a row or a menu;
 *             `title`, what stands before the row; `take(value)`, all that changes with it; `anew`, rate and steps become
 *             those that suit; `least`, fewer options than which are none
 *   recipe()  {step, draws, warmup, rate, steps}: of what is chosen the program, how its weights start, and what suits it
 *   plan(seed, choices)  as there, without what follows from recipe and choices; these are in a text, as runs keep them
 *   taught()  whether there is something to train
 *   ready()   what has to be done before that, if a promise
 *   next()    what is chosen when Train is pressed again after a run; null if only the seed is another
 *   offered() what is chosen at first, and wherever it no longer fits; else null
 */
export function lessonPanel({ choice, fields, recipe, plan, offered, taught = () => true, ready, next, ...rest }) {
  const boxes = fields.map(({ name, label, options, make = segments, ...field }) => {
    const { title = label, take = (value) => ({ [name]: value }), anew = false, least = 0 } = field;
    const box = make({ uid: rest.uid, name: `train-${name}`, label, onchange });
    const node = make === segments && title ? labelled(title, box.node) : box.node;
    function onchange(text) {
      const [value] = options(recipe()).find(([each]) => `${each}` === `${text}`);
      change(take(value), anew);
      if (name !== SPEED.name) panel.restart();
    }
    function set() {
      const there = options(recipe());
      node.hidden = there.length < least;
      box.set(there, choice[name]);
    }
    return { node, set };
  });

  function change(next, anew) {
    Object.assign(choice, next);
    if (anew) {
      const { rate, steps } = recipe();
      Object.assign(choice, { rate, steps });
    }
    for (const box of boxes) box.set();
  }

  function planned(seed) {
    const { rate, steps } = choice;
    const { step: program, draws, warmup, ...suits } = recipe();
    const choices = `${rate} ${steps}`;
    const { run, setup, ...more } = plan(seed, choices);
    return {
      run: { choices, taught: rate === suits.rate && steps === suits.steps, ...run },
      setup: { program, draws, warmup, ...setup, seed, rate, steps },
      ...more,
    };
  }

  const settings = boxes.map(({ node }) => node);
  function onward() {
    const other = next?.() ?? null;
    if (other) change(other, false);
    return other !== null;
  }
  const own = { settings, plan: planned, pace: () => paceOf(choice), onward };
  const panel = trainPanel({ title: "Train one here", ...rest, ...own });

  /** What there is to train has changed. */
  async function reload() {
    if (ready && taught()) await ready();
    panel.node.hidden = !taught();
    if (panel.node.hidden) return;
    const first = offered();
    change(first, first !== null);
    panel.restart();
  }
  return { ...panel, reload };
}
