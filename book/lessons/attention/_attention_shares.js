// What a place may read, how scores become shares, and how what is read is mixed.

import { HEADS, PLACES } from "./_attention_model.js";
import { band, box, exactly, figure, hatched, hatching, hot, line, path, percent, shareOf, spoken, strip, token, toneOf, upTo, words } from "./_attention_kit.js";

const LONGEST = 12; // a score with the longest bar

/** Each row is a place and holds the letters that it may read; the answer stands one cell on. */
export const triangle = {
  draw({ text, place, model, seen }, width) {
    const size = Math.min(76, width / 6.05);
    const [left, top] = [(width - 6 * size) / 2, 26];
    const parts = [
      hatching("whole-triangle"),
      words(left, 14, "what each place may read", "whole-soft"),
      words(left + 6 * size, 14, model.mask ? "struck out" : "nothing is struck out", "whole-soft whole-end"),
    ];
    for (const i of upTo(PLACES)) {
      for (const j of upTo(PLACES)) {
        const [x, y] = [left + j * size, top + i * size];
        const [inside, answer, open] = [j <= i, j === i + 1, seen(i, j)];
        const who = `Place ${i + 1}, the ${spoken(text[i])}, `;
        let say = `${who}${open ? "may read this as well" : "may not read this"}: it comes later.`;
        if (j === i) say = `${who}reads itself${i ? ", and what stands before it" : ""}.`;
        else if (inside) say = `${who}may read the ${spoken(text[j])} at place ${j + 1}.`;
        else if (answer) say = `The ${spoken(text[j])} is what place ${i + 1} has to say. ${open ? "Without a mask it may read it." : "In training it stands there, one cell on; the mask strikes it out."}`;
        const marked = i === place && j === i ? "whole-marked-box" : "";
        const kind = j === i ? `whole-itself ${marked}` : "whole-wash";
        const frame = [x + 2, y + 2, size - 4, size - 4];
        const small = answer && i === place && size > 56;
        const drawn = [
          open ? box(...frame, kind, { rx: 5 }) : hatched("whole-triangle", ...frame, 5),
          answer && box(...frame, "whole-answer whole-hollow", { rx: 5 }),
          words(x + size / 2, y + size / 2 + (small ? 2 : 6), text[j], `whole-sign ${answer ? "whole-alarm whole-haloed" : open ? "" : "whole-away"}`),
          small && words(x + size / 2, y + size - 12, "answer", "whole-middle whole-alarm whole-haloed"),
        ];
        parts.push(hot(i, j, frame, say, drawn));
      }
    }
    const label = model.mask
      ? "A triangle: each row is a place and holds the letters that it may read; its answer stands one cell to the right"
      : "Each row is a place, and nothing is struck out: it may read its answer, one cell to the right";
    return { height: top + PLACES * size, label, start: `${place},${Math.min(place + 1, PLACES - 1)}`, parts };
  },
};

/** The place that asks: its scores, and the shares that the softmax makes of them; and the shares of all places. */
export const shares = {
  draw({ text, place, seen, whole }, width) {
    const small = width < 560;
    const [side, pitch, top] = [32, 42, 34];
    const right = small ? width : width - 256;
    const [edge, half] = [side + 12, (right - side - 12) * 0.48];
    const zero = edge + half * 0.5;
    const begin = edge + half + 14;
    const score = whole.score[0];
    const share = whole.attention[0][place];
    const unit = (half * 0.5 - 34) / LONGEST;
    const parts = [
      hatching("whole-shares"),
      words(zero, 14, "score", "whole-middle whole-soft"),
      words(begin, 14, "share", "whole-soft"),
      line(zero, top - 6, zero, top + PLACES * pitch - 8, "whole-faint-line"),
    ];
    for (const j of upTo(PLACES)) {
      const y = top + j * pitch;
      const value = score[place][j];
      const who = `the ${spoken(text[j])} at place ${j + 1}`;
      const open = seen(place, j);
      const say = open
        ? [`Score of ${who}: `, figure(value, 2), ". Its share: ", exactly(share[j]), "."]
        : [`${who[0].toUpperCase()}${who.slice(1)} comes later: its score, ${figure(value)}, is struck out, and its share is `, "0", "."];
      const length = Math.min(LONGEST, Math.abs(value)) * unit;
      const { kind } = toneOf(value, 1);
      const drawn = [
        box(0, y - 6, right, pitch - 4, "whole-nothing"),
        token(0, y, side, 30, text[j], { place: j, marked: j === place, faint: !open }),
        open
          ? [
              box(value < 0 ? zero - length : zero, y + 4, Math.max(1, length), 22, `${kind} whole-full`, { rx: 2 }),
              words(zero + (value < 0 ? -1 : 1) * (length + 5), y + 20, figure(value), value < 0 ? "whole-end" : ""),
              box(begin, y + 4, Math.max(1.5, share[j] * (right - begin - 60)), 22, "whole-fill-1", { rx: 2 }),
              words(begin + 6 + share[j] * (right - begin - 60), y + 20, percent(share[j]), "whole-bold"),
            ]
          : hatched("whole-shares", edge, y + 4, right - edge - 20, 22, 2),
      ];
      parts.push(hot(j, 0, [0, y - 5, right - 2, pitch - 4], say, drawn));
    }
    const size = small ? Math.min(40, (width - 40) / PLACES) : 34;
    const [left, upper] = small ? [36, top + PLACES * pitch + 50] : [width - PLACES * size, top + 10];
    parts.push(words(small ? 0 : width, upper - 14, "all places: each row adds up to 1", `whole-soft ${small ? "" : "whole-end"}`));
    parts.push(band(left - 26, upper + place * size - 1, PLACES * size + 28, size + 2));
    for (const i of upTo(PLACES)) {
      parts.push(words(left - 13, upper + i * size + size / 2 + 6, text[i], "whole-sign", { "data-place": i }));
      parts.push(words(left + i * size + size / 2, upper + PLACES * size + 18, text[i], "whole-sign"));
      whole.attention[0][i].forEach((value, j) => {
        const [x, y] = [left + j * size, upper + i * size];
        const open = seen(i, j);
        const { kind, more } = shareOf(0, value);
        const say = open
          ? [`The ${spoken(text[i])} at place ${i + 1} takes `, exactly(value), ` from the ${spoken(text[j])} at place ${j + 1}.`]
          : `Struck out: place ${j + 1} comes after place ${i + 1}.`;
        const drawn = open ? box(x + 1, y + 1, size - 2, size - 2, `${kind} whole-mixed`, { rx: 3, ...more }) : hatched("whole-shares", x + 1, y + 1, size - 2, size - 2);
        parts.push(hot(i, j + 1, [x + 1, y + 1, size - 2, size - 2], say, drawn));
      });
    }
    const height = Math.max(top + PLACES * pitch, upper + PLACES * size + 26);
    const label = `Scores and shares of head 1 at place ${place + 1}, and the shares of all places`;
    return { height, label, start: `${share.indexOf(Math.max(...share))},0`, parts };
  },
};

