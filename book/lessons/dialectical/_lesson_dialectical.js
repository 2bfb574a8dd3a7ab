// Training a reader's head on strings of brackets, judged beside the best predictor and for reading ahead, as the
// lesson's own.

import "./_dialectical_learn.js";
import { READS_AHEAD, scored, worded } from "./_dialectical_train.js";
import { settled } from "./_train_guess.js";

const HELD = { few: 128, many: 512, every: 25 };
const SEEDS = 3;

export default {
  top: 2,
  bottom: -0.5, // of the floor, for who reads ahead
  first: 1,
  criterion: { done: "end honest and near the best predictor", words: "below, how near an honest model is" },
  guesses: {
    question: "Your guess: where does the loss end?",
    options: [["above", "above the floor"], ["near", "just above it"], ["below", "below it"]],
  },
  found(history, { near }) {
    const { loss, best } = history.at(-1).found;
    if (loss < best) return "below";
    return loss - best <= near ? "near" : "above";
  },
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
  series(history) {
    const above = new Map(history.filter(({ found }) => found).map(({ found: { step, loss, best } }) => [step, loss - best]));
    const { step, leak } = history.at(-1).found;
    return { above: [...above], ahead: [[step, Number(!(leak < READS_AHEAD))]] };
  },
  outcome(history) {
    const { words } = history.at(-1);
    const from = settled(history);
    return from < Infinity ? `It is there from step ${from} on: ${words}.` : `It ends ${words}.`;
  },
};
