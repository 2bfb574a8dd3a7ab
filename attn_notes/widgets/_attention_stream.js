// The residual stream at the place that asks, what the heads and the small network add to it, and what its end says.

import { argmax } from "./_model.js";
import { VOCABULARY } from "./_sorter.js";
import { box, draws, exactly, figure, hot, line, path, percent, strip, toneOf, token, withArticle, words } from "./_attention_kit.js";

const ORDER = [1, 2, 3, 0]; // the letters, then the bar

const rowsOf = (numbers, length) =>
  VOCABULARY.map((_, id) => Array.from(numbers.subarray(id * length, (id + 1) * length)));

/** The row of the place, and what is added to it. */
export const stream = {
  draw({ text, place, whole }, width) {
    const small = width < 560;
    const [high, pitch, top, left] = [32, small ? 60 : 48, small ? 24 : 8, 44];
    const cw = small ? (width - left) / 6 : Math.min(52, (width - 400) / 6);
    const steps = [
      [whole.row[place], `the row of ${withArticle(text[place])} at place ${place + 1}`, 4],
      [whole.read[place], "the heads add", 4],
      [whole.middle[place], "the stream now", 4],
      [whole.network[place], "the small network adds", 12],
      [whole.end[place], "the stream at its end (rounded)", 12],
    ];
    const parts = [box(11, top + 4, 12, 4 * pitch + 30, "whole-stream", { rx: 6 })];
    steps.forEach(([row, name, most], r) => {
      const y = top + r * pitch;
      const added = r % 2 === 1;
      if (added) {
        parts.push(path(`M${left - 4} ${y + high / 2} H25`, "whole-thin"));
        parts.push(draws("circle", { cx: 17, cy: y + high / 2, r: 10, class: "whole-plus" }), words(17, y + high / 2 + 5, "+", "whole-middle"));
      }
      row.forEach((value, e) => {
        const [x, before] = [left + e * cw, steps[r - 2]?.[0][e]];
        const sum = before === undefined || added ? [] : [" = ", figure(before, 2), ` ${steps[r - 1][0][e] < 0 ? "−" : "+"} `, figure(Math.abs(steps[r - 1][0][e]), 2)];
        const say = added ? [`To number ${e + 1} ${name} `, figure(value, 2), "."] : [`Number ${e + 1} of ${name}: `, figure(value, 2), ...sum, "."];
        parts.push(hot(r, e, [x, y, cw, high], say, strip(x, y, cw, high, [value], most, 2)));
      });
      parts.push(words(small ? left : left + 6 * cw + 14, small ? y - 6 : y + high / 2 + 5, name, added ? "" : "whole-soft"));
    });
    const label = `The residual stream at place ${place + 1}: its row, and what is added to it`;
    return { height: top + 4 * pitch + high + 4, label, start: "2,0", parts };
  },
};

/** The end of the stream as a query, the four embeddings as its keys. */
export const chances = {
  draw({ place, model, whole }, width) {
    const embeddings = rowsOf(model.weights["token.weight"], 6);
    const small = width < 560;
    const [side, high, top] = [32, 32, 24];
    const cw = small ? 24 : Math.min(52, (width - 400) / 6);
    const left = 44;
    const beside = left + 6 * cw + 14;
    const most = Math.max(10, ...whole.logits[place].map(Math.abs));
    const wide = small ? 70 : 130;
    const zero = beside + wide / 2;
    const begin = beside + wide + (small ? 6 : 26);
    const room = width - begin - 60;
    const shares = whole.chances[place];
    const parts = [
      words(left, top - 8, `the end of the stream, brought to one size${model.mask || place < 3 ? "" : " (as in training: its answer stands one cell on)"}`, "whole-soft"),
      strip(left, top, cw, high, whole.final[place], 4, 2),
      words(left - 22, top + 21, "×", "whole-middle whole-soft"),
      words(zero, top + 34, "logit", "whole-middle whole-soft"),
      words(begin, top + 34, "chance", "whole-soft"),
    ];
    ORDER.forEach((id, r) => {
      const y = top + 46 + r * 38;
      const [logit, chance] = [whole.logits[place][id], shares[id]];
      const length = (Math.abs(logit) / most) * (wide / 2 - (small ? 4 : 34));
      const best = argmax(shares) === id;
      const { kind } = toneOf(logit, 1);
      const say = [`The end of the stream times the embedding of ${withArticle(VOCABULARY[id])}: logit `, figure(logit, 2), ", chance ", exactly(chance), "."];
      const drawn = [
        box(0, y - 3, width, 34, "whole-nothing"),
        token(2, y, side, 28, VOCABULARY[id], { marked: best && chance > 0.5 }),
        strip(left, y + 1, cw, 26, embeddings[id], 3),
        box(logit < 0 ? zero - length : zero, y + 4, Math.max(1, length), 20, `${kind} whole-full`, { rx: 2 }),
        !small && words(zero + (logit < 0 ? -1 : 1) * (length + 5), y + 19, figure(logit), logit < 0 ? "whole-end" : ""),
        box(begin, y + 4, Math.max(1.5, chance * room), 20, "whole-ink", { rx: 2 }),
        words(begin + 6 + chance * room, y + 19, percent(chance), best ? "whole-bold" : ""),
      ];
      parts.push(hot(r, 0, [0, y - 3, width, 34], say, drawn));
    });
    parts.push(line(zero, top + 42, zero, top + 198, "whole-faint-line"));
    const label = `The logits and the chances of the token that follows place ${place + 1}`;
    return { height: top + 202, label, start: `${ORDER.indexOf(argmax(shares))},0`, parts };
  },
};
