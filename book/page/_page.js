// ---------------------------------------------------------------------------------------------
// Building blocks of the widgets' pages. Text enters a page only as text nodes and attributes.


function element(create, tag, attributes, children) {
  const node = create(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export const html = (tag, attributes = {}, ...children) =>
  element((name) => document.createElement(name), tag, attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  element(
    (name) => document.createElementNS("http://www.w3.org/2000/svg", name),
    tag,
    attributes,
    children,
  );

export const hidden = (...children) => html("span", { class: "attn-hidden" }, ...children);

/**
 * What a view does with its model: `save` sets several traits and draws once; `watch` takes by a
 * trait's name what to do when another view, or the notebook, changes it, and gives how to stop.
 */
export function saver(model, draw) {
  let saving = false;
  function save(values) {
    saving = true;
    for (const [name, value] of Object.entries(values)) model.set(name, value);
    saving = false;
    model.save_changes();
    draw();
  }
  function watch(listeners) {
    const watched = Object.entries(listeners).map(([name, listener]) => [
      `change:${name}`,
      () => saving || listener(),
    ]);
    for (const [event, listener] of watched) model.on(event, listener);
    return () => {
      for (const [event, listener] of watched) model.off(event, listener);
    };
  }
  return { save, watch };
}

/** Say something politely, once the reader pauses. */
export function speaker() {
  const node = html("p", { class: "attn-hidden", "aria-live": "polite" });
  let timer;
  const say = (sentence) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (node.textContent !== sentence) node.textContent = sentence;
    }, 250);
  };
  return { node, say, quiet: () => clearTimeout(timer) };
}

/** A labelled choice; `set` takes pairs of value and text. */
export function select({ uid, name, label, onchange }) {
  const box = html("select", { id: `${uid}-${name}`, onchange: () => onchange(box.value) });
  const node = html(
    "span",
    { class: "attn-choice" },
    html("label", { for: `${uid}-${name}` }, label),
    box,
  );
  const set = (options, value) => {
    const found = [...box.options].map((option) => option.text);
    if (found.join("\n") !== options.map(([, text]) => text).join("\n")) {
      box.replaceChildren(...options.map(([id, text]) => html("option", { value: id }, text)));
    }
    box.value = value;
  };
  return { node, set };
}

/**
 * A choice with all its options in view: `set` takes triples of value, text and, for its colour, a
 * class.
 */
export function segments({ uid, name, label, onchange }) {
  const node = html("div", { class: "attn-segments", role: "radiogroup", "aria-label": label });
  const boxes = () => [...node.querySelectorAll("input")];
  const set = (options, value) => {
    const there = boxes().map((box) => [box.value, box.labels[0]?.textContent].join("\t"));
    if (there.join("\n") !== options.map(([id, text]) => [id, text].join("\t")).join("\n")) {
      node.replaceChildren(
        ...options.map(([id, text, kind = ""]) =>
          html(
            "label",
            { class: `attn-segment ${kind}` },
            html("input", {
              type: "radio",
              name: `${uid}-${name}`,
              value: id,
              onchange: () => onchange(id),
            }),
            html("span", {}, text),
          ),
        ),
      );
    }
    for (const box of boxes()) box.checked = box.value === String(value);
  };
  return { node, set };
}

/**
 * The menus of a widget's runs and of the chosen one's seeds: `order` names the runs in a row,
 * `choose` takes one, and `lone` is whether a seed without another is worth a menu. `pick` makes the
 * choice of a run, by `select` or `segments`, and `kind` gives a run's class there. `show` may be told of
 * a model in training, which is none of the runs: it is chosen then, and has no seed.
 */
