// The explorer of chapter 4, in the reader's browser: the plane of attn_notes/analysis/plane.py, the
// block of attn_notes/models/equilibrium.py and the estimators of attn_notes/training/estimators.py
// written again in plain JavaScript (in double precision), and the page around them.
//
//   path → implicit, nudged              how a state moves, and credit from that; they know no model
//   plane, examine, learn                two numbers
//   make → settle → read, credits        the network
//   objection                            what a text lacks, in a sentence
//   planeView, networkView               the two panels
//   render                               the view; the anywidget model holds what is chosen
//
// A state is a flat Float64Array. What takes many steps is a generator of its states, so that a page
// may stop in between; `finish` runs it to its end.

const EDGE = 3; // of the plane, and of what couples
const NUDGES = [0.001, 3];
const MOST_STEPS = 400;
const LESSONS = 30;
const RATE = 0.3; // of learning, η
const AWAY = 5; // times as far as it should have come: the nudged state has run away

// ---------------------------------------------------------------------------------------------
// States and credit. A system is {force(z), gradient(z), at(z)}: the field F, the gradient of the
// cost, and of the Jacobian J at z the two products {jvp(v), vjp(u)}.

const norm = (x) => Math.sqrt(dot(x, x));
const minus = (x, y) => x.map((value, i) => value - y[i]);
const along = (x, y, step) => x.map((value, i) => value + step * y[i]);

/** Every state on the way of a relaxation, and the last as what is returned. */
function* path(field, start, { steps, step }) {
  let z = start;
  for (let i = 0; i < steps; i++) {
    z = along(z, field(z), step);
    yield z;
  }
  return z;
}

function finish(states) {
  let next = states.next();
  while (!next.done) next = states.next();
  return next.value;
}

/** The exact credit at rest: Jᵀ a + g = 0, solved by relaxing a. */
function* implicit(system, z, relaxation) {
  const { vjp } = system.at(z);
  const g = system.gradient(z);
  return yield* path((a) => add(vjp(a), g), z.map(() => 0), relaxation);
}

/** The field that a state follows once it is nudged from z by β. */
function nudge(system, z, { correction, beta }) {
  const pushed = (state) => along(system.force(state), system.gradient(state), -beta);
  if (correction === "none") return pushed;
  const { jvp, vjp } = system.at(z);
  return (state) => {
    const force = pushed(state);
    const v = minus(state, z);
    const curl = minus(jvp(v), vjp(v));
    const length = norm(curl);
    // The published 1e-8 also keeps 0 / 0 away.
    const most = correction === "clipped" && length ? (norm(force) + 1e-8) / length : 1;
    return along(force, curl, -Math.min(1, most));
  };
}

/** Credit by relaxing once more, nudged, on both sides or on one. */
function* nudged(system, z, { relaxation, symmetric, ...how }) {
  const there = yield* path(nudge(system, z, how), z, relaxation);
  if (!symmetric) return minus(z, there).map((x) => x / how.beta);
  const back = yield* path(nudge(system, z, { ...how, beta: -how.beta }), z, relaxation);
  return minus(back, there).map((x) => x / (2 * how.beta));
}

// ---------------------------------------------------------------------------------------------
// Two numbers

const PLANE = { steps: 1000, step: 0.1 }; // what comes to rest in the plane
const AT_REST = 1e-6; // of a force in the plane

/** F(z; x) = x − z + ρ'(z) W ρ(z) with ρ(z) = 2 tanh(z / 2), and the cost ½ ‖z − y‖². */
function plane({ x, target, coupling, rotation }) {
  const W = [coupling - rotation, coupling + rotation]; // what the first hears, what the second does
  const look = (z) => {
    const rho = z.map((value) => 2 * Math.tanh(value / 2));
    return { slope: rho.map((r) => 1 - (r * r) / 4), rho, heard: [W[0] * rho[1], W[1] * rho[0]] };
  };
  return {
    force(z) {
      const { slope, heard } = look(z);
      return z.map((value, i) => x[i] - value + slope[i] * heard[i]);
    },
    gradient: (z) => minus(z, target),
    at(z) {
      const { slope, rho, heard } = look(z);
      const [a, d] = [0, 1].map((i) => -1 - (rho[i] * slope[i] * heard[i]) / 2);
      const [b, c] = W.map((w) => slope[0] * w * slope[1]);
      return {
        jvp: ([v, w]) => Float64Array.of(a * v + b * w, c * v + d * w),
        vjp: ([v, w]) => Float64Array.of(a * v + c * w, b * v + d * w),
        // The real part of the rightmost of J's two eigenvalues.
        abscissa: (a + d) / 2 + Math.sqrt(Math.max(0, ((a - d) / 2) ** 2 + b * c)),
      };
    },
  };
}

const METHODS = ["none", "full", "clipped"];

/** All that is seen of one setting: the state at rest, and the credit by every method. */
export function examine({ beta, steps, ...setting }) {
  const system = plane(setting);
  const z = finish(path(system.force, Float64Array.from(setting.x), PLANE));
  const left = norm(system.force(z));
  const { abscissa } = system.at(z);
  const seen = { z, left, abscissa, rests: left < AT_REST && abscissa < 0, cost: costAt(system, z) };
  if (!seen.rests) return seen;
  const credit = finish(implicit(system, z, PLANE));
  const push = norm(system.gradient(z));
  const methods = Object.fromEntries(
    METHODS.map((correction) => {
      const field = nudge(system, z, { correction, beta });
      const way = [z, ...path(field, z, { steps, step: PLANE.step })];
      const moved = minus(z, way.at(-1));
      const guess = moved.map((value) => value / beta);
      return [
        correction,
        {
          credit: guess,
          way,
          moving: norm(field(way.at(-1))) / (beta * push), // against its first push
          length: norm(guess) / norm(credit),
          angle: angleOf(guess, credit),
          away: !(norm(guess) <= AWAY * norm(credit)),
        },
      ];
    }),
  );
  return { ...seen, credit, push, methods };
}

/** Whether there is a gradient to compare with: a state at rest, and not on the target. */
const comparable = ({ rests, push }) => rests && push > 1e-9;

const costAt = (system, z) => dot(system.gradient(z), system.gradient(z)) / 2;

