// The panel in which a reader trains a model: what is changed, a guess, Train, and the loss above its floor.

import { UNABLE, button, goOn, html, segments, svg } from "./_page.js";
import { settingsFold } from "./_train_settings.js";
import { trainer } from "./trainer.js";
import { keeper } from "./_kept_weights.js";
import { listenFor, shownIn } from "./_listening.js";
import { EVERY, settled } from "./_train_guess.js";
import { ownName } from "./_unpack.js";
import { sameWay, watchYours, yours } from "./_yours.js";

const KEPT_RUNS = 16; // earlier curves stay in the picture, in grey
const CHART = { width: 600, height: 150 };

/** The loss over the steps, the floor drawn before any curve; and below it how far the criterion is reached. */
function lossChart() {
  const flat = { preserveAspectRatio: "none", "aria-hidden": "true" };
  const box = `0 0 ${CHART.width} ${CHART.height}`;
  const earlier = svg("g", { class: "attn-earlier" });
  const curve = svg("polyline", { class: "attn-curve" });
  const floorLine = svg("line", { class: "attn-floor", x1: 0, x2: CHART.width });
  const others = svg("g", { class: "attn-others" });
  const picture = svg("svg", { ...flat, class: "attn-losses", viewBox: box }, others, earlier, floorLine, curve);
  const names = html("div", { class: "attn-other-names" });
  const [top, floorName, reachedName, end] = [0, 0, 0, 0].map(() => html("span", {}));
  floorName.className = "attn-floor-name";
  const reached = svg("polyline", { class: "attn-reached" });
  const lane = svg("svg", { ...flat, class: "attn-lane", viewBox: `0 0 ${CHART.width} 1` }, reached);
  const node = html(
    "div",
    { class: "attn-chart", "aria-hidden": "true" },
    html("div", { class: "attn-scale" }, top, floorName),
    html("div", { class: "attn-plot" }, picture, names),
    lane,
    html("div", { class: "attn-scale" }, html("span", {}, "step 0"), reachedName, end),
  );
  let scale = { steps: 1, top: 1, bottom: 0 };
  let points = [];
  let scores = [];
  let toneNow = "";

  const x = (step) => ((step / scale.steps) * CHART.width).toFixed(1);
  const y = (loss) => {
    const share = (loss - scale.bottom) / (scale.top - scale.bottom);
    return ((1 - Math.min(Math.max(share, 0), 1)) * CHART.height).toFixed(1);
  };

  /** A new run: what was drawn turns grey where it was on the same scale, else it goes. */
  function begin({ setup, floor, top: highest, words, criterion, ...more }) {
    const { bottom = floor - 0.08 * (highest - floor), lines = [], tone = "" } = more;
    const next = { steps: setup.steps, top: highest, bottom, floor };
    const same = JSON.stringify(next) === JSON.stringify(scale);
    if (!same) earlier.replaceChildren();
    else if (points.length > 1) {
      earlier.append(svg("polyline", { points: points.join(" "), class: toneNow }));
      if (earlier.childElementCount > KEPT_RUNS) earlier.firstChild.remove();
    }
    scale = next;
    toneNow = tone;
    curve.setAttribute("class", `attn-curve ${tone}`);
    others.replaceChildren(...lines.map(({ at }) => svg("line", { x1: 0, x2: CHART.width, y1: y(at), y2: y(at) })));
    names.replaceChildren(
      ...lines.map(({ at, words: name }) =>
        html("span", { style: `top: ${((100 * y(at)) / CHART.height).toFixed(1)}%` }, name),
      ),
    );
    points = [];
    scores = [];
    curve.setAttribute("points", "");
    reached.setAttribute("points", "");
    floorLine.setAttribute("y1", y(floor));
    floorLine.setAttribute("y2", y(floor));
    floorName.textContent = words;
    reachedName.textContent = criterion;
    top.textContent = `loss, up to ${highest} nats`;
    end.textContent = setup.steps.toLocaleString("en");
  }

  /** Losses of the steps up to `step`, and the score after the last. */
  function add(step, losses, score) {
    // No more points than the picture is wide: a chaotic run has thousands of steps.
    const every = Math.max(1, Math.round(scale.steps / CHART.width));
    losses.forEach((loss, i) => {
      const at = step - losses.length + i;
      if (at % every === 0 && !Number.isNaN(loss)) points.push(`${x(at)},${y(loss)}`);
    });
    curve.setAttribute("points", points.join(" "));
    scores.push(`${x(step)},${(1 - score).toFixed(3)}`);
    reached.setAttribute("points", `0,1 ${scores.join(" ")} ${x(step)},1`);
  }
  return { node, begin, add };
}

