// In a frame of an origin of its own (see _sandbox.js): hires one Worker, and hands on what the page and it say to each
// other. Nothing of the reader's code runs here, and the frame's policy holds for the Worker as well.

"use strict";

// What the Worker begins with: it makes modules of the texts that it gets, each importing those before it.
const BEGIN = `onmessage = async ({ data: { modules, entries } }) => {
  const made = {};
  for (const [name, text] of modules) {
    const whole = text.replace(/((?:from|import) )"\\.\\/([\\w.]+)"/g, (_, how, other) => how + JSON.stringify(made[other]));
    made[name] = URL.createObjectURL(new Blob([whole], { type: "text/javascript" }));
  }
  try {
    for (const name of entries) await import(made[name]);
    postMessage("ready");
  } catch {
    postMessage("failed");
  }
};`;

addEventListener(
  "message",
  ({ data, ports: [port] }) => {
    port.postMessage("heard");
    try {
      const worker = new Worker(URL.createObjectURL(new Blob([BEGIN], { type: "text/javascript" })));
      worker.onmessage = (event) => port.postMessage(event.data);
      worker.onerror = () => port.postMessage("failed");
      port.onmessage = (event) => worker.postMessage(event.data);
      worker.postMessage(data);
    } catch {
      port.postMessage("failed");
    }
  },
  { once: true },
);
