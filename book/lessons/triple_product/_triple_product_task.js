// The task in the page: what is known of a text, and sequences to show and to learn from.

import { random, slot } from "./program.js";
import { TASKS } from "./trainer.js";

export const LONGEST_TEXT = 40;
export const LETTERS = "abcdefghijklmnopqrstuvwxyz";

/** Whether these tokens, as far as they go, repeat with this period. */
const repeats = (tokens, period) =>
  tokens.every((token, t) => t < period || token === tokens[t - period]);

/** The best possible prediction of the token after `tokens`: probabilities, or null where the text
 * repeats with none of the task's periods. As `Copying.ideal` in attn_notes/tasks/copying.py. */
export function ideal(tokens, { periods, vocabulary }) {
  const n = tokens.length;
  const joint = new Array(vocabulary).fill(0);
  for (const p of periods) {
    if (!repeats(tokens, p)) continue;
    const weight = vocabulary ** -Math.min(n, p);
    for (let token = 0; token < vocabulary; token++) {
      joint[token] += weight * (n < p ? 1 / vocabulary : Number(token === tokens[n - p]));
    }
  }
  const sum = joint.reduce((total, value) => total + value, 0);
  return sum ? joint.map((value) => value / sum) : null;
}

const SURE = 3; // repeated tokens, for a text to repeat by more than chance

/** The shortest period with which these tokens repeat, whatever the task's, or null. */
export function periodOf(tokens) {
  for (let p = 1; p <= tokens.length - SURE; p++) if (repeats(tokens, p)) return p;
  return null;
}

/** Where the token after `tokens` stands one period earlier, or null where none of the task's periods
 * has come round. */
export function source(tokens, { periods }) {
  const period = periods.find((p) => p <= tokens.length && repeats(tokens, p));
  return period ? tokens.length - period : null;
}

/** A short text of the task, to suggest: its longest period in the order of the alphabet. */
export function example({ vocabulary, periods }) {
  const period = Math.max(...periods);
  const length = Math.min(LONGEST_TEXT, Math.ceil(1.5 * period));
  return spell(Array.from({ length }, (_, t) => (t % period) % vocabulary));
}

/** A sequence of the task: random tokens, repeated with one of its periods. */
export function sequence({ vocabulary, periods, length }, uniform = Math.random) {
  const below = (n) => Math.floor(n * uniform());
  const period = periods[below(periods.length)];
  const start = Array.from({ length: period }, () => below(vocabulary));
  return Array.from({ length }, (_, t) => start[t % period]);
}

/** The tokens that the reader meant, or null: capital letters are forgiven. */
export function parse(typed, vocabulary) {
  const tokens = [...typed.toLowerCase()].map((letter) => LETTERS.indexOf(letter));
  const fits = tokens.length >= 1 && tokens.length <= LONGEST_TEXT;
  return fits && tokens.every((token) => token >= 0 && token < vocabulary) ? tokens : null;
}

export const spell = (tokens) => tokens.map((token) => LETTERS[token]).join("");

// ---------------------------------------------------------------------------------------------
// Learning it, in a Worker

const HELD_OUT = 2; // the seed of the sequences to judge by, which no model learns from

/** The mean loss of the best possible predictor on these very sequences. */
export function bestLoss(sequences, task) {
  let sum = 0;
  let count = 0;
  for (const tokens of sequences) {
    for (let t = 1; t < tokens.length; t++) {
      sum -= Math.log(ideal(tokens.slice(0, t), task)[tokens[t]]);
      count++;
    }
  }
  return sum / count;
}

/** `count` sequences to judge by, the same for every model. */
export function heldOut(task, count) {
  const { uniform } = random(HELD_OUT);
  return Array.from({ length: count }, () => sequence(task, uniform));
}

/**
 * Every step reads fresh sequences of options.task. `judge` gives the loss and the share of copies that
 * are right on options.count others, and the loss of the best possible predictor on the same ones; at the end
 * the share of copies as well, in percent, at each period of options.tested.
 */
TASKS.copying = ({ H, program, run, random: generator, options: { task, count, every, tested } }) => {
  const batch = slot(H, program.inputs.batch);
  const [size, length] = program.inputs.batch[1];
  const put = (sequences) => sequences.forEach((tokens, i) => batch.set(tokens, i * length));
  const fresh = () => sequence(task, generator.uniform);
  const [loss, copied, right] = ["loss", "accuracy", "right"].map((name) => slot(H, program.outputs[name]));
  const batches = Math.ceil(count / size);
  let held = null;
  let best = null;

  /** The mean of what `found` measures of each batch of these sequences. */
  function mean(sequences, found) {
    let sum = 0;
    for (let i = 0; i < batches; i++) {
      put(sequences.slice(i * size, (i + 1) * size));
      run();
      sum += found() / batches;
    }
    return sum;
  }

  /** The share of copies right at a period: of two periods, in the second all but its first letter. */
  function copiedAt(period) {
    const sequences = heldOut({ ...task, periods: [period] }, batches * size);
    return mean(sequences, () => {
      let sum = 0;
      for (let i = 0; i < size; i++) {
        for (let t = period; t < 2 * period - 1; t++) sum += right[i * (length - 1) + t];
      }
      return sum / size / (period - 1);
    });
  }

  return {
    every,
    feed: () => put(Array.from({ length: size }, fresh)),
    judge(last) {
      held ??= heldOut(task, batches * size);
      best ??= bestLoss(held, task);
      const found = { loss: 0, best };
      found.copied = mean(held, () => {
        found.loss += loss[0] / batches;
        return copied[0];
      });
      if (last) found.transfer = tested.map((period) => [period, 100 * copiedAt(period)]);
      return found;
    },
  };
};
