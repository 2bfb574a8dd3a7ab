// Figures that listen: what a reader guessed and trained is drawn into them, named "you", with a sentence.
//
// A figure is drawn once, in Python (book.kit.figures.Picture). It says in data-listens whose guesses and
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
  log: (value) => Math.log10(Math.max(value, 0)), // what is not above zero lies at the end
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
  const { nameAt, settle } = namesIn(drawing, axes);
  for (const each of layers) {
    layer.append(...FORMS[each.form](each, nameAt), ...guessesIn(each, guesses, nameAt));
  }
  if (layer.childElementCount) drawing.append(layer);
  settle();
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

const LETTER = { width: 6, up: 9, high: 12 }; // of a name, about
const APART = 5; // of a name from its point
const GRID = 3; // on which a place for it is looked for

/** From a point to a box beside it; of those as near, to the one right of it and level with it. */
function distance([x, y], [left, top, wide, high]) {
  const across = Math.max(left - x - APART, x - left - wide - APART, 0);
  const along = Math.max(top - y, y - top - high, 0);
  return Math.hypot(across, along) + Math.hypot(left - x - APART, top + high / 2 - y) / 100;
}
const crosses = (one, [x, y, wide, high]) =>
  one[0] < x + wide && x < one[0] + one[2] && one[1] < y + high && y < one[1] + one[3];

/** Whether a straight line meets a box: what is left of it between the box's sides. */
function meets([[x, y], [toX, toY]], [left, top, wide, high]) {
  let [from, to] = [0, 1];
  for (const [at, by, low, size] of [[x, toX - x, left, wide], [y, toY - y, top, high]]) {
    const ends = by ? [(low - at) / by, (low + size - at) / by] : at > low && at < low + size ? [0, 1] : [2, 2];
    from = Math.max(from, Math.min(...ends));
    to = Math.min(to, Math.max(...ends));
  }
  return from < to;
}

const pairs = (points) => points.slice(1).map((point, i) => [points[i], point]);
const numbersIn = (text) => (text.match(/-?\d[\d.e-]*/g) ?? []).map(Number);
const coupled = (row) => Array.from({ length: row.length >> 1 }, (_, i) => [row[2 * i], row[2 * i + 1]]);

/** What stands in a drawing, in its own units: boxes, and the pieces of its lines. */
function takenIn(drawing) {
  const around = drawing.getBoundingClientRect();
  const scale = drawing.viewBox.baseVal.width / around.width;
  const boxes = [];
  const lines = [];
  for (const each of scale < Infinity ? drawing.querySelectorAll("text, use, path, polyline, circle, image") : []) {
    if (each.closest("defs, clipPath, .attn-yours-name")) continue;
    const { fill, stroke, fillOpacity } = each.style;
    const marks = each.closest(".attn-yours") !== null;
    if (each.tagName === "polyline") lines.push(...pairs(coupled(numbersIn(each.getAttribute("points")))));
    else if (each.tagName === "path" && stroke && stroke !== "none" && !marks) {
      for (const part of each.getAttribute("d").split(/(?=[Mm])/)) lines.push(...pairs(coupled(numbersIn(part))));
    } else if (marks || each.tagName === "text" || (fill !== "none" && !(fillOpacity && fillOpacity < 0.5))) {
      const { left, top, width, height } = each.getBoundingClientRect(); // through a band a name can be read
      boxes.push([(left - around.left) * scale, (top - around.top) * scale, width * scale, height * scale]);
    }
  }
  return { boxes, lines };
}

/** Names of the reader's marks: each as near to its point as it lies on nothing, once all is drawn. */
function namesIn(drawing, axes) {
  const wanted = [];
  const boxOf = ({ x, y }) => [Math.min(...x.to), Math.min(...y.to), Math.abs(x.to[1] - x.to[0]), Math.abs(y.to[1] - y.to[0])];
  function nameAt(own, point, text) {
    const style =
      `fill: ${own.colour}; font: 600 10px system-ui, sans-serif; paint-order: stroke; stroke-width: 3px; ` +
      "stroke: var(--pst-color-background, var(--jp-layout-color0, #fff))";
    const name = svg("text", { class: "attn-yours-name", style }, text);
    wanted.push({ own, point, name });
    return name;
  }
  function settle() {
    const { width } = drawing.viewBox.baseVal;
    const high = LETTER.high;
    const grown = (by) => drawing.setAttribute("viewBox", `0 0 ${width} ${+drawing.dataset.height + by}`);
    drawing.dataset.height ??= drawing.viewBox.baseVal.height;
    grown(0);
    const { boxes, lines } = takenIn(drawing);
    let below = +drawing.dataset.height; // where names go that have no place in it
    for (const { own, point, name } of wanted) {
      const wide = name.getComputedTextLength() || LETTER.width * name.textContent.length;
      const others = axes.map(boxOf).filter((box) => box.join() !== boxOf(own).join());
      const free = (box) =>
        ![...boxes, ...others].some((other) => crosses(box, other)) && !lines.some((line) => meets(line, box));
      const places = [];
      for (let x = 1; x + wide < width; x += GRID) {
        for (let y = 1; y + high < +drawing.dataset.height; y += GRID) places.push([x, y, wide, high]);
      }
      const away = new Map(places.map((box) => [box, distance(point, box)]));
      places.sort((one, other) => away.get(one) - away.get(other));
      const box = places.find(free) ?? [Math.max(1, Math.min(point[0], width - wide)), (below += high) - high, wide, high];
      boxes.push(box);
      name.setAttribute("x", box[0].toFixed(1));
      name.setAttribute("y", (box[1] + LETTER.up).toFixed(1));
    }
    grown(below - drawing.dataset.height);
  }
  return { nameAt, settle };
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
