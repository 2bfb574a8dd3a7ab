// Training a model of brackets on the page: mask published or mended, which rate, how many steps.

import { RATE, STEPS, lessonPanel } from "./_train_lesson.js";
import { bestCosts, changed, following, heldOut } from "./_dialectical_learn.js";
import { forward, make, prepare } from "./_dialectical_model.js";
import { inOrder } from "./_dialectical_runs.js";
import { crossEntropy } from "./_dialectical_task.js";

const TOP_LOSS = 2; // nats, at the upper edge of the picture
const BELOW = 0.5; // nats of room under the floor, for who reads ahead
export const HELD = { few: 128, many: 512, every: 25 }; // strings to judge by, and steps from one judgement to the next
const HERE = 4; // strings where the page itself judges
const EVEN = Math.log(7); // what it costs to find all tokens as likely
const CHALLENGE = { seeds: 3, near: 0.03, within: 300 }; // seeds, nats, steps
/** A prediction that a later character moves by more has read ahead; single precision rounds below. */
export const READS_AHEAD = 1e-4;

export const GUESSES = {
  question: "Your guess: where does the loss end?",
  options: [
    ["above", "above the floor"],
    ["near", "just above it"],
    ["below", "below it"],
  ],
};

/** How a model does on a few held-out strings, as the Worker judges it on many. */
export function judgedHere(network, task) {
  const strings = heldOut(task, HERE);
  const costs = (tokens, targets) => {
    const { logits } = forward(network, tokens);
    return logits.map((row, t) => crossEntropy(row, targets[t]));
  };
  const { nats, count } = bestCosts(strings, task);
  const loss = strings.flatMap((tokens) => costs(tokens, following(tokens))).reduce((sum, cost) => sum + cost, 0);
  const [original, ...others] = changed(strings[0]);
  const { tokens, place } = others.at(-1);
  const [before, now] = [original.tokens, tokens].map((each) => costs(each, following(original.tokens)));
  const leak = Math.max(...before.slice(0, place).map((cost, t) => Math.abs(cost - now[t])));
  return { loss: loss / count, best: nats / count, leak, last: false };
}

/** The share of the way from guessing evenly to `near` nats above the best; 0 for who reads ahead. */
export function scored({ loss, best, leak }, near) {
  if (!(leak < READS_AHEAD)) return 0;
  return Math.min(1, Math.max(0, (EVEN - loss) / (EVEN - best - near)));
}

/** How the loss stands to the floor, and whether the model is honest, in words. */
export function worded({ loss, best, leak }) {
  const by = loss - best;
  const where = `${Math.abs(by).toFixed(3)} nats ${by < 0 ? "below" : "above"} the best predictor`;
  if (leak < READS_AHEAD) return `${where}, and no prediction reads ahead`;
  return `${where}, but it reads ahead: a later character moves a prediction by up to ${leak.toFixed(2)} nats`;
}

/** The loss above the best predictor's, at each step at which it was judged, and 1 for who ends reading ahead. */
export function series(history) {
  const above = new Map(history.filter(({ found }) => found).map(({ found: { step, loss, best } }) => [step, loss - best]));
  const { step, leak } = history.at(-1).found;
  return { above: [...above], ahead: [[step, Number(!(leak < READS_AHEAD))]] };
}

/** Which of the guesses came out, by what is near. */
export function endsAt(history, near) {
  const { loss, best } = history.at(-1).found;
  if (loss < best) return "below";
  return loss - best <= near ? "near" : "above";
}

/** The panel of a training. `follow(lesson, name, weights)` shows a model as it learns. */
export function bracketTraining({ uid, root, model, follow }) {
  const choice = { name: null };
  const lessons = () => model.get("lessons");
  const lesson = () => lessons()[choice.name];
  const names = () => inOrder(lessons()).map((name) => [name, name]);

  function plan() {
    const { task, floor, near } = lesson();
    return {
      run: { kind: choice.name, name: choice.name, criterion: `end honest and within ${near} nats of the best predictor` },
      setup: { task: "brackets", options: { task, ...HELD } },
      name: `brackets ${choice.name}`,
      floor,
      top: TOP_LOSS,
      bottom: floor - BELOW,
      criterion: `strip: full when honest and within ${near} nats of the best`,
      lasts: choice.steps === lesson().steps ? "about half a minute" : "",
      words: `the floor over all strings, ${floor.toFixed(4)}; on a few, luck may go below`,
    };
  }

  function judge(weights, { judged }) {
    const found = judged ?? judgedHere(make(lesson(), weights), lesson().task);
    return { score: scored(found, lesson().near), words: worded(found), found };
  }

  function outcome(history) {
    const { loss, best, leak } = history.at(-1).found;
    const by = loss - best;
    const where = `${Math.abs(by).toFixed(3)} nats ${by < 0 ? "below" : "above"} the best predictor of these strings`;
    if (leak < READS_AHEAD) return `It ends ${where}, and reads nothing ahead.`;
    return `It reads ahead: that it ends ${where} says nothing of how well it predicts.`;
  }

  const { seeds, near, within } = CHALLENGE;
  return lessonPanel({
    uid,
    root,
    esm: model.get("_esm"),
    lesson: "dialectical",
    choice,
    fields: [{ name: "name", label: "What learns", title: "", anew: true, options: names }, RATE, STEPS],
    recipe: lesson,
    taught: () => names().length > 0,
    ready: () => prepare(lessons()),
    offered: () => (lesson() ? null : { name: inOrder(lessons())[0] }),
    plan,
    judge,
    follow: (weights) => follow(lesson(), choice.name, weights),
    series,
    guesses: GUESSES,
    outcome,
    found: (history) => endsAt(history, lesson().near),
    challenge: {
      text: () =>
        `choose so that all ${seeds} seeds end within ${within} steps less than ${near} nats above the best predictor on ` +
        `${HELD.many} fresh strings, with no prediction that moves when a later character is changed.`,
      seeds,
      passed: (run, { step, found: { loss, best, leak } }) =>
        step <= within && loss - best < near && leak < READS_AHEAD,
      done: `end there within ${within} steps, and honest`,
    },
  });
}
