// What a reader has guessed and trained in a lesson: kept in this browser, and never sent.
//
//   guesses   question -> number
//   runs      {kind, name, seed, choices, taught, steps, met, criterion, arrived, passed, said, series}: what was
//             trained and how the reader knows it, with which choices, whether these are the lesson's own, for how
//             many steps, whether it met the lesson's criterion and what several are said to do that did, the step
//             from which on it did (null if it did not), whether it does what the challenge asks, what came out in
//             words, and rows of [x, y] by name
//   settings  what is chosen in each panel that trains, by its page and title, and by the name of the field

import { stored } from "./_stored.js";

const CHANGED = "attn-yours";
const MOST = 96; // runs of a lesson; the oldest go first
const MOST_POINTS = 64; // of a series: a figure is not much wider

const FORGOTTEN = Symbol.for("attn_notes.forgotten");
const forgotten = () => (document[FORGOTTEN] ??= new Map()); // as long as the page is
const keyOf = (lesson) => `attention-notes yours ${lesson}`;
const mineIn = (lesson) => stored(keyOf(lesson));
/** A panel of this page: guesses and runs are of the lesson wherever it is shown, choices of the page they were made on. */
const panelHere = (title) => `${location.pathname.replace(/(index)?(\.html)?$/, "")} ${title}`;

/** What there is, whatever stands under that name in the browser. */
function readMine(lesson) {
  try {
    const { guesses, runs, settings } = JSON.parse(mineIn(lesson).get());
    const numbers = Object.entries(guesses).filter(([, value]) => Number.isFinite(value));
    return { guesses: Object.fromEntries(numbers), runs: runs.filter(isRun), settings: Object(settings) };
  } catch {
    return { guesses: {}, runs: [], settings: {} };
  }
}

const isRun = (run) =>
  typeof run?.kind === "string" &&
  typeof run.name === "string" &&
  typeof run.said === "string" &&
  Number.isInteger(run.seed) &&
  Number.isInteger(run.steps) &&
  (run.arrived === null || Number.isFinite(run.arrived)) &&
  Object.values(run.series).every((rows) => rows.every((row) => row.every(Number.isFinite)));

/** A row of points with no more of them than a figure shows, the first and the last among them. */
function thinned(rows) {
  const every = Math.max(1, (rows.length - 1) / (MOST_POINTS - 1));
  const count = Math.min(rows.length, MOST_POINTS);
  return Array.from({ length: count }, (_, i) =>
    rows[Math.round(i * every)].map((value) => Number(value.toPrecision(5))),
  );
}

/** Whether two runs were trained in the same way, from whatever seeds. */
export const sameWay = (one, other) => one.kind === other.kind && one.choices === other.choices;

/** What is the reader's in one lesson. */
export function yours(lesson) {
  function put(next) {
    mineIn(lesson).put(next && JSON.stringify(next));
    document.dispatchEvent(new CustomEvent(CHANGED, { detail: lesson }));
  }
  const alike = (one, other) => one.seed === other.seed && sameWay(one, other);
  return {
    ...readMine(lesson),
    /** Where it stays, in words. */
    stays: () => mineIn(lesson).stays(),
    /** A run more, in the place of one with the same seed and choices. */
    add(run) {
      const mine = readMine(lesson);
      const others = mine.runs.filter((other) => !alike(run, other));
      const series = Object.entries(run.series).map(([name, rows]) => [name, thinned(rows)]);
      put({ ...mine, runs: [...others, { ...run, series: Object.fromEntries(series) }].slice(-MOST) });
    },
    /** Forget the runs that `wanted` is not true of. */
    only(wanted) {
      const mine = readMine(lesson);
      if (!mine.runs.every(wanted)) put({ ...mine, runs: mine.runs.filter(wanted) });
    },
    /** The guesses, in the place of those that there were. */
    guess: (guesses) => put({ ...readMine(lesson), guesses }),
    /** What was chosen in a panel of this page, by its title. */
    chosen: (title) => readMine(lesson).settings[panelHere(title)] ?? {},
    choose(title, settings) {
      const mine = readMine(lesson);
      put({ ...mine, settings: { ...mine.settings, [panelHere(title)]: settings } });
    },
    forget() {
      forgotten().set(lesson, readMine(lesson));
      put(null);
    },
    /** What was forgotten since the page was opened, given back beside what came since; null if nothing was. */
    takeBack: forgotten().has(lesson)
      ? () => {
          const [before, since] = [forgotten().get(lesson), readMine(lesson)];
          forgotten().delete(lesson);
          const runs = before.runs.filter((run) => !since.runs.some((other) => alike(run, other)));
          put({
            guesses: { ...before.guesses, ...since.guesses },
            runs: [...runs, ...since.runs].slice(-MOST),
            settings: { ...before.settings, ...since.settings },
          });
        }
      : null,
  };
}

/** Call whenever something of the reader's changes, in this page or another one; gives how to stop. */
export function watchYours(lesson, listener) {
  const here = ({ detail }) => detail === lesson && listener();
  const elsewhere = ({ key }) => (key === null || key === keyOf(lesson)) && listener();
  document.addEventListener(CHANGED, here);
  addEventListener("storage", elsewhere);
  return () => {
    document.removeEventListener(CHANGED, here);
    removeEventListener("storage", elsewhere);
  };
}

/** What a run came to: of a series the value at `x`, or, without one, its last. */
export function seriesAt({ series }, name, x) {
  const rows = series[name] ?? [];
  return (x === null ? rows.at(-1) : rows.find((row) => row[0] === x))?.[1];
}
