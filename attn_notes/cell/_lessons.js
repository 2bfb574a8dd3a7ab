// What training means in each lesson: when the criterion is met, in words and in numbers.

import { WORDS, score, sortAll } from "./_deep_qkv_model.js";

export const LESSONS = {
  deep_qkv: {
    top: 2, // nats, at the upper edge of the picture
    criterion: {
      plural: "sort all 27",
      done: "It sorts all 27",
      words: "below, the share of the 27 words that it sorts",
    },
    question: "Your guess: from which step on does it sort all 27?",
    challenge: { seeds: 8, text: "choose so that all 8 seeds sort all 27 words.", done: "sort all 27" },
    judge: ({ forward }) => (weights) => {
      const right = score(sortAll(forward, weights));
      return { score: right / WORDS.length, words: `${right} of ${WORDS.length} sorted` };
    },
    series: (history) => ({ loss: history.map(({ step, loss }) => [step, loss]) }),
  },
};
