// What takes most of a training step, in WebAssembly with vectors: matrix products, and the sigmoids of a row.
// A program (attn_notes/programs) works on the same memory, and calls these for what is large.

/**
 * For programs of so many numbers in single precision: `{ H, product, sigmoid }`, H being the array to run
 * them on. Null where WebAssembly or its vectors are not there or not allowed.
 *
 * Both give the same bits on every machine. A sum goes from the first product to the last in single
 * precision, and a sigmoid is `1 / (1 + fastExp(-x))` in double precision, rounded at its end.
 */
export const loadVectors = (() => {
  // The module is assembled here, of a few kilobytes: a page may compile those at once.
  const unsigned = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...unsigned(n >>> 7)]);
  const list = (items) => [...unsigned(items.length), ...items.flat()];
  const section = (id, bytes) => [id, ...unsigned(bytes.length), ...bytes];
  const text = (letters) => list([...letters].map((letter) => letter.charCodeAt(0)));
  const [I32, V128] = [0x7f, 0x7b];
  const get = (i) => [0x20, i];
  const set = (i) => [0x21, i];
  const constant = (n) => [0x41, n]; // below 64
  const [plus, minus] = [0x6a, 0x6b];
  const forward = (i, step) => [get(i), step, plus, set(i)];
  const vector = (op, ...rest) => [0xfd, ...unsigned(op), ...rest];
  const load = (offset) => vector(0x00, 2, offset);
  const store = (offset) => vector(0x0b, 2, offset);
  const splat = vector(0x09, 2, 0); // a number of single precision, four times
  const [sum, times] = [vector(0xe4), vector(0xe6)]; // of four in single precision
  const zero = vector(0x0c, ...Array(16).fill(0));
  const range = (n) => Array.from({ length: n }, (_, i) => i);
  /** Again, from the loop's beginning, until the local `left` has gone down to 0. */
  const repeat = (left, body) => [
    [0x03, 0x40],
    body,
    [get(left), constant(1), minus, 0x22, left, 0x0d, 0, 0x0b],
  ];
  const func = (parameters, locals, body) => {
    const code = [...list(locals), ...body.flat(Infinity), 0x0b];
    return { type: [0x60, ...list(Array(parameters).fill([I32])), 0], code: [...unsigned(code.length), ...code] };
  };

  /**
   * So many times: add up, over K, a column of so many rows of a times a row of eight of b; write the sums to c,
   * and go on with the next rows of a and c.
   */
  function kernel(rows) {
    const [a, am, ak, b, bk, c, cn, K, count, x, b0, b1, sums] = range(13);
    const all = range(rows);
    const row = (i) => sums + 2 * rows + i;
    const [k, from] = [row(rows), row(rows) + 1];
    const both = (i, part) => [0, 1].map((j) => part(j, sums + 2 * i + j));
    return func(9, [[3 + 2 * rows, V128], [rows + 2, I32]], [
      repeat(count, [
        all.map((i) => [get(a), set(row(i)), forward(a, get(am)), both(i, (_, at) => [zero, set(at)])]),
        [get(b), set(from), get(K), set(k)],
        repeat(k, [
          [get(from), load(0), set(b0), get(from), load(16), set(b1)],
          all.map((i) => [
            [get(row(i)), splat, set(x)],
            both(i, (j, at) => [get(x), get(b0 + j), times, get(at), sum, set(at)]),
            forward(row(i), get(ak)),
          ]),
          forward(from, get(bk)),
        ]),
        all.map((i) => [both(i, (j, at) => [get(c), get(at), store(16 * j)]), forward(c, get(cn))]),
      ]),
    ]);
  }

  /** Puts eight columns of b side by side. */
  function packing() {
    const [b, bk, bn, to, K, others] = range(6);
    const column = (j) => (j === 0 ? b : others + j - 1);
    return func(5, [[7, I32]], [
      range(7).map((j) => [get(column(j)), get(bn), plus, set(column(j + 1))]),
      repeat(K, [
        range(8).map((j) => [get(to), get(column(j)), [0x28, 2, 0], [0x36, 2, 4 * j]]), // load, store
        range(8).map((j) => forward(column(j), get(bk))),
        forward(to, constant(32)),
      ]),
    ]);
  }

  /** Sigmoids, two at a time. What `fastExp` looks up and asks is arithmetic here, with the same result. */
  function sigmoids() {
    const [from, to, pairs, x, n, r] = range(6);
    const two = (value) => vector(0x0c, ...new Uint8Array(new Float64Array([value, value]).buffer));
    const [neg, add, sub, mul, div, min, max] = [0xed, 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5].map((op) => vector(op));
    const [floor, greater, shift, without] = [0x75, 0x4a, 0xcb, 0x4f].map((op) => vector(op));
    const [widen, narrow] = [vector(0x5f), vector(0x5e)];
    const series = [1, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720];
    return func(3, [[3, V128]], [
      repeat(pairs, [
        [get(from), vector(0x5d, 2, 0), widen, neg, set(x)],
        [get(x), two(-87.3), max, two(100), min, set(r)],
        [get(r), two(Math.LOG2E), mul, two(0.5), add, floor, set(n)],
        [get(r), get(n), two(Math.LN2), mul, sub, set(r)],
        [get(to), two(1), two(1)],
        [get(n), two(2 ** 52 + 1023), add, constant(52), shift], // n among the bits of 2ⁿ
        [two(1), series.map((c) => [get(r), two(c)]), get(r), two(1 / 5040), Array(7).fill([mul, add])],
        [mul, add, div],
        [get(x), two(88.7), greater, without, narrow, vector(0x5b, 2, 0, 0)],
        [forward(from, constant(8)), forward(to, constant(8))],
      ]),
    ]);
  }

  const bytes = () => {
    const all = { four: kernel(4), one: kernel(1), pack: packing(), pairs: sigmoids() };
    const numbered = Object.entries(all);
    return new Uint8Array([
      0, ...text("asm").slice(1), 1, 0, 0, 0,
      ...section(1, list(numbered.map(([, { type }]) => type))),
      ...section(2, list([[...text("page"), ...text("memory"), 2, 0, 1]])),
      ...section(3, list(numbered.map((_, i) => [i]))),
      ...section(7, list(numbered.map(([name], i) => [...text(name), 0, i]))),
      ...section(10, list(numbered.map(([, { code }]) => code))),
    ]);
  };

  const WIDE = 8; // columns of a block
  const LONGEST = 1 << 17; // sums of so many products, for which there is room
  return (size) => {
    const packed = (size + 15) & ~15; // a block of b, then a row of the result
    const row = packed + LONGEST * WIDE;
    let memory, four, one, pack, pairs;
    try {
      memory = new WebAssembly.Memory({ initial: Math.ceil(((row + WIDE) * 4) / 65536) });
      const module = new WebAssembly.Module(bytes());
      ({ four, one, pack, pairs } = new WebAssembly.Instance(module, { page: { memory } }).exports);
    } catch {
      return null;
    }
    const H = new Float32Array(memory.buffer);

    /** Rows by four, then those that are left. */
    function down(M, K, a, am, ak, b, bk, c, cn) {
      if (M > 3) four(a * 4, am * 4, ak * 4, b * 4, bk * 4, c * 4, cn * 4, K, M >> 2);
      const done = M & ~3;
      if (M > done) one((a + done * am) * 4, am * 4, ak * 4, b * 4, bk * 4, (c + done * cn) * 4, cn * 4, K, M - done);
    }

    function product(B, M, N, K, a, sa, am, ak, b, sb, bk, bn, c) {
      if (K > LONGEST) throw new RangeError(`a product sums at most ${LONGEST}, not ${K}`);
      for (let begin = 0; begin < N; begin += WIDE) {
        // The last block ends where all ends, and does again what the one before it did.
        const n = Math.max(0, Math.min(begin, N - WIDE));
        for (let z = 0; z < B; z++) {
          const [left, right, to] = [a + z * sa, b + z * sb + n * bn, c + z * M * N + n];
          if (N < WIDE) narrow(M, N, K, left, am, ak, right, bk, bn, to);
          else if (bn === 1) down(M, K, left, am, ak, right, bk, to, N);
          else {
            if (z === 0 || sb !== 0) pack(right * 4, bk * 4, bn * 4, packed * 4, K);
            down(M, K, left, am, ak, packed, WIDE, to, N);
          }
        }
      }
    }

    /** One of fewer columns than eight: with any numbers in the others. */
    function narrow(M, N, K, a, am, ak, b, bk, bn, c) {
      for (let k = 0; k < K; k++) {
        for (let j = 0; j < N; j++) H[packed + k * WIDE + j] = H[b + k * bk + j * bn];
      }
      for (let m = 0; m < M; m++) {
        down(1, K, a + m * am, am, ak, packed, WIDE, row, WIDE);
        for (let j = 0; j < N; j++) H[c + m * N + j] = H[row + j];
      }
    }

    /** Of at least two numbers; a last one without a partner takes the one before it, once more. */
    function sigmoid(from, to, length) {
      pairs(from * 4, to * 4, length >> 1);
      if (length % 2) pairs((from + length - 2) * 4, (to + length - 2) * 4, 1);
    }

    return { H, product, sigmoid };
  };
})();
