// How a state moves, and credit from that, after book/lessons/equilibrium/estimators.py, for any
// model. A state is a flat Float64Array. What takes many steps is a generator of its states, so that a
// page may stop in between; `finish` runs it to its end.
//
// A system is {force(z), gradient(z), at(z)}: the field F, the gradient of the cost, and with the Jacobian
// J at z {back(v), curl(v)}: Jᵀ v and (J − Jᵀ) v.

import { add, dot } from "./_model.js";

export const norm = (x) => Math.sqrt(dot(x, x));
export const minus = (x, y) => x.map((value, i) => value - y[i]);
export const along = (x, y, step) => x.map((value, i) => value + step * y[i]);

/** Every state on the way of a relaxation, and the last as what is returned. */
export function* path(field, start, { steps, step }) {
  let z = start;
  for (let i = 0; i < steps; i++) {
    z = along(z, field(z), step);
    yield z;
  }
  return z;
}

export function finish(states) {
  let next = states.next();
  while (!next.done) next = states.next();
  return next.value;
}

/** The exact credit at rest: Jᵀ a + g = 0, solved by relaxing a. */
export function* implicit(system, z, relaxation) {
  const { back } = system.at(z);
  const g = system.gradient(z);
  return yield* path((a) => add(back(a), g), z.map(() => 0), relaxation);
}

/** The field that a state follows once it is nudged from z by β. */
export function nudge(system, z, { correction, beta }) {
  const pushed = (state) => along(system.force(state), system.gradient(state), -beta);
  if (correction === "none") return pushed;
  const { curl } = system.at(z);
  return (state) => {
    const force = pushed(state);
    const turn = curl(minus(state, z));
    const length = norm(turn);
    // The published 1e-8 also keeps 0 / 0 away.
    const most = correction === "clipped" && length ? (norm(force) + 1e-8) / length : 1;
    return along(force, turn, -Math.min(1, most));
  };
}

/** Credit by relaxing once more, nudged, on both sides or on one. */
export function* nudged(system, z, { relaxation, symmetric, ...how }) {
  const there = yield* path(nudge(system, z, how), z, relaxation);
  if (!symmetric) return minus(z, there).map((x) => x / how.beta);
  const back = yield* path(nudge(system, z, { ...how, beta: -how.beta }), z, relaxation);
  return minus(back, there).map((x) => x / (2 * how.beta));
}

/** Run a generator a few milliseconds at a time, so that the page stays awake; returns how to stop. */
export function inSlices(states, done) {
  let timer;
  function slice() {
    const until = performance.now() + 12;
    let next = states.next();
    while (!next.done && performance.now() < until) next = states.next();
    if (next.done) done(next.value);
    else timer = setTimeout(slice);
  }
  timer = setTimeout(slice);
  return () => clearTimeout(timer);
}
