// Two numbers: the plane, what can be moved in it, and what comes of it.

import { add } from "./_model.js";
import { POWERS, button, follow, html, number, player, slider, svg } from "./_page.js";
import { along, minus } from "./_equilibrium_credit.js";
import { SIZE, UNIT, across, below, cut, inside, trace } from "./_equilibrium_drawing.js";
import {
  AT_REST,
  EDGE,
  LESSONS,
  METHODS,
  MOST_STEPS,
  NUDGES,
  PRESETS,
  SHOWN,
  WAYS,
  comparable,
  descend,
  examine,
} from "./_equilibrium_plane.js";
import { judge, learnedSo } from "./_equilibrium_plane_words.js";
import { NAMES_OF } from "./_equilibrium_text.js";

/** A cost in two digits, without a power of ten. */
const brief = (cost) => (cost < 0.00005 ? "0.0000" : number(cost, cost < 0.1 ? 4 : 2));

export function planeView({ uid, model, save, say }) {
  let cached = { key: "", seen: null };
  let taught = { key: "", courses: null };

  const setting = () => ({
    x: model.get("input"),
    target: model.get("target"),
    weights: model.get("weights"),
    beta: model.get("beta"),
    steps: model.get("steps"),
  });

  /** What every way has learned from one setting, worked out once. */
  function coursesOf(now) {
    const key = JSON.stringify(now);
    if (taught.key !== key) {
      taught = { key, courses: Object.fromEntries(WAYS.map((way) => [way, descend(now, way)])) };
    }
    return taught.courses;
  }

  /** What there is to see now: the lessons learned so far, and the state after the last of them. */
  function look() {
    const now = setting();
    const method = model.get("method");
    const learned = model.get("learned");
    const key = JSON.stringify([now, method, learned]);
    if (cached.key !== key) {
      const courses = learned ? coursesOf(now) : null;
      const count = courses?.true.length ? learned : 0;
      const own = courses?.[method] ?? [];
      const weights = own[Math.min(count, own.length - 1)]?.weights ?? now.weights;
      cached = { key, seen: { ...examine({ ...now, weights }), weights, courses, count } };
    }
    return cached.seen;
  }

  // --- the plane itself

  const ground = svg("g", { "aria-hidden": "true" });
  const front = svg("g", { class: "eq-front", "aria-hidden": "true" }); // what a handle must not cover
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
      () => model.get("input"),
      (input) => {
        lessons.stop();
        save({ input, learned: 0 });
      },
    ),
  };
  const picture = svg(
    "svg",
    {
      class: "eq-plane",
      viewBox: `0 0 ${SIZE} ${SIZE}`,
      role: "application",
      "aria-label": "The plane: a target y and a pull x to move, and where the state rests",
    },
    ground,
    handles.x,
    handles.y,
    front,
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
    const { z, exact, methods, courses, count } = seen;
    const method = model.get("method");
    const x = model.get("input");
    const target = model.get("target");
    const circles = Array.from({ length: 16 }, (_, i) =>
      disc(target, (UNIT * (i + 1)) / 2, "eq-cost"),
    );
    ground.replaceChildren(...circles);
    const parts = [];
    if (count > 0) {
      for (const name of WAYS.filter((each) => each !== method).concat(method)) {
        const way = courses[name].slice(0, count + 1).map((lesson) => lesson.z);
        const chosen = name === method ? "eq-chosen" : "";
        parts.push(svg("path", { class: `eq-lesson eq-${name} ${chosen}`, d: trace(way) }));
        parts.push(disc(way.at(-1), 4, `eq-taught eq-${name}`));
      }
    }
    if (comparable(seen)) {
      parts.push(arrow(z, exact.reach, "eq-true"));
      const last = METHODS.filter((name) => name !== method).concat(method);
      for (const name of last.filter((each) => methods[each].step && !methods[each].away)) {
        const chosen = name === method ? "eq-chosen" : "";
        parts.push(arrow(z, methods[name].reach, `eq-${name} ${chosen}`));
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
      const at = { x: across(z[0]) - 12, y: below(z[1]) + 5, "text-anchor": "end" };
      const label = svg("text", { class: "eq-name", ...at }, "rest");
      parts.push(disc(z, 6, "eq-rest"), label);
    }
    front.replaceChildren(...parts);
    for (const [id, at] of Object.entries({ x, y: target })) {
      const [a, b] = Array.from(at, inside);
      handles[id].setAttribute("transform", `translate(${across(a)} ${below(b)})`);
      const name = { x: "The pull x", y: "The target y" }[id];
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
    const cost = html("span", { class: "eq-figure" });
    const node = html(
      "div",
      { class: "eq-row" },
      html("label", {}, input, sample(method), NAMES_OF[method]),
      html("span", { class: "eq-figures", id: `${uid}-${method}` }, angle, " ", length, " ", cost),
    );
    return { method, input, angle, length, cost, node };
  });
  const trueCost = html("span", { class: "eq-figure" });
  const legend = html(
    "div",
    { class: "eq-legend", role: "radiogroup", "aria-label": "Method" },
    html(
      "div",
      { class: "eq-row eq-head-row" },
      html("span", {}),
      html(
        "span",
        { class: "eq-figures" },
        ...["angle", "length", "cost"].map((name) => html("span", { class: "eq-figure" }, name)),
      ),
    ),
    html(
      "div",
      { class: "eq-row eq-true-row" },
      html("span", {}, sample("true"), "true gradient"),
      html("span", { class: "eq-figures" }, trueCost),
    ),
    ...rows.map(({ node }) => node),
  );

  /** Give one of the weights another start. */
  function turn(i, value) {
    lessons.stop();
    save({ weights: model.get("weights").map((old, k) => (k === i ? value : old)), learned: 0 });
  }

  const sliders = {
    first: slider({
      uid,
      name: "first",
      label: "Weight w₁₂",
      min: -EDGE,
      max: EDGE,
      step: 0.1,
      say: (value) => number(value, 1),
      oninput: (value) => turn(0, value),
    }),
    second: slider({
      uid,
      name: "second",
      label: "Weight w₂₁",
      min: -EDGE,
      max: EDGE,
      step: 0.1,
      say: (value) => number(value, 1),
      oninput: (value) => turn(1, value),
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
    start.focus(); // for this button has nothing to do now
  });
  /** Show a preset from the beginning. */
  function show({ state }) {
    lessons.stop();
    save({ panel: "plane", ...state });
  }

  const verdict = html("p", { class: "eq-verdict" });
  const lesson = html("p", { class: "eq-lesson-text" });
  const node = html(
    "div",
    {},
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
          "Drag the target y or the pull x, or move them with the arrow keys, with Shift farther.",
        ),
        html(
          "details",
          { class: "attn-help" },
          html("summary", {}, "What is drawn"),
          "Rings: the cost. Arrows: where a step of the weights by each method takes the state, " +
            `${SHOWN} times as far, from where the chosen one has come to. Dotted: the nudged path, ` +
            "1/β as large. Angle: between a step by the method and the true one. Length: of its gradient, " +
            "beside the true one's. Cost: where each method " +
            "has come to by itself. A weight of 0 is no connection and stays 0; two equal ones are " +
            "one weight.",
        ),
      ),
      html(
        "div",
        { class: "eq-right" },
        legend,
        verdict,
        html("div", { class: "eq-buttons" }, start, over),
        lesson,
        html(
          "details",
          { class: "eq-more" },
          html("summary", {}, "Other weights and nudges"),
          html(
            "div",
            { class: "eq-presets", role: "group", "aria-label": "Weights to try" },
            ...PRESETS.map((preset) => button(preset.name, () => show(preset))),
          ),
          ...Object.values(sliders).map((each) => each.node),
        ),
      ),
    ),
  );

  function draw() {
    const seen = look();
    const method = model.get("method");
    drawPlane(seen);
    const costOf = (way) => {
      const course = seen.courses?.[way] ?? [];
      const cost = seen.count ? course[Math.min(seen.count, course.length - 1)]?.cost : seen.cost;
      return seen.rests || seen.count ? brief(cost) : "–";
    };
    trueCost.textContent = costOf("true");
    for (const { method: name, input, angle, length, cost, node: row } of rows) {
      const found = comparable(seen) && seen.methods[name];
      const none = !found || found.away || !found.step;
      input.checked = name === method;
      row.classList.toggle("eq-chosen", name === method);
      angle.textContent = none ? "–" : `${number(found.angle, 0)}°`;
      length.textContent = !found ? "–" : found.away ? "away" : `× ${number(found.length)}`;
      cost.textContent = costOf(name);
    }
    const [first, second] = model.get("weights");
    sliders.first.set(first);
    sliders.second.set(second);
    for (const name of ["beta", "steps"]) sliders[name].set(model.get(name));
    verdict.textContent = judge(seen, method);
    const uphill = comparable(seen) && seen.methods[method].angle > 90;
    verdict.classList.toggle("attn-wrong", uphill || !seen.rests || Boolean(seen.methods?.[method].away));
    lesson.textContent = learnedSo(seen.courses, seen.count);
    start.disabled = !seen.rests && !seen.count;
    over.disabled = model.get("learned") === 0;
    say(`${verdict.textContent} ${seen.count ? lesson.textContent : ""}`.trim());
  }

  const opens = PRESETS.map((preset) => [preset.opens, () => show(preset)]);
  return { node, draw, opens: Object.fromEntries(opens), leave: lessons.stop };
}
