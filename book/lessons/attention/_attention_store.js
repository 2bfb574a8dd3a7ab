// What all pictures of a page share: the models, and what the reader has chosen. A notebook may load this module anew for
// each picture, so the store belongs to the page and not to the module.

import { engine, textOf } from "./_attention_model.js";

const AT = Symbol.for("attn_notes.attention");

/** The page's store. */
export const shared = () => (globalThis[AT] ??= created());

function created() {
  const listeners = new Set();
  const models = new Map(); // by their names
  const state = {
    word: "cab",
    place: 4, // that asks: the first letter that is written
    model: "", // the name of the one in all pictures
    push: null, // {n, at}: while letter n is written head 1 is made to read a place
    turned: null, // {head, place, by}: what is added to a query
    tried: false, // whether a model was trained here: then it is told what it writes
  };
  let machinery = null;
  let program = "";
  let kept = null; // what is drawn, until something changes
  let lesson = null; // how a model is trained here

  /** Take what a widget brings: models by their names, and the program that reads them. */
  async function bring({ observe, models: more, teach }) {
    if (!observe) return;
    if (observe !== program) machinery = await engine(observe);
    program = observe;
    for (const [name, model] of Object.entries(more)) models.set(name, { ...model, name });
    if (state.model in more) Object.assign(state, { push: null, turned: null }); // tried on another of that name
    if (!models.has(state.model)) [state.model] = models.keys();
    lesson = teach ?? lesson;
    tell();
  }

  /** A model that was trained here, in the place of one of that name. */
  function add(model) {
    models.set(model.name, model);
    if (state.model === model.name) Object.assign(state, { push: null, turned: null }); // tried on the one before
    tell();
  }

  function set(change) {
    // What is tried out belongs to the word, the place and the model that it was tried on.
    const alone = "push" in change || "turned" in change || "tried" in change;
    Object.assign(state, alone ? {} : { push: null, turned: null }, change);
    tell(change);
  }

  function tell(change = null) {
    kept = null;
    for (const listener of listeners) listener(change);
  }

  /** All that follows from what is chosen. */
  function now() {
    if (!machinery) return null;
    if (kept) return kept;
    const { word, turned, push } = state;
    const model = models.get(state.model);
    kept = {
      ...state,
      model,
      models: [...models.values()],
      lesson,
      machinery,
      text: textOf(word),
      seen: (i, j) => j <= i || !model.mask,
      whole: machinery.whole(model, word, { turned }),
      writing: machinery.write(model, word, { push, turned }),
    };
    return kept;
  }

  function watch(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }
  return { state, bring, add, set, now, watch };
}
