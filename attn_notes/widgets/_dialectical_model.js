// The model of chapter 3 and what it writes, in the reader's browser: attn_notes/models/dialectical.py and
// the choices of attn_notes/chapters/dialectical/decoding.py written again in plain JavaScript, in
// double precision.

const VOCABULARY = [..."()abc _"];
const [OPEN, CLOSE, SPACE, PAD] = [..."() _"].map((character) => VOCABULARY.indexOf(character));
const EVERYTHING = VOCABULARY.map(() => true);

// ---------------------------------------------------------------------------------------------
// The model: {weights, config}

const norm = (x) => Math.sqrt(dot(x, x));
const affine = (weights, name, x) =>
  add(linear(x, weights[`${name}.weight`]), weights[`${name}.bias`]);

/** Row i of a matrix with rows as long as `width`. */
const row = (matrix, width, i) => matrix.subarray(i * width, (i + 1) * width);

/** A vector as several of the same length. */
function split(x, count) {
  const size = x.length / count;
  return Array.from({ length: count }, (_, n) => x.slice(n * size, (n + 1) * size));
}

const MASKS = {
  // 0 · −∞ is no number, and neither is a sum with it: it becomes 0, and only PAD is masked.
  published: (score, i, j, keep) => {
    const masked = score + (j > i ? -Infinity : 0) + (keep[j] ? 0 : 1) * -Infinity;
    return Number.isNaN(masked) ? 0 : -1e9;
  },
  causal: (score, i, j, keep) => (j === i || (j < i && keep[j]) ? score : -Infinity),
};

/** The attention of each stream, [stream][query][key]. */
function attend({ weights, config }, q, k, keep) {
  const { head_dim: d, streams } = config;
  const mask = MASKS[config.mask];
  const scores = q.map((query, i) =>
    k.map((key, j) => mask(dot(query, key) / Math.sqrt(d), i, j, keep)),
  );
  const tilt = weights["block.head.tilt"]; // one column for each stream
  const bias = weights["block.head.bias"];
  const byQuery = config.tilts === "query";
  return Array.from({ length: streams }, (_, n) => {
    const tilts = (byQuery ? q : k).map((x) =>
      x.reduce((sum, value, c) => sum + value * tilt[c * streams + n], byQuery ? bias[n] : 0),
    );
    return scores.map((line, i) =>
      softmax(line.map((score, j) => score + tilts[byQuery ? i : j])),
    );
  });
}

/** The mean of these values with these shares. */
function mix(shares, values) {
  const mixed = new Array(values[0].length).fill(0);
  shares.forEach((share, j) => {
    for (let c = 0; c < mixed.length; c++) mixed[c] += share * values[j][c];
  });
  return mixed;
}

/** The tension of one token, from its attention and what it read, of each stream. */
function disagree({ streams, tension }, attention, u) {
  if (streams === 1) return 1;
  if (tension === "cosine") {
    const [positive, negative] = u.map((x) => Math.max(norm(x), 1e-6));
    const cosine = dot(u[0], u[1]) / (positive * negative);
    return Math.min(1, Math.max(0, (1 - cosine) / 2));
  }
  const [positive, negative] = attention;
  return positive.reduce((sum, share, j) => sum + Math.abs(share - negative[j]), 0) / 2;
}

