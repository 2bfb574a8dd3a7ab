// A guess before training: from which part of it on a model does what it should.

export const PARTS = [
  ["0.25", "in the first quarter"],
  ["0.5", "in the second"],
  ["1", "later"],
  ["never", "never"],
];

/** The first step from which on the score was enough; infinite if it is not at the end. */
export function settled(history, enough = 1) {
  let first = Infinity;
  for (const { step, score: share } of history) {
    if (share < enough) first = Infinity;
    else if (first === Infinity) first = step;
  }
  return first;
}

/** Which of the parts that was. */
export function partOf(history) {
  const step = settled(history);
  const last = history.at(-1);
  return step === Infinity ? "never" : ["0.25", "0.5", "1"].find((part) => step <= part * last.step);
}
