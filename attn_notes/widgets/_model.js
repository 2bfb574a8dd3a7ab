// Weights as they arrive, and what is done with a row of numbers.

import { random, starting } from "./program.js";

/** The number that these 16 bits stand for in half precision. */
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * (1024 + fraction) * 2 ** (exponent - 25) : sign * fraction * 2 ** -24;
}

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

export function softmax(x) {
  const max = Math.max(...x);
  const exp = x.map((value) => Math.exp(value - max));
  const sum = exp.reduce((total, value) => total + value, 0);
  return exp.map((value) => value / sum);
}

export const add = (x, y) => x.map((value, i) => value + y[i]);
export const dot = (x, y) => x.reduce((total, value, i) => total + value * y[i], 0);
export const argmax = (x) => x.reduce((best, value, i) => (value > x[best] ? i : best), 0);
export const sigmoid = (x) => 1 / (1 + Math.exp(-x));