export function menus({ uid, model, save, order = Object.keys, lone = false, ...more }) {
  const { choose = (run) => save({ run }), pick = select, kind = () => "" } = more;
  const run = () => model.get("runs")[model.get("run")];
  const seed = () => Math.min(model.get("seed"), run().seeds - 1);
  const runs = pick({ uid, name: "run", label: "Model", onchange: choose });
  const seeds = select({
    uid,
    name: "seed",
    label: "Seed",
    onchange: (value) => save({ seed: Number(value) }),
  });
  function show(learning = "") {
    const names = order(model.get("runs")).map((name) => [name, name, kind(name)]);
    runs.set(learning ? [...names, ["", learning]] : names, learning ? "" : model.get("run"));
    seeds.node.hidden = Boolean(learning) || (run().seeds === 1 && !lone);
    if (!learning) seeds.set(counted(run().seeds, String), seed());
  }
  return { nodes: [runs.node, seeds.node], run, seed, show };
}

/** The options of a choice among the first few numbers. */
export const counted = (count, text) => Array.from({ length: count }, (_, i) => [i, text(i)]);

export const button = (text, onclick, label) => {
  const press = (event) => {
    pressed = event.currentTarget;
    onclick?.(event);
  };
  return html("button", { type: "button", class: "attn-button", "aria-label": label, onclick: press }, text);
};

let pressed = null; // the button of the last click, until the reader goes elsewhere
addEventListener("pointerdown", () => (pressed = null), true);

