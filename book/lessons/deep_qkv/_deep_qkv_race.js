// The race: a lane for each kind, a dot for each sorter, which stands the further right the more words it sorts. One that
// sorts all of them to the end goes home behind the line, to the next free place.

import { alone } from "./_alone.js";
import { oneOf, whole } from "./_chosen.js";
import { opens } from "./_open.js";
import { arrows, button, goOn, html, player, saver, slider, speaker, svg } from "./_page.js";
import { WORDS } from "./_sorter.js";

const ONE = "one of each";
const ALL = "all";

// A frame is a step of training at first, where most is decided, and then several.
const FRAME = 23; // milliseconds
const [SLOW, FAST] = [300, 7];
const PACE = {
  place: (step) => Math.min(step, SLOW) + Math.max(0, step - SLOW) / FAST,
  value: (frame) => Math.min(frame, SLOW) + Math.round(Math.max(0, frame - SLOW) * FAST),
};
const WAY = 12; // frames home from the line

// Pixels: places at home stand in columns of so many.
const ROWS = 4;
const [GAP, LEFT, TITLE, LANE] = [13, 14, 26, 90];
const HIGH = ROWS * GAP;
const REACH = 24; // how far from a dot a press still takes it

/** From which step on each sorter sorts every word, to the end; infinite if it never does. */
export const arrivalsOf = (steps, words) =>
  words[0].map((_, seed) => {
    const last = words.findLastIndex((sorted) => sorted[seed] < WORDS.length);
    return steps[last + 1] ?? Infinity;
  });

/** The model's race, with what follows from it. */
function raceOf({ steps, lanes }) {
  return {
    steps,
    last: steps.at(-1),
    seeds: lanes[0][2][0].length,
    lanes: lanes.map(([kind, name, words]) => {
      const arrivals = arrivalsOf(steps, words);
      const inOrder = arrivals.map((_, seed) => seed).sort((a, b) => arrivals[a] - arrivals[b] || a - b);
      return { kind, name, words, arrivals, homes: inOrder.map((_, seed) => inOrder.indexOf(seed)) };
    }),
  };
}

const sentenceOf = (parts) => `${parts[0].slice(0, 1).toUpperCase()}${parts.join(", ").slice(1)}.`;

