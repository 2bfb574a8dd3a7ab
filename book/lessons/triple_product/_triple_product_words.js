// Words and numbers of the explorer, as both its modes put them.

import { html } from "./_page.js";

/** Two digits after the point, as long as that is short; no minus before a zero. */
export function show(value) {
  const short = Math.abs(value) < 1e5 ? value.toFixed(2) : value.toExponential(2);
  return short.replace(/^-(?=0\.00$)/, "").replaceAll("-", "−").replace("+", "");
}

export const factor = (value) => `× ${value < 10 ? value.toFixed(2) : value.toFixed(1)}`;
export const point = (x) => x.map(show).join(", ");
export const subscript = (i) => "₁₂₃₄₅"[i];

/** Numbers by their names; `set` takes as many as there are names. */
export function facts() {
  const list = html("dl", { class: "tp-facts" });
  const set = (entries) => {
    list.replaceChildren(
      ...entries.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]),
    );
  };
  return { list, set };
}

/** Numbers in a sentence: "12", "6 to 12", "3, 7". */
export function counts(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const last = sorted.length - 1;
  const unbroken = last > 1 && sorted[last] - sorted[0] === last;
  return unbroken ? `${sorted[0]} to ${sorted[last]}` : sorted.join(", ");
}

export const KINDS = [
  { kind: "dot", name: "dot product" },
  { kind: "volume", name: "volume" },
  { kind: "angle", name: "angle" },
];

export const LAYERS = { 1: "one layer", 2: "two layers" };

/** What a network is called: "volume, one layer". */
export const named = ({ score: kind, layers }) => `${kind}, ${LAYERS[layers] ?? `${layers} layers`}`;

const OVER_THE_PLANE =
  "The plane is that of q and r, drawn to a scale of their own; a key's height is its distance from it.";

export const WORDS = {
  dot:
    "A key scores by its length along q, here to the right. This head has no r: all the rest of a " +
    "key is drawn as its height.",
  volume: `${OVER_THE_PLANE} A key scores by minus that distance squared, times the squared area of q and r: the winner is the lowest key, not the flattest, and may stand upright.`,
  angle: `${OVER_THE_PLANE} A key scores by its angle to the plane, whatever its length: the winner is the flattest key, not the lowest.`,
};
