// The networks in the reader's browser: torch's own forward pass, traced into programs
// (attn_notes/programs) for texts of a few lengths. A shorter text is padded, and padding is masked.

import { machines } from "./_machines.js";

/** A model ready to run: a run or a lesson, whose programs they are, with weights by name. */
export const make = ({ observe, config }, weights) => ({
  config,
  weights,
  sizes: observe.map(([length, text]) => ({ length, machine: machines.of({ observe: text }) })),
});

const texts = ({ observe }) => observe.map(([, text]) => ({ observe: text }));

/** Make the programs of runs or lessons ready. */
export const prepare = (runs) => machines.prepare(Object.values(runs).flatMap(texts));

export const prepared = (run) => texts(run).every(machines.of);

/** Rows of so many numbers each, from an output whose last axis they are: the first `count` of [place]. */
export function rows({ numbers, shape }, place, count, width = shape.at(-1)) {
  const [height, all] = shape.slice(-2);
  return Array.from({ length: count }, (_, i) => {
    const start = (place * height + i) * all;
    return Array.from(numbers.subarray(start, start + width));
  });
}

/**
 * Logits of the token after each position, and what the head did at each step: the attention of each
 * stream [stream][query][key], the tension and whether a token was active when the step began.
 */
export function forward({ config, weights, sizes }, tokens) {
  const count = tokens.length;
  const { names, input, output, run } = sizes.find(({ length }) => count <= length).machine;
  for (const name of names) if (name in weights) input(name).set(weights[name]);
  input("tokens").fill(config.pad).set(tokens);
  run();
  const [attention, logits] = [output("attention"), output("logits")];
  const [tension, active] = ["tension", "active"].map((name) => rows(output(name), 0, config.steps, count));
  const steps = tension.map((tensions, step) => ({
    tension: tensions,
    active: active[step].map(Boolean),
    attention: Array.from({ length: config.streams }, (_, n) =>
      rows(attention, step * config.streams + n, count, count),
    ),
  }));
  return { logits: rows(logits, 0, count), steps };
}
