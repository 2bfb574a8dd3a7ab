// The sorter of chapter 1 in the reader's browser: the forward pass of attn_notes/models/deep_qkv.py written
// again in plain JavaScript, in double precision.
//
//   unpack → make → trace → sortAll      pure functions, from bytes to answers (unpack: _model.js)

const SEP = 0;
const VOCABULARY = ["|", "a", "b", "c"];
const LETTERS = VOCABULARY.slice(1);
const LETTERS_PER_WORD = 3;

/** All 27 inputs, in alphabetical order. */
export const WORDS = LETTERS.flatMap((x) => LETTERS.flatMap((y) => LETTERS.map((z) => x + y + z)));

/** The three letters the reader meant, or null: capital letters and spaces around are forgiven. */
export function parse(typed) {
  const word = typed.trim().toLowerCase();
  return WORDS.includes(word) ? word : null;
}

export const sorted = (word) => [...word].sort().join("");

// ---------------------------------------------------------------------------------------------
// The model

/**
 * The weight W of each head for one of q, k, v: base, softmax(A B / temperature), or their
 * product, by what there is; a base without a gate is scaled. Laid out transposed, one row for
 * each output, for `linear`.
 */
function projection(weights, prefix, config) {
  const { embedding: e, heads, rank, temperature, scale } = config;
  const d = e / heads;
  const A = weights[`${prefix}.A`];
  const B = weights[`${prefix}.B`];
  const base = weights[`${prefix}.base`];
  return Array.from({ length: heads }, (_, h) => {
    const W = new Float64Array(d * e);
    for (let i = 0; i < e; i++) {
      let row = new Array(d).fill(scale);
      if (A) {
        row = softmax(
          row.map((_, j) => {
            let sum = 0;
            for (let r = 0; r < rank; r++) {
              sum += A[(h * e + i) * rank + r] * B[(h * rank + r) * d + j];
            }
            return sum / temperature;
          }),
        );
      }
      for (let j = 0; j < d; j++) W[j * e + i] = row[j] * (base ? base[(h * e + i) * d + j] : 1);
    }
    return W;
  });
}

/** A model ready to run: its weights with the q, k and v matrices made from them. */
export function make(weights, config) {
  const [q, k, v] = ["q", "k", "v"].map((name) =>
    projection(weights, `block.attention.${name}`, config),
  );
  return { weights, config, q, k, v };
}

/**
 * Logits of the token after `context`, and each head's attention from its last position.
 *
 * Earlier positions are followed only as far as their keys and values: with a single block,
 * nothing else of theirs is read by the last one.
 */
export function observe({ weights: w, config, q, k, v }, context) {
  const { embedding: e, heads } = config;
  const d = e / heads;
  const row = (table, i) => Array.from(w[table].subarray(i * e, (i + 1) * e));
  const inputs = context.map((id, t) => {
    const token = row("token.weight", id);
    return w["position.weight"] ? add(token, row("position.weight", t)) : token;
  });
  const normed = inputs.map((x) => layerNorm(x, w["block.ln1.weight"], w["block.ln1.bias"]));
  const last = context.length - 1;

  const attention = [];
  const mixed = [];
  for (let h = 0; h < heads; h++) {
    const query = linear(normed[last], q[h]);
    const row = softmax(normed.map((x) => dot(query, linear(x, k[h])) / Math.sqrt(d)));
    const values = normed.map((x) => linear(x, v[h]));
    for (let j = 0; j < d; j++) mixed.push(dot(row, values.map((value) => value[j])));
    attention.push(row);
  }

  let x = add(inputs[last], linear(mixed, w["block.attention.o.weight"]));
  const hidden = linear(
    layerNorm(x, w["block.ln2.weight"], w["block.ln2.bias"]),
    w["block.feed_forward.l1.weight"],
  ).map((value) => Math.max(0, value)); // relu
  x = add(x, linear(hidden, w["block.feed_forward.l2.weight"]));
  const logits = linear(layerNorm(x, w["norm.weight"], w["norm.bias"]), w["token.weight"]);
  return { logits, attention };
}

/** Sort greedily, the separator forbidden: what was read, seen and chosen at each step. */
export function trace(model, word) {
  const context = [...[...word].map((letter) => VOCABULARY.indexOf(letter)), SEP];
  return Array.from({ length: LETTERS_PER_WORD }, () => {
    const { logits, attention } = observe(model, context);
    const probabilities = [0, ...softmax(logits.slice(1))];
    let choice = SEP; // stays so only if the weights are not numbers
    probabilities.forEach((p, i) => {
      if (p > probabilities[choice]) choice = i;
    });
    const step = { context: [...context], probabilities, attention, choice };
    context.push(choice);
    return step;
  });
}

export const written = (steps) => steps.map((step) => VOCABULARY[step.choice]).join("");

/** What the model writes for each of the 27 inputs. */
export const sortAll = (model) => WORDS.map((word) => written(trace(model, word)));

export const score = (answers) =>
  answers.filter((answer, i) => answer === sorted(WORDS[i])).length;
