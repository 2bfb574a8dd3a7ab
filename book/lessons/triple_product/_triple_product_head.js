// In a trained head: what a model's head makes of a text, drawn as the space that its query sees.

import { decimal, oneOf, typed, whole } from "./_chosen.js";
import { argmax, softmax } from "./_model.js";
import { unpack } from "./_unpack.js";
import {
  POWERS,
  button,
  counted,
  html,
  menus,
  refuse,
  select,
  sleeper,
  slider,
  speaker,
  textBox,
} from "./_page.js";
import { machines } from "./_machines.js";
import { forward, make } from "./_triple_product_model.js";
import { sceneView } from "./_triple_product_scene.js";
import {
  LETTERS,
  LONGEST_TEXT,
  example,
  ideal,
  parse,
  periodOf,
  sequence,
  source,
  spell,
} from "./_triple_product_task.js";
import { headScene, reachOf, tokenStrip } from "./_triple_product_tokens.js";
import { cos2, norm, place } from "./_triple_product_vectors.js";
import { KINDS, WORDS, counts, factor, facts, named, show } from "./_triple_product_words.js";

const LOUDNESS = [0.1, 100];
const HALF = 0.5; // of a head's attention
const KNOWN = 0.99; // what the best predictor must be sure of for a token to be right or wrong

/** Names of runs, fewer layers first, then by kind of score: a saved page has them by the alphabet. */
function inOrder(runs) {
  const rank = ({ config }) => KINDS.findIndex(({ kind }) => kind === config.score);
  const before = ([, a], [, b]) => a.config.layers - b.config.layers || rank(a) - rank(b);
  return Object.entries(runs).sort(before).map(([name]) => name);
}

/** What is to be said of a guess after position i, and whether it is right, if that can be known. */
function judged(text, i, guess, config) {
  const read = text.slice(0, i + 1);
  const best = ideal(read, config);
  const due = best && argmax(best);
  if (best !== null && best[due] > KNOWN) {
    const right = due === guess;
    return { right, said: right ? "✓ That is right." : `✗ The text goes on with ${LETTERS[due]}.` };
  }
  const own = periodOf(read);
  if (own !== null && !config.periods.includes(own)) {
    const next = read[read.length - own];
    const right = guess === next;
    return {
      right,
      said:
        `This text repeats after ${own}, and the model has seen sequences that repeat after ` +
        `${counts(config.periods)} only. ` +
        (right ? "✓ It copies all the same." : `✗ The text goes on with ${LETTERS[next]}.`),
    };
  }
  if (best !== null) {
    return { said: `It cannot be known yet: the best possible predictor gives ${best[guess].toFixed(2)}.` };
  }
  const next = i + 1 < text.length ? ` It goes on with ${LETTERS[text[i + 1]]}.` : "";
  return {
    said:
      `None of the model's periods (${counts(config.periods)}) fits this text; one fits ` +
      `${example(config)}.${next}`,
  };
}

