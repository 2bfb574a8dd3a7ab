// What each character of a string costs the model, beside what it costs the best predictor; and what moves
// when one character is another, is put in or taken out.

import {
  arrows,
  board,
  button,
  html,
  number,
  plural,
  refuse,
  rove,
  svg,
  textBox,
} from "./_page.js";
import { bestPredictor, losses } from "./_dialectical_task.js";
import { FROM_BEFORE, NAMES, PAD, VOCABULARY, glyphOf, unknownIn } from "./_dialectical_text.js";

export const REPLACEMENTS = [..."()ab "];
const LONGEST_TYPED = 1e4; // no more is looked at
const HOW_TO_TYPE = "Write with ( ) a b c and spaces; ␣ is a space, ■ the end.";
const HOW_TO_CHANGE = "Change a late character: does any prediction before it move?";
const NO_CHANGE = 1e-9; // nats; rounding is far below, and what a model reads is far above

/** What is wrong with a string that is to be predicted, in a sentence; null if nothing is. */
export function unfit(text, context) {
  const characters = Array.from(text.slice(0, LONGEST_TYPED));
  if (characters.length < 2) {
    return "Write at least two characters: nothing comes before the first to predict it from.";
  }
  const stranger = unknownIn(characters);
  if (stranger) return stranger;
  return characters.length > context
    ? `Write at most ${context} characters: the model reads no more.`
    : null;
}

/** The two mean losses, over all characters that have both; null where none has. */
function means({ model, best }) {
  const both = model.flatMap((loss, i) => (loss === null || best[i] === null ? [] : [i]));
  if (!both.length) return null;
  const mean = (values) => both.reduce((sum, i) => sum + values[i], 0) / both.length;
  return { model: mean(model), best: mean(best), count: both.length };
}

/** By how much the loss of each character before the changed one has moved; 0 from there on. */
export const moves = (before, now, place) =>
  now.map((loss, i) => {
    const by = i > 0 && i < place ? loss - before[i] : 0;
    return Math.abs(by) > NO_CHANGE ? by : 0;
  });

/** How far something has moved: two digits alone would say of little that it is nothing. */
const inNats = (by) => `${by < 0.005 ? by.toPrecision(1) : number(by)} nats`;

const readAs = (character) => (character === " " ? "a space" : character);

/**
 * The one character in which two strings differ: {place, from, to}, from 0; `from` is null if it was put
 * in, `to` if it was taken out. Null if more differs, or nothing.
 */
export function difference(before, now) {
  const [was, is] = [[...before], [...now]];
  let place = 0;
  while (place < was.length && was[place] === is[place]) place++;
  const rest = (characters, from) => characters.slice(from).join("");
  const [taken, put] = [was.length >= is.length, is.length >= was.length].map(Number);
  const same = was.length + put === is.length + taken && rest(was, place + taken) === rest(is, place + put);
  if (before === now || !same) return null;
  return { place, from: taken ? was[place] : null, to: put ? is[place] : null };
}

/** What a change of one character did to what had been predicted before it. */
function tellMoves(moved, { place, from, to }) {
  const sizes = moved.filter(Boolean).map(Math.abs);
  const earlier = Math.max(0, place - 1);
  const how =
    from === null
      ? `${readAs(to)} was put in`
      : to === null
        ? `${readAs(from)} was taken out`
        : `${readAs(from)} became ${readAs(to)}`;
  const what = `Character ${place + 1}: ${how}.`;
  if (!earlier) return `${what} Nothing was predicted before it.`;
  const moving = `${what} ${sizes.length} of ${plural(earlier, "earlier prediction")} moved`;
  return sizes.length
    ? `${moving}, the most by ${inNats(Math.max(...sizes))}: the model had read ahead.`
    : `${moving}.`;
}

