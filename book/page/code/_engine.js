// The Worker that runs a reader's code, one for a page: hired on the first Run, ended where the code does not end, and
// hired again for the next.
//
// What ends it is work and no clock, for a machine may be slow, busy or asleep: while an answer is waited for, a second
// Worker does a piece of work again and again, on the same machine at the same time, and its pieces are counted.

import { half } from "./_model.js";

// Seconds of an ordinary laptop's work that a question may take. The first three are a reader's code, which may never end.
const LIMITS = { run: 8, evaluate: 8, check: 30 };
const OWN = 60; // what the page does with it: that ends, and is long for a large model
const UNASKED = 1 / 8; // of the limit, by the clock, before a second Worker is hired: most answers are there by then
const WORTH = 1 / 4; // seconds that an ordinary laptop takes for a piece
const PIECE = `
total = 0
for i in range(100000):
    total += i % 7
small, large = torch.ones(4, 4), torch.ones(128, 128)
for i in range(400):
    small = (small @ small).softmax(-1)
for i in range(4):
    large = (large @ large / 128).exp().softmax(-1) + large.mT
small.sum().item(), large.sum().item()
`;

const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** Why a question got no answer: an error in the reader's code, or something of the page. */
export class Ended extends Error {
  constructor({ kind, message, lines = [], page = false }) {
    super(message);
    Object.assign(this, { kind, lines, page });
  }
}
const byPage = (message) => new Ended({ kind: "", message, page: true });

export const wasStopped = (why) => byPage(`The code was stopped: ${why}.`);

const BARRED = "This site’s policy bars WebAssembly, which running Python in a page needs. All else works.";
const OLD = "This browser cannot run Python in a page: it has no WebAssembly, or no Workers of this kind.";
export const NO_WORKER =
  "its Worker did not start; this browser or the site’s policy may bar it, or the network is gone. The notebook runs the same code";

/** The cells of a lesson, what came in half precision as numbers. */
function unpacked(cells) {
  for (const input of Object.values(cells).flatMap(({ inputs }) => inputs).filter((each) => each.half)) {
    const bytes = Uint8Array.from(atob(input.half), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    input.values = Array.from({ length: bytes.length / 2 }, (_, i) => half(view.getUint16(2 * i, true)));
  }
  return cells;
}

const file = (name) => new URL(name, import.meta.url).href;
const arriving = new Map(); // name → what a file has

/** What a file beside this one has, fetched once; `who` needs it. */
export function fetched(name, who, read = (found) => found) {
  if (!arriving.has(name)) {
    const arrives = fetch(file(name)).then((answer) => answer.json()).then(read);
    arriving.set(name, arrives);
    arrives.catch(() => arriving.delete(name));
  }
  return arriving.get(name).catch(() => {
    throw byPage(`What ${who} needs could not be loaded. Is the network there?`);
  });
}

/** What the cells of a lesson are given. */
export const lessonOf = (stem) => fetched(`${stem}.json`, "this cell", unpacked);

/**
 * `employ` hires a Worker, and `load` gives it MicroPython: an address, or all of it. `pace` asks the second Worker, and
 * has none itself.
 */
export function create(employ, load, pace = create(employ, load, null)) {
  const asked = new Map(); // id → {action, resolve, reject, print}, in the order in which the Worker comes to them
  let worker = null;
  let ready = null;
  let awake = false; // whether Python is there
  let count = 0;
  let watched; // the id of what the Worker is at
  // Where no second Worker can be had seconds count, one at a time: a machine that sleeps, sleeps through one.
  const measured = pace && (() => pace.ask("run", { source: PIECE }).catch(() => wait(1)));

  /** Have the question that the Worker is at followed, each from its own beginning. */
  function watch() {
    const [id] = asked.keys();
    if (id === watched) return;
    watched = id;
    if (asked.size) follow(id);
  }
  async function follow(id) {
    const { action, reject } = asked.get(id);
    const piece = action === "start" ? () => wait(WORTH) : measured;
    if (!piece) return;
    const limit = LIMITS[action] ?? OWN;
    await wait(limit * UNASKED);
    for (let done = 0; done < limit && watched === id; done += WORTH) await piece();
    if (watched === id) {
      asked.delete(id);
      end("what ran before it on this page had not ended. Run it again");
      reject(byPage(late(action, limit)));
    }
    if (!asked.size) pace?.end("there is nothing to measure");
  }
  function end(why) {
    worker?.terminate();
    worker = ready = null;
    awake = false;
    for (const { reject } of asked.values()) reject(wasStopped(why));
    asked.clear();
    watch();
  }
  function send(action, given, print = () => {}) {
    return new Promise((resolve, reject) => {
      worker.postMessage({ id: ++count, action, ...given });
      asked.set(count, { action, resolve, reject, print });
      watch();
    });
  }
  function heard({ data }) {
    const { id, result, print } = data ?? {}; // a Worker whose code is somebody's may say anything
    if (print !== undefined) {
      for (const each of asked.values()) each.print(print);
      return;
    }
    const { resolve, reject } = asked.get(id) ?? {};
    asked.delete(id);
    watch();
    if (result?.lost) end("what ran before it on this page broke Python. Run it again"); // another has to be hired
    if (result?.error) reject?.(new Ended(result.error));
    else resolve?.(result);
  }
  function hire() {
    if (typeof WebAssembly === "undefined" || typeof Worker === "undefined") throw byPage(OLD);
    let mine = null;
    const broken = new Promise((_, reject) => {
      const lost = () => {
        if (worker === mine) end(NO_WORKER);
        reject(wasStopped(NO_WORKER)); // nothing need have been asked of it by then
      };
      try {
        worker = mine = employ();
        worker.onmessage = heard;
        worker.onerror = lost;
      } catch {
        lost();
      }
    });
    const files = fetch(file("python.json")).then((answer) => answer.json());
    const begun = Promise.all([load(file("micropython.wasm")), files]).then(([wasm, files]) => {
      if (worker !== mine) throw byPage("The code was stopped before Python had started.");
      return send("start", { wasm, files });
    });
    return Promise.race([broken, begun]).catch((error) => {
      if (worker === mine) end("Python could not start");
      if (/Content.Security|unsafe-eval|CompileError|blob:/i.test(error.message)) throw byPage(BARRED);
      throw error instanceof Ended ? error : byPage("The page’s Python could not be loaded. Is the network there?");
    });
  }

  async function start() {
    const mine = (ready ??= hire());
    await mine;
    awake = ready === mine;
  }

  /** Have the Worker do something; what it prints goes to `print`. */
  async function ask(action, given, print) {
    await start();
    return send(action, given, print);
  }
  return { ask, end, start, awake: () => awake };
}

/** Why a question got no answer in time. */
function late(action, limit) {
  const work = `as much work as an ordinary laptop does in ${limit} seconds`;
  if (action === "start") return "Python has not started on this page. Run it again, or read the page again.";
  if (action in LIMITS) return `The code was stopped: it had not ended after ${work}.`;
  return `Your code ran. What the page does with it then was stopped: it had not ended after ${work}. A smaller model takes less.`;
}

export function once(make) {
  let made = null;
  return () => (made ??= make());
}

/** The page's own. */
export const engine = once(() => create(() => new Worker(file("worker.js"), { type: "module" }), (wasm) => wasm));
