// The bracket generator: what each character costs a model beside the best predictor, and what the model writes.
//
//   _dialectical_model.js            make → forward: torch's forward pass, as a program
//   _dialectical_text.js             generate → faults: pure, from logits to texts
//   _dialectical_task.js             bestPredictor, losses: pure as well
//   _dialectical_view_losses.js      a string with its losses; one character is changed
//   _dialectical_view_writing.js     what is asked for, and what was written
//   _dialectical_view_board.js       a text with its tracks; one choice, looked at closely
//   _dialectical_learn.js            strings to learn from and to judge by, in a Worker
//   _dialectical_train.js            the panel in which a model is trained
//   render                           the page; the anywidget model holds what is chosen

import { alone } from "./_alone.js";
import { decimal, oneOf, typed, whole, within, yesOrNo } from "./_chosen.js";
import { unpack } from "./_unpack.js";
import { beside, html, menus, saver, segments, sleeper, speaker } from "./_page.js";
import { opens } from "./_open.js";
import { make, prepare, prepared } from "./_dialectical_model.js";
import { inOrder, isPublished } from "./_dialectical_runs.js";
import { bracketTraining } from "./_dialectical_train.js";
import { REPLACEMENTS, lossesView, unfit } from "./_dialectical_view_losses.js";
import { HOTTEST, LARGEST_BUDGET, objection, writingView } from "./_dialectical_view_writing.js";

const VIEWS = { losses: "Losses", writing: "Writing" };

const SELDOM = 1000; // milliseconds between two texts written by a model in training

async function render({ model, el }) {
  const uid = `dh-${Math.random().toString(36).slice(2)}`;
  const spoken = speaker();
  const { save, watch } = saver(model, draw);
  let known = null; // {run, seed, network}
  let learning = null; // {name, network}: the model in training, while it is what is shown
  let late = 0; // the timer of a drawing that waits

  const tabs = segments({ uid, name: "view", label: "What to look at", onchange: (view) => save({ view }) });
  const offered = () => Object.entries(VIEWS).filter(([view]) => model.get("views").includes(view));
  const models = menus({
    uid,
    model,
    save,
    order: inOrder,
    pick: segments,
    choose: (run) => {
      release();
      if (run === model.get("run")) draw();
      else save({ run });
    },
    kind: (name) => (isPublished(model.get("runs")[name]) ? "attn-theirs" : "attn-ours"),
  });

  /** The chosen model, ready to run. */
  function network() {
    if (learning) return learning.network;
    const [run, seed] = [models.run(), models.seed()];
    if (known?.run !== run || known.seed !== seed) {
      known = { run, seed, network: make(run, unpack(run, seed)) };
    }
    return known.network;
  }

  const shared = { uid, model, save, network };
  const published = () => isPublished(network());
  const about = () => ({ name: learning?.name ?? model.get("run"), published: published() });
  const views = { losses: lossesView({ ...shared, about }), writing: writingView(shared) };

  /** Show a model as it learns. What it writes takes longer than a frame, so it writes now and then. */
  function follow(lesson, name, weights) {
    learning = { name: `yours: ${name}`, network: make(lesson, weights) };
    if (model.get("view") === "losses") draw();
    else late ||= setTimeout(drawLate, SELDOM);
  }
  function drawLate() {
    late = 0;
    draw();
  }
  /** Show a loaded model again. */
  function release() {
    learning = null;
    training.leave();
  }

  const asleep = sleeper();
  const awake = html(
    "div",
    { class: "dh-explorer" },
    html("div", { class: "attn-controls dh-top" }, tabs.node, ...models.nodes),
    views.losses.node,
    views.writing.node,
  );
  const root = html(
    "div",
    { class: "attn-widget dialectical", role: "group", "aria-label": "A model of brackets" },
  );
  const training = bracketTraining({ uid, root, model, follow });
  root.append(beside([asleep, awake], training.node), spoken.node);

  function draw() {
    if (!learning && models.run() && !prepared(models.run())) return; // `reload` is at it
    const there = Boolean(learning || models.run());
    asleep.hidden = there;
    awake.hidden = !there;
    if (!there) return;
    tabs.set(offered(), model.get("view"));
    tabs.node.hidden = offered().length < 2;
    models.show(learning?.name);
    root.classList.toggle("dh-as-published", published());
    for (const [name, view] of Object.entries(views)) {
      view.node.hidden = name !== model.get("view");
      if (!view.node.hidden) view.draw();
    }
    if (!learning) spoken.say(views[model.get("view")].told());
  }

  /** Show what the model now holds: another view, or the notebook, has changed it. */
  function fill() {
    for (const view of Object.values(views)) view.fill();
    draw();
  }

  /** Another run or seed was asked for by whoever does not sit at this view. */
  function drawOther() {
    if (learning) release();
    draw();
  }

  async function reload() {
    await prepare(model.get("runs"));
    known = null;
    fill();
  }

  const filled = ["prompt", "budget", "text", "before", "place", "replacement"];
  const drawn = ["view", "views", "task", "temperature"];
  drawn.push("constrained", "stop_on_closed", "draw", "selected");
  const unwatch = watch({
    ...Object.fromEntries(filled.map((name) => [name, fill])),
    ...Object.fromEntries(drawn.map((name) => [name, draw])),
    run: drawOther,
    seed: drawOther,
    runs: reload,
    lessons: training.reload,
  });
  el.append(root);
  await Promise.all([reload(), training.reload()]);

  /** Show the losses of a model that does not read ahead. */
  function showMended() {
    const runs = model.get("runs");
    const run = inOrder(runs).find((name) => !isPublished(runs[name]));
    if (run === undefined) return;
    release();
    save({ view: "losses", run });
  }
  const context = () => models.run().config.context;
  const traits = {
    view: oneOf(() => model.get("views")),
    run: oneOf(() => inOrder(model.get("runs"))),
    seed: whole(0, () => models.run().seeds - 1),
    ...within("view", "losses", {
      text: typed((text) => unfit(text, context())),
      place: whole(-1, () => model.get("text").length - 1),
      replacement: oneOf(() => ["", ...REPLACEMENTS]),
    }),
    ...within("view", "writing", {
      prompt: typed((prompt) => objection({ prompt, budget: 0 }, context())?.sentence),
      budget: whole(0, LARGEST_BUDGET),
      temperature: decimal(0, HOTTEST),
      constrained: yesOrNo,
      stop_on_closed: yesOrNo,
      draw: whole(0),
    }),
  };
  const settle = alone({ name: "brackets", root, el, model, chosen: traits });
  const close = opens(root, { mended: showMended }, { model, chosen: traits });
  return () => {
    close();
    settle();
    unwatch();
    clearTimeout(late);
    training.free();
    spoken.quiet();
  };
}

export default { render };
