// Training on the workbench: several seeds at a time, in Workers that reach nothing. A program made of code that
// somebody else may have written is code of theirs.

import { NO_WORKER, wasStopped } from "./_engine.js";
import { sandboxed } from "./_sandbox.js";

const MODULES = ["trainer.js", "_dialectical_learn.js", "_triple_product_task.js", "_bench_shannon.js"];
const MOST = 3; // Workers
const SLICE = 200; // ms between two words about how far it is

/** One run, in a Worker: its last loss, and what was judged at the end. `far` gets the share of its steps that it has done. */
function run(worker, setup, far) {
  return new Promise((resolve, reject) => {
    let last = NaN;
    worker.onerror = () => reject(wasStopped(NO_WORKER));
    worker.onmessage = ({ data: { error, losses, step, judged } }) => {
      if (error) {
        reject(new Error(error));
        return;
      }
      last = losses.at(-1) ?? last;
      far(step / setup.steps);
      if (step >= setup.steps || !Number.isFinite(last)) resolve({ loss: last, judged });
      else worker.postMessage({ steps: setup.steps, milliseconds: SLICE });
    };
    worker.postMessage({ start: setup, steps: 1, milliseconds: SLICE });
  });
}

/** A few Workers: `all(setups, far)` trains with them, `stop` ends what is under way. */
export function crew() {
  const count = Math.max(1, Math.min(MOST, (navigator.hardwareConcurrency ?? 2) - 1));
  let workers = [];
  let give = () => {};

  /** What each of these comes to; `setups` are functions, called when there is a Worker for what they give. */
  async function all(setups, far) {
    const found = [];
    const shares = setups.map(() => 0);
    const left = [...setups.keys()];
    const stopped = new Promise((_, reject) => { give = reject; });
    async function work(worker) {
      while (left.length) {
        const i = left.shift();
        found[i] = await run(worker, await setups[i](), (share) => {
          shares[i] = share;
          far(shares.reduce((sum, each) => sum + each, 0));
        });
      }
    }
    while (workers.length < Math.min(count, setups.length)) workers.push(sandboxed(MODULES));
    await Promise.race([stopped, Promise.all(workers.map(work))]).catch((error) => {
      stop(error); // one that did not start would not answer the next time either
      throw error;
    });
    return found;
  }
  function stop(error) {
    for (const each of workers) each.terminate();
    workers = [];
    give(error);
  }
  return { all, stop };
}
