// The whole in one look, and how letters become rows of numbers.

import { arcs, arrowAt, band, cell, exactly, figure, hot, path, spoken, strip, token, upTo, withArticle, words } from "./_attention_kit.js";
import { PLACES } from "./_attention_model.js";

/** Three letters are given and three are written; arcs show where head 1 looks for each. */
export const glance = {
  draw({ word, writing }, width) {
    const gap = Math.min(104, width / 7);
    const small = gap < 70;
    const size = gap * (small ? 0.76 : 0.66);
    const left = (width - 7 * gap) / 2;
    const most = gap * (small ? 2 : 1.6);
    const y = most + 4;
    const text = `${word}|${writing.answer}`;
    const centres = upTo(7).map((k) => left + (k + 0.5) * gap);
    const parts = writing.steps.flatMap(({ place, choice, attention }, n) =>
      arcs(centres, y - 9, place, attention[0][place], 0, most - 18, small ? 0.9 : 1.5).map(({ at, share, drawn }) =>
        hot(
          0,
          n * 10 + at,
          null,
          [
            `To write ${choice}, the ${spoken(text[place])} at place ${place + 1} gives `,
            exactly(share),
            ` of its look to the ${spoken(text[at])} at place ${at + 1}.`,
          ],
          drawn,
        ),
      ),
    );
    centres.forEach((x, k) => {
      parts.push(token(x - size / 2, y, size, size, text[k], { dashed: k > 3 }));
      if (k < 3 || k > 5) return;
      const [bottom, next] = [y + size + 5, centres[k + 1]];
      const d = `M${x + 4} ${bottom} C${x + 8} ${bottom + 22} ${next - 8} ${bottom + 22} ${next - 3} ${bottom + 5}`;
      parts.push(path(d, "whole-thin"), arrowAt(next - 2, bottom + 1, -65));
    });
    parts.push(words(centres[1], y + size + 24, "you give", "whole-middle whole-soft"));
    parts.push(words(centres[5], y + size + 42, "it writes", "whole-middle whole-soft"));
    const label = `${word} is given, ${writing.answer} is written; arcs lead from where it writes to what it reads`;
    const [first] = writing.steps;
    const start = `0,${first.attention[0][first.place].indexOf(Math.max(...first.attention[0][first.place]))}`;
    return { height: y + size + 50, label, start, parts: parts };
  },
};

/** For each token its embedding, the row of its place, and their sum. */
export const rows = {
  draw({ text, place, whole }, width) {
    const small = width < 480;
    const side = small ? 26 : 34;
    const sign = small ? 16 : 26;
    const cw = Math.min(33, (width - side - 8 - 2 * sign) / 18);
    const [height, top] = [small ? 26 : 36, 30];
    const pitch = height + (small ? 7 : 9);
    const left = [0, 1, 2].map((n) => side + 8 + n * (6 * cw + sign));
    const names = small ? ["letter", "place", "sum"] : ["the letter’s embedding", "the row of its place", "their sum (rounded)"];
    const made = (i) => [whole.embedding[i], whole.position[i], whole.row[i]];
    const say = (i, n, e) => {
      const [of, at, sum] = made(i).map((row) => figure(row[e], 2));
      if (n === 0) return [`Number ${e + 1} of the embedding of ${withArticle(text[i])} is `, of, ", wherever it stands."];
      if (n === 1) return [`Number ${e + 1} of the row of place ${i + 1} is `, at, ", whatever stands there."];
      return [`Number ${e + 1} at place ${i + 1}: `, of, ` for ${withArticle(text[i])} and `, at, " for the place make ", sum, "."];
    };
    const parts = [band(0, top + place * pitch - 4, width, pitch)];
    names.forEach((name, n) => parts.push(words(left[n] + 3 * cw, 16, name, "whole-middle whole-soft")));
    for (const i of upTo(PLACES)) {
      const y = top + i * pitch;
      parts.push(token(0, y, side, height, text[i], { place: i, marked: i === place, faint: i > place }));
      ["+", "="].forEach((each, n) => parts.push(words(left[n + 1] - sign / 2, y + height / 2 + 5, each, "whole-middle whole-soft")));
      made(i).forEach((row, n) =>
        row.forEach((value, e) => {
          const x = left[n] + e * cw;
          const drawn = cell(x, y, cw, height, value, 3.2, i === place);
          if (i > place) drawn.classList.add("whole-later");
          parts.push(hot(i, n * 6 + e, [x, y, cw, height], say(i, n, e), drawn));
        }),
      );
    }
    let bottom = top + PLACES * pitch;
    if (small) {
      // there the cells are too narrow for digits: those of the place that asks, once more and wide
      const wide = Math.min(48, (width - 60) / 6);
      made(place).forEach((row, n) => {
        const y = bottom + 12 + n * 32;
        parts.push(words(0, y + 18, ["letter", "+ place", "= sum"][n], "whole-soft"));
        parts.push(strip(56, y, wide, 26, row, 3.2, true));
      });
      bottom += 12 + 3 * 32;
    }
    const twin = text.indexOf(text[PLACES - 2]); // the first letter that is written stands in the word as well
    return { height: bottom, label: "Six tokens: of each its embedding, the row of its place, and their sum", start: `${twin},0`, parts };
  },
  /** The same letter has the same row: its twins are ringed too. */
  turnedOn({ text }, i, column, svg) {
    for (const each of svg.querySelectorAll(".whole-hot")) {
      const [row, other] = each.dataset.at.split(",").map(Number);
      each.classList.toggle("whole-twin", column < 6 && other === column && row !== i && text[row] === text[i]);
    }
  },
};
