// Learning to write brackets, in a Worker: strings as the task draws them, and what to judge a model by.

import { random, slot } from "./program.js";
import { TASKS } from "./trainer.js";
import { FILLERS, bestPredictor } from "./_dialectical_task.js";
import { CLOSE, OPEN, PAD, SPACE } from "./_dialectical_text.js";

const HELD_OUT = 3; // the seed of the strings to judge by, which no model learns from

/** One string, drawn as `Brackets.sample` in attn_notes/tasks/brackets.py draws it. */
export function drawString({ pairs, fewest, filler, max_length: most }, { uniform, below }) {
  /** Go over all characters and put filler after some. */
  const fill = (tokens) =>
    tokens.flatMap((token) => (uniform() < filler ? [token, FILLERS[below(FILLERS.length)]] : [token]));
  function write(n) {
    if (n === 0) return [];
    const left = below(n);
    return fill([OPEN, ...write(left), CLOSE, ...write(n - 1 - left)]);
  }
  return write(fewest + below(pairs - fewest + 1)).slice(0, most - 1);
}

/** What follows each character: a space after the last. */
export const following = (tokens) => [...tokens.slice(1), SPACE];

/** `count` strings to judge by, the same for every model. */
export function heldOut(task, count) {
  const generator = random(HELD_OUT);
  return Array.from({ length: count }, () => drawString(task, generator));
}

/** What the best predictor pays for these strings, in nats, and for how many predictions. */
export function bestCosts(strings, task) {
  const predict = bestPredictor(task);
  let nats = 0;
  let count = 0;
  for (const tokens of strings) {
    const expected = predict(tokens);
    following(tokens).forEach((token, t) => {
      nats -= Math.log(expected[t][token]);
      count++;
    });
  }
  return { nats, count };
}

/** A string and its like: in each but the first one later character is another, at `place`. */
export function changed(tokens) {
  const others = tokens.slice(1).map((token, i) => ({
    place: i + 1,
    tokens: tokens.with(i + 1, token === CLOSE ? OPEN : CLOSE),
  }));
  return [{ place: tokens.length, tokens }, ...others];
}

/**
 * Every step reads fresh strings of options.task. `judge` gives on options.few held-out strings, at the last
 * step on options.many, the `loss` in nats a prediction, `best`, the best predictor's on the same
 * strings, and `leak`: by how much, at most, a prediction moved when one later character was another.
 */
TASKS.brackets = ({ H, program, run, random: generator, options: { task, few, many, every } }) => {
  const [x, y, costs] = ["batch.0", "batch.1"]
    .map((name) => slot(H, program.inputs[name]))
    .concat(slot(H, program.outputs.costs));
  const [size, length] = program.inputs["batch.0"][1];
  const all = heldOut(task, many);
  const best = [few, many].map((count) => bestCosts(all.slice(0, count), task));

  /** Fill the batch: strings, and what is asked after each; the rest is padding. */
  function put(strings, targets = strings.map(following)) {
    x.fill(PAD);
    y.fill(PAD);
    strings.forEach((tokens, i) => {
      x.set(tokens, i * length);
      y.set(targets[i], i * length);
    });
  }

  function nats(strings) {
    let sum = 0;
    for (let i = 0; i < strings.length; i += size) {
      put(strings.slice(i, i + size));
      run();
      sum += costs.reduce((total, cost) => total + cost, 0);
    }
    return sum;
  }

  /** As many changes of one string as there is room for, the latest characters first. */
  function leak(tokens) {
    const [original, ...others] = changed(tokens);
    const those = [original, ...others.slice(1 - size)];
    put(those.map((each) => each.tokens), those.map(() => following(tokens)));
    run();
    let most = 0;
    those.forEach(({ place }, i) => {
      for (let t = 0; t < place; t++) most = Math.max(most, Math.abs(costs[i * length + t] - costs[t]));
    });
    return most;
  }

  return {
    every,
    feed: () => put(Array.from({ length: size }, () => drawString(task, generator))),
    judge(last) {
      const strings = last ? all : all.slice(0, few);
      const { nats: least, count } = best[Number(last)];
      const longest = strings.reduce((one, other) => (other.length > one.length ? other : one));
      return { loss: nats(strings) / count, best: least / count, leak: leak(longest), last };
    },
  };
};
