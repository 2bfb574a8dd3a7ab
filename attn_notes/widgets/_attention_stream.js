// The residual stream at the place that asks, what the heads and the small network add to it, and what its end says.

import { argmax } from "./_model.js";
import { VOCABULARY, WORDS, sorted } from "./_sorter.js";
import { ADDS, HEADS } from "./_attention_model.js";
import { box, draws, exactly, figure, hot, line, path, percent, spoken, strip, sumOf, toneOf, token, upTo, withArticle, words } from "./_attention_kit.js";

const ORDER = [1, 2, 3, 0]; // the letters, then the bar
const STRONGEST = 8; // a number of the stream in full colour

const rowsOf = (numbers, length) =>
  VOCABULARY.map((_, id) => Array.from(numbers.subarray(id * length, (id + 1) * length)));

/** The row of the place, what is added to it, and what is written if a part adds nothing. */
export const stream = {
  draw({ text, word, place, whole, model, machinery }, width) {
    const small = width < 560;
    const [high, pitch, top, left] = [32, small ? 56 : 44, small ? 24 : 8, 44];
    const cw = small ? (width - left) / 6 : Math.min(52, (width - 400) / 6);
    const table = model.weights["block.attention.o.weight"];
    const weights = (e, h) => [...table.subarray(6 * e + 3 * h, 6 * e + 3 * h + 3)];
    const mixed = upTo(HEADS).map((h) => whole.mixture[h][place]);
    const first = upTo(6).map((e) => weights(e, 0).reduce((sum, weight, d) => sum + weight * mixed[0][d], 0));
    const rest = whole.read[place].map((value, e) => value - first[e]);
    const added = (h) => (e) => [`Head ${h + 1} adds its mixture times three weights: ${sumOf(mixed[h], weights(e, h))} = `, figure([first, rest][h][e], 2), "."];
    const poured = [whole.row[place], first, rest, whole.network[place]];
    const steps = [
      [whole.row[place], `the row of the ${spoken(text[place])} at place ${place + 1}`, (e) => [`Number ${e + 1} of the row: `, figure(whole.row[place][e], 2), "."]],
      [first, "head 1 adds", added(0), "whole-text-1"],
      [rest, "head 2 adds", added(1), "whole-text-2"],
      [whole.network[place], "the small network adds", (e) => [`To number ${e + 1} the small network adds `, figure(whole.network[place][e], 2), "."]],
      [whole.end[place], "the stream at its end", (e) => [`${sumOf(poured.map((row) => row[e]))} = `, figure(whole.end[place][e], 2), ", each rounded."]],
    ];
    const last = steps.length - 1;
    const parts = [box(11, top + 4, 12, last * pitch + 30, "whole-stream", { rx: 6 })];
    steps.forEach(([row, name, say, kind = ""], r) => {
      const y = top + r * pitch;
      if (r % last) {
        parts.push(path(`M${left - 4} ${y + high / 2} H25`, "whole-thin"));
        parts.push(draws("circle", { cx: 17, cy: y + high / 2, r: 10, class: "whole-plus" }), words(17, y + high / 2 + 5, "+", "whole-middle"));
      }
      row.forEach((value, e) => {
        const x = left + e * cw;
        parts.push(hot(r, e, [x, y, cw, high], say(e), strip(x, y, cw, high, [value], STRONGEST, 2)));
      });
      parts.push(words(small ? left : left + 6 * cw + 14, small ? y - 6 : y + high / 2 + 5, name, r % last ? kind : "whole-soft"));
    });
    const under = top + last * pitch + high + 44;
    parts.push(words(0, under - 12, "Leave one of them out, and let it write:", "whole-bold"));
    [["", model], ...ADDS.map((part) => [part, machinery.without(model)[part]])].forEach(([part, each], r) => {
      const y = under + r * 32;
      const [answer, right] = [machinery.answers(each)[WORDS.indexOf(word)], machinery.solved(each).length];
      const begin = small ? 210 : 250;
      const wide = width - begin - (small ? 66 : 150);
      const say = [`${part ? `Without ${part.replace("n", "the n")}` : "With all of them"} ${word} becomes `, answer, ", and ", String(right), ` of ${WORDS.length} words come out right.`];
      const drawn = [
        box(0, y, width - 2, 28, "whole-nothing"),
        words(4, y + 19, part ? `without ${part.replace("n", "the n")}` : "with all"),
        words(small ? 168 : 190, y + 20, answer, `whole-sign ${answer === sorted(word) ? "" : "whole-alarm"}`),
        box(begin, y + 5, wide, 18, "whole-wash", { rx: 2 }),
        box(begin, y + 5, (wide * right) / WORDS.length, 18, "whole-ink", { rx: 2 }),
        words(begin + wide + 8, y + 19, `${right} of ${WORDS.length}${small ? "" : " words right"}`),
      ];
      parts.push(hot(last + 1 + r, 0, [0, y, width - 2, 28], say, drawn));
    });
    const label = `The residual stream at place ${place + 1}: its row, and what is added to it; and what is written without a part`;
    return { height: under + 4 * 32, label, start: "1,0", parts };
  },
};

/** The end of the stream as a query, the four embeddings as its keys. */
export const chances = {
  draw({ place, model, whole }, width) {
    const embeddings = rowsOf(model.weights["token.weight"], 6);
    const small = width < 560;
    const [side, high, top] = [32, 32, 76];
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
      words(left, 12, `the stream at its end, at place ${place + 1}`, "whole-soft"),
      strip(left, 20, cw, high, whole.end[place], STRONGEST, 2),
      words(left, top - 8, `brought to one size${model.mask || place < 3 ? "" : " (as in training: its answer stands one cell on)"}`, "whole-soft"),
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
      const say = [`The end of the stream, brought to one size, times the embedding of ${withArticle(VOCABULARY[id])}: logit `, figure(logit, 2), ", chance ", exactly(chance), "."];
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
