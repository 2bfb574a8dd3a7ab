// The equilibrium's explorer in the reader's browser, in double precision.
//
//   path → implicit, nudged              _credit: how a state moves, and credit from that
//   springsView                          _springs: two rings, and the springs between them
//   rowView                              _row: rings in a row, one of them the output
//   numbersView                          _numbers: two neurons, and the street between them
//   prepare → make → settle → read, credits
//                                        _network: torch's own functions, as programs
//   settlingTraining, TASKS.settling     _train, _learn: a model to train, in a Worker
//   objection                            _text: what a text lacks, in a sentence
//   networkView                          the network's explorer
//   render                               the view; the anywidget model holds what is chosen

import { alone } from "./_alone.js";
import { decimal, oneOf, typed, whole } from "./_chosen.js";
import { opens } from "./_open.js";
import { html, saver, speaker } from "./_page.js";
import { prepare } from "./_equilibrium_network.js";
import { networkView } from "./_equilibrium_view_network.js";
import { settlingTraining } from "./_equilibrium_train.js";
import { CHOICES, FRAMES, numbersView } from "./_equilibrium_numbers.js";
import { RINGS, rowView } from "./_equilibrium_row.js";
import { SPRINGS, STIFF, springsView } from "./_equilibrium_springs.js";
import { objection } from "./_equilibrium_text.js";

const LABELS = {
  springs: "Two rings and three springs",
  row: "A row of rings, and its output",
  numbers: "Two neurons and a nudge",
  limit: "Two neurons and a limit",
  network: "The network at rest",
  training: "A small model in training",
};

/** The panel that trains, where the lesson has come as far. */
async function trainer({ model, el, root, uid }) {
  const training = settlingTraining({ uid, root, model });
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

/** What a reader chooses of the springs, and how it stands in an address. */
const springsChosen = () => Object.fromEntries(SPRINGS.map((name) => [name, decimal(...STIFF)]));

/** What was done to the row of rings, and how it stands in an address. */
const rowChosen = () => ({
  tried: whole(0, RINGS),
  nudged: whole(0, 1),
  last: oneOf(() => ["tried", "nudged"]),
});

/** What two neurons can be asked, and how it stands in an address. */
const numbersChosen = (picture) => ({
  connected: oneOf(() => CHOICES[picture].map(([name]) => name)),
  turned: decimal(0, 1),
  moved: whole(0, FRAMES),
});

/** The same of the network, whose text is also filled in. */
function networkChosen(model) {
  const run = () => model.get("runs")[model.get("run")];
  return {
    run: oneOf(() => Object.keys(model.get("runs"))),
    seed: whole(0, () => run().seeds - 1),
    text: typed((text) => objection(text, run())),
    step: whole(-1),
    selected: whole(-1, () => [...model.get("text")].length - 1),
  };
}

async function render({ model, el }) {
  const picture = model.get("picture");
  const uid = `eq-${Math.random().toString(36).slice(2)}`;
  const label = { role: "group", "aria-label": LABELS[picture] };
  const root = html("div", { class: `attn-widget equilibrium eq-of-${picture}`, ...label });
  if (picture === "training") return trainer({ model, el, root, uid });

  const spoken = speaker();
  const { save, watch } = saver(model, () => view.draw());
  const [make, chosen] = {
    springs: [springsView, springsChosen()],
    row: [rowView, rowChosen()],
    numbers: [numbersView, numbersChosen(picture)],
    limit: [numbersView, numbersChosen(picture)],
    network: [networkView, networkChosen(model)],
  }[picture];
  const view = make({ uid, model, save, say: spoken.say });
  function fill() {
    view.fill?.();
    view.draw();
  }
  root.append(view.node, spoken.node);
  await prepare(model.get("runs"));
  const drawn = picture === "network" ? ["runs", ...Object.keys(chosen)] : Object.keys(chosen);
  const unwatch = watch(Object.fromEntries(drawn.map((name) => [name, name === "text" ? fill : view.draw])));
  el.append(root);
  fill();
  const name = { springs: "springs", row: "row", numbers: "nudge", limit: "limit", network: "equilibrium" }[picture];
  const settle = alone({ name, root, el, model, chosen });
  const shut = opens(root, view.states ?? {}, { model, chosen });
  return () => {
    shut();
    settle();
    unwatch();
    view.leave();
    spoken.quiet();
  };
}

export default { render };
