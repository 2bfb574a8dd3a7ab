// Whether a prediction hangs on what it should predict: each token is changed, and predictions before it may
// not move. The graph of the reader's own model is computed anew, so nothing of Python is run again.

import { needed, replay } from "./_tensors.js";

const OTHERS = 3; // other tokens that are tried in the place of each

/**
 * `tokens` [b, t] whole numbers below `vocabulary`, `logits` [b, t, v], all places from the second on. Gives by how
 * much an earlier logit moved at most, of which place, and the place of the token that moved it.
 */
export function futureMoves(tokens, logits, vocabulary) {
  const order = needed([logits]);
  const [rows, length] = tokens.shape;
  const width = logits.data.length / (rows * length);
  const before = { tokens: tokens.data, logits: logits.data.slice() };
  let worst = { moved: 0, reader: 0, read: 0 };
  for (let place = 1; place < length; place++) {
    for (let by = 1; by <= Math.min(OTHERS, vocabulary - 1); by++) {
      const changed = before.tokens.slice();
      for (let row = 0; row < rows; row++) {
        const at = row * length + place;
        changed[at] = (changed[at] + by) % vocabulary;
      }
      replay(order, new Map([[tokens, changed]]));
      for (let i = 0; i < logits.data.length; i++) {
        const reader = Math.floor(i / width) % length;
        const moved = reader < place ? Math.abs(logits.data[i] - before.logits[i]) : 0;
        if (moved > worst.moved) worst = { moved, reader, read: place };
      }
    }
  }
  replay(order, new Map([[tokens, before.tokens]]));
  return worst;
}
