// The scores' formulas on three vectors, for those that a reader sets by hand and for the picture of
// trained ones: the scores, as in attn_notes/models/triple_product.py, and what a plane is.

import { dot } from "./_model.js";

export const norm = (x) => Math.hypot(...x);
export const times = (x, factor) => Array.from(x, (value) => factor * value);
export const minus = (x, y) => x.map((value, i) => value - y[i]);
export const normalize = (x, smallest = 1e-12) => times(x, 1 / Math.max(norm(x), smallest));

/** det of the Gram matrix of q, k and r, the squared volume that they span; never negative. */
export function determinant(q, k, r) {
  const unit = normalize(q, 1e-154);
  const above = minus(r, times(unit, dot(unit, r)));
  const inside = dot(times(q, norm(above)), k) ** 2 + dot(times(above, norm(q)), k) ** 2;
  return Math.max(0, (norm(q) * norm(above)) ** 2 * dot(k, k) - inside);
}

/** cos² of the angle between k and the plane of q and r; without a plane, the line of q. */
export function cos2(q, k, r) {
  const first = normalize(q);
  // What rounding leaves of a parallel r must not become a direction; as in Python.
  const rest = minus(r, times(first, dot(first, r)));
  const second = times(rest, 1 / Math.max(norm(rest), 32 * Number.EPSILON * norm(r), 1e-154));
  const key = normalize(k);
  return dot(first, key) ** 2 + dot(second, key) ** 2;
}

/** What the softmax is taken of: the score of key k, by its kind. */
export function score(kind, q, k, r, beta) {
  if (kind === "dot") return dot(q, k) / Math.sqrt(q.length);
  if (kind === "angle") return beta * cos2(q, k, r);
  return -determinant(q, k, r) / q.length ** 1.5;
}

/** An orthonormal basis of the plane of q and r, or null where they span none. */
export function planeOf(q, r) {
  const e1 = normalize(q);
  const above = minus(r, times(e1, dot(e1, r)));
  if (norm(q) === 0 || norm(above) <= 1e-6 * norm(r)) return null;
  return { e1, e2: normalize(above) };
}

export const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

/**
 * What a query sees, in three dimensions: two coordinates in the plane of q and r, and the height
 * of every key above it. Without an r the plane is the line of q.
 */
export function place({ q, k, r }, i) {
  const e1 = normalize(q[i]);
  const e2 = r && planeOf(q[i], r[i])?.e2;
  const across = (x) => (e2 ? dot(e2, x) : 0);
  const put = (x) => {
    const [a, b] = [dot(e1, x), across(x)];
    const rest = minus(minus(x, times(e1, a)), times(e2 ?? e1, b));
    return [a, b, norm(rest)];
  };
  return {
    q: [norm(q[i]), 0, 0],
    r: r && [dot(e1, r[i]), across(r[i]), 0],
    keys: k.slice(0, i + 1).map(put),
    flat: !e2,
  };
}
