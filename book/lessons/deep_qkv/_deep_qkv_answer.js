// What the sorter is asked and what it answers: the box, the three steps of one word, the map of all 27.

import { button, hidden, html, refuse, textBox } from "./_page.js";
import { wordMap } from "./_deep_qkv_map.js";
import { WORDS, letter, parse, score, sorted, written } from "./_sorter.js";
import { stepList } from "./_deep_qkv_steps.js";

export const ALLOWED = "Type three letters, each a, b or c, such as cab.";
const UNFINISHED = { 1: "Two more letters.", 2: "One more letter." };

/** `root` is marked while the answer shown is of another word than the one that is typed. */
export function answerView({ uid, root, model, save }) {
  let sentence = ""; // what the model writes for the word, and whether that is right

  const word = () => parse(model.get("text")) ?? WORDS[0];
  const shift = (by) => WORDS[(WORDS.indexOf(word()) + by + WORDS.length) % WORDS.length];
  const another = () => {
    const others = WORDS.filter((other) => other !== word());
    return others[Math.floor(Math.random() * others.length)];
  };

  const message = html("p", { class: "abc-message", id: `${uid}-message`, role: "status" });
  const box = textBox({
    uid,
    name: "input",
    label: "Type three letters",
    described: `${uid}-message`,
    oninput: () => read(),
    onfocus: () => input.select(),
  });
  const { input } = box;
  const heading = html("span", { class: "attn-label", "aria-hidden": "true" });
  const output = html("span", { class: "abc-output", "aria-hidden": "true" });
  const verdict = html("span", { class: "abc-verdict", "aria-hidden": "true" });
  const spoken = hidden();
  const steps = stepList();
  const map = wordMap((next) => choose(next));
  const count = html("p", { class: "abc-score" });

  const ask = html(
    "div",
    { class: "abc-ask" },
    box.node,
    html("span", { class: "abc-arrow", "aria-hidden": "true" }, "→"),
    html(
      "div",
      { class: "attn-field" },
      heading,
      html("span", {}, output, verdict, html("span", { "aria-live": "polite" }, spoken)),
    ),
    html(
      "div",
      { class: "abc-quick", role: "group", "aria-label": "Other words" },
      button("‹", () => choose(shift(-1)), "Previous word"),
      button("random", () => choose(another()), "A random word"),
      button("›", () => choose(shift(1)), "Next word"),
    ),
  );
  const help = html(
    "p",
    { class: "attn-help" },
    "Each row is one step. Arcs show where the last token read looks, head 1 above, head 2 " +
      "below, with the share in percent. Outlined letters equal the one about to be written: " +
      "do the thick arcs reach them? | separates what was read from what is written.",
  );

  function read() {
    const next = parse(input.value);
    if (next !== null) save({ text: next });
    judge();
  }

  function choose(next) {
    input.value = next;
    save({ text: next });
    judge();
  }

  /**
   * Say what the box lacks, if anything. The answer shown is then of the word before, and says so; whether
   * that one was right is no longer said, to eyes or ears, since it would be taken for what is typed.
   */
  function judge() {
    const typed = input.value.trim().toLowerCase();
    const refused = parse(typed) === null;
    const begun = WORDS.some((other) => other.startsWith(typed)); // not wrong, only not finished
    const lack = refused ? ((begun && UNFINISHED[typed.length]) || ALLOWED) : "";
    if (message.textContent !== lack) message.textContent = lack;
    message.classList.toggle("abc-wrong", refused && !begun);
    refuse(input, refused && !begun);
    root.classList.toggle("abc-stale", refused);
    heading.textContent = refused ? `Still showing ${word()}` : "The model writes";
    speak(refused ? `${heading.textContent}.` : sentence);
  }

  function speak(words) {
    if (spoken.textContent !== words) spoken.textContent = words;
  }

  /** Show the three steps of each word. */
  function draw(answers) {
    const trail = answers[WORDS.indexOf(word())];
    const answer = written(trail);
    const truth = sorted(word());
    const right = answer === truth;
    output.replaceChildren(
      ...trail.map(({ choice }, i) =>
        html("span", { class: letter(choice) === truth[i] ? "" : "abc-wrong" }, letter(choice)),
      ),
    );
    verdict.textContent = right ? "✓ in order" : `✗ not ${truth}`;
    verdict.classList.toggle("abc-wrong", !right);
    sentence = `${word()}: the model writes ${answer}, ${right ? "right" : `wrong, not ${truth}`}.`;
    judge();
    steps.list.setAttribute("aria-label", `The three steps for ${word()}`);
    steps.show(trail, truth);
    map.show(answers, word());
    count.textContent = `${score(answers)} of ${WORDS.length} sorted`;
  }

  /** Take the word from the model, at first. */
  function begin() {
    input.value = word();
    judge();
  }

  return {
    nodes: [ask, message, count, map.map],
    rest: [steps.list, help],
    begin,
    draw,
    choose,
    word,
    shows: () => parse(input.value) === word(),
    score: () => count.textContent,
  };
}
