// Chapter 3's widget: what each character costs a model beside the best predictor, and what the model writes.
//
//   _dialectical_model.js            unpack → forward → generate → faults: pure, from bytes to texts
//   _dialectical_task.js             bestPredictor, losses: pure as well
//   _dialectical_view_losses.js      a string with its losses; one character is changed
//   _dialectical_view_writing.js     a text with its tracks; one choice, looked at closely
//   render                           the page; the anywidget model holds what is chosen

const VIEWS = { losses: "Losses", writing: "Writing" };

const isPublished = ({ config }) => config.mask === "published";

/** Names of runs, those as published first: a saved page has them by the alphabet. */
function inOrder(runs) {
  return Object.entries(runs)
    .sort(([, a], [, b]) => isPublished(b) - isPublished(a))
    .map(([name]) => name);
}

function render({ model, el }) {
  const uid = `dh-${Math.random().toString(36).slice(2)}`;
  const spoken = speaker();
  const { save, watch } = saver(model, draw);
  let known = null; // {run, seed, network}

  const tabs = segments({ uid, name: "view", label: "What to look at", onchange: (view) => save({ view }) });
  tabs.set(Object.entries(VIEWS));
  const models = menus({
    uid,
    model,
    save,
    order: inOrder,
    pick: segments,
    kind: (name) => (isPublished(model.get("runs")[name]) ? "attn-theirs" : "attn-ours"),
  });

  /** The chosen model, ready to run. */
  function network() {
    const [run, seed] = [models.run(), models.seed()];
    if (known?.run !== run || known.seed !== seed) {
      known = { run, seed, network: { weights: unpack(run, seed), config: run.config } };
    }
    return known.network;
  }

  const shared = { uid, model, save, network };
  const about = () => ({ name: model.get("run"), published: isPublished(models.run()) });
  const views = { losses: lossesView({ ...shared, about }), writing: writingView(shared) };
  const asleep = sleeper();
  const awake = html(
    "div",
    {},
    html("div", { class: "attn-controls dh-top" }, tabs.node, ...models.nodes),
    views.losses.node,
    views.writing.node,
  );
  const root = html(
    "div",
    { class: "attn-widget dialectical", role: "group", "aria-label": "A model of brackets" },
    asleep,
    awake,
    spoken.node,
  );

  function draw() {
    const run = models.run();
    asleep.hidden = Boolean(run);
    awake.hidden = !run;
    if (!run) return;
    tabs.set(Object.entries(VIEWS), model.get("view"));
    models.show();
    root.classList.toggle("dh-as-published", isPublished(run));
    for (const [name, view] of Object.entries(views)) {
      view.node.hidden = name !== model.get("view");
      if (!view.node.hidden) view.draw();
    }
    spoken.say(views[model.get("view")].told());
  }

  /** Show what the model now holds: another view, or the notebook, has changed it. */
  function fill() {
    for (const view of Object.values(views)) view.fill();
    draw();
  }

  const filled = ["prompt", "budget", "text", "before", "place", "replacement"];
  const drawn = ["runs", "run", "seed", "view", "task", "temperature"];
  drawn.push("constrained", "stop_on_closed", "draw", "selected");
  const unwatch = watch({
    ...Object.fromEntries(filled.map((name) => [name, fill])),
    ...Object.fromEntries(drawn.map((name) => [name, draw])),
  });
  el.append(root);
  fill();
  return () => {
    unwatch();
    spoken.quiet();
  };
}

export default { render };
