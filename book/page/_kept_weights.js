// Trained weights that outlive the page: kept in this browser and taken back, or downloaded as a file.

import { button, download } from "./_page.js";
import { safetensors } from "./program.js";
import { stored } from "./_stored.js";

const toText = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const fromText = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Weights by name as a text and back: numbers of four bytes each, in the order of their names. */
const packed = (weights) =>
  JSON.stringify(
    Object.entries(weights).map(([name, values]) => [
      name,
      toText(new Uint8Array(Float32Array.from(values).buffer)),
    ]),
  );
const unpacked = (text) =>
  Object.fromEntries(
    JSON.parse(text).map(([name, bytes]) => [name, new Float32Array(fromText(bytes).buffer)]),
  );

/**
 * Three buttons: keep the weights in this browser under a key, take them back, download them.
 * `weights` gives what there is, with the `key` of what it is; `give` gets what was kept under it. `update` says
 * whether there is something to be taken back.
 */
export function keeper({ key, weights, shapes, give, say }) {
  const memory = () => stored(`attention-notes ${key()}`);
  // There may be something else under that name.
  function kept() {
    try {
      const found = unpacked(memory().get());
      const sizes = shapes();
      const fits = Object.entries(sizes).every(
        ([name, shape]) => found[name]?.length === shape.reduce((n, length) => n * length, 1),
      );
      return fits ? found : null;
    } catch {
      return null;
    }
  }
  const keep = button("Keep", () => {
    memory().put(packed(weights()));
    say(
      memory().keeps()
        ? "Kept in this browser: Take back brings these weights back, also another day."
        : "This browser keeps nothing of it: Take back brings these weights back as long as this page is open, and Download makes a file of them.",
    );
    update();
  });
  const back = button("Take back", () => give(kept()));
  const file = button("Download", () => {
    const name = `${key().replaceAll(/[^a-z0-9]+/gi, "-")}.safetensors`;
    download(name, [safetensors(weights(), shapes())]);
    say(`${name}: attn_notes.training.checkpoint.load_weights reads it.`);
  });
  function update() {
    keep.disabled = file.disabled = weights() === null;
    back.disabled = kept() === null;
    return !back.disabled;
  }
  return { nodes: [keep, back, file], update };
}
