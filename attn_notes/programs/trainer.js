// A model in training on a page. The steps are torch's own, traced into a program (attn_notes/programs);
// AdamW and the schedule stand in program.js. All of it runs in a Worker, so that the page never waits:
//
//   page                                   Worker (this very module, loaded once more)
//   trainer(esm, …).start(setup)  ──────▶  learn(setup)
//                        .run()   ──────▶  so many steps, or so many milliseconds of them
//                                 ◀──────  {step, losses, weights, judged}
//
// The page asks for the next steps when it has drawn the last, so a hidden tab asks for none.

import { adamw, draw, fastExp, importText, random, slot, warmupCosine } from "./program.js";
import { loadVectors } from "./vectors.js";

/**
 * What is done between steps, by name: ({ H, program, run, random, options }) => { feed, judge }, or
 * a promise of that. `feed(step)` puts the next batch into H; `judge(last)` measures the model after the
 * first step, every `every` steps and at the last, in numbers by name, to which the step is added. Where a batch is fixed there is
 * nothing to feed. `after()` is called when the weights have been changed, and `read()` gives those that are
 * to be shown, if not these.
 */
export const TASKS = {
  fixed: () => ({}),
  /** One batch after another, from the first again after the last: each has inputs by their names. */
  batches: ({ H, program, options: { batches } }) => ({
    feed: (step) => {
      const batch = Object.entries(batches[step % batches.length]);
      for (const [name, values] of batch) slot(H, program.inputs[name]).set(values);
    },
  }),
};

/**
 * A model ready to learn. `setup` holds the step's `program` (text), how its weights start (`draws`, by
 * `seed`, unless there are `weights`), its fixed inputs (`given`), its `task` by name with `options`, and
 * AdamW's `rate`, `rates`, `decay`, `beta2`, `steps` and `warmup`. `double` computes in float64.
 */
export async function learn(setup) {
  const { seed, draws, weights, given = {}, task = "fixed", options = {}, double = false } = setup;
  const program = await importText(setup.program);
  const fast = double ? null : loadVectors(program.size);
  const H = double ? new Float64Array(program.size) : fast?.H ?? new Float32Array(program.size);
  const run = program.make(H, { exp: double ? Math.exp : fastExp, ...fast });
  const names = Object.keys(program.outputs)
    .filter((name) => name.startsWith("gradient."))
    .map((name) => name.slice("gradient.".length));
  const generator = random(seed);
  draw(H, program.inputs, draws, generator);
  for (const [name, values] of Object.entries({ ...given, ...weights })) {
    slot(H, program.inputs[name]).set(values);
  }
  const between = await TASKS[task]({ H, program, run, random: generator, options });
  const { feed, after, judge, every = Infinity } = between;
  const update = adamw(H, program, setup);
  const factor = warmupCosine(setup.steps, setup.warmup);
  const loss = slot(H, program.outputs.loss);
  let step = 0;
  let judged = null;

  /** At most so many steps, until so many milliseconds have passed; their losses. */
  function advance(steps, milliseconds = Infinity) {
    const losses = [];
    const until = performance.now() + milliseconds;
    const last = Math.min(step + steps, setup.steps);
    while (step < last && performance.now() < until) {
      feed?.(step);
      run();
      losses.push(loss[0]);
      update(factor(step));
      step++;
      after?.();
      const ended = step === setup.steps;
      if (judge && (!judged || ended || step % every === 0)) judged = { step, ...judge(ended) };
    }
    return losses;
  }
  const changed = () =>
    Object.fromEntries(names.map((name) => [name, slot(H, program.inputs[name]).slice()]));
  const read = between.read ?? changed;
  return { advance, read, step: () => step, judged: () => judged };
}

