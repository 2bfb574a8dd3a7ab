// A place for code that a reader may change and run: the field, the buttons, what came of it, what it printed. What is
// typed is kept in this browser, where that keeps anything. Everything that takes time comes on the first Run.

import { button, html } from "./_page.js";
import { codeField } from "./_field.js";
import { engine, Ended } from "./_engine.js";
import { traps } from "./_traps.js";

const SYNTAX =
  "The slip may stand a line earlier: an open bracket, a missing colon. And this page’s Python is smaller than yours: " +
  "it has no [*a, x], {**a}, x[*i] or match.";
const LOADS = "Python is being loaded, once for this page.";
const RUNS = "Python is loaded. Your code is running.";
const SETTLE = 200; // ms after which what is typed is kept

/**
 * The place of some code.
 *
 *   book()      the book's own
 *   uid, label, hint  of the field; `hint` says what Run does, and is followed by where that stays which is typed
 *   memory      where what is typed is kept, see _kept_code.js
 *   again       the words of the button that brings the book's code back
 *   attributes  of the section
 *   measured    its data attributes that are of the last run alone
 *   starts, others, below   further buttons, those that start something apart, and what stands below
 *   by()        the engine that runs it, if it is another one than the page's
 *   printed     what the book's own code prints, which stands there until some code runs
 *   forget()    called whenever the code is another
 *   attempt(code, given)    what Run does; an error of the reader's code is told here
 *
 * Gives {node, tell, print, number, run, show, put, keepTyped, code}; a button of `starts` calls `run(given)`, `show(code)`
 * puts other code there, which is kept as soon as it is changed, `put(code)` keeps it at once, and `code()` is what stands there.
 */
export function codePlace({ uid, label, hint, memory, again: words, book, attributes, measured, attempt, ...more }) {
  const { starts = [], others = [], below = [], printed = "", forget = () => {}, by = engine } = more;
  const { node: lines, field, number } = codeField({ uid, label, typed, run: () => run() });
  const go = button("Run", () => run());
  const stop = button("Stop", () => by().end("you stopped it"));
  const again = button(words, () => {
    put(book());
    field.focus(); // there is nothing more to bring back, and what is disabled keeps no focus
  });
  const output = html("pre", { class: "attn-printed", tabindex: "0", "aria-label": "What the code printed" });
  const about = html("p", { id: `${uid}-hint`, class: "attn-hint" });
  const said = html("div", { class: "attn-cell-said", role: "status" });
  const node = html(
    "section",
    { class: "attn-cell", "data-code": "idle", ...attributes },
    lines,
    html("div", { class: "attn-controls" }, go, ...starts, stop, again, ...others),
    about,
    said,
    output,
    ...below,
  );
  stop.hidden = output.hidden = true;
  let timer = null; // until what was typed is kept
  let busy = false;

  function typed() {
    number();
    said.classList.toggle("attn-before", said.hasChildNodes());
    again.disabled = field.value === book();
    stopWaiting();
    timer = setTimeout(keep, SETTLE);
    forget();
  }
  /** Keep what is typed, if that waits: what is only shown is nobody's yet. */
  function keepTyped() {
    if (timer !== null) keep();
  }
  function stopWaiting() {
    clearTimeout(timer);
    timer = null;
  }
  function keep() {
    stopWaiting();
    memory.put(field.value === book() ? null : field.value);
    tellWhere();
  }
  function tellWhere() {
    about.textContent = `${hint} What you type ${memory.stays()}.`;
  }
  function put(code) {
    show(code);
    keep();
  }
  function show(code) {
    field.value = code;
    typed();
    stopWaiting();
    clear();
    if (printed) print(printed);
    node.dataset.code = "idle";
  }
  function clear() {
    said.replaceChildren();
    said.classList.remove("attn-before");
    output.textContent = "";
    output.hidden = true;
    for (const name of measured) delete node.dataset[name];
  }
  function tell(sentence, kind = "") {
    said.append(html("p", { class: `attn-says ${kind}` }, sentence));
  }
  function print(line) {
    output.hidden = false;
    output.append(`${line}\n`);
  }
  function wrong({ kind, message, lines: where, page }) {
    const at = where?.at(-1);
    tell(`${at ? `Line ${at}: ` : ""}${page ? message : `${kind}: ${message}`}`, "bad");
    if (!at) return;
    number(where);
    const text = field.value.split("\n")[at - 1];
    if (text?.trim()) said.append(html("pre", {}, text.trim()));
    if (kind === "SyntaxError") tell(SYNTAX);
  }

  async function run(given) {
    if (busy) return;
    busy = true;
    keepTyped();
    clear();
    forget();
    number();
    node.dataset.code = "running";
    const source = field.value;
    const held = [go, ...starts].find((each) => each === document.activeElement); // what is disabled keeps no focus
    for (const each of [go, ...starts]) each.disabled = true;
    stop.hidden = false;
    if (held) stop.focus();
    const waits = html("p", { class: "attn-says" }, LOADS);
    try {
      if (!by().awake()) {
        said.append(waits);
        by().start().then(() => waits.replaceChildren(RUNS), () => {}); // what went wrong, `attempt` is told too
      }
      for (const { line, words: trap } of traps(source)) tell(`Line ${line}: ${trap}`);
      await attempt(source, given);
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
      waits.remove();
      for (const each of [go, ...starts]) each.disabled = false;
      if (held && document.activeElement === stop) (held.hidden ? node.querySelector(".attn-go") : held).focus();
      stop.hidden = true;
      said.classList.toggle("attn-before", field.value !== source);
    }
  }

  addEventListener("pagehide", keepTyped);
  document.addEventListener("visibilitychange", () => document.hidden && keepTyped());
  field.value = memory.get() ?? book();
  number();
  again.disabled = field.value === book();
  tellWhere();
  if (printed) print(printed);
  return { node, tell, print, number, run, show, put, keepTyped, code: () => field.value };
}

/** What stands in the place of the book's own code, which the editor takes. */
export function takePlaceOf(original) {
  original.hidden = true;
  return original.querySelector("pre").textContent.replace(/\n+$/, "");
}
