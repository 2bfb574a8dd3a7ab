// Two numbers: the plane of attn_notes/chapters/equilibrium/plane.py, all that is seen of one setting of
// it, and learning in it.

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

export const EDGE = 3; // of the plane, and of what couples
export const NUDGES = [0.001, 3];
export const MOST_STEPS = 400;
export const LESSONS = 30;
const RATE = 0.3; // of learning, η
const AWAY = 5; // times as far as it should have come: the nudged state has run away

export const PLANE = { steps: 1000, step: 0.1 }; // what comes to rest in the plane
export const AT_REST = 1e-6; // of a force in the plane

/** F(z; x) = x − z + ρ'(z) W ρ(z) with ρ(z) = 2 tanh(z / 2), and the cost ½ ‖z − y‖². */
export function plane({ x, target, coupling, rotation }) {
  const W = [coupling - rotation, coupling + rotation]; // what the first hears, what the second does
  const look = (z) => {
    const rho = z.map((value) => 2 * Math.tanh(value / 2));
    return { slope: rho.map((r) => 1 - (r * r) / 4), rho, heard: [W[0] * rho[1], W[1] * rho[0]] };
  };
  return {
    force(z) {
      const { slope, heard } = look(z);
      return z.map((value, i) => x[i] - value + slope[i] * heard[i]);
    },
    gradient: (z) => minus(z, target),
    at(z) {
      const { slope, rho, heard } = look(z);
      const [a, d] = [0, 1].map((i) => -1 - (rho[i] * slope[i] * heard[i]) / 2);
      const [b, c] = W.map((w) => slope[0] * w * slope[1]);
      return {
        back: ([v, w]) => Float64Array.of(a * v + c * w, b * v + d * w),
        curl: ([v, w]) => Float64Array.of((b - c) * w, (c - b) * v),
        // The real part of the rightmost of J's two eigenvalues.
        abscissa: (a + d) / 2 + Math.sqrt(Math.max(0, ((a - d) / 2) ** 2 + b * c)),
      };
    },
  };
}

export const METHODS = ["none", "full", "clipped"];

/** All that is seen of one setting: the state at rest, and the credit by every method. */
export function examine({ beta, steps, ...setting }) {
  const system = plane(setting);
  const z = finish(path(system.force, Float64Array.from(setting.x), PLANE));
  const left = norm(system.force(z));
  const { abscissa } = system.at(z);
  const seen = { z, left, abscissa, rests: left < AT_REST && abscissa < 0, cost: costAt(system, z) };
  if (!seen.rests) return seen;
  const credit = finish(implicit(system, z, PLANE));
  const push = norm(system.gradient(z));
  const methods = Object.fromEntries(
    METHODS.map((correction) => {
      const field = nudge(system, z, { correction, beta });
      const way = [z, ...path(field, z, { steps, step: PLANE.step })];
      const moved = minus(z, way.at(-1));
      const guess = moved.map((value) => value / beta);
      return [
        correction,
        {
          credit: guess,
          way,
          moving: norm(field(way.at(-1))) / (beta * push), // against its first push
          length: norm(guess) / norm(credit),
          angle: angleOf(guess, credit),
          away: !(norm(guess) <= AWAY * norm(credit)),
        },
      ];
    }),
  );
  return { ...seen, credit, push, methods };
}

/** Whether there is a gradient to compare with: a state at rest, and not on the target. */
export const comparable = ({ rests, push }) => rests && push > 1e-9;

const costAt = (system, z) => dot(system.gradient(z), system.gradient(z)) / 2;

/** Between two vectors, in degrees. */
function angleOf(u, v) {
  const cosine = dot(u, v) / (norm(u) * norm(v));
  return (Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI;
}

/** x after every step of learning by one method, with where z rests then and what that costs. It
 * ends early where no state comes to rest. */
export function descend({ beta, steps, ...setting }, correction) {
  const relaxation = { steps, step: PLANE.step };
  const lessons = [];
  let x = Float64Array.from(setting.x);
  while (lessons.length <= LESSONS) {
    const system = plane({ ...setting, x });
    const z = finish(path(system.force, x, PLANE));
    if (!(norm(system.force(z)) < AT_REST && system.at(z).abscissa < 0)) break;
    lessons.push({ x, z, cost: costAt(system, z) });
    const guess = finish(nudged(system, z, { correction, beta, relaxation, symmetric: false }));
    x = along(x, guess, -RATE);
  }
  return lessons;
}

/** Forces to try. */
export const PRESETS = [
  { name: "Conservative", coupling: 0.5, rotation: 0, parameter: [-1.2, 0.6], target: [0.9, 0.2] },
  { name: "Rotation", coupling: 0, rotation: 1.7, parameter: [0.5, -2.3], target: [-0.2, 0] },
  { name: "One way", coupling: 0.6, rotation: 0.6, parameter: [-0.6, 0.8], target: [-1.4, 1.6] },
  {
    name: "One way, strong",
    coupling: 1.4,
    rotation: 1.4,
    parameter: [0.2, -0.1],
    target: [-0.1, 1.4],
    method: "clipped",
    beta: 0.02,
    steps: 400,
  },
].map((preset) => ({ beta: 0.1, steps: 100, learned: 0, ...preset }));
