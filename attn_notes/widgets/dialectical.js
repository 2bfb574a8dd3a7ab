// The bracket generator of chapter 3, in the reader's browser: the forward pass of
// attn_notes/models/dialectical.py and the choices of attn_notes/decoding.py written again in plain
// JavaScript (in double precision), and the page around them.
//
//   unpack → forward → generate → faults     pure functions, from bytes to what is written
//   objection                                what a request lacks, in a sentence
//   boardView, choiceView                    the text with its tracks; one choice, looked at closely
//   render                                   the view; the anywidget model holds what is chosen

const VOCABULARY = [..."()abc _"];
const [OPEN, CLOSE, SPACE, PAD] = [..."() _"].map((character) => VOCABULARY.indexOf(character));
const EVERYTHING = VOCABULARY.map(() => true);
const LARGEST_BUDGET = 60;
const HOTTEST = 2; // temperature

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
 * Continue a prompt by at most `budget` characters; at temperature 0 the likeliest is taken. Each
 * step is one choice: {token, depth, ends, wanted, allowed, removed} as in Python, and `seen`, what
 * the head did in every recursion step at the position from which it was chosen.
 */
export function generate(model, prompt, { budget, temperature, constrained, draw }) {
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
    const end = ends(token, depth);
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

/** What is wrong with a request, and in which field; null if nothing is. */
export function objection({ prompt, budget, constrained }, context) {
  const characters = [...prompt];
  const tokens = characters.map((character) => VOCABULARY.indexOf(character));
  const of = (field, sentence) => ({ field, sentence });
  if (!tokens.length) {
    return of("prompt", "Write at least one character: a model predicts from what came before.");
  }
  const unknown = tokens.findIndex((token) => token < 0 || token === PAD);
  if (unknown >= 0) {
    const shown = characters[unknown].trim() ? characters[unknown] : "that blank";
    const what = tokens[unknown] === PAD ? "_ is padding" : `${shown} is none of them`;
    return of("prompt", `Write with ( ) a b c and spaces; ${what}.`);
  }
  const closing = tokens.findIndex((_, i) => depthOf(tokens.slice(0, i + 1)) < 0);
  if (closing >= 0) {
    return of(
      "prompt",
      `Open a bracket before you close it; character ${closing + 1} closes one that is not open.`,
    );
  }
  if (tokens.length + budget > context) {
    return of(
      "prompt",
      `Prompt and budget make ${tokens.length + budget} characters; the model reads at most ` +
        `${context}.`,
    );
  }
  const open = depthOf(tokens);
  if (constrained && budget < open) {
    return of(
      "budget",
      `${plural(open, "bracket")} ${open === 1 ? "is" : "are"} open, so the budget must be at ` +
        `least ${open}.`,
    );
  }
  return null;
}

// ---------------------------------------------------------------------------------------------
// Words and signs for the page

const FROM_BEFORE = "What is shown is from before.";
const HOW_TO_WRITE =
  "Write with ( ) a b c and spaces; ␣ is a space, ■ the end. At temperature 0 the likeliest is taken.";

const glyphOf = (token) => (token === SPACE ? "␣" : VOCABULARY[token]);
const glyph = (step) => (step.ends ? "■" : glyphOf(step.token));
const NAMES = { [SPACE]: "space", [PAD]: "PAD" };
const inWords = ({ ends: end, token }) =>
  end ? "the end" : token === SPACE ? "a space" : (NAMES[token] ?? VOCABULARY[token]);
const taken = (step) => step.seen.filter(({ active }) => active).length;
const broken = (step) => step.depth < 0 || step.token === PAD;

function verdictOn({ text, prompt, ended }, budget) {
  const found = faults(text);
  const state = found.length ? `✗ It ${found.join(", ")}:` : "✓ Balanced,";
  const end = ended ? "ended by itself" : "spent its budget";
  return `${state} ${text.length - prompt.length} of ${plural(budget, "character")}, and ${end}.`;
}

/** Where the streams looked before a choice, from its first step. */
function looked([{ attention }], names) {
  const most = (shares) => `${names[argmax(shares)]}, ${number(Math.max(...shares))}`;
  const [positive, negative] = attention;
  if (!negative) return `The stream looked most at ${most(positive)}.`;
  if (positive.some((share, j) => Math.abs(share - negative[j]) > 1e-6)) {
    return `Stream a⁺ looked most at ${most(positive)}; stream a⁻ at ${most(negative)}.`;
  }
  const even = positive.every((share) => Math.abs(share - positive[0]) < 1e-6);
  return even
    ? `Both streams looked evenly at all there is: ${number(positive[0])} each.`
    : `Both streams looked the same way, most at ${most(positive)}.`;
}

// ---------------------------------------------------------------------------------------------
// The text with its tracks: one column for each character of the prompt and of the budget

const LEVELS = 6; // of depth, at least

function boardView({ uid, choose }) {
  const given = html("span", { class: "dh-cells", "aria-hidden": "true" });
  const cells = html("span", {
    class: "dh-cells",
    role: "radiogroup",
    "aria-label": "Written characters",
    "aria-describedby": `${uid}-help`,
    onkeydown: arrows(choose),
  });
  const unspent = html("span", { class: "dh-cells dh-unspent", "aria-hidden": "true" });
  const counts = html("span", { class: "dh-cells dh-counts", "aria-hidden": "true" });
  const lines = board((column) => {
    const i = column - given.children.length;
    if (cells.children[i]) choose(i);
  });
  const lanes = Object.fromEntries(
    ["depth", "tension", "removed", "streams"].map((name) => [name, lines.lane(`dh-${name}`)]),
  );
  lines.line("written", "", given, cells, unspent);
  lines.line("depth", "within what is left", lanes.depth);
  lines.line("tension", "of the one before", lanes.tension);
  lines.line("steps", "of the one before", counts);
  lines.line("removed", "by the grammar", lanes.removed);
  lines.line("streams", "a⁺ upwards, a⁻ down", lanes.streams);
  let columns = 1;

  const cell = (className, text) => html("span", { class: `dh-cell ${className}` }, text);
  const fill = (name, ...content) => lines.fill(lanes[name], ...content);

  function drawCells({ prompt, steps }, chosen) {
    given.replaceChildren(
      ...[...prompt].map((character) => cell("", glyphOf(VOCABULARY.indexOf(character)))),
    );
    while (cells.children.length > steps.length) cells.lastChild.remove();
    while (cells.children.length < steps.length) cells.append(cell("", ""));
    steps.forEach((step, i) => {
      const node = cells.children[i];
      node.textContent = glyph(step);
      node.classList.toggle("dh-broken", broken(step));
      node.setAttribute("role", "radio");
      node.setAttribute("aria-checked", i === chosen);
      node.setAttribute("tabindex", i === chosen ? "0" : "-1");
      node.setAttribute(
        "aria-label",
        `${inWords(step)} at ${prompt.length + i + 1}: depth ${number(step.depth, 0)}, tension ` +
          `${number(step.seen[0].tension)}, ${plural(taken(step), "step")}, ` +
          `${number(step.removed)} removed`,
      );
    });
    const left = columns - prompt.length - steps.length;
    unspent.replaceChildren(...Array.from({ length: left }, () => cell("", "·")));
    counts.replaceChildren(
      ...[...prompt].map(() => cell("", "")),
      ...steps.map((step) => cell("", String(taken(step)))),
    );
  }

  /** The depth after each character, and where no closing would be in time. */
  function drawDepth({ prompt, steps }, here) {
    const depths = [];
    for (const character of prompt) {
      depths.push(after(VOCABULARY.indexOf(character), depths.at(-1) ?? 0));
    }
    depths.push(...steps.map((step) => step.depth));
    const top = Math.max(LEVELS, ...depths) + 0.5;
    const bottom = Math.min(0, ...depths) - 0.75;
    const left = (i) => Math.min(top, columns - 1 - i); // characters after this one
    let ceiling = "";
    for (let i = 0; i < columns; i++) ceiling += `V${top - left(i) - 0.25}H${i + 1}`;
    const stairs = depths.map((depth, i) => `V${top - depth}H${i + 1}`).join("");
    const zero = top + 0.25;
    fill(
      "depth",
      top - bottom,
      here,
      svg("path", { class: "dh-forbidden", d: `M0 0${ceiling}V0Z` }),
      svg("path", { class: "dh-forbidden", d: `M0 ${zero}H${columns}V${top - bottom}H0Z` }),
      svg("path", { class: "dh-under", d: `M0 ${top}${stairs}V${top}Z` }),
      svg("path", { class: "dh-stairs", d: `M0 ${top}${stairs}` }),
    );
  }

  /** The attention of both streams, to the scale of its largest share. */
  function drawStreams(attention) {
    const largest = Math.max(...attention.flat().map(drawn));
    return attention.flatMap((shares, n) =>
      shares.map((share, j) => {
        const height = drawn(share / largest);
        return n === 0
          ? bar(j, 1, height, "dh-for")
          : bar(j, 1 + height, height, "dh-against");
      }),
    );
  }

  function draw(written, budget, chosen) {
    const { prompt, steps } = written;
    columns = prompt.length + budget;
    lines.resize(columns);
    const start = prompt.length;
    const here = start + chosen;
    drawCells(written, chosen);
    drawDepth(written, here);
    const bars = (share, className) =>
      steps.map((step, i) => bar(start + i, 1, drawn(share(step)), className));
    fill("tension", 1, here, ...bars((step) => step.seen[0].tension, ""));
    fill("removed", 1, here, ...bars((step) => step.removed, "dh-loss"));
    fill(
      "streams",
      2,
      here,
      ...drawStreams(steps[chosen]?.seen[0].attention ?? []),
      svg("path", { class: "dh-axis", d: `M0 1H${columns}` }),
    );
  }

  return { node: lines.node, draw };
}

// ---------------------------------------------------------------------------------------------
// One choice: what the model wanted, what the grammar left of it, and the steps before it

function choiceView() {
  const title = html("caption", {});
  const rows = VOCABULARY.map((_, token) => {
    const name = html("th", { scope: "row" });
    const values = [0, 1].map(() => {
      const fill = html("span", { class: "dh-fill" });
      const value = html("span", { class: "dh-share" });
      const bar = html("span", { class: "dh-meter", "aria-hidden": "true" }, fill);
      return { node: html("td", {}, value, bar), value, fill };
    });
    return { token, name, values, node: html("tr", {}, name, ...values.map((value) => value.node)) };
  });
  const column = (text) => html("th", { scope: "col" }, text);
  const allowing = column("");
  const table = html(
    "table",
    { class: "dh-table" },
    title,
    html(
      "thead",
      {},
      html("tr", {}, column("token"), column("wanted"), allowing),
    ),
    html("tbody", {}, ...rows.map((line) => line.node)),
  );
  const heading = html("p", { class: "dh-heading" }, "Tension, step by step");
  const plot = html("ol", { class: "dh-steps" });
  const halting = html("p", {});
  const attention = html("p", {});
  const right = html("div", { class: "dh-right" }, heading, plot, halting, attention);
  const node = html("div", { class: "dh-columns" }, html("div", { class: "dh-left" }, table), right);

  function drawTable(step, place, depth, constrained) {
    title.textContent = `How ${inWords(step)} at ${place} was chosen`;
    allowing.textContent = constrained ? "after the grammar" : "no grammar";
    for (const { token, name, values, node: line } of rows) {
      const end = ends(token, depth);
      const removed = !step.mask[token];
      const text = end ? "■ the end" : [glyphOf(token), NAMES[token]].filter(Boolean).join(" ");
      name.replaceChildren(removed ? html("s", {}, text) : text);
      line.classList.toggle("dh-removed", removed);
      line.classList.toggle("dh-chosen", token === step.token);
      [step.wanted, step.allowed].forEach((shares, n) => {
        const { value, fill } = values[n];
        value.textContent =
          n === 1 && removed
            ? "✗ removed"
            : `${number(shares[token])}${n === 1 && token === step.token ? " ◂" : ""}`;
        fill.style.transform = `scaleX(${drawn(shares[token]).toFixed(4)})`;
      });
    }
  }

  function drawSteps({ seen }, { halting: kind, tension_tau: threshold, streams }) {
    plot.style.setProperty("--threshold", drawn(threshold));
    plot.replaceChildren(
      ...seen.map(({ tension, active }, i) =>
        html(
          "li",
          { class: active ? "" : "dh-halted" },
          html("span", { class: "dh-number" }, number(tension)),
          html(
            "span",
            { class: "dh-column", "aria-hidden": "true" },
            html("span", { style: `height: ${(100 * drawn(tension)).toFixed(2)}%` }),
          ),
          html("span", { class: "dh-index", "aria-hidden": "true" }, String(i + 1)),
          active ? "" : hidden("after it halted"),
        ),
      ),
    );
    const count = seen.filter(({ active }) => active).length;
    const again = kind === "published" && count < seen.length;
    halting.textContent =
      `It took ${count} of ${plural(seen.length, "step")}; under the line, at ${number(threshold)}, ` +
      `it halts${again ? ", as published not for good" : ""}.` +
      (streams === 1 ? " A single stream counts as wholly opposed." : "");
  }

  function draw(written, i, { constrained }, config) {
    const step = written.steps[i];
    node.classList.toggle("dh-nothing", !step);
    if (!step) return;
    const place = written.prompt.length + i;
    const before = [...written.text].slice(0, place);
    const tokens = before.map((character) => VOCABULARY.indexOf(character));
    drawTable(step, place + 1, depthOf(tokens), constrained);
    drawSteps(step, config);
    attention.textContent = looked(
      step.seen,
      tokens.map((token, t) => `${glyphOf(token)} at ${t + 1}`),
    );
  }

  return { node, draw };
}

// ---------------------------------------------------------------------------------------------
// The view

/** Names of runs, the corrected ones first: a saved page has them by the alphabet. */
function inOrder(runs) {
  const published = ([, { config }]) => Number(config.mask === "published");
  return Object.entries(runs)
    .sort((a, b) => published(a) - published(b))
    .map(([name]) => name);
}

function render({ model, el }) {
  const uid = `dh-${Math.random().toString(36).slice(2)}`;
  const spoken = speaker();
  const { save, watch } = saver(model, draw);
  let shown = null; // {run, seed, model, request, written}

  // --- what the reader asks for

  const models = menus({ uid, model, save, order: inOrder });
  const { run } = models;
  const message = html("p", { class: "attn-message", id: `${uid}-message`, role: "status" });
  const prompt = textBox({
    uid,
    name: "prompt",
    label: "Prompt",
    described: `${uid}-message`,
    oninput: ask,
  });
  const budget = slider({
    uid,
    name: "budget",
    label: "Budget",
    max: LARGEST_BUDGET,
    step: 1,
    say: (value) => String(value),
    described: `${uid}-message`,
    oninput: ask,
  });
  const temperature = slider({
    uid,
    name: "temperature",
    label: "Temperature",
    max: HOTTEST,
    step: 0.1,
    say: (value) => value.toFixed(1),
    described: `${uid}-message`,
    oninput: (value) => save({ temperature: value }),
  });
  const grammar = html("input", {
    type: "checkbox",
    role: "switch",
    onchange: () => {
      save({ constrained: grammar.checked });
      ask(); // what is in the fields may be possible now
    },
  });
  const again = button("Draw again", () => save({ draw: model.get("draw") + 1 }));

  const typed = () => ({
    prompt: prompt.input.value,
    budget: budget.get(),
    constrained: grammar.checked,
  });

  /** Take what is in the fields, if it can be done. */
  function ask() {
    const next = typed();
    if (objection(next, run().config.context)) judge();
    else save({ ...next, selected: next.prompt === model.get("prompt") ? model.get("selected") : -1 });
  }

  /** Say what the fields lack, if anything; the text is then the one before. */
  function judge() {
    const found = objection(typed(), run().config.context);
    const sentence = found && [found.sentence, shown && FROM_BEFORE].filter(Boolean).join(" ");
    message.textContent = sentence ?? HOW_TO_WRITE;
    message.classList.toggle("attn-wrong", Boolean(found));
    refuse(prompt.input, found?.field === "prompt");
    refuse(budget.input, found?.field === "budget");
  }

  // --- the page

  const board = boardView({ uid, choose: (i) => save({ selected: i }) });
  const choice = choiceView();
  const verdict = html("p", { class: "dh-verdict" });
  const asleep = sleeper();
  const result = html(
    "div",
    {},
    verdict,
    board.node,
    html(
      "p",
      { class: "attn-help", id: `${uid}-help` },
      "Take a character to see how it was chosen. Shaded: below zero, or too deep to be closed in time.",
    ),
    choice.node,
  );
  const awake = html(
    "div",
    {},
    html(
      "div",
      { class: "attn-controls" },
      ...models.nodes,
      html("label", { class: "dh-switch" }, "Grammar", grammar),
      prompt.node,
    ),
    html("div", { class: "attn-controls" }, budget.node, temperature.node, again),
    message,
    result,
  );
  const root = html(
    "div",
    { class: "attn-widget dialectical", role: "group", "aria-label": "The bracket generator" },
    asleep,
    awake,
    spoken.node,
  );

  // --- drawing

  /** Write anew, unless nothing has changed that the text depends on. */
  function write(request) {
    const now = run();
    const seed = models.seed();
    if (shown?.run !== now || shown.seed !== seed) {
      const network = { weights: unpack(now, seed), config: now.config };
      shown = { run: now, seed, model: network, request: null };
    }
    if (JSON.stringify(shown.request) !== JSON.stringify(request)) {
      shown = { ...shown, request, written: generate(shown.model, request.prompt, request) };
    }
  }

  /** The character to look at: where the grammar removed the most, until the reader chooses. */
  function chosen({ steps }) {
    const selected = model.get("selected");
    return selected < 0
      ? argmax(steps.map((step) => step.removed))
      : Math.min(selected, steps.length - 1);
  }

  function draw() {
    asleep.hidden = Boolean(run());
    awake.hidden = !run();
    if (!run()) return;
    const request = Object.fromEntries(
      ["prompt", "budget", "temperature", "constrained", "draw"].map((name) => [
        name,
        model.get(name),
      ]),
    );
    models.show();
    temperature.set(request.temperature);
    grammar.checked = request.constrained;
    again.disabled = request.temperature === 0;
    if (!objection(request, run().config.context)) write(request);
    judge();
    result.hidden = !shown;
    if (!shown) return;

    const { written, request: asked, run: by } = shown;
    const i = chosen(written);
    verdict.textContent = verdictOn(written, asked.budget);
    verdict.classList.toggle("attn-wrong", faults(written.text).length > 0);
    board.draw(written, asked.budget, i);
    choice.draw(written, i, asked, by.config);
    spoken.say(verdict.textContent);
  }

  /** Show what the model now holds: another view, or the notebook, has changed it. */
  function fill() {
    prompt.input.value = model.get("prompt");
    budget.set(model.get("budget"));
    draw();
  }

  const drawn = ["runs", "run", "seed", "temperature", "constrained", "draw", "selected"];
  const unwatch = watch({
    prompt: fill,
    budget: fill,
    ...Object.fromEntries(drawn.map((name) => [name, draw])),
  });
  el.append(root);
  fill();
  return () => {
    unwatch();
    spoken.quiet();
  };
}

export default { render };
