// The grammar of brackets and what a model writes within it, in the reader's browser: the choices of
// book/lessons/dialectical/decoding.py, of the logits of _dialectical_model.js.

import { argmax, softmax } from "./_model.js";
import { forward } from "./_dialectical_model.js";

export const VOCABULARY = [..."()abc _"];
export const [OPEN, CLOSE, SPACE, PAD] = [..."() _"].map((character) => VOCABULARY.indexOf(character));
const EVERYTHING = VOCABULARY.map(() => true);

export const ends = (token, depth) => token === SPACE && depth <= 0; // outside of brackets
export const after = (token, depth) => depth + (token === OPEN) - (token === CLOSE);
export const depthOf = (tokens) => tokens.reduce((depth, token) => after(token, depth), 0);
const spell = (tokens) => tokens.map((token) => VOCABULARY[token]).join("");

/** Which tokens may come next with so many brackets open and so many characters left. */
export function allowed(depth, remaining) {
  return VOCABULARY.map((_, token) => {
    if (token === PAD) return false;
    if (token === OPEN) return depth + 1 < remaining;
    if (token === CLOSE) return depth > 0;
    return depth < remaining || ends(token, depth);
  });
}

/** Probabilities of what the mask allows. What is no number counts as the least there is. */
function distribution(logits, mask, temperature) {
  const most = Number.MAX_VALUE;
  const finite = logits.map((x) => (Number.isNaN(x) ? -most : Math.max(-most, Math.min(most, x))));
  // The largest is 0 and stays 0, however cold: some weight is always left to choose by.
  const largest = Math.max(...finite.filter((_, token) => mask[token]));
  return softmax(
    finite.map((x, token) => (mask[token] ? (x - largest) / temperature : -Infinity)),
  );
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function randomness(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sample(probabilities, random) {
  const last = probabilities.findLastIndex((p) => p > 0); // whatever rounding leaves
  let left = random();
  return probabilities.findIndex((p, token) => {
    left -= p;
    return left < 0 || token === last;
  });
}

/**
 * Continue a prompt by at most `budget` characters; at temperature 0 the likeliest is taken. A space
 * where nothing is open is the end, or, without `stop`, one more filler: it writes on. Each
 * step is one choice: {token, depth, ends, wanted, allowed, removed} as in Python, and `seen`, what
 * the head did in every recursion step at the position from which it was chosen.
 */
export function generate(model, prompt, { budget, temperature, constrained, draw, stop = true }) {
  const tokens = [...prompt].map((character) => VOCABULARY.indexOf(character));
  const random = randomness(draw);
  const steps = [];
  let depth = depthOf(tokens);
  for (let remaining = budget; remaining > 0; remaining--) {
    const { logits, steps: seen } = forward(model, tokens);
    const last = tokens.length - 1;
    const mask = constrained ? allowed(depth, remaining) : EVERYTHING;
    const wanted = distribution(logits[last], EVERYTHING, temperature || 1);
    const left = distribution(logits[last], mask, temperature || 1);
    const token = temperature ? sample(left, random) : argmax(left);
    const end = stop && ends(token, depth);
    depth = after(token, depth);
    steps.push({
      token,
      depth,
      ends: end,
      wanted,
      mask,
      allowed: left,
      removed: wanted.reduce((sum, p, i) => (mask[i] ? sum : sum + p), 0),
      seen: seen.map(({ attention, tension, active }) => ({
        attention: attention.map((stream) => stream[last]),
        tension: tension[last],
        active: active[last],
      })),
    });
    if (end) break;
    tokens.push(token);
  }
  return { prompt, text: spell(tokens), steps, ended: steps.at(-1)?.ends ?? false };
}

/** Which promises a text breaks. */
export function faults(text) {
  let depth = 0;
  let lowest = 0;
  for (const character of text) {
    depth = after(VOCABULARY.indexOf(character), depth);
    lowest = Math.min(lowest, depth);
  }
  const broken = {
    "goes below zero": lowest < 0,
    "leaves brackets open": depth > 0,
    "contains PAD": text.includes(VOCABULARY[PAD]),
  };
  return Object.keys(broken).filter((name) => broken[name]);
}

// ---------------------------------------------------------------------------------------------
// Words and signs for the page

export const FROM_BEFORE = "What is shown is from before.";

export const glyphOf = (token) => (token === SPACE ? "␣" : VOCABULARY[token]);
export const glyph = (step) => (step.ends ? "■" : glyphOf(step.token));
export const NAMES = { [SPACE]: "space", [PAD]: "PAD" };
export const inWords = ({ ends: end, token }) =>
  end ? "the end" : token === SPACE ? "a space" : (NAMES[token] ?? VOCABULARY[token]);
/** Which of these characters no string has, in a sentence; null if there is none. */
export function unknownIn(characters) {
  const found = characters.find(
    (character) => !VOCABULARY.includes(character) || character === VOCABULARY[PAD],
  );
  if (found === undefined) return null;
  const shown = found.trim() ? found : "that blank";
  const what = found === VOCABULARY[PAD] ? "_ is padding" : `${shown} is none of them`;
  return `Write with ( ) a b c and spaces; ${what}.`;
}
