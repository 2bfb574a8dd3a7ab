// What the lesson's figures need of a run: the step from which on it sorts every word.

import { settled } from "./_train_guess.js";

const NEVER = 1070; // where the figures have those that never do, as `evidence.NEVER_AT` says

export const seriesOf = (history) => ({ sorts: [[history.at(-1).step, Math.min(settled(history), NEVER)]] });
