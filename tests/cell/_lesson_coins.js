// How the cell of the scripts is trained: it predicts of two letters the next, which is the other one.

import { partOf, settled } from "./_train_guess.js";

const SEEDS = 2;

export default {
  top: 1,
  first: 1,
  criterion: { done: "know it", words: "below, how near it is" },
  guesses: { question: "From when on?", options: [["0.25", "at once"], ["never", "never"]] },
  found: partOf,
  challenge: { seeds: SEEDS, text: "let both seeds know it.", passed: ({ arrived }) => arrived !== null },
  judge: () => ({ next: [a, b, c, d] }) => ({ score: Number(b > a && c > d), words: `${Number(b > a) + Number(c > d)} of 2 known` }),
  series: (history) => ({ loss: history.map(({ step, loss }) => [step, loss]) }),
  outcome: (history, { floor, below }) =>
    floor - history.at(-1).loss > below ? "It has seen what it should predict." : `It knows it from step ${settled(history)} on.`,
};
