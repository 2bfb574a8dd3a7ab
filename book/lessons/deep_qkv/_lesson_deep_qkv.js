// Training a reader's sorter: every step reads all 27 inputs, and the criterion is to sort them.

import { sortAll } from "./_sorter.js";
import { CRITERION, SORTING, TOP_LOSS, judged } from "./_deep_qkv_series.js";
import { settled } from "./_train_guess.js";

const SEEDS = 8;

export default {
  ...SORTING,
  top: TOP_LOSS,
  criterion: CRITERION,
  challenge: { seeds: SEEDS, text: `choose so that all ${SEEDS} seeds sort all 27 words.`, passed: ({ arrived }) => arrived !== null },
  judge: ({ forward }) => (weights) => judged(sortAll(forward, weights)),
  outcome(history, { floor, below }) {
    const { step, loss, words } = history.at(-1);
    const where = `the loss is ${loss.toFixed(4)}, the floor ${floor.toFixed(4)}`;
    if (floor - loss > below) {
      const by = (floor - loss).toFixed(4);
      const alone = `Where it writes by itself nothing later stands there yet: ${words}`;
      return `The loss is ${by} below the floor. No honest predictor gets there: it has seen what it should predict. ${alone}.`;
    }
    const from = settled(history);
    return from < Infinity ? `It sorts all 27 from step ${from} on; ${where}.` : `After ${step} steps: ${words}; ${where}.`;
  },
};
