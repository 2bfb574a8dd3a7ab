// The network in the reader's browser. One use of it is torch's own, traced into a program
// (attn_notes/programs); the recursion of attn_notes/models/trm.py is this loop around it.
//
//   machine → make → think

import { importText, slot } from "./program.js";

/**
 * One use of the network, ready for weights, from a program's text: what it reads, what it writes. `array`
 * gives the numbers to run on and what `make` takes besides; in double precision if it is not given.
 */
export async function machine(text, array = (size) => ({ H: new Float64Array(size) })) {
  const program = await importText(text);
  const { H, ...faster } = array(program.size);
  const views = (slots) =>
    Object.fromEntries(Object.entries(slots).map(([name, place]) => [name, slot(H, place)]));
  const run = program.make(H, faster);
  const [input, output] = [views(program.inputs), views(program.outputs)];
  const [puzzles] = Object.values(program.inputs.puzzles).slice(1);
  let held = null;
  /** Run it with these weights. */
  function use(weights) {
    if (held !== weights) {
      for (const [name, values] of Object.entries(weights)) input[name].set(values);
      held = weights;
    }
    run();
  }
  return { input, output, use, boards: puzzles[0] };
}

/** The programs of runs, each imported once for all views; `ready` is called when one has arrived. */
export const machines = (() => {
  const made = new Map(); // by the program's text: a machine, or who waits for it
  return function get(text, ready) {
    const found = made.get(text);
    if (found?.use) return found;
    if (found) found.push(ready);
    else {
      made.set(text, [ready]);
      machine(text).then((one) => {
        const waiting = made.get(text);
        made.set(text, one);
        for (const each of waiting) each();
      });
    }
    return null;
  };
})();

export const make = (one, weights, config) => ({ machine: one, weights, config });

/**
 * Think about puzzles, as many as the machine takes at once, one supervision step after the other:
 * {logits, halt, mind} each, where mind is what the output head reads in z. A page may stop in between:
 * after each use of the network but a step's last there is a null.
 */
export function* think({ machine: { input, output, use }, weights, config }, puzzles) {
  const everywhere = (vector) => input.y.map((_, i) => vector[i % vector.length]);
  let y = everywhere(weights.y_init);
  let z = everywhere(weights.z_init);
  let mind = null; // of the last thought
  /** x, y and z in, or y and z. */
  function net(seen) {
    for (const [name, values] of Object.entries({ puzzles, y, z })) input[name].set(values);
    input.seen[0] = seen;
    use(weights);
    return output.h.slice();
  }
  for (;;) {
    for (let cycle = 0; cycle < config.cycles; cycle++) {
      if (cycle) yield null;
      for (let step = 0; step < config.latent_steps; step++) {
        z = net(1);
        yield null;
      }
      mind = output.logits.slice();
      y = net(0);
    }
    yield { logits: output.logits.slice(), halt: output.halt[0], mind };
  }
}
