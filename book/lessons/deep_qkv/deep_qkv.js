// The ABC sorter: the page around the model of _sorter.js. The anywidget model holds
// what is chosen.

import { alone } from "./_alone.js";
import { oneOf, typed, whole } from "./_chosen.js";
import { unpack } from "./_unpack.js";
import { beside, button, goOn, html, number, plural, saver, select } from "./_page.js";
import { machines } from "./_machines.js";
import { opens } from "./_open.js";
import { ALLOWED, answerView } from "./_deep_qkv_answer.js";
import { VARIANTS, WORDS, parse, score, sortAll, sorted, written } from "./_sorter.js";
import { renderRace } from "./_deep_qkv_race.js";
import { sorterTraining } from "./_deep_qkv_train.js";
import { fullColour, heatMaps } from "./_deep_qkv_weights.js";

/** How many words each seed of a run sorts, counted once; none as long as its program is not there. */
const scoresOf = (() => {
  const counted = new WeakMap();
  return (run) => {
    if (!machines.of(run)) return [];
    if (!counted.has(run)) {
      const seeds = Array.from({ length: run.seeds }, (_, i) =>
        score(sortAll(machines.of(run), unpack(run, i))),
      );
      counted.set(run, seeds);
    }
    return counted.get(run);
  };
})();

/** What heat maps depend on besides the weights. */
const kindOf = (variant, { names, shapes }) => JSON.stringify([variant, names, shapes]);

// ---------------------------------------------------------------------------------------------
// The view

