// Mounts anywidgets on a static page: no kernel, no require.js, no widget manager.
//
// A page that was made from a notebook holds one or more script elements with the state of all its
// widget models, and one script element where each view belongs:
//
//   <script type="application/vnd.jupyter.widget-state+json">{"state": {id: {…}, …}}</script>
//   <script type="application/vnd.jupyter.widget-view+json">{"model_id": id}</script>
//
// Long texts of a model may lie beside the page, {"beside": {"file", "at": [[number, path], …]}}: a script that gives its
// own element a list, `texts`, and where each of them belongs. A page read from a disk can load no other file.
//
// For each view this imports the widget's own module, gives it a model with the saved state and
// lets it render after the view's script element, as soon as the parser has passed it: a reader plays
// while the rest of a long page is still being read. One whose texts lie beside the page waits until it is near to
// what is seen, or an address asks for a widget; what is left follows when the page has been read, the next whenever
// there is nothing else to do, to be printed, found and opened by words. A widget that cannot be shown leaves a plain
// sentence in its place and an error in the console.

(() => {
  "use strict";

  const MIME = "application/vnd.jupyter.widget-";

  const scripts = (kind) =>
    [...document.querySelectorAll(`script[type="${MIME}${kind}+json"]`)];

  // As anywidget's `model` in front of a kernel, except that nothing is behind it: a change is
  // seen by every view of the model on this page, and goes nowhere else.
  class Model {
    #state;
    #listeners = new Map();

    constructor({ state, buffers = [] }) {
      this.#state = state;
      for (const { path, data } of buffers) put(state, path, decode(data));
    }

    get(key) {
      return this.#state[key];
    }

    set(key, value) {
      if (this.#state[key] === value) return;
      this.#state[key] = value;
      this.#emit(`change:${key}`, this, value);
      this.#emit("change", this);
    }

    on(events, callback) {
      for (const event of events.split(" ")) {
        if (!this.#listeners.has(event)) this.#listeners.set(event, new Set());
        this.#listeners.get(event).add(callback);
      }
    }

    // Without a callback all of an event's are removed; without an event, all there are.
    off(events, callback) {
      for (const event of events ? events.split(" ") : [...this.#listeners.keys()]) {
        if (callback) this.#listeners.get(event)?.delete(callback);
        else this.#listeners.delete(event);
      }
    }

    // Both would go to the kernel.
    save_changes() {}
    send() {}

    #emit(event, ...values) {
      // A copy: a listener may take itself off, or put another one on.
      for (const callback of Array.from(this.#listeners.get(event) ?? [])) callback(...values);
    }
  }

  function put(root, path, value) {
    path.slice(0, -1).reduce((node, key) => node[key], root)[path.at(-1)] = value;
  }

  function decode(base64) {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    // A loop, not `from` with a function: there are a million of them, before anything is shown.
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    return new DataView(bytes.buffer);
  }

  // A blob is the one address from which a module may be imported on a page read from disk.
  async function importModule(source) {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    try {
      const { default: widget } = await import(url);
      return typeof widget === "function" ? await widget() : widget;
    } finally {
      URL.revokeObjectURL(url);
    }
  }

  function addStyle(css) {
    const style = document.createElement("style");
    style.textContent = css;
    document.head.append(style);
  }

  // Run `make` once for each key.
  function once(make) {
    const made = new Map();
    return (key) => {
      if (!made.has(key)) made.set(key, make(key));
      return made.get(key);
    };
  }

  // While the browser is still reading the page, its last element may be there in part only.
  const reading = () => document.readyState === "loading";
  const whole = (script) => Boolean(script.nextSibling) || !reading();

  const parsed = once((script) => JSON.parse(script.textContent).state);
  const savedOf = (id) => scripts("state").filter(whole).map(parsed).find((saved) => id in saved)?.[id];
  const leaving = new AbortController();
  const moduleOf = once(importModule);
  const styleOf = once(addStyle);

  const textsOf = once((file) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = file;
    script.onload = () => resolve(script.texts);
    script.onerror = () => reject(new Error(`${file} could not be loaded`));
    document.head.append(script);
  }));

  async function fetchTexts(entry) {
    const { file, at } = entry.beside;
    const texts = await textsOf(file);
    for (const [number, path] of at) put(entry, path, texts[number]);
  }

  // Its views share a model, and `initialize` runs once for it.
  const modelOf = once(async (id) => {
    const entry = savedOf(id);
    if (!entry) throw new Error(`the page holds no state of the widget model ${id}`);
    if (entry.model_module !== "anywidget") {
      throw new Error(`${entry.model_module} needs a kernel; only anywidgets live on a page`);
    }
    if (entry.beside) await fetchTexts(entry);
    const { _esm, _css } = entry.state;
    // The style first: what is laid out while the module is compiled need not be laid out again.
    if (_css) styleOf(_css);
    const widget = await moduleOf(_esm);
    const model = new Model(entry);
    cleanUpWith(await widget.initialize?.({ model, signal: leaving.signal }));
    return { model, widget };
  });

  // What a widget returns from `initialize` and `render` is to be called when it goes away. Here
  // that is when the page does.
  function cleanUpWith(callback) {
    if (typeof callback === "function") leaving.signal.addEventListener("abort", callback);
  }

  const idOf = (script) => JSON.parse(script.textContent).model_id;

  // What begins each view that waits.
  const waiting = new Set();
  const isAsked = () => location.hash.startsWith("#open-") || new URLSearchParams(location.search).has("show");
  const beginAll = () => isAsked() && waiting.forEach((begin) => begin());

  // Kept once a view is wanted: at once where it is within a screen of what is seen, for it may be the first.
  const wanted = (place) => new Promise((resolve) => {
    function lookAgain() {
      const { top, bottom } = place.getBoundingClientRect();
      if (top < 2 * innerHeight && bottom > -innerHeight) begin();
    }
    function begin() {
      moved.disconnect();
      waiting.delete(begin);
      resolve();
    }
    const moved = new IntersectionObserver(lookAgain, { rootMargin: "100% 0%" });
    moved.observe(place);
    waiting.add(begin);
    lookAgain();
    beginAll();
  });

  async function beginTheRest() {
    const idle = globalThis.requestIdleCallback ?? setTimeout; // which WebKit has not
    for (const begin of waiting) {
      begin();
      await new Promise((resolve) => idle(resolve));
    }
  }

  async function mount(script) {
    const el = document.createElement("div");
    el.className = "live-widget-view";
    script.after(el);
    try {
      if (savedOf(idOf(script))?.beside) await wanted(el.parentElement);
      const { model, widget } = await modelOf(idOf(script));
      cleanUpWith(await widget.render?.({ model, el, signal: leaving.signal }));
      el.dataset.state = "ready";
    } catch (error) {
      el.textContent = "This widget could not be shown. The browser's console says why.";
      el.dataset.state = "failed";
      console.error(error);
    }
  }

  // A view whose state is still to come waits; at the end of the page it waits no longer.
  const begun = new WeakSet();
  function mountWhatIsThere() {
    for (const script of scripts("view")) {
      if (begun.has(script) || (reading() && !(whole(script) && savedOf(idOf(script))))) continue;
      begun.add(script);
      mount(script);
    }
  }

  // A page that the browser keeps for the back button stays alive.
  addEventListener("pagehide", ({ persisted }) => persisted || leaving.abort());
  const arrivals = new MutationObserver(mountWhatIsThere);
  arrivals.observe(document, { childList: true, subtree: true });
  document.addEventListener("readystatechange", () => {
    arrivals.disconnect();
    mountWhatIsThere();
    beginTheRest();
  }, { once: true });
  addEventListener("hashchange", beginAll);
  mountWhatIsThere();
})();
