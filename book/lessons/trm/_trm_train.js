// Training a model on the page: how many looks a puzzle has, whether it may halt, and how
// many puzzles are thought about at once.

import { ownName } from "./_unpack.js";
import { plural, segments, select } from "./_page.js";
import { labelled, ofSeeds, stepsOf } from "./_train_choices.js";
import { trainPanel } from "./_train_panel.js";
import { DEEP } from "./_trm_supervision.js";

const TOP_LOSS = 2; // nats, at the upper edge of the picture: at first the likeliest of seven is a guess
const SUPERVISION = [1, 2, 4, 8, 16];
const SHORTER = [1, 2 / 3, 1 / 3]; // of a whole run
const SEEDS = 3;
const PAUSE = 10; // seconds, longer than a step and a test take
const SMALL_SCREEN = "(max-width: 40rem)";

const GUESSES = {
  question: "Your guess: how many of a hundred new puzzles will it solve in the end?",
  options: [
    ["0.3", "fewer than 30"],
    ["0.6", "30 to 60"],
    ["0.9", "60 to 90"],
    ["1", "more"],
  ],
};

export const share = (part) => `${Math.round(100 * part)}\u00a0%`;

/** How long so many seconds are, in words. */
const lasting = (seconds) =>
  seconds < 90
    ? `about ${plural(Math.ceil(seconds / 10) * 10, "second")}`
    : `about ${plural(Math.round(seconds / 60), "minute")}`;

/**
 * The panel of the explorer's training. `follow(lesson, weights)` shows a model as it learns; `reload` is
 * called when there is something else to be trained.
 */
