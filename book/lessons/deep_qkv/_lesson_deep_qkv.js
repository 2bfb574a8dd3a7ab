// Training a reader's sorter: every step reads all 27 inputs, and the criterion is to sort them.

import { WORDS, score, sortAll } from "./_sorter.js";
import { seriesOf } from "./_deep_qkv_series.js";
import { PARTS, partOf, settled } from "./_train_guess.js";

const SEEDS = 8;

export default {
  top: 2, // nats, at the upper edge of the picture
  first: 3, // the seed that is offered first: it gets there, as most do
  criterion: { done: "sort all 27", words: "below, the share of the 27 words that it sorts" },
  guesses: { question: "Your guess: from which step on does it sort all 27?", options: PARTS },
  found: partOf,
  challenge: { seeds: SEEDS, text: `choose so that all ${SEEDS} seeds sort all 27 words.`, passed: ({ arrived }) => arrived !== null },
  judge: ({ forward }) => (weights) => {
    const right = score(sortAll(forward, weights));
    return { score: right / WORDS.length, words: `${right} of ${WORDS.length} sorted` };
  },
  series: seriesOf,
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
