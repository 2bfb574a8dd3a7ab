// Figures that listen: what a reader guessed and trained is drawn into them, named "you", with a sentence.
//
// A figure is drawn once, in Python (attn_notes.figures.Picture). It says in data-listens whose guesses and
// runs it takes, and in data-axes where its axes are in the drawing and what belongs into them. It then says
// in data-yours how many runs are drawn. A table of claims listens as well (_mine.js).

import { button, html, svg, wholly } from "./_page.js";
import { judgeIn } from "./_mine.js";
import { middle } from "./_rank_test.js";
import { seriesAt, watchYours, yours } from "./_yours.js";

const LISTENERS = "[data-listens]";
const HEARD = Symbol.for("attn_notes.listening");

const SCALES = {
  linear: (value) => value,
  log: (value) => Math.log10(value),
};

/** Where a value of an axis lies in the drawing, kept inside its box. */
export function onAxis({ scale, from, to }, value) {
  const [low, high, at] = [...from, value].map(SCALES[scale]);
  const share = (at - low) / (high - low);
  return to[0] + Math.min(Math.max(share, 0), 1) * (to[1] - to[0]);
}

/** From when on which share of so many has not arrived, in percent: the corners of a staircase to `end`. */
export function staircase(arrivals, end) {
  const rows = [[0, 100]];
  let left = arrivals.length;
  for (const at of arrivals.filter((step) => step !== null && step <= end).sort((a, b) => a - b)) {
    rows.push([at, (100 * left) / arrivals.length]);
    left--;
    rows.push([at, (100 * left) / arrivals.length]);
  }
  rows.push([end, (100 * left) / arrivals.length]);
  return rows;
}

/** The first figure of a lesson that draws runs of a kind, if one does. */
export const shownIn = (lesson, kind) =>
  [...document.querySelectorAll(`figure${LISTENERS}`)].find(
    ({ dataset }) => dataset.listens === lesson && JSON.parse(dataset.axes).some(({ runs }) => kind in runs),
  );

/** Show the reader's own in every figure and table of a lesson, now and whenever it changes. The page does it once. */
export function listenFor(lesson) {
  const heard = (document[HEARD] ??= new Set());
  if (heard.has(lesson)) return;
  heard.add(lesson);
  const mine = () => [...document.querySelectorAll(LISTENERS)].filter((each) => each.dataset.listens === lesson && wholly(each));
  const draw = () =>
    mine().forEach((each) => (each.dataset.claims ? judgeIn(each, yours(lesson).runs) : drawInto(each, lesson)));
  watchYours(lesson, draw);
  document.addEventListener("DOMContentLoaded", draw);
  draw();
  // A notebook's figures come when their cells run; a page's, while it is still being read.
  new MutationObserver((changes) => {
    const came = changes.flatMap(({ addedNodes }) => [...addedNodes]);
    if (came.some((node) => node.matches?.(LISTENERS) || node.querySelector?.(LISTENERS))) draw();
  }).observe(document.body, { childList: true, subtree: true });
}

function drawInto(figure, lesson) {
  const drawing = figure.querySelector("svg.attn-drawing");
  if (!drawing) return; // only its picture is there
  const { guesses, runs, forget, takeBack } = yours(lesson);
  const axes = JSON.parse(figure.dataset.axes);
  const layers = axes.map((each) => ({ ...each, mine: runs.filter(({ kind }) => kind in each.runs) }));
  drawing.querySelector(".attn-yours")?.remove();
  const layer = svg("g", { class: "attn-yours" });
  const nameAt = namesIn(drawing, axes);
  for (const each of layers) {
    layer.append(...FORMS[each.form](each, nameAt), ...guessesIn(each, guesses, nameAt));
  }
  if (layer.childElementCount) drawing.append(layer);
  const drawn = new Set(layers.flatMap(({ mine }) => mine));
  figure.dataset.yours = drawn.size;
  const asked = axes.some((each) => Object.keys(each.guesses).some((name) => name in guesses));
  const mine = drawn.size > 0 || asked;
  tellBelow(figure, sentencesOf(layers, asked), mine, mine ? forget : takeBack);
}

// --- what is drawn

const strokeOf = ({ colour }, rows, more = {}) =>
  svg("polyline", {
    points: rows.map((point) => point.map((at) => at.toFixed(1)).join(",")).join(" "),
    style: `fill: none; stroke: ${colour}; stroke-width: 1.8; stroke-linejoin: round`,
    ...more,
  });

const LETTER = { width: 6, height: 11 }; // of a name, about
const SCALE = 30; // what the numbers of an axis take up beside it, about
const right = ([x, , width]) => x + width;

