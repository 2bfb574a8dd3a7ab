// Trained weights that outlive the page: kept in this browser and taken back, or downloaded as a file.

import { button, download } from "./_page.js";

/** Weights as the bytes of a safetensors file: a length, a header of shapes and places, the numbers. */
export function safetensors(weights, shapes) {
  const header = {};
  let end = 0;
  for (const [name, values] of Object.entries(weights)) {
    const start = end;
    end += 4 * values.length;
    header[name] = { dtype: "F32", shape: shapes[name], data_offsets: [start, end] };
  }
  let text = JSON.stringify(header);
  text += " ".repeat(-text.length & 7);
  const bytes = new Uint8Array(8 + text.length + end);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(new TextEncoder().encode(text), 8);
  for (const [name, values] of Object.entries(weights)) {
    const [start] = header[name].data_offsets;
    bytes.set(new Uint8Array(Float32Array.from(values).buffer), 8 + text.length + start);
  }
  return bytes;
}

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
 * `weights` gives what there is, with the `key` of what it is; `give` gets what was kept under it.
 */
export function keeper({ key, weights, shapes, give, say }) {
  const place = () => `attention-notes ${key()}`;
  // A browser may forbid it, or be full; there may be something else under that name.
  function kept() {
    try {
      const found = unpacked(localStorage.getItem(place()));
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
    try {
      localStorage.setItem(place(), packed(weights()));
      say("Kept in this browser: Take back brings these weights back, also another day.");
    } catch {
      say("This browser keeps nothing for this page; Download still works.");
    }
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
  }
  return { nodes: [keep, back, file], update };
}
