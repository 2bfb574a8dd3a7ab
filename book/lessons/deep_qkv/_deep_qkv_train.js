// Training a sorter on the page: which weights, which loss and which rate, and sixteen seeds at once.

import { segments, select } from "./_page.js";
import { SPEEDS, fieldsOf, labelled, ofSeeds, paceOf, rateAndSteps, shapesOf, trainedWith } from "./_train_choices.js";
import { trainPanel } from "./_train_panel.js";
import { machines } from "./_machines.js";
import { PARTS, partOf, settled } from "./_train_guess.js";
import { VARIANTS, WORDS, score, sortAll } from "./_sorter.js";
import { seriesOf } from "./_deep_qkv_series.js";

const ORDER = ["plain", "fixed_gate", "gated", "strict", "plain_third"]; // the control beside what it controls
const COUNTED = ["all", "knowable", "answer"];
const CHALLENGE = { seeds: 16, steps: 600 };
const FIRST = 3; // the seed that is offered first: it gets there, as most do
const TOP_LOSS = 2; // nats, at the upper edge of the picture

const GUESSES = { question: "Your guess: from which step on does it sort all 27?", options: PARTS };

function outcome(history) {
  const { step, score: share } = history.at(-1);
  const from = settled(history);
  if (from < Infinity) return `It sorts all 27 from step ${from} on.`;
  return `After ${step} steps it sorts ${Math.round(share * WORDS.length)} of 27, not all.`;
}

/**
 * The panel of the sorter's training. `follow(variant, lesson, weights, steps)` shows a model as it learns; `reload` is
 * called when other runs have arrived.
 */
export function sorterTraining({ uid, root, model, follow }) {
  let choice = { variant: null, loss: "all", rate: null, total: null, speed: "watch" };
  const lessons = () => model.get("lessons");
  const lesson = () => lessons()[choice.variant];
  const variants = () => ORDER.filter((name) => lessons()[name]);
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
  const field = fieldsOf(uid);
  const menus = rateAndSteps({ field, change, parts: [1, 0.6, 0.3] });
  const boxes = {
    variant: field(segments, "variant", "Weights", (variant) => change(suited(variant))),
    loss: field(segments, "loss", "Predictions that the loss counts", (loss) => change({ loss })),
    speed: field(select, "speed", "Speed", (speed) => change({ speed })),
  };
  function show() {
    boxes.variant.set(variants().map((name) => [name, VARIANTS[name].label]), choice.variant);
    const losses = model.get("losses"); // saved by the alphabet, as all that stands by name
    boxes.loss.set(COUNTED.map((key) => [key, losses[key].label]), choice.loss);
    menus.show(lesson(), choice);
    boxes.speed.set(SPEEDS, choice.speed);
  }

  const sequences = () => Float32Array.from(model.get("sequences"));
  const setup = (seed) => {
    const { step, draws, warmup } = lesson();
    const { counted } = model.get("losses")[choice.loss];
    return {
      program: step,
      draws,
      seed,
      given: { "batch.tokens": sequences(), "batch.counted": Float32Array.from(counted) },
      rate: choice.rate,
      steps: choice.total,
      warmup,
    };
  };

  /** What the lesson calls the kind, its words, and whether it is trained as there. */
  function run() {
    const { variant, loss } = choice;
    const { label } = model.get("losses")[loss];
    return {
      kind: loss === "all" ? variant : `${variant}, ${loss}`,
      name: loss === "all" ? VARIANTS[variant].label : `${VARIANTS[variant].label}, loss on ${label}`,
      ...trainedWith(choice, lesson()),
      criterion: "sort all 27",
    };
  }

  function plan(seed) {
    const { floor } = model.get("losses")[choice.loss];
    return {
      run: run(),
      setup: setup(seed),
      name: `abc sorter ${choice.variant}`,
      shapes: shapesOf(lesson().draws),
      floor,
      top: TOP_LOSS,
      criterion: "below, the share of the 27 words that it sorts",
      lasts: choice.speed === "watch" ? "about ten seconds" : "",
      words: floor > 0 ? `the floor, ${floor.toFixed(4)}: no predictor is lower` : "the floor, 0",
    };
  }

  let steps = null; // of each word, by the weights that were judged last
  const judge = (weights) => {
    steps = sortAll(machines.of(lesson()), weights);
    const right = score(steps);
    return { score: right / WORDS.length, words: `${right} of ${WORDS.length} sorted` };
  };

  const { seeds, steps: within } = CHALLENGE;
  const challenge = ofSeeds({
    text: () => `choose so that all ${seeds} seeds sort all 27 words within ${within} steps.`,
    seeds,
    passed: ({ arrived }) => arrived !== null && arrived <= within,
    done: `sort all 27 within ${within} steps`,
  });
  const panel = trainPanel({
    uid,
    root,
    esm: model.get("_esm"),
    title: "Train one here",
    first: FIRST,
    settings: [
      labelled("Weights", boxes.variant),
      labelled("The loss counts", boxes.loss),
      ...menus.nodes,
      boxes.speed.node,
    ],
    lesson: "deep_qkv",
    seeds,
    challenge,
    plan,
    judge,
    series: seriesOf,
    follow: (weights) => follow(choice.variant, lesson(), weights, steps),
    guesses: GUESSES,
    outcome,
    found: partOf,
    pace: () => paceOf(choice),
  });

  async function reload() {
    await machines.prepare(lessons());
    panel.node.hidden = variants().length === 0;
    if (panel.node.hidden) return;
    if (!variants().includes(choice.variant)) choice = { ...choice, ...suited(variants()[0]) };
    show();
    panel.restart();
  }
  return { node: panel.node, reload, free: panel.free, pause: panel.pause };
}
