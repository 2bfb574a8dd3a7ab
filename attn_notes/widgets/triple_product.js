// The explorer of chapter 2, in the reader's browser: the scores and the forward pass of
// attn_notes/models/triple_product.py written again in plain JavaScript (in double precision), and
// the page around them.
//
//   unpack → make → forward → place      pure functions, from bytes to points in three dimensions
//   sceneView                            a space that the reader turns; it knows no model
//   byHand, inAHead                      the two modes
//   render                               the view; the anywidget model holds what is chosen

const ROPE_BASE = 10_000;
const LONGEST_TEXT = 40;
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

// ---------------------------------------------------------------------------------------------
// Three vectors

const norm = (x) => Math.hypot(...x);
const times = (x, factor) => Array.from(x, (value) => factor * value);
const minus = (x, y) => x.map((value, i) => value - y[i]);
const normalize = (x, smallest = 1e-12) => times(x, 1 / Math.max(norm(x), smallest));

/** det of the Gram matrix of q, k and r, the squared volume that they span; never negative. */
export function determinant(q, k, r) {
  const unit = normalize(q, 1e-154);
  const above = minus(r, times(unit, dot(unit, r)));
  const inside = dot(times(q, norm(above)), k) ** 2 + dot(times(above, norm(q)), k) ** 2;
  return Math.max(0, (norm(q) * norm(above)) ** 2 * dot(k, k) - inside);
}

/** cos² of the angle between k and the plane of q and r; without a plane, the line of q. */
export function cos2(q, k, r) {
  const first = normalize(q);
  // What rounding leaves of a parallel r must not become a direction; as in Python.
  const rest = minus(r, times(first, dot(first, r)));
  const second = times(rest, 1 / Math.max(norm(rest), 32 * Number.EPSILON * norm(r), 1e-154));
  const key = normalize(k);
  return dot(first, key) ** 2 + dot(second, key) ** 2;
}

/** What the softmax is taken of: the score of key k, by its kind. */
export function score(kind, q, k, r, beta) {
  if (kind === "dot") return dot(q, k) / Math.sqrt(q.length);
  if (kind === "angle") return beta * cos2(q, k, r);
  return -determinant(q, k, r) / q.length ** 1.5;
}

/** An orthonormal basis of the plane of q and r, or null where they span none. */
function planeOf(q, r) {
  const e1 = normalize(q);
  const above = minus(r, times(e1, dot(e1, r)));
  if (norm(q) === 0 || norm(above) <= 1e-6 * norm(r)) return null;
  return { e1, e2: normalize(above) };
}

// ---------------------------------------------------------------------------------------------
// The network

/** Turn the vector at a position, as RoPE does: a plane of two coordinates by an angle each. */
function rotate(x, position) {
  const first = [];
  const second = [];
  for (let i = 0; i < x.length; i += 2) {
    const angle = position * ROPE_BASE ** (-i / x.length);
    first.push(x[i] * Math.cos(angle) - x[i + 1] * Math.sin(angle));
    second.push(x[i] * Math.sin(angle) + x[i + 1] * Math.cos(angle));
  }
  return [...first, ...second];
}

function rmsNorm(x, scale) {
  const root = Math.sqrt(dot(x, x) / x.length + EPS);
  return x.map((value, i) => (value / root) * scale[i]);
}

/** A model ready to run: its weights, with those of q, k, r and v by name in every layer. */
export function make(weights, config) {
  const names = config.score === "dot" ? ["q", "k", "v"] : ["q", "k", "r", "v"];
  const size = config.heads * config.d * config.width;
  const layers = Array.from({ length: config.layers }, (_, i) => {
    const of = (name) => weights[`layers.${i}.${name}`];
    const all = of(names.length === 3 ? "qkv.weight" : "qkrv.weight");
    const parts = names.map((name, n) => [name, all.subarray(n * size, (n + 1) * size)]);
    return { ...Object.fromEntries(parts), o: of("o.weight"), beta: of("beta") };
  });
  return { weights, config, layers };
}

/** One layer: its output, and of every head q, k, r (of a dot product null) and the attention. */
function attend({ heads: count, d, score: kind }, layer, x) {
  const split = (W) => {
    const all = x.map((row) => linear(row, W));
    return Array.from({ length: count }, (_, h) => all.map((row) => row.slice(h * d, (h + 1) * d)));
  };
  const [q, k, r] = ["q", "k", "r"].map(
    (name) => layer[name] && split(layer[name]).map((head) => head.map(rotate)),
  );
  const v = split(layer.v);
  const heads = v.map((values, h) => {
    const head = { q: q[h], k: k[h], r: r ? r[h] : null, beta: layer.beta?.[h] };
    head.scores = head.q.map((query, i) =>
      head.k.slice(0, i + 1).map((key) => score(kind, query, key, head.r?.[i], head.beta)),
    );
    head.attention = head.scores.map(softmax);
    head.mixed = head.attention.map((row) =>
      row.reduce((sum, weight, j) => add(sum, times(values[j], weight)), new Array(d).fill(0)),
    );
    return head;
  });
  const y = x.map((_, i) => linear(heads.flatMap((head) => head.mixed[i]), layer.o));
  return { y, heads };
}

/**
 * Logits of the token after each position, and what every head of every layer did. `loud` makes
 * the embedding of one position longer: {position, factor}.
 */
export function forward({ weights, config, layers }, tokens, loud = { position: 0, factor: 1 }) {
  const { width, residual } = config;
  const embed = (token) => weights["embedding.weight"].subarray(token * width, (token + 1) * width);
  let h = tokens.map((token, t) => times(embed(token), t === loud.position ? loud.factor : 1));
  const seen = [];
  layers.forEach((layer, i) => {
    const x = residual ? h.map((row) => rmsNorm(row, weights[`norms.${i}.weight`])) : h;
    const { y, heads } = attend(config, layer, x);
    h = residual ? h.map((row, t) => add(row, y[t])) : y;
    seen.push(heads);
  });
  if (residual) h = h.map((row) => rmsNorm(row, weights[`norms.${layers.length}.weight`]));
  return { logits: h.map((row) => linear(row, weights["unembedding.weight"])), layers: seen };
}

/**
 * What a query sees, in three dimensions: two coordinates in the plane of q and r, and the height
 * of every key above it. Without an r the plane is the line of q.
 */
