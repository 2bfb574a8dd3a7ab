// Two numbers: the plane of book/lessons/equilibrium/plane.py, all that is seen of one setting of
// it, and learning in it. What learns are the weights.

import { dot } from "./_model.js";
import {
  along,
  finish,
  implicit,
  minus,
  norm,
  nudge,
  nudged,
  path,
} from "./_equilibrium_credit.js";

export const EDGE = 3; // of the plane, and of the weights
export const NUDGES = [0.001, 3];
export const MOST_STEPS = 400;
export const LESSONS = 30;
const LONGEST = 0.12; // the first step of learning, in weights
export const SHOWN = 20; // an arrow is so many times as far as the first step goes
const AWAY = 5; // times as far as it should have come: the nudged state has run away
const NOTHING = 1e-9; // of a gradient

export const PLANE = { steps: 1000, step: 0.1 }; // what comes to rest in the plane
export const AT_REST = 1e-6; // of a force in the plane

/** F(z; w) = x − z + ρ'(z) W ρ(z) with ρ(z) = 2 tanh(z / 2), and the cost ½ ‖z − y‖². */
export function plane({ x, target, weights }) {
  const look = (z) => {
    const rho = z.map((value) => 2 * Math.tanh(value / 2));
    const slope = rho.map((r) => 1 - (r * r) / 4);
    return { slope, rho, heard: [weights[0] * rho[1], weights[1] * rho[0]] };
  };
  return {
    force(z) {
      const { slope, heard } = look(z);
      return z.map((value, i) => x[i] - value + slope[i] * heard[i]);
    },
    gradient: (z) => minus(z, target),
    /** ∂F/∂w at z, whose one moves the first number only and whose other the second. */
    byWeights(z) {
      const { slope, rho } = look(z);
      return [slope[0] * rho[1], slope[1] * rho[0]];
    },
    at(z) {
      const { slope, rho, heard } = look(z);
      const [a, d] = [0, 1].map((i) => -1 - (rho[i] * slope[i] * heard[i]) / 2);
      const [b, c] = weights.map((w) => slope[0] * w * slope[1]);
      return {
        back: ([v, w]) => Float64Array.of(a * v + c * w, b * v + d * w),
        curl: ([v, w]) => Float64Array.of((b - c) * w, (c - b) * v),
        // −J⁻¹ v: how far the state at rest goes under a small force v.
        yields: ([v, w]) => Float64Array.of(b * w - d * v, c * v - a * w).map((u) => u / (a * d - b * c)),
        // The real part of the rightmost of J's two eigenvalues.
        abscissa: (a + d) / 2 + Math.sqrt(Math.max(0, ((a - d) / 2) ** 2 + b * c)),
      };
    },
  };
}

export const METHODS = ["none", "full", "clipped"];
export const WAYS = ["true", ...METHODS];

/** What of a gradient the weights follow: a weight of 0 is no connection, two equal ones are one. */
export function learning(gradient, weights) {
  const own = gradient.map((value, i) => (weights[i] === 0 ? 0 : value));
  return weights[0] === weights[1] ? own.map(() => (own[0] + own[1]) / 2) : own;
}

/** The gradient by the weights that a credit makes, as far as they follow it. */
const byCredit = (system, z, credit, weights) =>
  learning(system.byWeights(z).map((value, i) => value * credit[i]), weights);

/** A direction against the gradient, one long; null if there is none. */
function stepAgainst(gradient) {
  const size = norm(gradient);
  return size > NOTHING && size < Infinity ? gradient.map((value) => -value / size) : null;
}