/** Between two vectors, in degrees. */
function angleOf(u, v) {
  const cosine = dot(u, v) / (norm(u) * norm(v));
  return (Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI;
}

/** x after every step of learning by one method, with where z rests then and what that costs. It
 * ends early where no state comes to rest. */
export function learn({ beta, steps, ...setting }, correction) {
  const relaxation = { steps, step: PLANE.step };
  const lessons = [];
  let x = Float64Array.from(setting.x);
  while (lessons.length <= LESSONS) {
    const system = plane({ ...setting, x });
    const z = finish(path(system.force, x, PLANE));
    if (!(norm(system.force(z)) < AT_REST && system.at(z).abscissa < 0)) break;
    lessons.push({ x, z, cost: costAt(system, z) });
    const guess = finish(nudged(system, z, { correction, beta, relaxation, symmetric: false }));
    x = along(x, guess, -RATE);
  }
  return lessons;
}

// ---------------------------------------------------------------------------------------------
// The network

const EXACT_STEPS = 60;
const NUDGED_STEPS = 40;
const NUDGE = 0.02; // of one prediction's cost
const TOLERANCE = { step: 1e-2, force: 1e-3 };

/** Of every row. */
const lengths = (X, columns) =>
  Array.from({ length: X.length / columns }, (_, t) =>
    norm(X.subarray(t * columns, (t + 1) * columns)),
  );

/** A model ready to run: its weights, and those that credit goes back through. */
export function make(weights, config) {
  const qkv = weights["block.qkv.weight"];
  const o = weights["block.o.weight"];
  return {
    config,
    token: weights.token,
    position: weights.position,
    qkv,
    o,
    head: weights["unembedding.weight"],
    back: {
      qkv: transposed(qkv, config.width),
      o: transposed(o, config.width),
      head: transposed(weights["unembedding.weight"], config.width),
    },
  };
}

/** What pulls the state, and where it starts. */
function embed({ config, token, position }, tokens) {
  const { width, input } = config;
  const x = new Float64Array(tokens.length * width);
  const [ones, zeros] = [1, 0].map((value) => new Float64Array(width).fill(value));
  tokens.forEach((id, t) => {
    const here = add(
      token.subarray(id * width, (id + 1) * width),
      position.subarray(t * width, (t + 1) * width),
    );
    x.set(input === "raw" ? here : layerNorm(here, ones, zeros), t * width);
  });
  return x;
}

/** Call `visit` with every query and key that may look at each other in every head: where their
 * share stands, who they are, and where the head's numbers begin. */
function pairs(n, { width, heads }, visit) {
  for (let h = 0; h < heads; h++) {
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) visit((h * n + i) * n + j, i, j, (h * width) / heads);
    }
  }
}

/** The sum of products of d numbers of u from i on with those of v from j on. */
function dotAt(u, i, v, j, d) {
  let sum = 0;
  for (let c = 0; c < d; c++) sum += u[i + c] * v[j + c];
  return sum;
}

/** Add `factor` times d numbers of v from j on to those of u from i on. */
function addAt(u, i, v, j, d, factor) {
  for (let c = 0; c < d; c++) u[i + c] += factor * v[j + c];
}

/** Causal attention of rows of q, k, v side by side: shares [head][query][key], all flat. */
function look(qkv, n, config) {
  const { width, heads } = config;
  const d = width / heads;
  const shares = new Float64Array(heads * n * n);
  pairs(n, config, (at, i, j, head) => {
    const key = 3 * width * j + width + head;
    shares[at] = dotAt(qkv, 3 * width * i + head, qkv, key, d) / Math.sqrt(d);
  });
  for (let row = 0; row < heads * n; row++) {
    const seen = shares.subarray(row * n, row * n + (row % n) + 1);
    seen.set(softmax(seen));
  }
  return shares;
}

/** What attention reads with these shares: of each query its heads side by side. */
function gather(shares, qkv, n, config) {
  const { width, heads } = config;
  const read = new Float64Array(n * width);
  pairs(n, config, (at, i, j, head) => {
    const value = 3 * width * j + 2 * width + head;
    addAt(read, width * i + head, qkv, value, width / heads, shares[at]);
  });
  return read;
}

/** How shares change with their scores, row by row; it is its own transposed. */
function softened(shares, change, n) {
  const result = new Float64Array(shares.length);
  for (let row = 0; row < shares.length; row += n) {
    const mean = dotAt(shares, row, change, row, n);
    for (let j = row; j < row + n; j++) result[j] = shares[j] * (change[j] - mean);
  }
  return result;
}

/** The block and a cost of one prediction, −log p(character) after the one at `position`. */
function system(model, start, position, character) {
  const { config, qkv: W, o: O, head, back } = model;
  const { width, heads, strength, damping } = config;
  const n = start.length / width;
  const d = width / heads;
  const pull = 1 + strength * damping;
  const joined = (z, attended) => attended.map((value, i) => strength * value - pull * z[i]);

  function force(z) {
    const qkv = product(z, W, width);
    const attended = product(gather(look(qkv, n, config), qkv, n, config), O, width);
    return add(start, joined(z, attended));
  }

  function gradient(z) {
    const here = z.subarray(position * width, (position + 1) * width);
    const miss = softmax(product(here, head, width));
    miss[character] -= 1;
    const g = new Float64Array(z.length);
    g.set(product(miss, back.head, miss.length), position * width);
    return g;
  }

  /** J = s · attention's − (1 + s c), both ways, from what attention did at z. */
  function at(z) {
    const qkv = product(z, W, width);
    const shares = look(qkv, n, config);
    const root = Math.sqrt(d);

    function jvp(v) {
      const moved = product(v, W, width);
      const change = new Float64Array(shares.length);
      pairs(n, config, (at, i, j, head) => {
        const query = 3 * width * i + head;
        const key = 3 * width * j + width + head;
        change[at] = (dotAt(moved, query, qkv, key, d) + dotAt(qkv, query, moved, key, d)) / root;
      });
      const read = add(
        gather(softened(shares, change, n), qkv, n, config),
        gather(shares, moved, n, config),
      );
      return joined(v, product(read, O, width));
    }

    function vjp(u) {
      const read = product(u, back.o, width);
      const change = new Float64Array(shares.length);
      const moved = new Float64Array(qkv.length);
      pairs(n, config, (at, i, j, head) => {
        const value = 3 * width * j + 2 * width + head;
        change[at] = dotAt(read, width * i + head, qkv, value, d);
        addAt(moved, value, read, width * i + head, d, shares[at]);
      });
      const scores = softened(shares, change, n);
      pairs(n, config, (at, i, j, head) => {
        const query = 3 * width * i + head;
        const key = 3 * width * j + width + head;
        addAt(moved, query, qkv, key, d, scores[at] / root);
        addAt(moved, key, qkv, query, d, scores[at] / root);
      });
      return joined(u, product(moved, back.qkv, 3 * width));
    }

    return { jvp, vjp };
  }

  return { force, gradient, at };
}