/** Of both heads: the values, poured together as thick as their shares. */
export const mixtures = {
  draw({ text, place, seen, whole }, width) {
    const small = width < 560;
    const [side, high, top] = [28, small ? 36 : 46, 40];
    const total = PLACES * high;
    const between = 40;
    const each = small ? width : (width - between) / 2;
    const cw = small ? 22 : 17;
    const parts = [hatching("whole-mixture")];
    for (const h of upTo(HEADS)) {
      const [share, value, mixture] = [whole.attention[h][place], whole.value[h], whole.mixture[h][place]];
      const left = small ? 0 : h * (each + between);
      const upper = small ? h * (total + 80) : 0;
      const values = left + side + 6; // where they begin
      const ends = values + 3 * cw;
      const jar = left + each - 6 * cw - 28;
      const result = left + each - 3 * cw;
      parts.push(words(left, upper + 14, `Head ${h + 1}`, `whole-bold whole-text-${h + 1}`));
      parts.push(words(values + 1.5 * cw, upper + 32, "values", "whole-middle whole-soft"));
      parts.push(words(result + 1.5 * cw, upper + 32, "mixture", "whole-middle whole-soft"));
      let y = upper + top;
      for (const j of upTo(PLACES)) {
        const row = upper + top + j * high;
        const thick = share[j] * total;
        const open = seen(place, j);
        const mid = (ends + jar) / 2;
        const ribbon =
          `M${ends + 4} ${row + 3} C${mid} ${row + 3} ${mid} ${y} ${jar - 3} ${y} L${jar - 3} ${y + thick} ` +
          `C${mid} ${y + thick} ${mid} ${row + 3 + Math.max(1, share[j] * (high - 8))} ${ends + 4} ${row + 3 + Math.max(1, share[j] * (high - 8))} Z`;
        const say = open
          ? [`Head ${h + 1} takes `, exactly(share[j]), ` of the value of the ${spoken(text[j])} at place ${j + 1}, which is `, value[j].map((v) => figure(v)).join(", "), "."]
          : `Place ${j + 1} comes later: nothing is taken from it.`;
        const drawn = [
          open && share[j] > 0.004 && path(ribbon, `whole-ribbon whole-fill-${h + 1}`),
          token(left, row + 3, side, high - 8, text[j], { place: j, marked: j === place, faint: !open }),
          open ? strip(values, row + 3, cw, high - 8, value[j], 3) : hatched("whole-mixture", values, row + 3, 3 * cw, high - 8, 2),
          open && share[j] > 0.005 && words(ends + 10, row + high / 2 + 3, percent(share[j]), `whole-bold whole-text-${h + 1}`),
        ];
        parts.push(hot(j, h, [left, row, side + 3 * cw + 9, high - 2], say, drawn));
        if (!open || thick < 0.4) continue;
        parts.push(value[j].map((v, d) => {
          const { kind, more } = toneOf(v, 3);
          return box(jar + d * cw + 0.75, y + 0.4, cw - 1.5, Math.max(0.6, thick - 0.8), `${kind} whole-mixed`, more);
        }));
        y += thick;
      }
      const middle = upper + top + total / 2;
      parts.push(box(jar - 1, upper + top - 1, 3 * cw + 2, total + 2, "whole-jar", { rx: 3 }));
      parts.push(words(jar + 3 * cw + 14, middle + 5, "=", "whole-middle whole-soft"));
      const say = [`What head ${h + 1} brings back to place ${place + 1}: `, mixture.map((v) => figure(v, 2)).join(", "), "."];
      parts.push(hot(2, 2 + h, [result - 2, middle - 32, 3 * cw + 4, 64], say, strip(result, middle - 30, cw, 60, mixture, 3)));
    }
    const first = whole.attention[0][place];
    const label = `Values mixed by their shares at place ${place + 1}, in both heads`;
    return { height: small ? 2 * (total + 80) - 30 : top + total + 6, label, start: `${first.indexOf(Math.max(...first))},0`, parts };
  },
};
