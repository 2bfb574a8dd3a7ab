// What the forward passes of the book's widgets share, in double precision. A widget's own file
// comes after this one in the same module.

const EPS = 1e-5; // of LayerNorm and RMSNorm

/** One seed's weights, name -> flat Float64Array, from the float32 bytes of all seeds. */
export function unpack(run, seed) {
  const { names, shapes, seeds, weights: bytes } = run;
  const view = new DataView(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength);
  const weights = {};
  let start = 0; // of the tensor that holds this name's weights for all seeds
  names.forEach((name, n) => {
    const size = shapes[n].reduce((product, length) => product * length, 1);
    weights[name] = Float64Array.from({ length: size }, (_, i) =>
      view.getFloat32(4 * (start + seed * size + i), true),
    );
    start += seeds * size;
  });
  return weights;
}

function softmax(x) {
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

/** x Wᵀ, as torch's Linear: one row of the flat W for each output. */
function linear(x, W) {
  const y = new Array(W.length / x.length);
  for (let i = 0; i < y.length; i++) {
    let sum = 0;
    for (let j = 0; j < x.length; j++) sum += W[i * x.length + j] * x[j];
    y[i] = sum;
  }
  return y;
}

const add = (x, y) => x.map((value, i) => value + y[i]);
const dot = (x, y) => x.reduce((total, value, i) => total + value * y[i], 0);
const argmax = (x) => x.reduce((best, value, i) => (value > x[best] ? i : best), 0);

