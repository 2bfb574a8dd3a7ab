// How a query is made, and how queries meet keys: every score, and one of them taken apart. A number of the query can be dragged.

import { follow } from "./_page.js";
import { argmax } from "./_model.js";
import { LETTERS_PER_WORD } from "./_sorter.js";
import { PLACES } from "./_attention_model.js";
import { band, box, cell, draws, figure, group, hatched, hatching, hot, line, ordinal, percent, spoken, strip, sumOf, token, upTo, words } from "./_attention_kit.js";

const HIGHEST = 8.5; // a score of full colour
const DRAGGED = 22; // pixels to the unit
const FURTHEST = 6;
const DEAF = 700; // milliseconds

/** Where everything stands, by the width. */
function frame(width) {
  const small = width < 560;
  const side = small ? 22 : 30;
  const c = small ? 14 : 20;
  const edge = side + 3 * c + 12;
  const size = Math.min(62, ((small ? width : width - 200) - edge) / PLACES);
  const sum = small ? [0, edge + PLACES * size + 34] : [edge + PLACES * size + 36, edge];
  return { small, side, c, edge, size, sum };
}

/** The row of the place that asks, normalised, and the three sums that are its query. */
export const query = {
  draw({ text, place, whole, model, turned }, width) {
    const small = width < 560;
    const [high, pitch, left, top] = [30, small ? 54 : 40, 28, small ? 20 : 0];
    const cw = Math.min(52, (width - left - (small ? 62 : 330)) / 6);
    const edge = left + 6 * cw;
    const [row, normed] = [whole.row[place], whole.normed[place]];
    const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
    const spread = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length);
    const [stretch, shift] = ["weight", "bias"].map((part) => model.weights[`block.ln1.${part}`]);
    const by = turned?.place === place ? turned.by : [0, 0, 0];
    const table = model.weights["block.attention.q.base"]; // of both heads: six rows of three
    const weights = upTo(3).map((d) => upTo(6).map((e) => table[3 * e + d]));
    const asks = whole.query[0][place].map((value, d) => value - by[d]);
    const lines = [
      [row, `the row of the ${spoken(text[place])} at place ${place + 1}`, (e) => [`Number ${e + 1} of the row: `, figure(row[e], 2), "."]],
      [
        normed,
        "normalised",
        (e) => [
          `(${figure(row[e], 2)} − ${figure(mean, 2)}) ÷ ${figure(spread, 2)}, that is minus the mean, by the spread; then × ${figure(stretch[e], 2)} + ${figure(shift[e], 2)}, which are learnt: `,
          figure(normed[e], 2),
          ".",
        ],
      ],
      ...weights.map((own, d) => [own, `the ${ordinal(d)} number of its query`, () => [`The ${ordinal(d)} number of the query: ${sumOf(normed, own)} = `, figure(asks[d], 2), "."]]),
    ];
    const parts = lines.map(([numbers, name, say], r) => {
      const y = top + r * pitch + (r > 1 ? 10 : 0);
      const sum = r > 1;
      return [
        numbers.map((value, e) => hot(r, e, [left + e * cw, y, cw, high], say(e), cell(left + e * cw, y, cw, high, value, sum ? 3 : 4, 2))),
        sum && [words(10, y + 20, "×", "whole-middle whole-soft"), words(edge + 8, y + 20, "="), cell(edge + 22, y, 46, high, asks[r - 2], 4, 2)],
        words(small ? left : edge + (sum ? 78 : 14), small ? y - 6 : y + 20, sum && small ? `× six weights: ${name}` : name, "whole-soft"),
      ];
    });
    const label = `The query of place ${place + 1}: its row, normalised, times six weights for each of three numbers`;
    return { height: top + 4 * pitch + high + 14, label, start: "2,0", parts };
  },
};

const best = ({ place, seen, whole }) => {
  const row = whole.score[0][place];
  return row.indexOf(Math.max(...row.filter((_, j) => seen(place, j))));
};

