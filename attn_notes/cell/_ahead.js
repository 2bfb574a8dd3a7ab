// Whether a prediction hangs on what it should predict: each token is changed, and predictions before it may
// not move.

const OTHERS = 3; // other tokens that are tried in the place of each

/**
 * `tokens` [b, t] whole numbers below `vocabulary`, `shape` theirs, and `predict(tokens)` what the model makes of them,
 * [b, t, v]. Gives by how much an earlier prediction moved at most, of which place, and the place of the token
 * that moved it.
 */
export function futureMoves({ tokens, shape, vocabulary }, predict) {
  const [rows, length] = shape;
  const before = predict(tokens).slice();
  const width = before.length / (rows * length);
  let worst = { moved: 0, reader: 0, read: 0 };
  for (let place = 1; place < length; place++) {
    for (let by = 1; by <= Math.min(OTHERS, vocabulary - 1); by++) {
      const changed = tokens.slice();
      for (let row = 0; row < rows; row++) {
        const at = row * length + place;
        changed[at] = (changed[at] + by) % vocabulary;
      }
      predict(changed).forEach((x, i) => {
        const reader = Math.floor(i / width) % length;
        const moved = reader < place ? Math.abs(x - before[i]) : 0;
        if (moved > worst.moved) worst = { moved, reader, read: place };
      });
    }
  }
  return worst;
}
