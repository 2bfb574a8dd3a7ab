// An exercise that is answered in the page: the notebook's stub as an editor, and the notebook's own check of it. What
// is typed and what is reached are kept in this browser.

import { button, html } from "./_page.js";
import { codeField } from "./_field.js";
import { keptCode } from "./_kept_code.js";
import { engine, Ended } from "./_engine.js";
import { reach, reached } from "./_reached.js";
import { traps } from "./_traps.js";

const SETTLE = 200; // ms after which what is typed is kept
const CHANGED = "attn-reached";
const codeOf = (lesson, name) => keptCode(lesson, `exercise ${name}`);

const lessons = new Map(); // stem → what its exercises need
function lessonOf(stem) {
  if (!lessons.has(stem)) {
    const arrives = fetch(new URL(`${stem}.answers.json`, import.meta.url)).then((answer) => answer.json());
    lessons.set(stem, arrives);
    arrives.catch(() => lessons.delete(stem));
  }
  return lessons.get(stem).catch(() => {
    throw new Ended({ kind: "", page: true, message: "What the check needs could not be loaded. Is the network there?" });
  });
}

const textOf = (block) => block.querySelector("pre").textContent.replace(/\n+$/, "");
const many = (points) => `${Number(points.toFixed(2))} ${points === 1 ? "point" : "points"}`;

/** All that was reached and written in a lesson, as a file. */
function save(lesson, points, places) {
  const shares = reached(lesson);
  const exercises = Object.entries(points).map(([name, of]) => {
    const stub = places.find(({ dataset }) => dataset.name === name)?.stub ?? null;
    return { name, of, points: (shares[name] ?? 0) * of, answer: codeOf(lesson, name).get() ?? stub };
  });
  const text = JSON.stringify({ lesson, exercises }, null, 2);
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  html("a", { href: url, download: `answers-${lesson}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(url));
}

/** The place of an exercise, after the notebook's stub and check. */
function mount(place, _, places) {
  const { lesson, name, title } = place.dataset;
  const points = JSON.parse(place.dataset.points); // of all exercises of the lesson that are answered in a page
  const original = document.getElementById(`answer-${name}`);
  const check = document.getElementById(`check-${name}`);
  const stub = (place.stub = textOf(original));
  const kept = codeOf(lesson, name);
  const uid = `attn-exercise-${lesson}-${name}`;

  const { node: lines, field, number } = codeField({ uid, label: `Your answer: ${title}`, typed, run });
  const go = button("Run", run);
  const stop = button("Stop", () => engine().end("you stopped it"));
  const again = button("Begin anew", () => put(stub));
  const keepAll = button("Save", () => save(lesson, points, places));
  const output = html("pre", { class: "attn-printed", tabindex: "0", "aria-label": "What the code printed" });
  const said = html("div", { class: "attn-cell-said", role: "status" });
  const score = html("p", { class: "attn-hint" });
  const node = html(
    "section",
    { class: "attn-cell", "aria-label": title, "data-exercise": name, "data-passed": "false", "data-code": "idle" },
    lines,
    html("div", { class: "attn-controls" }, go, stop, again, keepAll),
    html("p", { id: `${uid}-hint`, class: "attn-hint" }, "Run (Ctrl+Enter) checks it, here in the page. What you write stays in this browser."),
    said,
    output,
    score,
  );
  stop.hidden = output.hidden = true;

  let timer;
  let busy = false;

  function typed() {
    number();
    again.disabled = field.value === stub;
    clearTimeout(timer);
    timer = setTimeout(keep, SETTLE);
  }
  function keep() {
    clearTimeout(timer);
    kept.put(field.value === stub ? null : field.value);
  }
  function put(code) {
    field.value = code;
    typed();
    keep();
    clear();
    node.dataset.code = "idle";
  }
  function clear() {
    said.replaceChildren();
    output.textContent = "";
    output.hidden = true;
    node.dataset.passed = "false";
  }
  function show() {
    const shares = reached(lesson);
    const earned = (names) => names.reduce((sum, each) => sum + (shares[each] ?? 0) * points[each], 0);
    const all = Object.keys(points);
    const of = all.reduce((sum, each) => sum + points[each], 0);
    score.textContent = `Reached: ${many(earned([name]))} of ${points[name]} here, ${many(earned(all))} of ${of} in this lesson.`;
    keepAll.disabled = false;
  }
  function tell(words, kind = "") {
    said.append(html("p", { class: `attn-says ${kind}` }, words));
  }
  function wrong({ kind, message, lines: where, page }) {
    const at = where?.at(-1);
    tell(`${at ? `Line ${at}: ` : ""}${page ? message : `${kind}: ${message}`}`, "bad");
    if (at) number(where);
  }
  function print(line) {
    output.hidden = false;
    output.append(`${line}\n`);
  }

  async function run() {
    if (busy) return;
    busy = true;
    keep();
    clear();
    number();
    node.dataset.code = "running";
    go.disabled = true;
    stop.hidden = false;
    try {
      const source = field.value;
      for (const { line, words } of traps(source)) tell(`Line ${line}: ${words}`);
      const { checks, files, exercises } = await lessonOf(lesson);
      const { outcome } = await engine().ask("check", { checks, files, source, ...exercises[name] }, print);
      if (outcome.lines.length) number(outcome.lines);
      tell(outcome.says, outcome.passed ? "good" : "bad");
      node.dataset.passed = outcome.passed;
      node.dataset.code = "done";
      reach(lesson, name, outcome.share);
      document.dispatchEvent(new CustomEvent(CHANGED));
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      wrong(error);
      node.dataset.code = "failed";
    } finally {
      busy = false;
      go.disabled = false;
      stop.hidden = true;
    }
  }

  addEventListener("pagehide", keep);
  document.addEventListener("visibilitychange", () => document.hidden && keep());
  document.addEventListener(CHANGED, show);
  addEventListener("storage", show);
  field.value = kept.get() ?? stub;
  number();
  again.disabled = field.value === stub;
  show();
  original.hidden = check.hidden = true;
  place.replaceChildren(node);
}

[...document.querySelectorAll(".attn-answer-place")].forEach(mount);
