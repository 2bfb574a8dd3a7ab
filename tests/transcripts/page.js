// The page that a widget is tried on, the same each time: its draws have a seed, and a Worker does as many
// steps as it is asked for, however slow the machine.

let drawn = 1;
Math.random = () => (drawn = (drawn * 16807) % 2147483647) / 2147483647;

// Letters are as wide on every machine.
SVGTextContentElement.prototype.getComputedTextLength = function () { return 6 * this.textContent.length; };

// Workers that owe the steps that they were asked for.
const owing = new Set();
const { postMessage, terminate } = Worker.prototype;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message?.steps) {
    owing.add(this);
    this.addEventListener("message", () => owing.delete(this), { once: true });
  }
  postMessage.call(this, message?.milliseconds ? { ...message, milliseconds: undefined } : message, ...rest);
};
Worker.prototype.terminate = function () {
  owing.delete(this);
  terminate.call(this);
};

// Workers that do not begin, by what goes wrong with them.
const { Worker: Plain, setTimeout: later } = globalThis;
const HOWS = {
  "as ever": () => Plain,
  "there is none": () => undefined,
  "none may be made": () => () => { throw new DOMException("no", "SecurityError"); },
  "it ends at once": (mute) =>
    class extends Plain {
      constructor() {
        super(mute);
        later(() => this.dispatchEvent(new Event("error")));
      }
    },
  "it imports nothing": () =>
    class extends Plain {
      postMessage() { super.postMessage("no module"); }
    },
  "it says nothing": (mute) => {
    globalThis.setTimeout = (action, ms) => later(action, ms / 100);
    return class extends Plain {
      constructor() { super(mute); }
    };
  },
};
/** From now on every Worker is such a one, or as ever. */
window.hire = (how) => { window.Worker = HOWS[how](URL.createObjectURL(new Blob([]))); };

// Modules that are on their way.
const coming = new Set();
const { createObjectURL, revokeObjectURL } = URL;
const blobs = new Map();
URL.createObjectURL = (blob) => {
  const url = createObjectURL(blob);
  blobs.set(url, blob);
  if (blob.type === "text/javascript") coming.add(url);
  return url;
};
URL.revokeObjectURL = (url) => (coming.delete(url), revokeObjectURL(url));

// What is no part of the page: the file that was given last, and how many keys the browser was left to scroll by.
let file = null;
let scrolled = 0;
const { click } = HTMLAnchorElement.prototype;
HTMLAnchorElement.prototype.click = function () {
  const [name, blob] = [this.download, blobs.get(this.href)];
  if (name) {
    coming.add(blob);
    blob.text().then((text) => {
      file = [name, blob.type ? `"${text.replace(/\s+/g, " ")}"` : `bytes=${blob.size}`];
      coming.delete(blob);
    });
  }
  click.call(this);
};
addEventListener("keydown", ({ key, target, defaultPrevented }) => {
  const own = target.matches("a, button, input, select, summary, textarea");
  if (/^(Arrow|Page|Home|End| )/.test(key) && !own && !defaultPrevented) scrolled++;
});

// Who listens to the models, the document and the window: callbacks by event.
const listening = new Map();
const those = (event) => listening.get(event) ?? listening.set(event, new Set()).get(event);

/** Remember who listens to a widget's model. */
window.listened = (model, i) => {
  const { on, off } = model;
  model.on = (events, callback) => {
    for (const event of events.split(" ")) those(`${i} ${event}`).add(callback);
    on.call(model, events, callback);
  };
  model.off = (events, callback) => {
    for (const event of events.split(" ")) {
      if (callback) those(`${i} ${event}`).delete(callback);
      else those(`${i} ${event}`).clear();
    }
    off.call(model, events, callback);
  };
};

for (const [name, target] of Object.entries({ document, window })) {
  const { addEventListener: add, removeEventListener: remove } = target;
  target.addEventListener = (event, callback, how) => {
    if (!how?.once) those(`${name} ${event}`).add(callback);
    add.call(target, event, callback, how);
  };
  target.removeEventListener = (event, callback, how) => {
    those(`${name} ${event}`).delete(callback);
    remove.call(target, event, callback, how);
  };
}
// What a page has for all its widgets hears these, so often: its host, `_open.js`, `_listening.js`. Others are Playwright's.
const STAYS = { "document click": 1, "document keydown": 1, "document DOMContentLoaded": 2, "document attn-yours": 1 };
for (const event of ["popstate", "storage", "hashchange", "pagehide"]) STAYS[`window ${event}`] = 1;
for (const event of ["scroll", "resize", "beforeprint"]) STAYS[`window ${event}`] = 0;
STAYS["document visibilitychange"] = 0;

