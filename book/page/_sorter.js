// The sorter in the reader's browser. Its forward pass is torch's own, traced into a program
// (attn_notes/programs): all 27 words at once, so that one run of it says the next letter of each.
//
//   unpack, machine → sortAll → written, score      (_model.js, _machines.js)

import { softmax } from "./_model.js";

export const SEP = 0;
export const VOCABULARY = ["|", "a", "b", "c"];
export const LETTERS = VOCABULARY.slice(1);
export const LETTERS_PER_WORD = 3;

/** All 27 inputs, in alphabetical order. */
export const WORDS = LETTERS.flatMap((x) => LETTERS.flatMap((y) => LETTERS.map((z) => x + y + z)));

/** The ways in which weights are made, in words for the page. */
export const VARIANTS = {
  gated: { label: "gated", formula: "W = base ⊙ softmax(A B / τ)" },
  strict: { label: "strict", formula: "W = softmax(A B / τ)" },
  plain: { label: "plain", formula: "W = base" },
  plain_third: { label: "started at a third", formula: "W = base" },
  fixed_gate: { label: "divided by three", formula: "W = base / 3" },
};


/** The three letters the reader meant, or null: capital letters and spaces around are forgiven. */
export function parse(typed) {
  const word = typed.trim().toLowerCase();
  return WORDS.includes(word) ? word : null;
}

export const sorted = (word) => [...word].sort().join("");

// ---------------------------------------------------------------------------------------------
// The model

/** Of output `numbers` of this shape the row at these indices. */
function rowOf({ numbers, shape }, ...indices) {
  const length = shape.at(-1);
  const start = indices.reduce((sum, index, n) => sum * shape[n] + index, 0) * length;
  return numbers.subarray(start, start + length);
}

/**
 * Sort all 27 words greedily with these weights, the separator forbidden. For each word its three
 * steps: what was read, the next letter's probabilities, each head's attention from the last token
 * read, and the choice.
 */
export function sortAll({ names, input, output, run }, weights) {
  for (const name of names) if (name in weights) input(name).set(weights[name]);
  const tokens = input("tokens");
  const [logits, attention] = [output("logits"), output("attention")];
  const [, length] = logits.shape;
  const heads = attention ? attention.shape[1] : 0; // a reader's own program gives logits only
  const contexts = WORDS.map((word) => [...[...word].map((letter) => VOCABULARY.indexOf(letter)), SEP]);
  const steps = WORDS.map(() => []);
  for (let i = 0; i < LETTERS_PER_WORD; i++) {
    // What stands later than the last token is not read: attention is causal.
    contexts.forEach((context, w) => tokens.set(context, w * length));
    run();
    contexts.forEach((context, w) => {
      const last = context.length - 1;
      const probabilities = [0, ...softmax(Array.from(rowOf(logits, w, last)).slice(1))];
      let choice = SEP; // stays so only if the weights are not numbers
      probabilities.forEach((p, id) => {
        if (p > probabilities[choice]) choice = id;
      });
      steps[w].push({
        context: [...context],
        probabilities,
        attention: Array.from({ length: heads }, (_, h) =>
          Array.from(rowOf(attention, w, h, last).subarray(0, last + 1)),
        ),
        choice,
      });
      context.push(choice);
    });
  }
  return steps;
}

/** A letter, or a dash where weights that are not numbers wrote nothing. */
export const letter = (id) => (id === SEP ? "–" : VOCABULARY[id]);

export const written = (steps) => steps.map((step) => letter(step.choice)).join("");

/** How many of the 27 words came out in order. */
export const score = (steps) => steps.filter((three, w) => written(three) === sorted(WORDS[w])).length;
