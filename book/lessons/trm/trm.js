// The Sudoku explorer: the page around the network of _trm_model.js, the boards of
// _trm_puzzles.js and the panel of _trm_train.js. The anywidget model holds what is chosen.

import { alone } from "./_alone.js";
import { oneOf, typed, whole } from "./_chosen.js";
import { sigmoid } from "./_model.js";
import { unpack } from "./_unpack.js";
import { opens } from "./_open.js";
import {
  beside,
  button,
  goOn,
  html,
  menus,
  player,
  refuse,
  saver,
  sleeper,
  speaker,
  textBox,
} from "./_page.js";
import { boardView } from "./_trm_board.js";
import { LAST, closeView, courseView, dial } from "./_trm_course.js";
import { machines, make, think } from "./_trm_model.js";
import { SOUGHT_IN_VAIN, blank, boards, drawPuzzle, heldOut } from "./_trm_puzzles.js";
import { contents, reading, score, tell } from "./_trm_reading.js";
import { recursionView } from "./_trm_recursion.js";
import { judge, noCell, read, sentence, write } from "./_trm_text.js";
import { explorerTraining } from "./_trm_train.js";

const SHOWN = { answer: "its answer", mind: "what is in mind" };
const FROM_BEFORE = "The board is from before.";
const howToWrite = (task) =>
  `${task.cells} cells, row by row: 1 to ${task.side}, and . for a blank.`;

const WITHOUT_MODEL = { rows: 2, columns: 3, held_out_share: 0.1, symmetries: "labels" };
const FAILED = 8; // looks after which a puzzle is shown that it does not solve
const LEARNING = "yours"; // what the model is called that the reader trains
const DRAWN = ["runs", "run", "seed", "step", "shown", "selected", "failures"];

