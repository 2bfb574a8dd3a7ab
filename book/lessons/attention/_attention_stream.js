// The residual stream at the place that asks, what the heads and the small network add to it, and what its end says.

import { argmax } from "./_model.js";
import { VOCABULARY } from "./_sorter.js";
import { HEADS } from "./_attention_model.js";
import { box, draws, exactly, figure, hot, line, path, percent, spoken, strip, sumOf, toneOf, token, upTo, withArticle, words } from "./_attention_kit.js";

const ORDER = [1, 2, 3, 0]; // the letters, then the bar
const STRONGEST = 8; // a number of the stream in full colour

const rowsOf = (numbers, length) =>
  VOCABULARY.map((_, id) => Array.from(numbers.subarray(id * length, (id + 1) * length)));

/** The row of the place, what is added to it, and what would be written if the stream ended there. */
export const stream = {
  draw({ text, word, place, whole, model, machinery, turned }, width) {
    const small = width < 560;
    const [high, pitch, top, left] = [32, small ? 56 : 44, small ? 46 : 30, 44];
    const cw = small ? (width - left) / 6 : Math.min(52, (width - 400) / 6);
    const weights = (name, e, from = 0, to = 6) => [...model.weights[name].subarray(6 * e + from, 6 * e + to)];
    const heads = (e, h) => weights("block.attention.o.weight", e, 3 * h, 3 * h + 3);
    const mixed = upTo(HEADS).map((h) => whole.mixture[h][place]);
    const inside = whole.hidden[place];
    const first = upTo(6).map((e) => heads(e, 0).reduce((sum, weight, d) => sum + weight * mixed[0][d], 0));
    const rest = whole.read[place].map((value, e) => value - first[e]);
    const added = (h) => (e) => [`Head ${h + 1} adds its mixture times three weights: ${sumOf(mixed[h], heads(e, h))} = `, figure([first, rest][h][e], 2), "."];
    const corrected = (e) => sumOf(inside, weights("block.feed_forward.l2.weight", e));
    const poured = [whole.row[place], first, rest, whole.network[place]];
    const [begun, once, twice] = machinery.onTheWay(model, word, { turned }).map((chances) => chances[place]);
    const steps = [
      [whole.row[place], `the row of the ${spoken(text[place])} at place ${place + 1}`, (e) => [`Number ${e + 1} of the row: `, figure(whole.row[place][e], 2), "."], "whole-soft", begun],
      [first, "head 1 adds", added(0), "whole-text-1", once],
      [rest, "head 2 adds", added(1), "whole-text-2", twice],
      [inside, "inside the small network", (e) => [`Sum ${e + 1} inside the small network: `, inside[e] ? figure(inside[e], 2) : "below zero, so 0", "."], "whole-soft"],
      [whole.network[place], "the small network adds", (e) => [`The small network adds what stands inside it times six weights: ${corrected(e)} = `, figure(whole.network[place][e], 2), "."], "", whole.chances[place]],
      [whole.end[place], "what comes out", (e) => [`${sumOf(poured.map((row) => row[e]))} = `, figure(whole.end[place][e], 2), ", each rounded."], "whole-soft"],
    ];
    const last = steps.length - 1;
    const parts = [box(11, top + 4, 12, last * pitch + 30, "whole-stream", { rx: 6 })];
    parts.push(words(width, 14, "if it stopped here, it would write", "whole-end whole-soft"));
    steps.forEach(([row, name, say, kind, then], r) => {
      const y = top + r * pitch;
      if (r % last) parts.push(path(`M${left - 4} ${y + high / 2} H25`, "whole-thin"));
      if (r && then) {
        parts.push(draws("circle", { cx: 17, cy: y + high / 2, r: 10, class: "whole-plus" }), words(17, y + high / 2 + 5, "+", "whole-middle"));
      }
      row.forEach((value, e) => {
        const x = left + e * cw;
        parts.push(hot(r, e, [x, y, cw, high], say(e), strip(x, y, cw, high, [value], STRONGEST, 2)));
      });
      parts.push(words(small ? left : left + 6 * cw + 14, small ? y - 6 : y + high / 2 + 5, name, kind));
      if (!then) return; // nothing is added
      const id = argmax(then);
      const told = [`If it stopped here, ${withArticle(VOCABULARY[id])} would be written, `, exactly(then[id]), " sure."];
      const [x, at] = small ? [width - 92, y - 23] : [width - 92, y + 2];
      const drawn = [token(x, at, small ? 22 : 28, small ? 20 : 28, VOCABULARY[id]), words(width - 4, at + (small ? 15 : 19), percent(then[id]), "whole-end whole-bold")];
      parts.push(hot(r, 6, [x - 4, at - 1, 96, small ? 22 : 30], told, drawn));
    });
    const label = `The stream at place ${place + 1}: its row, what is added to it, and what would be written if it stopped there`;
    return { height: top + last * pitch + high + 4, label, start: "1,6", parts };
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
      words(left, 12, `what comes out at place ${place + 1}`, "whole-soft"),
      strip(left, 20, cw, high, whole.end[place], STRONGEST, 2),
      words(left, top - 8, `normalised${model.mask || place < 3 ? "" : " (as in training: its answer stands one cell on)"}`, "whole-soft"),
      strip(left, top, cw, high, whole.final[place], 4, 2),
      words(left - 22, top + 21, "×", "whole-middle whole-soft"),
      words(zero, top + 34, "score", "whole-middle whole-soft"),
      words(begin, top + 34, "chance", "whole-soft"),
    ];
    ORDER.forEach((id, r) => {
      const y = top + 46 + r * 38;
      const [logit, chance] = [whole.logits[place][id], shares[id]];
      const length = (Math.abs(logit) / most) * (wide / 2 - (small ? 4 : 34));
      const best = argmax(shares) === id;
      const { kind } = toneOf(logit, 1);
      const say = [`What comes out, normalised, times the embedding of ${withArticle(VOCABULARY[id])}: score `, figure(logit, 2), ", chance ", exactly(chance), "."];
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
    const label = `The scores and the chances of the token that follows place ${place + 1}`;
    return { height: top + 202, label, start: `${ORDER.indexOf(argmax(shares))},0`, parts };
  },
};
