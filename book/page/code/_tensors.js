// Tensors as nodes of a graph: each is computed when its numbers are asked for, and remembers what made
// it, for gradients (page/gradients.py) and for programs (attn_notes/programs). Nothing is changed in place.
//
// An operation has its name in torch.ops.aten and is given what that takes; so its node is also one that
// attn_notes.programs.graph knows.

import { ENTRYWISE } from "./_entrywise.js";

const ARRAY = { float32: Float32Array, float64: Float64Array, int64: Float64Array, bool: Uint8Array };
const RANK = { bool: 0, int64: 1, float32: 2, float64: 3 };
const isFloat = (dtype) => RANK[dtype] > 1;
const MOST = 2 ** 25; // numbers that a cell's tensors hold at once
const GIVEN = new Set(["constant", "input"]); // what has its numbers from elsewhere
const SPOKEN = { float32: "float", float64: "double", int64: "long long", bool: "bool" };

/** An error in torch's words, of this kind in Python. */
export class TorchError extends Error {
  constructor(message, kind = "RuntimeError") {
    super(message);
    this.kind = kind;
  }
}
function refuse(message, kind) {
  throw new TorchError(message, kind);
}

export const sizeOf = (shape) => shape.reduce((product, length) => product * length, 1);
const listed = (shape) => `[${shape.join(", ")}]`;