export const scores = {
  draw(now, width) {
    const { text, place, whole, seen } = now;
    const { small, side, c, edge, size, sum } = frame(width);
    const [query, key, score] = [whole.query[0], whole.key[0], whole.score[0]];
    const parts = [
      hatching("whole-scores"),
      band(0, edge + place * size - 1, edge + PLACES * size + 6, size + 2),
      words(0, edge - 10, "queries ↓", "whole-soft"),
      words(edge - 8, side / 2 + 5, "keys →", "whole-soft whole-end"),
    ];
    for (const i of upTo(PLACES)) {
      const at = edge + i * size;
      parts.push(token(0, at + (size - 30) / 2, side, 30, text[i], { place: i, marked: i === place, faint: i > place }));
      parts.push(token(at + (size - 30) / 2, 0, 30, side, text[i], { place: i, faint: i > place }));
      parts.push(strip(side + 6, at + 8, c, size - 16, query[i], 4));
      parts.push(key[i].map((value, d) => cell(at + 8, side + 6 + d * c, size - 16, c - 1.5, value, 4)));
    }
    for (const i of upTo(PLACES)) {
      for (const j of upTo(PLACES)) {
        const [x, y] = [edge + j * size, edge + i * size];
        const say = [`The ${spoken(text[i])} at place ${i + 1} asks, the ${spoken(text[j])} at place ${j + 1} answers: score `, figure(score[i][j]), "."];
        const drawn = cell(x + 1, y + 1.5, size - 2, size - 3, score[i][j], HIGHEST, i === place && seen(i, j));
        if (!seen(i, j) || i !== place) drawn.classList.add("whole-later"); // what the mask strikes out; what is of no concern yet
        const struck = !seen(i, j) && hatched("whole-scores", x + 1, y + 1.5, size - 2, size - 3);
        parts.push(hot(i, j, [x + 1, y + 1, size - 2, size - 2], say, drawn, struck));
      }
    }
    parts.push(draws("g", { class: "whole-sum", transform: `translate(${sum})` }));
    const drags = upTo(3).map((d) =>
      draws("g", { class: "whole-drag", role: "slider", tabindex: 0, "data-d": d, "aria-valuemin": -FURTHEST, "aria-valuemax": FURTHEST }),
    );
    parts.push(draws("g", { transform: `translate(${sum})` }, drags));
    const height = small ? sum[1] + 172 : edge + PLACES * size + 4;
    return { height, label: "Scores of head 1: rows ask, columns answer", start: `${place},${best(now)}`, parts };
  },

  /** On its way to what can be dragged the pointer crosses other rows: these want a press. */
  passes: ({ place }, hot) => !hot.dataset.at.startsWith(`${place},`),

  /** The score that is on, taken apart. */
  turnedOn({ text, word, place, whole, turned, model, writing, machinery }, i, j, svg, width) {
    const { small } = frame(width);
    const [query, key] = [whole.query[0][i], whole.key[0][j]];
    const products = query.map((value, d) => value * key[d]);
    const total = products.reduce((sum, value) => sum + value, 0);
    const rowAt = (d) => 40 + d * 32;
    const [xq, xk, xp] = [0, 66, 132]; // query, key, product
    const end = xp + 54;
    const shown = [
      words(xq + 23, -4, "query", "whole-middle whole-soft"),
      words(xk + 23, -4, "key", "whole-middle whole-soft"),
      words(end, -4, "(rounded)", "whole-end whole-soft"),
      token(xq + 8, 4, 30, 28, text[i], { marked: i === place }),
      token(xk + 8, 4, 30, 28, text[j]),
      query.map((_, d) => [
        words(56, rowAt(d) + 18, "×", "whole-middle whole-soft"),
        cell(xk, rowAt(d), 46, 26, key[d], 4, 2),
        words(122, rowAt(d) + 18, "=", "whole-middle whole-soft"),
        words(end, rowAt(d) + 18, figure(products[d], 2), "whole-end"),
      ]),
      line(xp - 2, rowAt(3) + 2, end, rowAt(3) + 2, "whole-rule"),
      words(xp - 22, rowAt(3) + 21, "sum", "whole-end whole-soft"),
      words(end, rowAt(3) + 21, figure(total, 2), "whole-end whole-bold"),
      small
        ? [words(200, 90, "÷ √3 =", "whole-soft"), cell(250, 68, 54, 34, total / Math.sqrt(3), HIGHEST, 2), words(277, 120, "score", "whole-middle whole-soft")]
        : [words(xp - 8, rowAt(3) + 56, "÷ √3", "whole-end whole-soft"), cell(end - 50, rowAt(3) + 34, 54, 34, total / Math.sqrt(3), HIGHEST, 2), words(end - 23, rowAt(3) + 86, "score", "whole-middle whole-soft")],
      turned
        ? draws("g", { class: "whole-undo", role: "button", tabindex: 0 }, words(xq + 23, rowAt(3) + 21, "undo", "whole-middle"))
        : words(xq + 23, rowAt(3) + 20, "↔ drag", "whole-middle whole-soft"),
    ];
    if (turned?.place === i) {
      const share = whole.attention[0][i];
      const at = argmax(share);
      const says = [`It reads the ${spoken(text[at])} now: ${percent(share[at])}`];
      const step = writing.steps[i - LETTERS_PER_WORD];
      if (step) says.push(`and writes ${step.choice}.`);
      const anyway = i === LETTERS_PER_WORD && step.choice !== text[at] && machinery.write(machinery.headless(model), word).steps[0].choice === step.choice;
      if (anyway) says.push("It does, even if it reads nothing.");
      says.forEach((each, n) => shown.push(words(small ? 190 : 0, small ? 4 + 18 * n : rowAt(3) + 116 + 18 * n, each, "whole-text-1")));
    }
    svg.querySelector(".whole-sum").replaceChildren(group(shown));
    for (const drag of svg.querySelectorAll(".whole-drag")) {
      const d = Number(drag.dataset.d);
      drag.dataset.of = i;
      drag.replaceChildren(cell(xq, rowAt(d), 46, 26, query[d], 4, 2), box(xq + 0.75, rowAt(d), 44.5, 26, "whole-handle", { rx: 2 }));
      drag.setAttribute("aria-label", `number ${d + 1} of the query at place ${i + 1}`);
      drag.setAttribute("aria-valuenow", query[d].toFixed(1));
    }
  },

  listen(canvas, store) {
    function nudge(d, place, by) {
      const { turned, whole } = store.now();
      const before = turned?.place === place ? turned.by : [0, 0, 0];
      const value = whole.query[0][place][d];
      const step = Math.max(-FURTHEST, Math.min(FURTHEST, value + by)) - value;
      store.set({ turned: { head: 0, place, by: before.map((each, n) => (n === d ? each + step : each)) } });
      canvas.querySelector(`.whole-drag[data-d="${d}"]`)?.focus({ preventScroll: true });
    }
    canvas.addEventListener("pointerdown", (event) => {
      const drag = event.target.closest(".whole-drag");
      if (!drag) return;
      event.preventDefault();
      drag.focus({ preventScroll: true });
      const [d, place] = [Number(drag.dataset.d), Number(drag.dataset.of)]; // the node is drawn anew under the pointer
      follow(canvas, event, (dx, dy) => nudge(d, place, (dx - dy) / DRAGGED), () => {
        canvas.deaf = performance.now() + DEAF; // or the cell below would take over
      });
    });
    const undo = (event) => {
      if (!event.target.closest(".whole-undo")) return;
      store.set({ turned: null });
      event.stopPropagation();
    };
    canvas.addEventListener("click", undo);
    canvas.addEventListener("keydown", (event) => {
      const drag = event.target.closest(".whole-drag");
      const by = { ArrowUp: 0.2, ArrowRight: 0.2, ArrowDown: -0.2, ArrowLeft: -0.2 }[event.key];
      if (drag && by) {
        event.preventDefault();
        nudge(Number(drag.dataset.d), Number(drag.dataset.of), by);
      } else if (event.key === "Enter" || event.key === " ") undo(event);
    });
  },
};
