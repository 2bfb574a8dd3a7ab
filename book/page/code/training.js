// A reader's own model in training: the panel that every widget trains in, with the program of the reader's code. What
// training means in a lesson stands in _lesson_STEM.js.

import { inputsOf } from "./_inputs_of.js";
import { machine } from "./_machines.js";
import { RATE, lessonPanel, stepsOf } from "./_train_lesson.js";
import { yours } from "./_yours.js";

const KIND = "written"; // as book.page.code.lesson has it

/** What a Worker that trains begins with: this site's modules, by whole addresses. */
const esmOf = (lesson) =>
  ["trainer.js", `_lesson_${lesson}.js`]
    .map((name) => `import ${JSON.stringify(new URL(name, import.meta.url).href)};`)
    .join("\n");

/** The panel; `begin` starts it. */
export async function trained({ root, lesson, code, data, programs, uid }) {
  const { default: means } = await import(`./_lesson_${lesson}.js`);
  const { train } = data;
  // Runs of other code are another model's, and are not drawn together with these.
  yours(lesson).only((run) => run.kind !== KIND || run.code === code);
  const forward = await machine({ observe: programs.forward });
  const wanted = inputsOf(programs.step);
  const ofProgram = (all) => Object.fromEntries(Object.entries(all).filter(([name]) => name in wanted));
  const draws = ofProgram(train.draws);
  const fixed = data.inputs.filter(({ name }) => !(name in train.draws));
  const given = ofProgram(Object.fromEntries(fixed.map(({ name, values }) => [name, Float32Array.from(values)])));
  const plan = () => ({
    run: { kind: KIND, name: "your code", code, criterion: means.criterion.done },
    setup: { given, ...means.setup?.(train) },
    name: `${lesson} your code`,
    floor: train.floor,
    bottom: means.bottom === undefined ? 0 : train.floor + means.bottom,
    top: means.top,
    criterion: means.criterion.words,
    words: `the floor, ${train.floor.toFixed(4)}: no predictor is lower`,
  });
  const { text, ...challenge } = means.challenge;
  const panel = lessonPanel({
    uid,
    root,
    esm: esmOf(lesson),
    title: "Train your model",
    first: means.first,
    lesson,
    choice: {},
    fields: [RATE, stepsOf(1, 0.6, 0.3)],
    recipe: () => ({ ...train, step: programs.step, draws }),
    offered: () => ({}),
    challenge: { ...challenge, text: () => text, done: means.criterion.done },
    plan,
    judge: means.judge({ forward, data }),
    series: means.series,
    guesses: means.guesses,
    outcome: (history) => means.outcome(history, train),
    found: (history) => means.found(history, train),
  });
  await panel.reload();
  return panel;
}
