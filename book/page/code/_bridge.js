// What Python sees of the page's tensors: `op(name, "1,2", "[...]")` makes a node of nodes, by their numbers, and
// further arguments as JSON, and gives its number, or a text "!Kind: message" for Python to raise. Only numbers
// and texts cross, so that nothing has to be freed.

import { printed } from "./_printed.js";
import * as T from "./_tensors.js";

const OPERATIONS = {
  constant: (_, values, shape, dtype) => T.constant(values.map(Number), shape, dtype),
  arange: (_, start, step, count, dtype) => T.arange(start, step, count, dtype),
  full: (_, value, shape, dtype) => T.expand(T.constant([Number(value)], [], dtype), shape),
  _to_copy: ([x], dtype) => T.cast(x, dtype),
  alias: ([x]) => T.same("alias", x),
  detach: ([x]) => T.same("detach", x),
  expand: ([x], shape) => T.expand(x, shape),
  permute: ([x], dims) => T.permute(x, dims),
  slice: ([x], dim, start, length) => T.slice(x, dim, start, length),
  view: ([x], shape) => T.view(x, shape),
  cat: (parts, dim) => T.cat(parts, dim),
  index: ([x, rows]) => T.index(x, rows),
  index_put: ([x, rows, values], adds) => T.indexPut(x, rows, values, adds),
  argsort: ([x], descending) => T.argsort(x, descending),
  multiply: ([a, b]) => T.multiply(a, b),
  nonzero: ([x]) => {
    const found = Array.from(x.data.keys()).filter((i) => x.data[i]);
    return T.constant(found, [found.length], "int64");
  },
};
for (const op of ["sum", "prod", "amax", "amin"]) OPERATIONS[op] = ([x], dims) => T.reduce(op, x, dims);
for (const op of ["argmax", "argmin"]) OPERATIONS[op] = ([x], dim) => T.argReduce(op, x, dim);

/** A number as JSON has it, or the word that Python reads. */
const plain = (x) => (Number.isFinite(x) ? x : String(x).replace("Infinity", "inf").replace("NaN", "nan"));

const spanOf = (data) => (data.length ? `${data.reduce((a, b) => Math.min(a, b))},${data.reduce((a, b) => Math.max(a, b))}` : "");

const DRAWS = {
  normal: ({ normal }) => () => normal(),
  uniform: ({ uniform }) => () => uniform(),
  below: ({ below }, most) => () => below(most),
};

/**
 * `random(seed)` gives random numbers; `looked` is called when Python looks at a number that hangs on an input.
 */
export function bridge({ random, looked }) {
  const at = (id) => T.nodes[id];
  const all = (ids) => (ids ? ids.split(",").map(at) : []);
  const look = (id) => {
    if (at(id).live) looked();
    return at(id).data;
  };
  const guarded = (f) => (...given) => {
    try {
      return f(...given);
    } catch (error) {
      return `!${error.kind ?? "RuntimeError"}: ${error.message}`;
    }
  };
  const generators = new Map();
  return {
    op: guarded((name, ids, more) => OPERATIONS[name](all(ids), ...(more ? JSON.parse(more) : [])).id),
    entrywise: guarded((name, kind, ids) => T.entrywise(name, kind, all(ids)).id),
    number: guarded((text, dtype) => T.number(Number(text), dtype).id),
    shape: (id) => at(id).shape.join(","),
    dtype: (id) => at(id).dtype,
    live: (id) => at(id).live,
    count: () => T.nodes.length,
    item: guarded((id) => String(plain(look(id)[0]))),
    values: guarded((id) => JSON.stringify(Array.from(look(id), plain))),
    /** The least and the largest: asked of an index, which a program need not know. */
    span: guarded((id) => spanOf(at(id).data)),
    text: guarded((id) => printed(at(id))), // to print is not to look: nothing can hang on it
    /** What these hang on, as [id, operation, what it is given]. */
    history: (ids) => JSON.stringify(T.needed(all(ids), true).map(({ id, op, given }) => [id, op, refer(given)])),
    /** The same for a program: shape, dtype, name and a constant's numbers besides. */
    graph: (ids) => JSON.stringify(T.needed(all(ids)).map(row)),
    seed: (generator, seed) => { generators.set(generator, random(seed)); },
    draw: guarded((generator, kind, most, shape, dtype) =>
      T.drawn(DRAWS[kind](generators.get(generator), most), JSON.parse(shape), dtype).id),
    shuffle: guarded((generator, count) => {
      const { below } = generators.get(generator);
      const order = Array.from({ length: count }, (_, i) => i);
      for (let i = count - 1; i > 0; i--) {
        const j = below(i + 1);
        [order[i], order[j]] = [order[j], order[i]];
      }
      return T.constant(order, [count], "int64", { random: true }).id;
    }),
  };
}

/** What a node is given, other nodes as {"node": id}. */
const refer = (x) => (Array.isArray(x) ? x.map(refer) : x?.run ? { node: x.id } : x);

/** A node for `attn_notes.programs.graph`, with the numbers of a constant in the shape in which they are held. */
function row({ id, op, given, shape, dtype, name = "", live, random, data }) {
  if (live) return [id, op, refer(given), shape, dtype, name, null, shape];
  const [held, numbers] = once(shape, data);
  return [id, random ? "random" : "constant", [], shape, dtype, name, Array.from(numbers, plain), held];
}

/** What is repeated along a dimension, from the first on, once. */
function once(shape, data) {
  const held = [...shape];
  let numbers = data;
  for (let d = 0; d < shape.length; d++) {
    const rest = numbers.length / (shape[d] || 1);
    if (!numbers.every((x, i) => x === numbers[i % rest])) break;
    held[d] = 1;
    numbers = numbers.slice(0, rest);
  }
  return [held, numbers];
}
