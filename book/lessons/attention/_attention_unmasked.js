// The mask taken out: what a head then reads, and what is written; and a model trained before the reader's eyes, with the
// mask and without.

import { UNABLE, button, html, segments } from "./_page.js";
import { trainer } from "./trainer.js";
import { EVERY } from "./_train_guess.js";
import { yours } from "./_yours.js";
import { WORDS, sorted } from "./_sorter.js";
import { PLACES, mayRead } from "./_attention_model.js";
import { curves } from "./_attention_loss.js";
import { box, draws, figure, hatched, hatching, hot, path, percent, shareOf, spoken, upTo, words } from "./_attention_kit.js";

const BELOW = 5e-4; // nats: nearer to the floor than that is on it

/** A model with the mask and one without it, of which one is in all pictures: the shares of the head that looks ahead. */
export const unmasked = {
  draw({ text, word, whole, model, models, machinery, tried }, width) {
    const small = width < 520;
    const pair = [true, false].map((mask) => (model.mask === mask ? model : models.find((each) => each.mask === mask))).filter(Boolean);
    const between = small ? 30 : 74;
    const side = 22;
    const size = Math.min(46, (width - between - 2 * side) / (2 * PLACES));
    const top = 30;
    const parts = [hatching("whole-ahead")];
    pair.forEach((each, n) => {
      const h = each.mask ? 0 : machinery.peeker(each);
      const { attention } = each === model ? whole : machinery.whole(each, word);
      const [shares, other] = [attention[h], attention[1 - h]];
      const left = n * (side + PLACES * size + between) + side;
      const ahead = (i) => other[i].slice(i + 1).reduce((sum, share) => sum + share, 0);
      const besides = (i) => (i < PLACES - 1 ? ` Of what the other head reads, ${percent(ahead(i))} comes later.` : " The last place has no answer to read.");
      parts.push(words(left, 14, `${each.mask ? "with the mask" : "without"}${small ? "" : each.mask ? ": shares of head 1" : ": the head that looks ahead most"}`, n ? "whole-bold" : "whole-soft"));
      for (const i of upTo(PLACES)) {
        parts.push(words(left - 12, top + i * size + size / 2 + 6, text[i], "whole-sign"));
        parts.push(words(left + i * size + size / 2, top + PLACES * size + 18, text[i], "whole-sign"));
        for (const j of upTo(PLACES)) {
          const [x, y] = [left + j * size, top + i * size];
          const [answer, later] = [j === i + 1, each.mask && j > i];
          const say = !tried && !each.mask
            ? "Train one above, and here stands what it reads and writes."
            : later
            ? "Struck out."
            : [`${each.mask ? "With" : "Without"} the mask the ${spoken(text[i])} at place ${i + 1} takes `, percent(shares[i][j]), ` from the ${spoken(text[j])} at place ${j + 1}${answer ? ", which is its answer" : ""}.${each.mask ? "" : besides(i)}`];
          const { kind, more } = shareOf(h, tried || each.mask ? shares[i][j] : 0);
          const drawn = [
            later ? hatched("whole-ahead", x + 1, y + 1, size - 2, size - 2) : box(x + 1, y + 1, size - 2, size - 2, `${kind} whole-mixed`, { rx: 3, ...more }),
            answer && box(x + 2.5, y + 2.5, size - 5, size - 5, "whole-answer whole-hollow", { rx: 3 }),
          ];
          parts.push(hot(i, n * PLACES + j, [x + 1, y + 1, size - 2, size - 2], say, drawn));
        }
      }
    });
    parts.push(words(width, top + PLACES * size + 40, "dashed: the answer", "whole-alarm whole-end"));
    const under = top + PLACES * size + 74;
    const wide = Math.min(27, width / WORDS.length);
    const told = tried ? pair : [];
    told.forEach((each, n) => {
      const right = machinery.solved(each);
      const y = under + n * 58;
      const who = `${each.mask ? "With" : "Without"} the mask`;
      const one = small ? "" : slip(machinery.answers(each));
      parts.push(words(0, y, `${who}${small ? "" : ", writing by itself"}: ${right.length} of ${WORDS.length} words right${one && `; ${one}`}`, n ? "whole-bold" : "whole-soft"));
      WORDS.forEach((letters, k) => {
        const good = right.includes(letters);
        const x = k * wide;
        const say = [`${who} ${letters} becomes `, machinery.answers(each)[k], good ? "." : `, and not ${sorted(letters)}.`];
        const drawn = [
          box(x + 1, y + 10, wide - 3, wide - 3, good ? "whole-ink" : "whole-wrong", { rx: 3 }),
          !good && path(`M${x + 4} ${y + 13} l${wide - 9} ${wide - 9} m0 ${9 - wide} l${9 - wide} ${wide - 9}`, "whole-cross"),
        ];
        parts.push(hot(PLACES + 1 + n, k, [x, y + 9, wide - 1, wide - 1], say, drawn));
      });
    });
    const label = "With the mask and without it: the shares of a head, and which words are written right";
    return { height: under + (tried ? 102 : 0), label, start: pair.length > 1 ? `1,${PLACES + 2}` : "1,0", parts };
  },
};

