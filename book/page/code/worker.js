// A Worker that runs Python, for one editor after another: MicroPython, the page's torch, and what it is asked.
//
//   {id, action, ...}  ──▶          ──▶  {print}, as often as something is printed
//                                   ──▶  {id, result}
//
// What does not end is ended by the page, with the Worker.

import { loadMicroPython } from "./micropython.mjs";
import { bridge } from "./_bridge.js";
import { futureMoves } from "./_ahead.js";
import { importText, random, slot } from "./program.js";
import * as T from "./_tensors.js";

const LINES = 500; // of what is printed are shown
const WORTH = 2 ** 18; // numbers in a graph from which on it pays to make a program of it
const TOO_DEEP = "The code was stopped: it calls or nests deeper than Python can follow in a page.";
const HEAP = 16 << 20; // bytes that Python begins with

let python = null;
let printed = 0;
let looked = false;
let graphOf = null;
let base = 0; // nodes that stay: those that modules have made
const imported = new Set(); // modules of checks

function print(line) {
  printed++;
  if (printed > LINES + 1) return;
  postMessage({ print: printed > LINES ? `… only the first ${LINES} lines are shown.` : line });
}

/** Call a function of page/running.py with these arguments; it gives JSON. */
function call(name, ...given) {
  return callOf("running", name, given);
}
function callOf(module, name, given) {
  python.globals.set("_given", JSON.stringify(given));
  python.runPython(`_found = ${module}.${name}(*json.loads(_given))`);
  return JSON.parse(python.globals.get("_found"));
}

/** Put Python's modules, path → text, where it finds them. */
function write(files) {
  for (const [path, text] of Object.entries(files)) {
    const folders = path.split("/").slice(0, -1);
    folders.forEach((_, i) => {
      const folder = `/${folders.slice(0, i + 1).join("/")}`;
      if (!python.FS.analyzePath(folder).exists) python.FS.mkdir(folder);
    });
    python.FS.writeFile(`/${path}`, text);
  }
}

/** `wasm` is an address, or all that stands there. */
async function start({ wasm, files }) {
  const url = typeof wasm === "string" ? wasm : URL.createObjectURL(new Blob([wasm], { type: "application/wasm" }));
  python = await loadMicroPython({ url, heapsize: HEAP, pystack: 8192, stdout: print, stdin: () => null, linebuffer: true });
  write(files);
  const offered = bridge({ random, looked: () => { looked = true; } });
  graphOf = offered.graph;
  python.registerJsModule("_page", offered);
  python.runPython(`import builtins, json, sys
sys.path.append("/")
import _page
from book.page.code.python import bridge
bridge.Way.js = _page
from book.page.code.python import running
running.opened(sys, builtins)
`);
  base = T.nodes.length;
  return {};
}

function run({ source, setup = "" }) {
  T.forget(base);
  printed = 0;
  return call("run", source, setup);
}

/** What the check of an exercise says of an answer: see page/checking.py. `files` are the Python of the lesson's checks. */
function check({ checks, files, source, setup, line, asks }) {
  T.forget(base);
  printed = 0;
  if (!imported.has(checks)) {
    const there = Object.entries(files).filter(([path, text]) => text || !python.FS.analyzePath(`/${path}`).exists);
    write(Object.fromEntries(there));
    python.runPython("from book.page.code.python import checking");
    callOf("checking", "imported", [checks]);
    imported.add(checks);
    base = T.nodes.length;
  }
  return callOf("checking", "checked", [source, setup, line, checks, asks]);
}

/** What the reader's functions make of inputs [{name, values, shape, dtype}], see `evaluated`; its `numbers` if asked for. */
function evaluate({ task, inputs, numbers = true }) {
  looked = false;
  const names = Object.fromEntries(
    inputs.map(({ name, values, shape, dtype = "float32" }) => [name, T.input(name, values, shape, dtype).id]),
  );
  const { error, found } = call("evaluated", task, names);
  if (error) return { error };
  const outputs = Object.entries(found).map(([name, [node, shape]]) => [
    name,
    { node, shape, values: numbers ? Array.from(T.nodes[node].data) : null },
  ]);
  return { error: null, names, outputs: Object.fromEntries(outputs), looked };
}

/**
 * What a model gives, the first `most` of its `logits`, and, where its `tokens` are read in order, whether it reads
 * ahead: by changing tokens (_ahead.js), and by the slope in what is looked up of them (page/running.py), of `every`
 * place or as many as one gradient tells. Both are numbers of nodes.
 */
async function judge({ logits, tokens = null, vocabulary = 0, most, every = false }) {
  const made = T.nodes[logits];
  const read = tokens === null ? null : T.nodes[tokens];
  const predict = (await ran(made, read)) ?? replayed(made, read);
  const values = Array.from(predict(read?.data).subarray(0, most));
  if (!read) return { error: null, values, ahead: null };
  const moves = futureMoves({ tokens: read.data, shape: read.shape, vocabulary }, predict);
  const kept = T.nodes.length;
  const { error, slope, cuts } = call("ahead", logits, tokens, every);
  T.forget(kept); // its gradients take three times as much as the model
  return { error, values, ahead: { ...moves, slope, cuts } };
}

/** The graph of the reader's own model, computed anew: nothing of Python is run again. */
function replayed(made, read) {
  if (!read) return () => made.data;
  const order = T.needed([made]);
  const original = read.data;
  return (numbers) => {
    T.replay(order, new Map([[read, numbers]]));
    const found = made.data;
    T.replay(order, new Map([[read, original]]));
    return found;
  };
}

/** The same as a program, where that is worth its making and there is one. */
async function ran(made, read) {
  const order = T.needed([made]);
  const work = order.reduce((sum, { shape }) => sum + T.sizeOf(shape), 0);
  if (work < WORTH) return null;
  const { error, text } = call("program", { logits: made.id }, [], "", 0);
  if (error) return null;
  const { size, inputs, outputs, make } = await importText(text);
  const H = new Float64Array(size);
  const go = make(H);
  for (const node of order) if (node.op === "input") H.set(node.data, inputs[node.name][0]);
  return (numbers) => {
    if (read && read.name in inputs) H.set(numbers, inputs[read.name][0]); // it may read none
    go();
    return slot(H, outputs.logits);
  };
}

const program = ({ outputs, trained = [], loss = "", clip = 0 }) => call("program", outputs, trained, loss, clip);

/** What a program is lowered from, as Python reads it. */
const graph = ({ ends }) => ({ error: null, graph: graphOf(ends.join(",")) });

const ACTIONS = { start, run, check, evaluate, judge, program, graph };

self.onmessage = async ({ data: { id, action, ...given } }) => {
  let result;
  try {
    result = await ACTIONS[action](given);
  } catch (error) {
    const deep = error instanceof WebAssembly.RuntimeError || /call stack|recursion/i.test(error.message);
    const lost = deep && action !== "start"; // Python has run, and is broken now
    result = lost
      ? { lost, error: { kind: "", message: TOO_DEEP, lines: [], page: true } }
      : { error: { kind: error.kind ?? error.name, message: error.message, lines: [], page: true } };
  }
  postMessage({ id, result });
};
