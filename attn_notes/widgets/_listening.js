// Figures that listen: what a reader guessed and trained is drawn into them, named "you", with a sentence.
//
// A figure is drawn once, in Python (attn_notes.figures.Picture). It says in data-listens whose guesses and
// runs it takes, and in data-axes where its axes are in the drawing and what belongs into them. It then says
// in data-yours how many runs are drawn. A table of claims listens as well (_mine.js).

import { button, html, svg } from "./_page.js";
import { judgeIn } from "./_mine.js";
import { watchYours, yours } from "./_yours.js";

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

/** Show the reader's own in every figure and table of a lesson, now and whenever it changes. The page does it once. */
export function listenFor(lesson) {
  const heard = (document[HEARD] ??= new Set());
  if (heard.has(lesson)) return;
  heard.add(lesson);
  const mine = () => [...document.querySelectorAll(LISTENERS)].filter((each) => each.dataset.listens === lesson);
  const draw = () =>
    mine().forEach((each) => (each.dataset.claims ? judgeIn(each, yours(lesson).runs) : drawInto(each, lesson)));
  watchYours(lesson, draw);
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
  const { guesses, runs, forget } = yours(lesson);
  const axes = JSON.parse(figure.dataset.axes);
  const layers = axes.map((each) => ({ ...each, mine: runs.filter(({ kind }) => kind in each.runs) }));
  drawing.querySelector(".attn-yours")?.remove();
  const layer = svg("g", { class: "attn-yours" });
  for (const each of layers) layer.append(...guessesIn(each, guesses), ...FORMS[each.form](each));
  if (layer.childElementCount) drawing.append(layer);
  const drawn = new Set(layers.flatMap(({ mine }) => mine));
  figure.dataset.yours = drawn.size;
  const asked = axes.some((each) => Object.keys(each.guesses).some((name) => name in guesses));
  tellBelow(figure, sentencesOf(layers, asked), drawn.size > 0 || asked ? forget : null);
}

// --- what is drawn

const strokeOf = ({ colour }, rows, more = {}) =>
  svg("polyline", {
    points: rows.map((point) => point.map((at) => at.toFixed(1)).join(",")).join(" "),
    style: `fill: none; stroke: ${colour}; stroke-width: 1.8; stroke-linejoin: round`,
    ...more,
  });

/** Its name beside a point: to the left of it where there is no room to the right. */
function nameAt(axes, [x, y], text) {
  const [, right] = axes.x.to;
  const [bottom, top] = axes.y.to;
  const back = x > right - 7 * text.length;
  const attributes = {
    x: x + (back ? -5 : 5),
    y: Math.min(Math.max(y - 4, Math.min(top, bottom) + 9), Math.max(top, bottom) - 3),
    "text-anchor": back ? "end" : "start",
    style:
      `fill: ${axes.colour}; font: 600 10px system-ui, sans-serif; paint-order: stroke; stroke-width: 3px; ` +
      "stroke: var(--pst-color-background, var(--jp-layout-color0, #fff))",
  };
  return svg("text", attributes, text);
}

const dotOf = ({ colour }, [x, y]) =>
  svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 4, style: `fill: ${colour}` });

/** A point of the axes in the drawing. */
const placeIn = (axes, [x, y]) => [onAxis(axes.x, x), onAxis(axes.y, y)];

/** So that a band can be seen through its curves. */
const faint = (curves) => (curves.length > 4 ? 0.25 : 0.5);

