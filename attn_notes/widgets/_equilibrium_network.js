// The block of attn_notes/models/equilibrium.py.
//
//   make → settle → read, credits

import { add, layerNorm, product, softmax, transposed } from "./_model.js";
import { finish, implicit, norm, nudged, path } from "./_equilibrium_credit.js";
import { METHODS } from "./_equilibrium_plane.js";

const EXACT_STEPS = 60;
const NUDGED_STEPS = 40;
const NUDGE = 0.02; // of one prediction's cost
const TOLERANCE = { step: 1e-2, force: 1e-3 };

/** Of every row. */
const lengths = (X, columns) =>
  Array.from({ length: X.length / columns }, (_, t) =>
    norm(X.subarray(t * columns, (t + 1) * columns)),
  );

/** A model ready to run: its weights, and those that credit goes back through. */
export function make(weights, config) {
  const qkv = weights["block.qkv.weight"];
  const o = weights["block.o.weight"];
  return {
    config,
    token: weights.token,
    position: weights.position,
    qkv,
    o,
    head: weights["unembedding.weight"],
    back: {
      qkv: transposed(qkv, config.width),
      o: transposed(o, config.width),
      head: transposed(weights["unembedding.weight"], config.width),
    },
  };
}

/** What pulls the state, and where it starts. */
function embed({ config, token, position }, tokens) {
  const { width, input } = config;
  const x = new Float64Array(tokens.length * width);
  const [ones, zeros] = [1, 0].map((value) => new Float64Array(width).fill(value));
  tokens.forEach((id, t) => {
    const here = add(
      token.subarray(id * width, (id + 1) * width),
      position.subarray(t * width, (t + 1) * width),
    );
    x.set(input === "raw" ? here : layerNorm(here, ones, zeros), t * width);
  });
  return x;
}

/** Call `visit` with every query and key that may look at each other in every head: where their
 * share stands, who they are, and where the head's numbers begin. */
function pairs(n, { width, heads }, visit) {
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) visit((h * n + i) * n + j, i, j, (h * width) / heads);
    }
  }
}

/** The sum of products of d numbers of u from i on with those of v from j on. */
function dotAt(u, i, v, j, d) {
  let sum = 0;
  for (let c = 0; c < d; c++) sum += u[i + c] * v[j + c];
  return sum;
}

/** Add `factor` times d numbers of v from j on to those of u from i on. */
function addAt(u, i, v, j, d, factor) {
  for (let c = 0; c < d; c++) u[i + c] += factor * v[j + c];
}

/** Causal attention of rows of q, k, v side by side: shares [head][query][key], all flat. */
export function look(qkv, n, config) {
  const { width, heads } = config;
  const d = width / heads;
  const shares = new Float64Array(heads * n * n);
  pairs(n, config, (at, i, j, head) => {
    const key = 3 * width * j + width + head;
    shares[at] = dotAt(qkv, 3 * width * i + head, qkv, key, d) / Math.sqrt(d);
  });
  for (let row = 0; row < heads * n; row++) {
    const seen = shares.subarray(row * n, row * n + (row % n) + 1);
    seen.set(softmax(seen));
  }
  return shares;
}

/** What attention reads with these shares: of each query its heads side by side. */
function gather(shares, qkv, n, config) {
  const { width, heads } = config;
  const read = new Float64Array(n * width);
  pairs(n, config, (at, i, j, head) => {
    const value = 3 * width * j + 2 * width + head;
    addAt(read, width * i + head, qkv, value, width / heads, shares[at]);
  });
  return read;
}

/** How shares change with their scores, row by row; it is its own transposed. */
function softened(shares, change, n) {
  const result = new Float64Array(shares.length);
  for (let row = 0; row < shares.length; row += n) {
    const mean = dotAt(shares, row, change, row, n);
    for (let j = row; j < row + n; j++) result[j] = shares[j] * (change[j] - mean);
  }
  return result;
}