export function place({ q, k, r }, i) {
  const e1 = normalize(q[i]);
  const e2 = r && planeOf(q[i], r[i])?.e2;
  const across = (x) => (e2 ? dot(e2, x) : 0);
  const put = (x) => {
    const [a, b] = [dot(e1, x), across(x)];
    const rest = minus(minus(x, times(e1, a)), times(e2 ?? e1, b));
    return [a, b, norm(rest)];
  };
  return {
    q: [norm(q[i]), 0, 0],
    r: r && [dot(e1, r[i]), across(r[i]), 0],
    keys: k.slice(0, i + 1).map(put),
    flat: !e2,
  };
}

/** Whether these tokens, as far as they go, repeat with this period. */
const repeats = (tokens, period) =>
  tokens.every((token, t) => t < period || token === tokens[t - period]);

/** The best possible prediction of the token after `tokens`: probabilities, or null where the text
 * repeats with none of the task's periods. As `Copying.ideal` in attn_notes/tasks/copying.py. */
export function ideal(tokens, { periods, vocabulary }) {
  const n = tokens.length;
  const joint = new Array(vocabulary).fill(0);
  for (const p of periods) {
    if (!repeats(tokens, p)) continue;
    const weight = vocabulary ** -Math.min(n, p);
    for (let token = 0; token < vocabulary; token++) {
      joint[token] += weight * (n < p ? 1 / vocabulary : Number(token === tokens[n - p]));
    }
  }
  const sum = joint.reduce((total, value) => total + value, 0);
  return sum ? joint.map((value) => value / sum) : null;
}

/** Where the token after `tokens` stands one period earlier, or null where none of the task's periods
 * has come round. */
export function source(tokens, { periods }) {
  const period = periods.find((p) => p <= tokens.length && repeats(tokens, p));
  return period ? tokens.length - period : null;
}

/** A short text of the task, to suggest: its longest period in the order of the alphabet. */
export function example({ vocabulary, periods }) {
  const period = Math.max(...periods);
  const length = Math.min(LONGEST_TEXT, Math.ceil(1.5 * period));
  return spell(Array.from({ length }, (_, t) => (t % period) % vocabulary));
}

/** A sequence of the task: random tokens, repeated with one of its periods. */
export function draw({ vocabulary, periods, length }, random = Math.random) {
  const below = (n) => Math.floor(n * random());
  const period = periods[below(periods.length)];
  const start = Array.from({ length: period }, () => below(vocabulary));
  return Array.from({ length }, (_, t) => start[t % period]);
}

/** The tokens that the reader meant, or null: capital letters are forgiven. */
export function parse(typed, vocabulary) {
  const tokens = [...typed.toLowerCase()].map((letter) => LETTERS.indexOf(letter));
  const fits = tokens.length >= 1 && tokens.length <= LONGEST_TEXT;
  return fits && tokens.every((token) => token >= 0 && token < vocabulary) ? tokens : null;
}

const spell = (tokens) => tokens.map((token) => LETTERS[token]).join("");

// ---------------------------------------------------------------------------------------------
// Words and numbers for the page

/** Two digits after the point, as long as that is short; no minus before a zero. */
function show(value) {
  const short = Math.abs(value) < 1e5 ? value.toFixed(2) : value.toExponential(2);
  return short.replace(/^-(?=0\.00$)/, "").replaceAll("-", "−").replace("+", "");
}

const factor = (value) => `× ${value < 10 ? value.toFixed(2) : value.toFixed(1)}`;
const point = (x) => x.map(show).join(", ");
const subscript = (i) => "₁₂₃₄₅"[i];

/** Numbers by their names; `set` takes as many as there are names. */
function facts() {
  const list = html("dl", { class: "tp-facts" });
  const set = (entries) => {
    list.replaceChildren(
      ...entries.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]),
    );
  };
  return { list, set };
}

/** Numbers in a sentence: "12", "6 to 12", "3, 7". */
function counts(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const last = sorted.length - 1;
  const unbroken = last > 1 && sorted[last] - sorted[0] === last;
  return unbroken ? `${sorted[0]} to ${sorted[last]}` : sorted.join(", ");
}

// ---------------------------------------------------------------------------------------------
// The scene: an orthographic view from a point that the reader turns around the origin
//
// `draw` takes {arrows, plane, box, reach, low, axes, axis}: arrows are {id, text, at, foot,
// className, weight, label}, `plane` is {e1, e2, radius}, `box` the three edges of a parallelepiped,
// `reach` the length that fits the frame, `low` says that nothing lies below the plane, `axes` that
// x, y and z are to be shown, and `axis` is the line that is left where there is no plane.

const STEP = 6; // degrees, by an arrow key
const MARGIN = 22;

