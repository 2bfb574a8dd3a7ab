// A reader's own model in training: the panel that every widget trains in, with the program of the reader's code, and
// by lesson how far the criterion is reached and what of a run the figures need.

import { machine } from "./_machines.js";
import { fieldsOf, ofSeeds, rateAndSteps, shapesOf, trainedWith } from "./_train_choices.js";
import { PARTS, partOf, settled } from "./_train_guess.js";
import { trainPanel } from "./_train_panel.js";
import { LESSONS } from "./_lessons.js";

const KIND = "written"; // as attn_notes.cell.lesson has it

const inputsOf = (text) => JSON.parse(/^export const inputs=(.*);$/m.exec(text)[1]);

/** The text of a module that is this one, for a Worker that knows no addresses but whole ones. */
const esm = `import ${JSON.stringify(new URL("./_training.js", import.meta.url).href)};`;

/** The panel; `begin` starts it. */
export async function trained({ root, lesson, data, programs, uid }) {
  const { criterion, judge, challenge, question, top, series } = LESSONS[lesson];
  const { train } = data;
  const forward = await machine({ observe: programs.forward });
  const wanted = inputsOf(programs.step);
  const ofProgram = (all) => Object.fromEntries(Object.entries(all).filter(([name]) => name in wanted));
  const draws = ofProgram(train.draws);
  const given = ofProgram(
    Object.fromEntries(data.inputs.filter(({ name }) => !(name in train.draws)).map(({ name, values }) => [name, Float32Array.from(values)])),
  );
  let choice = { rate: train.rate, total: train.steps };
  const change = (next) => {
    choice = { ...choice, ...next };
    menus.show(train, choice);
    panel.restart();
  };
  const menus = rateAndSteps({ field: fieldsOf(uid), change, parts: [1, 0.6, 0.3] });
  menus.show(train, choice);

  const run = () => ({ kind: KIND, name: "your code", ...trainedWith(choice, train), criterion: criterion.plural });
  const plan = (seed) => ({
    run: run(),
    setup: { program: programs.step, draws, seed, given, rate: choice.rate, steps: choice.total, warmup: train.warmup },
    name: `${lesson} your code`,
    shapes: shapesOf(draws),
    floor: train.floor,
    bottom: 0,
    top,
    criterion: criterion.words,
    words: `the floor, ${train.floor.toFixed(4)}: no predictor is lower`,
  });
  const judged = judge({ forward, data });

  function outcome(history) {
    const { step, loss, words } = history.at(-1);
    const below = train.floor - loss;
    if (below > train.below) {
      return `The loss is ${below.toFixed(4)} below the floor. No honest predictor gets there: it has seen what it should predict.`;
    }
    const from = settled(history);
    if (from < Infinity) return `${criterion.done} from step ${from} on; the loss is ${loss.toFixed(4)}, the floor ${train.floor.toFixed(4)}.`;
    return `After ${step} steps: ${words}. The loss is ${loss.toFixed(4)}, the floor ${train.floor.toFixed(4)}.`;
  }

  const panel = trainPanel({
    uid,
    root,
    esm,
    title: "Train your model",
    first: 3,
    settings: menus.nodes,
    lesson,
    seeds: challenge.seeds,
    challenge: ofSeeds({
      text: () => challenge.text,
      seeds: challenge.seeds,
      passed: ({ arrived }) => arrived !== null,
      done: challenge.done,
    }),
    plan,
    judge: (weights) => judged(weights),
    series,
    follow: () => {},
    guesses: { question, options: PARTS },
    outcome,
    found: partOf,
  });
  panel.restart();
  return { node: panel.node, free: panel.free, begin: () => panel.begin() };
}
