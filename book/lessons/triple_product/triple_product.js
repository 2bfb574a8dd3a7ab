// The triple product's explorer: a space that the reader turns, by hand or in a head of a trained model, and
// models to train. The anywidget model holds what is chosen.

import { alone } from "./_alone.js";
import { oneOf, whole, within } from "./_chosen.js";
import { beside, html, saver } from "./_page.js";
import { machines } from "./_machines.js";
import { opens } from "./_open.js";
import { byHand } from "./_triple_product_hand.js";
import { inAHead } from "./_triple_product_head.js";
import { START } from "./_triple_product_scenes.js";
import { copierTraining } from "./_triple_product_train.js";

// Texts that links in the page open: one repeats after twelve letters, one after eleven.
const TWELVE = "gcafbnkdhpejgcafbnkdhpej";
const ELEVEN = "gcafbnkdhpegcafbnkdhpe";

async function render({ model, el }) {
  const uid = `tp-${Math.random().toString(36).slice(2)}`;
  const root = html("div", {
    class: "attn-widget triple-product",
    role: "group",
    "aria-label": "The triple-product explorer",
  });
  const { save, watch } = saver(model, draw);
  const leave = () => training.leave();
  const modes = { hand: byHand({ uid, model, save }), head: inAHead({ uid, model, save, leave }) };
  const training = copierTraining({ uid, root, model, follow: modes.head.follow });
  const tabs = Object.entries({ hand: "By hand", head: "In a trained head" }).map(([mode, text]) => {
    const input = html("input", {
      type: "radio",
      name: `${uid}-mode`,
      value: mode,
      onchange: () => save({ mode }),
    });
    return { mode, input, node: html("label", { class: "attn-tab tp-tab" }, input, html("span", {}, text)) };
  });
  const row = html(
    "div",
    { class: "attn-tabs", role: "radiogroup", "aria-label": "What to look at" },
    ...tabs.map((tab) => tab.node),
  );
  root.append(
    row,
    beside(Object.values(modes).map((mode) => mode.node), training.node),
  );

  function draw() {
    row.hidden = model.get("modes").length < 2;
    root.classList.toggle("tp-heads-only", row.hidden && model.get("mode") === "head");
    for (const { mode, input, node } of tabs) {
      node.hidden = !model.get("modes").includes(mode);
      input.checked = mode === model.get("mode");
      modes[mode].node.hidden = !input.checked;
    }
    modes[model.get("mode")].draw();
  }

  /** Another run or seed was asked for by whoever does not sit at this view. */
  function drawOther() {
    modes.head.release();
    draw();
  }

  /** By hand nothing need be imported, so that is there at once. */
  async function reload() {
    draw();
    await machines.prepare(model.get("runs"));
    draw();
  }

  const drawn = ["modes", "mode", "vectors", "selected", "layer", "head"]
    .concat(["text", "position", "key", "loudness"]);
  const unwatch = watch({
    ...Object.fromEntries(drawn.map((name) => [name, draw])),
    run: drawOther,
    seed: drawOther,
    runs: reload,
    lessons: training.reload,
  });
  el.append(root);
  await Promise.all([reload(), training.reload()]);
  const traits = {
    mode: oneOf(() => model.get("modes")),
    ...within("mode", "hand", { selected: whole(0, START.keys.length - 1) }),
    ...within("mode", "head", modes.head.chosen),
  };
  const settle = alone({ name: "arrows", root, el, model, chosen: traits });
  const { open } = modes.head;
  const states = {
    twelve: () => open(1, TWELVE),
    eleven: () => open(1, ELEVEN),
    "two-layers": () => open(2, ELEVEN),
    ...(model.get("modes").includes("hand") ? modes.hand.states : {}),
  };
  const close = opens(root, states, { model, chosen: traits });
  return () => {
    close();
    settle();
    unwatch();
    training.free();
    for (const mode of Object.values(modes)) mode.leave();
  };
}

export default { render };
