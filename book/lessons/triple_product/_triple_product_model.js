// The networks in the reader's browser: torch's own forward pass, traced into a program
// (attn_notes/programs), for the longest text that may be typed. Attention is causal, so what stands
// after a shorter one is not read.

import { machines } from "./_machines.js";

/** A model ready to run: a run or a lesson, whose program it is, with weights by name. */
export const make = (run, weights) => ({ machine: machines.of(run), config: run.config, weights });

/** The first rows of a matrix that stands at `place` in an output. */
function rowsOf({ numbers, shape }, place, rows) {
  const [height, width] = shape.slice(-2);
  return Array.from({ length: rows }, (_, i) => {
    const start = (place * height + i) * width;
    return Array.from(numbers.subarray(start, start + width));
  });
}

/**
 * Logits of the token after each position, and what every head of every layer did: q, k, r (of a dot
 * product null), scores, attention and β. `loud` makes the embedding of one position longer:
 * {position, factor}.
 */
export function forward({ machine, config, weights }, tokens, loud = { position: 0, factor: 1 }) {
  const { names, input, output, run } = machine;
  for (const name of names) if (name in weights) input(name).set(weights[name]);
  input("tokens").set(tokens);
  input("loudness").fill(1)[loud.position] = loud.factor;
  run();
  const length = tokens.length;
  const parts = config.score === "dot" ? ["q", "k"] : ["q", "k", "r"];
  const headAt = (layer, h) => {
    const rows = (name) => rowsOf(output(name), layer * config.heads + h, length);
    const causal = (name) => rows(name).map((row, i) => row.slice(0, i + 1));
    return {
      r: null,
      ...Object.fromEntries(parts.map((part) => [part, rows(part)])),
      scores: causal("scores"),
      attention: causal("attention"),
      beta: weights[`layers.${layer}.beta`]?.[h],
    };
  };
  return {
    logits: rowsOf(output("logits"), 0, length),
    layers: Array.from({ length: config.layers }, (_, layer) =>
      Array.from({ length: config.heads }, (_, h) => headAt(layer, h)),
    ),
  };
}
