// The residual stream at the place that asks: what the heads and the small network add, and what the end of it says.

import { argmax } from "./_model.js";
import { VOCABULARY } from "./_sorter.js";
import { arrowAt, box, draws, exactly, figure, hot, line, path, percent, strip, toneOf, token, withArticle, words } from "./_attention_kit.js";

const ORDER = [1, 2, 3, 0]; // the letters, then the bar

const rowsOf = (numbers, length) =>
  VOCABULARY.map((_, id) => Array.from(numbers.subarray(id * length, (id + 1) * length)));

export const stream = {
  draw({ text, place, model, whole }, width) {
    const embeddings = rowsOf(model.weights["token.weight"], 6);
    const small = width < 560;
    const [side, high, pitch, top] = [32, 32, 48, 8];
    const cw = small ? 24 : Math.min(52, (width - 400) / 6);
    const left = 44;
    const beside = left + 6 * cw + 14;
    const now = small ? "the stream" : "the stream now";
    const steps = [
      [whole.row[place], `the row of ${withArticle(text[place])}${small ? "" : ` at place ${place + 1}`}`, 4],
      [whole.read[place], "the heads add", 4],
      [whole.middle[place], now, 4],
      [whole.network[place], small ? "the network adds" : "the small network adds", 12],
      [whole.end[place], small ? "the stream" : "the stream at its end", 12],
    ];
    const parts = [box(11, top + 4, 12, 5 * pitch + 22, "whole-stream", { rx: 6 })];
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
      parts.push(words(beside, y + high / 2 + 5, name, added ? "" : "whole-soft"));
    });

    // the end of the stream as a query, the four embeddings as its keys
    const under = top + 5 * pitch + 24;
    const most = Math.max(10, ...whole.logits[place].map(Math.abs));
    const wide = small ? 70 : 130;
    const zero = beside + wide / 2;
    const begin = beside + wide + (small ? 6 : 26);
    const room = width - begin - 60;
    const chances = whole.chances[place];
    parts.push(words(left, under - 5, small ? "brought to one size" : "brought to one size, it meets the four embeddings", "whole-soft"));
    parts.push(strip(left, under + 4, cw, high, whole.final[place], 4, 2));
    parts.push(arrowAt(17, under + 6, 90), path(`M17 ${under + 20} H${left - 4}`, "whole-thin"));
    parts.push(words(zero, under + 36, "logit", "whole-middle whole-soft"), words(begin, under + 36, "chance", "whole-soft"));
    ORDER.forEach((id, r) => {
      const y = under + 48 + r * 38;
      const [logit, chance] = [whole.logits[place][id], chances[id]];
      const length = (Math.abs(logit) / most) * (wide / 2 - (small ? 4 : 34));
      const best = argmax(chances) === id;
      const { kind } = toneOf(logit, 1);
      const say = [`The end of the stream meets the embedding of ${withArticle(VOCABULARY[id])}: logit `, figure(logit, 2), ", chance ", exactly(chance), "."];
      const drawn = [
        box(0, y - 3, width, 34, "whole-nothing"),
        token(2, y, side, 28, VOCABULARY[id], { marked: best && chance > 0.5 }),
        strip(left, y + 1, cw, 26, embeddings[id], 3),
        box(logit < 0 ? zero - length : zero, y + 4, Math.max(1, length), 20, `${kind} whole-full`, { rx: 2 }),
        !small && words(zero + (logit < 0 ? -1 : 1) * (length + 5), y + 19, figure(logit), logit < 0 ? "whole-end" : ""),
        box(begin, y + 4, Math.max(1.5, chance * room), 20, "whole-ink", { rx: 2 }),
        words(begin + 6 + chance * room, y + 19, percent(chance), best ? "whole-bold" : ""),
      ];
      parts.push(hot(5 + r, 0, [0, y - 3, width, 34], say, drawn));
    });
    parts.push(line(zero, under + 44, zero, under + 200, "whole-faint-line"));
    const label = `The residual stream at place ${place + 1}, and the logits and chances of the next token`;
    return { height: under + 204, label, start: `${5 + ORDER.indexOf(argmax(chances))},0`, parts };
  },
};
