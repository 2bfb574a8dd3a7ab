// What a model writes, freely or within the grammar, and how each character was chosen.

import { argmax } from "./_model.js";
import { button, html, plural, refuse, slider, textBox } from "./_page.js";
import { FROM_BEFORE, VOCABULARY, depthOf, faults, generate, unknownIn } from "./_dialectical_text.js";
import { boardView, choiceView } from "./_dialectical_view_board.js";

export const LARGEST_BUDGET = 60;
export const HOTTEST = 2; // temperature

/** What is wrong with a request, and in which field; null if nothing is. */
export function objection({ prompt, budget, constrained }, context) {
  const characters = [...prompt];
  const tokens = characters.map((character) => VOCABULARY.indexOf(character));
  const of = (field, sentence) => ({ field, sentence });
  if (!tokens.length) {
    return of("prompt", "Write at least one character: a model predicts from what came before.");
  }
  const stranger = unknownIn(characters);
  if (stranger) return of("prompt", stranger);
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

const HOW_TO_WRITE =
  "Write with ( ) a b c and spaces; ␣ is a space, ■ the end. At temperature 0 the likeliest is taken.";

function verdictOn({ text, prompt, ended }, budget) {
  const found = faults(text);
  const state = found.length ? `✗ It ${found.join(", ")}:` : "✓ Balanced,";
  const end = ended ? "ended by itself" : "spent its budget";
  return `${state} ${text.length - prompt.length} of ${plural(budget, "character")}, and ${end}.`;
}

// ---------------------------------------------------------------------------------------------
// The view

export function writingView({ uid, model, save, network }) {
  let shown = null; // {network, request, written}

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
  const stop = html("input", {
    type: "checkbox",
    role: "switch",
    onchange: () => save({ stop_on_closed: stop.checked }),
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
    if (objection(next, network().config.context)) judge();
    else save({ ...next, selected: next.prompt === model.get("prompt") ? model.get("selected") : -1 });
  }

  /** Say what the fields lack, if anything; the text is then the one before. */
  function judge() {
    const found = objection(typed(), network().config.context);
    const sentence = found && [found.sentence, shown && FROM_BEFORE].filter(Boolean).join(" ");
    message.textContent = sentence ?? HOW_TO_WRITE;
    message.classList.toggle("attn-wrong", Boolean(found));
    refuse(prompt.input, found?.field === "prompt");
    refuse(budget.input, found?.field === "budget");
  }

  const board = boardView({ uid, choose: (i) => save({ selected: i }) });
  const choice = choiceView();
  const verdict = html("p", { class: "dh-verdict" });
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
    html(
      "details",
      { class: "dh-inside" },
      html("summary", {}, "Inside the head: tension, steps and what it read"),
      board.head,
      choice.head,
    ),
  );
  const node = html(
    "div",
    { class: "dh-writing-view" },
    html(
      "div",
      { class: "attn-controls" },
      html("label", { class: "dh-switch" }, "Grammar", grammar),
      html("label", { class: "dh-switch" }, "Stop when closed", stop),
      prompt.node,
    ),
    html("div", { class: "attn-controls" }, budget.node, temperature.node, again),
    message,
    result,
  );

  /** Write anew, unless nothing has changed that the text depends on. */
  function write(request) {
    const by = network();
    if (shown?.network === by && JSON.stringify(shown.request) === JSON.stringify(request)) return;
    shown = { network: by, request, written: generate(by, request.prompt, request) };
  }

  /** The character to look at: where the grammar removed the most, until the reader chooses. */
  function chosen({ steps }) {
    const selected = model.get("selected");
    return selected < 0
      ? argmax(steps.map((step) => step.removed))
      : Math.min(selected, steps.length - 1);
  }

  function draw() {
    const request = Object.fromEntries(
      ["prompt", "budget", "temperature", "constrained", "draw"].map((name) => [
        name,
        model.get(name),
      ]),
    );
    request.stop = model.get("stop_on_closed");
    stop.checked = request.stop;
    temperature.set(request.temperature);
    grammar.checked = request.constrained;
    again.disabled = request.temperature === 0;
    if (!objection(request, network().config.context)) write(request);
    judge();
    result.hidden = !shown;
    if (!shown) return;

    const { written, request: asked, network: by } = shown;
    const i = chosen(written);
    verdict.textContent = verdictOn(written, asked.budget);
    verdict.classList.toggle("attn-wrong", faults(written.text).length > 0);
    board.draw(written, asked.budget, i);
    choice.draw(written, i, asked, by.config);
  }

  function fill() {
    prompt.input.value = model.get("prompt");
    budget.set(model.get("budget"));
  }

  return { node, draw, fill, told: () => (shown ? verdict.textContent : "") };
}
