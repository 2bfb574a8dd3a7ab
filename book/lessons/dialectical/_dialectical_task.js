// The best predictor of the bracket strings, exact, as in attn_notes/tasks/brackets.py, which says why it is:
// there are few strings of brackets, each with a known probability, and filler grows after each
// bracket by a known law.

import { forward } from "./_dialectical_model.js";
import { CLOSE, OPEN, SPACE, VOCABULARY, depthOf } from "./_dialectical_text.js";

export const FILLERS = [..."ab "].map((character) => VOCABULARY.indexOf(character));

/** What `write(n)` puts together without its filler: [word, level of each bracket, probability]. */
function shapes(n, level) {
  if (n === 0) return [["", [], 1]];
  const found = [];
  for (let left = 0; left < n; left++) {
    for (const [inner, a, p] of shapes(left, level + 1)) {
      for (const [outer, b, q] of shapes(n - 1 - left, level + 1)) {
        found.push([`(${inner})${outer}`, [level, ...a, level, ...b], (p * q) / n]);
      }
    }
  }
  return found;
}

/** For each level the probability that a bracket and its filler are longer than 0, 1, … characters. */
function lengths(levels, filler) {
  let size = [1];
  return Array.from({ length: levels + 1 }, () => {
    const more = new Array(size.length + 1).fill(0);
    for (let r = size.length - 1; r >= 0; r--) more[r] = more[r + 1] + size[r];
    const next = new Array(2 * size.length).fill(0);
    size.forEach((p, i) => {
      next[i] += (1 - filler) * p;
      size.forEach((q, j) => {
        next[i + j + 1] += filler * p * q;
      });
    });
    size = next;
    return more;
  });
}

/**
 * The best predictor of a task: of some tokens, the probabilities of the token after each; null from
 * where the task cannot have written what was read.
 */
export function bestPredictor({ pairs, max_length: most, filler }) {
  const words = Array.from({ length: pairs }, (_, n) => shapes(n + 1, 1)).flat();
  const more = lengths(pairs, filler);
  // Of each beginning of a string of brackets: the share of strings with it, the share of those that
  // end with it, and the level of its last bracket.
  const states = new Map();
  for (const [word, levels, p] of words) {
    for (let i = 0; i <= word.length; i++) {
      const prefix = word.slice(0, i);
      const state = states.get(prefix) ?? { share: 0, ends: 0, level: levels[i - 1] ?? 0 };
      state.share += p;
      if (i === word.length) state.ends += p;
      states.set(prefix, state);
    }
  }

  /** The probabilities of the token after these brackets and so many characters of filler. */
  function next(prefix, run) {
    const { share, ends: ended, level } = states.get(prefix);
    const grows = (more[level][run + 1] ?? 0) / more[level][run];
    const after = (bracket) => (states.get(prefix + bracket)?.share ?? 0) / share;
    const probabilities = new Array(VOCABULARY.length).fill(0);
    for (const token of FILLERS) probabilities[token] = grows / FILLERS.length;
    probabilities[OPEN] = (1 - grows) * after("(");
    probabilities[CLOSE] = (1 - grows) * after(")");
    probabilities[SPACE] += (1 - grows) * (ended / share);
    return probabilities;
  }

  return (tokens) => {
    let [prefix, run, expected] = ["", 0, next("", 0)];
    return tokens.map((token, t) => {
      const bracket = token === OPEN || token === CLOSE;
      run = bracket ? 0 : run + 1;
      // Where no filler can be a space is the end, and no part of what is read.
      const filled = bracket || more[states.get(prefix).level][run] > 0;
      if (!expected?.[token] || !filled || t >= most - 1) {
        expected = null;
      } else {
        prefix += bracket ? VOCABULARY[token] : "";
        expected = next(prefix, run);
        // A string is cut there, and what follows is its end.
        if (t === most - 2) expected = expected.map((_, other) => Number(other === SPACE));
      }
      return expected;
    });
  };
}

/** −log of a token's share among these logits, in nats. */
export function crossEntropy(logits, token) {
  const largest = Math.max(...logits);
  const sum = logits.reduce((total, logit) => total + Math.exp(logit - largest), 0);
  return Math.log(sum) + largest - logits[token];
}

/**
 * What a string costs: {model, best}, the losses in nats for each of its characters and, where it
 * may end there, for the end. Nothing predicts the first; the best predictor has no loss from the
 * first character on that its task cannot write, at `impossible`, or −1.
 */
export function losses(network, predict, tokens, longest) {
  const { logits } = forward(network, tokens);
  const targets = tokens.slice(1);
  if (depthOf(tokens) === 0 || tokens.length === longest) targets.push(SPACE);
  const expected = predict(tokens);
  const first = expected.findIndex((p) => p === null);
  const best = targets.map((token, t) =>
    expected[t]?.[token] && expected[t + 1] !== null ? -Math.log(expected[t][token]) : null,
  );
  return {
    model: [null, ...targets.map((token, t) => crossEntropy(logits[t], token))],
    best: [null, ...best],
    impossible: first,
  };
}
