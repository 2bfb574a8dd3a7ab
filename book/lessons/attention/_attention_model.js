// A sorter seen whole, in the reader's browser. The forward pass is torch's own, traced into a program
// (attn_notes/programs), of all 27 texts at once.
//
// A model is {name, mask, weights}: whether places are kept from reading ahead, and the weights by their names.

import { argmax, softmax } from "./_model.js";
import { machine } from "./_machines.js";
import { LETTERS_PER_WORD, SEP, VOCABULARY, WORDS, sorted } from "./_sorter.js";

export const PLACES = 2 * LETTERS_PER_WORD;
export const HEADS = 2;
/** What the pictures show of a forward pass, besides the positions, which are no text's. */
const DRAWN =
  "embedding row normed query key value score attention mixture read middle hidden network end final logits".split(" ");

/** What training reads and what it is asked for: `cab|abc`, of which the last letter is never read. */
export const textOf = (word) => `${word}|${sorted(word)}`;
const idsOf = (text) => [...text].map((sign) => VOCABULARY.indexOf(sign));

/** What each place may read, place i in row i: itself, what stands before it, and without a mask what comes later too. */
export const mayRead = (mask, length = PLACES) =>
  Array.from({ length: PLACES ** 2 }, (_, n) => {
    const [i, j] = [Math.floor(n / PLACES), n % PLACES];
    return i === j || (j < length && (j < i || !mask)) ? 1 : 0;
  });

/** Numbers in rows of rows, as a shape says. */
function nested(numbers, [length, ...shape]) {
  if (!shape.length) return Array.from(numbers);
  const size = numbers.length / length;
  return Array.from({ length }, (_, i) => nested(numbers.subarray(i * size, (i + 1) * size), shape));
}

/** Whatever is costly about a model, found once; `find` gives it. */
function remembered(find) {
  const found = new WeakMap();
  return (model) => {
    if (!found.has(model)) found.set(model, find(model));
    return found.get(model);
  };
}

/** What a part adds to the stream: its last weights, of each six numbers those of the part. */
const HEAD_SIZE = 3;
const SILENCED = {
  "head 1": ["block.attention.o.weight", (e) => e < HEAD_SIZE],
  "head 2": ["block.attention.o.weight", (e) => e >= HEAD_SIZE],
  network: ["block.feed_forward.l2.weight", () => true],
};
const ADDS = Object.keys(SILENCED);

/** The same model without some parts: what these would add is nothing. */
const without = (model, parts) =>
  parts.reduce((made, part) => {
    const [name, own] = SILENCED[part];
    const silent = made.weights[name].map((value, n) => (own(n % (HEADS * HEAD_SIZE)) ? 0 : value));
    return { ...made, weights: { ...made.weights, [name]: silent } };
  }, model);

const headless = remembered((model) => without(model, ["head 1", "head 2"]));
/** The model as far as its stream has come: with no part, with the first, and so on to all but the last. */
const partly = remembered((model) => ADDS.map((_, n) => without(model, ADDS.slice(n))));

/** The forward pass of a run's program `observe`, and what follows from it. */
export async function engine(observe) {
  const { input, output, run } = await machine({ observe });

  /**
   * Read these texts, of so many tokens: what is not written yet nobody reads. `turned` {head, place, by} is added to a
   * query; `held` {head, place, at} makes a head read one place and nothing else.
   */
  function pass({ weights, mask }, texts, { length = PLACES, turned = null, held = null } = {}) {
    for (const [name, values] of Object.entries(weights)) input(name).set(values);
    texts.forEach((text, w) => input("tokens").set(text.slice(0, PLACES), w * PLACES));
    input("may_read").set(mayRead(mask, length));
    const query = input("turned").fill(0);
    if (turned) query.set(turned.by, (turned.head * PLACES + turned.place) * turned.by.length);
    const shares = input("held").fill(0);
    if (held) shares[(held.head * PLACES + held.place) * PLACES + held.at] = 1;
    run();
  }

  /** All that the last pass made of one of the texts. */
  function made(w) {
    const of = (name, index) => {
      const { numbers, shape } = output(name);
      return index === undefined ? nested(numbers, shape) : nested(numbers, shape)[index];
    };
    const all = Object.fromEntries(DRAWN.map((name) => [name, of(name, w)]));
    return { ...all, position: of("position"), chances: all.logits.map(softmax) };
  }

  const whole = (model, word, more) => {
    pass(model, [idsOf(textOf(word))], more);
    return made(0);
  };

  /**
   * Let it write all 27 words, each letter the likeliest (the bar cannot come again); of `word` every step. `push` {n, at}
   * makes head 1 read a place while it writes letter n.
   */
  function write(model, word = WORDS[0], { push = null, turned = null } = {}) {
    const texts = WORDS.map((each) => idsOf(`${each}|`));
    const chosen = WORDS.indexOf(word);
    const steps = [];
    for (let n = 0; n < LETTERS_PER_WORD; n++) {
      const place = LETTERS_PER_WORD + n;
      const held = push?.n === n ? { head: 0, place, at: push.at } : null;
      pass(model, texts, { length: place + 1, held, turned });
      const { numbers, shape } = output("logits");
      const logits = nested(numbers, shape);
      const text = texts[chosen].map((id) => VOCABULARY[id]);
      const chances = logits.map((rows) => softmax(rows[place].map((logit, id) => (id === SEP ? -Infinity : logit))));
      texts.forEach((each, w) => each.push(argmax(chances[w])));
      const choice = VOCABULARY[texts[chosen].at(-1)];
      steps.push({ text, place, choice, sure: Math.max(...chances[chosen]), attention: made(chosen).attention });
    }
    const answers = texts.map((ids) => ids.slice(-LETTERS_PER_WORD).map((id) => VOCABULARY[id]).join(""));
    return { steps, answers, answer: answers[chosen] };
  }

  /** For each of the 27 words what a model writes by itself. */
  const answers = remembered((model) => write(model).answers);
  const solved = (model) => WORDS.filter((word, w) => answers(model)[w] === sorted(word));

  /** For each of the 27 texts the surprise of its six predictions, in nats. */
  const surprises = remembered((model) => {
    pass(model, WORDS.map((word) => idsOf(textOf(word))));
    const { numbers, shape } = output("logits");
    return nested(numbers, shape).map((rows, w) =>
      rows.map((row, i) => -Math.log(softmax(row)[idsOf(textOf(WORDS[w]))[i + 1]])),
    );
  });
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const lossOf = (model) => mean(surprises(model).map(mean));

  /** The head that reads most of the answers' own cells, over all texts. */
  const peeker = remembered((model) => {
    pass(model, WORDS.map((word) => idsOf(textOf(word))));
    const { numbers, shape } = output("attention");
    const texts = nested(numbers, shape);
    const shares = Array.from({ length: HEADS }, (_, h) =>
      mean(texts.flatMap((heads) => heads[h].slice(0, -1).map((row, i) => row[i + 1]))),
    );
    return argmax(shares);
  });

  /** What would follow each place if the stream ended before its first part, after it, and so on: chances. */
  const onTheWay = (model, word, more) => partly(model).map((part) => whole(part, word, more).chances);

  return { whole, onTheWay, write, answers, solved, surprises, lossOf, peeker, headless };
}
