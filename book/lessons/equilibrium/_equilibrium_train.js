// Training a language model on the page by AEP, by the naive way, or by BPTT: from the same start, on the
// same text.

import { html, number } from "./_page.js";
import { RATE, STEPS, lessonPanel } from "./_train_lesson.js";
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
  const choice = { way: null };
  let known = ""; // what was there to choose from
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

  const compared = html("p", { class: "eq-ends" });

  /** Rate and steps suit every way. */
  function recipe() {
    const { ways: programs, draws, steps, optimizer } = lesson();
    return { step: Object.fromEntries(programs)[choice.way], draws, steps, ...optimizer };
  }

  /** Ways that have no end yet, but for the last, which may have lost its loss. */
  const untrained = () => ways().filter((way) => way !== choice.way && !(way in ends));

  /** The ends of the ways so far, each with the colour of its curve. */
  function tell() {
    const parts = ways().map((name) =>
      html("span", { class: `eq-end ${TONES[name]}` }, `${name} ${Number.isFinite(ends[name]) ? number(ends[name], 3) : "–"}`),
    );
    compared.replaceChildren("Ends, from one start: ", ...parts);
  }

  function plan(seed, choices) {
    const kept = yours("equilibrium").runs.filter((run) => run.seed === seed && run.choices === choices);
    const found = kept.map((run) => [run.kind, seriesAt(run, "end", null)]);
    ends = Object.fromEntries(found.filter(([, end]) => Number.isFinite(end))); // one whose loss was lost has none
    last = null;
    tell();
    const { from, goal } = yardsticks();
    const { optimizer, text, characters, held, read, every, governor } = lesson();
    return {
      run: { kind: choice.way, name: choice.way, criterion: `end below ${goal.name}` },
      setup: { ...optimizer, task: "settling", options: { text, characters, held, read, every, governor } },
      name: `equilibrium ${choice.way}`,
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
    const left = untrained();
    if (!left.length) return `${worst(ends, ways())} learns least: its loss ends highest.`;
    return `${choice.way} ends at ${number(end, 3)} nats a character. Train again: ${left[0]} comes next, from the same start.`;
  }

  const { seeds, steps: within } = CHALLENGE;
  return lessonPanel({
    uid,
    root,
    esm: model.get("_esm"),
    lesson: "equilibrium",
    choice,
    fields: [
      {
        name: "way",
        label: "Way to the gradient",
        options: () => ways().map((name) => [name, name, TONES[name]]),
      },
      RATE,
      STEPS,
    ],
    recipe,
    taught,
    ready: async () => {
      judgeHere = await heldOutLoss(lesson());
    },
    offered() {
      const { optimizer, steps } = lesson();
      const before = known;
      known = `${ways()} ${optimizer.rate} ${steps}`;
      return known === before ? null : { way: ways()[0] };
    },
    more: [compared],
    plan,
    judge,
    series: (history) => ({ end: [[history.at(-1).step, history.at(-1).end]] }),
    guesses: {
      question: "Three ways train here, one at each press. Your guess: which ends with the highest loss?",
      options: Object.keys(TONES).map((way) => [way, way]),
    },
    outcome,
    next: () => (untrained().length ? { way: untrained()[0] } : null),
    found: () => worst(ends, ways()),
    challenge: {
      text: () => `without BPTT, all ${seeds} seeds end below the dashed line within ${within} steps.`,
      seeds,
      passed: (run, { step, end }) => step <= within && end < yardsticks().goal.nats,
      done: `end below the dashed line within ${within} steps`,
      refused: () => (choice.way === WITH_A_WAY_BACK ? "it is to be done without BPTT" : null),
    },
  });
}
