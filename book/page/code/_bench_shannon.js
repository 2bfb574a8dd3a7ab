// Text drawn after Shannon, in a Worker, as book/page/bench/shannon.py draws it, and what its best predictor loses.

import { random, slot } from "./program.js";
import { TASKS } from "./trainer.js";

const HELD_OUT = 4; // the seed of the sequences to judge by, which no model learns from

/** A source made of a text, given as numbers and read as a ring: after two letters comes what has followed them there. */
export function ringOf(numbers) {
  const group = (i, k) => Array.from({ length: k }, (_, j) => numbers[(i + j) % numbers.length]);
  const places = new Map(); // letters that stand one after another → where they begin
  for (const k of [1, 2, 3]) {
    for (const i of numbers.keys()) {
      const key = group(i, k).join();
      places.set(key, [...(places.get(key) ?? []), i]);
    }
  }
  const often = (letters) => places.get(letters.join()).length;
  const alike = numbers.map((_, i) => places.get(group(i, 2).join())); // where the two letters stand that stand here

  function sequence(length, { below }) {
    let at = below(numbers.length);
    const drawn = [numbers[at]];
    while (drawn.length < length) {
      at = (alike[at][below(alike[at].length)] + 1) % numbers.length;
      drawn.push(numbers[at]);
    }
    return drawn;
  }
  /** What the best predictor loses on all letters but the first, in nats. */
  function best(letters) {
    let nats = 0;
    for (let t = 1; t < letters.length; t++) {
      const start = Math.max(0, t - 2);
      nats += Math.log(often(letters.slice(start, t)) / often(letters.slice(start, t + 1)));
    }
    return nats;
  }
  return { sequence, best };
}

/** Every step reads fresh sequences. `judge` gives the loss on options.count others, and the best predictor's on the same. */
TASKS.shannon = ({ H, program, run, random: generator, options: { numbers, count, every } }) => {
  const batch = slot(H, program.inputs.batch);
  const loss = slot(H, program.outputs.loss);
  const [size, length] = program.inputs.batch[1];
  const source = ringOf(numbers);
  const drawn = (draws) => Array.from({ length: size }, () => source.sequence(length, draws));
  const put = (sequences) => sequences.forEach((letters, i) => batch.set(letters, i * length));
  const rounds = Math.ceil(count / size);

  return {
    every,
    feed: () => put(drawn(generator)),
    judge() {
      const draws = random(HELD_OUT);
      const found = { loss: 0, best: 0 };
      for (let round = 0; round < rounds; round++) {
        const sequences = drawn(draws);
        put(sequences);
        run();
        found.loss += loss[0] / rounds;
        for (const letters of sequences) found.best += source.best(letters) / (rounds * size * (length - 1));
      }
      return found;
    },
  };
};
