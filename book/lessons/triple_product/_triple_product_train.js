// Training a copier on the page: which score, how many layers, which periods, and several seeds in a row.

import { argmax, softmax } from "./_model.js";
import { segments, select } from "./_page.js";
import { SPEEDS, fieldsOf, labelled, ofSeeds, paceOf, rateAndSteps, shapesOf, trainedWith } from "./_train_choices.js";
import { trainPanel } from "./_train_panel.js";
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
  let choice = { score: null, layers: null, period: 0, rate: null, total: null, speed: "watch" };
  const lessons = () => Object.values(model.get("lessons"));
  const of = (kind, layers) =>
    lessons().find(({ config }) => config.score === kind && config.layers === layers);
  const lesson = () => of(choice.score, choice.layers);
  const task = () => lesson().tasks[choice.period] ?? lesson().tasks[0];
  /** A lesson at the rate and for the steps that suit it, or the nearest that there is. */
  const suited = (kind, layers) => {
    const ofKind = lessons().find(({ config }) => config.score === kind);
    const { config, rate, steps } = of(kind, layers) ?? ofKind ?? lessons()[0];
    return { score: config.score, layers: config.layers, rate, total: steps };
  };

  const change = (next) => {
    choice = { ...choice, ...next };
    show();
    if (!("speed" in next)) panel.restart();
  };
  const field = fieldsOf(uid);
  const menus = rateAndSteps({ field, change });
  const boxes = {
    score: field(segments, "score", "Score", (kind) => change(suited(kind, choice.layers))),
    layers: field(segments, "layers", "Layers", (layers) => change(suited(choice.score, Number(layers)))),
    period: field(segments, "period", "Period", (period) => change({ period: Number(period) })),
    speed: field(select, "speed", "Speed", (speed) => change({ speed })),
  };
  const row = labelled("Score", boxes.score);
  function show() {
    const there = lessons();
    const layers = [...new Set(there.map(({ config }) => config.layers))].sort((a, b) => a - b);
    const kinds = KINDS.filter(({ kind }) => there.some(({ config }) => config.score === kind));
    row.hidden = kinds.length < 2;
    boxes.score.set(kinds.map(({ kind, name }) => [kind, name]), choice.score);
    boxes.layers.set(layers.map((count) => [`${count}`, `${count}`]), `${choice.layers}`);
    boxes.period.set(lesson().tasks.map(({ periods }, i) => [`${i}`, counts(periods)]), `${choice.period}`);
    menus.show(lesson(), choice);
    boxes.speed.set(SPEEDS, choice.speed);
  }

  const setup = (seed) => ({
    program: lesson().step,
    draws: lesson().draws,
    warmup: lesson().warmup,
    rate: choice.rate,
    seed,
    steps: choice.total,
    task: "copying",
    options: { task: task(), ...HELD, tested: TESTED },
  });

  function plan(seed) {
    const { draws, copied, config } = lesson();
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
        ...trainedWith(choice, lesson()),
        criterion: `get ${percent(copied)} or more of the copies right`,
      },
      setup: setup(seed),
      name: `copier ${config.score} ${config.layers} ${counts(periods)}`,
      shapes: shapesOf(draws),
      floor,
      top: TOP_LOSS,
      criterion: `below, copies right, up to ${percent(copied)}`,
      lasts: choice.layers === 1 ? "less than half a minute" : "a minute or two",
      words: `the floor, ${floor.toFixed(4)}: no predictor is lower`,
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
  const challenge = ofSeeds({
    text: () =>
      `with one layer and one period, choose so that all ${seeds} seeds get ${percent(asked)} of the copies in ` +
      `${HELD.count} fresh sequences right within ${within} steps.`,
    seeds,
    passed: (run, { step, judged }) => step <= within && judged?.copied >= asked,
    done: `get ${percent(asked)} of the copies right within ${within} steps`,
    refused: () =>
      choice.layers !== 1 || task().periods.length > 1 ? "it is to be done with one layer and one period" : null,
  });
  const panel = trainPanel({
    uid,
    root,
    esm: model.get("_esm"),
    title: "Train one here",
    settings: [
      row,
      labelled("Layers", boxes.layers),
      labelled("Period", boxes.period),
      ...menus.nodes,
      boxes.speed.node,
    ],
    lesson: "triple_product",
    seeds,
    challenge,
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
    pace: () => paceOf(choice),
  });

  async function reload() {
    await machines.prepare(lessons());
    panel.node.hidden = lessons().length === 0;
    if (panel.node.hidden) return;
    if (choice.score === null || !lesson()) {
      const { config } = model.get("runs")[model.get("run")] ?? lessons()[0]; // the kind that is shown
      choice = { ...choice, ...suited(config.score, config.layers) };
    }
    show();
    panel.restart();
  }
  return { node: panel.node, reload, free: panel.free, pause: panel.pause };
}