const shapesOf = (draws) =>
  Object.fromEntries(Object.entries(draws).map(([name, { shape }]) => [ownName(name), shape]));

/**
 * How far a challenge is by runs of its seeds that were trained with the choices that the panel shows, whenever that
 * was; `met` is null as long as it may yet be.
 */
function standing({ seeds, done, refused }, runs) {
  const why = refused?.();
  if (why) return { met: false, words: `Not yet: ${why}.` };
  const met = runs.filter((run) => run.passed).length;
  const words = `${met} of ${runs.length} seeds ${done}`;
  if (met < runs.length) return { met: false, words: `So far: ${words}.` };
  return runs.length < seeds ? { met: null, words: `${words}, ${seeds} are asked.` } : { met: true, words: `Met: ${words}.` };
}

/**
 * The panel. `root` carries data-training, data-step, data-loss and data-score for whoever drives it.
 *
 *   lesson    whose guesses and runs these are, by its stem
 *   settings  nodes of the choices; whoever changes one calls `restart`
 *   plan(seed)  {setup, name, floor, top, bottom, words, criterion, run, lasts}: what to train, what its
 *               weights are kept as, the picture's scale (`bottom` if there is something to see below
 *               the floor) with names for the floor and for what is reached; `lines` are further yardsticks,
 *               [{at, words}], and `tone` is the class of the curve, which it keeps when it is an earlier
 *               one. Of a run, what _yours.js keeps whatever came of it: kind, name, choices, taught,
 *               criterion, which is met by a score of `enough`, or 1. `lasts` says about how long, where one waits
 *   judge(weights, {losses, judged, step})  {score, words}: the share of the criterion that is reached, in
 *               words; `curve`, the losses to be drawn at that step, where these are not those of the
 *               batches; whatever else is there stays in the history for `series`
 *   series(history)  rows of [x, y] by name, for the figures
 *   onward()  whether a run that is begun after another is of the same seed, with other choices that this makes
 *   follow(weights, step)   everything else that the widget shows, if there is something
 *   more      what stands above the challenge
 *   first     the first seed
 *   seeds     how many one button trains in a row, if not those of the challenge
 *   guesses, outcome(history), found(history)   the question asked before the first start, what came out
 *               in words, and which of the answers that is
 *   challenge {text(), seeds, passed(run, last), done, refused()}: what is asked of the first so many seeds; whether a
 *               run does it, by what is kept of it and the last of its history, which has a loss; what those did that
 *               do, as in "sort all 27"; and why the choices do not suit, if they do not
 */