/** How a text comes to rest: every state, how far it is from rest as a whole and by character, and
 * whether that passes the model's own test. */
export function settle(model, tokens) {
  const { width, test, relaxation } = model.config;
  const start = embed(model, tokens);
  const { force } = system(model, start, 0, 0);
  const forces = [];
  const kept = (z) => {
    forces.push(force(z));
    return forces.at(-1);
  };
  const states = [start, ...path(kept, start, relaxation)];
  kept(states.at(-1));
  const apart = (f, z) => f / (z + 1e-9);
  const residuals = forces.map((f, i) => apart(norm(f), norm(states[i])));
  const each = forces.map((f, i) => {
    const sizes = lengths(states[i], width);
    return lengths(f, width).map((size, t) => apart(size, sizes[t]));
  });
  const limit = TOLERANCE[test] / (test === "step" ? relaxation.step : 1);
  return { start, states, residuals, each, limit, settled: residuals.at(-1) < limit };
}

/** What a state says: probabilities of the next character by position, and the mean over heads of
 * where each position looks. */
export function read(model, z) {
  const { config, head, qkv: W } = model;
  const { width, heads } = config;
  const n = z.length / width;
  const shares = look(product(z, W, width), n, config);
  const rows = Array.from({ length: n }, (_, t) => t);
  const logits = rows.map((t) => product(z.subarray(t * width, (t + 1) * width), head, width));
  const attention = rows.map((i) =>
    rows.map((j) => {
      let sum = 0;
      for (let h = 0; h < heads; h++) sum += shares[(h * n + i) * n + j];
      return sum / heads;
    }),
  );
  return { logits, next: logits.map((row) => Array.from(softmax(row))), attention };
}

const ESTIMATES = ["exact", ...METHODS];

/** How long the credit of every state is, for the prediction after `position`, by one of the
 * estimates: a generator, since it takes hundreds of products. */
function* crediting(model, { start, states }, position, character, name) {
  const { width, strength, damping } = model.config;
  const block = system(model, start, position, character);
  const z = states.at(-1);
  // Where attention did nothing, one such step would arrive.
  const step = 1 / (1 + strength * damping);
  const relaxation = { steps: NUDGED_STEPS, step };
  const credit =
    name === "exact"
      ? yield* implicit(block, z, { steps: EXACT_STEPS, step })
      : yield* nudged(block, z, { correction: name, beta: NUDGE, relaxation, symmetric: true });
  return lengths(credit, width);
}

export const credits = (...request) =>
  Object.fromEntries(ESTIMATES.map((name) => [name, finish(crediting(...request, name))]));

/** The shares of credit before a position, at it and after it; null where there are none. */
export function parts(sizes, position) {
  const sum = (from, to) => sizes.slice(from, to).reduce((total, x) => total + x, 0);
  const all = sum(0);
  if (!(all > 0 && all < Infinity)) return null;
  return [sum(0, position), sizes[position], sum(position + 1)].map((x) => x / all);
}

/** Which character is asked for after a position: the text's own, or at its end the one that the
 * model finds second likeliest. */
