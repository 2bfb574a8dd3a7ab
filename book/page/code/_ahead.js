// Whether a prediction hangs on what it should predict: tokens are changed, and predictions before them may not move.

const OTHERS = 3; // other tokens that are tried in the place of each
const ROUNDS = 8; // rows in which each place is tried, if there are so many

/**
 * `tokens` [b, t] whole numbers below `vocabulary`, `shape` theirs, and `predict(tokens)` what the model makes of them,
 * [b, t, v]. One token of each row is changed at a time, another place in every row and round, so that each place
 * comes. Gives by how much an earlier prediction moved at most, of which place, and the place of what moved it.
 */
export function futureMoves({ tokens, shape, vocabulary }, predict) {
  const [rows, length] = shape;
  const before = predict(tokens).slice();
  const row = before.length / rows;
  const width = row / length;
  const rounds = Math.max(Math.min(ROUNDS, length - 1), length - rows);
  let worst = { moved: 0, reader: 0, read: 0 };
  for (let round = 0; round < rounds; round++) {
    const places = Array.from({ length: rows }, (_, i) => 1 + ((i + round) % (length - 1)));
    for (let by = 1; by <= Math.min(OTHERS, vocabulary - 1); by++) {
      const changed = tokens.slice();
      places.forEach((place, i) => {
        changed[i * length + place] = (changed[i * length + place] + by) % vocabulary;
      });
      const after = predict(changed);
      places.forEach((place, i) => {
        for (let at = i * row; at < i * row + place * width; at++) {
          const moved = Math.abs(after[at] - before[at]);
          if (moved > worst.moved) worst = { moved, reader: Math.floor((at - i * row) / width), read: place };
        }
      });
    }
  }
  return worst;
}
