// What each of the six predictions of a text costs, their mean over all texts, and the floor.

import { VOCABULARY, WORDS } from "./_sorter.js";
import { box, figure, hatched, hatching, hot, line, path, spoken, token, words } from "./_attention_kit.js";
import { PLACES } from "./_attention_model.js";

const LIKELY = 1 / (VOCABULARY.length - 1); // the chance that nobody can better for a letter drawn at random

export const price = {
  draw({ word, text, model, machinery, lesson }, width) {
    const { floor } = lesson;
    const small = width < 480;
    const high = small ? 220 : 250;
    const base = high + 26;
    const top = 1.45; // nats
    const up = (nats) => base - (Math.min(nats, top) / top) * high;
    const own = machinery.surprises(model)[WORDS.indexOf(word)];
    const mean = machinery.lossOf(model);
    const left = small ? 46 : 50;
    const right = width - (small ? 122 : 150);
    const step = (right - left) / (PLACES + 1);
    const parts = [hatching("whole-ground"), words(0, 12, "cost of each guess", "whole-soft")];
    for (const nats of [0, -Math.log(LIKELY)]) {
      parts.push(line(left - 6, up(nats), right, up(nats), "whole-faint-line"), words(left - 10, up(nats) + 4, figure(nats, nats ? 3 : 0), "whole-end"));
    }
    parts.push(hatched("whole-ground", left, up(floor), right - left, base - up(floor), 0));
    parts.push(words(left + step / 2, base - 8, "given", "whole-middle whole-soft whole-haloed"), token(left + step / 2 - 15, base + 8, 28, 28, text[0], { faint: true }));
    own.forEach((nats, i) => {
      const [x, y] = [left + (i + 1) * step, Math.min(up(nats), base - 2)];
      const upper = Math.min(y, base - 34);
      const say = [`The ${spoken(text[i + 1])} that follows place ${i + 1} had a chance of `, `${(100 * Math.exp(-nats)).toFixed(1)} %`, ": it costs ", figure(nats, 3), "."];
      const drawn = [
        box(x + 1, base - high, step - 4, high, "whole-nothing"),
        box(x + 5, y, step - 12, base - y, i < 2 ? "whole-chance" : "whole-ink", { rx: 2 }),
        token(x + step / 2 - 15, base + 8, 28, 28, text[i + 1]),
      ];
      parts.push(hot(0, i, [x + 1, upper - 3, step - 4, base - upper + 5], say, drawn));
    });
    parts.push(words(left + 2 * step, up(-Math.log(LIKELY)) - 10, small ? "unknown" : "nobody can know these", "whole-middle whole-soft"));
    parts.push(words(left + 5 * step, up(floor) - 10, small ? "known" : "these can be known", "whole-middle whole-soft"));
    parts.push(line(left, up(floor), right, up(floor), "whole-floor"));
    const low = mean < floor;
    const y = Math.min(up(mean), base - 2);
    const near = Math.abs(y - up(floor)) < 28;
    const say = ["Over all 27 words the mean is ", figure(mean, 4), "; the floor is ", figure(floor, 4), low ? ". It lies below: this model has seen what it should predict." : "."];
    parts.push(
      hot(
        0,
        PLACES,
        [right + 2, Math.min(y, up(floor)) - 36, width - right - 4, Math.abs(y - up(floor)) + 64],
        say,
        path(`M${right + 4} ${y} l10 -6 v12 z`, low ? "whole-fill-alarm" : "whole-ink"),
        words(right + 18, y + (near ? -18 : 5), `mean ${figure(mean, mean < 0.01 ? 4 : 3)}`, `whole-bold ${low ? "whole-alarm" : ""}`),
        words(right + 18, up(floor) + (near ? 20 : 5), `floor ${figure(floor, 3)}`),
      ),
    );
    const label = `What the six guesses of ${text} cost, the mean over all 27 words, and the floor`;
    return { height: base + 44, label, start: `0,${PLACES}`, parts };
  },
};

/** What a model has lost on the way, beside the floor: its place in a picture of this height. */
export function curves({ left, right, top, high, floor, runs, steps, unit, most = 1.2 }) {
  const [across, up] = [(step) => left + (step / steps) * (right - left), (loss) => top + high - (Math.min(loss, most) / most) * high];
  const parts = [
    hatched("whole-below", left, up(floor), right - left, up(0) - up(floor), 0),
    line(left, up(floor), right, up(floor), "whole-floor"),
    line(left, up(0), right, up(0), "whole-rule"),
    words(left - 6, up(0) + 4, "0", "whole-end"),
    words(left - 6, up(1) + 4, "1", "whole-end"),
    words(left, top - 10, unit, "whole-soft"),
    words(right, up(0) + 18, `${steps.toLocaleString("en")} steps of training`, "whole-soft whole-end"),
    runs.map(({ curve, kind }) =>
      path(curve.filter(([, loss]) => loss <= most).map(([step, loss], n) => `${n ? "L" : "M"}${across(step).toFixed(1)} ${up(loss).toFixed(1)}`).join(""), `whole-curve ${kind}`),
    ),
  ];
  return { parts, across, up };
}

