// The three steps of a word: tiles read so far, arcs of attention from the last of them, the letter written.

import { hidden, html, svg } from "./_page.js";
import { LETTERS, LETTERS_PER_WORD, SEP, VOCABULARY, letter } from "./_sorter.js";

const percent = (value) => Math.round(100 * value);
const tokenName = (id) => (id === SEP ? "the separator" : VOCABULARY[id]);

const PITCH = 44;
const TILE = { width: 36, height: 50, top: 32 };
const STRIP = { width: 7 * PITCH - 8, height: 2 * TILE.top + TILE.height };

function tile(column, text, { className = "", above = "", below = "" }) {
  const x = column * PITCH;
  const centre = x + TILE.width / 2;
  const { top, height, width } = TILE;
  const small = { x: centre, class: "abc-small", "text-anchor": "middle" };
  return svg(
    "g",
    { class: `abc-tile ${className}` },
    svg("rect", { x: x + 0.5, y: top + 0.5, width: width - 1, height: height - 1, rx: 3 }),
    svg("text", { ...small, y: top + 13 }, above),
    svg("text", { x: centre, y: top + 31, class: "abc-letter", "text-anchor": "middle" }, text),
    svg("text", { ...small, y: top + height - 7 }, below),
  );
}

/** An arc from one tile to an earlier one, above or below; to itself it is a small loop. */
function arc(from, to, weight, above) {
  const spread = from === to ? 7 : 0;
  const x1 = from * PITCH + TILE.width / 2 + spread;
  const x2 = to * PITCH + TILE.width / 2 - spread;
  const edge = above ? TILE.top : TILE.top + TILE.height;
  const bend = (above ? -1 : 1) * (from === to ? 16 : 14 + 5 * (from - to));
  return svg("path", {
    d: `M${x1} ${edge} C${x1} ${edge + bend} ${x2} ${edge + bend} ${x2} ${edge}`,
    class: "abc-arc",
    "stroke-width": (0.4 + 5.6 * weight).toFixed(2),
    opacity: (0.12 + 0.88 * weight).toFixed(3),
  });
}

function strip({ context, attention, choice }, right) {
  const last = context.length - 1;
  const parts = [];
  attention.forEach((row, h) => {
    const above = h % 2 === 0;
    row.forEach((weight, t) => parts.push(arc(last, t, weight, above)));
  });
  context.forEach((id, t) => {
    const names = [id === choice && "abc-same", t === last && "abc-current"];
    parts.push(
      tile(t, VOCABULARY[id], {
        className: names.filter(Boolean).join(" "),
        above: attention.length > 0 ? `${percent(attention[0][t])}` : "",
        below: attention.length > 1 ? `${percent(attention[1][t])}` : "",
      }),
    );
  });
  parts.push(
    tile(last + 1, letter(choice), {
      className: right ? "abc-written" : "abc-written abc-wrong",
      below: right ? "✓" : "✗",
    }),
  );
  const x = (last + 1) * PITCH - 8;
  attention.slice(0, 2).forEach((_, h) => {
    const y = h === 0 ? TILE.top - 12 : TILE.top + TILE.height + 19;
    parts.push(svg("text", { x, y, class: "abc-small" }, `head ${h + 1}, %`));
  });
  return parts;
}

function inWords({ context, probabilities, attention, choice }, i, right) {
  const odds = LETTERS.map((name, n) => `${name} ${probabilities[n + 1].toFixed(3)}`).join(", ");
  const heads = attention.map((row, h) => {
    const looks = row.map((weight, t) => `${percent(weight)}% at ${tokenName(context[t])}`);
    return `Head ${h + 1} looks ${looks.join(", ")}.`;
  });
  const verdict = right ? "right" : "wrong";
  return `Step ${i + 1} writes ${letter(choice)}, ${verdict}. Probabilities: ${odds}. ${heads.join(" ")}`;
}

/** The three steps as a list; `show` fills it. */
export function stepList() {
  const rows = Array.from({ length: LETTERS_PER_WORD }, () => {
    const words = hidden();
    const picture = svg("svg", {
      class: "abc-strip",
      viewBox: `0 0 ${STRIP.width} ${STRIP.height}`,
      "aria-hidden": "true",
    });
    const bars = LETTERS.map((name) => {
      const fill = html("span", { class: "attn-fill" });
      const value = html("span", { class: "abc-value" });
      const row = html(
        "div",
        { class: "abc-bar" },
        html("span", {}, name),
        html("span", { class: "abc-track" }, fill),
        value,
      );
      return { row, fill, value };
    });
    const chart = html("div", { class: "abc-bars", "aria-hidden": "true" });
    chart.append(...bars.map((bar) => bar.row));
    const item = html("li", { class: "abc-step", tabindex: "0" }, words, picture, chart);
    return { item, words, picture, bars };
  });
  const list = html("ol", { class: "abc-steps" });
  list.append(...rows.map((row) => row.item));

  function show(steps, answer) {
    rows.forEach(({ words, picture, bars }, i) => {
      const step = steps[i];
      const right = letter(step.choice) === answer[i];
      words.textContent = inWords(step, i, right);
      picture.replaceChildren(...strip(step, right));
      bars.forEach(({ row, fill, value }, n) => {
        const p = step.probabilities[n + 1];
        fill.style.transform = `scaleX(${p})`;
        value.textContent = p.toFixed(3);
        row.classList.toggle("abc-chosen", step.choice === n + 1);
      });
    });
  }
  return { list, show };
}
