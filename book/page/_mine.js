// A table of claims gets a column for the reader's own runs, by the tests of the columns beside it.
//
// The table says in data-claims how each row is judged (book.kit.claims.Mine), or null.

import { html } from "./_page.js";
import { compared, fewest, holm, verdictOf } from "./_rank_test.js";
import { seriesAt } from "./_yours.js";

const SAID_OF = new Map([[true, "held"], [false, "did not hold"], [null, "could not be told"]]);
/** As `statistics.said`: two digits, and in one piece. */
export const chance = (p) => (p < 0.001 ? "p < 0.001" : `p = ${p.toPrecision(2).replace(/\.0$/, "")}`).replaceAll(" ", "\u00a0");
const tooFew = (has, needs) => `too few yet: ${[has].flat().join(" and ")} of ${needs}`;

/** The number of a run that a claim is about. */
const valueOf = (run, { series, x }) => seriesAt(run, series, x);

const valuesOf = (runs, kind, value) => runs.filter((run) => run.kind === kind).map((run) => valueOf(run, value));

const TESTS = new Set(["before", "above"]); // the forms that a test decides, corrected together

const enough = (ours, theirs, needs) =>
  Math.min(ours.length, theirs.length) < needs
    ? { has: [ours.length, theirs.length], needs }
    : { test: compared(ours, theirs) };

// What each form of claim makes of the runs: {has, needs}, and where these are enough {test}, whose p is
// corrected, or {verdict, found}.
const FORMS_OF_CLAIMS = {
  before({ kinds }, runs, questions) {
    const [ours, theirs] = kinds.map((kind) => runs.filter((run) => run.kind === kind).map(({ arrived }) => arrived));
    return enough(ours, theirs, fewest(questions));
  },
  above({ kinds, value, against }, runs, questions) {
    const ours = valuesOf(runs, kinds[0], value);
    const [has, needs] = [ours.length, fewest(questions, against.length)];
    return has < needs ? { has, needs } : { test: compared(against, ours) };
  },
  every({ kinds, value, low, high, needs }, runs) {
    const found = valuesOf(runs, kinds[0], value);
    if (found.length < needs) return { has: found.length, needs };
    const within = found.filter((number) => number >= low && number <= high).length;
    return { verdict: within === found.length, found: `${within} of ${found.length}` };
  },
  pairs({ kinds, value, high, needs }, runs) {
    const [ours, theirs] = kinds.map((kind) => runs.filter((run) => run.kind === kind));
    const apart = ours.flatMap((run) =>
      theirs
        .filter(({ seed }) => seed === run.seed)
        .map((other) => Math.abs(valueOf(run, value) - valueOf(other, value))),
    );
    if (apart.length < needs) return { has: apart.length, needs };
    const near = apart.filter((by) => by < high).length;
    return { verdict: near === apart.length, found: `${near} of ${apart.length} seeds` };
  },
  any({ kinds, needs }, runs) {
    const found = runs.filter(({ kind }) => kind === kinds[0]);
    if (found.length < needs) return { has: found.length, needs };
    const met = found.filter((run) => run.met).length;
    return { verdict: met > 0, found: `${met} of ${found.length}` };
  },
};

/** What the reader's runs say of each claim, in words; only those at the lesson's own settings count. */
export function judgedBy(claims, runs) {
  const taught = runs.filter((run) => run.taught);
  const questions = claims.filter((claim) => claim && TESTS.has(claim.form)).length;
  const found = claims.map((claim) => claim && FORMS_OF_CLAIMS[claim.form](claim, taught, questions));
  const tests = found.filter((each) => each?.test);
  const corrected = holm(tests.map(({ test }) => test.p));
  return found.map((each) => {
    if (!each) return "–";
    if (each.test) {
      const p = corrected[tests.indexOf(each)];
      return `${SAID_OF.get(verdictOf(each.test, p))}: ${each.test.first.toFixed(2)}, ${chance(p)}`;
    }
    return "needs" in each ? tooFew(each.has, each.needs) : `${SAID_OF.get(each.verdict)}: ${each.found}`;
  });
}

/** Put the column into a table, next to the claims so that a phone shows it, or take it away where there is no run. */
export function judgeIn(table, runs) {
  table.querySelectorAll(".attn-mine").forEach((cell) => cell.remove());
  table.dataset.yours = runs.length;
  if (!runs.length) return;
  const beside = (row, cell) => row.cells[0].after(cell);
  beside(table.tHead.rows[0], html("th", { scope: "col", class: "attn-mine" }, "yours, at the lesson’s settings"));
  const words = judgedBy(JSON.parse(table.dataset.claims), runs);
  [...table.tBodies[0].rows].forEach((row, i) => beside(row, html("td", { class: "attn-mine" }, words[i])));
}