function stridesOf(shape) {
  const strides = Array(shape.length);
  for (let d = shape.length - 1, step = 1; d >= 0; d--) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

/** All nodes, by their numbers: what Python holds are these. */
export const nodes = [];
let held = 0; // numbers in them
const computed = new Set(); // nodes whose numbers can be computed again, the oldest first

/** Forget all nodes but the first so many. */
export function forget(keep) {
  for (const each of nodes.splice(keep)) each.drop();
}

/**
 * `run` computes the numbers from those of `args`: when somebody asks for them, and again where they have been dropped
 * since. Which tensors Python still holds nobody can tell, so it is numbers that make room, and not nodes.
 */
class Node {
  #data = null;
  constructor(made) {
    this.live = made.args.some((x) => x.live); // hangs on an input, so it is no constant of a program
    this.random = made.args.some((x) => x.random);
    Object.assign(this, made);
    if (GIVEN.has(this.op)) this.data = this.run();
  }
  get data() {
    if (!this.#data) compute(this.#pending());
    return this.#data;
  }
  set data(numbers) {
    if (!this.#data) held += sizeOf(this.shape);
    if (!GIVEN.has(this.op)) computed.add(this);
    this.#data = numbers;
  }
  drop() {
    if (this.#data) held -= sizeOf(this.shape);
    computed.delete(this);
    this.#data = null;
  }
  /** What has to be computed first, and this one: not by recursion, for a graph may be deep. */
  #pending() {
    const found = new Set();
    const todo = [this];
    while (todo.length) {
      const next = todo.pop();
      if (next.#data || found.has(next)) continue;
      found.add(next);
      todo.push(...next.args);
    }
    return [...found].sort((one, other) => one.id - other.id);
  }
}

/** Compute these, in their order; what one of them has yet to read stays. */
function compute(pending) {
  const readers = new Map(); // node → how many of these have yet to read it
  for (const x of pending.flatMap(({ args }) => args)) readers.set(x, (readers.get(x) ?? 0) + 1);
  for (const each of pending) {
    makeRoom(sizeOf(each.shape), readers);
    each.data = each.run();
    for (const x of each.args) readers.set(x, readers.get(x) - 1);
  }
}

/** For so many numbers: the oldest go first, but for those that somebody has yet to read. */
function makeRoom(size, readers = new Map()) {
  for (const old of size > MOST ? [] : computed) {
    if (held + size <= MOST) return;
    if (!readers.get(old)) old.drop();
  }
  if (held + size > MOST) refuse(`the tensors of a cell hold ${MOST.toLocaleString("en")} numbers at once and not more; those that are drawn stay until it ends`, "MemoryError");
}

const nodesIn = (given) => given.flatMap((x) => (Array.isArray(x) ? nodesIn(x) : x?.run ? [x] : []));

function node(op, given, shape, dtype, run, more = {}) {
  const args = nodesIn(given);
  const size = sizeOf(shape);
  if (GIVEN.has(op) || size > MOST) makeRoom(size); // what there can never be room for is refused at once
  const made = new Node({ id: nodes.length, op, given, args, shape, dtype, run, ...more });
  nodes.push(made);
  return made;
}

export function constant(values, shape, dtype = "float32", more = {}) {
  const data = ARRAY[dtype].from(values);
  return node("constant", [], shape, dtype, () => data, more);
}

function filled(dtype, size, f) {
  const data = new ARRAY[dtype](size);
  for (let i = 0; i < size; i++) data[i] = f(i);
  return data;
}

/** So many numbers, each further on by a step. */
export function arange(start, step, count, dtype) {
  return node("arange", [], [count], dtype, () => filled(dtype, count, (i) => start + i * step));
}

/** Numbers by chance. */
export function drawn(one, shape, dtype) {
  return node("constant", [], shape, dtype, () => filled(dtype, sizeOf(shape), one), { random: true });
}

/** A number of Python: it has the dtype of what it meets, and all its digits. */
export function number(value, dtype) {
  const data = Float64Array.of(value);
  return node("constant", [], [], dtype, () => data, { weak: true });
}

/** A tensor that a program reads. */
export function input(name, values, shape, dtype) {
  const data = ARRAY[dtype].from(values);
  return node("input", [], shape, dtype, () => data, { live: true, name });
}

/** What these hang on, in the order in which it came: of what hangs on no input the last only, or `all` of it. */
export function needed(ends, all = false) {
  const found = new Set();
  const todo = [...ends];
  while (todo.length) {
    const next = todo.pop();
    if (found.has(next)) continue;
    found.add(next);
    if (all || next.live) todo.push(...next.args);
  }
  return [...found].sort((one, other) => one.id - other.id);
}

/** Have these nodes computed anew when they are next asked for, with other numbers in some inputs. */
export function replay(order, numbers) {
  for (const each of order) {
    if (numbers.has(each)) each.data = numbers.get(each);
    else if (each.live && each.op !== "input") each.drop();
  }
}

// --- Walking through entries

export function broadcast(shapes) {
  const rank = Math.max(0, ...shapes.map(({ length }) => length));
  const shape = Array(rank).fill(1);
  for (const each of shapes) {
    each.forEach((length, i) => {
      const d = rank - each.length + i;
      if (length === 1 || shape[d] === length) return;
      if (shape[d] !== 1) {
        const both = `The size of tensor a (${shape[d]}) must match the size of tensor b (${length})`;
        refuse(`${both} at non-singleton dimension ${d}`);
      }
      shape[d] = length;
    });
  }
  return shape;
}

/** Strides that read a tensor as one of a larger shape: 0 where it is repeated. */
function spread(from, shape, strides = stridesOf(from)) {
  return shape.map((_, i) => {
    const d = i - shape.length + from.length;
    return d < 0 || from[d] === 1 ? 0 : strides[d];
  });
}

/** Call visit(i, a, b, c) for each entry, row by row, with its place by each of up to three rows of strides. */
function walk(shape, [one, two = one, three = two], visit) {
  const size = sizeOf(shape);
  const index = new Int32Array(shape.length);
  let [a, b, c] = [0, 0, 0];
  for (let i = 0; i < size; i++) {
    visit(i, a, b, c);
    for (let d = shape.length - 1; d >= 0; d--) {
      index[d]++;
      a += one[d];
      b += two[d];
      c += three[d];
      if (index[d] < shape[d]) break;
      a -= one[d] * shape[d];
      b -= two[d] * shape[d];
      c -= three[d] * shape[d];
      index[d] = 0;
    }
  }
}

// --- Entry by entry

/** torch's rules: a number of Python yields to a tensor, and a single entry to many, of its category. */
function promoted(args) {
  const strength = (x) => (x.weak ? 0 : x.shape.length ? 2 : 1);
  const category = ({ dtype }) => Math.min(RANK[dtype], 2);
  const stronger = (x, y) => {
    if (category(x) !== category(y)) return category(x) > category(y);
    if (strength(x) !== strength(y)) return strength(x) > strength(y);
    return RANK[x.dtype] > RANK[y.dtype];
  };
  const best = args.reduce((found, x) => (stronger(x, found) ? x : found));
  return best.weak && isFloat(best.dtype) ? "float32" : best.dtype;
}

const NO_MINUS = {
  neg: "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
  sub: "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
};

/** `kind` is the result's: "same" as the arguments', "float" or "bool". */
export function entrywise(op, kind, args) {
  const f = ENTRYWISE[op];
  const shape = broadcast(args.map((x) => x.shape));
  let dtype = kind === "bool" ? "bool" : promoted(op === "where" ? args.slice(1) : args);
  if (kind === "float" && !isFloat(dtype)) dtype = "float32";
  if (dtype === "bool" && op in NO_MINUS) refuse(NO_MINUS[op]);
  const weak = args.every((x) => x.weak) || undefined; // still a number of Python, with all its digits
  const size = sizeOf(shape);
  const plain = args.every((x) => sizeOf(x.shape) === size);
  const steps = args.map((x) => spread(x.shape, shape));
  const run = () => {
    const data = new ARRAY[weak ? "float64" : dtype](size);
    const [a, b, c] = args.map((x) => x.data);
    if (plain) for (let i = 0; i < size; i++) data[i] = f(a[i], b?.[i], c?.[i]);
    else walk(shape, steps, (i, x, y, z) => { data[i] = f(a[x], b?.[y], c?.[z]); });
    return data;
  };
  return node(op, args, shape, dtype, run, { weak });
}

export function cast(x, dtype) {
  if (x.dtype === dtype && !x.weak) return x;
  const f = dtype === "bool" ? (v) => Number(v !== 0) : dtype === "int64" ? Math.trunc : (v) => v;
  return node("_to_copy", [x], x.shape, dtype, () => ARRAY[dtype].from(x.data, f));
}

// --- The same entries elsewhere

function strided(op, x, given, shape, strides, offset = 0) {
  const run = () => {
    const data = new ARRAY[x.dtype](sizeOf(shape));
    walk(shape, [strides], (i, at) => { data[i] = x.data[offset + at]; });
    return data;
  };
  return node(op, [x, ...given], shape, x.dtype, run);
}

/** The same numbers, of which a gradient can be asked (alias), or from which none goes back (detach). */
export const same = (op, x) => node(op, [x], x.shape, x.dtype, () => x.data);

export function expand(x, wanted) {
  const front = wanted.length - x.shape.length;
  if (front < 0) {
    refuse(`expand(torch.${{ float32: "Float", float64: "Double", int64: "Long", bool: "Bool" }[x.dtype]}Tensor{${listed(x.shape)}}, size=${listed(wanted)}): the number of sizes provided (${wanted.length}) must be greater or equal to the number of dimensions in the tensor (${x.shape.length})`);
  }
  const shape = wanted.map((length, i) => (length === -1 ? x.shape[i - front] : length));
  x.shape.forEach((length, i) => {
    const d = front + i;
    if (length === 1 || length === shape[d]) return;
    const what = `The expanded size of the tensor (${shape[d]}) must match the existing size (${length})`;
    refuse(`${what} at non-singleton dimension ${d}.  Target sizes: ${listed(shape)}.  Tensor sizes: ${listed(x.shape)}`);
  });
  return strided("expand", x, [shape], shape, spread(x.shape, shape));
}

export function permute(x, dims) {
  if (dims.length !== x.shape.length) {
    const what = "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions";
    refuse(`${what} i.e. input.dim() = ${x.shape.length} is not equal to len(dims) = ${dims.length}`);
  }
  const strides = stridesOf(x.shape);
  return strided("permute", x, [dims], dims.map((d) => x.shape[d]), dims.map((d) => strides[d]));
}

export function slice(x, dim, start, length) {
  const strides = stridesOf(x.shape);
  const end = start + length;
  return strided("slice", x, [dim, start, end], x.shape.with(dim, length), strides, start * strides[dim]);
}

export function view(x, wanted) {
  const open = wanted.indexOf(-1);
  const rest = sizeOf(wanted.filter((length) => length !== -1));
  const shape = open < 0 ? wanted : wanted.with(open, sizeOf(x.shape) / rest);
  if (sizeOf(shape) !== sizeOf(x.shape) || shape.some((length) => !Number.isInteger(length))) {
    refuse(`shape '${listed(wanted)}' is invalid for input of size ${sizeOf(x.shape)}`);
  }
  return node("view", [x, shape], shape, x.dtype, () => x.data);
}

export function cat(parts, dim) {
  const first = parts[0].shape;
  parts.forEach((part, k) => part.shape.forEach((length, d) => {
    if (d === dim || length === first[d]) return;
    refuse(`Sizes of tensors must match except in dimension ${dim}. Expected size ${first[d]} but got size ${length} for tensor number ${k} in the list.`);
  }));
  const shape = first.with(dim, parts.reduce((sum, part) => sum + part.shape[dim], 0));
  const dtype = promoted(parts);
  const strides = stridesOf(shape);
  const run = () => {
    const data = new ARRAY[dtype](sizeOf(shape));
    let offset = 0;
    for (const part of parts) {
      const begin = offset;
      walk(part.shape, [strides], (i, at) => { data[begin + at] = part.data[i]; });
      offset += part.shape[dim] * strides[dim];
    }
    return data;
  };
  return node("cat", [parts, dim], shape, dtype, run);
}

/** x[index]: rows by their numbers, in the shape of the index. */
export function index(x, rows) {
  const [count, ...row] = x.shape;
  const length = sizeOf(row);
  const shape = [...rows.shape, ...row];
  const run = () => {
    const data = new ARRAY[x.dtype](sizeOf(shape));
    rows.data.forEach((at, i) => {
      if (!(at >= 0 && at < count)) refuse("index out of range in self", "IndexError");
      for (let j = 0; j < length; j++) data[i * length + j] = x.data[at * length + j];
    });
    return data;
  };
  return node("index", [x, [rows]], shape, x.dtype, run);
}

/** A copy of x to whose rows, by their numbers, others are added; or in whose place they stand, the last counting. */
export function indexPut(x, rows, values, adds) {
  const length = sizeOf(x.shape.slice(1));
  const run = () => {
    const data = x.data.slice();
    rows.data.forEach((at, i) => {
      for (let j = 0; j < length; j++) {
        data[at * length + j] = (adds ? data[at * length + j] : 0) + values.data[i * length + j];
      }
    });
    return data;
  };
  return node("index_put", [x, [rows], values, adds], x.shape, x.dtype, run);
}

// --- Many entries to one

const REDUCTIONS = {
  sum: [0, (all, x) => all + x],
  prod: [1, (all, x) => all * x],
  amax: [-Infinity, (all, x) => (x > all || x !== x ? x : all)],
  amin: [Infinity, (all, x) => (x < all || x !== x ? x : all)],
};

/** Along some dimensions, which stay with length 1. */
export function reduce(op, x, dims) {
  const shape = x.shape.map((length, d) => (dims.includes(d) ? 1 : length));
  const dtype = isFloat(x.dtype) || op[0] === "a" ? x.dtype : "int64";
  const [begin, take] = REDUCTIONS[op];
  const steps = [spread(shape, x.shape)];
  const run = () => {
    const all = new Float64Array(sizeOf(shape)).fill(begin);
    walk(x.shape, steps, (i, at) => { all[at] = take(all[at], x.data[i]); });
    return ARRAY[dtype].from(all);
  };
  return node(op, [x, dims, true], shape, dtype, run);
}

/** Where the largest or smallest stands along a dimension, the first of equals. */
export function argReduce(op, x, dim) {
  const shape = x.shape.with(dim, 1);
  const sign = op === "argmax" ? 1 : -1;
  const stride = stridesOf(x.shape)[dim];
  const run = () => {
    const best = new Float64Array(sizeOf(shape)).fill(-Infinity);
    const where = new Float64Array(best.length);
    walk(x.shape, [spread(shape, x.shape)], (i, at) => {
      if (!(sign * x.data[i] > best[at])) return;
      best[at] = sign * x.data[i];
      where[at] = Math.floor(i / stride) % x.shape[dim];
    });
    return where;
  };
  return node(op, [x, dim, true], shape, "int64", run);
}

/** The order of the numbers along the last dimension; equal ones stay in order. No program has it. */
export function argsort(x, descending) {
  const length = x.shape.at(-1);
  const run = () => {
    const data = new Float64Array(x.data.length);
    for (let at = 0; at < data.length; at += length) {
      const row = Array.from(x.data.subarray(at, at + length));
      const order = row.map((_, i) => i).sort((i, j) => (descending ? row[j] - row[i] : row[i] - row[j]));
      data.set(order, at);
    }
    return data;
  };
  return node("argsort", [x, -1, descending], x.shape, "int64", run);
}

/** Matrix products [b, m, k] [b, k, n], or without b. */
export function multiply(a, b) {
  if (a.dtype !== b.dtype) refuse(`expected m1 and m2 to have the same dtype, but got: ${SPOKEN[a.dtype]} != ${SPOKEN[b.dtype]}`);
  const [M, K] = a.shape.slice(-2);
  const [K2, N] = b.shape.slice(-2);
  const B = a.shape.length > 2 ? a.shape[0] : 1;
  if (K !== K2) {
    if (a.shape.length === 2) refuse(`mat1 and mat2 shapes cannot be multiplied (${M}x${K} and ${K2}x${N})`);
    refuse(`Expected size for first two dimensions of batch2 tensor to be: [${B}, ${K}] but got: [${B}, ${K2}].`);
  }
  const shape = [...a.shape.slice(0, -1), N];
  const run = () => {
    const sums = new Float64Array(N);
    const data = new ARRAY[a.dtype](sizeOf(shape));
    for (let row = 0; row < B * M; row++) {
      const matrix = Math.floor(row / M) * K * N;
      sums.fill(0);
      for (let k = 0; k < K; k++) {
        const x = a.data[row * K + k];
        for (let n = 0; n < N; n++) sums[n] += x * b.data[matrix + k * N + n];
      }
      data.set(sums, row * N);
    }
    return data;
  };
  return node(a.shape.length > 2 ? "bmm" : "mm", [a, b], shape, a.dtype, run);
}