/** What a widget has no more once it has gone: of which models it still hears what, and of the page. */
window.remaining = () => {
  dispatchEvent(new PageTransitionEvent("pagehide"));
  if (!window.models) return []; // code that a reader changes stays as long as its page
  const most = (event) => STAYS[event] ?? (/^\d/.test(event) ? 0 : Infinity);
  return [...listening].filter(([event, callbacks]) => callbacks.size > most(event)).map(([event]) => event);
};

/**
 * What no widget may have: an id that another part has, and a line without length, with ends that can be seen
 * and a stroke that does not scale, of which WebKit makes a blot over all that is near.
 */
window.amiss = () => {
  const ids = [...document.querySelectorAll(".attn-widget [id]")].map(({ id }) => id);
  const part = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const lengthOf = (d) => (part.setAttribute("d", d), part.getTotalLength());
  const blots = (it) => {
    const { vectorEffect, strokeLinecap } = getComputedStyle(it);
    if (vectorEffect === "none" || strokeLinecap === "butt") return false;
    const parts = it.matches("path") ? (it.getAttribute("d")?.match(/M[^M]+/g) ?? []).map(lengthOf) : [it.getTotalLength()];
    return parts.includes(0);
  };
  const points = [...document.querySelectorAll(".attn-widget :is(path, line, polyline)")].filter(blots);
  return [
    ...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `two things have the id ${id}`),
    ...points.map(({ outerHTML }) => `a point is drawn that is a blot in WebKit: ${outerHTML}`),
  ];
};

/** A frame is drawn, and whoever watches sizes is told: the page's own clock, which is stopped, draws none. */
window.framed = () => new Promise((done) => {
  new IntersectionObserver((_, own) => (own.disconnect(), done())).observe(document.documentElement);
});

/** Whether something goes on that no timer of the page waits for. */
window.busy = () => coming.size > 0 || owing.size > 0
  || document.querySelector('[data-training="running"], [data-code="running"], [data-hosted=""]') !== null
  || [...document.querySelectorAll(".live-widget-view")].some((view) => !view.dataset.state);

/** Press a button and see it move; as soon as this is said there, press once more or do something else. */
window.moving = (name, place, words, act = (button) => button.click()) => {
  window.matchMedia = () => ({ matches: false });
  const button = [...document.querySelectorAll("button")].find((each) => each.textContent === name);
  const saying = document.querySelector(place);
  const watch = new MutationObserver(() => {
    if (!saying.textContent.startsWith(words)) return;
    watch.disconnect();
    act(button);
  });
  watch.observe(saying, { childList: true, characterData: true, subtree: true });
  button.click();
};

/** Bring something to the middle of the window, unless a pointer reaches it where it is. */
window.reach = (it) => {
  const { left, top, width, height } = it.getBoundingClientRect();
  const there = document.elementFromPoint(left + width / 2, top + height / 2);
  if (!it.contains(there) && !there?.contains(it)) it.scrollIntoView({ block: "center" });
};