export function trainPanel({ uid, root, esm, title, settings, plan, judge, follow = () => {}, ...rest }) {
  const { lesson, guesses, outcome, found, series = () => ({}), pace = () => Infinity, onward = () => false } = rest;
  const { challenge, seeds = challenge.seeds, more = [], first: seed0 = 1 } = rest;
  let current = null; // the plan
  let seed = seed0;
  let weights = null;
  let history = []; // {step, at, score, loss} at every report; `at` is the step that was judged, if it counts
  let guess = null;
  let waiting = []; // seeds that are still to be trained, of several
  let hurried = false; // while these are trained
  let answers = []; // what came out of each of them, as one may have guessed
  let restored = false; // whether the choices that were kept are made again
  let left = false; // for something else to look at, where a step that still arrives is not shown

  const chart = lossChart();
  const line = html("p", { class: "attn-train-line" });
  const said = html("p", { class: "attn-train-said", role: "status" });
  const go = button("Train", () => (training.state() === "running" ? training.pause() : begin()));
  go.classList.add("attn-go");
  const one = button("One step", () => {
    left = false;
    training.once();
  });
  const again = button("Another seed", () => {
    waiting = [];
    hurried = false;
    seed++;
    prepare();
  });
  const several = button(`${seeds} seeds`, () => {
    restart();
    hurried = true;
    answers = [];
    [seed, ...waiting] = Array.from({ length: seeds }, (_, i) => i + 1);
    prepare();
    training.run();
  });
  const see = button("See it in the figure", () => {
    window.history.pushState(window.history.state, ""); // so that Back returns to the panel
    const figure = shownIn(lesson, current.run.kind);
    const guess = figure.closest("[inert]")?.parentElement.querySelector(".attn-guesses"); // before what it veils
    (guess ?? figure).scrollIntoView({ block: "center" });
  });
  see.classList.add("attn-elsewhere");
  const kept = keeper({
    key: () => current.name,
    shapes: () => shapesOf(current.setup.draws),
    weights: () => weights,
    give: take,
    say,
  });
  const ask = segments({
    uid,
    name: "guess",
    label: guesses.question,
    onchange: (value) => {
      guess = value;
    },
  });
  ask.set(guesses.options, "");
  const question = html(
    "div",
    { class: "attn-guess" },
    html("span", { class: "attn-label" }, guesses.question),
    ask.node,
  );
  const tally = html("p", { class: "attn-train-line", role: "status" });
  const task = html("p", {});
  const asked = html("div", { class: "attn-controls attn-challenge" }, task, tally);
  const folded = settingsFold({ uid, settings, keep: (made) => yours(lesson).choose(title, made) });
  const minutes = html("span", { class: "attn-minutes" });
  const node = html(
    "section",
    { class: "attn-train attn-quiet", "aria-label": title }, // until there has been a run
    html("p", { class: "attn-train-title" }, title),
    folded.node,
    question,
    html("div", { class: "attn-controls attn-train-buttons" }, go, minutes, one, several, again),
    line,
    chart.node,
    said,
    html("div", { class: "attn-controls attn-train-buttons attn-after" }, see, ...kept.nodes),
    ...more,
    asked,
  );
  listenFor(lesson);
  const deaf = watchYours(lesson, showYours);
  document.addEventListener("DOMContentLoaded", showYours); // figures are read after the panel is there

  // Of several in a row nobody wants to watch each.
  const training = trainer({
    esm,
    report,
    change,
    pace: (step) => Math.min(hurried ? Infinity : pace(), EVERY - (step % EVERY)),
  });

  function say(sentence) {
    if (said.textContent !== sentence) said.textContent = sentence;
  }

  const mark = (values) => Object.assign(root.dataset, values);

  /** There has been a run: all else is there from now on. */
  function wake() {
    node.classList.remove("attn-quiet");
  }

  function begin() {
    if (training.state() === "done") {
      if (!onward()) seed++;
      prepare();
    }
    training.run();
  }

  /** From here on the choices are those that the panel shows; at first those that the reader left there. */
  function restart() {
    if (!restored) {
      restored = true;
      folded.tell();
      folded.restore(yours(lesson).chosen(title));
    }
    waiting = [];
    hurried = false;
    task.textContent = `Challenge: ${challenge.text()}`;
    prepare();
    showYours();
  }

  /**
   * How far the challenge is, by all runs of its seeds with the choices that the panel shows; and the way to the
   * figure that draws such runs, if the page has one.
   */
  function showYours() {
    if (!current) return;
    const { runs } = yours(lesson);
    if (runs.length) wake();
    see.hidden = !shownIn(lesson, current.run.kind);
    see.disabled = !runs.some(({ kind }) => kind === current.run.kind);
    const row = runs.filter((run) => run.seed <= seeds && sameWay(run, current.run));
    const { met, words } = row.length ? standing(challenge, row) : { met: false, words: "" };
    asked.dataset.met = met === true;
    tally.textContent = words;
  }

  function prepare() {
    current = plan(seed);
    folded.tell();
    training.start(current.setup);
    history = [];
    weights = null;
    chart.begin(current);
    mark({ training: "idle", step: 0, loss: "", score: 0 });
    const lasts = current.lasts ? `, ${current.lasts}` : "";
    line.textContent = `Seed ${seed}, ${current.setup.steps.toLocaleString("en")} steps${lasts}. Not begun.`;
    minutes.textContent = current.lasts ?? "";
    say("");
    if (kept.update()) wake();
  }

  function report({ step, losses, weights: now, judged }) {
    if (!losses.length) return;
    const first = weights === null;
    weights = now;
    if (first) kept.update();
    const loss = losses.at(-1);
    const { curve = losses, ...judgement } = judge(weights, { losses, judged, step });
    const { score, words } = judgement;
    history.push({ step, at: judged?.step ?? (step % EVERY === 0 ? step : null), loss, ...judgement });
    if (history.length === 1) kept.update(); // there is something to keep
    chart.add(step, curve, score);
    mark({ step, loss: loss.toFixed(4), score: score.toFixed(3) });
    line.textContent = `Seed ${seed}, step ${step.toLocaleString("en")}: loss ${loss.toFixed(3)} nats, ${words}.`;
    if (!left) follow(weights, step);
  }

  function change(state) {
    if (state === "failed") {
      mark({ training: "idle" });
      go.textContent = "Train";
      waiting = [];
      hurried = one.disabled = false; // who presses again may have more luck, and is told if not
      say(UNABLE);
      return;
    }
    mark({ training: state });
    if (state === "running") {
      left = false;
      wake();
    }
    go.textContent = state === "running" ? "Pause" : "Train";
    one.disabled = state === "running" || state === "done";
    kept.update();
    if (state === "running") say("");
    if (state === "done") {
      goOn(go);
      end();
    }
  }

  /** A run is over: say what came out, keep it, and go on with the next of several. */
  function end() {
    const last = history.at(-1);
    const lost = !last || !Number.isFinite(last.loss);
    const words = lost ? "The loss is no number any more: the learning rate is too high." : outcome(history);
    if (hurried) answers.push(lost ? null : found(history));
    say(`${words}${lost ? "" : hurried ? ofSeveral() : guessed(found(history))}`);
    const { enough, ...kind } = current.run;
    const arrived = settled(history, enough);
    const run = {
      ...kind,
      seed,
      steps: current.setup.steps,
      met: Number.isFinite(arrived),
      arrived: Number.isFinite(arrived) ? arrived : null,
      said: words,
      series: lost ? {} : series(history),
    };
    yours(lesson).add({ ...run, passed: !lost && challenge.passed(run, last) });
    hurried = waiting.length > 0;
    if (!hurried) return;
    seed = waiting.shift();
    prepare();
    training.run();
  }

  /** Whether that was the guess, if there was one and it can be told. */
  function guessed(answer) {
    if (guess === null || answer === null) return "";
    return guess === answer ? " As you guessed." : " Not as you guessed.";
  }

  /** How many of several that was the guess for, when all have ended. */
  function ofSeveral() {
    if (guess === null || waiting.length > 0 || answers.includes(null)) return "";
    return ` As you guessed in ${answers.filter((answer) => answer === guess).length} of ${answers.length}.`;
  }

  /** Show weights that were trained before. */
  function take(before) {
    restart();
    weights = before;
    kept.update();
    const { score, words } = judge(weights, { losses: [], judged: null, step: 0 });
    mark({ score: score.toFixed(3) });
    line.textContent = `Kept weights: ${words}.`;
    follow(weights, 0);
  }

  // A tab that nobody sees rests, and goes on when it is seen again.
  let resting = false;
  function restOrWake() {
    if (document.hidden && training.state() === "running") {
      resting = true;
      training.pause();
    } else if (!document.hidden && resting) {
      resting = false;
      training.run();
    }
  }
  document.addEventListener("visibilitychange", restOrWake);
  function free() {
    document.removeEventListener("visibilitychange", restOrWake);
    document.removeEventListener("DOMContentLoaded", showYours);
    deaf();
    training.free();
  }
  function leave() {
    left = true;
    training.pause();
  }
  return { node, begin, restart, free, leave };
}
