// What is said of texts, characters and numbers.

import { argmax } from "./_model.js";
import { number, plural } from "./_page.js";

/** The shares of credit before a position, at it and after it; null where there are none. */
export function parts(sizes, position) {
  const sum = (from, to) => sizes.slice(from, to).reduce((total, x) => total + x, 0);
  const all = sum(0);
  if (!(all > 0 && all < Infinity)) return null;
  return [sum(0, position), sizes[position], sum(position + 1)].map((x) => x / all);
}

/** Which character is asked for after a position: the text's own, or at its end the one that the
 * model finds second likeliest. */
export function wanted(tokens, next, position) {
  if (position + 1 < tokens.length) return tokens[position + 1];
  const others = next[position].map((p, i) => (i === argmax(next[position]) ? -1 : p));
  return argmax(others);
}

/** What is wrong with a text, in a sentence; null if nothing is. */
export function objection(text, { characters, config }) {
  const typed = [...text];
  const known = [...characters];
  if (!typed.length) {
    return "Write at least one character: a model predicts from what came before.";
  }
  const unknown = [...new Set(typed)].filter((character) => !known.includes(character));
  if (unknown.length) {
    const some = unknown.slice(0, 3).map(glyphOf).join(" ");
    return `Write with ${spans(known)}; ${some} ${unknown.length > 1 ? "are" : "is"} not among them.`;
  }
  if (typed.length > config.context) {
    const length = plural(typed.length, "character");
    return `The text has ${length}; this model reads at most ${config.context}.`;
  }
  return null;
}

/** Characters, what follows one another in the alphabet drawn together: "␣ ! A–Z a–z". */
function spans(characters) {
  const codes = characters.map((character) => character.codePointAt(0)).sort((a, b) => a - b);
  const runs = [];
  for (const code of codes) {
    if (runs.at(-1)?.at(-1) === code - 1) runs.at(-1).push(code);
    else runs.push([code]);
  }
  const glyph = (code) => glyphOf(String.fromCodePoint(code));
  return runs
    .flatMap((run) => (run.length > 3 ? [`${glyph(run[0])}–${glyph(run.at(-1))}`] : run.map(glyph)))
    .join(" ");
}

const GLYPHS = { " ": "␣", "\n": "↵", "\t": "⇥" };
const NAMES = { " ": "space", "\n": "new line", "\t": "tab" };
export const glyphOf = (character) => GLYPHS[character] ?? character;
export const nameOf = (character) => NAMES[character] ?? character;

export const NAMES_OF = {
  exact: "exact",
  none: "naive",
  full: "AEP",
  clipped: "AEP, limited",
};

/** Two digits of a number that may be very small. */
export function tiny(x) {
  if (!(x > 0 && x < 0.001)) return Number.isFinite(x) ? x.toPrecision(2) : "no number";
  const [digits, power] = x.toExponential(1).split("e-");
  return `${digits} · 10⁻${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
}

export const percent = (share) => `${number(100 * share, 0)} %`;
