// A guess before training: from which part of it on a model does what it should.

export const PARTS = [
  ["0.25", "in the first quarter"],
  ["0.5", "in the second"],
  ["1", "later"],
  ["never", "never"],
];

/** Steps at which a run is judged, however fast or slow the page is; what it shows between does not count. */
export const EVERY = 10;

/** The first step that was judged from which on the score was enough; infinite if it is not at the end. */
export function settled(history, enough = 1) {
  let first = Infinity;
  const last = history.at(-1);
  for (const each of history) {
    const at = each.at ?? (each === last ? each.step : null);
    if (at === null) continue;
    if (each.score < enough) first = Infinity;
    else if (first === Infinity) first = at;
  }
  return first;
}

/** Which of the parts that was. */
export function partOf(history) {
  const step = settled(history);
  const last = history.at(-1);
  return step === Infinity ? "never" : ["0.25", "0.5", "1"].find((part) => step <= part * last.step);
}
