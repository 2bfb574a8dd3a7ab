// How far above the best predictor layers end, seed by seed, and whether one ends lower than another.

import { html, svg } from "./_page.js";
import { chance } from "./_mine.js";
import { compared, holm, middle, verdictOf } from "./_rank_test.js";

const [LEAST, MOST] = [-4, 0.3]; // powers of ten of nats, at the edges of the picture
const WIDTH = 260;

const number = (x) => (Number.isFinite(x) ? x.toFixed(5).replace("-", "−") : "lost");

/** A dot for each seed; at the left edge what is no more above the best than that, or below it. */
function dots(above, kind) {
  const place = (x) => {
    const share = (Math.log10(Math.max(x, 10 ** LEAST)) - LEAST) / (MOST - LEAST);
    return 6 + (WIDTH - 12) * Math.min(1, share);
  };
  const marks = above.map((x) => svg("circle", { cx: place(x), cy: 9, r: 4 }));
  return svg("svg", { class: `attn-bench-dots ${kind}`, viewBox: `0 0 ${WIDTH} 18`, width: WIDTH, "aria-hidden": "true" }, ...marks);
}

/** For each layer whether ours ends lower, by the rank test and Holm's correction; null for one that is not compared. */
export function verdicts(ours, layers) {
  const asked = layers.filter(({ ahead }) => ours && !ours.ahead && !ahead);
  const tests = asked.map(({ above }) => compared(ours.above, above));
  const corrected = holm(tests.map(({ p }) => p));
  return layers.map((layer) => {
    const i = asked.indexOf(layer);
    return i < 0 ? null : { test: tests[i], p: corrected[i], verdict: verdictOf(tests[i], corrected[i]) };
  });
}

const SAID = new Map([[true, "yes"], [false, "no, yours ends higher"], [null, "could not be told"]]);

function inWords(ours, { ahead }, found) {
  if (!ours) return "–";
  if (ours.ahead) return "yours reads ahead";
  if (ahead) return "this one reads ahead";
  return `${SAID.get(found.verdict)}: lower in ${Math.round(100 * found.test.first)} % of pairs, ${chance(found.p)}`;
}

/** The table: `layers` are rows of {name, rate, above, ahead, weights}, `ours` is one more, or null. */
export function resultTable(ours, layers) {
  const found = verdicts(ours, layers);
  const head = ["layer", "does yours end lower?", "median above the best", "each seed, from 0.0001 to 2 nats above", "its rate", "weights"];
  const row = ({ name, rate, above, ahead, weights }, said, kind) =>
    html(
      "tr",
      { class: kind },
      html("th", { scope: "row" }, name),
      html("td", {}, said),
      html("td", {}, number(middle(above))),
      html("td", {}, dots(above, ahead ? "ahead" : kind)),
      html("td", {}, `${rate}`),
      html("td", {}, `${weights}`),
    );
  return html(
    "div",
    { class: "attn-bench-scroll", tabindex: "0", role: "region", "aria-label": "Results" },
    html(
      "table",
      { class: "attn-bench-table" },
      html("thead", {}, html("tr", {}, ...head.map((words) => html("th", { scope: "col" }, words)))),
      html(
        "tbody",
        {},
        ...(ours ? [row(ours, ours.ahead ? "reads ahead: no verdict" : "", "ours")] : []),
        ...layers.map((layer, i) => row(layer, inWords(ours, layer, found[i]), "")),
      ),
    ),
  );
}
