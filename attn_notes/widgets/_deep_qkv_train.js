// Training a sorter on the page: which weights, which loss and which rate, and sixteen seeds at once.

import { button, html, segments, select } from "./_page.js";
import { series } from "./_training.js";
import { trainPanel } from "./_train_panel.js";
import { machines } from "./_machines.js";
import { PARTS, comparedWith } from "./_train_guess.js";
import { VARIANTS, WORDS, score, sortAll } from "./_deep_qkv_model.js";

const ORDER = ["plain", "fixed_gate", "gated", "strict", "plain_third"]; // the control beside what it controls
const COUNTED = ["all", "knowable", "answer"];
const CHALLENGE = { seeds: 16, steps: 600 };
const TOP_LOSS = 2; // nats, at the upper edge of the picture
const WATCHED = 8; // seconds that a run takes where one wants to see it

const GUESSES = { question: "Your guess: from which step on does it sort all 27?", options: PARTS };

const answerTo = (guess, history) =>
  comparedWith(guess, history, {
    reached: (step) => `It sorts all 27 from step ${step} on.`,
    missed: ({ step, score: share }) =>
      `After ${step} steps it sorts ${Math.round(share * WORDS.length)} of 27, not all.`,
  });

/**
 * The panel of the sorter's training. `follow(variant, lesson, weights, steps)` shows a model as it learns; `reload` is
 * called when other runs have arrived.
 */
export function sorterTraining({ uid, root, model, follow }) {
  let choice = { variant: null, loss: "all", rate: null, total: null, speed: "watch" };
  const lessons = () => model.get("lessons");
  const lesson = () => lessons()[choice.variant];
  const variants = () => ORDER.filter((name) => lessons()[name]);
  const rates = () => {
    const best = lesson().rate;
    return [-2, -1, 0, 1, 2].map((power) => best * 2 ** power);
  };

  const totals = () => [1, 0.6, 0.3].map((part) => Math.round(part * lesson().steps));
  /** A variant, at the rate and for the steps that suit it. */
  const suited = (variant) => {
    const { rate, steps } = lessons()[variant];
    return { variant, rate, total: steps };
  };

  const change = (next) => {
    choice = { ...choice, ...next };
    show();
    if (!("speed" in next)) panel.restart();
  };
  const field = (make, name, label, onchange) => make({ uid, name, label, onchange });
  const boxes = {
    variant: field(segments, "train-variant", "Weights", (variant) => change(suited(variant))),
    loss: field(segments, "train-loss", "Predictions that the loss counts", (loss) => change({ loss })),
    rate: field(select, "train-rate", "Learning rate", (rate) => change({ rate: Number(rate) })),
    total: field(select, "train-steps", "Steps", (total) => change({ total: Number(total) })),
    speed: field(select, "train-speed", "Speed", (speed) => change({ speed })),
  };
  const named = (text, box) =>
    html("span", { class: "attn-choice" }, html("span", { class: "attn-label", "aria-hidden": "true" }, text), box.node);

  function show() {
    boxes.variant.set(variants().map((name) => [name, VARIANTS[name].label]), choice.variant);
    const losses = model.get("losses"); // saved by the alphabet, as all that stands by name
    boxes.loss.set(COUNTED.map((key) => [key, losses[key].label]), choice.loss);
    boxes.rate.set(rates().map((rate) => [rate, `${Number(rate.toPrecision(2))}`]), choice.rate);
    boxes.total.set(totals().map((total) => [total, `${total}`]), choice.total);
    boxes.speed.set([["watch", "to watch"], ["fast", "as fast as it can"]], choice.speed);
  }

  const sequences = () => Float32Array.from(model.get("sequences"));
  const setup = (seed, steps = choice.total) => {
    const { step, draws, warmup } = lesson();
    const { counted } = model.get("losses")[choice.loss];
    return {
      program: step,
      draws,
      seed,
      given: { "batch.tokens": sequences(), "batch.counted": Float32Array.from(counted) },
      rate: choice.rate,
      steps,
      warmup,
    };
  };

  function plan(seed) {
    const shapes = Object.entries(lesson().draws).map(([name, { shape }]) => [name, shape]);
    const { floor } = model.get("losses")[choice.loss];
    return {
      setup: setup(seed),
      name: `abc sorter ${choice.variant}`,
      shapes: Object.fromEntries(shapes),
      floor,
      top: TOP_LOSS,
      criterion: "below, the share of the 27 words that it sorts",
      words: floor > 0 ? `the floor, ${floor.toFixed(4)}: no predictor is lower` : "the floor, 0",
    };
  }

  const solved = (weights) => score(sortAll(machines.of(lesson()), weights));
  let steps = null; // of each word, by the weights that were judged last
  const judge = (weights) => {
    steps = sortAll(machines.of(lesson()), weights);
    const right = score(steps);
    return { score: right / WORDS.length, words: `${right} of ${WORDS.length} sorted` };
  };

  const tally = html("p", { class: "attn-train-line", role: "status" });
  const challenge = button(`${CHALLENGE.seeds} seeds`, () => runChallenge());
  const panel = trainPanel({
    uid,
    root,
    esm: model.get("_esm"),
    title: "Train one here",
    settings: [
      named("Weights", boxes.variant),
      named("The loss counts", boxes.loss),
      boxes.rate.node,
      boxes.total.node,
      boxes.speed.node,
    ],
    more: [
      html(
        "div",
        { class: "attn-controls attn-challenge" },
        html(
          "p",
          {},
          `Challenge: choose so that all ${CHALLENGE.seeds} seeds sort all 27 words within ${CHALLENGE.steps} steps.`,
        ),
        challenge,
        tally,
      ),
    ],
    plan,
    judge,
    follow: (weights) => follow(choice.variant, lesson(), weights, steps),
    guesses: GUESSES,
    answer: answerTo,
    pace: () => (choice.speed === "watch" ? Math.max(1, Math.round(choice.total / WATCHED / 60)) : Infinity),
  });

  let asked = 0;
  let runner = null;
  /** Train the chosen settings from sixteen seeds, one after another, each judged on all 27 words. */
  async function runChallenge() {
    const mine = ++asked;
    panel.pause();
    challenge.disabled = true;
    const judged = [];
    const { variant, loss, rate } = choice;
    runner ??= series(model.get("_esm"));
    for (let seed = 1; seed <= CHALLENGE.seeds; seed++) {
      const done = await runner.next(setup(seed, CHALLENGE.steps));
      if (mine !== asked) return;
      judged.push(done !== null && solved(done.weights) === WORDS.length);
      tally.textContent =
        `${VARIANTS[variant].label}, ${model.get("losses")[loss].label}, rate ${Number(rate.toPrecision(2))}: ` +
        `${judged.filter(Boolean).length} of ${judged.length} seeds sort all 27.`;
    }
    challenge.disabled = false;
  }

  async function reload() {
    await machines.prepare(lessons());
    panel.node.hidden = variants().length === 0;
    if (panel.node.hidden) return;
    if (!variants().includes(choice.variant)) choice = { ...choice, ...suited(variants()[0]) };
    show();
    panel.restart();
  }
  function free() {
    asked++;
    runner?.free();
    panel.free();
  }
  return { node: panel.node, reload, free, pause: panel.pause };
}