/** A word that it does not sort, and what becomes of it; nothing where it sorts all. */
const slip = (answers) => {
  const word = ["cab", ...WORDS].find((each) => answers[WORDS.indexOf(each)] !== sorted(each));
  return word ? `${word} becomes ${answers[WORDS.indexOf(word)]}, and not ${sorted(word)}` : "";
};

/** What came of a model trained here, in words; where nobody has heard of a mask yet, what it did. */
function outcome({ mask }, loss, floor, answers, invites) {
  const right = WORDS.filter((word, n) => answers[n] === sorted(word));
  if (invites && right.length < WORDS.length) {
    return `It ends at ${figure(loss, 4)}, better than the best possible, ${figure(floor, 3)}. And yet, left to write by itself, it gets words wrong: ${slip(answers)}.`;
  }
  const where = loss < floor - BELOW ? "below the floor" : `${figure(loss - floor, 3)} above the floor`;
  return `${mask ? "With" : "Without"} the mask: loss ${figure(loss, 4)}, ${where}, ${figure(floor, 3)}. Writing by itself it gets ${right.length} of ${WORDS.length} words right.`;
}

const starts = (mask) => (mask ? "Train one with the mask" : "Train one without a mask");

/**
 * The training, as the store keeps it: what is running or has run in each way, by whether there is a mask. Where it stands by
 * itself, the first press is called `invites`, and there are no other pictures to choose a model for.
 */
