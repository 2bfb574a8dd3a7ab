// The page of a saved training step: trains it, draws its losses, hands its weights back. What was saved
// stands in the page itself, since a browser imports nothing from a disk; this module's own text is what
// the Worker runs.

import { safetensors } from "./program.js";
import { trainer } from "./trainer.js";

const WIDTH = 640;
const HEIGHT = 240;

/** Numbers as `attn_notes.programs.trainer` packs them. */
function unpacked({ base64 }, double) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new (double ? Float64Array : Float32Array)(bytes.buffer);
}

const allUnpacked = (packed, double) =>
  Object.fromEntries(Object.entries(packed).map(([name, one]) => [name, unpacked(one, double)]));

/** The number in a box, or null where it does not fit. */
function numberIn(box, fits) {
  const value = Number(box.value.trim() || NaN);
  return fits(value) ? value : null;
}
const whole = (least) => (value) => Number.isInteger(value) && value >= least && value < 2 ** 32;
const positive = (value) => Number.isFinite(value) && value > 0;

/** A row of losses as the points of a line, no more than can be told apart; what is no number is left out. */
function points(losses, [low, high], steps) {
  const every = Math.ceil(losses.length / WIDTH);
  const across = WIDTH / Math.max(1, steps - 1);
  const up = (value) => HEIGHT * (1 - (value - low) / (high - low || 1));
  return losses
    .flatMap((loss, i) => (i % every || !Number.isFinite(loss) ? [] : [`${i * across},${up(loss)}`]))
    .join(" ");
}

/** The lowest and the highest of them that are numbers. */
const ends = (losses) =>
  losses.filter(Number.isFinite).reduce(
    ([low, high], loss) => [Math.min(low, loss), Math.max(high, loss)],
    [Infinity, -Infinity],
  );

function begin() {
  const at = (id) => document.getElementById(id);
  const { program, weights, setup } = JSON.parse(at("saved").textContent);
  const { double, draws, batches } = setup;
  const esm = at("code").textContent;
  const numbers = allUnpacked(weights, double);
  const of = (wanted) => Object.fromEntries(Object.entries(numbers).filter(([name]) => wanted(name)));
  const shapes = Object.fromEntries(setup.trained.map((name) => [name, weights[name].shape]));
  const fed = batches.map((batch) => allUnpacked(batch, double));
  const [seed, rate, steps] = [at("seed"), at("rate"), at("steps")];
  let losses = [];
  let last = null; // weights as they are
  let fresh = true; // whether the boxes are to be read before the next step
  let total = 0;

  const page = trainer({ esm, report, change });

  /** What is in the boxes, ready to be trained; null, and a sentence, where it cannot be. */
  function chosen() {
    const asSaved = seed.value.trim() === "";
    const from = asSaved ? 0 : numberIn(seed, whole(0));
    const [speed, count] = [numberIn(rate, positive), numberIn(steps, whole(1))];
    const wrong = [
      [from, "The seed is a whole number from 0 on, or nothing for the weights as they were saved."],
      [speed, "The rate is a number above 0."],
      [count, "Steps are a whole number from 1 on."],
    ].find(([value]) => value === null);
    at("wrong").textContent = wrong ? wrong[1] : "";
    if (wrong) return null;
    const drawn = (name) => !asSaved && name in draws;
    return {
      program,
      double,
      draws,
      given: of((name) => !drawn(name)),
      seed: from,
      rate: speed,
      decay: setup.decay,
      steps: count,
      warmup: Math.min(setup.warmup, count),
      ...(fed.length ? { task: "batches", options: { batches: fed } } : {}),
    };
  }

  function report(answer) {
    losses.push(...answer.losses);
    last = answer.weights;
    show(answer.step);
  }

  function show(step) {
    const loss = losses.at(-1);
    const words = { failed: "This browser does not train here.", done: "Done. " }[page.state()] ?? "";
    const lost = Number.isFinite(loss) ? "" : " A smaller rate may keep it finite.";
    at("now").textContent =
      loss === undefined ? words : `${words}Step ${step} of ${total}: loss ${loss.toPrecision(5)}.${lost}`;
    const [low, high] = ends(losses);
    at("line").setAttribute("points", points(losses, [low, high], total));
    at("high").textContent = high >= low ? high.toPrecision(3) : "";
    at("low").textContent = high >= low ? low.toPrecision(3) : "";
    at("losses").setAttribute("aria-label", `The loss over ${losses.length} steps. ${at("now").textContent}`);
    at("weights").disabled = last === null;
    Object.assign(document.body.dataset, { step, loss: loss ?? "", training: page.state() });
  }

  function change(state) {
    at("train").textContent = state === "running" ? "Pause" : "Train";
    at("train").disabled = state === "done" || state === "failed";
    show(Number(document.body.dataset.step ?? 0));
  }

  function again() {
    [losses, last, fresh] = [[], null, true];
    page.pause();
    document.body.dataset.step = 0;
    change("idle");
  }

  at("train").onclick = () => {
    if (page.state() === "running") return page.pause();
    if (fresh) {
      const next = chosen();
      if (!next) return;
      [fresh, total] = [false, next.steps];
      page.start(next);
    }
    page.run();
  };
  at("again").onclick = () => {
    page.start(null);
    again();
  };
  for (const box of [seed, rate, steps]) {
    box.oninput = () => {
      chosen();
      if (!fresh) at("again").click();
    };
  }
  at("weights").onclick = () => {
    const url = URL.createObjectURL(new Blob([safetensors(last, shapes)]));
    const link = Object.assign(document.createElement("a"), { href: url, download: "weights.safetensors" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  at("seeds").hidden = !Object.keys(draws).length;
  [rate.value, steps.value] = [setup.rate, setup.steps];
  again();
}

if (globalThis.document) begin();
