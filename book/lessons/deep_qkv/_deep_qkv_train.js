// Training a sorter on the page: which weights, which loss and which rate, and sixteen seeds at once.

import { RATE, SPEED, lessonPanel, stepsOf } from "./_train_lesson.js";
import { machines } from "./_machines.js";
import { settled } from "./_train_guess.js";
import { VARIANTS, WORDS, sortAll } from "./_sorter.js";
import { CRITERION, SORTING, TOP_LOSS, judged } from "./_deep_qkv_series.js";

const ORDER = ["plain", "fixed_gate", "gated", "strict", "plain_third"]; // the control beside what it controls
const COUNTED = ["all", "knowable", "answer"];
const CHALLENGE = { seeds: 16, steps: 600 };

function outcome(history) {
  const { step, score: share } = history.at(-1);
  const from = settled(history);
  if (from < Infinity) return `It sorts all 27 from step ${from} on.`;
  return `After ${step} steps it sorts ${Math.round(share * WORDS.length)} of 27, not all.`;
}

/** The panel of the sorter's training. `follow(variant, lesson, weights, steps)` shows a model as it learns. */
export function sorterTraining({ uid, root, model, follow }) {
  const choice = { variant: null, loss: "all", speed: "watch" };
  const lessons = () => model.get("lessons");
  const lesson = () => lessons()[choice.variant];
  const variants = () => ORDER.filter((name) => lessons()[name]);
  const losses = () => model.get("losses"); // saved by the alphabet, as all that stands by name
  const fields = [
    {
      name: "variant",
      label: "Weights",
      anew: true,
      options: () => variants().map((name) => [name, VARIANTS[name].label]),
    },
    {
      name: "loss",
      label: "Predictions that the loss counts",
      title: "The loss counts",
      options: () => COUNTED.map((key) => [key, losses()[key].label]),
    },
    RATE,
    stepsOf(1, 0.6, 0.3),
    SPEED,
  ];

  function plan() {
    const { variant, loss } = choice;
    const { label, floor, counted } = losses()[loss];
    const all = loss === "all";
    return {
      run: {
        kind: all ? variant : `${variant}, ${loss}`,
        name: all ? VARIANTS[variant].label : `${VARIANTS[variant].label}, loss on ${label}`,
        criterion: CRITERION.done,
      },
      setup: {
        given: {
          "batch.tokens": Float32Array.from(model.get("sequences")),
          "batch.counted": Float32Array.from(counted),
        },
      },
      name: `abc sorter ${variant}`,
      floor,
      top: TOP_LOSS,
      criterion: CRITERION.words,
      lasts: choice.speed === "watch" ? "about ten seconds" : "",
      words: floor > 0 ? `the floor, ${floor.toFixed(4)}: no predictor is lower` : "the floor, 0",
    };
  }

  let steps = null; // of each word, by the weights that were judged last
  const judge = (weights) => {
    steps = sortAll(machines.of(lesson()), weights);
    return judged(steps);
  };

  const { seeds, steps: within } = CHALLENGE;
  return lessonPanel({
    uid,
    root,
    esm: model.get("_esm"),
    lesson: "deep_qkv",
    choice,
    fields,
    recipe: lesson,
    taught: () => variants().length > 0,
    ready: () => machines.prepare(lessons()),
    offered: () => (variants().includes(choice.variant) ? null : { variant: variants()[0] }),
    ...SORTING,
    plan,
    judge,
    follow: (weights) => follow(choice.variant, lesson(), weights, steps),
    outcome,
    challenge: {
      text: () => `choose so that all ${seeds} seeds sort all 27 words within ${within} steps.`,
      seeds,
      passed: ({ arrived }) => arrived !== null && arrived <= within,
      done: `sort all 27 within ${within} steps`,
    },
  });
}