export function race({ store, esm, root, uid, invites }) {
  const runs = new Map(); // mask → {mask, seed, curve}
  let running = null;

  const chart = html("div", { class: "whole-canvas" });
  const verdict = html("p", { class: "whole-verdict", role: "status" });
  const go = { false: starter(false, invites || starts(false)), true: starter(true, starts(true)) };
  const choice = segments({ uid, name: "model", label: "The model that all pictures show", onchange: (name) => store.set({ model: name }) });
  const models = html("div", { class: "whole-models" }, html("span", { class: "attn-label" }, "All pictures show:"), choice.node);
  const bench = html("div", { class: "whole-bench" }, go.false, go.true);
  const node = html("div", { class: "whole-picture whole-race", "data-picture": "race" }, bench, chart, verdict, invites ? "" : models);

  function starter(mask, text) {
    const node = button(text, () => begin(mask));
    node.classList.add("attn-go");
    return node;
  }

  const training = trainer({ esm, report, change, pace: () => EVERY });

  function begin(mask) {
    if (training.state() === "running") return;
    const { lesson } = store.now();
    const { step, draws: begins, rate, steps, warmup } = lesson;
    const [own, other] = [runs.get(mask)?.seed ?? lesson.seed - 1, runs.get(!mask)?.seed ?? 0];
    const seed = Math.max(other, own + 1); // the same as of the other way, as long as that is another one
    running = { mask, seed, curve: [] };
    runs.set(mask, running);
    const given = { batch: Float32Array.from(mayRead(mask)) };
    const weights = seed === lesson.seed ? lesson.weights : {}; // as the models of the pictures began
    training.start({ program: step, draws: begins, seed, weights, given, rate, steps, warmup });
    training.run();
  }

  function report({ step, losses, weights }) {
    const from = step - losses.length;
    losses.forEach((loss, i) => (from + i) % EVERY === 0 && running.curve.push([from + i, loss]));
    running.weights = weights;
    mark({ step, loss: losses.at(-1).toFixed(4) });
    verdict.textContent = `Step ${step.toLocaleString("en")}: loss ${figure(losses.at(-1), 3)}.`;
    draw();
  }

  function change(state) {
    for (const each of Object.values(go)) each.setAttribute("aria-disabled", state === "running"); // disabled, it would lose the focus
    if (running) go[running.mask].textContent = state === "running" ? "Training …" : invites ? "Once more, from another start" : starts(running.mask);
    mark({ training: state === "failed" ? "idle" : state });
    if (state === "failed") verdict.textContent = UNABLE;
    if (state === "failed") store.set({ tried: true });
    if (state === "done") end();
  }

  function end() {
    const { machinery, lesson } = store.now();
    const { mask, seed, weights, curve } = running;
    const name = `${mask ? "with" : "without"} the mask`;
    const model = { name, mask, weights };
    const loss = machinery.lossOf(model);
    const right = machinery.solved(model).length;
    curve.push([lesson.steps, loss]);
    verdict.textContent = outcome(model, loss, lesson.floor, machinery.answers(model), invites);
    mark({ loss: loss.toFixed(4), score: (right / WORDS.length).toFixed(3) });
    yours("attention").add({
      kind: mask ? "mask" : "no mask",
      name,
      seed,
      choices: "",
      taught: true,
      steps: lesson.steps,
      criterion: "write all 27",
      met: right === WORDS.length,
      arrived: null,
      passed: false,
      said: verdict.textContent,
      series: { loss: curve },
    });
    store.set({ tried: true });
    if (!mask) store.add(model); // with the mask one is as good as another
    draw();
  }

  const mark = (values) => Object.assign(root.dataset, values);

  function draw() {
    const now = store.now();
    const width = Math.floor(chart.clientWidth);
    if (!now?.lesson || !width) return;
    const { floor, steps, curve: fair } = now.lesson;
    const [left, top, high] = [34, 30, invites ? 170 : width < 480 ? 190 : 230];
    const kindOf = (mask) => (mask ? "whole-honest" : "whole-cheat");
    const shown = [...runs.values()].map(({ mask, curve }) => ({ curve, kind: kindOf(mask) }));
    if (invites) shown.unshift({ curve: fair, kind: "whole-fair" });
    const { parts, across, up } = curves({ left, right: width - 4, top, high, floor, runs: shown, steps, unit: invites ? "how wrong its guesses are" : "loss" });
    const ends = [...runs.values()].filter(({ curve }) => curve.length).map(({ mask, curve }) => {
      const [step, loss] = curve.at(-1);
      const ended = step === steps;
      const [x, y] = [ended ? width - 8 : across(step) - 6, up(Math.min(loss, 1.2))];
      const text = `${invites ? "" : mask ? "with the mask " : "without "}${figure(loss, 4)}`;
      return [
        draws("circle", { cx: across(step), cy: y, r: 4, class: mask ? "whole-ink" : "whole-fill-alarm" }),
        words(x, y + (loss > 1 ? 20 : -10), text, `whole-bold whole-haloed ${x > 150 ? "whole-end" : ""} ${mask ? "" : "whole-alarm"}`),
      ];
    });
    const name = words(width - 8, up(floor) + 18, invites ? "the best possible" : width < 480 ? `the floor, ${figure(floor, 3)}` : `the floor, ${figure(floor, 3)}: nobody honest gets below`, "whole-haloed whole-end");
    const known = invites && words(width - 8, up(floor) - 10, "the honest model", "whole-soft whole-haloed whole-end");
    const said = [...runs.values()].map(({ mask, curve }) => `${mask ? "with" : "without"} the mask, loss ${figure(curve.at(-1)?.[1] ?? 0, 4)}`);
    const label = `The loss in training, and the floor at ${figure(floor, 3)}${said.length ? `: ${said.join("; ")}` : ""}`;
    const svg = draws("svg", { width, height: top + high + 26, viewBox: `0 0 ${width} ${top + high + 26}`, role: "img", "aria-label": label }, hatching("whole-below"), parts, name, known, ends);
    chart.replaceChildren(svg);
  }

  function show() {
    const now = store.now();
    if (!now?.lesson) return;
    go.true.hidden = Boolean(invites) || !runs.size;
    if (!verdict.textContent) verdict.textContent = invites ? "It takes a few seconds." : `A model of 318 weights, ${now.lesson.steps.toLocaleString("en")} steps: some seconds.`;
    models.hidden = !runs.size;
    choice.set(now.models.map(({ name }) => [name, name]), now.model.name);
    draw();
  }
  mark({ training: "idle", step: 0, loss: "", score: 0 });
  const stop = store.watch(show);
  const sized = new ResizeObserver(() => requestAnimationFrame(draw)); // a drawing that changes its own size waits
  sized.observe(chart);
  show();
  return {
    node,
    free() {
      stop();
      sized.disconnect();
      training.free();
    },
  };
}
