// What the forward passes of the book's widgets share, in double precision. A widget's own file
// comes after this one in the same module.

const EPS = 1e-5; // of LayerNorm and RMSNorm

/** The number that these 16 bits stand for in half precision. */
function half(bits) {
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

/** One seed's weights, name -> flat Float64Array, from the bytes of all seeds. */
export function unpack(run, seed) {
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

function layerNorm(x, scale, shift) {
  const mean = x.reduce((total, value) => total + value, 0) / x.length;
  const variance = x.reduce((total, value) => total + (value - mean) ** 2, 0) / x.length;
  const deviation = Math.sqrt(variance + EPS);
  return x.map((value, i) => ((value - mean) / deviation) * scale[i] + shift[i]);
}

export const add = (x, y) => x.map((value, i) => value + y[i]);
export const dot = (x, y) => x.reduce((total, value, i) => total + value * y[i], 0);
export const argmax = (x) => x.reduce((best, value, i) => (value > x[best] ? i : best), 0);
export const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** Columns for rows, of a flat matrix with so many columns. */
function transposed(W, columns) {
  const rows = W.length / columns;
  const T = new Float64Array(W.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) T[j * rows + i] = W[i * columns + j];
  }
  return T;
}

/** X Wᵀ for all rows of X, one after another in flat arrays. Eight sums go at a time, two rows by four
 * outputs; where fewer are left, the last is done more than once. */
export function product(X, W, inputs) {
  const rows = X.length / inputs;
  const outputs = W.length / inputs;
  const Y = new Float64Array(rows * outputs);
  for (let t = 0; t < rows; t += 2) {
    const u = Math.min(t + 1, rows - 1);
    for (let i = 0; i < outputs; i += 4) {
      const [i1, i2, i3] = [1, 2, 3].map((n) => Math.min(i + n, outputs - 1));
      let a0 = 0, a1 = 0, a2 = 0, a3 = 0; // of row t
      let b0 = 0, b1 = 0, b2 = 0, b3 = 0; // of row u
      for (let j = 0; j < inputs; j++) {
        const x = X[t * inputs + j];
        const y = X[u * inputs + j];
        const w0 = W[i * inputs + j];
        const w1 = W[i1 * inputs + j];
        const w2 = W[i2 * inputs + j];
        const w3 = W[i3 * inputs + j];
        a0 += w0 * x;
        a1 += w1 * x;
        a2 += w2 * x;
        a3 += w3 * x;
        b0 += w0 * y;
        b1 += w1 * y;
        b2 += w2 * y;
        b3 += w3 * y;
      }
      const [row, next] = [t * outputs, u * outputs];
      Y[row + i] = a0;
      Y[row + i1] = a1;
      Y[row + i2] = a2;
      Y[row + i3] = a3;
      Y[next + i] = b0;
      Y[next + i1] = b1;
      Y[next + i2] = b2;
      Y[next + i3] = b3;
    }
  }
  return Y;
}
