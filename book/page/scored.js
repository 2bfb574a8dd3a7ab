// A reader's guess where the result stands: beside what came out and the best possible, in points.

import { button, download, html } from "./_page.js";
import { watchYours, yours } from "./_yours.js";

/** Where a number lies on a part's scale, from 0, the lowest, to 1: as `Part.at` of book.kit.predictions. */
export function placed({ low, high, linthresh }, value) {
  const scaled = (x) => (linthresh ? Math.asinh(x / linthresh) : x);
  return (scaled(value) - scaled(low)) / (scaled(high) - scaled(low));
}

/** From 1, exact (or one of several that cannot be told apart), to 0, off by half the scale or more. */
export function points(part, guess) {
  const { came, either = 0 } = part;
  const near = Math.min(Math.max(guess, came - either), came + either); // the nearest that is right
  return Math.max(0, 1 - 2 * Math.abs(placed(part, guess) - placed(part, near)));
}

const shown = (value) => (Number.isFinite(value) ? `${Number(value.toPrecision(3))}`.replace("-", "−") : "–");

/** In words, how near the guesses are, and how that is counted where one could be more or less near; of one choice alone, whether it came so. */
export function sentence(parts, guesses, words) {
  const given = parts.filter(({ name }) => name in guesses);
  if (!given.length) return "None of these is guessed yet; the fields are further up.";
  const share = given.reduce((sum, part) => sum + points(part, guesses[part.name]), 0) / given.length;
  if (parts.length === 1 && parts[0].name in words) return share === 1 ? "As you guessed." : "Not as you guessed.";
  const some = given.length < parts.length ? `${given.length} of ${parts.length} guessed: ` : "";
  const log = given.some(({ linthresh }) => linthresh) ? " The scale is logarithmic: what counts is the factor." : "";
  const near = given.every(({ name }) => name in words) ? "" : " An exact guess has all, and the further off, the fewer.";
  return `${some}${Math.round(100 * share)} of 100 points.${near}${log}`;
}

/** What a class's file says of each guess: `book.kit.predictions.together` reads it. */
export const fileOf = (parts, guesses) =>
  parts
    .filter(({ name }) => name in guesses)
    .map(({ name, ...told }) => ({ part: name, guess: guesses[name], ...told }));

function render({ model, el }) {
  const lesson = model.get("lesson");
  const line = html("p", { role: "status" });
  const body = html("tbody", {});
  const file = button("Save for the class", () => {
    const text = `${JSON.stringify(fileOf(model.get("parts"), yours(lesson).guesses), null, 1)}\n`;
    download(`predictions-${lesson}.json`, [text], "application/json");
  });
  const cells = (tag, words, more = {}) => words.map((word) => html(tag, more, word));
  const known = model.get("parts").some(({ best }) => Number.isFinite(best));
  const columns = ["asked", "you", "came out", ...(known ? ["the best possible"] : [])];
  const head = html("thead", {}, html("tr", {}, ...cells("th", columns, { scope: "col" })));
  const root = html("div", { class: "attn-guesses attn-scored" }, html("table", {}, head, body), line, html("div", {}, file));

  const told = ({ name }, value) => model.get("words")[name]?.[value] ?? shown(value);
  const result = (part) =>
    part.either ? `${shown(part.came - part.either)} to ${shown(part.came + part.either)}` : told(part, part.came);

  function show() {
    const { guesses, runs } = yours(lesson);
    const early = model.get("waits") && !runs.length;
    const parts = early ? [] : model.get("parts");
    const rows = parts.map((part) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, part.name),
        html("td", { class: "attn-mine" }, told(part, guesses[part.name])),
        ...cells("td", [result(part), ...(known ? [told(part, part.best)] : [])]),
      ),
    );
    body.replaceChildren(...rows);
    root.querySelector("table").hidden = early;
    line.textContent = early ? "Once you have trained one above, here stands what came out beside your guess." : sentence(parts, guesses, model.get("words"));
    file.disabled = !parts.some(({ name }) => name in guesses);
  }
  el.append(root);
  show();
  model.on("change:parts", show);
  const stop = watchYours(lesson, show);
  return () => {
    model.off("change:parts", show);
    stop();
  };
}

export default { render };