/** How the model's mean stands to the best possible one. */
function tellMeans(mean) {
  if (!mean) return "There is no best loss to hold the model's against.";
  if (mean.model < mean.best) {
    return "Below the best predictor. On a single string that may be luck.";
  }
  return `The model pays ${number(mean.model - mean.best)} nats a character more than the best predictor must.`;
}

function tellImpossible(tokens, impossible, longest) {
  if (impossible < 0) return "";
  const character = VOCABULARY[tokens[impossible]];
  const why =
    impossible >= longest
      ? `its strings end after ${longest} characters`
      : character === "c"
        ? "c is in the vocabulary, and no string holds it"
        : `${readAs(character)} cannot be character ${impossible + 1}`;
  return `The task cannot write this: ${why}. From there on there is no best loss.`;
}

export function lossesView({ uid, model, save, network, about }) {
  let shown = null; // {text, edit, tokens, before, now, moved}
  let best = null; // {task, predict}

  const message = html("p", { class: "attn-message", id: `${uid}-fit`, role: "status" });
  const box = textBox({
    uid,
    name: "text",
    label: "Your string",
    described: `${uid}-fit`,
    oninput: () => {
      const text = box.input.value;
      if (unfit(text, network().config.context) || text === shown?.text) draw();
      else save({ text, before: shown?.text ?? "", place: -1, replacement: "" });
    },
  });

  /** The legend and the means in one. */
  const key = (className) => {
    const what = html("span", { class: "dh-key-name" });
    const value = html("strong", {});
    const node = html(
      "p",
      { class: `dh-key ${className}` },
      html("span", { class: "dh-swatch", "aria-hidden": "true" }),
      what,
      value,
    );
    return { node, what, value };
  };
  const ours = key("dh-key-model");
  const theirs = key("dh-key-best");
  theirs.what.textContent = "the best predictor";
  const unit = html("p", { class: "attn-help" });
  const verdict = html("p", { class: "dh-verdict dh-on-means" });

  // --- the string with its losses

  const cells = html("span", {
    class: "dh-cells dh-typed",
    role: "toolbar",
    "aria-label": "The string, character by character",
    "aria-describedby": `${uid}-change`,
    onkeydown: (event) => onKey(event),
    onclick: (event) => {
      const i = [...cells.children].indexOf(event.target.closest("button"));
      if (i < 0) return;
      event.stopPropagation();
      rove(cells.querySelector('[tabindex="0"]'), cells.children[i]);
      take(i);
    },
  });
  const end = html("span", { class: "dh-cells dh-unspent" });
  const lines = board((column) => {
    if (cells.children[column]) take(column);
  });
  const lane = lines.lane("dh-losses");
  lines.line("string", "", cells, end);
  const scale = lines.line("loss", "", lane);

  const puts = REPLACEMENTS.map((character) => {
    const node = button(
      glyphOf(VOCABULARY.indexOf(character)),
      () => put(character),
      `Put ${readAs(character)} there`,
    );
    node.classList.add("dh-put");
    return { character, node };
  });
  const back = button("Put back", () => {
    undo();
    cells.querySelector('[tabindex="0"]').focus(); // there is nothing to put back any more
  });
  const place = html("span", { class: "attn-label", id: `${uid}-place` });
  const change = html(
    "div",
    { class: "dh-change", role: "group", "aria-labelledby": `${uid}-place` },
    place,
    ...puts.map(({ node }) => node),
    back,
  );

  const result = html(
    "div",
    {},
    html("div", { class: "dh-keys" }, ours.node, theirs.node, unit),
    verdict,
    lines.node,
    change,
    html(
      "p",
      { class: "attn-help dh-by-keys", id: `${uid}-change` },
      "Arrows move along the string, a character typed takes the place, Escape undoes.",
    ),
  );
  const node = html(
    "div",
    { class: "dh-losses-view" },
    html("div", { class: "attn-controls" }, box.node),
    message,
    result,
  );

  // --- what the reader does

  /** As `save`, and whatever was typed gives way to what is then shown. */
  function alter(values) {
    save(values);
    fill();
    draw();
  }

  const take = (i) => alter(i === model.get("place") ? { place: i } : { place: i, replacement: "" });

  function put(character, i = model.get("place")) {
    alter({ before: "", place: i, replacement: model.get("text")[i] === character ? "" : character });
  }

  /** Undo the one change: what was put in a character's place, or else what was typed. */
  function undo() {
    const [before, replacement] = [model.get("before"), model.get("replacement")];
    alter(before && !replacement ? { text: before, before: "" } : { replacement: "" });
  }

  const along = arrows((i) => rove(cells.querySelector('[tabindex="0"]'), cells.children[i]));

  function onKey(event) {
    const i = [...cells.children].indexOf(event.target);
    if (i < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (VOCABULARY.includes(event.key) && event.key !== VOCABULARY[PAD]) put(event.key, i);
    else if (["Escape", "Backspace", "Delete"].includes(event.key)) undo();
    else if (event.key === "Enter") return; // a button's click follows
    else return along(event);
    event.preventDefault();
  }

  /** Say what the box lacks, if anything; the bars are then of the string before, and nothing is said. */
  function judge() {
    const sentence = unfit(box.input.value, network().config.context);
    message.textContent = sentence
      ? [sentence, shown && FROM_BEFORE].filter(Boolean).join(" ")
      : tellImpossible(shown.tokens, shown.now.impossible, best.longest) || HOW_TO_TYPE;
    message.classList.toggle("attn-wrong", Boolean(sentence));
    refuse(box.input, Boolean(sentence));
    return !sentence;
  }

  // --- drawing

  const tokensOf = (text) => [...text].map((character) => VOCABULARY.indexOf(character));

  /** The string that is shown, and the one that it was before the reader's last change. */
  function strings() {
    const [text, before] = [model.get("text"), model.get("before")];
    const [i, to] = [model.get("place"), model.get("replacement")];
    const token = VOCABULARY.indexOf(to);
    if (i < 0 || i >= text.length || token < 0 || token === PAD) return { now: text, before };
    return { now: text.slice(0, i) + to + text.slice(i + 1), before: text };
  }

  function compute() {
    const { now: text, before: was } = strings();
    if (unfit(text, network().config.context)) return;
    const task = model.get("task");
    if (best?.task !== task) best = { task, predict: bestPredictor(task), longest: task.max_length - 1 };
    const edit = unfit(was, network().config.context) ? null : difference(was, text);
    const tokens = tokensOf(text);
    const cost = (of) => losses(network(), best.predict, of, best.longest);
    const now = cost(tokens);
    const before = edit ? cost(tokensOf(was)) : now;
    const moved = edit ? moves(before.model, now.model, edit.place) : now.model.map(() => 0);
    shown = { text, edit, tokens, before, now, moved };
  }

  function drawCells({ tokens, now, before, edit, moved }) {
    const at = model.get("place");
    const focusable = [...cells.children].findIndex((cell) => cell.tabIndex === 0);
    const stop = focusable >= 0 && focusable < tokens.length ? focusable : Math.max(0, Math.min(at, tokens.length - 1));
    while (cells.children.length > tokens.length) cells.lastChild.remove();
    while (cells.children.length < tokens.length) {
      cells.append(html("button", { type: "button", class: "dh-cell" }));
    }
    tokens.forEach((token, i) => {
      const cell = cells.children[i];
      cell.textContent = glyphOf(token);
      cell.classList.toggle("dh-changed", edit?.place === i && edit.to !== null);
      cell.classList.toggle("dh-moved", moved[i] !== 0);
      cell.setAttribute("aria-pressed", i === at);
      cell.setAttribute("tabindex", i === stop ? "0" : "-1");
      const was = moved[i] ? `, ${number(before.model[i])} before the change` : "";
      const what = NAMES[token] ?? VOCABULARY[token];
      const cost = i ? `${tellCost(now, i)}${was}` : "nothing predicts it";
      cell.setAttribute("aria-label", `${what} at ${i + 1}: ${cost}`);
    });
    const ended = now.model.length > tokens.length;
    end.replaceChildren();
    if (ended) {
      const label = `the end: ${tellCost(now, tokens.length)}`;
      end.append(html("span", { class: "dh-cell", role: "img", "aria-label": label }, "■"));
    }
  }

  const tellCost = ({ model: loss, best: least }, i) =>
    `the model's loss ${number(loss[i])} nats, ` +
    (least[i] === null ? "no best loss" : `the best predictor's ${number(least[i])}`);

  /** Pairs of bars, the model's at the left; lines at whole nats; dashed, what a moved one was. */
  function drawLosses({ now, before, moved }, here) {
    const values = [...now.model, ...now.best, ...before.model.filter((_, i) => moved[i])];
    const top = Math.max(2, ...values.filter(Number.isFinite)) * 1.04;
    const columns = now.model.length;
    const parts = [];
    for (let nat = 1; nat < top; nat++) {
      parts.push(svg("path", { class: "dh-nat", d: `M0 ${top - nat}H${columns}` }));
    }
    now.model.forEach((loss, i) => {
      if (loss === null) return;
      const least = now.best[i];
      const block = (x, height, className) =>
        svg("rect", { class: className, x: i + x, y: top - height, width: 0.36, height });
      parts.push(block(0.12, Math.min(top, Math.max(0, loss)) || 0, "dh-model-loss"));
      if (least !== null) {
        parts.push(block(0.52, least, "dh-best-loss"));
        parts.push(svg("path", { class: "dh-best-line", d: `M${i + 0.52} ${top - least}h0.36` }));
      }
      if (moved[i]) parts.push(block(0.12, before.model[i], "dh-was"));
    });
    lines.fill(lane, top, here, ...parts);
    scale.textContent = moved.some(Boolean) ? "dashed: before the change" : "a line for each nat";
  }

  function drawChange({ edit, tokens }) {
    const at = model.get("place");
    const taken = at >= 0 && at < tokens.length;
    place.textContent = taken ? `character ${at + 1} becomes` : "press a character to change it";
    for (const { character, node: put } of puts) {
      put.disabled = !taken;
      put.setAttribute("aria-pressed", taken && VOCABULARY[tokens[at]] === character);
    }
    back.disabled = !edit;
  }

  function draw() {
    compute();
    const fits = judge();
    result.hidden = !shown;
    if (!shown) return;
    const { now, edit, tokens, moved } = shown;
    ours.what.textContent = `the model, ${about().name}`;
    const mean = means(now);
    ours.value.textContent = mean ? number(mean.model) : "–";
    theirs.value.textContent = mean ? number(mean.best) : "–";
    unit.textContent = mean ? `nats a character, mean of ${mean.count} after the first` : "nats a character";
    verdict.textContent = !fits
      ? ""
      : edit
        ? tellMoves(moved, edit)
        : `${tellMeans(mean)} ${HOW_TO_CHANGE}`;
    // Of the corrected model it is luck to be below, and no alarm.
    const alarming = edit ? moved.some(Boolean) : mean?.model < mean?.best && about().published;
    verdict.classList.toggle("attn-wrong", Boolean(fits && alarming));
    lines.resize(now.model.length);
    const at = model.get("place");
    const here = at >= 0 && at < tokens.length ? at : -1;
    drawCells(shown);
    drawLosses(shown, here);
    drawChange(shown);
  }

  function fill() {
    box.input.value = strings().now;
  }

  /** What to say to who does not see it. */
  const told = () =>
    !shown || box.input.getAttribute("aria-invalid")
      ? ""
      : shown.edit
        ? verdict.textContent
        : `${tellKeys()} ${verdict.textContent}`;
  const tellKeys = () =>
    `${ours.what.textContent}: ${ours.value.textContent}, the best predictor ${theirs.value.textContent} nats a character.`;

  return { node, draw, fill, told };
}