function wanted(tokens, next, position) {
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
const glyphOf = (character) => GLYPHS[character] ?? character;
const nameOf = (character) => NAMES[character] ?? character;

// ---------------------------------------------------------------------------------------------
// Parts of the page

const NAMES_OF = {
  exact: "exact",
  none: "naive",
  full: "AEP",
  clipped: "AEP, clipped",
};

/** Run a generator a few milliseconds at a time, so that the page stays awake; returns how to stop. */
function inSlices(states, done) {
  let timer;
  function slice() {
    const until = performance.now() + 12;
    let next = states.next();
    while (!next.done && performance.now() < until) next = states.next();
    if (next.done) done(next.value);
    else timer = setTimeout(slice);
  }
  timer = setTimeout(slice);
  return () => clearTimeout(timer);
}

/** Two digits of a number that may be very small. */
function tiny(x) {
  if (!(x > 0 && x < 0.001)) return Number.isFinite(x) ? x.toPrecision(2) : "no number";
  const [digits, power] = x.toExponential(1).split("e-");
  return `${digits} · 10⁻${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
}

const percent = (share) => `${number(100 * share, 0)} %`;

// ---------------------------------------------------------------------------------------------
// Two numbers: the plane, what can be moved in it, and what comes of it

const UNIT = 72; // pixels of the drawing
const SIZE = 2 * EDGE * UNIT;
const across = (x) => (x + EDGE) * UNIT;
const below = (y) => (EDGE - y) * UNIT;
const inside = (x) => Math.max(-EDGE, Math.min(EDGE, x));

const PRESETS = [
  { name: "Conservative", coupling: 0.5, rotation: 0, parameter: [-1.2, 0.6], target: [0.9, 0.2] },
  { name: "Rotation", coupling: 0, rotation: 1.7, parameter: [0.5, -2.3], target: [-0.2, 0] },
  { name: "One way", coupling: 0.6, rotation: 0.6, parameter: [-0.6, 0.8], target: [-1.4, 1.6] },
  {
    name: "One way, strong",
    coupling: 1.4,
    rotation: 1.4,
    parameter: [0.2, -0.1],
    target: [-0.1, 1.4],
    method: "clipped",
    beta: 0.02,
    steps: 400,
  },
].map((preset) => ({ beta: 0.1, steps: 100, learned: 0, ...preset }));

/** Strokes along the flow, thin where they start and broad where they go, as one path. */
function flow(force) {
  let d = "";
  for (let row = 0; row < 16; row++) {
    for (let column = 0; column < 16; column++) {
      const start = [column + 0.25 + (row % 2) / 2, row + 0.5];
      let z = Float64Array.from(start, (value) => 0.375 * value - EDGE);
      const speed = norm(force(z));
      const length = (0.34 * speed) / (speed + 0.5);
      const left = [];
      const right = [];
      for (let i = 0; i <= 5; i++) {
        const f = force(z);
        const [u, v] = [f[0] / (norm(f) + 1e-12), f[1] / (norm(f) + 1e-12)];
        const half = 0.0035 * i;
        left.push([z[0] - half * v, z[1] + half * u]);
        right.unshift([z[0] + half * v, z[1] - half * u]);
        z = along(z, [u, v], length / 5);
      }
      d += `${trace([...left, ...right])}Z`;
    }
  }
  return d;
}

const trace = (points) =>
  `M${points.map(([x, y]) => `${across(x).toFixed(1)} ${below(y).toFixed(1)}`).join("L")}`;

/** Where the line from a leaves the plane on its way to b, or b. */
function cut(a, b) {
  const share = [0, 1].map((i) => {
    const most = (Math.sign(b[i] - a[i]) * (EDGE - 0.06) - a[i]) / (b[i] - a[i]);
    return Number.isFinite(most) ? Math.max(0, most) : 1;
  });
  const t = Math.min(1, ...share);
  return { at: along(a, minus(b, a), t), beyond: t < 1 };
}

function planeView({ uid, model, save, say }) {
  let cached = { key: "", seen: null };

  const setting = () => ({
    x: model.get("parameter"),
    target: model.get("target"),
    coupling: model.get("coupling"),
    rotation: model.get("rotation"),
    beta: model.get("beta"),
    steps: model.get("steps"),
  });

  /** What there is to see now: the lessons learned so far, and the state after the last of them. */
  function look() {
    const now = setting();
    const method = model.get("method");
    const key = JSON.stringify([now, method, model.get("learned")]);
    if (cached.key !== key) {
      const lessons = model.get("learned") ? learn(now, method) : [];
      const count = Math.min(model.get("learned"), lessons.length - 1);
      const x = lessons[count]?.x ?? now.x;
      cached = { key, seen: { ...examine({ ...now, x }), x, lessons, count } };
    }
    return cached.seen;
  }

  // --- the plane itself

  const ground = svg("g", { "aria-hidden": "true" });
  const help = `${uid}-plane-help`;

  /** Something to drag: `get` says where it is, `put` takes where it should be. */
  function handle(id, shape, get, put) {
    const move = (at) => put(at.map(inside));
    const node = svg(
      "g",
      {
        class: `eq-handle eq-${id}`,
        role: "button",
        tabindex: "0",
        "aria-describedby": help,
        onpointerdown: (event) => {
          if (event.button) return;
          const scale = (2 * EDGE) / picture.getBoundingClientRect().width;
          let at = get();
          follow(
            node,
            event,
            (dx, dy) => {
              at = [at[0] + scale * dx, at[1] - scale * dy];
              move(at);
            },
            () => node.classList.remove("eq-held"),
          );
          node.classList.add("eq-held");
        },
        // A finger drags and does not scroll; of touch-action, parts of a drawing know nothing.
        ontouchmove: (event) => event.preventDefault(),
        onkeydown: (event) => {
          const step = {
            ArrowLeft: [-1, 0],
            ArrowRight: [1, 0],
            ArrowDown: [0, -1],
            ArrowUp: [0, 1],
          }[event.key];
          if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          move(along(get(), step, event.shiftKey ? 0.5 : 0.1));
        },
      },
      svg("circle", { class: "eq-hit", r: 22 }),
      svg("circle", { class: "eq-halo", r: 13 }),
      shape,
      svg("text", { class: "eq-name", x: 12, y: -9, "aria-hidden": "true" }, id),
    );
    return node;
  }

  const cross = svg("path", { class: "eq-shape", d: "M-8 0H8M0 -8V8" });
  const square = svg("rect", { class: "eq-shape", x: -6, y: -6, width: 12, height: 12 });
  const handles = {
    y: handle("y", cross, () => model.get("target"), (target) => save({ target })),
    x: handle(
      "x",
      square,
      () => Array.from(look().x),
      (parameter) => {
        lessons.stop();
        save({ parameter, learned: 0 });
      },
    ),
  };
  const picture = svg(
    "svg",
    {
      class: "eq-plane",
      viewBox: `0 0 ${SIZE} ${SIZE}`,
      role: "application",
      "aria-label": "The plane: a target y and an input x to move, and where the state rests",
    },
    ground,
    handles.x,
    handles.y,
  );

  /** An arrow at the state, in the plane's own units, cut where the plane ends. */
  function arrow(from, by, className) {
    const { at, beyond } = cut(from, add(from, by));
    const [dx, dy] = minus(at, from);
    const size = Math.hypot(dx, dy) * UNIT;
    const head = Math.min(13, size);
    // Two chevrons where it goes on beyond the plane.
    const chevron = (end) => `M${end - 8} -6L${end} 0L${end - 8} 6`;
    const turn = (Math.atan2(-dy, dx) * 180) / Math.PI;
    return svg(
      "g",
      {
        class: `eq-arrow ${className}`,
        transform: `translate(${across(from[0])} ${below(from[1])}) rotate(${turn})`,
      },
      svg("path", { class: "eq-shaft", d: `M0 0H${Math.max(0, size - head)}` }),
      beyond
        ? svg("path", { class: "eq-tip", d: chevron(size - 6) + chevron(size) })
        : svg("path", {
            class: "eq-head",
            d: `M${size} 0L${size - head} ${head / 2.6}V${-head / 2.6}Z`,
          }),
    );
  }

  const disc = (z, r, className) =>
    svg("circle", { cx: across(z[0]), cy: below(z[1]), r, class: className });

  function drawPlane(seen) {
    const { z, x, methods, credit, lessons: taught, count } = seen;
    const method = model.get("method");
    const target = model.get("target");
    const circles = Array.from({ length: 16 }, (_, i) =>
      disc(target, (UNIT * (i + 1)) / 2, "eq-cost"),
    );
    const system = plane({ ...setting(), x });
    const parts = [...circles, svg("path", { class: "eq-flow", d: flow(system.force) })];
    if (count > 0) {
      const way = taught.slice(0, count + 1);
      parts.push(
        svg("path", { class: "eq-lesson-x", d: trace(way.map((lesson) => lesson.x)) }),
        svg("path", { class: `eq-lesson eq-${method}`, d: trace(way.map((lesson) => lesson.z)) }),
        ...way.map((lesson) => disc(lesson.z, 2.5, `eq-taught eq-${method}`)),
      );
    }
    if (comparable(seen)) {
      parts.push(arrow(z, credit.map((c) => -c), "eq-true"));
      const last = METHODS.filter((name) => name !== method).concat(method);
      for (const name of last.filter((each) => !methods[each].away)) {
        const chosen = name === method ? "eq-chosen" : "";
        parts.push(arrow(z, methods[name].credit.map((c) => -c), `eq-${name} ${chosen}`));
      }
      const { way, away } = methods[method];
      if (!away) {
        const larger = way.map((state) => along(z, minus(state, z), 1 / model.get("beta")));
        parts.push(svg("path", { class: `eq-larger eq-${method}`, d: trace(larger) }));
      }
      parts.push(
        svg("path", { class: `eq-way eq-${method}`, d: trace(way) }),
        disc(way.at(-1), 4, `eq-end eq-${method}`),
      );
    }
    if (seen.left < AT_REST) {
      const label = svg("text", { class: "eq-name", x: across(z[0]) - 12, y: below(z[1]) + 22 }, "z*");
      parts.push(disc(z, 6, "eq-rest"), label);
    }
    ground.replaceChildren(...parts);
    for (const [id, at] of Object.entries({ x, y: target })) {
      const [a, b] = Array.from(at, inside);
      handles[id].setAttribute("transform", `translate(${across(a)} ${below(b)})`);
      const name = { x: "The input x", y: "The target y" }[id];
      handles[id].setAttribute("aria-label", `${name} at ${number(at[0])}, ${number(at[1])}`);
    }
  }

  // --- what is asked for

  const sample = (name) =>
    svg(
      "svg",
      { class: `eq-sample eq-${name}`, viewBox: "0 0 34 12", "aria-hidden": "true" },
      svg("path", { class: "eq-shaft", d: "M1 6H24" }),
      svg("path", { class: "eq-head", d: "M33 6L22 10.5V1.5Z" }),
    );
  const rows = METHODS.map((method) => {
    const input = html("input", {
      type: "radio",
      name: `${uid}-method`,
      value: method,
      "aria-describedby": `${uid}-${method}`,
      onchange: () => save({ method }),
    });
    const angle = html("span", { class: "eq-figure" });
    const length = html("span", { class: "eq-figure" });
    const node = html(
      "div",
      { class: "eq-row" },
      html("label", {}, input, sample(method), NAMES_OF[method]),
      html("span", { class: "eq-figures", id: `${uid}-${method}` }, angle, " ", length),
    );
    return { method, input, angle, length, node };
  });
  const legend = html(
    "div",
    { class: "eq-legend", role: "radiogroup", "aria-label": "Method" },
    html(
      "div",
      { class: "eq-row eq-head-row" },
      html("span", {}, sample("true"), "true, −dC/dx"),
      html(
        "span",
        { class: "eq-figures" },
        ...["angle", "length"].map((name) => html("span", { class: "eq-figure" }, name)),
      ),
    ),
    ...rows.map(({ node }) => node),
  );

  const sliders = {
    rotation: slider({
      uid,
      name: "rotation",
      label: "Rotation ω",
      min: -EDGE,
      max: EDGE,
      step: 0.1,
      say: (value) => number(value, 1),
      oninput: (rotation) => save({ rotation }),
    }),
    coupling: slider({
      uid,
      name: "coupling",
      label: "Coupling σ",
      min: -EDGE,
      max: EDGE,
      step: 0.1,
      say: (value) => number(value, 1),
      oninput: (coupling) => save({ coupling }),
    }),
    beta: slider({
      uid,
      name: "beta",
      label: "Nudge β",
      ...POWERS,
      min: NUDGES[0],
      max: NUDGES[1],
      step: "any",
      say: (value) => value.toPrecision(2),
      oninput: (beta) => save({ beta: Math.max(NUDGES[0], Math.min(NUDGES[1], beta)) }),
    }),
    steps: slider({
      uid,
      name: "steps",
      label: "Nudged steps",
      min: 1,
      max: MOST_STEPS,
      step: 1,
      say: (value) => String(value),
      oninput: (steps) => save({ steps }),
    }),
  };

  const lessons = player(60, (learned) => save({ learned }));
  const start = button("Learn", () => {
    const learned = model.get("learned");
    lessons.play(learned < LESSONS ? learned : 0, LESSONS);
  });
  const over = button("Start over", () => {
    lessons.stop();
    save({ learned: 0 });
  });
  const verdict = html("p", { class: "eq-verdict" });
  const lesson = html("p", { class: "eq-lesson-text" });
  const node = html(
    "div",
    {},
    html(
      "div",
      { class: "eq-presets", role: "group", "aria-label": "Forces to try" },
      ...PRESETS.map(({ name, ...values }) =>
        button(name, () => {
          lessons.stop();
          save(values);
        }),
      ),
    ),
    html(
      "div",
      { class: "eq-columns" },
      html(
        "div",
        { class: "eq-left" },
        picture,
        html(
          "p",
          { class: "attn-help", id: help },
          "Drag the target y or the input x, or move them with the arrow keys, with Shift farther. " +
            "Rings: the cost. Dotted: the nudged path, 1/β as large.",
        ),
      ),
      html(
        "div",
        { class: "eq-right" },
        legend,
        verdict,
        ...Object.values(sliders).map((each) => each.node),
        html("div", { class: "eq-buttons" }, start, over),
        lesson,
      ),
    ),
  );

  // --- in words

  function judge(seen, method) {
    if (seen.left >= AT_REST || Number.isNaN(seen.left)) {
      return (
        `The state does not come to rest: after ${PLANE.steps} steps the force is still ` +
        `${tiny(seen.left)}. Without a state at rest there is no gradient.`
      );
    }
    if (seen.abscissa >= 0) {
      return (
        "The state stands still, but the slightest push drives it away: J has an eigenvalue of " +
        `${number(seen.abscissa)}. There is no gradient here.`
      );
    }
    if (!comparable(seen)) return "The state rests on the target. Nothing is left to learn.";
    const name = method === "none" ? "Naive" : NAMES_OF[method];
    const { angle, length, away, moving } = seen.methods[method];
    if (away) {
      return (
        `${name}: the nudged state runs away. It ended ${number(length, 0)} times as far as it ` +
        "should, so there is no arrow to draw."
      );
    }
    const points =
      `${name} points ${number(angle, 0)}° away from the true gradient, at ${number(length)} of ` +
      "its length.";
    if (angle > 90) return `${points} A small step along it goes uphill.`;
    const still = moving > 0.1 ? " The nudged state still moves: take more steps." : "";
    return points + still;
  }

  function learnedSo({ lessons: taught, count }, method) {
    if (!taught.length) return `Learn takes ${LESSONS} steps of x against the method's gradient.`;
    const cost = (i) => taught[i].cost.toPrecision(2);
    const name = NAMES_OF[method];
    const so = `${plural(count, "step")} by ${name}: the cost went from ${cost(0)} to ${cost(count)}.`;
    return taught.length <= LESSONS ? `${so} Then no state came to rest.` : so;
  }

  function draw() {
    const seen = look();
    const method = model.get("method");
    drawPlane(seen);
    for (const { method: name, input, angle, length, node: row } of rows) {
      const found = comparable(seen) && seen.methods[name];
      input.checked = name === method;
      row.classList.toggle("eq-chosen", name === method);
      angle.textContent = !found || found.away ? "–" : `${number(found.angle, 0)}°`;
      length.textContent = !found ? "–" : found.away ? "away" : `× ${number(found.length)}`;
    }
    for (const name of ["rotation", "coupling", "beta", "steps"]) sliders[name].set(model.get(name));
    verdict.textContent = judge(seen, method);
    const uphill = comparable(seen) && seen.methods[method].angle > 90;
    verdict.classList.toggle("attn-wrong", uphill || !seen.rests || Boolean(seen.methods?.[method].away));
    lesson.textContent = learnedSo(seen, method);
    over.disabled = model.get("learned") === 0;
    say(`${verdict.textContent} ${seen.lessons.length ? lesson.textContent : ""}`.trim());
  }

  return { node, draw, leave: lessons.stop };
}