export function renderRace({ model, el }) {
  const uid = `race-${Math.random().toString(36).slice(2)}`;
  let race = raceOf(model.get("race"));
  let now = 0; // the step, while it runs
  let drawn = ""; // what the dots and words on the page were made for
  let dots = []; // {node, lane, seed, x, y}
  let heads = []; // beside each lane's name
  const raced = new Set(); // seeds of which one of each has come to the end

  const spoken = speaker();
  const { save, watch } = saver(model, draw);
  const step = () => (motion.going() ? now : Math.min(model.get("at"), race.last));
  const inAll = () => model.get("racing") === ALL;
  const seed = () => Math.min(model.get("seed"), race.seeds - 1);
  const probe = (at) => race.steps.findLastIndex((each) => each <= at);

  // --- what the reader does

  const motion = player(FRAME, (frame) => {
    now = PACE.value(frame);
    if (motion.going()) draw();
    else stand({ at: now });
  });

  function stand(chosen) {
    motion.stop();
    save(chosen);
  }

  function start(chosen) {
    stand({ picked: -1, ...chosen, at: 0 });
    motion.play(0, PACE.place(race.last));
  }

  /** One of each: another seed with each press, the first as it stands there. */
  const seen = () => raced.has(seed()) || (!inAll() && step() > 0);
  const one = button("Race one of each", () => start({ racing: ONE, seed: (seed() + seen()) % race.seeds }));
  const all = button("All", () => start({ racing: ALL }));
  const pause = button("Pause", () => {
    if (motion.going()) return stand({ at: now });
    motion.play(Math.round(PACE.place(step())), PACE.place(race.last));
    return draw();
  });
  const scrub = slider({
    uid,
    name: "at",
    label: "Step",
    max: race.last,
    step: 1,
    ...PACE,
    say: (at) => `${Math.round(at)} of ${race.last}`,
    oninput: (at) => stand({ at: Math.round(at) }),
  });

  const field = svg("g", { role: "radiogroup", "aria-label": "Sorters", onkeydown: arrows((i) => pick(dots[i]), () => (inAll() ? race.seeds : 1)) });
  const ground = svg("g");
  const board = svg("svg", { class: "abc-board", onclick: pickNear }, ground, field);
  const said = html("p", { class: "abc-said" });
  const help = html(
    "p",
    { class: "attn-help" },
    `A dot is a sorter in training. The more of the 27 words it sorts, the further right it stands. Once it sorts all of them for good, it goes home. From step ${SLOW} on time runs ${FAST} times as fast. Press a dot to see which it is.`,
  );
  const root = html(
    "div",
    { class: "attn-widget abc-race", role: "group", "aria-label": "The race" },
    html("div", { class: "attn-controls" }, one, all),
    board,
    html("div", { class: "abc-scrub" }, pause, scrub.node),
    said,
    help,
    spoken.node,
  );

  function pick({ lane, seed: of }) {
    const picked = lane * race.seeds + of;
    save({ picked: picked === model.get("picked") ? -1 : picked });
  }

  function pickNear({ clientX, clientY }) {
    const { left, top } = board.getBoundingClientRect();
    const away = ({ x, y }) => Math.hypot(x - (clientX - left), y - (clientY - top));
    const [near] = dots.toSorted((a, b) => away(a) - away(b));
    if (away(near) < REACH) pick(near);
    else save({ picked: -1 });
  }

  // --- drawing

  /** Lanes, lines and places at home, and the dots, which are moved later. */
  function build(width) {
    const seeds = inAll() ? Array.from({ length: race.seeds }, (_, i) => i) : [seed()];
    const key = [width, ...seeds].join();
    if (key === drawn) return;
    drawn = key;
    const height = LANE * race.lanes.length + 18;
    board.setAttribute("viewBox", `0 0 ${width} ${height}`);
    board.style.height = `${height}px`;
    const line = lineAt(width);
    const text = (x, y, words, anchor, kind = "") => svg("text", { x, y, class: kind, "text-anchor": anchor }, words);
    heads = race.lanes.map((_, i) => text(width, LANE * i + 17, "", "end", "abc-head"));
    const laid = race.lanes.flatMap(({ name }, i) => {
      const top = LANE * i + TITLE;
      return [
        text(0, top - 9, name, "start", "abc-name"),
        svg("rect", { class: "abc-track", x: 0, y: top - 3, width: line, height: HIGH + 6 }),
        ...seeds.map((_, rank) => svg("circle", { class: "abc-home", ...homeAt(i, rank, width), r: 4 })),
        svg("path", { class: "abc-line", d: `M${line} ${top - 3}v${HIGH + 6}` }),
      ];
    });
    const foot = height - 4;
    ground.replaceChildren(...laid, ...heads, text(0, foot, "0 words", "start"), text(line, foot, "27", "middle"));
    dots = race.lanes.flatMap(({ kind }, lane) =>
      seeds.map((of) => {
        const node = svg("circle", { class: `abc-dot abc-${kind}`, r: inAll() ? 5 : 7, role: "radio" });
        return { node, lane, seed: of, x: 0, y: 0 };
      }),
    );
    field.replaceChildren(...dots.map(({ node }) => node));
  }

  const columns = () => Math.ceil(race.seeds / ROWS);
  const lineAt = (width) => width - columns() * GAP - 10;

  function homeAt(lane, rank, width) {
    const top = LANE * lane + TITLE;
    if (!inAll()) return { cx: lineAt(width) + 16, cy: top + HIGH / 2 };
    return { cx: lineAt(width) + 12 + GAP * Math.floor(rank / ROWS), cy: top + GAP * ((rank % ROWS) + 0.5) };
  }

  /** Where a dot is: on its way along the track, or home from the line. */
  function placeOf({ lane, seed: of }, at, width) {
    const { words, arrivals, homes } = race.lanes[lane];
    const i = Math.min(probe(at), race.steps.length - 2);
    const share = (at - race.steps[i]) / (race.steps[i + 1] - race.steps[i]);
    const sorted = words[i][of] + share * (words[i + 1][of] - words[i][of]);
    const row = inAll() ? (((7 * of) % race.seeds) + 0.5) / race.seeds : 0.5;
    const x = LEFT + ((lineAt(width) - LEFT - 10) * sorted) / WORDS.length;
    const y = LANE * lane + TITLE + HIGH * row;
    if (at < arrivals[of]) return { x, y };
    const way = !motion.going() ? 1 : Math.min(1, (PACE.place(at) - PACE.place(arrivals[of])) / WAY);
    const home = homeAt(lane, homes[of], width);
    return { x: x + way * (home.cx - x), y: y + way * (home.cy - y) };
  }

  const halfOf = ({ arrivals }) => arrivals.toSorted((a, b) => a - b)[Math.ceil(race.seeds / 2) - 1];

  /** What stands beside a lane's name. */
  function headOf(lane, at) {
    if (!inAll()) {
      const from = lane.arrivals[seed()];
      return at >= from ? `all 27 from step ${from} on` : `${lane.words[probe(at)][seed()]} of 27 words`;
    }
    const home = lane.arrivals.filter((from) => from <= at).length;
    const half = halfOf(lane);
    return `${home} of ${race.seeds}${at >= half ? `, half by step ${half}` : " home"}`;
  }

  function tell({ lane, seed: of }, at) {
    const { name, words, arrivals } = race.lanes[lane];
    const from = arrivals[of];
    const here = at >= from ? `sorts all 27 words from step ${from} on` : `${words[probe(at)][of]} of 27 words at step ${at}`;
    return `${name}, seed ${of}: ${here}${at === race.last && from > at ? ", the last" : ""}`;
  }

  /** One of each, in the order in which they came, and how that went with other seeds. */
  function orderOf() {
    const came = race.lanes.map(({ name, arrivals }) => [name, arrivals[seed()]]).sort(([, a], [, b]) => a - b);
    const order = came.map(([name, from], i) => (from < Infinity ? `${name} at ${i ? "" : "step "}${from}` : `${name} never`));
    raced.add(seed());
    const [gated, control] = ["gated", "fixed_gate"].map((kind) => race.lanes.find((lane) => lane.kind === kind));
    const first = [...raced].filter((each) => gated.arrivals[each] < control.arrivals[each]).length;
    const tally = raced.size > 1 ? ` So far ${gated.name} came before ${control.name} in ${first} of ${raced.size}.` : "";
    return `Seed ${seed()}: ${order.join(", ")}.${tally}`;
  }

  function judge(at) {
    const picked = dots.find(({ lane, seed: of }) => lane * race.seeds + of === model.get("picked"));
    if (picked) return sentenceOf([tell(picked, at)]);
    if (motion.going() || (at > 0 && at < race.last)) return "";
    if (at === 0) return "Which kind is home first?";
    if (!inAll()) return orderOf();
    const short = race.lanes.map(({ name, arrivals }) => [name, arrivals.filter((from) => from === Infinity).length]);
    const those = short.filter(([, count]) => count).map(([name, count]) => `${count} ${name}`);
    return those.length ? `Still on their way at step ${race.last}: ${those.join(", ")}.` : "All are home.";
  }

  function draw() {
    const width = Math.round(board.clientWidth) || 640;
    build(width);
    const at = step();
    const rests = !motion.going();
    const picked = model.get("picked");
    const told = judge(at);
    race.lanes.forEach((lane, i) => {
      heads[i].textContent = headOf(lane, at);
    });
    for (const dot of dots) {
      Object.assign(dot, placeOf(dot, at, width));
      const chosen = dot.lane * race.seeds + dot.seed === picked;
      dot.node.setAttribute("cx", dot.x.toFixed(1));
      dot.node.setAttribute("cy", dot.y.toFixed(1));
      dot.node.classList.toggle("abc-short", at === race.last && race.lanes[dot.lane].arrivals[dot.seed] > at);
      dot.node.setAttribute("aria-checked", chosen);
      if (rests) dot.node.setAttribute("aria-label", tell(dot, at));
    }
    const stop = dots.find(({ node }) => node.getAttribute("aria-checked") === "true") ?? dots[0];
    for (const dot of dots) dot.node.setAttribute("tabindex", dot === stop ? 0 : -1);
    one.textContent = !inAll() && seen() ? "Next seed" : "Race one of each";
    all.textContent = `Race all ${race.seeds}`;
    one.classList.toggle("abc-start", !inAll());
    all.classList.toggle("abc-start", inAll());
    pause.textContent = rests ? "Go on" : "Pause";
    pause.disabled = rests && (at === 0 || at === race.last);
    goOn(inAll() ? all : one);
    scrub.set(at);
    said.textContent = told;
    if (rests && at > 0) say(at, told);
  }

  function say(at, told) {
    const lanes = race.lanes.map((lane) => `${lane.name}: ${headOf(lane, at)}`);
    const all = model.get("picked") < 0 && (inAll() || !told);
    spoken.say(all ? sentenceOf([`step ${at}. ${lanes.join(". ")}. ${told}`.trim().replace(/\.$/, "")]) : told);
  }

  /** Another race has come from the notebook. */
  function reload() {
    race = raceOf(model.get("race"));
    drawn = "";
    raced.clear();
    scrub.input.max = PACE.place(race.last);
    draw();
  }

  const chosen = {
    racing: oneOf(() => [ONE, ALL]),
    seed: whole(0, () => race.seeds - 1),
    at: whole(0, () => race.last),
    picked: whole(-1, () => race.lanes.length * race.seeds - 1),
  };
  const unwatch = watch({ race: reload, ...Object.fromEntries(Object.keys(chosen).map((name) => [name, draw])) });
  el.append(root);
  draw();
  const settle = alone({ name: "race", root, el, model, chosen });
  const end = () => stand({ racing: ALL, at: race.last, picked: -1 });
  const shut = opens(root, { short: end }, { model, chosen });
  const resized = new ResizeObserver(() => draw());
  resized.observe(board);
  /** On paper nobody can start it. */
  const paper = () => step() || end();
  addEventListener("beforeprint", paper);
  return () => {
    removeEventListener("beforeprint", paper);
    resized.disconnect();
    shut();
    settle();
    unwatch();
    motion.stop();
    spoken.quiet();
  };
}
