// What training a sorter is, in the widget and in a reader's cell.

import { PARTS, partOf, settled } from "./_train_guess.js";
import { WORDS, score } from "./_sorter.js";

const NEVER = 1070; // where the figures have those that never do, as `evidence.NEVER_AT` says

/** What its panels do alike, as _train_panel.js calls it; figures need the step from which on it sorts every word. */
export const SORTING = {
  first: 3, // the seed that is offered first: it gets there, as most do
  guesses: { question: "Your guess: from which step on does it sort all 27?", options: PARTS },
  found: partOf,
  series: (history) => ({ sorts: [[history.at(-1).step, Math.min(settled(history), NEVER)]] }),
};
export const TOP_LOSS = 2; // nats, at the upper edge of the picture
export const CRITERION = { done: "sort all 27", words: "below, the share of the 27 words that it sorts" };

/** How far it is, by what it does with each word. */
export function judged(steps) {
  const right = score(steps);
  return { score: right / WORDS.length, words: `${right} of ${WORDS.length} sorted` };
}