async function render({ model, el }) {
  if (model.get("picture") === "race") return renderRace({ model, el });
  const uid = `abc-${Math.random().toString(36).slice(2)}`;

  // What is on the page: the run and seed shown, their weights, the reader's edits of them and
  // how many of these are done, not undone. An edit is {zeroed, words}, what is zeroed after it
  // and what it did; the first is no edit. Every model seen keeps its own.
  let shown = null;
  const seen = new Map();
  let answers = []; // the three steps of each word
  let maps = null; // of the weights of one kind, built when these are first looked at
  let origin = null; // {variant, seed}, from which the reader went to a seed that failed

  const { save, watch } = saver(model, draw);
  // What was asked for, or else what there is.
  const chosen = () => {
    const [asked, runs] = [model.get("variant"), model.get("runs")];
    return runs[asked] ? asked : Object.keys(VARIANTS).find((name) => runs[name]);
  };
  const run = () => model.get("runs")[chosen()];
  const seed = () => Math.min(model.get("seed"), run().seeds - 1);
  const zeroed = () => shown.edits[shown.position].zeroed;

  // --- the choice of a model

  const selects = {
    variant: select({
      uid,
      name: "variant",
      label: "Model",
      onchange: (variant) => leave({ variant }),
    }),
    seed: select({
      uid,
      name: "seed",
      label: "Seed",
      onchange: (value) => value !== "" && leave({ seed: Number(value) }),
    }),
  };
  const note = html("p", { class: "abc-switch", role: "status" });
  const other = button("", () => showOther());

  // --- the weights

  const status = html("p", { class: "abc-status", role: "status" });
  const pointed = html("p", { class: "abc-pointed", "aria-hidden": "true" });
  const brief = html("span", { class: "abc-brief", "aria-hidden": "true" });
  const undo = button(
    "Undo",
    () => go(shown.position - 1, "Undone"),
    "Undo the last change of a weight",
  );
  const redo = button(
    "Redo",
    () => go(shown.position + 1, "Redone"),
    "Redo the change of a weight",
  );
  const reset = button(
    "Reset",
    () => edit(new Set(), "every weight restored"),
    "Reset every weight",
  );
  const legend = html("span", { class: "abc-legend" });
  const place = html("div", { onkeydown: (event) => undoOrRedo(event) });
  const inside = html(
    "div",
    { class: "abc-inside", id: `${uid}-inside`, hidden: true },
    html(
      "div",
      { class: "abc-choose" },
      selects.variant.node,
      selects.seed.node,
    ),
    html("div", { class: "abc-tools" }, brief, undo, redo, reset, status),
    html(
      "p",
      { class: "attn-help" },
      "Click a weight to zero it, click again to restore it. With the keyboard: arrows move, Page Up " +
        "and Page Down change the matrix, Enter zeroes the weight, Shift+Enter the whole matrix, " +
        "Ctrl+Z undoes and Ctrl+Shift+Z redoes.",
    ),
    html("div", { class: "abc-key" }, legend, pointed),
    place,
  );
  const apart = html("button", {
    type: "button",
    class: "attn-button abc-apart",
    "aria-expanded": "false",
    "aria-controls": inside.id,
    onclick: () => {
      inside.hidden = !inside.hidden;
      apart.setAttribute("aria-expanded", !inside.hidden);
      drawWeights();
    },
  });

  const root = html("div", {
    class: "attn-widget abc-sorter",
    role: "group",
    "aria-label": "The ABC sorter",
  });
  const answer = answerView({ uid, root, model, save });
  const training = sorterTraining({ uid, root, model, follow });
  const asleep = html(
    "p",
    { class: "abc-asleep" },
    "No model yet: the sorter wakes up here as soon as one is loaded.",
  );
  const awake = html(
    "div",
    {},
    beside(
      answer.nodes,
      training.node,
      ...answer.rest,
      html("div", { class: "abc-more" }, apart, other, note),
      inside,
    ),
  );
  root.append(asleep, awake);

  // --- what the reader does

  const key = (name, index) => `${name}:${index}`;

  function toggle(matrix, indices) {
    const keys = indices.map((index) => key(matrix.name, index));
    const next = new Set(zeroed());
    const restore = keys.every((each) => next.has(each));
    for (const each of keys) {
      if (restore) next.delete(each);
      else next.add(each);
    }
    if (indices.length === 1) {
      const value = number(shown.original[matrix.name][indices[0]]);
      const change = restore ? `0 → ${value}` : `${value} → 0`;
      edit(next, `${cellName(matrix, indices[0])}: ${change}`);
      point(matrix, indices[0]);
    } else {
      const change = restore ? "restored" : "→ 0";
      edit(next, `${matrix.label}, all ${plural(indices.length, "weight")} ${change}`);
    }
  }

  function edit(next, words) {
    const { edits, position } = shown;
    shown.edits = [...edits.slice(0, position + 1), { zeroed: next, words }];
    go(position + 1);
  }

  function undoOrRedo(event) {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
    event.preventDefault();
    (event.shiftKey ? redo : undo).click(); // nothing happens while the button is disabled
  }

  /** Go to an edit, back or forth, and say what that did. */
  function go(to, prefix) {
    const before = score(answers);
    const { words } = shown.edits[Math.max(shown.position, to)];
    shown.position = to;
    pointed.textContent = "";
    note.textContent = "";
    build();
    const after = score(answers);
    const effect = before === after ? `Score stays ${after}.` : `Score ${before} → ${after}.`;
    status.textContent = `${prefix ? `${prefix}: ` : ""}${words}. ${effect}`;
    goOn(undo, redo);
  }

  const cellName = (matrix, index) => {
    const offset = index - matrix.start;
    const row = matrix.row.name(Math.floor(offset / matrix.columns));
    return `${matrix.label}, ${row}, column ${(offset % matrix.columns) + 1}`;
  };

  function point(matrix, index) {
    const value = number(shown.original[matrix.name][index]);
    const off = zeroed().has(key(matrix.name, index));
    pointed.textContent = `${cellName(matrix, index)}: ${off ? `0, was ${value}` : value}`;
  }

  // --- drawing

  /** Make the model with the reader's edits, sort all 27 words with it, and show it. */
  function build() {
    const weights = { ...shown.original };
    for (const each of zeroed()) {
      const [name, index] = each.split(":");
      if (weights[name] === shown.original[name]) weights[name] = weights[name].slice();
      weights[name][index] = 0;
    }
    answers = sortAll(machines.of(shown.run), weights);
    answer.draw(answers);
    drawWeights();
  }

  function drawWeights() {
    if (inside.hidden || !shown) return;
    const kind = kindOf(shown.variant, shown.run);
    if (maps?.kind !== kind) {
      maps = { kind, ...heatMaps(shown.run, VARIANTS[shown.variant].formula, { toggle, point }) };
      place.replaceChildren(maps.heat);
    }
    maps.show(shown.original, zeroed(), shown.full);
    brief.textContent = answer.score();
    undo.disabled = shown.position === 0;
    redo.disabled = shown.position === shown.edits.length - 1;
    reset.disabled = zeroed().size === 0;
    const full = number(shown.full);
    legend.replaceChildren(`≤ −${full}`, html("span", { class: "abc-ramp" }), `≥ ${full}`);
  }

  function fillSelects() {
    const runs = model.get("runs");
    const variants = Object.keys(VARIANTS).filter((name) => runs[name]);
    selects.variant.set(
      variants.map((name) => [name, VARIANTS[name].label]),
      shown.variant,
    );
    const seeds = (runs[shown.variant] ? scoresOf(runs[shown.variant]) : []).map((right, i) => [
      i,
      right === WORDS.length ? `${i}` : `${i} (✗ ${right} of ${WORDS.length})`,
    ]);
    if (shown.learning) seeds.push(["", "yours"]);
    selects.seed.set(seeds, shown.seed ?? "");
    const weights = shown.run.shapes.map((shape) => shape.reduce((size, length) => size * length, 1));
    apart.textContent = `Take it apart: ${plural(
      weights.reduce((sum, size) => sum + size, 0),
      "weight",
    )}`;
    other.hidden = !otherSeed();
    other.textContent = fails(shown) ? "Show a seed that sorts all 27" : "Show a seed that failed";
  }

  const fails = ({ variant, seed: i, learning }) =>
    (learning ? score(answers) : scoresOf(model.get("runs")[variant])[i]) < WORDS.length;

  /**
   * A seed that failed, if the one shown did not, and else one that did not: of the same kind if there is
   * one. Where no seed sorts everything none has failed: they may not be trained.
   */
  function otherSeed() {
    const wanted = !fails(shown);
    const runs = model.get("runs");
    if (!wanted && origin && origin.seed < (runs[origin.variant]?.seeds ?? 0) && !fails(origin)) {
      return origin;
    }
    for (const variant of new Set([shown.variant, ...Object.keys(VARIANTS)])) {
      if (!runs[variant]) continue;
      const scores = scoresOf(runs[variant]);
      const i = scores.findIndex((right) => right < WORDS.length === wanted);
      if (i >= 0 && scores.includes(WORDS.length)) return { variant, seed: i };
    }
    return null;
  }

  function showOther() {
    const { variant, seed: i } = shown;
    const next = otherSeed();
    origin = fails(shown) || shown.learning ? null : { variant, seed: i };
    leave(next);
  }

  /** Show another model, and be it instead of the one in training. */
  function leave(next) {
    training.leave();
    if (shown.learning) shown = { ...shown, learning: false };
    save(next);
  }

  /** Whether what was shown before is what is chosen now: a model of the same kind, with these very weights. */
  const same = (weights, before) =>
    run().observe === before.run.observe &&
    kindOf(chosen(), run()) === kindOf(before.variant, before.run) &&
    Object.keys(weights).every((name) =>
      weights[name].every((value, i) => Object.is(value, before.original[name][i])),
    );

  /** Show the chosen model, with the reader's edits if they were of these very weights. */
  function switchModel() {
    if (run() && !machines.of(run())) return; // `reload` is at it
    asleep.hidden = Boolean(run());
    awake.hidden = !run();
    if (!run()) {
      note.textContent = "";
      shown = null;
      return;
    }
    const variant = chosen();
    const first = shown === null;
    const original = unpack(run(), seed());
    const which = `${variant} ${seed()}`;
    const kept = seen.get(which);
    const { edits, position } =
      kept && same(original, kept) ? kept : { edits: [{ zeroed: new Set() }], position: 0 };
    const full = fullColour(original);
    shown = { run: run(), variant, seed: seed(), original, full, edits, position };
    seen.set(which, shown);
    status.textContent = "";
    pointed.textContent = "";
    fillSelects();
    build();
    if (first) return;
    const off = zeroed().size ? `, ${plural(zeroed().size, "weight")} zeroed` : "";
    note.textContent = `${VARIANTS[variant].label}, seed ${shown.seed}: ${answer.score()}${off}`;
  }

  /** Show a model in training: its weights change under the reader's eyes. */
  function follow(variant, lesson, original, steps) {
    if (!shown?.learning || shown.variant !== variant) {
      const shapes = Object.values(lesson.draws).map(({ shape }) => shape);
      const run = { ...lesson, names: Object.keys(lesson.draws), shapes };
      note.textContent = "";
      shown = { run, variant, seed: null, learning: true };
    }
    Object.assign(shown, { original, full: fullColour(original) });
    Object.assign(shown, { edits: [{ zeroed: new Set() }], position: 0 });
    status.textContent = "";
    answers = steps;
    fillSelects();
    answer.draw(answers);
    drawWeights();
  }

  /** New weights arrived; those of a model that is not on the page are no reason to redraw it. */
  async function reload() {
    await machines.prepare(model.get("runs"));
    if (!shown || !run()) return switchModel();
    const fresh = unpack(run(), shown.seed < run().seeds ? shown.seed : 0);
    if (same(fresh, shown)) {
      shown.run = run();
      fillSelects();
    } else switchModel();
  }

  /** Show what the reader has chosen: another model, or another word for the same one. */
  function draw() {
    if (!shown) return;
    const same = chosen() === shown.variant && seed() === shown.seed;
    if (shown.learning || same) answer.draw(answers);
    else switchModel();
  }

  function readText() {
    if (answer.shows()) draw();
    else answer.choose(answer.word());
  }

  const unwatch = watch({
    runs: reload,
    lessons: training.reload,
    variant: switchModel,
    seed: switchModel,
    text: readText,
  });
  answer.begin();
  await machines.prepare(model.get("runs"));
  el.append(root);
  switchModel();
  await training.reload();
  const traits = {
    variant: oneOf(() => Object.keys(VARIANTS).filter((name) => model.get("runs")[name])),
    seed: whole(0, () => run().seeds - 1),
    text: typed((text) => (parse(text) ? "" : ALLOWED)),
  };
  const settle = alone({ name: "sorter", root, el, model, chosen: traits });
  function fail() {
    if (shown && !fails(shown) && otherSeed()) showOther();
    const wrong = WORDS.find((word, i) => answers[i] && written(answers[i]) !== sorted(word));
    if (wrong) answer.choose(wrong);
  }
  const close = opens(root, { failed: fail }, { model, chosen: traits });
  return () => {
    close();
    settle();
    unwatch();
    training.free();
  };
}

export default { render };
