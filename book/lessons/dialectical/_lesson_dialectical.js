// Training a reader's head on strings of brackets, judged beside the best predictor and for reading ahead, as the
// lesson's own.

import "./_dialectical_learn.js";
import { GUESSES, HELD, endsAt, scored, series, worded } from "./_dialectical_train.js";
import { settled } from "./_train_guess.js";

const SEEDS = 3;

export default {
  top: 2,
  bottom: -0.5, // of the floor, for who reads ahead
  first: 1,
  criterion: { done: "end honest and near the best predictor", words: "strip: full when honest and near the best" },
  guesses: GUESSES,
  found: (history, { near }) => endsAt(history, near),
  challenge: {
    seeds: SEEDS,
    text: `choose so that all ${SEEDS} seeds end honest and near the best predictor.`,
    passed: (run, { score }) => score === 1,
  },
  setup: ({ task }) => ({ task: "brackets", options: { task, ...HELD } }),
  judge: ({ data: { train } }) => (weights, { judged }) => {
    if (!judged) return { score: 0, words: "train it to see how it predicts" };
    return { score: scored(judged, train.near), words: worded(judged), found: judged };
  },
  series,
  outcome(history) {
    const { words } = history.at(-1);
    const from = settled(history);
    return from < Infinity ? `It is there from step ${from} on: ${words}.` : `It ends ${words}.`;
  },
};