function sceneView({ uid, label, azimuth, onmove, ondrag, onpick, ondrop = () => {} }) {
  const start = { azimuth, elevation: 24 };
  const view = { ...start };
  let size = { width: 520, height: 400 };
  let content = null;
  const back = svg("g", { "aria-hidden": "true" });
  const front = svg("g", {});
  const names = svg("g", { class: "tp-names", "aria-hidden": "true" });
  const handles = new Map(); // id -> the group that takes pointer and focus

  const node = svg(
    "svg",
    {
      class: "tp-scene",
      role: "application",
      tabindex: "0",
      "aria-label": label,
      "aria-describedby": `${uid}-help`,
      onpointerdown: grab,
      onkeydown: press,
    },
    back,
    front,
    names,
  );

  // --- from space to screen

  function camera() {
    const [a, e] = [view.azimuth, view.elevation].map((degrees) => (degrees * Math.PI) / 180);
    const [ca, sa, ce, se] = [Math.cos(a), Math.sin(a), Math.cos(e), Math.sin(e)];
    const fit = Math.min(size.width / 2, size.height / (content.low ? 1.35 : 2)) - MARGIN;
    return {
      right: [-sa, ca, 0],
      up: [-se * ca, -se * sa, ce],
      toward: [ce * ca, ce * sa, se],
      scale: fit / content.reach,
      x: size.width / 2,
      y: size.height * (content.low ? 0.68 : 0.5),
    };
  }

  function project(x, eye) {
    return {
      x: eye.x + eye.scale * dot(x, eye.right),
      y: eye.y - eye.scale * dot(x, eye.up),
      depth: dot(x, eye.toward),
    };
  }

  /** Where the line from a to b leaves the frame, or b: what is too long is cut, and says so. */
  function cut(a, b) {
    const inset = MARGIN - 6;
    const share = (from, to, end) => {
      if (to < inset) return (inset - from) / (to - from);
      return to > end - inset ? (end - inset - from) / (to - from) : 1;
    };
    const t = Math.min(share(a.x, b.x, size.width), share(a.y, b.y, size.height));
    return { x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y), beyond: t < 1 };
  }

  // --- drawing

  function draw(next = content) {
    content = next;
    const eye = camera();
    const { plane, box, arrows } = content;
    const zero = project([0, 0, 0], eye);
    const normal = plane && cross(plane.e1, plane.e2);
    // All that is on the far side of the plane is drawn before it, all else after it; for every
    // arrow starts in the plane, and none crosses it.
    const far = (x) => normal && dot(x, normal) * dot(eye.toward, normal) < 0;
    const parts = [];
    const put = (x, shape, flat = false) =>
      parts.push({ shape, depth: dot(x, eye.toward), layer: flat ? 1 : far(x) ? 0 : 2 });

    if (plane) {
      parts.push({ shape: disc(plane, eye), depth: 0, layer: 1 });
    } else if (content.axis) {
      const end = times(content.axis, content.reach);
      put([0, 0, 0], line(project(times(end, -1), eye), project(end, eye), "tp-axis"), true);
    }
    if (box) drawBox(box, eye, put);
    const labels = [];
    for (const arrow of arrows) {
      const tip = project(arrow.at, eye);
      const end = cut(zero, tip);
      if (arrow.foot) {
        const foot = project(arrow.foot, eye);
        put(
          times(add(arrow.at, arrow.foot), 0.5),
          svg("g", {}, line(tip, foot, "tp-drop"), svg("circle", { cx: foot.x, cy: foot.y, r: 2, class: "tp-foot" })),
        );
      }
      put(times(arrow.at, 0.5), arrowShape(arrow, zero, end), arrow.flat);
      moveHandle(arrow, end);
      labels.push({ arrow, end, zero });
    }
    parts.sort((a, b) => a.layer - b.layer || a.depth - b.depth);
    back.replaceChildren(...parts.map((part) => part.shape), ...axes(eye));
    for (const [id, handle] of handles) {
      if (arrows.some((arrow) => arrow.id === id)) continue;
      handle.remove();
      handles.delete(id);
    }
    names.replaceChildren(...placeLabels(labels));
  }

  const line = (a, b, className, more = {}) =>
    svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: className, ...more });
  const path = (points, className) =>
    svg("path", { d: `M${points.map((p) => `${p.x} ${p.y}`).join("L")}Z`, class: className });

  function disc({ e1, e2, radius }, eye) {
    const at = (a, b) => project(add(times(e1, a), times(e2, b)), eye);
    const rim = Array.from({ length: 72 }, (_, i) => {
      const turn = (i * Math.PI) / 36;
      return at(radius * Math.cos(turn), radius * Math.sin(turn));
    });
    const group = svg("g", { class: "tp-plane" }, path(rim, "tp-disc"));
    for (let i = -3; i <= 3; i++) {
      const a = (i * radius) / 4;
      const b = Math.sqrt(radius ** 2 - a ** 2);
      group.append(line(at(a, -b), at(a, b), "tp-grid"), line(at(-b, a), at(b, a), "tp-grid"));
    }
    return group;
  }

  function drawBox([a, b, c], eye, put) {
    const corner = (i) =>
      [a, b, c].reduce((sum, edge, n) => (i & (1 << n) ? add(sum, edge) : sum), [0, 0, 0]);
    const corners = Array.from({ length: 8 }, (_, i) => corner(i));
    const shown = corners.map((x) => project(x, eye));
    const middle = (...all) => times(all.map((i) => corners[i]).reduce(add), 1 / all.length);
    const farthest = argmax(shown.map(({ depth }) => -depth)); // no edge of this corner is seen
    for (let n = 0; n < 3; n++) {
      const [u, v] = [0, 1, 2].filter((m) => m !== n).map((m) => 1 << m);
      for (const base of [0, 1 << n]) {
        const face = [base, base | u, base | u | v, base | v];
        put(middle(...face), path(face.map((i) => shown[i]), "tp-face"), base === 0 && n === 2);
      }
    }
    for (let i = 0; i < 8; i++) {
      for (const n of [0, 1, 2]) {
        const j = i | (1 << n);
        if (i === j) continue;
        const unseen = i === farthest || j === farthest;
        put(middle(i, j), line(shown[i], shown[j], unseen ? "tp-edge tp-unseen" : "tp-edge"));
      }
    }
  }

  function arrowShape({ className, weight = 0.5, id }, from, end) {
    const length = Math.hypot(end.x - from.x, end.y - from.y) || 1;
    const [ux, uy] = [(end.x - from.x) / length, (end.y - from.y) / length];
    const head = Math.min(5 + 7 * weight, 0.6 * length);
    const base = { x: end.x - head * ux, y: end.y - head * uy };
    const wing = 0.38 * head;
    const points = [
      end,
      { x: base.x - wing * uy, y: base.y + wing * ux },
      { x: base.x + wing * uy, y: base.y - wing * ux },
    ];
    return svg(
      "g",
      { class: `tp-arrow ${className} ${end.beyond ? "tp-beyond" : ""}`, "data-arrow": id },
      line(from, base, "tp-shaft", { "stroke-width": (1 + 2.5 * weight).toFixed(2) }),
      path(points, "tp-tip"),
    );
  }

  /** The three axes, small, in the corner. */
  function axes(eye) {
    if (!content.axes) return [];
    const centre = { x: 38, y: size.height - 38 };
    return ["x", "y", "z"].flatMap((name, n) => {
      const axis = [0, 1, 2].map((m) => Number(m === n));
      const to = (length) => ({
        x: centre.x + length * dot(axis, eye.right),
        y: centre.y - length * dot(axis, eye.up),
      });
      const text = { ...to(29), class: "tp-axis-name", "text-anchor": "middle", dy: "0.35em" };
      return [line(centre, to(20), "tp-axis"), svg("text", text, name)];
    });
  }

  /** Each label beside its tip, where it covers the least; one that is not needed may be left out. */
  function placeLabels(labels) {
    const taken = labels.map(({ end }) => ({ x: end.x - 5, y: end.y - 5, width: 10, height: 10 }));
    const shared = (a, b) =>
      Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
      Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));
    const outside = (box) =>
      box.width * box.height - shared(box, { x: 2, y: 2, width: size.width - 4, height: size.height - 4 });
    const order = [...labels].sort((a, b) => (b.arrow.weight ?? 0.5) - (a.arrow.weight ?? 0.5));
    return order.flatMap(({ arrow, end, zero }) => {
      const outward = Math.atan2(end.y - zero.y, end.x - zero.x);
      const width = 9 * arrow.text.length + 4;
      let best = null;
      for (let turn = 0; turn < 8; turn++) {
        const angle = outward + (Math.ceil(turn / 2) * (turn % 2 ? 1 : -1) * Math.PI) / 4;
        const x = end.x + (8 + width / 2) * Math.cos(angle);
        const y = end.y + 16 * Math.sin(angle);
        const box = { x: x - width / 2, y: y - 9, width, height: 19 };
        const cost = taken.reduce((sum, other) => sum + shared(box, other), 0) + 4 * outside(box);
        if (!best || cost < best.cost - 1) best = { x, y, box, cost };
      }
      if (best.cost > 1 && !arrow.needed) return [];
      taken.push(best.box);
      const place = { x: best.x, y: best.y, dy: "0.35em", "text-anchor": "middle" };
      return [svg("text", { ...place, class: `tp-name ${arrow.className}` }, arrow.text)];
    });
  }

  function moveHandle(arrow, { x, y }) {
    let handle = handles.get(arrow.id);
    if (!handle) {
      handle = svg(
        "g",
        { class: "tp-handle", "data-id": arrow.id },
        svg("circle", { class: "tp-hit", r: 14 }),
        svg("circle", { class: "tp-ring", r: 9 }),
      );
      if (ondrag) {
        handle.setAttribute("tabindex", "0");
        handle.setAttribute("role", "button");
      }
      handles.set(arrow.id, handle);
      front.append(handle);
    }
    handle.setAttribute("transform", `translate(${x} ${y})`);
    if (ondrag) handle.setAttribute("aria-label", arrow.label);
    handle.classList.toggle("tp-chosen", Boolean(arrow.chosen));
  }

  // --- pointer and keyboard

  function grab(event) {
    if (event.button) return;
    const id = event.target.closest("[data-id]")?.dataset.id;
    if (id) onpick(id);
    const tip = ondrag && id;
    node.classList.add("tp-held");
    const move = (dx, dy) => {
      if (tip) {
        const { right, up, scale } = camera();
        ondrag(id, add(times(right, dx / scale), times(up, -dy / scale)));
      } else turn(-0.5 * dx, 0.4 * dy);
    };
    const stop = () => {
      node.classList.remove("tp-held");
      ondrop();
    };
    follow(node, event, move, stop);
  }

  function turn(around, over) {
    view.azimuth = (view.azimuth + around) % 360;
    view.elevation = Math.max(content.low ? 0 : -85, Math.min(85, view.elevation + over));
    draw();
  }

  function press(event) {
    const id = event.target.closest("[data-id]")?.dataset.id;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (id && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      onpick(id);
      return;
    }
    const step = {
      ArrowLeft: [-1, 0, 0],
      ArrowRight: [1, 0, 0],
      ArrowDown: [0, -1, 0],
      ArrowUp: [0, 1, 0],
      PageDown: [0, 0, -1],
      PageUp: [0, 0, 1],
    }[event.key];
    if (!step || (!id && step[2])) return;
    event.preventDefault();
    if (id) onmove(id, times(step, event.shiftKey ? 0.5 : 0.1));
    else turn(STEP * step[0], STEP * step[1]);
  }

  const observer = new ResizeObserver(() => {
    const { clientWidth: width, clientHeight: height } = node;
    if (!width || (width === size.width && height === size.height)) return;
    size = { width, height };
    if (content) draw();
  });
  observer.observe(node);
  const face = () => Object.assign(view, start);
  return { node, draw, face, leave: () => observer.disconnect() };
}

