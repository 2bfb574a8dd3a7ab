// A cell of a lesson that its reader may change, run and train. The code of the book stands in the page; training.js comes
// when it is asked for.

import { button, html } from "./_page.js";
import { codePlace, takePlaceOf } from "./_code_place.js";
import { engine, lessonOf } from "./_engine.js";
import { keptCode } from "./_kept_code.js";
import { argmax } from "./_model.js";
import { verdicts } from "./_verdicts.js";

/** The place of a cell, after the book's own code. */
export function mount(place) {
  const { lesson, cell } = place.dataset;
  const uid = `attn-cell-${lesson}-${cell}`;
  const book = takePlaceOf(document.getElementById(place.dataset.of));
  const train = button("Train", () => run(true));
  const learns = "trains" in place.dataset ? " Run says what differs; Train, whether it still learns." : "";
  const below = html("div", { class: "attn-trained" });
  let panel = null;
  const { node, tell, print, run, code: now } = codePlace({
    uid,
    label: "Code of this cell",
    hint: `Change it and run it, here in the page (Ctrl+Enter).${learns}`,
    memory: keptCode(lesson, cell),
    again: "The book’s code again",
    book: () => book,
    attributes: { "aria-label": `Change this code: ${cell}` },
    measured: ["agrees", "leak", "loss", "score", "training", "step"],
    starts: [train],
    below: [below],
    forget,
    attempt,
  });
  forget();

  /** What was trained is of other code. */
  function forget() {
    panel?.free();
    panel = null;
    below.replaceChildren();
    train.hidden = !("trains" in place.dataset);
  }

  async function attempt(code, trains) {
    const found = await judged(code);
    for (const [words, kind] of verdicts(found)) tell(words, kind);
    if (found.agrees) node.dataset.agrees = found.agrees.by;
    if (found.ahead) node.dataset.leak = found.ahead.moved;
    if (trains) await training(found);
  }

  /** Run the code, then the model that it defines on the book's weights. */
  async function judged(code) {
    const { ask } = engine();
    const data = (await lessonOf(lesson))[cell];
    await ask("run", { source: code, setup: data.setup ?? "" }, print);
    if (!data.task) return { agrees: null, ahead: null, looked: false };
    const made = await ask("evaluate", { task: data.task, inputs: data.inputs, numbers: false }, print);
    const { node: logits, shape } = made.outputs.logits;
    const book = data.outputs.logits;
    const order = data.ahead && { tokens: made.names[data.ahead.tokens], vocabulary: data.ahead.vocabulary };
    const { values, ahead } = await ask("judge", { logits, ...order, most: book.values.length }, print);
    return { agrees: differs({ shape, values }, book, data.chooses), ahead, looked: made.looked, code, made, data };
  }

  async function training({ code, made: model, data }) {
    const [{ trained }, programs] = await Promise.all([import("./training.js"), programsOf(model, data)]);
    const made = await trained({ root: node, lesson, code, data, programs, uid });
    if (now() !== code) return void made.free(); // it was changed meanwhile
    panel = made;
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

  place.replaceChildren(node);
}

/**
 * How it differs from what the book's own model gives: by how much at most, infinite where shapes differ or something is no
 * number; and where so many logits choose, in how many places they choose something else.
 */
function differs(mine, book, chooses) {
  const gaps = book.values.map((value, i) => Math.abs(mine.values[i] - value));
  if (`${mine.shape}` !== `${book.shape}` || gaps.some(Number.isNaN)) return { by: Infinity };
  const likeliest = ({ values }, place) => argmax(values.slice(place * chooses.of, (place + 1) * chooses.of));
  const places = chooses ? [...Array(Math.floor(gaps.length / chooses.of)).keys()] : [];
  const other = places.filter((place) => likeliest(mine, place) !== likeliest(book, place)).length;
  const chosen = chooses && { what: chooses.what, other, all: places.length };
  return { by: Math.max(...gaps), size: Math.max(...book.values.map(Math.abs)), chosen };
}
