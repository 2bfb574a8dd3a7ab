// What a run of a reader's code has shown, in words.

/**
 * Whether a model reads ahead: by how much a prediction `moved`, and its `slope`, or null where none could be asked for;
 * `cuts` are the places at which that was asked, of how many.
 */
export const readsAhead = ({ moved, slope }) => moved > 1e-6 || slope > 1e-9;

function ofReading(ahead) {
  const { moved, reader, read, slope, cuts } = ahead;
  if (!readsAhead(ahead)) {
    const where = slope !== null && cuts[0] < cuts[1] ? `, asked at ${cuts[0]} of ${cuts[1]} places` : "";
    const sloped = slope === null ? ". By its gradient it could not be asked" : `, and by its gradient none depends on one${where}`;
    return [`It does not read ahead: no prediction moves when a later token is changed${sloped}.`, "good"];
  }
  if (!(moved > 1e-6)) return [`It reads ahead: by its gradient, predictions have slopes of up to ${slope.toPrecision(2)} in later tokens.`, "bad"];
  const where = `another token at place ${read + 1} moves what it predicts at place ${reader + 1}`;
  return [`It reads ahead: ${where}, by up to ${moved.toPrecision(2)}.`, "bad"];
}

/**
 * Whether it is the book’s model: by how much outputs differ at most, how large the book’s are, and in how many places
 * another choice is the likeliest, where outputs choose.
 */
function ofModel({ by, size, chosen }) {
  if (by < 1e-4) return [`It is the book’s model: on the same weights their outputs differ by ${by.toPrecision(2)} at most.`, "good"];
  const isNot = "It is not the book’s model: on the same weights";
  if (by === Infinity) return [`${isNot} its outputs are no numbers, or of another shape.`, ""];
  const told = (number) => number.toLocaleString("en-US", { maximumSignificantDigits: 2 });
  const outputs = `outputs differ by up to ${told(by)}, where the book’s largest is ${told(size)}`;
  if (!chosen) return [`${isNot} ${outputs}.`, ""];
  const { what, other, all } = chosen;
  const likeliest = other ? `it would choose another ${what} in ${other} of ${all} places` : `it would choose the same ${what} in all ${all} places, but ${outputs}`;
  return [`${isNot} ${likeliest}.`, ""];
}

/** Texts of what came of a run, by what the page measured: [words, kind of line]. */
export function verdicts({ agrees, ahead, looked }) {
  const found = agrees ? [ofModel(agrees)] : [];
  if (ahead) found.push(ofReading(ahead));
  if (looked) {
    found.push([
      "Your code looked at a number that hangs on the weights or the tokens (item, if, float …). In training that " +
        "stays what it was just now.",
      "bad",
    ]);
  }
  return found;
}

