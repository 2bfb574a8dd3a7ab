// Ask the loss: at one place of a text one score is raised, and the loss falls, rises or stays. What it does, torch has said
// for each score when the notebook made the widget: the page has no loss of its own.
//
//   reader, told     _your_model_asked: what the numbers say, as far as they were tried
//   render           the text with its arrows, the loss, the 26 letters

import { alone } from "./_alone.js";
import { oneOf, whole } from "./_chosen.js";
import { opens } from "./_open.js";
import { arrows, button, goOn, html, number, player, saver, segments, speaker, svg } from "./_page.js";
import { LETTERS, NOTHING, reader, SIGNS, SEVERAL, told, UNKNOWN, way } from "./_your_model_asked.js";

const [WIDE, HIGH] = [60, 46]; // of a tile, and of the space for arrows above it

/** From above one tile to above another, an arrow. */
function arrow(from, to) {
  const side = Math.sign(to - from) || 1;
  const [start, end] = [(from + 0.5) * WIDE + 8 * side, (to + 0.5) * WIDE - 8 * side];
  const top = HIGH - 6 - Math.min(54, 12 + 17 * Math.abs(to - from));
  return [
    svg("path", { class: "ask-arc", pathLength: 1, d: `M${start} ${HIGH - 4}C${start} ${top} ${end} ${top} ${end} ${HIGH - 10}` }),
    svg("path", { class: "ask-tip", d: `M${end} ${HIGH - 1}l-6 -11h12Z` }),
  ];
}

/** Cells of which one is chosen, in a row. */
const radios = (label, className, choose, cells, columns) =>
  html(
    "div",
    {
      class: className,
      role: "radiogroup",
      "aria-label": label,
      onclick: ({ currentTarget, target }) => {
        const i = [...currentTarget.children].indexOf(target.closest('[role="radio"]'));
        if (i >= 0) choose(i);
      },
      onkeydown: arrows(choose, columns),
    },
    ...cells,
  );

/** Show of a cell whether it is chosen, what it is, and where the tab key stops. */
function mark(cell, { checked, stop = checked, label, kind }) {
  cell.className = cell.className.split(" ")[0] + kind;
  cell.setAttribute("aria-checked", checked);
  cell.setAttribute("tabindex", stop ? "0" : "-1");
  cell.setAttribute("aria-label", label);
}

/** The letters that were tried, as an address has them: those of one place, a dot, those of the next. */
const letters = (places) => ({
  write: (tried) => tried.join("."),
  read(written) {
    const value = written.split(".");
    const fits = value.length === places && value.every((some) => /^[a-z]*$/.test(some) && new Set(some).size === some.length);
    return fits ? { value } : { refused: `Letters from a to z, each once, for ${places} places with a dot between them.` };
  },
});

/** How far the loss has moved, in words. */
const by = (change) => (way(change) === "stays" ? "stays" : `${way(change)} by ${number(Math.abs(change), 3)}`);

const KINDS = { [UNKNOWN]: " ask-unknown", [NOTHING]: " ask-none", [SEVERAL]: " ask-none" };
const MEANINGS = { [UNKNOWN]: "not known yet", [NOTHING]: "asked for nothing", [SEVERAL]: "asked for several letters" };