/** Where one step would take each token, with the attention and the tension behind it. */
function move(model, z, keep) {
  const { weights, config } = model;
  const all = z.map((x) => split(linear(x, weights["block.head.qkv.weight"]), 3));
  const [q, k, v] = [0, 1, 2].map((part) => all.map((parts) => parts[part]));
  const poles = v.map((x) =>
    config.values === "opposed"
      ? split(linear(x, weights["block.head.poles.weight"]), config.streams)
      : new Array(config.streams).fill(x),
  );
  const attention = attend(model, q, k, keep);
  const tension = [];
  const change = q.map((query, i) => {
    const rows = attention.map((stream) => stream[i]);
    const u = rows.map((shares, n) => mix(shares, poles.map((values) => values[n])));
    tension.push(disagree(config, rows, u));
    const parts = [...u];
    if (config.streams === 2) {
      parts.push(u[0].map((value, c) => value - u[1][c]), add(u[0], u[1]));
    }
    const read = affine(weights, "block.head.synthesis", [...parts, query].flat());
    const proposal = affine(weights, "block.head.up", read.map(silu));
    const learned = config.learned_gate ? sigmoid(affine(weights, "block.head.gate", query)[0]) : 1;
    const step = config.tension_gate ? learned * tension[i] : learned;
    return proposal.map((value) => step * value);
  });
  return { change, attention, tension };
}

/** The states that tokens come to, and each step: {attention, tension, active}. */
function deliberate(model, x, keep) {
  const { config } = model;
  const steps = [];
  let z = x;
  let active = keep;
  for (let step = 1; step <= config.steps; step++) {
    const { change, attention, tension } = move(model, z, keep);
    steps.push({ attention, tension, active });
    const done = z.map((state, i) => {
      const still = norm(change[i]) / (norm(state) + 1e-6) < config.halt_eps;
      return keep[i] && step >= config.min_steps && (still || tension[i] < config.tension_tau);
    });
    const anyone = step === 1 || active.includes(true); // the source asks after its first step
    const goes = (i) => (config.halting === "published" ? anyone : active[i]) && !done[i];
    z = z.map((state, i) => (goes(i) ? add(state, change[i]) : state));
    active = active.map((moving, i) => moving && !done[i]);
  }
  return { z, steps };
}

/** Logits of the token after each position, and what the head did at each step. */
export function forward(model, tokens) {
  const { weights: w, config } = model;
  const keep = tokens.map((token) => token !== config.pad);
  const h = tokens.map((token, t) =>
    Array.from(
      add(row(w["token.weight"], config.width, token), row(w["position.weight"], config.width, t)),
    ),
  );
  const normed = h.map((x) => layerNorm(x, w["block.ln1.weight"], w["block.ln1.bias"]));
  const { z, steps } = deliberate(model, normed, keep);
  const logits = h.map((x, t) => {
    const read = add(x, affine(w, "block.out", z[t]));
    const inside = layerNorm(read, w["block.ln2.weight"], w["block.ln2.bias"]);
    const wide = affine(w, "block.feed_forward.l1", inside).map(silu);
    return affine(w, "unembedding", add(read, affine(w, "block.feed_forward.l2", wide)));
  });
  return { logits, steps };
}

// ---------------------------------------------------------------------------------------------
// The grammar, and what a model writes

const ends = (token, depth) => token === SPACE && depth <= 0; // outside of brackets
const after = (token, depth) => depth + (token === OPEN) - (token === CLOSE);
const depthOf = (tokens) => tokens.reduce((depth, token) => after(token, depth), 0);
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

const FROM_BEFORE = "What is shown is from before.";

const glyphOf = (token) => (token === SPACE ? "␣" : VOCABULARY[token]);
const glyph = (step) => (step.ends ? "■" : glyphOf(step.token));
const NAMES = { [SPACE]: "space", [PAD]: "PAD" };
const inWords = ({ ends: end, token }) =>
  end ? "the end" : token === SPACE ? "a space" : (NAMES[token] ?? VOCABULARY[token]);
/** Which of these characters no string has, in a sentence; null if there is none. */
function unknownIn(characters) {
  const found = characters.find(
    (character) => !VOCABULARY.includes(character) || character === VOCABULARY[PAD],
  );
  if (found === undefined) return null;
  const shown = found.trim() ? found : "that blank";
  const what = found === VOCABULARY[PAD] ? "_ is padding" : `${shown} is none of them`;
  return `Write with ( ) a b and spaces; ${what}.`;
}
