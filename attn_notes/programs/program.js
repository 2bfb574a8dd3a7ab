// What a page does around a program (attn_notes/programs): starting weights, AdamW and its schedule,
// a faster exponential and a faster matrix product. Nothing here knows a model.

/** Import a module from its text; nothing is evaluated, so that a strict policy allows it. */
export async function importText(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return await import(url);
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
 * Draw starting weights into H: `specs` says how each input starts, as
 * `attn_notes.programs.initial.draws` finds it.
 */
export function draw(H, inputs, specs, { uniform, normal }) {
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
  for (const name of Object.keys(specs).sort()) {
    if (name in inputs) H.set(many(specs[name]), inputs[name][0]);
  }
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

/**
 * A matrix product in WebAssembly with vectors of four, for programs of so many numbers in single
 * precision: `{ H, product }`, H being the array to run them on. Null where WebAssembly or its
 * vectors are not there or not allowed.
 */
export const loadProduct = (() => {
  // The module is assembled here: two functions kernel(a, am, ak, b, c, cn, K), of four rows and of
  // one, addresses and strides in bytes. They add up, over K, a column of `a` times a row of eight
  // numbers of `b`, which lie side by side, and write the rows of eight sums to `c`.
  const unsigned = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...unsigned(n >>> 7)]);
  const list = (items) => [...unsigned(items.length), ...items.flat()];
  const section = (id, bytes) => [id, ...unsigned(bytes.length), ...bytes];
  const text = (letters) => list([...letters].map((letter) => letter.charCodeAt(0)));
  const [I32, V128] = [0x7f, 0x7b];
  const get = (i) => [0x20, i];
  const set = (i) => [0x21, i];
  const constant = (n) => [0x41, n]; // below 64
  const [plus, minus] = [[0x6a], [0x6b]];
  const vector = (op, ...rest) => [0xfd, ...unsigned(op), ...rest];
  const load = (offset) => vector(0, 4, offset);
  const splat = vector(9, 2, 0);
  const store = (offset) => vector(11, 4, offset);
  const [sum, times] = [vector(0xe4), vector(0xe6)];

  function kernel(rows) {
    const [a, am, ak, b, c, cn, K, b0, b1, x, sums] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    const row = (i) => (i === 0 ? a : sums + 2 * rows + i - 1);
    const all = Array.from({ length: rows }, (_, i) => i);
    const body = [
      ...all.slice(1).map((i) => [get(row(i - 1)), get(am), plus, set(row(i))]),
      [0x03, 0x40], // loop
      [get(b), load(0), set(b0), get(b), load(16), set(b1)],
      ...all.map((i) => [
        [get(row(i)), splat, set(x)],
        ...[0, 1].map((j) => {
          const at = sums + 2 * i + j;
          return [get(x), get(b0 + j), times, get(at), sum, set(at)];
        }),
        [get(row(i)), get(ak), plus, set(row(i))],
      ]),
      [get(b), constant(32), plus, set(b)],
      [get(K), constant(1), minus, [0x22, K], [0x0d, 0, 0x0b]], // again unless K is 0; end
      ...all.map((i) => [
        ...[0, 1].map((j) => [get(c), get(sums + 2 * i + j), store(16 * j)]),
        [get(c), get(cn), plus, set(c)],
      ]),
      [0x0b],
    ].flat(Infinity);
    const code = [...list([[3 + 2 * rows, V128], [rows - 1, I32]]), ...body];
    return [...unsigned(code.length), ...code];
  }

  const bytes = () =>
    new Uint8Array([
      0, ...text("asm").slice(1), 1, 0, 0, 0,
      ...section(1, list([[0x60, ...list(Array(7).fill([I32])), 0]])),
      ...section(2, list([[...text("page"), ...text("memory"), 2, 0, 1]])),
      ...section(3, list([[0], [0]])),
      ...section(7, list([[...text("four"), 0, 0], [...text("one"), 0, 1]])),
      ...section(10, list([kernel(4), kernel(1)])),
    ]);

  const WIDE = 8; // columns of a block
  const LONGEST = 1 << 17; // sums of so many products, for which there is room

  return (size) => {
    const packed = (size + 15) & ~15; // a block of b, then a ragged block of the result
    const ragged = packed + LONGEST * WIDE;
    let memory, four, one;
    try {
      memory = new WebAssembly.Memory({ initial: Math.ceil(((ragged + 64) * 4) / 65536) });
      const module = new WebAssembly.Module(bytes());
      ({ four, one } = new WebAssembly.Instance(module, { page: { memory } }).exports);
    } catch {
      return null;
    }
    const H = new Float32Array(memory.buffer);

    /** So many columns of b side by side, and zeros up to eight. */
    function pack(b, bk, bn, K, count) {
      if (bn === 1 || count < WIDE) {
        for (let k = 0, to = packed, from = b; k < K; k++, to += WIDE, from += bk) {
          for (let j = 0; j < count; j++) H[to + j] = H[from + j * bn];
          for (let j = count; j < WIDE; j++) H[to + j] = 0;
        }
        return;
      }
      for (let j = 0; j < WIDE; j++) {
        let [to, from] = [packed + j, b + j * bn];
        for (let k = 0; k < K; k++, to += WIDE, from += bk) H[to] = H[from];
      }
    }

    function product(B, M, N, K, a, sa, am, ak, b, sb, bk, bn, c) {
      if (K > LONGEST) throw new RangeError(`a product sums at most ${LONGEST}, not ${K}`);
      const [down, across, right] = [am * 4, ak * 4, packed * 4];
      for (let n = 0; n < N; n += WIDE) {
        const count = Math.min(WIDE, N - n);
        for (let z = 0; z < B; z++) {
          if (z === 0 || sb !== 0) pack(b + z * sb + n * bn, bk, bn, K, count);
          let from = (a + z * sa) * 4;
          let to = c + z * M * N + n;
          for (let m = 0; m < M; ) {
            const rows = M - m < 4 ? 1 : 4;
            const run = rows === 1 ? one : four;
            if (count === WIDE) run(from, down, across, right, to * 4, N * 4, K);
            else {
              run(from, down, across, right, ragged * 4, WIDE * 4, K);
              for (let i = 0; i < rows; i++) {
                for (let j = 0; j < count; j++) H[to + i * N + j] = H[ragged + i * WIDE + j];
              }
            }
            m += rows;
            from += rows * down;
            to += rows * N;
          }
        }
      }
    }

    return { H, product };
  };
})();