export function explorerTraining({ uid, root, model, follow }) {
  const lesson = () => model.get("lesson");
  const taught = () => "sizes" in lesson();
  let choice = null; // {size, supervision, halting, steps}
  let pace = null; // {at, step, seconds, steps}: how long steps take, pauses left out

  const change = (next) => {
    choice = { ...choice, ...next };
    show();
    panel.restart();
  };
  const boxes = {
    supervision: segments({
      uid,
      name: "train-supervision",
      label: "Looks a puzzle has, at most",
      onchange: (steps) => change({ supervision: Number(steps) }),
    }),
    halting: segments({
      uid,
      name: "train-halting",
      label: "Early halting",
      onchange: (halting) => change({ halting }),
    }),
    size: select({
      uid,
      name: "train-size",
      label: "Puzzles at once",
      onchange: (seats) => change({ size: sizeOf(Number(seats)), steps: sizeOf(Number(seats)).steps }),
    }),
    steps: select({
      uid,
      name: "train-steps",
      label: "Steps",
      onchange: (steps) => change({ steps: Number(steps) }),
    }),
  };
  const sizeOf = (seats) => lesson().sizes.find((size) => size.seats === seats);
  function show() {
    boxes.supervision.set(SUPERVISION.map((steps) => [steps, `${steps}`]), choice.supervision);
    boxes.halting.set([["on", "on"], ["off", "off"]], choice.halting);
    const sizes = lesson().sizes.toSorted((one, other) => one.seats - other.seats);
    boxes.size.set(
      sizes.map(({ seats, megabytes }) => [seats, `${seats} (${megabytes} MB)`]),
      choice.size.seats,
    );
    boxes.steps.set(stepsOf(choice.size.steps, SHORTER), choice.steps);
  }

  function plan(seed) {
    const { config, use_many: use, draws, supervision, optimizer, judged, ...shape } = lesson();
    const { rows, columns, held_out_share, symmetries } = shape;
    const { goal, sizes, look } = lesson();
    const shapes = Object.entries(draws).map(([name, { shape }]) => [
      ownName(name),
      shape,
    ]);
    pace = null;
    const taught =
      choice.size === sizes[0] && choice.steps === choice.size.steps &&
      choice.supervision === supervision.steps && choice.halting === "on";
    return {
      run: {
        kind: "recursive",
        name: `${plural(choice.supervision, "look")} a puzzle${choice.halting === "on" ? "" : ", no halting"}`,
        choices: `${choice.size.seats} ${choice.steps} ${choice.supervision} ${choice.halting}`,
        taught,
        criterion: `solve ${share(goal.solved)} or more`,
        enough: goal.solved,
      },
      setup: {
        program: choice.size.step,
        draws,
        seed,
        ...optimizer,
        steps: choice.steps,
        task: DEEP,
        options: {
          board: { rows, columns, held_out_share, symmetries },
          config,
          use,
          ...supervision,
          steps: choice.supervision,
          halting: choice.halting === "on",
          judged: { ...judged, every: Math.ceil(choice.steps / judged.probes) },
        },
      },
      name: `sudoku ${rows}x${columns}`,
      shapes: Object.fromEntries(shapes),
      floor: 0,
      top: TOP_LOSS,
      words: "the floor, 0: a puzzle has one solution",
      criterion: "below, the share of new puzzles that it solves",
      lasts: look && lasting(look * choice.steps * choice.size.seats),
    };
  }

  /** What the last test says, and how long the rest of the run will take. */
  function judge(weights, { judged, step }) {
    const at = performance.now() / 1000;
    if (pace && at - pace.at < PAUSE) {
      pace.seconds += at - pace.at;
      pace.steps += step - pace.step;
    }
    pace = { seconds: 0, steps: 0, ...pace, at, step };
    const rest = (choice.steps - step) * (pace.seconds / pace.steps);
    const left = rest > 0 ? `, ${lasting(rest)} left` : "";
    if (!judged) return { score: 0, words: `not tested yet${left}` };
    const { solved, count } = judged;
    const words = `${solved} of ${count} new puzzles solved${left}`;
    return { score: solved / count, words, judged };
  }

  /** Looks that the challenge allows, at whatever size: a step of training is one look for every seat. */
  const mostLooks = () => lesson().goal.steps * lesson().sizes[0].seats;

  const challenge = ofSeeds({
    text: () =>
      `solve ${share(lesson().goal.solved)} of ${lesson().judged.last} new puzzles after at most ` +
      `${mostLooks().toLocaleString("en")} looks: ${lesson().goal.steps} steps of ${lesson().sizes[0].seats} puzzles, ` +
      "or as many in another size.",
    seeds: 1,
    passed: (run, { step, score }) => step * choice.size.seats <= mostLooks() && score >= lesson().goal.solved,
    done: "solve as many within as many looks",
  });
  const outcome = (history) => `After ${history.at(-1).step} steps it solves ${share(history.at(-1).score)}.`;
  function found(history) {
    const bounds = GUESSES.options.map(([bound]) => bound);
    return bounds.find((bound) => history.at(-1).score < Number(bound)) ?? bounds.at(-1);
  }

  const panel = trainPanel({
    uid,
    root,
    esm: model.get("_esm"),
    title: "Train one here",
    settings: [
      labelled("Looks", boxes.supervision),
      labelled("Early halting", boxes.halting),
      boxes.size.node,
      boxes.steps.node,
    ],
    lesson: "trm",
    seeds: SEEDS,
    challenge,
    plan,
    judge,
    follow: (weights) => follow(lesson(), weights),
    series: (history) => ({
      looks: history.at(-1).judged?.looks ?? [],
      solved: history.filter(({ judged }) => judged).map(({ step, score }) => [step, 100 * score]),
    }),
    guesses: GUESSES,
    outcome,
    found,
  });

  function reload() {
    panel.node.hidden = !taught();
    if (!taught()) return;
    const { sizes, supervision } = lesson();
    const small = matchMedia(SMALL_SCREEN).matches;
    const size = small ? sizes.reduce((one, other) => (one.seats < other.seats ? one : other)) : sizes[0];
    choice = { size, steps: size.steps, supervision: supervision.steps, halting: "on" };
    show();
    panel.restart();
  }
  return { node: panel.node, reload, free: panel.free, pause: panel.pause };
}
