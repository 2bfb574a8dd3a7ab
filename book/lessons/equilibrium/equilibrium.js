// The equilibrium's explorer in the reader's browser, in double precision.
//
//   path → implicit, nudged              _credit: how a state moves, and credit from that
//   plane, examine, descend              _plane: two numbers
//   prepare → make → settle → read, credits
//                                        _network: torch's own functions, as programs
//   settlingTraining, TASKS.settling     _train, _learn: a model to train, in a Worker
//   objection                            _text: what a text lacks, in a sentence
//   planeView, networkView               the two panels of the explorer
//   render                               the view; the anywidget model holds what is chosen

import { alone } from "./_alone.js";
import { decimal, oneOf, pair, typed, whole, within } from "./_chosen.js";
import { opens } from "./_open.js";
import { arrows, html, saver, speaker } from "./_page.js";
import { prepare } from "./_equilibrium_network.js";
import { networkView } from "./_equilibrium_view_network.js";
import { settlingTraining } from "./_equilibrium_train.js";
import { EDGE, LESSONS, METHODS, MOST_STEPS, NUDGES } from "./_equilibrium_plane.js";
import { objection } from "./_equilibrium_text.js";
import { planeView } from "./_equilibrium_view_plane.js";

const PANELS = { plane: "Two numbers", network: "The network" };
const DRAWN = ["panel", "weights", "input", "target", "method", "beta", "steps"]
  .concat(["learned", "runs", "run", "seed", "step", "selected"]); // the text is also filled in

/** The panel that trains, where the lesson has come as far. */
async function trainer({ model, el }) {
  const root = html("div", { class: "attn-widget equilibrium", role: "group", "aria-label": "A small model in training" });
  const training = settlingTraining({ uid: `eq-${Math.random().toString(36).slice(2)}`, root, model });
  const { watch } = saver(model, () => {});
  const unwatch = watch({ lesson: training.reload });
  root.append(training.node);
  el.append(root);
  await training.reload();
  const settle = alone({ name: "settling", root, el, model, chosen: {} });
  return () => {
    settle();
    unwatch();
    training.free();
  };
}

async function render({ model, el }) {
  if (model.get("picture") === "training") return trainer({ model, el });
  const uid = `eq-${Math.random().toString(36).slice(2)}`;
  const spoken = speaker();
  const { save, watch } = saver(model, draw);
  const parts = { uid, model, save, say: spoken.say };
  const views = { plane: planeView(parts), network: networkView(parts) };
  const names = Object.keys(PANELS);
  const tabs = names.map((panel) =>
    html(
      "button",
      {
        type: "button",
        role: "tab",
        class: "attn-tab eq-tab",
        id: `${uid}-tab-${panel}`,
        "aria-controls": `${uid}-panel-${panel}`,
        onclick: () => save({ panel }),
      },
      PANELS[panel],
    ),
  );
  const panels = names.map((panel) =>
    html(
      "div",
      { role: "tabpanel", id: `${uid}-panel-${panel}`, "aria-labelledby": `${uid}-tab-${panel}` },
      views[panel].node,
    ),
  );
  const list = html(
    "div",
    {
      class: "attn-tabs",
      role: "tablist",
      "aria-label": "What to look at",
      onkeydown: arrows((i) => save({ panel: names[i] })),
    },
    ...tabs,
  );
  const root = html(
    "div",
    { class: "attn-widget equilibrium", role: "group", "aria-label": "The equilibrium explorer" },
    html("div", { class: "eq-explorer" }, list, ...panels, spoken.node),
  );

  function draw() {
    names.forEach((panel, i) => {
      const open = panel === model.get("panel");
      tabs[i].setAttribute("aria-selected", open);
      tabs[i].setAttribute("tabindex", open ? "0" : "-1");
      panels[i].hidden = !open;
    });
    views[model.get("panel")].draw();
  }

  /** Show what the model now holds, the text too. */
  function fill() {
    views.network.fill();
    draw();
  }

  await prepare(model.get("runs"));
  const unwatch = watch({
    text: fill,
    ...Object.fromEntries(DRAWN.map((name) => [name, draw])),
  });
  el.append(root);
  fill();
  const run = () => model.get("runs")[model.get("run")];
  const traits = {
    panel: oneOf(() => names),
    ...within("panel", "plane", {
      weights: pair(-EDGE, EDGE),
      input: pair(-EDGE, EDGE),
      target: pair(-EDGE, EDGE),
      method: oneOf(() => METHODS),
      beta: decimal(...NUDGES),
      steps: whole(1, MOST_STEPS),
      learned: whole(0, LESSONS),
    }),
    ...within("panel", "network", {
      run: oneOf(() => Object.keys(model.get("runs"))),
      seed: whole(0, () => run().seeds - 1),
      text: typed((text) => objection(text, run())),
      step: whole(-1),
      selected: whole(-1, () => [...model.get("text")].length - 1),
    }),
  };
  const settle = alone({ name: "equilibrium", root, el, model, chosen: traits });
  const shut = opens(root, { ...views.plane.opens, network: () => save({ panel: "network" }) }, { model, chosen: traits });
  return () => {
    shut();
    settle();
    unwatch();
    for (const view of Object.values(views)) view.leave();
    spoken.quiet();
  };
}

export default { render };
