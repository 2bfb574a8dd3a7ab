// A number as it arrives, and what is done with a row of numbers.

/** The number that these 16 bits stand for in half precision. */
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * (1024 + fraction) * 2 ** (exponent - 25) : sign * fraction * 2 ** -24;
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