/** What can be seen or heard there: [depth, name, ...parts] of each thing, in their order. */
window.seen = () => {
  const TOLD = new Set(["role", "type", "title", "href", "style", "d", "points", "x", "y", "x1", "x2", "y1", "y2"]);
  for (const name of ["cx", "cy", "r", "rx", "width", "height", "transform", "opacity", "tabindex"]) TOLD.add(name);
  const REFERS = new Set(["aria-labelledby", "aria-describedby", "aria-controls", "aria-owns", "aria-activedescendant"]);
  const SHAPES = "path, rect, circle, ellipse, line, polyline, polygon, text, tspan";
  const PLAIN = "b, strong, i, em, sub, sup, code, small, br, var";

  const brief = (text) => text.trim().replace(/\s+/g, " ");
  // What is made anew in each page says nothing: the end of an id, the address of a blob. Three digits are seen.
  const lasting = (text) => brief(text)
    .replace(/blob:[^\s"')]+/g, "blob:")
    .replace(/([#=(]["']?#?[a-z]+(?:-[a-z]+)*)-[0-9a-z]{6,}\b/gi, "$1")
    .replace(/-?\d+\.\d{3,}(?:e-?\d+)?/g, (number) => String(Number(Number(number).toPrecision(4))));
  const hex = (colour) => colour.replace(/rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)/g, (_, r, g, b, alpha) =>
    `#${[r, g, b].map((c) => Number(c).toString(16).padStart(2, "0")).join("")}${alpha ? `/${alpha}` : ""}`);
  const clear = (colour) => colour === "none" || /^rgba.*, 0\)$/.test(colour);

  function look(node, style) {
    const above = getComputedStyle(node.parentElement);
    const found = [];
    if (node.matches(SHAPES)) {
      if (!clear(style.fill)) found.push(`fill=${hex(style.fill)}`);
      if (!clear(style.stroke)) {
        const dashes = style.strokeDasharray === "none" ? "" : ` dashed ${style.strokeDasharray}`;
        found.push(`stroke=${hex(style.stroke)} ${style.strokeWidth}${dashes}`);
      }
    } else {
      if (style.color !== above.color) found.push(`colour=${hex(style.color)}`);
      if (!clear(style.backgroundColor)) found.push(`behind=${hex(style.backgroundColor)}`);
      if (style.backgroundImage !== "none") found.push(`behind=${hex(lasting(style.backgroundImage))}`);
      const line = `${style.borderTopWidth} ${style.borderTopStyle} ${hex(style.borderTopColor)}`;
      if (!/^0px| none | hidden |\/0$/.test(line)) found.push(`border=${line}`);
      if (style.outlineStyle !== "none" && node !== document.activeElement) found.push(`outline=${hex(style.outlineColor)}`);
    }
    if (style.fontWeight !== above.fontWeight) found.push(`weight=${style.fontWeight}`);
    if (style.opacity !== "1") found.push(`opaque=${style.opacity}`);
    if (style.textDecorationLine !== "none") found.push(style.textDecorationLine);
    for (const side of node.ownerSVGElement ? [] : ["before", "after"]) {
      const { content, visibility } = getComputedStyle(node, `::${side}`);
      const [, words = ""] = /^"(.*?)"/.exec(content) ?? [];
      if (words.trim() && visibility === "visible") found.push(`${side}=${words.trim()}`);
    }
    return found;
  }

  function attributes(node) {
    return node.getAttributeNames()
      .filter((name) => TOLD.has(name) || name.startsWith("aria-") || (name.startsWith("data-") && !/^[[{]/.test(node.getAttribute(name))))
      .map((name) => {
        const value = node.getAttribute(name);
        const words = REFERS.has(name)
          ? value.split(" ").map((id) => brief(document.getElementById(id)?.textContent ?? "nothing").slice(0, 60)).join(" ")
          : lasting(name === "d" ? value.replace(/([a-z])(?=[-.\d])/gi, "$1 ") : value);
        return `${name}=${words}`;
      });
  }

  function state(node) {
    const found = [];
    if (node.matches("input, select, textarea")) {
      found.push(`named=${[...(node.labels ?? [])].map((label) => brief(label.textContent)).join(" ") || "by no label"}`);
      if (!node.matches("[type=radio], [type=checkbox]")) found.push(`value=${node.value.replaceAll("\n", "⏎")}`);
    }
    if (node.checked) found.push("checked");
    if (node.disabled) found.push("disabled");
    if (node.open) found.push("open");
    if (node.inert) found.push("inert");
    const all = node.value && node.selectionEnd - node.selectionStart === node.value.length;
    // One that is disabled loses the focus when it is drawn next, be it before this is asked or after.
    if (node === document.activeElement && !node.disabled) found.push(all ? "FOCUS ALL" : "FOCUS");
    return found;
  }

  const { search, hash } = location;
  const lines = search || hash ? [[0, "address", decodeURIComponent(search + hash)]] : [];
  if (file) lines.push([0, "file", ...file]);
  if (scrolled) lines.push([0, "page", `scrolled=${scrolled}`]);
  function walk(node, depth) {
    const style = getComputedStyle(node);
    if (style.display === "none" && !node.matches("title, desc")) return;
    if (node.matches("details:not([open]) > :not(summary)")) return;
    const whole = [...node.querySelectorAll("*")].every((inner) => inner.matches(PLAIN));
    const text = whole ? node.textContent : [...node.childNodes].map((n) => (n.nodeType === 3 ? n.data : " … ")).join("");
    const own = text.replace(/[…\s]+/g, "") ? brief(text).replace(/(?: ?… ?)+/g, " … ") : "";
    const seen = style.visibility === "visible" || node.closest("svg title, svg desc");
    const parts = seen ? [...(own ? [`"${own}"`] : []), ...state(node), ...attributes(node), ...look(node, style)] : [];
    if (parts.length) lines.push([depth, [node.tagName.toLowerCase(), ...node.classList].join("."), ...parts]);
    if (whole) return;
    for (const child of node.children) walk(child, depth + (parts.length ? 1 : 0));
  }
  for (const child of document.querySelector("#place").children) walk(child, 0);
  return lines;
};