/** What this module does in a Worker: one answer to each message. */
function serve(scope) {
  let learner = null;
  scope.onmessage = async ({ data: { start, steps, milliseconds } }) => {
    try {
      if (start) learner = await learn(start);
      const losses = learner.advance(steps, milliseconds);
      const weights = learner.read();
      scope.postMessage({ losses, step: learner.step(), weights, judged: learner.judged() });
    } catch (error) {
      scope.postMessage({ error: String(error) });
    }
  };
}

const { WorkerGlobalScope } = globalThis;
if (WorkerGlobalScope && globalThis instanceof WorkerGlobalScope) serve(globalThis);

// What a Worker begins with: it imports the module that it is sent, whose `serve` then listens. Where a
// page is read from a disk, a Worker may not be a module itself.
const BEGIN = `onmessage = async ({ data }) => {
  try {
    await (${importText})(data);
    postMessage({});
  } catch (error) {
    postMessage({ error: String(error) });
  }
};`;
const BEGINS = 60_000; // milliseconds, after which a Worker that has said nothing will not begin

/** A Worker that runs this module, once it does. */
function hire(esm) {
  const url = URL.createObjectURL(new Blob([BEGIN], { type: "text/javascript" }));
  const hired = new Promise((resolve, reject) => {
    const worker = new Worker(url);
    worker.onmessage = ({ data: { error } }) => (error ? reject(error) : resolve(worker));
    worker.onerror = reject;
    setTimeout(reject, BEGINS, "its Worker has not begun");
    worker.postMessage(esm);
  });
  return hired.finally(() => URL.revokeObjectURL(url));
}

/**
 * Trains in a Worker made of this module's own text. `report` gets what the Worker says, and `change` the
 * state: idle, running, paused, done, or failed where a browser has no such Worker.
 */
export function trainer({ esm, report, change, pace = () => Infinity }) {
  let worker = null;
  let state = "idle";
  let setup = null;
  let started = false; // whether the Worker has got the setup
  let busy = false; // whether it owes an answer
  let wanted = 0; // single steps to be asked for once it has answered
  let step = 0;
  let round = 0; // answers to what was asked before a new start are not wanted

  function become(next) {
    if (state === next) return;
    state = next;
    change(state);
  }

  async function ask(steps, milliseconds) {
    busy = true;
    let asked = round;
    let mine = null;
    try {
      mine = worker ??= hire(esm);
      const hired = await mine;
      asked = round; // what is sent is of this round, though the Worker may have taken a while
      const answer = await new Promise((resolve, reject) => {
        hired.onmessage = ({ data }) => (data.error ? reject(data.error) : resolve(data));
        hired.onerror = reject;
        hired.postMessage({ start: started ? null : setup, steps, milliseconds });
        started = true;
      });
      busy = false;
      if (asked === round) take(answer);
    } catch (error) {
      if (worker !== mine) return; // it was freed meanwhile
      dismiss();
      if (asked === round) {
        console.info("No training here:", error);
        become("failed");
      }
    }
    if (state === "running") soon();
    else if (wanted) {
      wanted--;
      ask(1);
    }
  }

  function take(answer) {
    step = answer.step;
    report(answer);
    const lost = answer.losses.some((value) => !Number.isFinite(value));
    if (lost || step >= setup.steps) become("done");
  }

  // Once a frame: a page that nobody sees has none.
  const soon = () => requestAnimationFrame(() => state === "running" && !busy && ask(pace(step), 12));

  function start(next) {
    round++;
    setup = next;
    started = false;
    step = wanted = 0;
    become("idle");
  }
  function go() {
    if (state === "running" || !setup) return;
    wanted = 0;
    become("running");
    if (state === "running") soon();
  }
  function pause() {
    if (state === "running") become("paused");
  }
  function once() {
    if (state === "done") return;
    become("paused");
    if (busy) wanted++;
    else ask(1);
  }
  function dismiss() {
    worker?.then((hired) => hired.terminate(), () => {}); // one that did not begin has said so
    worker = null;
    started = busy = false;
    wanted = 0;
  }
  function free() {
    round++;
    dismiss();
  }
  return { start, run: go, pause, once, free, state: () => state };
}
