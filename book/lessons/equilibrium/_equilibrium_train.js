// Training a language model on the page by AEP, by the naive way, or by BPTT: from the same start, on the
// same text.

import { ownName } from "./_unpack.js";
import { html, number, segments } from "./_page.js";
import { fieldsOf, labelled, ofSeeds, rateAndSteps, shapesOf, trainedWith } from "./_train_choices.js";
import { trainPanel } from "./_train_panel.js";
import { heldOutLoss } from "./_equilibrium_learn.js";
import { seriesAt, yours } from "./_yours.js";

const BELOW = 0.15; // nats of room under the goal
const CHALLENGE = { seeds: 3, steps: 150 };
const TONES = { AEP: "eq-full", naive: "eq-none", BPTT: "eq-bptt" };
const WITH_A_WAY_BACK = "BPTT";

/** Whose loss ends highest, or null where not all ways have one. */
export function worst(ends, ways) {
  if (!ways.every((way) => way in ends)) return null;
  return ways.reduce((one, other) => (ends[other] > ends[one] ? other : one));
}

/** The share of the way from knowing frequencies to the goal; none where a loss is no number. */
export const gone = (loss, from, goal) => Math.min(1, Math.max(0, (from - loss) / (from - goal))) || 0;

/** The panel of the training. */
export function settlingTraining({ uid, root, model }) {
  let choice = null; // {way, rate, total}
  let offered = ""; // what was there to choose from
  let ends = {}; // way -> where it ended, of runs that differ in nothing else
  let last = null; // the last judgement
  let judgeHere = null;
  const lesson = () => model.get("lesson");
  const taught = () => "ways" in lesson();
  const ways = () => lesson().ways.map(([name]) => name);
  /** The yardsticks as {name, nats}: from which on a run is followed, and below which it should end. */
  function yardsticks() {
    const [from, goal] = lesson().yardsticks.map(([name, nats]) => ({ name, nats }));
    return { from, goal };
  }

  /** With the characters counted: the lesson counts other texts, of more. */
  const counted = ({ name, nats }) => `${name} of ${lesson().characters.length} characters, ${number(nats, 3)}`;

  const change = (next) => {
    choice = { ...choice, ...next };
    show();
    panel.restart();
  };
  const field = fieldsOf(uid);
  const way = field(segments, "way", "Way to the gradient", (chosen) => change({ way: chosen }));
  const menus = rateAndSteps({ field, change });
  /** Rate and steps that suit every way. */
  const suits = () => ({ rate: lesson().optimizer.rate, steps: lesson().steps });
  const compared = html("p", { class: "eq-ends" });

  function show() {
    way.set(ways().map((name) => [name, name, TONES[name]]), choice.way);
    menus.show(suits(), choice);
  }

  /** The ends of the ways so far, each with the colour of its curve. */
  function tell() {
    const parts = ways().map((name) =>
      html("span", { class: `eq-end ${TONES[name]}` }, `${name} ${Number.isFinite(ends[name]) ? number(ends[name], 3) : "–"}`),
    );
    compared.replaceChildren("Ends, from one start: ", ...parts);
  }

  function setup(seed, { way, rate, total }) {
    const { ways: programs, draws, optimizer, text, characters, held, read, every, governor } = lesson();
    return {
      ...optimizer,
      program: Object.fromEntries(programs)[way],
      draws, rate, seed,
      steps: total,
      task: "settling",
      options: { text, characters, held, read, every, governor },
    };
  }

  function plan(seed) {
    const { choices } = trainedWith(choice, suits());
    const kept = yours("equilibrium").runs.filter((run) => run.seed === seed && run.choices === choices);
    const found = kept.map((run) => [run.kind, seriesAt(run, "end", null)]);
    ends = Object.fromEntries(found.filter(([, end]) => Number.isFinite(end))); // one whose loss was lost has none
    last = null;
    tell();
    const { from, goal } = yardsticks();
    return {
      run: {
        kind: choice.way,
        name: choice.way,
        ...trainedWith(choice, suits()),
        criterion: `end below ${goal.name}`,
      },
      setup: setup(seed, choice),
      name: `equilibrium ${choice.way}`,
      shapes: Object.fromEntries(
        Object.entries(shapesOf(lesson().draws)).map(([name, shape]) => [ownName(name), shape]),
      ),
      floor: goal.nats,
      top: Math.ceil(10 * from.nats) / 10,
      bottom: goal.nats - BELOW,
      tone: TONES[choice.way],
      lines: [{ at: from.nats, words: counted(from) }],
      words: counted(goal),
      criterion: "below, how far to the dashed line",
    };
  }

  function judge(weights, { judged }) {
    const fresh = judged?.step !== last?.step; // the Worker repeats its last judgement until the next
    last = judged ?? { loss: judgeHere(weights) };
    const { from, goal } = yardsticks();
    const by = last.loss - goal.nats;
    const where = `${number(Math.abs(by), 3)} ${by < 0 ? "below" : "above"} ${goal.name}`;
    return {
      score: gone(last.loss, from.nats, goal.nats),
      words: `on held-out text ${Number.isFinite(by) ? `${number(last.loss, 3)}, ${where}` : "no number"}`,
      curve: fresh ? [last.loss] : [],
      end: last.loss,
    };
  }

  function outcome(history) {
    const { end } = history.at(-1);
    ends[choice.way] = end;
    tell();
    const left = ways().filter((way) => !(way in ends));
    if (!left.length) return `${worst(ends, ways())} learns least: its loss ends highest.`;
    return `${choice.way} ends at ${number(end, 3)} nats a character. Now choose ${left.join(" or ")}, and train from the same start.`;
  }

  const { seeds, steps: within } = CHALLENGE;
  const challenge = ofSeeds({
    text: () => `without BPTT, all ${seeds} seeds end below the dashed line within ${within} steps.`,
    seeds,
    passed: (run, { step, end }) => step <= within && end < yardsticks().goal.nats,
    done: `end below the dashed line within ${within} steps`,
    refused: () => (choice.way === WITH_A_WAY_BACK ? "it is to be done without BPTT" : null),
  });

  const panel = trainPanel({
    uid,
    root,
    esm: model.get("_esm"),
    title: "Train one here",
    settings: [labelled("Way to the gradient", way), ...menus.nodes],
    lesson: "equilibrium",
    seeds,
    challenge,
    more: [compared],
    plan,
    judge,
    follow: () => {},
    guesses: {
      question: "Your guess: which of the three learns least, and so ends with the highest loss?",
      options: Object.keys(TONES).map((way) => [way, way]),
    },
    series: (history) => ({
      end: [[history.at(-1).step, history.at(-1).end]],
    }),
    outcome,
    found: () => worst(ends, ways()),
  });

  async function reload() {
    panel.node.hidden = !taught();
    if (!taught()) return;
    judgeHere = await heldOutLoss(lesson());
    const { rate, steps } = suits();
    const all = `${ways()} ${rate} ${steps}`;
    if (all !== offered) choice = { way: ways()[0], rate, total: steps };
    offered = all;
    show();
    panel.restart();
  }
  return { node: panel.node, reload, free: panel.free, pause: panel.pause };
}