const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

// ---------------------------------------------------------------------------------------------
// By hand

const LIMIT = 5; // of a coordinate
const LENGTHS = [0.1, 10]; // of a key, as factors
const BETA = 8; // of the angle score, as the chapter's models start with
const ALLOWED = `A coordinate is a number from −${LIMIT} to ${LIMIT}, such as 1.25.`;

const START = {
  q: [2, 0.2, 0.3],
  r: [-0.3, 1.8, 0.1],
  keys: [
    [1.4, 1, 0.4],
    [0.5, -0.3, 1.6],
    [-1.4, 0.7, 0.9],
    [0.9, -1.4, -0.8],
    [-0.8, -1, 0.7],
  ],
  lengths: [1, 1, 1, 1, 1],
};

const replace = (list, i, value) => list.map((old, n) => (n === i ? value : old));
const inThePlane = (a, b) => add(times(START.q, a), times(START.r, b));

const OPENING = {
  name: "start again",
  note:
    "k₁ lies close to the plane of q and r, so the volume that it spans with them is small, and its " +
    "score is close to 0, the highest there is. Select another key, or move a tip.",
  scene: START,
  selected: 1,
};

const PRESETS = [
  {
    name: "a loud stranger",
    note:
      "A stranger is a key far from the plane: k₂, which has grown long. The volume score gives it " +
      "nothing, while the dot product follows the little of it that lies along q.",
    scene: { ...START, keys: replace(START.keys, 1, [0.4, 0, 1.3]), lengths: [1, 5, 1, 1, 1] },
    selected: 1,
  },
  {
    name: "a loud friend",
    note:
      "A friend is the key that ought to win: k₁, lifted a little and grown six times as long. Its " +
      "height grew with it, so the volume score drops it; the angle score does not notice.",
    scene: { ...START, keys: replace(START.keys, 0, [1.4, 0.5, 0.5]), lengths: [6, 1, 1, 1, 1] },
    selected: 0,
  },
  {
    name: "a whisper",
    note:
      "A whisper is a very short key: k₂ stands nearly upright, but its volume is almost 0, and the " +
      "volume score likes it best. k₁ was lifted too: left where it was, it would still win.",
    scene: { ...START, keys: replace(START.keys, 0, [1.4, 1, 1.3]), lengths: [1, 0.1, 1, 1, 1] },
    selected: 1,
  },
  {
    name: "−q",
    note:
      "All keys were laid into the plane, and all tie at volume 0: k₂ = −q too, the very key that " +
      "the dot product likes least.",
    scene: {
      ...START,
      keys: [[1, 0], [-1, 0], [0.3, 0.9], [-0.6, 0.5], [0.2, -1]].map((ab) => inThePlane(...ab)),
    },
    selected: 1,
  },
  {
    name: "q along r",
    note:
      "r was laid along q, so there is no plane left: the area is 0, and so is every volume score, " +
      "whatever the keys.",
    scene: { ...START, r: times(START.q, 0.6) },
    selected: 1,
  },
];

