// A coin that learns how often heads comes up: one weight, in the panel that every widget trains in.

import { alone } from "./_alone.js";
import { oneOf, whole } from "./_chosen.js";
import { html } from "./_page.js";
import { PARTS, partOf, settled } from "./_train_guess.js";
import { RATE, STEPS, lessonPanel } from "./_train_lesson.js";
import { yours } from "./_yours.js";

const SEEDS = 3;
const HEADS = { fair: 0.5, bent: 0.9 };
const NEAR = 0.05;
const chanceOf = ({ side: [x] }) => 1 / (1 + Math.exp(-x));

// What scripts say for short.
const KEY = "attention-notes yours coins";
const refuse = (name) => () => { throw new DOMException("no", name); };
Object.assign(globalThis, {
  press: (...names) =>
    names.forEach((name) => [...document.querySelectorAll("button")].find((each) => each.textContent === name).click()),
  /** Runs as a panel keeps them, of another day: `seeds` of a kind, with these series. */
  ran: (kind, seeds, series, more = {}) =>
    [seeds].flat().forEach((seed) =>
      yours("coins").add({
        kind, seed, name: `${kind} coin`, choices: "", taught: true, steps: 40, met: more.arrived !== null, criterion: "know it",
        arrived: 20, said: "It knows it.", ...more,
        series: Object.fromEntries(Object.entries(series).map(([name, of]) => [name, typeof of === "function" ? of(seed) : of])),
      }),
    ),
  /** As other code does with runs that are not its own. */
  only: (kind) => yours("coins").only((run) => run.kind === kind),
  /** What another window, or nobody of ours, puts there. */
  put: (what, key = KEY) => {
    localStorage.setItem(key, typeof what === "string" ? what : JSON.stringify(what));
    dispatchEvent(new StorageEvent("storage", { key }));
  },
  /** Settings of another visit. */
  left: (settings, page = "/widget") => globalThis.put({ guesses: {}, runs: [], settings: { [`${page} Train a coin`]: settings } }),
  full: () => { Storage.prototype.setItem = refuse("QuotaExceededError"); },
  /** The longest text that still fits: not a letter more does. */
  fill: () => {
    for (let text = "", size = 2 ** 22; size >= 1; ) {
      try {
        localStorage.setItem("of another page", text + "x".repeat(size));
        text += "x".repeat(size);
      } catch { size /= 2; }
    }
  },
  barred: () => Object.defineProperty(globalThis, "localStorage", { get: refuse("SecurityError") }),
  /** As if the tab came into sight, or went out of it. */
  see: (seen) => {
    Object.defineProperty(document, "hidden", { value: !seen, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  },
});

function render({ model, el }) {
  const root = html("div", { class: "attn-widget", role: "group", "aria-label": "A coin" });
  const shown = html("p", {}, "No coin yet.");
  const choice = { coin: "fair" };
  const plan = () => {
    const share = HEADS[choice.coin];
    const floor = -(share * Math.log(share) + (1 - share) * Math.log(1 - share));
    const run = { kind: choice.coin, name: `${choice.coin} coin`, criterion: "know it" };
    const words = { words: `the floor, ${floor.toFixed(4)}`, criterion: "below, how near it is", lines: [{ at: 1, words: "a nat" }] };
    return { run, setup: { given: { batch: [share] } }, name: `coin ${choice.coin}`, floor, top: 2, ...words };
  };
  const judge = (weights) => {
    const off = Math.abs(chanceOf(weights) - HEADS[choice.coin]);
    return { score: off < NEAR ? 1 : 1 - off || 0, words: `heads in ${Math.round(100 * chanceOf(weights))} of 100`, off };
  };
  const panel = lessonPanel({
    uid: "coin", root, esm: model.get("_esm"), title: "Train a coin", lesson: "coins", choice, plan, judge,
    fields: [{ name: "coin", label: "Coin", options: () => Object.keys(HEADS).map((name) => [name, name]) }, RATE, STEPS],
    recipe: () => ({ ...model.get("lesson"), rate: model.get("rate"), steps: model.get("steps"), warmup: 2 }),
    offered: () => ({}),
    challenge: {
      text: () => `choose so that all ${SEEDS} seeds know it.`, done: "know it",
      seeds: SEEDS, passed: ({ arrived }) => arrived !== null,
    },
    series: (history) => ({ loss: history.map(({ step, loss }) => [step, loss]), off: history.map(({ step, off }) => [step, off]) }),
    follow: (weights, step) => { shown.textContent = `The coin at step ${step}: ${judge(weights).words}.`; },
    guesses: { question: "Your guess: from when on does it know it?", options: PARTS },
    outcome: (history) => (settled(history) < Infinity ? `It knows it from step ${settled(history)} on.` : "It does not know it."),
    found: partOf,
  });
  const box = html("input", { type: "text", "aria-label": "Tosses", oninput: () => model.set("tosses", Number(box.value)) });
  const toss = () => { box.value = model.get("tosses"); };
  model.on("change:tosses", toss);
  root.append(box);
  el.append(root);
  const chosen = { tosses: whole(1, 100), side: oneOf(() => ["heads", "tails"]) };
  const shut = alone({ name: "coin", root, el, model, chosen });
  toss();
  if (model.get("lesson").step) {
    root.append(shown, panel.node);
    panel.reload();
  }
  return () => {
    shut();
    model.off("change:tosses", toss);
    panel.free();
  };
}

export default { render };
