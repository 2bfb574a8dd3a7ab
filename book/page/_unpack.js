// Weights as they arrive, or as they are drawn.

import { half } from "./_model.js";
import { random, starting } from "./program.js";

const FORMATS = {
  "<f2": (view, i) => half(view.getUint16(2 * i, true)),
  "<f4": (view, i) => view.getFloat32(4 * i, true),
};

/** The model's own name of a step's input: of what is not trained it begins otherwise. */
export const ownName = (name) => name.replace(/^buffer\./, "");

/** One seed's weights, name -> flat Float64Array: drawn, or from the bytes of all seeds. */
export function unpack(run, seed) {
  if (run.draws) {
    const drawn = Object.entries(starting(run.draws, Object.keys(run.draws), random(seed)));
    // In single precision, as those that train have them.
    return Object.fromEntries(drawn.map(([name, numbers]) => [ownName(name), numbers.map(Math.fround)]));
  }
  const { names, shapes, seeds, format, weights: bytes } = run;
  const view = new DataView(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength);
  const read = FORMATS[format];
  const weights = {};
  let start = 0; // of the tensor that holds this name's weights for all seeds
  names.forEach((name, n) => {
    const size = shapes[n].reduce((product, length) => product * length, 1);
    weights[name] = Float64Array.from({ length: size }, (_, i) =>
      read(view, start + seed * size + i),
    );
    start += seeds * size;
  });
  return weights;
}
