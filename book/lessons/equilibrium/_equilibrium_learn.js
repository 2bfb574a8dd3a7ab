// Learning by settling down, in a Worker: pieces of the text, what a model is judged by, and the governor.

import { ownName } from "./_unpack.js";
import { fastExp, importText, slot } from "./program.js";
import { TASKS } from "./trainer.js";
import { loadVectors } from "./vectors.js";

const GOVERNED = "block."; // how the names begin of what the governor scales

const encode = (text, characters) => Array.from(text, (character) => characters.indexOf(character));

/** What a model loses on the held-out pieces, a function of its weights, fixed ones among them. */
export async function heldOutLoss({ read, held, characters }) {
  const program = await importText(read);
  const { H, ...faster } = loadVectors(program.size) ?? { H: new Float32Array(program.size) };
  const run = program.make(H, { exp: fastExp, ...faster });
  const part = (name) => slot(H, program.inputs[name]);
  const loss = slot(H, program.outputs.loss);
  part("pieces").set(held.flatMap((text) => encode(text, characters)));
  return (weights) => {
    for (const [name, values] of Object.entries(weights)) part(name).set(values);
    run();
    return loss[0];
  };
}

/**
 * Every step reads pieces of the text, drawn anew. Where its state did not come to rest, the block's
 * weights are scaled down after it, as book/lessons/equilibrium/governor.py does: there after
 * another relaxation with the new weights, here by what is left in the step itself.
 */
TASKS.settling = async ({ H, program, random: { below }, options }) => {
  const { text, characters, governor, every } = options;
  const part = (name) => slot(H, program.inputs[name]);
  const [pieces, left] = [part("batch"), slot(H, program.outputs.left)];
  const [count, length] = program.inputs.batch[1];
  const names = Object.keys(program.inputs).filter((name) => name !== "batch");
  const tokens = encode(text, characters);
  const lost = await heldOutLoss(options);
  const weights = () => Object.fromEntries(names.map((name) => [ownName(name), part(name)]));

  function feed() {
    for (let i = 0; i < count; i++) {
      const start = below(tokens.length - length + 1);
      pieces.set(tokens.slice(start, start + length), i * length);
    }
  }
  function after() {
    if (left[0] < governor.tolerance) return; // what is no number is not below
    for (const name of names) {
      if (name.startsWith(GOVERNED)) part(name).forEach((x, i, all) => (all[i] = x * governor.factor));
    }
  }
  const judge = () => ({ loss: lost(weights()) });
  const read = () => Object.fromEntries(Object.entries(weights()).map(([name, x]) => [name, x.slice()]));
  return { feed, after, judge, every, read };
};
