// A cell of a lesson that its reader may change and run. The code of the book stands in the page; what is typed in
// its place is kept in this browser. Everything that takes time comes on the first Run: engine.js, and training.js.

import { button, html } from "./_page.js";
import { codeField } from "./_field.js";
import { keptCode } from "./_kept_code.js";
import { engine, Ended } from "./_engine.js";
import { traps } from "./_traps.js";

const SYNTAX =
  "The slip may stand a line earlier: an open bracket, a missing colon. And this page’s Python is smaller than yours: " +
  "it has no [*a, x], {**a}, x[*i] or match.";
const SETTLE = 200; // ms after which what is typed is kept

/** Texts of what came of a run, by what the page measured: [words, kind of line]. */
function verdicts({ agrees, ahead, looked }) {
  const found = [];
  if (agrees !== null) {
    const by = agrees.toPrecision(2);
    found.push(
      agrees < 1e-4
        ? [`It is the book’s model: on the same weights their outputs differ by ${by} at most.`, "good"]
        : [`It is not the book’s model: on the same weights their outputs differ by up to ${by}.`, ""],
    );
  }
  if (ahead) {
    const { moved, reader, read } = ahead;
    found.push(
      moved > 1e-6
        ? [
            `It reads ahead: another token at place ${read + 1} moves what it predicts at place ${reader + 1}, ` +
              `by up to ${moved.toPrecision(2)}.`,
            "bad",
          ]
        : ["It does not read ahead: no prediction moves when a later token is changed.", "good"],
    );
  }
  if (looked) {
    found.push([
      "Your code looked at a number that hangs on the weights or the tokens (item, if, float …). In training that " +
        "stays what it was just now.",
      "bad",
    ]);
  }
  return found;
}

/** The place of a cell, after the book's own code. */
export async function mount(place) {
  const { lesson, cell } = place.dataset;
  const original = document.getElementById(place.dataset.of);
  const book = original.querySelector("pre").textContent.replace(/\n+$/, "");
  const kept = keptCode(lesson, cell);
  const uid = `attn-cell-${lesson}-${cell}`;

  const { node: lines, field, number } = codeField({ uid, label: "Code of this cell", typed, run: () => run() });
  const go = button("Run", () => run());
  const stop = button("Stop", () => engine().end("you stopped it"));
  const train = button("Train", () => run(true));
  const again = button("The book’s code again", () => put(book));
  const output = html("pre", { class: "attn-printed", tabindex: "0", "aria-label": "What the code printed" });
  const said = html("div", { class: "attn-cell-said", role: "status" });
  const below = html("div", { class: "attn-trained" });
  const node = html(
    "section",
    { class: "attn-cell", "aria-label": `Change this code: ${cell}`, "data-code": "idle" },
    lines,
    html("div", { class: "attn-controls" }, go, train, stop, again),
    html("p", { id: `${uid}-hint`, class: "attn-hint" }, "Change it and run it, here in the page (Ctrl+Enter). What you type stays in this browser."),
    said,
    output,
    below,
  );
  train.hidden = !("trains" in place.dataset);
  stop.hidden = output.hidden = true;

  let timer;
  let panel = null;
  let busy = false;

  function typed() {
    number();
    again.disabled = field.value === book;
    clearTimeout(timer);
    timer = setTimeout(keep, SETTLE);
    forget();
  }
  function keep() {
    clearTimeout(timer);
    kept.put(field.value === book ? null : field.value);
  }
  /** What was trained is of other code. */
  function forget() {
    panel?.free();
    panel = null;
    below.replaceChildren();
    train.hidden = !("trains" in place.dataset);
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
    for (const name of ["agrees", "leak", "loss", "score", "training", "step"]) delete node.dataset[name];
  }

  function tell(words, kind = "") {
    said.append(html("p", { class: `attn-says ${kind}` }, words));
  }
  function wrong({ kind, message, lines, page }) {
    const at = lines?.at(-1);
    tell(`${at ? `Line ${at}: ` : ""}${page ? message : `${kind}: ${message}`}`, "bad");
    if (!at) return;
    number(lines);
    const text = field.value.split("\n")[at - 1];
    if (text?.trim()) said.append(html("pre", {}, text.trim()));
    if (kind === "SyntaxError") tell(SYNTAX);
  }
  function print(line) {
    output.hidden = false;
    output.append(`${line}\n`);
  }

  async function run(then = false) {
    if (busy) return;
    busy = true;
    keep();
    clear();
    forget();
    number();
    node.dataset.code = "running";
    go.disabled = train.disabled = true;
    stop.hidden = false;
    try {
      const code = field.value;
      for (const { line, words } of traps(code)) tell(`Line ${line}: ${words}`);
      const found = await judged(code);
      for (const [words, kind] of verdicts(found)) tell(words, kind);
      if (found.agrees !== null) node.dataset.agrees = found.agrees;
      if (found.ahead) node.dataset.leak = found.ahead.moved;
      if (then) await training(found);
      node.dataset.code = "done";
    } catch (error) {
      node.dataset.code = "failed";
      if (error instanceof Ended) wrong(error);
      else {
        tell("Something of this page went wrong; the browser’s console says what.", "bad");
        console.error(error);
      }
    } finally {
      busy = false;
      go.disabled = train.disabled = false;
      stop.hidden = true;
    }
  }

  /** Run the code, then the model that it defines on the book's weights. */
  async function judged(code) {
    const { ask, lessonOf } = engine();
    const data = (await lessonOf(lesson))[cell];
    await ask("run", { source: code, setup: data.setup ?? "" }, print);
    if (!data.task) return { agrees: null, ahead: null, looked: false };
    const made = await ask("evaluate", { task: data.task, inputs: data.inputs, numbers: false }, print);
    const { node: logits, shape } = made.outputs.logits;
    const book = data.outputs.logits;
    const order = data.ahead && { tokens: made.names[data.ahead.tokens], vocabulary: data.ahead.vocabulary };
    const { values, ahead } = await ask("judge", { logits, ...order, most: book.values.length }, print);
    return { agrees: differs({ shape, values }, book), ahead, looked: made.looked, code, made, data };
  }

  async function training({ code, made, data }) {
    const [{ trained }, programs] = await Promise.all([import("./training.js"), programsOf(made, data)]);
    panel = await trained({ root: node, lesson, code, data, programs, uid });
    below.replaceChildren(panel.node);
    train.hidden = true;
    panel.begin();
  }
  async function programsOf(made, data) {
    const { ask } = engine();
    const nodes = Object.fromEntries(Object.entries(made.outputs).map(([name, { node: id }]) => [name, id]));
    const { logits, ...others } = nodes;
    const trained = data.train.weights.map((name) => [name, made.names[name]]);
    const step = await ask("program", { outputs: others, trained, loss: "loss", clip: data.train.clip }, print);
    const forward = await ask("program", { outputs: { logits } }, print);
    return { step: step.text, forward: forward.text };
  }

  addEventListener("pagehide", keep);
  document.addEventListener("visibilitychange", () => document.hidden && keep());
  field.value = kept.get() ?? book;
  number();
  again.disabled = field.value === book;
  original.hidden = true;
  place.replaceChildren(node);
}

/** The largest difference from what the book's own model gives; infinite where shapes differ or something is no number. */
function differs(mine, book) {
  if (`${mine.shape}` !== `${book.shape}`) return Infinity;
  let most = 0;
  book.values.forEach((value, i) => {
    const by = Math.abs(mine.values[i] - value);
    if (!(by <= most)) most = Number.isNaN(by) ? Infinity : by;
  });
  return most;
}
