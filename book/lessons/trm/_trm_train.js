// Training a model on the page: how many looks a puzzle has, whether it may halt, and how
// many puzzles are thought about at once.

import { plural, select } from "./_page.js";
import { lessonPanel, stepsOf } from "./_train_lesson.js";
import { DEEP } from "./_trm_supervision.js";

const TOP_LOSS = 2; // nats, at the upper edge of the picture: at first the likeliest of seven is a guess
const SUPERVISION = [1, 2, 4, 8, 16];
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

/** The panel of the explorer's training. `follow(lesson, weights)` shows a model as it learns. */
export function explorerTraining({ uid, root, model, follow }) {
  const lesson = () => model.get("lesson");
  const choice = {}; // size, steps, supervision, halting
  const size = () => lesson().sizes.find(({ seats }) => seats === choice.size);
  let pace = null; // {at, step, seconds, steps}: how long steps take, pauses left out

  const fields = [
    {
      name: "supervision",
      label: "Looks a puzzle has, at most",
      title: "Looks",
      options: () => SUPERVISION.map((steps) => [steps, `${steps}`]),
    },
    {
      name: "halting",
      label: "Early halting",
      options: () => [["on", "on"], ["off", "off"]],
    },
    {
      name: "size",
      label: "Puzzles at once",
      make: select,
      options() {
        const sizes = lesson().sizes.toSorted((one, other) => one.seats - other.seats);
        return sizes.map(({ seats, megabytes }) => [seats, `${seats} (${megabytes} MB)`]);
      },
      anew: true,
    },
    stepsOf(1, 2 / 3, 1 / 3), // of a whole run
  ];

  function plan() {
    const { config, use_many: use, supervision, optimizer, judged, goal, sizes, look, ...shape } = lesson();
    const { rows, columns, held_out_share, symmetries } = shape;
    const { size: seats, steps, supervision: looks, halting } = choice;
    pace = null;
    return {
      run: {
        kind: "recursive",
        name: `${plural(looks, "look")} a puzzle${halting === "on" ? "" : ", no halting"}`,
        choices: `${seats} ${steps} ${looks} ${halting}`,
        taught: size() === sizes[0] && steps === size().steps && looks === supervision.steps && halting === "on",
        criterion: `solve ${share(goal.solved)} or more`,
        enough: goal.solved,
      },
      setup: {
        ...optimizer,
        task: DEEP,
        options: {
          board: { rows, columns, held_out_share, symmetries },
          config,
          use,
          ...supervision,
          steps: looks,
          halting: halting === "on",
          judged: { ...judged, every: Math.ceil(steps / judged.probes) },
        },
      },
      name: `sudoku ${rows}x${columns}`,
      floor: 0,
      top: TOP_LOSS,
      words: "the floor, 0: a puzzle has one solution",
      criterion: "below, the share of new puzzles that it solves",
      lasts: look && `${lasting(look * steps * seats)} on a quiet machine`,
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
    const left = rest > 0 ? `, ${lasting(rest)} left at this pace` : "";
    if (!judged) return { score: 0, words: `not tested yet${left}` };
    const { solved, count } = judged;
    const words = `${solved} of ${count} new puzzles solved${left}`;
    return { score: solved / count, words, judged };
  }

  /** Looks that the challenge allows, at whatever size: a step of training is one look for every seat. */
  const mostLooks = () => lesson().goal.steps * lesson().sizes[0].seats;

  const outcome = (history) => `After ${history.at(-1).step} steps it solves ${share(history.at(-1).score)}.`;
  function found(history) {
    const bounds = GUESSES.options.map(([bound]) => bound);
    return bounds.find((bound) => history.at(-1).score < Number(bound)) ?? bounds.at(-1);
  }

  return lessonPanel({
    uid,
    root,
    esm: model.get("_esm"),
    lesson: "trm",
    choice,
    fields,
    recipe: () => ({ ...lesson().optimizer, draws: lesson().draws, ...size() }),
    taught: () => "sizes" in lesson(),
    offered() {
      const { sizes, supervision } = lesson();
      const small = matchMedia(SMALL_SCREEN).matches;
      const { seats } = small ? sizes.reduce((one, other) => (one.seats < other.seats ? one : other)) : sizes[0];
      return { size: seats, supervision: supervision.steps, halting: "on" };
    },
    seeds: SEEDS,
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
    challenge: {
      text: () =>
        `solve ${share(lesson().goal.solved)} of ${lesson().judged.last} new puzzles after at most ` +
        `${mostLooks().toLocaleString("en")} looks: ${lesson().goal.steps} steps of ${lesson().sizes[0].seats} puzzles, ` +
        "or as many in another size.",
      seeds: 1,
      passed: (run, { step, score }) => step * choice.size <= mostLooks() && score >= lesson().goal.solved,
      done: "solve as many within as many looks",
    },
  });
}