function render({ model, el }) {
  const text = [...model.get("text")];
  const losses = new Map(model.get("losses").map(([name, numbers]) => [name, reader(numbers, text)]));
  const uid = `ask-${Math.random().toString(36).slice(2)}`;
  const spoken = speaker();
  const { save, watch } = saver(model, draw);
  const now = () => {
    const [loss, place, tried] = ["loss", "place", "tried"].map((name) => model.get(name));
    return { reads: losses.get(loss), text, loss, place, tried };
  };

  /** Whatever still moves stops before the reader does something. */
  const first = (act) => (given) => {
    quick.stop();
    slow.stop();
    act(given);
  };
  /** Let these letters be tried at a place, last of all those that were. */
  const withMore = (tried, place, more) => {
    const before = [...tried[place]].filter((letter) => !more.includes(letter));
    return tried.with(place, before.join("") + more);
  };
  const raise = first((i) => {
    const { place, tried } = now();
    save({ tried: withMore(tried, place, LETTERS[i]) });
  });
  const everything = (reads = now().reads) => text.map((_, at) => reads.all(at));

  const quick = player(45, (i) => {
    const { reads, place, tried } = now();
    save({ tried: withMore(tried, place, i < LETTERS.length ? LETTERS.slice(0, i + 1).join("") : reads.all(place)) });
  });
  const all = button("Try all 26", first(() => quick.play(0, LETTERS.length)));
  let back = 0; // the place that was looked at
  const slow = player(350, (i) => {
    const tried = now().tried.map((some, at) => (at <= i ? everything()[at] : some));
    save({ tried, place: i < text.length ? i : back });
  });
  const every = button("Ask at every place", first(() => {
    back = model.get("place");
    slow.play(0, text.length);
  }));
  const anew = button("Begin anew", first(() => save({ place: 0, tried: text.map(() => "") })));

  const which = segments({ uid, name: "loss", label: "Loss", onchange: first((loss) => save({ loss })) });
  const tiles = radios(
    "Place in the text",
    "ask-tiles",
    first((place) => save({ place })),
    text.map((letter) => html("span", { class: "ask-tile", role: "radio" }, letter)),
  );
  const arcs = svg("svg", { class: "ask-arcs", viewBox: `0 0 ${WIDE * text.length} ${HIGH}`, "aria-hidden": "true" }, ...text.map(() => svg("g")));
  const labels = html("div", { class: "ask-labels", "aria-hidden": "true" }, ...text.map(() => html("span", { class: "ask-label" })));
  const value = html("output", { class: "ask-value" });
  const change = html("span", { class: "ask-change" });
  const verdict = html("p", { class: "ask-verdict" });
  const keys = radios(
    "Letter whose score is raised",
    "ask-keys",
    raise,
    LETTERS.map((letter) =>
      html(
        "span",
        { class: "ask-key", role: "radio" },
        html("span", { class: "ask-cap" }, html("span", {}, letter), html("span", { class: "ask-sign" })),
        html("span", { class: "ask-lane" }, html("span", { class: "ask-bar" })),
      ),
    ),
    () => getComputedStyle(keys).gridTemplateColumns.split(" ").length,
  );
  const help = html("p", { class: "attn-help" });
  const heading = (words) => html("span", { class: "ask-heading", "aria-hidden": "true" }, words);
  const root = html(
    "div",
    { class: "attn-widget your-model", role: "group", "aria-label": "Ask the loss" },
    html("div", { class: "attn-controls" }, html("span", { class: "attn-label", "aria-hidden": "true" }, "Loss"), which.node),
    html(
      "div",
      { class: "ask-upper" },
      html("div", { class: "ask-text" }, arcs, heading("text"), tiles, heading("asked for"), labels),
      html("div", { class: "ask-outcome" }, html("p", { class: "ask-loss" }, html("span", {}, "loss"), value, change), verdict),
    ),
    help,
    keys,
    html("div", { class: "ask-buttons" }, all, every, anew),
    spoken.node,
  );
  root.style.setProperty("--places", text.length);

  /** What a letter that the loss asks for is drawn as: it should be the next. */
  const kindOf = (reads, at, letter) => (reads.ahead(at, letter) === 1 ? " ask-next" : " ask-other");

  function drawText({ reads, place, tried }) {
    text.forEach((letter, at) => {
      const found = reads.found(at, tried[at]);
      const kind = KINDS[found] ?? kindOf(reads, at, found);
      const meaning = MEANINGS[found] ?? `asked for ${found}`;
      mark(tiles.children[at], { checked: at === place, kind: "", label: `${letter}, ${meaning}` });
      labels.children[at].textContent = found;
      labels.children[at].className = `ask-label${kind}`;
      const [group, to] = [arcs.children[at], text.indexOf(found)];
      group.setAttribute("class", kind.trim());
      if (group.dataset.to === String(to)) return; // it is there, and not drawn again
      group.dataset.to = to;
      group.replaceChildren(...(to < 0 ? [] : arrow(at, to)));
    });
  }

  function drawKeys({ reads, place, tried }) {
    const [up, down] = reads.most;
    const share = (x) => `${(100 * x) / (up + down || 1)}%`;
    keys.style.setProperty("--level", share(up));
    LETTERS.forEach((letter, i) => {
      const [key, moved] = [keys.children[i], reads.change(place, letter)];
      const known = tried[place].includes(letter);
      const does = way(moved);
      mark(key, {
        checked: letter === tried[place].at(-1),
        stop: letter === (tried[place].at(-1) ?? LETTERS[0]),
        kind: known ? ` ask-${does}${does === "falls" ? kindOf(reads, place, letter) : ""}` : "",
        label: known ? `${letter}, the loss ${by(moved)}` : letter,
      });
      key.querySelector(".ask-sign").textContent = known ? SIGNS[does] : "";
      key.style.setProperty("--long", share(known ? Math.abs(moved) : 0));
    });
  }

  function draw() {
    const state = now();
    const { reads, loss, place, tried } = state;
    which.node.parentNode.hidden = losses.size < 2;
    which.set([...losses.keys()].map((name) => [name, name]), loss);
    drawText(state);
    drawKeys(state);
    const letter = tried[place].at(-1);
    const moved = letter ? reads.change(place, letter) : 0;
    value.textContent = number(reads.alike + moved, 3);
    change.textContent = letter ? `${SIGNS[way(moved)]} ${by(moved)}` : "all scores alike";
    change.className = `ask-change ask-${letter ? way(moved) : "alike"}`;
    verdict.textContent = told(state);
    help.textContent = `Scores at the ${text[place]}. Press a letter to raise its score by 1; its bar is how far the loss moves.`;
    all.disabled = tried[place].length === LETTERS.length;
    every.disabled = tried.every((some) => some.length === LETTERS.length);
    anew.disabled = !tried.some(Boolean);
    goOn(every, anew, all);
    if (!quick.going() && !slow.going()) spoken.say(letter ? `Loss ${value.textContent}. ${verdict.textContent}` : verdict.textContent);
  }

  // On paper nobody presses anything: what would be found stands there.
  let kept = null;
  const onPaper = () => {
    const { place, tried } = now();
    if (tried.some(Boolean)) return;
    kept = { place, tried };
    save({ tried: everything() });
  };
  const offPaper = () => {
    if (kept) save(kept);
    kept = null;
  };
  addEventListener("beforeprint", onPaper);
  addEventListener("afterprint", offPaper);

  el.append(root);
  draw();
  const unwatch = watch({ loss: draw, place: draw, tried: draw });
  const chosen = { loss: oneOf(() => [...losses.keys()]), place: whole(0, text.length - 1), tried: letters(text.length) };
  const settle = alone({ name: "ask", root, el, model, chosen });
  const asked = (at) => first(() => {
    const [loss, reads] = [...losses].at(at);
    save({ loss, tried: everything(reads) });
  });
  const shut = opens(root, { asked: asked(0), mended: asked(-1) }, { model, chosen });
  return () => {
    shut();
    settle();
    unwatch();
    removeEventListener("beforeprint", onPaper);
    removeEventListener("afterprint", offPaper);
    quick.stop();
    slow.stop();
    spoken.quiet();
  };
}

export default { render };