/** Where names of the reader's marks may stand in a drawing: none over another, none in the axes beside its own. */
function namesIn(drawing, axes) {
  const { width, height } = drawing.viewBox.baseVal;
  const taken = [];
  const starts = axes.map(({ x }) => Math.min(...x.to) - SCALE);
  const free = (box) =>
    taken.every(
      (other) =>
        right(box) < other[0] || right(other) < box[0] || Math.abs(box[1] - other[1]) >= LETTER.height,
    );
  /** The name of a point, beside it or as near below or above as it can be. */
  return (own, [x, y], text) => {
    const long = LETTER.width * text.length;
    const edge = Math.min(width, ...starts.filter((start) => start >= Math.max(...own.x.to) - SCALE));
    const left = x + 5 + long <= edge ? x + 5 : Math.max(2, x - 5 - long);
    const steps = Array.from({ length: 12 }, (_, i) => (i % 2 ? 1 : -1) * LETTER.height * ((i + 1) >> 1));
    const boxes = steps
      .map((by) => [left, y - 4 + by, long])
      .filter((box) => box[1] > LETTER.height && box[1] < height - 2);
    const box = boxes.find(free) ?? boxes[0] ?? [left, y, long];
    taken.push(box);
    const style =
      `fill: ${own.colour}; font: 600 10px system-ui, sans-serif; paint-order: stroke; stroke-width: 3px; ` +
      "stroke: var(--pst-color-background, var(--jp-layout-color0, #fff))";
    return svg("text", { x: box[0].toFixed(1), y: box[1].toFixed(1), style }, text);
  };
}

const dotOf = ({ colour }, [x, y]) =>
  svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 4, style: `fill: ${colour}` });

/** What is said of a value that lies beyond an axis, and is drawn at its end. */
const beyond = ({ from }, value) =>
  value < Math.min(...from) || value > Math.max(...from) ? `, ${shortly(value)}: beyond the axis` : "";

/** A point of the axes in the drawing. */
const placeIn = (axes, [x, y]) => [onAxis(axes.x, x), onAxis(axes.y, y)];

/** So that a band can be seen through its curves. */
const faint = (curves) => (curves.length > 4 ? 0.25 : 0.5);

/** What of a series the axes show: a run may be longer than those of the book. */
const rowsInSight = ({ x: { from } }, rows) => rows.filter(([x]) => x >= Math.min(...from) && x <= Math.max(...from));

/** How the lines of a first, second, … kind are dashed: all have the reader's one colour. */
const DASHES = ["none", "7 3", "2 2", "9 3 2 3"];
const dashed = (i) => ({ "stroke-dasharray": DASHES[i % DASHES.length] });

/** What a kind's runs are named by: "you", with the kind where the axes have others of the reader's. */
const called = ({ mine, runs }, kind) =>
  mine.every((run) => run.kind === kind) ? "you" : `you: ${runs[kind]}`;

/** The runs of each kind that there are, with something to draw. */
const byKind = ({ mine, runs }, has) =>
  Object.keys(runs)
    .map((kind) => [kind, mine.filter((run) => run.kind === kind && has(run))])
    .filter(([, those]) => those.length);

const FORMS = {
  line(axes, nameAt) {
    const kinds = byKind(axes, (run) => rowsInSight(axes, run.series[axes.series] ?? []).length > 1);
    return kinds.flatMap(([kind, those], i) => {
      const curves = those.map((run) => rowsInSight(axes, run.series[axes.series]).map((row) => placeIn(axes, row)));
      const last = curves.at(-1);
      return [
        ...curves.map((rows) => strokeOf(axes, rows, { ...dashed(i), "stroke-opacity": rows === last ? 1 : faint(curves) })),
        nameAt(axes, last.at(-1), called(axes, kind)),
      ];
    });
  },
  dots(axes, nameAt) {
    const rows = Object.keys(axes.runs);
    return byKind(axes, (run) => run.series[axes.series]?.length).flatMap(([kind, those]) => {
      const values = those.map((run) => run.series[axes.series].at(-1)[1]);
      const places = values.map((value) => placeIn(axes, [value, rows.indexOf(kind)]));
      return [
        ...places.map((place) => dotOf(axes, place)),
        nameAt(axes, places.at(-1), `you${beyond(axes.x, values.at(-1))}`),
      ];
    });
  },
  arrivals(axes, nameAt) {
    return byKind(axes, () => true).flatMap(([kind, those], i) => {
      const end = Math.min(axes.x.from[1], ...those.map(({ steps }) => steps)); // so far all went
      const rows = staircase(those.map(({ arrived }) => arrived), end).map((row) => placeIn(axes, row));
      const first = rows.findIndex(([, y]) => y !== rows[0][1]);
      return [
        strokeOf(axes, rows, dashed(i + 1)),
        nameAt(axes, rows[first < 0 ? rows.length - 1 : first], `you: ${axes.runs[kind]}`),
      ];
    });
  },
};

