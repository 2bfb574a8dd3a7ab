// The network in the reader's browser. What it computes are torch's own functions, traced into
// programs (_Parts of book/lessons/equilibrium/widget.py); the relaxations are loops around them.
//
//   prepare → make → settle → read, credits

import { machines } from "./_machines.js";
import { softmax } from "./_model.js";
import { finish, implicit, norm, nudged, path } from "./_equilibrium_credit.js";

const METHODS = ["none", "full", "clipped"];
const EXACT_STEPS = 60;
const NUDGED_STEPS = 40;
const NUDGE = 0.02; // of one prediction's cost
const TOLERANCE = { step: 1e-2, force: 1e-3 };

/** Of every row. */
const lengths = (X, columns) =>
  Array.from({ length: X.length / columns }, (_, t) =>
    norm(X.subarray(t * columns, (t + 1) * columns)),
  );

/** The texts of a run's programs. */
const texts = ({ programs }) => programs.flatMap(({ parts }) => Object.values(parts));

/** Make the programs of these runs ready, before anything is asked of their models. */
export function prepare(runs) {
  const all = new Set(Object.values(runs).flatMap(texts));
  return machines.prepare([...all].map((observe) => ({ observe })));
}

export const prepared = (run) => texts(run).every((observe) => machines.of({ observe }));

/** A model ready to run, as soon as its programs are. */
export const make = (weights, { config, programs }) => ({ weights, config, programs });

const held = new WeakMap(); // the weights that a machine has

/** Run a part of a model on a text of n characters: its outputs by name, until it runs again. */
function use({ weights, programs }, part, n, inputs) {
  const { parts } = programs.find(({ length }) => n <= length);
  const machine = machines.of({ observe: parts[part] });
  const { names, input, output, run } = machine;
  if (held.get(machine) !== weights) {
    for (const name of names) if (name in weights) input(name).set(weights[name]);
    held.set(machine, weights);
  }
  for (const [name, numbers] of Object.entries(inputs)) {
    input(name).set(numbers);
    input(name).fill(0, numbers.length); // a program may have room for a longer text
  }
  run();
  return output;
}

/** What a part gives for n characters, one row each. */
const rows = (model, part, n, inputs) =>
  use(model, part, n, inputs)(part).numbers.slice(0, n * model.config.width);

/** The block and a cost of one prediction, −log p(character) after the one at `position`. */
function system(model, start, position, character) {
  const { width, vocabulary } = model.config;
  const n = start.length / width;
  const wanted = new Float64Array(vocabulary);
  wanted[character] = 1;

  function gradient(z) {
    const state = z.subarray(position * width, (position + 1) * width);
    const g = new Float64Array(z.length);
    g.set(rows(model, "slope", 1, { state, wanted }), position * width);
    return g;
  }

  return {
    force: (z) => rows(model, "force", n, { x: start, z }),
    gradient,
    at: (z) => ({
      back: (v) => rows(model, "back", n, { z, v }),
      curl: (v) => rows(model, "curl", n, { z, v }),
    }),
  };
}

/** How a text comes to rest: every state, how far it is from rest as a whole and by character, and
 * whether that passes the model's own test. */
export function settle(model, tokens) {
  const { width, test, relaxation } = model.config;
  const start = rows(model, "embed", tokens.length, { tokens });
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

/** What a state says: logits and probabilities of the next character by position, and the mean over
 * heads of where each position looks. */
export function read(model, z) {
  const n = z.length / model.config.width;
  const say = use(model, "say", n, { z });
  const [logits, attention] = ["logits", "attention"].map((name) => {
    const { numbers, shape } = say(name);
    const columns = shape.at(-1);
    return Array.from({ length: n }, (_, t) =>
      Array.from(numbers.subarray(t * columns, (t + 1) * columns)),
    );
  });
  return {
    logits,
    next: logits.map(softmax),
    attention: attention.map((row) => row.slice(0, n)),
  };
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
