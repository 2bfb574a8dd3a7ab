// The Worker that runs a reader's code, one for a page: hired on the first Run, ended where the code does not end, and
// hired again for the next.

import { half } from "./_model.js";

// Seconds without an answer, where Python starts at once: a slow or busy machine has the more, the longer that took.
const PATIENCE = 8;
const CHECKED = 30; // where an answer is tried on hundreds of cases
const STARTING = 60;
const USUAL = 0.5; // seconds that Python takes to start
const MOST = 8; // times as patient

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

/** `employ` hires a Worker, and `load` gives it MicroPython: an address, or all of it. */
export function create(employ, load) {
  const asked = new Map(); // id → {action, resolve, reject, print}
  let worker = null;
  let ready = null;
  let count = 0;
  let alarm;
  let slow = 1; // times as slow as usual, this machine

  const patience = (action) => (action === "start" ? STARTING : Math.round(slow * (action === "check" ? CHECKED : PATIENCE)));
  /** Each answer starts the clock anew; what is printed does not, for that may never end. */
  function watch() {
    clearTimeout(alarm);
    const seconds = Math.max(0, ...[...asked.values()].map(({ action }) => patience(action)));
    if (asked.size) alarm = setTimeout(() => end(`it had not ended after ${seconds} seconds`), 1000 * seconds);
  }
  function end(why) {
    worker?.terminate();
    worker = ready = null;
    clearTimeout(alarm);
    for (const { reject } of asked.values()) reject(wasStopped(why));
    asked.clear();
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
    if (result?.error) reject?.(new Ended(result.error));
    else resolve?.(result);
  }
  function hire() {
    if (typeof WebAssembly === "undefined" || typeof Worker === "undefined") throw byPage(OLD);
    const broken = new Promise((_, reject) => {
      const lost = () => {
        end(NO_WORKER);
        reject(wasStopped(NO_WORKER)); // nothing need have been asked of it by then
      };
      try {
        worker = employ();
        worker.onmessage = heard;
        worker.onerror = lost;
      } catch {
        lost();
      }
    });
    const files = fetch(file("python.json")).then((answer) => answer.json());
    const begun = Promise.all([load(file("micropython.wasm")), files]).then(([wasm, files]) => started(wasm, files));
    return Promise.race([broken, begun])
      .catch((error) => {
        end("Python could not start");
        if (/Content.Security|unsafe-eval|CompileError|blob:/i.test(error.message)) throw byPage(BARRED);
        throw error instanceof Ended ? error : byPage("The page’s Python could not be loaded. Is the network there?");
      });
  }

  async function started(wasm, files) {
    const begun = performance.now();
    await send("start", { wasm, files });
    slow = Math.min(MOST, Math.max(1, (performance.now() - begun) / 1000 / USUAL));
  }

  /** Have the Worker do something; what it prints goes to `print`. */
  async function ask(action, given, print) {
    ready ??= hire();
    await ready;
    return send(action, given, print);
  }
  return { ask, end };
}

export function once(make) {
  let made = null;
  return () => (made ??= make());
}

/** The page's own. */
export const engine = once(() => create(() => new Worker(file("worker.js"), { type: "module" }), (wasm) => wasm));