const FORMS = {
  line(axes) {
    const curves = axes.mine.map((run) => run.series[axes.series]?.map((row) => placeIn(axes, row)) ?? []);
    const shown = curves.filter((rows) => rows.length > 1);
    const last = shown.at(-1);
    return [
      ...shown.map((rows) => strokeOf(axes, rows, rows === last ? {} : { "stroke-opacity": faint(shown) })),
      ...(last ? [nameAt(axes, last.at(-1), "you")] : []),
    ];
  },
  dots(axes) {
    const rows = Object.keys(axes.runs);
    const places = axes.mine
      .filter((run) => run.series[axes.series]?.length)
      .map((run) => placeIn(axes, [run.series[axes.series].at(-1)[1], rows.indexOf(run.kind)]));
    return [...places.map((place) => dotOf(axes, place)), ...places.slice(-1).map((p) => nameAt(axes, p, "you"))];
  },
  arrivals(axes) {
    const end = axes.x.from[1];
    return Object.keys(axes.runs).flatMap((kind) => {
      const mine = axes.mine.filter((run) => run.kind === kind);
      if (!mine.length) return [];
      const rows = staircase(mine.map(({ arrived }) => arrived), end).map((row) => placeIn(axes, row));
      const first = rows.findIndex(([, y]) => y !== rows[0][1]);
      return [
        strokeOf(axes, rows, { "stroke-dasharray": "7 3" }),
        nameAt(axes, rows[first < 0 ? rows.length - 1 : first], `you: ${axes.runs[kind]}`),
      ];
    });
  },
};

/** A guess: a diamond where it is one coordinate of a point, and else a line at its height. */
function guessesIn(axes, guesses) {
  const asked = Object.entries(axes.guesses).filter(([name]) => name in guesses);
  return asked.flatMap(([name, [x, y]]) => {
    const guess = guesses[name];
    const words = asked.length > 1 ? `your guess: ${name}` : "your guess";
    if (x === null && y === null) {
      const across = axes.x.to.map((x) => [x, onAxis(axes.y, guess)]);
      return [strokeOf(axes, across, { "stroke-dasharray": "2 3" }), nameAt(axes, across[0], words)];
    }
    const place = placeIn(axes, [x ?? guess, y ?? guess]);
    const [left, top] = place;
    const d = `M${left - 5} ${top}l5 -5l5 5l-5 5Z`;
    const style = `fill: ${axes.colour}; fill-opacity: 0.25; stroke: ${axes.colour}`;
    return [svg("path", { d, style }), nameAt(axes, place, words)];
  });
}

// --- what is said

const enumerated = (words) => (words.length < 3 ? words.join(" and ") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

/** What is true of the reader's runs in a figure, kind by kind, beside what the book's came to. */
function sentencesOf(layers, asked) {
  const told = [];
  for (const { runs: names, mine, recorded } of layers) {
    for (const kind of Object.keys(names)) {
      const those = mine.filter((run) => run.kind === kind);
      if (!those.length) continue;
      told.push(ofKind(those), recorded[kind] ?? "");
    }
  }
  const found = [...new Set(told)].filter(Boolean).join(" ");
  if (found) return found;
  const wanted = layers.some(({ runs }) => Object.keys(runs).length > 0);
  const guess = asked ? "Your guess is in the picture." : "";
  if (!wanted) return guess || "Guess at the top of the page, and your guess is drawn in here.";
  return `${guess} Train one in the page, and it is drawn in here.`.trim();
}

/** One kind's runs: each in words if they are few, else how many of them met the criterion. */
function ofKind(runs) {
  const { name } = runs[0];
  const other = runs.filter(({ taught }) => !taught).length;
  const aside = other ? ` (${other === runs.length ? "" : `${other} `}at other settings than the lesson's)` : "";
  const seeds = enumerated([...new Set(runs.map(({ seed }) => seed))].map(String));
  if (runs.length === 1) return `You, ${name}, seed ${seeds}${aside}: ${runs[0].said}`;
  const met = runs.filter((run) => run.met).length;
  const steps = runs.filter((run) => run.met && run.arrived !== null).map(({ arrived }) => arrived);
  const when = steps.length ? ` from step ${Math.min(...steps)} on at the soonest, ${Math.max(...steps)} at the latest` : "";
  return `You, ${name}, ${runs.length} runs${aside}: ${met} of ${runs.length} ${runs[0].criterion}${when}.`;
}

function tellBelow(figure, sentence, forget) {
  let line = figure.querySelector(".attn-yours-said");
  if (!line) {
    line = html("p", { class: "attn-yours-said", role: "status" });
    figure.append(line);
  }
  const text = html("span", {}, sentence);
  figure.toggleAttribute("data-mine", Boolean(forget));
  line.replaceChildren(text, ...(forget ? [" ", button("Forget mine", forget)] : []));
}