/** All that is seen of one setting: the state at rest, and what every method makes of it. */
export function examine({ beta, steps, ...setting }) {
  const system = plane(setting);
  const z = finish(path(system.force, Float64Array.from(setting.x), PLANE));
  const left = norm(system.force(z));
  const { abscissa, yields } = system.at(z);
  const seen = { z, left, abscissa, rests: left < AT_REST && abscissa < 0, cost: costAt(system, z) };
  if (!seen.rests) return seen;
  const credit = finish(implicit(system, z, PLANE));
  const push = norm(system.gradient(z));
  const gradient = byCredit(system, z, credit, setting.weights);
  /** Where the first step goes, SHOWN times as far: nowhere if there is none. */
  const reach = (step) => {
    const pushed = system.byWeights(z).map((value, i) => value * (step?.[i] ?? 0));
    return yields(pushed).map((value) => SHOWN * LONGEST * value);
  };
  const step = stepAgainst(gradient);
  const exact = { credit, gradient, step, reach: reach(step) };
  const methods = Object.fromEntries(
    METHODS.map((correction) => {
      const field = nudge(system, z, { correction, beta });
      const way = [z, ...path(field, z, { steps, step: PLANE.step })];
      const guess = minus(z, way.at(-1)).map((value) => value / beta);
      const found = byCredit(system, z, guess, setting.weights);
      const step = stepAgainst(found);
      return [
        correction,
        {
          credit: guess,
          gradient: found,
          step,
          reach: reach(step),
          way,
          moving: norm(field(way.at(-1))) / (beta * push), // against its first push
          length: norm(found) / norm(gradient),
          angle: step ? angleOf(found, gradient) : NaN,
          away: !(norm(guess) <= AWAY * norm(credit)),
        },
      ];
    }),
  );
  return { ...seen, credit, push, exact, methods };
}

/** Whether there is a gradient to compare with: a state at rest, and weights that can do better. */
export const comparable = ({ rests, exact }) => Boolean(rests && exact.step);

const costAt = (system, z) => dot(system.gradient(z), system.gradient(z)) / 2;

/** Between two vectors, in degrees. */
function angleOf(u, v) {
  const cosine = dot(u, v) / (norm(u) * norm(v));
  return (Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI;
}

/** The weights after every step of learning by one method, with where z rests then and what that costs.
 * All steps of one lesson are of one length, whoever takes them. It ends early where no state comes to
 * rest, or where the method has come to no number. */
export function descend({ beta, steps, ...setting }, method) {
  const relaxation = { steps, step: PLANE.step };
  const lessons = [];
  let weights = Array.from(setting.weights);
  while (lessons.length <= LESSONS) {
    const system = plane({ ...setting, weights });
    const z = finish(path(system.force, Float64Array.from(setting.x), PLANE));
    if (!(norm(system.force(z)) < AT_REST && system.at(z).abscissa < 0)) break;
    lessons.push({ weights, z, cost: costAt(system, z) });
    const credit =
      method === "true"
        ? finish(implicit(system, z, PLANE))
        : finish(nudged(system, z, { correction: method, beta, relaxation, symmetric: false }));
    if (!credit.every(Number.isFinite)) break;
    const step = stepAgainst(byCredit(system, z, credit, weights));
    const length = LONGEST * (1 - (lessons.length - 1) / LESSONS);
    if (step) weights = along(weights, step, length);
  }
  return lessons;
}

/** Weights to try; `opens` is how a link in the text calls them. */
export const PRESETS = [
  ["Opposed", "opposed", { weights: [-1.6, 1.6], input: [1, -0.9], target: [1.8, -1] }],
  ["Mutual", "mutual", { weights: [-0.5, -0.5], input: [0.1, 0.3], target: [-1.3, 1.5] }],
  ["One way", "oneway", { weights: [0, 1.3], input: [0.4, -0.2], target: [1.4, -0.7] }],
  [
    "With the limit",
    "limit",
    {
      weights: [2.8, 0.1],
      input: [2, -0.4],
      target: [0.2, 1],
      method: "clipped",
      beta: 0.02,
      steps: 400,
    },
  ],
].map(([name, opens, state]) => ({
  name,
  opens,
  state: { method: "none", beta: 0.1, steps: 100, learned: 0, ...state },
}));