/** What to say of these vectors: a scene's own words as long as nothing in it was moved. */
function noteOn(now) {
  const same = ({ scene }) => Object.keys(START).every((part) => `${scene[part]}` === `${now[part]}`);
  const scene = [OPENING, ...PRESETS].find(same);
  if (scene) return scene.note;
  if (planeOf(now.q, now.r)) return "";
  if (norm(now.q)) return "q and r span no plane, so every volume is 0, and the angle is that to q.";
  return norm(now.r)
    ? "There is no q: it is 0, so dot products and volumes are 0 for every key, and what is left of " +
        "the plane is the line of r. The angle is that to r."
    : "There is no q and no r: both are 0, and so is every score.";
}

/** What a key's angle is measured to. */
function flatOf(q, r) {
  if (planeOf(q, r)) return "the plane";
  return norm(q) ? "q" : norm(r) ? "r" : "nothing";
}

const KINDS = [
  { kind: "dot", name: "dot product" },
  { kind: "volume", name: "volume" },
  { kind: "angle", name: "angle" },
];

/** The coordinate that the reader meant, or null. */
export function coordinate(typed) {
  const text = typed.trim().replace("−", "-");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) return null;
  const value = Number(text);
  return Math.abs(value) <= LIMIT ? value : null;
}

function byHand({ uid, model, save }) {
  const scene = () => (model.get("vectors").q ? model.get("vectors") : START);
  const selected = () => model.get("selected");
  const keyAt = ({ keys, lengths }, i) => times(keys[i], lengths[i]);
  const spoken = speaker();

  // --- what the reader does

  /** Change what `change` gives back, and keep every coordinate within its limits. */
  function update(change, more = {}) {
    save({ vectors: { ...scene(), ...change }, ...more });
  }

  const inside = (x) => x.map((value) => Math.max(-LIMIT, Math.min(LIMIT, value)));
  const put = (id, x) =>
    update(id in START ? { [id]: x } : { keys: replace(scene().keys, Number(id), x) });
  const vector = (id) => (id in START ? scene()[id] : scene().keys[id]);

  function pick(id) {
    if (!(id in START)) save({ selected: Number(id) });
  }

  let still = null; // what fits the frame stays while a tip is dragged

  const view = sceneView({
    uid,
    label: "q, r and five keys in three dimensions. Arrow keys turn the space.",
    azimuth: 44,
    onpick: pick,
    onmove: (id, step) => {
      pick(id);
      put(id, inside(add(vector(id), step)));
    },
    ondrag: (id, step) => {
      still ??= reach();
      const length = id in START ? 1 : scene().lengths[id];
      put(id, inside(add(vector(id), times(step, 1 / length))));
    },
    ondrop: () => {
      still = null;
      draw();
    },
  });

  const note = html("p", { class: "tp-note", role: "status" });
  const presets = html(
    "div",
    { class: "tp-presets", role: "group", "aria-label": "Scenes to try" },
    ...PRESETS.map(({ name, scene, selected }) =>
      button(name, () => save({ vectors: scene, selected })),
    ),
    button(OPENING.name, () => {
      view.face();
      save({ vectors: OPENING.scene, selected: OPENING.selected });
    }),
  );

  const length = slider({
    uid,
    name: "length",
    label: "",
    ...POWERS,
    min: LENGTHS[0],
    max: LENGTHS[1],
    step: 0.01,
    say: factor,
    oninput: (value) => update({ lengths: replace(scene().lengths, selected(), value) }),
  });

  // --- coordinates as numbers

  const message = html("p", { class: "tp-message", id: `${uid}-message`, role: "status" });
  const ids = ["q", "r", "key"];
  const idOf = (id) => (id === "key" ? String(selected()) : id);
  const nameOf = (id) => (id === "key" ? `k${subscript(selected())}` : id);
  const fields = ids.flatMap((id) =>
    ["x", "y", "z"].map((axis, n) => {
      const input = html("input", {
        class: "attn-text tp-number",
        type: "text",
        inputmode: "text",
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": `${uid}-message`,
        oninput: () => {
          const value = coordinate(input.value);
          message.textContent = value === null ? ALLOWED : "";
          refuse(input, value === null);
          if (value !== null) put(idOf(id), replace(vector(idOf(id)), n, value));
        },
        onblur: () => {
          refuse(input, false);
          message.textContent = "";
          drawFields();
        },
      });
      return { id, axis, n, input };
    }),
  );
  const rowNames = ids.map(() => html("span", { class: "tp-row-name", "aria-hidden": "true" }));
  const coordinates = html(
    "div",
    { class: "tp-coordinates", role: "group", "aria-label": "Coordinates" },
    html("span", {}),
    ...["x", "y", "z"].map((axis) => html("span", { class: "attn-label", "aria-hidden": "true" }, axis)),
    ...ids.flatMap((id, i) => [
      rowNames[i],
      ...fields.filter((field) => field.id === id).map(({ input }) => input),
    ]),
  );

  function drawFields() {
    ids.forEach((id, i) => {
      rowNames[i].textContent = nameOf(id);
    });
    for (const { id, axis, n, input } of fields) {
      input.setAttribute("aria-label", `${nameOf(id)}, ${axis}`);
      if (document.activeElement !== input) input.value = show(vector(idOf(id))[n]);
    }
  }

  // --- numbers of the selected key, and the attention over all

  const title = html("p", { class: "tp-title" });
  const numbers = facts();
  const rows = START.keys.map((_, i) => {
    const name = html(
      "button",
      { type: "button", class: "attn-button tp-key", onclick: () => save({ selected: i }) },
      `k${subscript(i)}`,
    );
    const cells = KINDS.map(({ kind }) => {
      const value = html("span", { class: "tp-value" });
      const fill = html("span", { class: "tp-fill" });
      const node = html(
        "td",
        { "data-kind": kind },
        value,
        html("span", { class: "tp-track", "aria-hidden": "true" }, fill),
      );
      return { node, value, fill };
    });
    const node = html(
      "tr",
      {},
      html("th", { scope: "row" }, name),
      ...cells.map((cell) => cell.node),
    );
    return { node, name, cells };
  });
  const table = html(
    "table",
    { class: "tp-table" },
    html("caption", {}, "Attention: each score's softmax"),
    html(
      "thead",
      {},
      html(
        "tr",
        {},
        html("th", { scope: "col" }, "key"),
        ...KINDS.map(({ name }) => html("th", { scope: "col" }, name)),
      ),
    ),
    html("tbody", {}, ...rows.map((row) => row.node)),
  );

  const node = html(
    "div",
    { class: "tp-mode" },
    html(
      "div",
      { class: "tp-columns" },
      html(
        "div",
        { class: "tp-left" },
        view.node,
        html(
          "p",
          { class: "attn-help", id: `${uid}-help` },
          "Drag a tip to move it, drag the background to turn. With the keyboard: arrows turn the " +
            "space; on a tip they move it in x and y, Page Up and Page Down in z, with Shift farther.",
        ),
        presets,
        note,
      ),
      html(
        "div",
        { class: "tp-right" },
        title,
        numbers.list,
        length.node,
        table,
        html("p", { class: "attn-label tp-heading" }, "Coordinates, a key's at length × 1"),
        coordinates,
        message,
      ),
    ),
    spoken.node,
  );

  const reach = () => {
    const { q, r, keys } = scene();
    return Math.max(1.5, ...[q, r, ...keys].map(norm)) * 1.04;
  };

  function draw() {
    const now = scene();
    const { q, r } = now;
    const keys = now.keys.map((_, i) => keyAt(now, i));
    const chosen = selected();
    const plane = planeOf(q, r);
    const project = (x) =>
      add(times(plane.e1, dot(plane.e1, x)), times(plane.e2, dot(plane.e2, x)));
    const label = (name, x) => `${name}: ${point(x)}`;
    view.draw({
      reach: still ?? reach(),
      axes: true,
      plane: plane && { ...plane, radius: 1.15 * Math.max(norm(q), norm(r), 0.8) },
      axis: plane ? null : normalize(norm(q) ? q : r),
      box: plane && [q, r, keys[chosen]],
      arrows: [
        ...["q", "r"].map((id) => ({
          id,
          text: id,
          at: now[id],
          className: "tp-plane-arrow",
          label: label(id, now[id]),
          weight: 0.6,
          needed: true,
          flat: Boolean(plane),
        })),
        ...keys.map((at, i) => ({
          id: String(i),
          text: `k${subscript(i)}`,
          at,
          foot: plane && project(at),
          className: i === chosen ? "tp-selected" : "tp-other",
          chosen: i === chosen,
          label: `${label(`k${subscript(i)}`, at)}${i === chosen ? ", selected" : ""}`,
          weight: i === chosen ? 0.7 : 0.4,
          needed: true,
        })),
      ],
    });

    const words = noteOn(now);
    if (note.textContent !== words) note.textContent = words;
    const key = keys[chosen];
    const name = `k${subscript(chosen)}`;
    const det = determinant(q, key, r);
    const volume = show(score("volume", q, key, r));
    title.textContent = `The selected key, ${name}`;
    numbers.set([
      [`volume of q, r and ${name}`, show(Math.sqrt(det))],
      ["det G, its square", show(det)],
      ["volume score, −det G / 3√3", volume],
      ["dot product, q · k / √3", show(score("dot", q, key))],
      [`cos² of the angle to ${flatOf(q, r)}`, show(cos2(q, key, r))],
      [`angle score, ${BETA} cos²`, show(score("angle", q, key, r, BETA))],
    ]);
    length.text.textContent = `Length of ${name}`;
    length.set(now.lengths[chosen]);
    const columns = KINDS.map(({ kind }) => softmax(keys.map((k) => score(kind, q, k, r, BETA))));
    rows.forEach(({ node: row, name: head, cells }, i) => {
      row.classList.toggle("tp-selected-row", i === chosen);
      head.setAttribute("aria-pressed", i === chosen);
      cells.forEach(({ value, fill }, n) => {
        value.textContent = columns[n][i].toFixed(2);
        fill.style.transform = `scaleX(${columns[n][i].toFixed(4)})`;
      });
    });
    drawFields();
    spoken.say(`${name}: volume score ${volume}.`);
  }

  return {
    node,
    draw,
    leave() {
      view.leave();
      spoken.quiet();
    },
  };
}