export function inAHead({ uid, model, save, leave }) {
  const spoken = speaker();
  let shown = null; // {run, seed, model, config} of what is unpacked, {learning, model, config} of a model in training
  const clamp = (value, count) => Math.min(value, count - 1);

  const tokens = () => parse(model.get("text"), shown.config.vocabulary);
  const position = () => clamp(model.get("position"), tokens().length);

  const models = menus({ uid, model, save, order: inOrder, choose: change });
  const { run } = models;
  const selects = {
    layer: select({ uid, name: "layer", label: "Layer", onchange: (value) => sit({ layer: Number(value) }) }),
    head: select({ uid, name: "head", label: "Head", onchange: (value) => sit({ head: Number(value) }) }),
    key: select({ uid, name: "key", label: "Key", onchange: (value) => choose(Number(value)) }),
  };

  // --- the text

  const message = html("p", { class: "tp-message", id: `${uid}-text-message`, role: "status" });
  const box = textBox({
    uid,
    name: "text",
    label: "Text",
    described: `${uid}-text-message`,
    oninput: () => {
      const next = parse(input.value, shown.config.vocabulary);
      if (next) write(next);
      judge();
    },
  });
  const { input } = box;

  /** Ask about another text, from its last position but one: what follows can then be checked. */
  const asked = (text) => ({
    text: spell(text),
    position: Math.max(0, text.length - 2),
    key: -1,
    loudness: 1,
  });
  const write = (next) => save(asked(next));

  let offered = model.get("text"); // the last that the reader neither typed nor opened
  /** Ask about a text of a task, of the page's choice. */
  function offer(config) {
    const next = asked(sequence(config));
    offered = next.text;
    return next;
  }

  /** Take another model, and keep the text: how a model does on another's task is worth a look. */
  function change(name) {
    if (!name) return; // the model in training, which is shown
    release();
    take(model.get("runs")[name]);
    save({ run: name, ...copier() });
  }

  const opening = model.get("position");
  /**
   * Show a model with so many layers and the dot product, with a text, where the widget began, and of its heads the
   * one that copies, if one does.
   */
  function open(layers, text) {
    const fits = ([, { config }]) => config.score === "dot" && config.layers === layers;
    const name = Object.entries(model.get("runs")).find(fits)?.[0];
    if (!name) return;
    save({ mode: "head", ...asked(parse(text, LETTERS.length)), position: opening });
    change(name);
  }

  let chosen = false; // whether the reader has chosen where to look while a model is in training
  function sit(place) {
    chosen = true;
    save(place);
  }

  /** The layer and head that look most, and so much, at the token to be copied next, if there is one. */
  function copier(least = 0) {
    const text = tokens();
    const from = text && source(text.slice(0, position() + 1), shown.config);
    if (from === null) return {};
    const heads = quiet().layers.flatMap((all, layer) =>
      all.map(({ attention }, head) => ({ layer, head, weight: attention[position()][from] })),
    );
    const { layer, head, weight } = heads[argmax(heads.map((each) => each.weight))];
    return weight >= least ? { layer, head } : {};
  }

  /** What a text lacks, in words without an end; nothing if nothing. */
  function lacking(text, config) {
    if (parse(text, config.vocabulary)) return "";
    const last = LETTERS[config.vocabulary - 1];
    return `Type 1 to ${LONGEST_TEXT} letters from a to ${last}, without spaces, such as ${example(config)}`;
  }

  /** Say what the box lacks, if anything; the picture is then of the text before. */
  function judge() {
    const lack = lacking(input.value, shown.config);
    message.textContent = lack && `${lack}; what is shown belongs to the text before.`;
    refuse(input, Boolean(lack));
  }

  const another = button("another sequence", () => {
    write(sequence(shown.config));
    judge();
  });

  // --- the tokens

  const strip = tokenStrip({ ask: (i) => ask(i), take: (t) => t <= position() && choose(t) });

  /** Query from position i; a key that then lies in the future is let go. */
  function ask(i) {
    save(model.get("key") > i ? { position: i, key: -1, loudness: 1 } : { position: i });
  }

  function choose(j) {
    save(j === model.get("key") ? { key: j } : { key: j, loudness: 1 });
  }

  const view = sceneView({
    uid: `${uid}-head`,
    label: "This query's plane and the keys above it. Arrow keys turn the space.",
    azimuth: -68, // q points to the right
    onpick: (id) => {
      if (!Number.isNaN(Number(id))) choose(Number(id));
    },
  });

  const loud = slider({
    uid,
    name: "loudness",
    label: "",
    ...POWERS,
    min: LOUDNESS[0],
    max: LOUDNESS[1],
    step: 0.01,
    say: factor,
    oninput: (value) => save({ loudness: value, key: keyOf(attentionOf(quiet())) }),
  });

  const help = html("p", { class: "attn-help" });
  const answer = html("p", { class: "tp-answer" });
  const verdict = html("p", { class: "tp-verdict" });
  const title = html("p", { class: "tp-title" });
  const numbers = facts();
  const words = html("p", { class: "attn-help" });
  const asleep = sleeper();
  const awake = html(
    "div",
    {},
    html(
      "div",
      { class: "attn-controls" },
      ...models.nodes,
      selects.layer.node,
      selects.head.node,
    ),
    html("div", { class: "attn-controls tp-ask" }, box.node, another),
    message,
    help,
    strip.node,
    answer,
    verdict,
    // Closed at first: the bars say which letter it looks at, the vectors why.
    html(
      "details",
      { class: "tp-vectors" },
      html("summary", {}, "The vectors behind the bars, and one letter made louder"),
      html(
        "div",
        { class: "tp-columns" },
        html(
          "div",
          { class: "tp-left" },
          view.node,
          words,
          html("p", { class: "attn-help", id: `${uid}-head-help` }, "Drag to turn, or use the arrow keys."),
        ),
        html(
          "div",
          { class: "tp-right" },
          title,
          selects.key.node,
          numbers.list,
          loud.node,
          html(
            "p",
            { class: "attn-help" },
            "Loudness multiplies the embedding of this one token, before anything else, and the whole " +
              "network runs again.",
          ),
        ),
      ),
    ),
  );
  const node = html("div", { class: "tp-mode" }, asleep, awake, spoken.node);

  // --- drawing

  const headOf = ({ layers }) => {
    const heads = layers[clamp(model.get("layer"), layers.length)];
    return heads[clamp(model.get("head"), heads.length)];
  };
  const attentionOf = (seen) => headOf(seen).attention[position()];
  const keyOf = (attention) => {
    const key = model.get("key");
    return key >= 0 && key < attention.length ? key : argmax(attention);
  };
  const quiet = () => forward(shown.model, tokens());

  /** Unpack the weights of a run's chosen seed, unless they are. */
  function take(run) {
    const seed = clamp(model.get("seed"), run.seeds);
    if (shown?.run === run && shown.seed === seed) return;
    shown = { run, seed, config: run.config, model: make(run, unpack(run, seed)) };
  }

  /**
   * Show a model in training, and the head that copies once there is one; on the reader's own text, and where there is
   * none on one of its task.
   */
  function follow(lesson, task, weights) {
    const config = { ...lesson.config, ...task };
    const before = shown;
    shown = { learning: true, config, model: make(lesson, weights) };
    if (before?.learning && model.get("mode") === "hand") return; // unseen, until it is drawn again
    if (before?.learning) {
      const place = chosen ? {} : copier(HALF);
      const moved = Object.keys(place).some((name) => place[name] !== model.get(name));
      return moved ? save(place) : drawAll();
    }
    chosen = false;
    const text = tokens();
    const stays = text && (model.get("text") !== offered || ideal(text, config));
    save({ mode: "head", ...(stays ? {} : offer(config)) });
  }

  /** Show one of the runs again, and be it instead of the model in training, or of one whose first step is to come. */
  function release() {
    leave();
    if (shown?.learning) shown = null;
  }

  const loaded = () => run() !== undefined && machines.of(run()) !== undefined;

  function wake() {
    if (!shown?.learning) take(run());
    if (!tokens()) {
      save(offer(shown.config)); // the text before has letters that this model does not know
      return false;
    }
    if (parse(input.value, shown.config.vocabulary)?.join() !== tokens().join()) {
      if (document.activeElement !== input) input.value = spell(tokens());
    }
    judge();
    return true;
  }

  function drawAll() {
    const there = shown?.learning || loaded();
    asleep.hidden = there || run() !== undefined;
    awake.hidden = !there;
    if (!there || !wake()) return;
    const { config } = shown;
    const text = tokens();
    const i = position();
    const still = quiet();
    const j = keyOf(attentionOf(still));
    const loudness = model.get("loudness");
    const seen = loudness === 1 ? still : forward(shown.model, text, { position: j, factor: loudness });
    const head = headOf(seen);
    const attention = head.attention[i];
    const name = (t) => `${LETTERS[text[t]]}${t + 1}`;

    models.show(shown.learning ? `yours: ${named(config)}` : "");
    const vectors = model.get("modes").includes("hand");
    help.textContent =
      "Choose a letter to ask from its position; the bars over the letters are its attention." +
      (vectors ? " Choose a bar, or the tip of a vector, to take that key." : "");
    selects.layer.node.hidden = config.layers < 2;
    selects.layer.set(counted(config.layers, (n) => `${n + 1}`), clamp(model.get("layer"), config.layers));
    selects.head.set(counted(config.heads, (n) => `${n + 1}`), clamp(model.get("head"), config.heads));
    selects.key.set(counted(i + 1, (t) => `${LETTERS[text[t]]} at ${t + 1}`), j);
    strip.draw(text, i, j, attention);

    const placed = place(head, i);
    const reach = reachOf(place(headOf(still), i).keys);
    view.draw(headScene(placed, attention, reach, j, name));

    const distribution = softmax(seen.logits[i]);
    const guess = argmax(distribution);
    answer.replaceChildren(
      `After the ${LETTERS[text[i]]} in place ${i + 1} the model expects `,
      html("strong", {}, LETTERS[guess]),
      ` with probability ${distribution[guess].toFixed(2)}.`,
    );
    const { said, right } = judged(text, i, guess, config);
    verdict.classList.toggle("tp-wrong", right === false);
    verdict.classList.toggle("tp-right-answer", right === true);
    verdict.textContent = said;

    const height = placed.keys[j][2];
    title.textContent = `The key ${name(j)}`;
    const beta = config.score === "angle" ? [["β of this head", show(head.beta)]] : [];
    numbers.set([
      ["attention", attention[j].toFixed(2)],
      ["score", show(head.scores[i][j])],
      ["length", show(norm(placed.keys[j]))],
      [head.r ? "distance from the plane" : "distance from the line of q", show(height)],
      [head.r ? "cos² of the angle to the plane" : "cos² of the angle to q", show(cos2(head.q[i], head.k[j], head.r?.[i] ?? head.q[i]))],
      ...beta,
    ]);
    words.textContent = WORDS[config.score];
    loud.text.textContent = `Loudness of ${name(j)}`;
    loud.set(loudness);
    spoken.say(
      `${name(j)} has attention ${attention[j].toFixed(2)}. ${answer.textContent} ${verdict.textContent}`,
    );
  }

  const of = () => run().config;
  return {
    node,
    chosen: {
      run: oneOf(() => inOrder(model.get("runs"))),
      seed: whole(0, () => run().seeds - 1),
      layer: whole(0, () => of().layers - 1),
      head: whole(0, () => of().heads - 1),
      text: typed((text) => lacking(text, of()) && `${lacking(text, of())}.`),
      position: whole(0, () => model.get("text").length - 1),
      key: whole(-1, () => model.get("position")),
      loudness: decimal(...LOUDNESS),
    },
    draw: drawAll,
    follow,
    release,
    open,
    learning: () => Boolean(shown?.learning),
    leave() {
      view.leave();
      spoken.quiet();
    },
  };
}
