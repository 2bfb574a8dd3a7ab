// It writes, and reads what it wrote: three letters, what both heads read for each, and all 27 words.

import { WORDS, sorted } from "./_sorter.js";
import { arcs, arrowAt, box, hot, ordinal, path, percent, pressed, spoken, token, upTo, words } from "./_attention_kit.js";
import { HEADS } from "./_attention_model.js";

export const writing = {
  draw({ word, push, turned, model, writing: { steps }, machinery }, width, store) {
    const small = width < 480;
    const gap = Math.min(78, (width - (small ? 0 : 150)) / 7);
    const size = gap * 0.68;
    const [up, down] = [gap * 0.92 + 22, gap * 0.74 + 14];
    const pitch = up + size + down + 32;
    const centres = upTo(7).map((k) => (k + 0.5) * gap);
    const parts = [];
    steps.forEach(({ text, place, choice, sure, attention }, n) => {
      const y = n * pitch + up;
      const made = push?.n === n;
      const stays = made && n === 0 && choice !== text[push.at] && choice === machinery.write(machinery.headless(model), word).steps[0].choice;
      const names = []; // above all arcs
      for (const h of upTo(HEADS)) {
        const found = arcs(centres, h ? y + size + 8 : y - 8, place, attention[h][place], h, gap * (h ? 0.74 : 0.92));
        const taken = [];
        for (const { at, share, itself, drawn, top, middle } of found.sort((one, other) => other.share - one.share)) {
          const x = itself ? middle + 42 : middle;
          const room = share > 0.3 && taken.every((other) => Math.abs(other - x) > 48);
          if (room) taken.push(x);
          const name = made && h === 0 ? "made to read" : percent(share);
          const under = h ? (itself ? -2 : 16) : itself ? 6 : -6;
          if (room) names.push(words(x, top + under, name, `whole-middle whole-bold whole-haloed whole-text-${h + 1}`));
          const say =
            made && h === 0
              ? `Head 1 is made to read the ${spoken(text[at])} at place ${at + 1}, and ${choice} is written.${stays ? " It is, even if nothing is read." : ""}`
              : [`To write the ${ordinal(n)} letter head ${h + 1} takes `, percent(share), ` from the ${spoken(text[at])} at place ${at + 1}.`];
          parts.push(hot(n * 3 + 2 * h, at, null, say, drawn));
        }
      }
      parts.push(names);
      text.forEach((sign, k) => {
        if (k > 2) return void parts.push(token(centres[k] - size / 2, y, size, size, sign, { marked: k === place })); // not of the word
        const on = made && push.at === k;
        const say = on ? "Press once more to let go." : `Press, and head 1 must read the ${spoken(sign)} at place ${k + 1} while the ${ordinal(n)} letter is written.`;
        const [x, ring] = [centres[k] - size / 2, [centres[k] - size / 2 - 2, y - 2, size + 4, size + 4]];
        const press = () => store.set({ push: on ? null : { n, at: k } });
        parts.push(pressed(press, hot(n * 3 + 1, k, ring, say, token(x, y, size, size, sign, { marked: k === place })), on));
      });
      const [x, wrong] = [centres[place + 1], choice !== sorted(word)[n]];
      parts.push(path(`M${centres[place] + size / 2 + 2} ${y + size / 2} H${x - size / 2 - 5}`, "whole-thin"), arrowAt(x - size / 2 - 1, y + size / 2, 0));
      parts.push(box(x - size / 2, y, size, size, wrong ? "whole-wrong" : "whole-ink", { rx: 5 }));
      if (!model.mask) parts.push(box(x - size / 2 - 4, y - 4, size + 8, size + 8, "whole-answer whole-hollow", { rx: 7 }));
      parts.push(words(x, y + size / 2 + 6, choice, `whole-sign ${wrong ? "whole-alarm" : "whole-on-ink"}`));
      if (small) return;
      parts.push(words(width, y + size / 2 - 3, `writes ${choice}, ${percent(sure)} sure`, `whole-end ${made ? "whole-bold" : "whole-soft"}`));
      const hint = made ? `made to read ${spoken(text[push.at])}${stays ? "; it does even if nothing is read" : ""}` : !model.mask ? "no answer stood there" : n === 1 && !push ? "← press a letter" : "";
      if (hint) parts.push(words(width, y + size / 2 + 15, hint, "whole-end whole-text-1"));
    });

    const right = machinery.solved(model);
    const answers = machinery.answers(model);
    const top = 3 * pitch + 34;
    const [columns, high] = [small ? 7 : 9, 34];
    const wide = Math.min(70, width / columns);
    parts.push(words(0, top - 12, `${right.length} of ${WORDS.length} words come out right${push || turned ? ", if head 1 is left alone" : ""}`, "whole-bold"));
    WORDS.forEach((each, k) => {
      const [row, column] = [Math.floor(k / columns), k % columns];
      const [x, y] = [column * wide, top + row * high];
      const good = right.includes(each);
      const kind = each === word ? "whole-marked-box" : good ? "whole-wash" : "whole-wrong";
      const drawn = [
        box(x + 1, y + 1, wide - 5, high - 6, kind, { rx: 5 }),
        words(x + wide / 2 - 1, y + high / 2 + 3, each, `whole-sign whole-lesser ${good ? "" : "whole-alarm"}`),
      ];
      const say = [`${each} becomes `, answers[k], good ? "." : ", which is wrong."];
      parts.push(pressed(() => store.set({ word: each }), hot(9 + row, column, [x + 1, y + 1, wide - 5, high - 6], say, drawn)));
    });
    const [{ attention, place }] = steps;
    const start = `0,${attention[0][place].indexOf(Math.max(...attention[0][place]))}`;
    return { height: top + Math.ceil(WORDS.length / columns) * high, label: "Three letters are written; arcs show what each head reads", start, parts };
  },
};