/** A guess: a diamond where it is one coordinate of a point, and else a line at its height. */
function guessesIn(axes, guesses, nameAt) {
  const asked = Object.entries(axes.guesses).filter(([name]) => name in guesses);
  return asked.flatMap(([name, [x, y]]) => {
    const guess = guesses[name];
    const words = asked.length > 1 ? `your guess: ${name}` : "your guess";
    if (x === null && y === null) {
      const across = axes.x.to.map((x) => [x, onAxis(axes.y, guess)]);
      const far = beyond(axes.y, guess);
      return [strokeOf(axes, across, { "stroke-dasharray": "2 3" }), nameAt(axes, across[0], `${words}${far}`)];
    }
    const place = placeIn(axes, [x ?? guess, y ?? guess]);
    const [left, top] = place;
    const d = `M${left - 5} ${top}l5 -5l5 5l-5 5Z`;
    const style = `fill: ${axes.colour}; fill-opacity: 0.25; stroke: ${axes.colour}`;
    const far = beyond(x === null ? axes.x : axes.y, guess);
    return [svg("path", { d, style }), nameAt(axes, place, `${words}${far}`)];
  });
}

// --- what is said

/** What is true of the reader's runs in a figure, kind by kind, beside what the book's came to. */
function sentencesOf(layers, asked) {
  const told = layers.flatMap((layer) =>
    byKind(layer, () => true).flatMap(([kind, those]) => [ofKind(those, layer), layer.recorded[kind] ?? ""]),
  );
  const found = [...new Set(told)].filter(Boolean).join(" ");
  if (found) return found;
  const wanted = layers.some(({ runs }) => Object.keys(runs).length > 0);
  const guess = asked ? "Your guess is in the picture." : "";
  if (!wanted) return guess || "Guess at the top of the page, and your guess is drawn in here.";
  return `${guess} Train one in the page, and it is drawn in here.`.trim();
}

/** One kind's runs: what the figure reads of them, the median of several; else how many met the criterion. */
function ofKind(runs, { series, reads, unit }) {
  const { name } = runs[0];
  const other = runs.filter(({ taught }) => !taught).length;
  const some = other === runs.length ? "" : `${other} `;
  const aside = other ? ` (${some}at other settings than the lesson's)` : "";
  const who = runs.length === 1 ? `seed ${runs[0].seed}` : `${runs.length} runs`;
  const found = Object.entries(reads).map(([what, x]) => {
    const values = runs.map((run) => seriesAt(run, series, x)).filter(Number.isFinite);
    return values.length ? `${what} ${measured(middle(values), unit)}` : "";
  });
  const words = found.filter(Boolean).join(", ");
  if (words) return `You, ${name}, ${who}${aside}: ${words}${runs.length > 1 ? " (medians)" : ""}.`;
  if (runs.length === 1) return `You, ${name}, ${who}${aside}: ${runs[0].said}`;
  const met = runs.filter((run) => run.met);
  const steps = met.map(({ arrived }) => arrived);
  const when = met.length > 1 ? `, the first from step ${Math.min(...steps)}, the last from ${Math.max(...steps)} on` : "";
  return `You, ${name}, ${who}${aside}: ${met.length} of ${runs.length} ${runs[0].criterion}${when}.`;
}

/** A number with its unit: what is above something, if it is negative, lies below it. */
const measured = (value, unit) =>
  value < 0 && unit.includes("above") ? shortly(-value) + unit.replace("above", "below") : shortly(value) + unit;

const shortly = (value) => `${Number(value.toPrecision(3))}`.replace("-", "−");

function tellBelow(figure, sentence, mine, act) {
  let line = figure.querySelector(".attn-yours-said");
  if (!line) {
    line = html("p", { class: "attn-yours-said", role: "status" });
    figure.append(line);
  }
  const text = html("span", {}, sentence);
  figure.toggleAttribute("data-mine", mine);
  const words = mine ? "Forget mine: guesses and runs" : "Undo: have guesses and runs back";
  const held = line.contains(document.activeElement); // whoever pressed one goes on with the other
  line.replaceChildren(text, ...(act ? [" ", button(words, act)] : []));
  if (held) line.querySelector("button")?.focus();
}
