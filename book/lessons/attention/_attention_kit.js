// What the pictures are drawn of: numbers as coloured cells, tokens in boxes, arcs, and things that one can point at,
// touch, or reach with the arrow keys.

import { number, svg } from "./_page.js";

export const upTo = (n) => Array.from({ length: n }, (_, i) => i);
export const spoken = (sign) => (sign === "|" ? "bar" : sign);
/** As part of a sentence: “of a”, “of the bar”. */
export const withArticle = (sign) => (sign === "|" ? "the bar" : sign);
export const percent = (share) => `${Math.round(share * 100)} %`;
/** As a picture has no room for it: 99.98 %, 0.03 %. */
export const exactly = (share) => `${(100 * share).toFixed(share > 0.995 || share < 0.005 ? 2 : 1)} %`;
/** A number, without a sign where nothing but zeros is left of it. */
export const figure = (value, digits = 1) => number(Number(value.toFixed(digits)) + 0, digits);
export const ordinal = (n) => ["first", "second", "third"][n];

/** An SVG element; what is null or false among its children is left out. */
export const draws = (tag, attributes = {}, ...children) => svg(tag, attributes, ...children.flat(Infinity).filter(Boolean));
export const group = (...children) => draws("g", {}, ...children);
export const words = (x, y, text, kind = "", more = {}) => draws("text", { x, y, class: kind, ...more }, text);
export const line = (x1, y1, x2, y2, kind = "") => draws("line", { x1, y1, x2, y2, class: kind });
export const box = (x, y, width, height, kind, more = {}) => draws("rect", { x, y, width, height, class: kind, ...more });
export const path = (d, kind, more = {}) => draws("path", { d, class: kind, ...more });
export const arrowAt = (x, y, angle) =>
  path("M0 0 L-7 -4 L-7 4 Z", "whole-ink", { transform: `translate(${x} ${y}) rotate(${angle})` });

/** How strong a colour is, as a style that the sheet mixes. */
const strength = (part) => ({ style: `--part: ${Math.round(100 * Math.min(1, Math.max(0, part)))}%` });
/** A share as the colour of its head. */
export const shareOf = (head, share) => ({ kind: `whole-head-${head + 1}`, more: strength(share) });
/** A number as a colour: orange above zero, blue below. */
export const toneOf = (value, most) => ({ kind: value < 0 ? "whole-below" : "whole-above", more: strength(Math.abs(value) / most) });

/** A number as a coloured cell, with so many digits where there is room; `true` is one. */
export function cell(x, y, width, height, value, most, digits = 0) {
  const { kind, more } = toneOf(value, most);
  const strong = Math.abs(value) / most > 0.62 ? "whole-on-strong" : "";
  const room = digits && width > 25;
  return group(
    box(x + 0.75, y, width - 1.5, height, `${kind} whole-mixed`, { rx: 2, ...more }),
    room && words(x + width / 2, y + height / 2 + 4, figure(value, Number(digits)), `whole-digits ${strong}`),
  );
}

/** A sum as one writes it, of numbers or of numbers times weights: “0.34 × 1.20 − 0.22 × 0.50”. */
export const sumOf = (numbers, weights = null) =>
  numbers
    .map((value, n) => `${n ? (value < 0 ? " − " : " + ") : ""}${figure(n ? Math.abs(value) : value, 2)}${weights ? ` × ${figure(weights[n], 2)}` : ""}`)
    .join("");

export const strip = (x, y, width, height, row, most, digits) =>
  group(row.map((value, e) => cell(x + e * width, y, width, height, value, most, digits)));

/** A token in its box; the place that asks is marked. */
export function token(x, y, width, height, sign, { place = null, marked = false, faint = false, dashed = false } = {}) {
  return draws(
    "g",
    { class: `whole-token ${marked ? "whole-marked" : ""} ${faint ? "whole-faint" : ""}`, "data-place": place },
    box(x, y, width, height, dashed ? "whole-dashed" : "", { rx: 5 }),
    words(x + width / 2, y + height / 2 + 6, sign, "whole-sign"),
  );
}

/** The line of the place that asks. */
export const band = (x, y, width, height) => box(x, y, width, height, "whole-band", { rx: 6 });

/** Hatched ground: what may not be read, what cannot be reached. `name` makes it the picture's own. */
export const hatching = (name) =>
  draws(
    "defs",
    {},
    draws(
      "pattern",
      { id: name, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      line(0, 0, 0, 6, "whole-hatch"),
    ),
  );
export const hatched = (name, x, y, width, height, rx = 3) => draws("rect", { x, y, width, height, rx, fill: `url(#${name})` });

/**
 * Something to point at, to touch, to reach with the arrow keys: it stands at a row and a column of its picture, and `say`
 * is what is read out of it, in parts of which every second is a number. `ring` [x, y, width, height] goes around it.
 */
export function hot(row, column, ring, say, ...children) {
  return draws(
    "g",
    {
      class: ring ? "whole-hot" : "whole-hot whole-bare",
      role: "img",
      tabindex: -1,
      "data-at": `${row},${column}`,
      "data-say": JSON.stringify([say].flat()),
      "aria-label": [say].flat().join(""),
    },
    ...children,
    ring && box(...ring, "whole-ring", { rx: 4 }),
  );
}

/** As `hot`, and a button: `does` is what pressing it does. */
export function pressed(does, node, on = null) {
  node.setAttribute("role", "button");
  if (on !== null) node.setAttribute("aria-pressed", on);
  node.classList.add("whole-button");
  node.onpress = does;
  return node;
}

/** Arcs from a place to all that it reads, above the line for one head, below for the other. */
export function arcs(centres, y, from, shares, head, most, bold = 1) {
  const sign = head === 0 ? -1 : 1;
  return shares.flatMap((share, at) => {
    if (share < 0.04) return [];
    const [x1, x2] = [centres[from], centres[at]];
    const rise = Math.min(most, (Math.abs(x1 - x2) / 2) * 0.9 + 6);
    const itself = at === from;
    const d = itself
      ? `M${x1 - 7} ${y} C${x1 - 24} ${y + sign * 34} ${x1 + 24} ${y + sign * 34} ${x1 + 7} ${y}`
      : `M${x1} ${y} C${x1} ${y + sign * rise * 1.33} ${x2} ${y + sign * rise * 1.33} ${x2} ${y}`;
    const drawn = group(
      path(d, `whole-arc whole-stroke-${head + 1}`, { "stroke-width": bold * (1 + (itself ? 2 : 7) * share), opacity: 0.3 + 0.7 * share }),
      !itself && draws("circle", { cx: x2, cy: y, r: bold * (2.5 + 3 * share), class: `whole-fill-${head + 1}` }),
    );
    return [{ at, share, itself, drawn, top: y + sign * (itself ? 26 : rise), middle: (x1 + x2) / 2 }];
  });
}