// ---------------------------------------------------------------------------------------------
// The network: a text coming to rest, and who is held responsible for one prediction

const CUT = 0.65; // of the height of a lane: where the largest share of credit but one ends
const BEST = 5; // next characters to show
const FROM_BEFORE = "What is shown is from before.";
const HOW_TO_WRITE = "↵ stands for a new line. Take a character to look at it.";

function networkView({ uid, model, save, say }) {
  let shown = null; // the text at rest, and what has been read from its states so far
  let blamed = { key: "", sizes: {} }; // the credit that has been computed so far
  let stopBlaming = () => {};

  const models = menus({ uid, model, save });
  const { run } = models;
  const message = html("p", { class: "attn-message", id: `${uid}-message`, role: "status" });
  const box = textBox({
    uid,
    name: "text",
    label: "Text",
    described: `${uid}-message`,
    oninput: ask,
  });
  const { input } = box;

  /** The text in the box, where ↵ stands for a new line. */
  const typed = () =>
    run().characters.includes("↵") ? input.value : input.value.replaceAll("↵", "\n");

  function ask() {
    if (objection(typed(), run())) judge();
    else save({ text: typed(), selected: -1 });
  }

  /** Say what the text lacks, if anything; what is shown is then from the text before. */
  function judge() {
    const found = objection(typed(), run());
    message.textContent = found ? [found, shown && FROM_BEFORE].filter(Boolean).join(" ") : HOW_TO_WRITE;
    message.classList.toggle("attn-wrong", Boolean(found));
    refuse(input, found);
  }

  // --- the relaxation, step by step

  const last = () => shown.settled.states.length - 1;
  const stepNow = () => {
    const step = model.get("step");
    return step < 0 ? last() : Math.min(step, last());
  };
  const plays = player(150, (step) => save({ step }));
  const curve = svg("svg", { class: "eq-curve", preserveAspectRatio: "none", "aria-hidden": "true" });
  const scrub = slider({
    uid,
    name: "step",
    label: "Relaxation step",
    max: 1,
    step: 1,
    say: (value) => (shown ? `${value} of ${last()}` : ""),
    oninput: (step) => {
      plays.stop();
      save({ step });
    },
  });
  const play = button("Play", () => plays.play(stepNow() < last() ? stepNow() : 0, last()));
  const rest = html("p", { class: "eq-rest-text" });

  // --- the text with its tracks

  const cells = html("span", {
    class: "eq-cells",
    role: "radiogroup",
    "aria-label": "Characters",
    onkeydown: arrows((selected) => save({ selected })),
  });
  const says = html("span", { class: "eq-cells eq-says", "aria-hidden": "true" });
  const lines = board((column) => {
    if (cells.children[column]) save({ selected: column });
  });
  const lanes = Object.fromEntries(
    ["away", "looks", ...ESTIMATES].map((name) => [name, lines.lane(`eq-${name}`)]),
  );
  lines.line("text", "", cells);
  lines.line("from rest", "|force| / |state|", lanes.away);
  lines.line("expects next", "bold: just changed", says);
  lines.line("looks at", "mean of its heads", lanes.looks);
  const blame = html("p", { class: "eq-heading" });
  lines.node.append(blame);
  const shares = Object.fromEntries(
    ESTIMATES.map((name) => [name, lines.line(NAMES_OF[name], "", lanes[name])]),
  );
  const moral = html("p", { class: "eq-moral" });

  const title = html("caption", {});
  const best = Array.from({ length: BEST }, () => {
    const name = html("th", { scope: "row" });
    const value = html("span", { class: "eq-share" });
    const fill = html("span", { class: "eq-fill" });
    const meter = html("span", { class: "eq-meter", "aria-hidden": "true" }, fill);
    return { name, value, fill, node: html("tr", {}, name, html("td", {}, value, meter)) };
  });
  const table = html(
    "table",
    { class: "eq-table" },
    title,
    html("tbody", {}, ...best.map(({ node }) => node)),
  );
  const looked = html("p", { class: "eq-looked" });

  const asleep = sleeper();
  const result = html(
    "div",
    {},
    html("div", { class: "eq-relaxation" }, html(
        "div",
        { class: "eq-scrub" },
        html("p", { class: "eq-axis" }, "|force| / |state| by powers of ten; dashed: at rest"),
        curve,
        scrub.node,
      ), play),
    rest,
    lines.node,
    moral,
    html("div", { class: "eq-below" }, table, looked),
  );
  const awake = html(
    "div",
    {},
    html("div", { class: "attn-controls" }, ...models.nodes, box.node),
    message,
    result,
  );

  // --- drawing

  /** Let the text come to rest anew, unless nothing has changed that this depends on. */
  function relax(text) {
    const now = run();
    const seed = models.seed();
    if (shown?.run === now && shown.seed === seed && shown.text === text) return;
    const network =
      shown?.run === now && shown.seed === seed
        ? shown.network
        : make(unpack(now, seed), now.config);
    const known = [...now.characters];
    const characters = [...text];
    const tokens = characters.map((character) => known.indexOf(character));
    const settled = settle(network, tokens);
    shown = { run: now, seed, network, text, characters, tokens, known, settled, reads: [] };
    blamed = { key: "", sizes: {} };
  }

  /** How high on a scale of powers of ten, from a tenth of the last residual to 10. */
  function height(x) {
    const least = Math.min(-4, Math.max(-12, Math.log10(shown.settled.residuals.at(-1)) - 1 || -4));
    return Math.max(0, Math.min(1, (Math.log10(x) - least) / (1 - least))) || 0;
  }

  function drawCurve(step) {
    const { residuals, limit } = shown.settled;
    const [width, tall] = [last() || 1, 1];
    curve.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    const d = residuals
      .map((r, i) => `${i ? "L" : "M"}${i} ${(tall - height(r)).toFixed(4)}`)
      .join("");
    const line = (className, way) => svg("path", { class: className, d: way });
    curve.replaceChildren(
      line("eq-limit", `M0 ${1 - height(limit)}H${width}`),
      line("eq-here", `M${step} 0V1`),
      line("eq-residual", d),
    );
    play.disabled = last() === 0;
  }

  const at = (i) => `${glyphOf(shown.characters[i])} at ${i + 1}`;

  function drawCells(step, chosen, now, before) {
    const { characters, settled, known } = shown;
    while (cells.children.length > characters.length) cells.lastChild.remove();
    while (cells.children.length < characters.length) {
      cells.append(html("span", { class: "eq-cell", role: "radio" }));
    }
    const top = (reading, i) => argmax(reading.next[i]);
    characters.forEach((character, i) => {
      const node = cells.children[i];
      node.textContent = glyphOf(character);
      node.setAttribute("aria-checked", i === chosen);
      node.setAttribute("tabindex", i === chosen ? "0" : "-1");
      node.setAttribute(
        "aria-label",
        `${nameOf(character)} at ${i + 1}: expects ${nameOf(known[top(now, i)])}, ` +
          `${tiny(settled.each[step][i])} from rest`,
      );
    });
    says.replaceChildren(
      ...characters.map((_, i) => {
        const changed = before && top(before, i) !== top(now, i);
        const className = changed ? "eq-cell eq-new" : "eq-cell";
        return html("span", { class: className }, glyphOf(known[top(now, i)]));
      }),
    );
  }

  /** Bars over the characters, to a scale on which `largest` is the whole height. */
  const bars = (values, largest, className) =>
    values.map((value, i) => bar(i, 1, Math.max(0, Math.min(1, value / largest)) || 0, className));

  function drawLanes(step, chosen, now) {
    const { settled } = shown;
    const limit = 1 - height(settled.limit);
    lines.fill(
      lanes.away,
      1,
      chosen,
      ...bars(settled.each[step].map(height), 1, ""),
      svg("path", { class: "eq-limit", d: `M0 ${limit}H${shown.tokens.length}` }),
    );
    const looks = now.attention[chosen];
    lines.fill(lanes.looks, 1, chosen, ...bars(looks, Math.max(...looks), ""));
    const most = argmax(looks);
    looked.textContent =
      `From ${at(chosen)} attention goes most to ${most === chosen ? "itself" : at(most)}, ` +
      `${number(looks[most])} of it.`;
  }

  function drawBest(step, chosen, now) {
    const next = now.next[chosen];
    const order = next.map((_, i) => i).sort((a, b) => next[b] - next[a]);
    title.textContent = `What may follow ${at(chosen)}, at step ${step}`;
    best.forEach(({ name, value, fill, node }, i) => {
      node.hidden = !(i < order.length);
      if (node.hidden) return;
      name.textContent = glyphOf(shown.known[order[i]]);
      value.textContent = number(next[order[i]], 3);
      fill.style.transform = `scaleX(${(next[order[i]] || 0).toFixed(4)})`;
    });
  }

  /** Who is responsible for the prediction after the chosen character, as far as it is known. */
  function drawBlame(chosen, target) {
    const { settled, tokens, known } = shown;
    const wish = glyphOf(known[target]);
    blame.textContent =
      chosen + 1 < tokens.length
        ? `After ${at(chosen)} comes ${wish}. Whose state is responsible for −log p(${wish})?`
        : `The text ends at ${at(chosen)}. Suppose ${wish} came, the second likeliest: ` +
          "whose state is responsible?";
    const found = Object.fromEntries(
      Object.entries(blamed.sizes).map(([name, sizes]) => [name, parts(sizes, chosen)]),
    );
    const portions = Object.fromEntries(
      Object.entries(blamed.sizes).map(([name, sizes]) => [
        name,
        sizes.map((size) => size / total(sizes)),
      ]),
    );
    const others = Object.values(portions).flatMap((all) => all.filter((_, i) => i !== chosen));
    // The chosen character's own share is the largest by far: its bar is cut.
    const scale = Math.max(0.01, ...others.filter(Number.isFinite)) / CUT;
    for (const name of ESTIMATES) {
      const three = settled.settled ? found[name] : null;
      const drawn = three ? bars(portions[name], scale, `eq-${name}`) : [];
      if (three && portions[name][chosen] > scale) {
        drawn.push(svg("path", { class: "eq-cut", d: `M${chosen} ${CUT / 2}H${chosen + 1}` }));
      }
      lines.fill(lanes[name], 1, chosen, ...drawn);
      shares[name].textContent = three
        ? `${three.map((share) => number(100 * share, 0)).join(" · ")} %`
        : settled.settled && !(name in found) ? "…" : "no credit";
    }
    moral.textContent = moralOf(found, chosen);
  }

  const total = (sizes) => sizes.reduce((sum, x) => sum + x, 0);

  function moralOf({ exact, none }, chosen) {
    if (!shown.settled.settled) {
      return "The state has not come to rest: it has no gradient, and there is no credit to share out.";
    }
    if (!exact || !none) return "Share of credit before · at · after the character: on its way.";
    const said = [
      `Before · at · after it: exact ${exact.map(percent).join(" · ")};`,
      `naive ${none.map(percent).join(" · ")}.`,
    ];
    const misses = chosen > 0;
    const invents = chosen + 1 < shown.tokens.length;
    if (misses && invents) {
      said.push("Naive leaves out what came before, and blames what comes later, which had no say.");
    } else if (misses) said.push("Naive leaves out all that came before.");
    else if (invents) said.push("Naive blames what comes later, which had no say.");
    else said.push("There is nobody else.");
    return said.join(" ");
  }

  /** Find the credit by one method after the other, while the page stays awake. */
  function seekCredit(chosen, target) {
    const key = `${chosen} ${target}`;
    if (blamed.key === key) return;
    stopBlaming();
    blamed = { key, sizes: {} };
    lines.node.setAttribute("aria-busy", shown.settled.settled);
    if (!shown.settled.settled) return;
    const { network, settled } = shown;
    const seek = ([name, ...others]) => {
      stopBlaming = inSlices(crediting(network, settled, chosen, target, name), (sizes) => {
        blamed.sizes[name] = sizes;
        if (others.length) seek(others);
        else lines.node.setAttribute("aria-busy", "false");
        drawBlame(chosen, target);
      });
    };
    seek(ESTIMATES);
  }

  function restText(step) {
    const { residuals, limit, settled } = shown.settled;
    const least = limit.toPrecision(1);
    const so = (at) => `step ${at} the force is ${tiny(residuals[at])} of the state`;
    if (!settled) return `It does not come to rest: after ${so(last())}, not below ${least}.`;
    return `At ${so(step)}${residuals[step] < limit ? ": at rest." : `; at rest is below ${least}.`}`;
  }

  function draw() {
    asleep.hidden = Boolean(run());
    awake.hidden = !run();
    if (!run()) return;
    models.show();
    if (!objection(model.get("text"), run())) relax(model.get("text"));
    judge();
    result.hidden = !shown;
    if (!shown) return;

    const { network, settled, tokens, reads } = shown;
    const step = stepNow();
    const selected = model.get("selected");
    const chosen = selected < 0 || selected >= tokens.length ? Math.floor(tokens.length / 2) : selected;
    const readAt = (i) => (reads[i] ??= read(network, settled.states[i]));
    const now = readAt(step);
    const before = step > 0 ? readAt(step - 1) : null;
    const target = wanted(tokens, readAt(last()).next, chosen);
    lines.resize(tokens.length);
    scrub.input.max = last();
    scrub.set(step);
    rest.textContent = restText(step);
    rest.classList.toggle("attn-wrong", !settled.settled);
    drawCurve(step);
    drawCells(step, chosen, now, before);
    drawLanes(step, chosen, now);
    drawBest(step, chosen, now);
    seekCredit(chosen, target);
    drawBlame(chosen, target);
    const first = glyphOf(shown.known[argmax(now.next[chosen])]);
    say(`${rest.textContent} After ${at(chosen)} it expects ${first}.`);
  }

  /** Show the text that the model now holds: another view, or the notebook, has changed it. */
  function fill() {
    input.value = model.get("text").replaceAll("\n", "↵");
  }

  const leave = () => {
    plays.stop();
    stopBlaming();
  };
  return { node: html("div", {}, asleep, awake), draw, fill, leave };
}