/** The block and a cost of one prediction, −log p(character) after the one at `position`. */
export function system(model, start, position, character) {
  const { config, qkv: W, o: O, head, back } = model;
  const { width, heads, strength, damping } = config;
  const n = start.length / width;
  const d = width / heads;
  const pull = 1 + strength * damping;
  const joined = (z, attended) => attended.map((value, i) => strength * value - pull * z[i]);

  function force(z) {
    const qkv = product(z, W, width);
    const attended = product(gather(look(qkv, n, config), qkv, n, config), O, width);
    return add(start, joined(z, attended));
  }

  function gradient(z) {
    const here = z.subarray(position * width, (position + 1) * width);
    const miss = softmax(product(here, head, width));
    miss[character] -= 1;
    const g = new Float64Array(z.length);
    g.set(product(miss, back.head, miss.length), position * width);
    return g;
  }

  /** J = s · attention's − (1 + s c), both ways, from what attention did at z. */
  function at(z) {
    const qkv = product(z, W, width);
    const shares = look(qkv, n, config);
    const root = Math.sqrt(d);

    function jvp(v) {
      const moved = product(v, W, width);
      const change = new Float64Array(shares.length);
      pairs(n, config, (at, i, j, head) => {
        const query = 3 * width * i + head;
        const key = 3 * width * j + width + head;
        change[at] = (dotAt(moved, query, qkv, key, d) + dotAt(qkv, query, moved, key, d)) / root;
      });
      const read = add(
        gather(softened(shares, change, n), qkv, n, config),
        gather(shares, moved, n, config),
      );
      return joined(v, product(read, O, width));
    }

    function vjp(u) {
      const read = product(u, back.o, width);
      const change = new Float64Array(shares.length);
      const moved = new Float64Array(qkv.length);
      pairs(n, config, (at, i, j, head) => {
        const value = 3 * width * j + 2 * width + head;
        change[at] = dotAt(read, width * i + head, qkv, value, d);
        addAt(moved, value, read, width * i + head, d, shares[at]);
      });
      const scores = softened(shares, change, n);
      pairs(n, config, (at, i, j, head) => {
        const query = 3 * width * i + head;
        const key = 3 * width * j + width + head;
        addAt(moved, query, qkv, key, d, scores[at] / root);
        addAt(moved, key, qkv, query, d, scores[at] / root);
      });
      return joined(u, product(moved, back.qkv, 3 * width));
    }

    return { jvp, vjp };
  }

  return { force, gradient, at };
}

/** How a text comes to rest: every state, how far it is from rest as a whole and by character, and
 * whether that passes the model's own test. */
export function settle(model, tokens) {
  const { width, test, relaxation } = model.config;
  const start = embed(model, tokens);
  const { force } = system(model, start, 0, 0);
  const forces = [];
  const kept = (z) => {
    forces.push(force(z));
    return forces.at(-1);
  };
  const states = [start, ...path(kept, start, relaxation)];
  kept(states.at(-1));
  const apart = (f, z) => f / (z + 1e-9);
  const residuals = forces.map((f, i) => apart(norm(f), norm(states[i])));
  const each = forces.map((f, i) => {
    const sizes = lengths(states[i], width);
    return lengths(f, width).map((size, t) => apart(size, sizes[t]));
  });
  const limit = TOLERANCE[test] / (test === "step" ? relaxation.step : 1);
  return { start, states, residuals, each, limit, settled: residuals.at(-1) < limit };
}

/** What a state says: probabilities of the next character by position, and the mean over heads of
 * where each position looks. */
export function read(model, z) {
  const { config, head, qkv: W } = model;
  const { width, heads } = config;
  const n = z.length / width;
  const shares = look(product(z, W, width), n, config);
  const rows = Array.from({ length: n }, (_, t) => t);
  const logits = rows.map((t) => product(z.subarray(t * width, (t + 1) * width), head, width));
  const attention = rows.map((i) =>
    rows.map((j) => {
      let sum = 0;
      for (let h = 0; h < heads; h++) sum += shares[(h * n + i) * n + j];
      return sum / heads;
    }),
  );
  return { logits, next: logits.map((row) => Array.from(softmax(row))), attention };
}

export const ESTIMATES = ["exact", ...METHODS];

/** How long the credit of every state is, for the prediction after `position`, by one of the
 * estimates: a generator, since it takes hundreds of products. */
export function* crediting(model, { start, states }, position, character, name) {
  const { width, strength, damping } = model.config;
  const block = system(model, start, position, character);
  const z = states.at(-1);
  // Where attention did nothing, one such step would arrive.
  const step = 1 / (1 + strength * damping);
  const relaxation = { steps: NUDGED_STEPS, step };
  const credit =
    name === "exact"
      ? yield* implicit(block, z, { steps: EXACT_STEPS, step })
      : yield* nudged(block, z, { correction: name, beta: NUDGE, relaxation, symmetric: true });
  return lengths(credit, width);
}

export const credits = (...request) =>
  Object.fromEntries(ESTIMATES.map((name) => [name, finish(crediting(...request, name))]));
