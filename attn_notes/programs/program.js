// What a page does around a program (attn_notes/programs): starting weights, AdamW and its schedule,
// and a faster exponential. Nothing here knows a model.

/**
 * Import a module from its text; nothing is evaluated, so that a strict policy allows it. A Worker of a page that was read
 * from a disk may import no `blob:` in WebKit, but an address that is the text itself. Workers begin with this function
 * (trainer.js), so it uses nothing of this module.
 */
export async function importText(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return await import(url);
  } catch (error) {
    const whole = `data:text/javascript;charset=utf-8,${encodeURIComponent(text)}`;
    return await import(whole).catch(() => Promise.reject(error));
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Numbers of an input or output, as a view into the array. */
export const slot = (H, [start, shape]) =>
  H.subarray(start, start + shape.reduce((product, length) => product * length, 1));

/**
 * AdamW, as torch's, over all parameters of a program that have a gradient: those with an output
 * `gradient.NAME` for an input NAME. `rates` has what multiplies the rate of some, by name. What it gives
 * takes one step, at `factor` times the rate.
 */
export function adamw(H, program, settings) {
  const { rate, rates = {}, decay = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1e-8 } = settings;
  const all = Object.entries(program.outputs)
    .filter(([name]) => name.startsWith("gradient."))
    .map(([name, [gradient, shape]]) => {
      const size = shape.reduce((all, length) => all * length, 1);
      const input = name.slice("gradient.".length);
      const [weight] = program.inputs[input];
      const [mean, square] = [new H.constructor(size), new H.constructor(size)];
      return { weight, gradient, size, mean, square, own: rates[input] ?? 1 };
    });
  let steps = 0;
  return (factor = 1) => {
    steps++;
    const scale = Math.sqrt(1 - beta2 ** steps);
    for (const { weight, gradient, size, mean, square, own } of all) {
      const now = rate * factor * own;
      const kept = 1 - now * decay;
      const length = now / (1 - beta1 ** steps);
      for (let i = 0; i < size; i++) {
        const g = H[gradient + i];
        mean[i] += (1 - beta1) * (g - mean[i]);
        square[i] = beta2 * square[i] + (1 - beta2) * g * g;
        const change = (length * mean[i]) / (Math.sqrt(square[i]) / scale + eps);
        H[weight + i] = H[weight + i] * kept - change;
      }
    }
  };
}

/** The factor of the rate at each step, as `attn_notes.training.schedules.warmup_cosine`. */
export function warmupCosine(steps, warmup, last = 0.1) {
  return (step) => {
    if (step < warmup) return (step + 1) / warmup;
    const progress = (step - warmup) / Math.max(1, steps - warmup);
    return last + (1 - last) * 0.5 * (1 + Math.cos(Math.PI * progress));
  };
}

/**
 * The exponential for single precision, to eight digits: 2ⁿ times a polynomial, some four times as
 * fast as Math.exp. Below the smallest normal number it is 0.
 */
export const fastExp = (() => {
  const powers = Float64Array.from({ length: 258 }, (_, i) => 2 ** (i - 129));
  const [c2, c3, c4, c5, c6, c7] = [1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040];
  return (x) => {
    if (!(x > -87.3)) return x === x ? 0 : x;
    if (x > 88.7) return Infinity;
    const n = Math.floor(x * Math.LOG2E + 0.5);
    const r = x - n * Math.LN2;
    const high = c4 + r * (c5 + r * (c6 + r * c7));
    return powers[n + 129] * (1 + r * (1 + r * (c2 + r * (c3 + r * high))));
  };
})();

/**
 * Random numbers that a seed gives again: Chris Doty-Humphrey's sfc32, begun with splitmix32.
 * `uniform()` lies in [0, 1), `normal()` has mean 0 and deviation 1, `below(n)` is a whole number.
 */
export function random(seed) {
  let state = seed >>> 0;
  const mix = () => {
    state = (state + 0x9e3779b9) | 0;
    let t = state ^ (state >>> 16);
    t = Math.imul(t, 0x21f0aaad);
    t ^= t >>> 15;
    t = Math.imul(t, 0x735a2d97);
    return t ^ (t >>> 15);
  };
  let [a, b, c, count] = [mix(), mix(), mix(), 1];
  const bits = () => {
    const t = (((a + b) | 0) + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 12; i++) bits();
  const uniform = () => bits() / 2 ** 32;
  let spare = null;
  /** Two at a time, after Box and Muller. */
  const normal = () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    const length = Math.sqrt(-2 * Math.log(1 - uniform()));
    const angle = 2 * Math.PI * uniform();
    spare = length * Math.sin(angle);
    return length * Math.cos(angle);
  };
  return { uniform, normal, below: (n) => Math.floor(uniform() * n) };
}

/**
 * Starting weights, name -> flat Float64Array: `specs` says how each of these names starts, as
 * `attn_notes.programs.initial.draws` finds it.
 */
export function starting(specs, names, { uniform, normal }) {
  const truncated = ({ mean, std, low, high }) => {
    for (;;) {
      const x = mean + std * normal();
      if (low <= x && x <= high) return x;
    }
  };
  const one = {
    constant: ({ value }) => value,
    uniform: ({ low, high }) => low + (high - low) * uniform(),
    normal: ({ mean, std }) => mean + std * normal(),
    "truncated normal": truncated,
  };
  const many = (spec) => {
    const size = spec.shape.reduce((all, length) => all * length, 1);
    if (spec.draw !== "sum") return Float64Array.from({ length: size }, () => one[spec.draw](spec));
    const drawn = spec.of.map(many);
    const numbers = new Float64Array(size);
    for (const { of, factor, count, start, step, from, advance } of spec.terms) {
      for (let i = 0; i < count; i++) {
        numbers[start + i * step] += factor * drawn[of][from + i * advance];
      }
    }
    return numbers;
  };
  // By the alphabet: a saved page keeps names in another order than a kernel, and the seed is the same.
  const wanted = Object.keys(specs).sort().filter((name) => names.includes(name));
  return Object.fromEntries(wanted.map((name) => [name, many(specs[name])]));
}

/** Draw starting weights into H, where a program's inputs are. */
export function draw(H, inputs, specs, generator) {
  const drawn = starting(specs, Object.keys(inputs), generator);
  for (const [name, numbers] of Object.entries(drawn)) H.set(numbers, inputs[name][0]);
}

/** Weights as the bytes of a safetensors file: a length, a header of shapes and places, the numbers. */
export function safetensors(weights, shapes) {
  const header = {};
  let end = 0;
  for (const [name, values] of Object.entries(weights)) {
    const start = end;
    end += 4 * values.length;
    header[name] = { dtype: "F32", shape: shapes[name], data_offsets: [start, end] };
  }
  let text = JSON.stringify(header);
  text += " ".repeat(-text.length & 7);
  const bytes = new Uint8Array(8 + text.length + end);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(new TextEncoder().encode(text), 8);
  for (const [name, values] of Object.entries(weights)) {
    const [start] = header[name].data_offsets;
    bytes.set(new Uint8Array(Float32Array.from(values).buffer), 8 + text.length + start);
  }
  return bytes;
}
