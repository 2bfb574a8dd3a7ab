// The panel in which a reader trains a model: what is changed, a guess, Train, and the loss above its floor.

import { button, html, segments, svg } from "./_page.js";
import { settingsFold } from "./_train_settings.js";
import { trainer } from "./_training.js";
import { keeper } from "./_kept_weights.js";

const KEPT_RUNS = 5; // earlier curves stay in the picture, in grey
const CHART = { width: 600, height: 150 };

/** The loss over the steps, the floor drawn before any curve; and below it how far the criterion is reached. */
function lossChart() {
  const flat = { preserveAspectRatio: "none", "aria-hidden": "true" };
  const box = `0 0 ${CHART.width} ${CHART.height}`;
  const earlier = svg("g", { class: "attn-earlier" });
  const curve = svg("polyline", { class: "attn-curve" });
  const floorLine = svg("line", { class: "attn-floor", x1: 0, x2: CHART.width });
  const picture = svg("svg", { ...flat, class: "attn-losses", viewBox: box }, earlier, floorLine, curve);
  const [top, floorName, reachedName, end] = [0, 0, 0, 0].map(() => html("span", {}));
  floorName.className = "attn-floor-name";
  const reached = svg("polyline", { class: "attn-reached" });
  const lane = svg("svg", { ...flat, class: "attn-lane", viewBox: `0 0 ${CHART.width} 1` }, reached);
  const node = html(
    "div",
    { class: "attn-chart", "aria-hidden": "true" },
    html("div", { class: "attn-scale" }, top, floorName),
    html("div", { class: "attn-plot" }, picture),
    lane,
    html("div", { class: "attn-scale" }, html("span", {}, "step 0"), reachedName, end),
  );
  let scale = { steps: 1, top: 1, bottom: 0 };
  let points = [];
  let scores = [];

  const x = (step) => ((step / scale.steps) * CHART.width).toFixed(1);
  const y = (loss) => {
    const share = (loss - scale.bottom) / (scale.top - scale.bottom);
    return ((1 - Math.min(Math.max(share, 0), 1)) * CHART.height).toFixed(1);
  };

  /** A new run: what was drawn turns grey where it was on the same scale, else it goes. */
  function begin({ setup, floor, top: highest, words, criterion, ...more }) {
    const { bottom = floor - 0.08 * (highest - floor) } = more;
    const next = { steps: setup.steps, top: highest, bottom, floor };
    const same = JSON.stringify(next) === JSON.stringify(scale);
    if (!same) earlier.replaceChildren();
    else if (points.length > 1) {
      earlier.append(svg("polyline", { points: points.join(" ") }));
      if (earlier.childElementCount > KEPT_RUNS) earlier.firstChild.remove();
    }
    scale = next;
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
      if (at % every === 0) points.push(`${x(at)},${y(loss)}`);
    });
    curve.setAttribute("points", points.join(" "));
    scores.push(`${x(step)},${(1 - score).toFixed(3)}`);
    reached.setAttribute("points", `0,1 ${scores.join(" ")} ${x(step)},1`);
  }
  return { node, begin, add };
}

/**
 * The panel. `root` carries data-training, data-step, data-loss and data-score for whoever drives it.
 *
 *   settings  nodes of the choices; whoever changes one calls `restart`
 *   plan(seed)  {setup, name, shapes, floor, top, bottom, words, criterion}: what to train, what its
 *               weights are kept as, and the picture's scale (`bottom` if there is something to see below
 *               the floor) with names for the floor and for what is reached
 *   judge(weights, {losses, judged, step})  {score, words}: the share of the criterion that is reached, in words
 *   follow(weights, step)   everything else that the widget shows
 *   more      what stands below
 *   first     the first seed
 *   guesses, answer(guess, history)  the question asked before the first start, and what came out
 */
export function trainPanel({ uid, root, esm, title, settings, more = [], plan, judge, follow, ...rest }) {
  const { guesses, answer, pace, first: seed0 = 1 } = rest;
  let current = null; // the plan
  let seed = seed0;
  let weights = null;
  let history = []; // {step, score, loss} at every report
  let guess = null;

  const chart = lossChart();
  const line = html("p", { class: "attn-train-line" });
  const said = html("p", { class: "attn-train-said", role: "status" });
  const go = button("Train", () => (training.state() === "running" ? training.pause() : begin()));
  go.classList.add("attn-go");
  const one = button("One step", () => training.once());
  const again = button("Another seed", () => {
    seed++;
    restart();
  });
  const kept = keeper({
    key: () => current.name,
    shapes: () => current.shapes,
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
  const folded = settingsFold(settings);
  const node = html(
    "section",
    { class: "attn-train", "aria-label": title },
    html("p", { class: "attn-train-title" }, title),
    folded.node,
    question,
    html("div", { class: "attn-controls attn-train-buttons" }, go, one, again),
    line,
    chart.node,
    said,
    html("div", { class: "attn-controls attn-train-buttons" }, ...kept.nodes),
    ...more,
  );

  const training = trainer({ esm, report, change, pace });

  function say(sentence) {
    if (said.textContent !== sentence) said.textContent = sentence;
  }

  function mark(values) {
    for (const [name, value] of Object.entries(values)) root.dataset[name] = value;
  }

  function begin() {
    if (training.state() === "done") {
      seed++;
      restart();
    }
    training.run();
  }

  /** Forget the run: from here on the choices are those that the panel shows. */
  function restart() {
    current = plan(seed);
    folded.tell();
    training.start(current.setup);
    history = [];
    weights = null;
    chart.begin(current);
    mark({ training: "idle", step: 0, loss: "", score: 0 });
    line.textContent = `Seed ${seed}, ${current.setup.steps.toLocaleString("en")} steps. Not begun.`;
    say("");
    kept.update();
  }

  function report({ step, losses, weights: now, judged }) {
    if (!losses.length) return;
    const first = weights === null;
    weights = now;
    if (first) kept.update();
    const loss = losses.at(-1);
    const { score, words } = judge(weights, { losses, judged, step });
    history.push({ step, score, loss });
    if (history.length === 1) kept.update(); // there is something to keep
    chart.add(step, losses, score);
    mark({ step, loss: loss.toFixed(4), score: score.toFixed(3) });
    line.textContent = `Seed ${seed}, step ${step.toLocaleString("en")}: loss ${loss.toFixed(3)} nats, ${words}.`;
    follow(weights, step);
  }

  function change(state) {
    if (state === "failed") {
      mark({ training: "idle" });
      for (const each of [go, one, again]) each.disabled = true;
      say("This browser cannot train here. Everything else on the page works; the notebook trains.");
      return;
    }
    mark({ training: state });
    go.textContent = state === "running" ? "Pause" : "Train";
    one.disabled = state === "running" || state === "done";
    kept.update();
    if (state === "running") say("");
    if (state !== "done") return;
    const lost = history.length === 0 || !Number.isFinite(history.at(-1).loss);
    if (lost) say("The loss is no number any more: the learning rate is too high.");
    else say(answer(guess, history));
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
    training.free();
  }
  return { node, restart, free, pause: training.pause };
}
