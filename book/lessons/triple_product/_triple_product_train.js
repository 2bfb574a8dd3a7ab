// Training a copier on the page: which score, how many layers, which periods, and several seeds in a row.

import { argmax, softmax } from "./_model.js";
import { RATE, SPEED, STEPS, lessonPanel } from "./_train_lesson.js";
import { machines } from "./_machines.js";
import { PARTS, partOf, settled } from "./_train_guess.js";
import { forward, make } from "./_triple_product_model.js";
import { bestLoss, heldOut } from "./_triple_product_task.js";
import { KINDS, LAYERS, counts } from "./_triple_product_words.js";

const TOP_LOSS = 3; // nats, at the upper edge of the picture
const HELD = { count: 256, every: 20 }; // sequences to judge by, and steps from one judgement to the next
const TESTED = [6, 7, 8, 9, 10, 11, 12]; // periods of which a sequence holds two
const ELEVEN = 11; // one letter off the lesson's, of which a figure draws what every kind copies
const FEW = 6; // sequences where the page itself judges
const CHALLENGE = { seeds: 8, steps: 200, copied: 0.999 }; // one wrong copy of some thousand is chance

const GUESSES = { question: "Your guess: from which step on does it copy?", options: PARTS };

const percent = (share) => `${Number((100 * share).toFixed(1))} %`;

/** How a model does on a few held-out sequences, as the Worker judges it on many. */
export function judgedHere(network, task) {
  const sequences = heldOut(task, FEW);
  const settledFrom = Math.max(...task.periods) - 1;
  const found = { loss: 0, copied: 0, best: bestLoss(sequences, task) };
  for (const tokens of sequences) {
    const { logits } = forward(network, tokens.slice(0, -1));
    const copies = logits.length - settledFrom;
    logits.forEach((row, t) => {
      const next = tokens[t + 1];
      found.loss -= Math.log(softmax(row)[next]) / logits.length / FEW;
      if (t >= settledFrom) found.copied += Number(argmax(row) === next) / copies / FEW;
    });
  }
  return found;
}

/** The panel of a copier's training. `follow(lesson, task, weights)` shows a model as it learns. */
export function copierTraining({ uid, root, model, follow }) {
  const choice = { score: null, layers: null, period: 0, speed: "watch" };
  const lessons = () => Object.values(model.get("lessons"));
  const of = (kind, layers) =>
    lessons().find(({ config }) => config.score === kind && config.layers === layers);
  const lesson = () => of(choice.score, choice.layers);
  const task = () => lesson().tasks[choice.period] ?? lesson().tasks[0];
  /** What there is of this kind and with so many layers, or the nearest to it. */
  function nearest(kind, wanted) {
    const ofKind = lessons().find(({ config }) => config.score === kind);
    const { score, layers } = (of(kind, wanted) ?? ofKind ?? lessons()[0]).config;
    return { score, layers };
  }
  const fields = [
    {
      name: "score",
      label: "Score",
      least: 2,
      anew: true,
      options: () =>
        KINDS.filter(({ kind }) => lessons().some(({ config }) => config.score === kind)).map(({ kind, name }) => [kind, name]),
      take: (kind) => nearest(kind, choice.layers),
    },
    {
      name: "layers",
      label: "Layers",
      anew: true,
      options: () =>
        [...new Set(lessons().map(({ config }) => config.layers))].sort((a, b) => a - b).map((count) => [count, `${count}`]),
      take: (layers) => nearest(choice.score, layers),
    },
    {
      name: "period",
      label: "Period",
      options: () => lesson().tasks.map(({ periods }, i) => [i, counts(periods)]),
    },
    RATE,
    STEPS,
    SPEED,
  ];

  function plan() {
    const { copied, config } = lesson();
    const { floor, periods } = task();
    const { name } = KINDS.find(({ kind }) => kind === config.score);
    const varies = periods.length > 1;
    const layers = LAYERS[config.layers];
    // As the lesson's tasks are called (recipe.TASKS): the source's has one layer and one period.
    const among = config.layers === 1 ? (varies ? ", random period" : "") : varies ? "" : `, period ${periods[0]}`;
    return {
      run: {
        kind: `${config.score}, ${layers}${among}`,
        name: `${name.toLowerCase()}, ${layers}, period ${counts(periods)}`,
        criterion: `get ${percent(copied)} or more of the copies right`,
      },
      setup: { task: "copying", options: { task: task(), ...HELD, tested: TESTED } },
      name: `copier ${config.score} ${config.layers} ${counts(periods)}`,
      floor,
      top: TOP_LOSS,
      criterion: `strip: copied right, full at ${percent(copied)}`,
      lasts: choice.layers === 1 ? "less than half a minute" : "a minute or two",
      words: `the floor, ${floor.toFixed(4)}`,
    };
  }

  function judge(weights, { judged }) {
    const { copied, loss, best } = judged ?? judgedHere(make(lesson(), weights), task());
    return {
      score: Math.min(1, copied / lesson().copied),
      words: `${percent(copied)} of the copies right, ${(loss - best).toFixed(3)} nats above the best predictor`,
      judged,
    };
  }

  function outcome(history) {
    const { score: share } = history.at(-1);
    const from = settled(history);
    const enough = percent(lesson().copied);
    if (from < Infinity) return `It copies, with ${enough} or more of the copies right, from step ${from} on.`;
    return `After all steps ${percent(share * lesson().copied)} of the copies are right, not ${enough}.`;
  }

  const { seeds, steps: within, copied: asked } = CHALLENGE;
  return lessonPanel({
    uid,
    root,
    esm: model.get("_esm"),
    lesson: "triple_product",
    choice,
    fields,
    recipe: lesson,
    taught: () => lessons().length > 0,
    ready: () => machines.prepare(lessons()),
    offered() {
      if (lesson()) return null;
      const { config } = model.get("runs")[model.get("run")] ?? lessons()[0]; // the kind that is shown
      return nearest(config.score, config.layers);
    },
    plan,
    judge,
    follow: (weights) => follow(lesson(), task(), weights),
    series(history) {
      const transfer = history.at(-1).judged?.transfer ?? [];
      return { transfer, eleven: transfer.filter(([period]) => period === ELEVEN) };
    },
    guesses: GUESSES,
    outcome,
    found: partOf,
    challenge: {
      text: () =>
        `with one layer and one period, choose so that all ${seeds} seeds get ${percent(asked)} of the copies in ` +
        `${HELD.count} fresh sequences right within ${within} steps.`,
      seeds,
      passed: (run, { step, judged }) => step <= within && judged?.copied >= asked,
      done: `get ${percent(asked)} of the copies right within ${within} steps`,
      refused: () =>
        choice.layers !== 1 || task().periods.length > 1 ? "it is to be done with one layer and one period" : null,
    },
  });
}
