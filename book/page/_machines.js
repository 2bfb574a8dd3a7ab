// Forward passes on the page: programs (attn_notes/programs) in double precision, made once for all views.

import { importText, slot } from "./program.js";

/** A run's program `observe`, ready: its inputs' names, inputs and outputs as views, and how to run it. */
export async function machine({ observe }) {
  const program = await importText(observe);
  const H = new Float64Array(program.size);
  return {
    names: Object.keys(program.inputs),
    input: (name) => slot(H, program.inputs[name]),
    output: (name) =>
      name in program.outputs && { numbers: slot(H, program.outputs[name]), shape: program.outputs[name][1] },
    run: program.make(H),
  };
}

/** The machines of runs, each program imported once. */
export const machines = (() => {
  const made = new Map(); // by the program's text
  async function prepare(runs) {
    const fresh = Object.values(runs).filter(({ observe }) => !made.has(observe));
    const ready = await Promise.all(fresh.map(machine));
    fresh.forEach(({ observe }, i) => made.set(observe, ready[i]));
  }
  return { prepare, of: ({ observe }) => made.get(observe) };
})();
