// Training a reader's score to copy: fresh sequences in every step, judged on others, as the lesson's own.

import { PARTS, partOf, settled } from "./_train_guess.js";
import "./_triple_product_task.js";

const HELD = { count: 256, every: 20 };
const SEEDS = 3;
const percent = (share) => `${Math.round(100 * share)} %`;

export default {
  top: 3,
  first: 1,
  criterion: { done: "copy", words: "strip: copied right" },
  guesses: { question: "Your guess: from which part of training on does it copy?", options: PARTS },
  found: partOf,
  challenge: { seeds: SEEDS, text: `choose so that all ${SEEDS} seeds copy.`, passed: ({ arrived }) => arrived !== null },
  setup: ({ task, copied }) => ({ task: "copying", options: { task, ...HELD, tested: [] }, copied }),
  judge: ({ data: { train } }) => (weights, { judged }) => {
    if (!judged) return { score: 0, words: "train it to see how it copies" };
    const { copied, loss, best } = judged;
    const above = loss - best;
    const where = `${Math.abs(above).toFixed(3)} nats ${above < 0 ? "below" : "above"} the best predictor`;
    return { score: Math.min(1, copied / train.copied), words: `${percent(copied)} of the copies right, ${where}`, judged };
  },
  series: () => ({}),
  outcome(history, { below, copied: enough }) {
    const { judged, words } = history.at(-1);
    if (judged && judged.best - judged.loss > below) {
      return `It ends ${words}. No honest predictor gets there: it has seen what it should predict.`;
    }
    const from = settled(history);
    if (from < Infinity) return `It copies from step ${from} on: ${words}.`;
    return `It does not copy, which asks for ${percent(enough)}: ${words}.`;
  },
};