/** Give the reader a file: `parts` as a Blob takes them. */
export function download(name, parts, type) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  html("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** A labelled box to type in; `described` is the id of what says what is allowed. */
export function textBox({ uid, name, label, described, ...more }) {
  const id = `${uid}-${name}`;
  const input = html("input", {
    class: "attn-text",
    id,
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    "aria-describedby": described,
    ...more,
  });
  const node = html("div", { class: "attn-field" }, html("label", { for: id }, label), input);
  return { node, input };
}

/** Mark what stands in a field as refused, or as taken. */
export function refuse(input, refused) {
  if (refused) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

/** What is trained, the panel that trains it, and what else there is: beside one another where there is room. */
export const beside = (trained, panel, ...rest) =>
  html(
    "div",
    { class: "attn-beside" },
    html("div", { class: "attn-trained" }, ...trained),
    panel,
    html("div", { class: "attn-rest" }, ...rest),
  );

/** What stands in a widget's place until it has a model. */
export const sleeper = () =>
  html(
    "p",
    { class: "attn-asleep" },
    "No model yet: this wakes up as soon as the notebook has trained one and loads it.",
  );

/** What is said where no Worker begins. */
export const UNABLE = "This browser cannot train here. Everything else on the page works; the notebook trains.";

/** Move the one tab stop of a set of cells, and the focus with it. */
export function rove(from, to) {
  if (!to) return;
  from?.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

/**
 * Go on with the first of these that can do something, where what was pressed can do no more and keeps no focus: some
 * browsers take it at once, and others when they draw.
 */
export function goOn(...others) {
  const nowhere = [pressed, document.body, null].includes(document.activeElement);
  if (nowhere && pressed?.disabled) others.find(({ disabled }) => !disabled)?.focus();
}

/**
 * What arrow keys, Home and End do in a row of cells of which one is chosen: choose another, and go
 * there. Enter and space choose the one that has the focus. `columns` says how many stand side by
 * side where the row is broken into lines.
 */
export function arrows(choose, columns = () => 1) {
  return (event) => {
    const cells = [...event.currentTarget.children];
    const i = cells.indexOf(event.target);
    const to = {
      ArrowLeft: i - 1,
      ArrowUp: i - columns(),
      ArrowRight: i + 1,
      ArrowDown: i + columns(),
      Home: 0,
      End: cells.length - 1,
      Enter: i,
      " ": i,
    }[event.key];
    if (i < 0 || to === undefined) return;
    event.preventDefault();
    if (!cells[to]) return;
    choose(to);
    rove(cells[i], cells[to]);
  };
}

/** Follow the pointer that went down on a node: `move` takes each step in pixels. */
export function follow(node, { pointerId, clientX, clientY }, move, stop) {
  let last = { x: clientX, y: clientY };
  node.setPointerCapture(pointerId);
  const step = (event) => {
    const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
    last = { x: event.clientX, y: event.clientY };
    move(dx, dy);
  };
  const end = () => {
    node.removeEventListener("pointermove", step);
    stop();
  };
  node.addEventListener("pointermove", step);
  node.addEventListener("lostpointercapture", end, { once: true });
}

/**
 * A slider with its value in words beside it. `min`, `max` and what `set` and `oninput` give are
 * values; `place` and `value` say where on the slider a value stands, and back.
 */
export function slider({ uid, name, label, min = 0, max, step, say, oninput, ...more }) {
  const { place = (x) => x, value = (x) => x, described = null } = more;
  const output = html("output", { class: "attn-value", for: `${uid}-${name}` });
  const input = html("input", {
    type: "range",
    id: `${uid}-${name}`,
    min: place(min),
    max: place(max),
    step,
    "aria-describedby": described,
    oninput: () => {
      tell(get());
      oninput(get());
    },
  });
  const get = () => value(Number(input.value));
  const tell = (now) => {
    output.textContent = say(now);
    input.setAttribute("aria-valuetext", say(now));
  };
  const set = (now) => {
    // What the reader holds stays where it is: on a scale, there and back again is not the same.
    if (Math.abs(get() - now) > 1e-9 * Math.abs(now)) input.value = place(now);
    tell(now);
  };
  const text = html("label", { for: `${uid}-${name}` }, label);
  return { node: html("div", { class: "attn-slider" }, text, input, output), text, input, get, set };
}

/** The two directions of a slider over powers of ten. */
export const POWERS = { place: Math.log10, value: (x) => 10 ** x };

/**
 * Lines of columns, one below the other, each with a caption: a column is about the same thing in
 * every line. `choose` takes the column that was clicked.
 */
export function board(choose) {
  let columns = 1;
  const node = html("div", {
    class: "attn-board",
    onclick: (event) => {
      const track = event.target.closest(".attn-track")?.getBoundingClientRect();
      if (track) choose(Math.floor((event.clientX - track.left) / (track.width / columns)));
    },
  });

  /** One more line, with what it is called, what that means, and what stands in its columns. */
  function line(name, meaning, ...content) {
    const what = html("span", {}, meaning);
    const caption = html("p", { class: "attn-caption" }, name, what);
    const track = html("div", { class: "attn-track" }, ...content);
    node.append(html("div", { class: "attn-line" }, caption, track));
    return what;
  }

  const lane = (className = "") =>
    svg("svg", {
      class: `attn-lane ${className}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });

  /** What a lane shows, so many units high, with column `here` in view. */
  function fill(where, height, here, ...content) {
    where.setAttribute("viewBox", `0 0 ${columns} ${height}`);
    const shade = svg("rect", { x: here, y: 0, width: 1, height, class: "attn-here" });
    where.replaceChildren(shade, ...content);
  }

  function resize(count) {
    columns = count;
    node.style.setProperty("--columns", count);
  }

  return { node, line, lane, fill, resize };
}

/** A bar of a lane. */
export const bar = (column, bottom, height, className = "") =>
  svg("rect", {
    x: column + 0.15,
    y: bottom - height,
    width: 0.7,
    height,
    class: `attn-bar ${className}`,
  });

/** Count from one number to another, so many milliseconds each; at once for who wants no motion. */
export function player(milliseconds, show) {
  let timer = null;
  const stop = () => {
    clearTimeout(timer);
    timer = null;
  };
  function play(from, to) {
    stop();
    if (from >= to || matchMedia("(prefers-reduced-motion: reduce)").matches) return show(to);
    timer = setTimeout(() => play(from + 1, to), milliseconds);
    show(from);
  }
  return { play, stop, going: () => timer !== null };
}

export const number = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
export const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
/** A share as part of a drawing: what is no number is not drawn. */
export const drawn = (share) => (share > 0 ? Math.min(share, 1) : 0);

/** Whether all of an element is there: while a page is still being read, as _host.js says, the last may go on. */
export const wholly = (node) => Boolean(node.nextSibling) || document.readyState !== "loading";
