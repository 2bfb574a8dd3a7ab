// Attention, seen whole: one picture of a sorter, or the reader's word with a map of all of them. What they share stands in
// the page's store; the first of them brings the models.

import { html, sleeper } from "./_page.js";
import { typed, whole } from "./_chosen.js";
import { alone } from "./_alone.js";
import { opens } from "./_open.js";
import { unpack } from "./_unpack.js";
import { parse } from "./_sorter.js";
import { PLACES } from "./_attention_model.js";
import { shared } from "./_attention_store.js";
import { picture } from "./_attention_picture.js";
import { glance, rows } from "./_attention_rows.js";
import { query, scores } from "./_attention_scores.js";
import { mixtures, shares, triangle } from "./_attention_shares.js";
import { chances, stream } from "./_attention_stream.js";
import { writing } from "./_attention_writing.js";
import { price } from "./_attention_loss.js";
import { race, unmasked } from "./_attention_unmasked.js";
import { guide } from "./_attention_map.js";

const VIEWS = { glance, rows, query, scores, triangle, shares, mixtures, stream, chances, writing, price, unmasked };

const CHOSEN = {
  word: typed((text) => (parse(text) ? "" : "Three letters, each a, b or c.")),
  place: whole(0, PLACES - 1),
};

/** What a widget brings: its models with their weights by name. */
const brought = (model) => ({
  observe: model.get("program"),
  teach: Object.keys(model.get("lesson")).length ? model.get("lesson") : null,
  models: Object.fromEntries(
    Object.entries(model.get("runs")) // which are saved by the alphabet
      .sort(([, one], [, other]) => one.order - other.order)
      .map(([name, run]) => [name, { mask: run.mask, weights: unpack(run, 0) }]),
  ),
});

async function render({ model, el }) {
  const store = shared();
  const name = model.get("picture");
  const uid = `whole-${Math.random().toString(36).slice(2)}`;
  const root = html("div", { class: "attn-widget whole", role: "group", "aria-label": model.get("title") });
  const load = () => store.bring(brought(model));
  model.on("change:runs change:lesson", load);
  const trained = () => store.set({ tried: true }); // in a notebook
  model.on("change:runs", trained);
  const loading = load();
  const shown = name === "race" ? race({ store, esm: model.get("_esm"), root, uid, invites: model.get("invites") }) : picture({ store, name, view: VIEWS[name] });
  // On paper nobody trains; and it does not wait for what is drawn later.
  const onPaper = () => {
    trained();
    shown.draw?.();
  };
  addEventListener("beforeprint", onPaper);
  const asleep = sleeper();
  const wake = () => {
    const before = shown.node.hidden;
    asleep.hidden = Boolean(store.now());
    shown.node.hidden = !asleep.hidden;
    if (before && !shown.node.hidden) shown.draw?.(); // at once: its place is kept no longer
  };
  const unwatch = store.watch(wake);
  wake();
  root.append(asleep, shown.node);
  el.append(root);
  const free = [() => model.off("change:runs change:lesson", load), () => model.off("change:runs", trained), () => removeEventListener("beforeprint", onPaper), unwatch, shown.free];
  if (name === "glance") free.push(await handles({ store, model, el, root, uid, loading }));
  await loading;
  if (name === "stream") {
    const second = (word) => () => store.set({ word, place: 4 }); // where its second letter is written
    free.push(...tied(store, model), opens(root, { aab: second("aab"), acc: second("acc") }, { model, chosen: CHOSEN }));
  }
  return () => free.forEach((each) => each());
}

/** The first picture has what the reader changes, the map, and traits that say what is chosen. */
async function handles({ store, model, el, root, uid, loading }) {
  for (const trait of Object.keys(CHOSEN)) store.set({ [trait]: model.get(trait) });
  const untie = tied(store, model);
  await loading;
  const guided = guide({ store, uid });
  guided.begin(root);
  const settle = alone({ name: "attention", root, el, model, chosen: CHOSEN });
  return () => [settle, guided.free, ...untie].forEach((each) => each());
}

/** What the reader has chosen as a widget's traits, which change it as well. */
function tied(store, model) {
  const traits = Object.keys(CHOSEN);
  const tell = () => {
    for (const trait of traits) model.set(trait, store.state[trait]);
    model.save_changes();
  };
  tell();
  const follow = traits.map((trait) => {
    const take = () => store.state[trait] !== model.get(trait) && store.set({ [trait]: model.get(trait) });
    model.on(`change:${trait}`, take);
    return () => model.off(`change:${trait}`, take);
  });
  return [store.watch(tell), ...follow];
}

export default { render };