// ---------------------------------------------------------------------------------------------
// In a trained head

const LOUDNESS = [0.1, 100];
const KNOWN = 0.99; // what the best predictor must be sure of for a token to be right or wrong

const OVER_THE_PLANE =
  "The plane is that of q and r, drawn to a scale of their own; a key's height is its distance from it.";

const WORDS = {
  dot:
    "A key scores by its length along q, here to the right. This head has no r: all the rest of a " +
    "key is drawn as its height.",
  volume: `${OVER_THE_PLANE} A key scores by minus that distance squared, times the squared area of q and r: the winner is the lowest key, not the flattest, and may stand upright.`,
  angle: `${OVER_THE_PLANE} A key scores by its angle to the plane, whatever its length: the winner is the flattest key, not the lowest.`,
};

/** Names of runs, fewer layers first, then by kind of score: a saved page has them by the alphabet. */
function inOrder(runs) {
  const rank = ({ config }) => KINDS.findIndex(({ kind }) => kind === config.score);
  const before = ([, a], [, b]) => a.config.layers - b.config.layers || rank(a) - rank(b);
  return Object.entries(runs).sort(before).map(([name]) => name);
}

function inAHead({ uid, model, save }) {
  const spoken = speaker();
  let shown = null; // {run, seed, model, config}, of what is unpacked
  const clamp = (value, count) => Math.min(value, count - 1);

  const tokens = () => parse(model.get("text"), shown.config.vocabulary);
  const position = () => clamp(model.get("position"), tokens().length);

  const models = menus({ uid, model, save, order: inOrder, lone: true, choose: change });
  const { run } = models;
  const selects = {
    layer: select({ uid, name: "layer", label: "Layer", onchange: (value) => save({ layer: Number(value) }) }),
    head: select({ uid, name: "head", label: "Head", onchange: (value) => save({ head: Number(value) }) }),
    key: select({ uid, name: "key", label: "Key", onchange: (value) => choose(Number(value)) }),
  };

  // --- the text

  const message = html("p", { class: "tp-message", id: `${uid}-text-message`, role: "status" });
  const box = textBox({
    uid,
    name: "text",
    label: "Text",
    described: `${uid}-text-message`,
    oninput: () => {
      const next = parse(input.value, shown.config.vocabulary);
      if (next) write(next);
      judge();
    },
  });
  const { input } = box;

  /** Ask about another text, from its last position but one: what follows can then be checked. */
  const asked = (text) => ({
    text: spell(text),
    position: Math.max(0, text.length - 2),
    key: -1,
    loudness: 1,
  });
  const write = (next) => save(asked(next));

  /** Take another model, and keep the text: how a model does on another's task is worth a look. */
  function change(name) {
    take(model.get("runs")[name]);
    save({ run: name, ...copier() });
  }

  /** The layer and head that look most at the token to be copied next, if there is one. */
  function copier() {
    const text = tokens();
    const from = text && source(text.slice(0, position() + 1), shown.config);
    if (from === null) return {};
    const heads = quiet().layers.flatMap((all, layer) =>
      all.map(({ attention }, head) => ({ layer, head, weight: attention[position()][from] })),
    );
    const { layer, head } = heads[argmax(heads.map(({ weight }) => weight))];
    return { layer, head };
  }

  /** Say what the box lacks, if anything; the picture is then of the text before. */
  function judge() {
    const { vocabulary } = shown.config;
    const refused = !parse(input.value, vocabulary);
    const last = LETTERS[vocabulary - 1];
    message.textContent = refused
      ? `Type 1 to ${LONGEST_TEXT} letters from a to ${last}, without spaces, such as ${example(shown.config)}; ` +
        "what is shown belongs to the text before."
      : "";
    refuse(input, refused);
  }

  const another = button("another sequence", () => {
    write(draw(shown.config));
    judge();
  });

  // --- the tokens

  const strip = html("div", {
    class: "tp-tokens",
    role: "radiogroup",
    "aria-label": "Query position",
    onkeydown: arrows((i) => ask(i)),
  });

  /** Query from position i; a key that then lies in the future is let go. */
  function ask(i) {
    save(model.get("key") > i ? { position: i, key: -1, loudness: 1 } : { position: i });
  }

  function choose(j) {
    save(j === model.get("key") ? { key: j } : { key: j, loudness: 1 });
  }

  function drawTokens(text, i, j, attention) {
    while (strip.children.length > text.length) strip.lastChild.remove();
    while (strip.children.length < text.length) {
      const t = strip.children.length;
      strip.append(
        html(
          "span",
          { class: "tp-token", role: "radio", onclick: () => ask(t) },
          html(
            "span",
            {
              class: "tp-bar",
              onclick: (event) => {
                event.stopPropagation();
                if (t <= position()) choose(t);
              },
            },
            html("span", { class: "tp-bar-fill" }),
          ),
          html("span", { class: "tp-letter" }),
        ),
      );
    }
    [...strip.children].forEach((node, t) => {
      const weight = attention[t];
      const [bar, letter] = node.children;
      bar.firstChild.style.transform = `scaleY(${(weight ?? 0).toFixed(4)})`;
      letter.textContent = LETTERS[text[t]];
      node.classList.toggle("tp-future", t > i);
      node.classList.toggle("tp-the-key", t === j);
      node.setAttribute("aria-checked", t === i);
      node.setAttribute("tabindex", t === i ? "0" : "-1");
      const looked = weight === undefined ? "" : `, attention ${weight.toFixed(2)}`;
      node.setAttribute("aria-label", `${LETTERS[text[t]]} at ${t + 1}${looked}`);
    });
  }

  const view = sceneView({
    uid: `${uid}-head`,
    label: "This query's plane and the keys above it. Arrow keys turn the space.",
    azimuth: -68, // q points to the right
    onpick: (id) => {
      if (!Number.isNaN(Number(id))) choose(Number(id));
    },
  });

  const loud = slider({
    uid,
    name: "loudness",
    label: "",
    ...POWERS,
    min: LOUDNESS[0],
    max: LOUDNESS[1],
    step: 0.01,
    say: factor,
    oninput: (value) => save({ loudness: value, key: keyOf(attentionOf(quiet())) }),
  });

  const answer = html("p", { class: "tp-answer" });
  const verdict = html("p", { class: "tp-verdict" });
  const title = html("p", { class: "tp-title" });
  const numbers = facts();
  const words = html("p", { class: "attn-help" });
  const asleep = sleeper();
  const awake = html(
    "div",
    {},
    html(
      "div",
      { class: "attn-controls" },
      ...models.nodes,
      selects.layer.node,
      selects.head.node,
    ),
    html("div", { class: "attn-controls tp-ask" }, box.node, another),
    message,
    strip,
    html(
      "p",
      { class: "attn-help" },
      "Choose a letter to ask from its position; the bars over the letters are its attention. Choose a " +
        "bar, or a tip in the picture, to take that key.",
    ),
    html(
      "div",
      { class: "tp-columns" },
      html(
        "div",
        { class: "tp-left" },
        view.node,
        words,
        html("p", { class: "attn-help", id: `${uid}-head-help` }, "Drag to turn, or use the arrow keys."),
      ),
      html(
        "div",
        { class: "tp-right" },
        answer,
        verdict,
        title,
        selects.key.node,
        numbers.list,
        loud.node,
        html(
          "p",
          { class: "attn-help" },
          "Loudness multiplies the embedding of this one token, before anything else, and the whole " +
            "network runs again.",
        ),
      ),
    ),
  );
  const node = html("div", { class: "tp-mode" }, asleep, awake, spoken.node);

  // --- drawing

  const headOf = ({ layers }) => {
    const heads = layers[clamp(model.get("layer"), layers.length)];
    return heads[clamp(model.get("head"), heads.length)];
  };
  const attentionOf = (seen) => headOf(seen).attention[position()];
  const keyOf = (attention) => {
    const key = model.get("key");
    return key >= 0 && key < attention.length ? key : argmax(attention);
  };
  const quiet = () => forward(shown.model, tokens());

  /** Unpack the weights of a run's chosen seed, unless they are. */
  function take(run) {
    const seed = clamp(model.get("seed"), run.seeds);
    if (shown?.run === run && shown.seed === seed) return;
    shown = { run, seed, config: run.config, model: make(unpack(run, seed), run.config) };
  }

  function wake() {
    take(run());
    if (!tokens()) {
      write(draw(shown.config)); // the text before has letters that this model does not know
      return false;
    }
    if (parse(input.value, shown.config.vocabulary)?.join() !== tokens().join()) {
      if (document.activeElement !== input) input.value = spell(tokens());
    }
    judge();
    return true;
  }

  function drawAll() {
    asleep.hidden = Boolean(run());
    awake.hidden = !run();
    if (!run() || !wake()) return;
    const { config } = shown;
    const text = tokens();
    const i = position();
    const still = quiet();
    const j = keyOf(attentionOf(still));
    const loudness = model.get("loudness");
    const seen = loudness === 1 ? still : forward(shown.model, text, { position: j, factor: loudness });
    const head = headOf(seen);
    const attention = head.attention[i];
    const name = (t) => `${LETTERS[text[t]]}${t + 1}`;

    models.show();
    selects.layer.set(counted(config.layers, (n) => `${n + 1}`), clamp(model.get("layer"), config.layers));
    selects.head.set(counted(config.heads, (n) => `${n + 1}`), clamp(model.get("head"), config.heads));
    selects.key.set(counted(i + 1, (t) => `${LETTERS[text[t]]} at ${t + 1}`), j);
    drawTokens(text, i, j, attention);

    const placed = place(head, i);
    drawScene(placed, attention, reachOf(place(headOf(still), i).keys), j, name);

    const distribution = softmax(seen.logits[i]);
    const guess = argmax(distribution);
    answer.replaceChildren(
      `After ${name(i)} the model expects `,
      html("strong", {}, LETTERS[guess]),
      ` with probability ${distribution[guess].toFixed(2)}.`,
    );
    const best = ideal(text.slice(0, i + 1), config);
    const due = best && argmax(best);
    const known = best !== null && best[due] > KNOWN;
    verdict.classList.toggle("tp-wrong", known && due !== guess);
    verdict.classList.toggle("tp-right-answer", known && due === guess);
    if (best === null) {
      const next = i + 1 < text.length ? ` It goes on with ${LETTERS[text[i + 1]]}.` : "";
      verdict.textContent =
        `None of the model's periods (${counts(config.periods)}) fits this text; one fits ` +
        `${example(config)}.${next}`;
    } else if (!known) {
      verdict.textContent = `It cannot be known yet: the best possible predictor gives ${best[guess].toFixed(2)}.`;
    } else {
      verdict.textContent = due === guess ? "✓ That is right." : `✗ The text goes on with ${LETTERS[due]}.`;
    }

    const height = placed.keys[j][2];
    title.textContent = `The key ${name(j)}`;
    const beta = config.score === "angle" ? [["β of this head", show(head.beta)]] : [];
    numbers.set([
      ["attention", attention[j].toFixed(2)],
      ["score", show(head.scores[i][j])],
      ["length", show(norm(placed.keys[j]))],
      [head.r ? "distance from the plane" : "distance from the line of q", show(height)],
      [head.r ? "cos² of the angle to the plane" : "cos² of the angle to q", show(cos2(head.q[i], head.k[j], head.r?.[i] ?? head.q[i]))],
      ...beta,
    ]);
    words.textContent = WORDS[config.score];
    loud.text.textContent = `Loudness of ${name(j)}`;
    loud.set(loudness);
    spoken.say(
      `${name(j)} has attention ${attention[j].toFixed(2)}. ${answer.textContent} ${verdict.textContent}`,
    );
  }

  /** What fits the frame: it is wider than it is high, and the keys mostly stand. */
  const reachOf = (keys) =>
    1.05 * Math.max(...keys.map(([x, y, z]) => Math.max(Math.hypot(x, y), z / 1.25)));

  function drawScene(placed, attention, reach, j, name) {
    const { q, r, keys, flat } = placed;
    // q and r share a scale of their own: what they say is the plane, and which way is q.
    const own = (0.8 * reach) / Math.max(norm(q), r ? norm(r) : 0, 1e-12);
    view.draw({
      low: true,
      reach: reach || 1,
      plane: flat ? null : { e1: [1, 0, 0], e2: [0, 1, 0], radius: 0.92 * reach },
      axis: flat ? [1, 0, 0] : null,
      box: null,
      arrows: [
        ...Object.entries(r ? { q, r } : { q }).map(([id, x]) => ({
          id,
          text: id,
          at: times(x, own),
          className: "tp-plane-arrow",
          weight: 0.6,
          needed: true,
          flat: true,
        })),
        ...keys.map((at, t) => ({
          id: String(t),
          text: name(t),
          at,
          foot: attention[t] > 0.05 || t === j ? [at[0], at[1], 0] : null,
          className: t === j ? "tp-selected" : attention[t] > 0.05 ? "tp-attended" : "tp-faint",
          chosen: t === j,
          weight: attention[t],
          needed: t === j,
        })),
      ],
    });
  }

  return {
    node,
    draw: drawAll,
    leave() {
      view.leave();
      spoken.quiet();
    },
  };
}

