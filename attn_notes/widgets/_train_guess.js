// A guess before training: from which part of it on a model does what it should.

export const PARTS = [
  ["0.25", "in the first quarter"],
  ["0.5", "in the second"],
  ["1", "later"],
  ["never", "never"],
];

/** The first step from which on the criterion was reached; infinite if it is not at the end. */
export function settled(history) {
  let first = Infinity;
  for (const { step, score: share } of history) {
    if (share < 1) first = Infinity;
    else if (first === Infinity) first = step;
  }
  return first;
}

/** What came out: `reached(step)` or `missed(last)` in words, and whether it was guessed. */
export function comparedWith(guess, history, { reached, missed }) {
  const step = settled(history);
  const last = history.at(-1);
  const found = step === Infinity ? "never" : ["0.25", "0.5", "1"].find((part) => step <= part * last.step);
  const outcome = step === Infinity ? missed(last) : reached(step);
  if (!guess) return outcome;
  return `${outcome} ${guess === found ? "As you guessed." : "Not as you guessed."}`;
}