// ---------------------------------------------------------------------------------------------
// The view

const PANELS = { plane: "Two numbers", network: "The network" };
const DRAWN = ["panel", "coupling", "rotation", "parameter", "target", "method", "beta", "steps"]
  .concat(["learned", "runs", "run", "seed", "step", "selected"]); // the text is also filled in

function render({ model, el }) {
  const uid = `eq-${Math.random().toString(36).slice(2)}`;
  const spoken = speaker();
  const { save, watch } = saver(model, draw);
  const parts = { uid, model, save, say: spoken.say };
  const views = { plane: planeView(parts), network: networkView(parts) };
  const names = Object.keys(PANELS);
  const tabs = names.map((panel) =>
    html(
      "button",
      {
        type: "button",
        role: "tab",
        class: "eq-tab",
        id: `${uid}-tab-${panel}`,
        "aria-controls": `${uid}-panel-${panel}`,
        onclick: () => save({ panel }),
      },
      PANELS[panel],
    ),
  );
  const panels = names.map((panel) =>
    html(
      "div",
      { role: "tabpanel", id: `${uid}-panel-${panel}`, "aria-labelledby": `${uid}-tab-${panel}` },
      views[panel].node,
    ),
  );
  const list = html(
    "div",
    {
      class: "eq-tabs",
      role: "tablist",
      "aria-label": "What to look at",
      onkeydown: arrows((i) => save({ panel: names[i] })),
    },
    ...tabs,
  );
  const root = html(
    "div",
    { class: "attn-widget equilibrium", role: "group", "aria-label": "The equilibrium explorer" },
    list,
    ...panels,
    spoken.node,
  );

  function draw() {
    names.forEach((panel, i) => {
      const open = panel === model.get("panel");
      tabs[i].setAttribute("aria-selected", open);
      tabs[i].setAttribute("tabindex", open ? "0" : "-1");
      panels[i].hidden = !open;
    });
    views[model.get("panel")].draw();
  }

  /** Show what the model now holds, the text too. */
  function fill() {
    views.network.fill();
    draw();
  }

  const unwatch = watch({
    text: fill,
    ...Object.fromEntries(DRAWN.map((name) => [name, draw])),
  });
  el.append(root);
  fill();
  return () => {
    unwatch();
    for (const view of Object.values(views)) view.leave();
    spoken.quiet();
  };
}

export default { render };