// ---------------------------------------------------------------------------------------------
// The view

function render({ model, el }) {
  const uid = `tp-${Math.random().toString(36).slice(2)}`;
  const root = html("div", {
    class: "attn-widget triple-product",
    role: "group",
    "aria-label": "The triple-product explorer",
  });
  const { save, watch } = saver(model, draw);
  const modes = { hand: byHand({ uid, model, save }), head: inAHead({ uid, model, save }) };
  const tabs = Object.entries({ hand: "By hand", head: "In a trained head" }).map(([mode, text]) => {
    const input = html("input", {
      type: "radio",
      name: `${uid}-mode`,
      value: mode,
      onchange: () => save({ mode }),
    });
    return { mode, input, node: html("label", { class: "tp-tab" }, input, html("span", {}, text)) };
  });
  root.append(
    html(
      "div",
      { class: "tp-tabs", role: "radiogroup", "aria-label": "What to look at" },
      ...tabs.map((tab) => tab.node),
    ),
    ...Object.values(modes).map((mode) => mode.node),
  );

  function draw() {
    for (const { mode, input } of tabs) {
      input.checked = mode === model.get("mode");
      modes[mode].node.hidden = !input.checked;
    }
    modes[model.get("mode")].draw();
  }

  const drawn = ["mode", "vectors", "selected", "runs", "run", "seed", "layer", "head"]
    .concat(["text", "position", "key", "loudness"]);
  const unwatch = watch(Object.fromEntries(drawn.map((name) => [name, draw])));
  el.append(root);
  draw();
  return () => {
    unwatch();
    for (const mode of Object.values(modes)) mode.leave();
  };
}

export default { render };
