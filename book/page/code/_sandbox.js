// A Worker for code that somebody else may have written. It lives in a frame of an origin of its own, whose policy
// allows no request to anybody: what it needs is fetched here, and handed over.

import { create, once } from "./_engine.js";

const HEARS = 15_000; // milliseconds, after which a frame that is there and has said nothing is barred

const file = (name) => new URL(name, import.meta.url).href;
const IMPORTS = /^(?:import|export) (?:[^;"]*? from )?"\.\/([\w.]+)";$/gm;

/** All that stands in a file, as bytes. */
const bytesOf = (address) => fetch(address).then((answer) => answer.arrayBuffer());

/** The text of these modules and of all that they import, [name, text], each after those that it imports. */
async function texts(entries) {
  const found = new Map();
  async function visit(name) {
    if (found.has(name)) return;
    found.set(name, null); // under way
    const text = await fetch(file(name)).then((answer) => answer.text());
    for (const [, other] of text.matchAll(IMPORTS)) await visit(other);
    found.delete(name); // so that it comes after them
    found.set(name, text);
  }
  for (const name of entries) await visit(name);
  return [...found];
}

/** A Worker that begins by importing these modules: like one, as far as messages go. */
export function sandboxed(entries) {
  const frame = document.createElement("iframe");
  const waiting = [];
  let port = null;
  let silent; // as long as nobody in the frame has answered
  const like = {
    onmessage: null,
    onerror: null,
    postMessage: (data) => (port ? port.postMessage(data) : waiting.push(data)),
    terminate() {
      clearTimeout(silent);
      frame.remove();
      port?.close();
    },
  };
  async function begin() {
    const { port1, port2 } = new MessageChannel();
    try {
      const modules = await texts(entries);
      port1.onmessage = ({ data }) => {
        clearTimeout(silent);
        if (data === "heard") return;
        if (data === "ready") {
          port = port1;
          for (const each of waiting) port.postMessage(each);
        } else if (data === "failed") like.onerror?.();
        else like.onmessage?.({ data });
      };
      // Its origin has no name, so the message goes to whoever is in the frame: none but ours, which leads nowhere.
      frame.contentWindow?.postMessage({ modules, entries }, "*", [port2]);
      // A frame that a policy bars is loaded as well, as far as a page can tell.
      if (frame.isConnected) silent = setTimeout(() => like.onerror?.(), HEARS);
    } catch {
      like.onerror?.();
    }
  }
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = "Runs code that reaches nothing";
  frame.hidden = true;
  frame.addEventListener("load", begin, { once: true });
  frame.addEventListener("error", () => like.onerror?.());
  frame.src = file("frame.html");
  document.body.append(frame);
  return like;
}

/** The engine for code that somebody else may have written. */
export const engineApart = once(() => create(() => sandboxed(["worker.js"]), bytesOf));