function render({ model, el }) {
  if (model.get("picture") === "recursion") return recursionView({ model, el });
  const uid = `trm-${Math.random().toString(36).slice(2)}`;
  const spoken = speaker();
  const { save, watch } = saver(model, show);
  let task = null;
  let draft = null; // a board that the reader is editing, and that is no puzzle (yet)
  let thinking = null; // {run, seed, weights, puzzle, source, thoughts}
  let at = 0; // the step that is on the board
  let timer = null;
  let gone = false;
  let learner = null; // the run that is trained here, as it was last looked at
  let following = false; // whether the reader looks at it
  let ahead = null; // thoughts of the learner as it is now, of which nothing is shown yet
  let latest = null; // and a learner of which there are none

  /** The runs to choose from, with the one that is trained here. */
  const shelf = {
    get(trait) {
      if (trait === "run" && following) return LEARNING;
      if (trait !== "runs" || !learner) return model.get(trait);
      return { ...model.get("runs"), [LEARNING]: learner };
    },
  };
  const models = menus({ uid, model: shelf, save, choose });
  const { run } = models;
  const puzzle = () => read(task, model.get("puzzle"));

  // --- what the reader does

  /** Show another run. */
  function choose(name) {
    following = name === LEARNING;
    if (following) show();
    else save({ run: name });
  }

  const plays = player(450, (step) => save({ step }));

  function go(step) {
    plays.stop();
    save({ step });
  }

  /** Have another puzzle. */
  function take(board, more) {
    plays.stop();
    draft = null;
    save({ puzzle: write(board), step: 0, ...more });
  }

  /** Have another board, and write it into the box. */
  function edit(board) {
    box.value = write(board);
    lay(board);
  }

  /** Have another board: a puzzle, or a draft on which the reader will go on. */
  function lay(board) {
    if (!judge(task, board).fault) return take(board);
    plays.stop();
    draft = board;
    save({ step: 0 });
    show();
  }

  /** Make a digit the clue of a cell, or take it away. */
  function put(cell, digit) {
    const board = draft ?? puzzle().board ?? blank(task);
    if (board[cell] !== digit) edit(board.with(cell, digit));
    else weigh();
  }

  function offer(kind) {
    const drawnBoard = drawPuzzle(task, kind);
    if (!drawnBoard) {
      message.textContent = SOUGHT_IN_VAIN;
      return;
    }
    box.value = write(drawnBoard);
    take(drawnBoard, { selected: -1 });
  }

  /** Another of the puzzles that the first of the runs does not solve, as it was last thinking about them. */
  function fail() {
    const failures = model.get("failures");
    const others = failures.indexOf(model.get("puzzle")) + 1;
    const text = failures[others % failures.length];
    const found = text && read(task, text);
    if (!found || found.fault) return;
    box.value = text;
    following = false;
    const [run] = Object.keys(model.get("runs"));
    take(found.board, { ...(run && { run }), selected: -1, step: FAILED });
  }

  function startOver() {
    draft = null;
    box.value = model.get("puzzle");
    go(0);
  }

  const board = boardView({
    uid,
    put,
    choose: (selected) => {
      more.open = true; // where the cell is taken apart
      if (selected !== model.get("selected")) save({ selected });
    },
    refused: (key) => weigh(sentence(noCell(task, key))),
  });
  const gauge = dial();
  const course = courseView({ uid, go });
  const close = closeView((digit) => {
    const cell = chosen();
    put(cell, clues()[cell] === digit ? 0 : digit);
  });
  const stepBy = (by) => {
    go(Math.max(0, Math.min(LAST, model.get("step") + by)));
    goOn(next, back);
  };
  const back = button("Back", () => stepBy(-1));
  const next = button("Look", () => stepBy(1));
  const play = button("Play", () => {
    if (plays.going()) return go(model.get("step"));
    plays.play(model.get("step") < LAST ? model.get("step") : 0, LAST);
  });
  const over = button("Start over", startOver);
  next.classList.add("attn-go");
  const told = html("p", { class: "trm-told" });
  const origin = html("p", { class: "attn-help trm-origin" });
  const toggles = Object.entries(SHOWN).map(([shown, text]) => {
    const input = html("input", {
      type: "radio",
      name: `${uid}-shown`,
      value: shown,
      onchange: () => save({ shown }),
    });
    return { input, node: html("label", { class: `trm-toggle trm-${shown}` }, input, text) };
  });
  const message = html("p", { class: "attn-message", id: `${uid}-message`, role: "status" });
  const text = textBox({
    uid,
    name: "puzzle",
    label: "Puzzle",
    described: `${uid}-message`,
    oninput: () => {
      const found = read(task, box.value);
      // A board of several solutions may be played, typed here or on the board.
      if (found.fault && !found.open) weigh();
      else lay(found.board);
    },
  });
  const box = text.input;

  /** Say why a key was refused, if one was, and what the text lacks; the board is then another. */
  function weigh(refusal) {
    const typed = read(task, box.value);
    const other = typed.fault && !(draft && typed.board && write(typed.board) === write(draft));
    const faults = [refusal, other && `${sentence(typed.fault)} ${FROM_BEFORE}`].filter(Boolean);
    message.textContent = faults.join(" ") || howToWrite(task);
    message.classList.toggle("attn-wrong", faults.length > 0);
    refuse(box, other);
    if (faults.length) more.open = true; // which says so
  }

  const failing = button("See it fail", fail);
  const asleep = sleeper();
  const choices = html("div", { class: "attn-controls trm-choices" }, ...models.nodes);
  const help = html(
    "p",
    { class: "attn-help", id: `${uid}-help` },
    "Type a clue, or press its digit in the table; Delete removes it. Bar: probability. Shaded: changed. ✗: wrong.",
  );
  const state = html(
    "div",
    { class: "trm-state" },
    asleep,
    gauge.node,
    html("div", {}, told, origin),
  );
  const first = html(
    "div",
    { class: "trm-first" },
    board.node,
    html("div", { class: "trm-buttons" }, back, next, play, over),
  );
  const more = html(
    "details",
    { class: "trm-more" },
    html("summary", {}, "Other puzzles, and more to see"),
    html(
      "div",
      { class: "attn-controls" },
      button("Draw an easy one", () => offer("easy")),
      button("Draw a hard one", () => offer("minimal")),
      failing,
      button("Clear", () => edit(blank(task))),
    ),
    html(
      "fieldset",
      { class: "trm-toggles" },
      html("legend", { class: "attn-hidden" }, "On the board"),
      ...toggles.map((toggle) => toggle.node),
    ),
    html(
      "div",
      { class: "trm-closer" },
      course.node,
      html("div", {}, close.node, html("p", { class: "attn-help" }, "In mind: read as if it were an answer.")),
    ),
    text.node,
    message,
    help,
  );
  const root = html("div", {
    class: "attn-widget trm",
    role: "group",
    "aria-label": "The Sudoku explorer",
  });
  const training = explorerTraining({ uid, root, model, follow });
  root.append(
    beside([choices, html("div", { class: "trm-columns" }, state, first)], training.node, more),
    spoken.node,
  );

  // --- thinking

  /** Nothing thought yet, by the run that is shown or by another. */
  function begin(now, seed, board, weights = now.learned ?? unpack(now, seed)) {
    return { run: now, seed, weights, puzzle: write(board), board, source: null, thoughts: [] };
  }

  /** Begin anew if anything has changed that thoughts depend on. */
  function prepare(board) {
    const now = run();
    const seed = models.seed();
    const same = thinking?.run === now && thinking.seed === seed;
    if (same && thinking.puzzle === write(board)) return;
    thinking = begin(now, seed, board, same ? thinking.weights : undefined);
    at = 0;
  }

  /** Think on for a few milliseconds; whether the chosen step is reached. */
  function thinkOn(thread, ready) {
    const one = machines(thread.run.use, ready);
    if (!one) return false;
    thread.source ??= think(make(one, thread.weights, thread.run.config), thread.board);
    const until = performance.now() + 12;
    while (thread.thoughts.length < model.get("step") && performance.now() < until) {
      const thought = thread.source.next().value;
      if (thought) thread.thoughts.push(thought);
    }
    return thread.thoughts.length >= model.get("step");
  }

  /** Think until the chosen step, a little at a time, so that the page stays awake. */
  function seek() {
    clearTimeout(timer);
    const busy = thinking.thoughts.length < model.get("step");
    board.node.setAttribute("aria-busy", busy);
    if (!busy) {
      at = model.get("step");
      return;
    }
    timer = setTimeout(() => {
      if (gone) return;
      if (thinkOn(thinking, awake)) show();
      else if (thinking.source) seek();
    });
  }
  const awake = () => gone || show(); // the program has arrived

  // --- following a model in training

  /** Have it as it is now to choose from, when it has thought as far as the step that is shown. */
  function follow(lesson, weights) {
    const { config, use, rows, columns, held_out_share, symmetries } = lesson;
    const shape = { rows, columns, held_out_share, symmetries };
    latest = { config, use, ...shape, seeds: 1, learned: weights };
    if (!ahead) lookAhead();
  }

  function lookAhead() {
    const found = read(boards(latest), model.get("puzzle"));
    const idle = draft || found.fault; // no puzzle to think about
    ahead = begin(latest, 0, found.board ?? []);
    latest = null;
    const goOn = () => {
      if (gone) return;
      if (!idle && !thinkOn(ahead, goOn)) {
        if (ahead.source) setTimeout(goOn);
        return;
      }
      learner = ahead.run;
      if (following && !idle) [thinking, at] = [ahead, model.get("step")];
      ahead = null;
      show();
      if (latest) lookAhead();
    };
    goOn();
  }

  // --- drawing

  const clues = () => draft ?? puzzle().board ?? blank(task);

  /** The cell to look at: the first blank, until the reader chooses. */
  function chosen() {
    const selected = model.get("selected");
    const first = Math.max(0, clues().indexOf(0));
    return selected < 0 || selected >= task.cells ? first : selected;
  }

  /** What the board is, and what is shown of the step that is on it. */
  const scene = (found, seen, before) => {
    const wrong = draft && judge(task, draft);
    const halt = seen && thinking.thoughts[at - 1].halt;
    const mind = model.get("shown") === "mind";
    return { task, found, seen, before, draft: wrong, at, mind, halt };
  };

  /** What the model thinks about: the puzzle, or a draft of which more than one solution is left. */
  function subject() {
    if (draft) return judge(task, draft).open ? { board: draft, solution: null } : null;
    return puzzle().fault ? null : puzzle();
  }

  function show() {
    task = boards(run() ?? WITHOUT_MODEL);
    if (draft?.length !== task.cells) draft = null; // boards of another shape have arrived
    const found = subject() ?? puzzle();
    const wakes = Boolean(run() && subject());
    if (wakes) {
      prepare(found.board);
      seek();
    } else {
      clearTimeout(timer);
      plays.stop();
    }
    const thoughts = wakes ? thinking.thoughts : [];
    const kind = model.get("shown");
    const readings = (shown) =>
      [at - 1, at - 2].map((i) => (thoughts[i] ? reading(thoughts[i], task, shown) : null));
    const both = { answer: readings("answer"), mind: readings("mind") };
    const [seen, before] = both[kind];
    const cell = chosen();

    asleep.hidden = Boolean(run());
    choices.hidden = !run();
    if (run()) models.show();
    board.draw(task, contents(clues(), scene(found, seen, before)), cell, kind);
    const shares = seen && [both.answer, both.mind].map(([here]) => here.shares[cell]);
    close.draw(task, cell, clues()[cell], shares);
    gauge.draw(seen ? sigmoid(thoughts[at - 1].halt) : null);
    course.draw(wakes ? model.get("step") : 0, wakes ? at : 0, {
      right: thoughts.map((thought) => {
        const { right, blanks } = score(task, reading(thought, task, "answer").digits, found);
        return blanks ? right / blanks : 1;
      }),
      halts: thoughts.map((thought) => sigmoid(thought.halt)),
    });
    failing.hidden = !model.get("failures").length;
    for (const { input } of toggles) input.checked = input.value === kind;
    for (const control of [play, course.input]) control.disabled = !wakes;
    back.disabled = !wakes || model.get("step") === 0;
    next.disabled = !wakes || model.get("step") === LAST;
    play.textContent = plays.going() ? "Pause" : "Play";
    told.textContent = tell(scene(found, seen, before), Boolean(run()));
    told.classList.toggle("attn-wrong", draft ? !judge(task, draft).open : Boolean(found.fault));
    origin.textContent = originOf(found, wakes);
    weigh();
    if (!plays.going() && root.dataset.training !== "running") spoken.say(told.textContent);
  }

  const originOf = ({ solution }, wakes) => {
    if (!wakes || !task.share || !solution) return "";
    const held = heldOut(task, solution);
    if (task.symmetries === "all") {
      return held
        ? "Training held out this grid and all that symmetries make of it."
        : "Training was free to draw this grid’s class.";
    }
    return held
      ? "Training never showed this grid, not even with its digits renamed."
      : "Training was free to draw this grid.";
  };

  /** Show the puzzle that the model now holds: another view, or the notebook, has changed it. */
  function fillIn() {
    draft = null;
    box.value = model.get("puzzle");
    show();
  }

  const unwatch = watch({
    puzzle: fillIn,
    ...Object.fromEntries(DRAWN.map((name) => [name, show])),
    run: () => {
      following = false;
      show();
    },
    lesson: training.reload,
  });
  el.append(root);
  fillIn();
  training.reload();
  const traits = {
    run: oneOf(() => Object.keys(model.get("runs"))),
    seed: whole(0, () => model.get("runs")[model.get("run")].seeds - 1),
    puzzle: typed((puzzle) => {
      const { fault } = read(task, puzzle);
      return fault && sentence(fault);
    }),
    step: whole(0, LAST),
    shown: oneOf(() => Object.keys(SHOWN)),
    selected: whole(-1, () => task.cells - 1),
  };
  const settle = alone({ name: "sudoku", root, el, model, chosen: traits });
  const states = {
    fails: fail,
    mind() {
      more.open = true;
      save({ shown: "mind", step: Math.max(1, model.get("step")) });
    },
  };
  const shut = opens(root, states, { model, chosen: traits });
  return () => {
    gone = true;
    shut();
    settle();
    unwatch();
    training.free();
    plays.stop();
    clearTimeout(timer);
    spoken.quiet();
  };
}

export default { render };

