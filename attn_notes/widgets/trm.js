// The Sudoku explorer of chapter 5, in the reader's browser: the recursion of
// attn_notes/models/trm.py and the rules of attn_notes/tasks/sudoku.py written again in plain
// JavaScript (in double precision), and the page around them.
//
//   make → think                       the network, one supervision step after the other
//   boards → solve, draw, heldOut      an exact solver, and puzzles that the model has never met
//   judge, read                        what is wrong with a board, in a sentence
//   boardView, courseView, closeView   the board; the steps; one cell, looked at closely
//   render                             the view; the anywidget model holds what is chosen

const LAST = 24; // supervision step

// ---------------------------------------------------------------------------------------------
// The network. Vectors of all tokens stand one after another in a flat Float64Array.

/** Every row divided by its root mean square. */
function rmsNorm(x, width) {
  const y = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    const row = x.subarray(start, start + width);
    const scale = Math.sqrt(dot(row, row) / width + EPS);
    for (let i = 0; i < width; i++) y[start + i] = row[i] / scale;
  }
  return y;
}

/** SwiGLU of every row. */
function swiglu(x, { gateUp, down }, width) {
  const both = product(x, gateUp, width);
  const inner = gateUp.length / width / 2;
  const inside = new Float64Array(both.length / 2);
  for (let i = 0; i < inside.length; i++) {
    const gate = i + Math.floor(i / inner) * inner;
    inside[i] = silu(both[gate]) * both[gate + inner];
  }
  return product(inside, down, inner);
}

/** One layer: mix tokens, then channels. */
function pass(x, { mixer, channels }, { norm, width, tokens }) {
  const across = transposed(x, width); // a row for each channel
  const mixed = add(across, swiglu(across, mixer, tokens));
  const normed =
    norm === "tokens"
      ? transposed(rmsNorm(mixed, tokens), tokens)
      : rmsNorm(transposed(mixed, tokens), width);
  return rmsNorm(add(normed, swiglu(normed, channels, width)), width);
}

/** A network ready to run, from the names that torch gives its weights. */
export function make(weights, config) {
  const part = (name) => ({
    gateUp: weights[`${name}.gate_up.weight`],
    down: weights[`${name}.down.weight`],
  });
  const layers = Array.from({ length: config.layers }, (_, i) => ({
    mixer: part(`net.${i}.mixer.swiglu`),
    channels: part(`net.${i}.swiglu`),
  }));
  return { weights, layers, config: { ...config, tokens: config.summary + config.cells } };
}

/**
 * Think about a puzzle, one supervision step after the other: {logits, halt, mind} each, where mind
 * is what the output head reads in z. A page may stop in between: after each use of the network
 * but a step's last there is a null.
 */
export function* think({ weights, layers, config }, puzzle) {
  const { width, tokens, summary } = config;
  const net = (x) => layers.reduce((h, layer) => pass(h, layer, config), x);
  const decode = (h) => product(h.subarray(summary * width), weights["out.weight"], width);
  const everywhere = (vector) =>
    Float64Array.from({ length: tokens * width }, (_, i) => vector[i % width]);

  const token = weights["token.weight"];
  const x = new Float64Array(tokens * width);
  x.set(weights.summary);
  puzzle.forEach((digit, cell) => {
    x.set(token.subarray(digit * width, (digit + 1) * width), (summary + cell) * width);
  });
  const embedded = x.map((value) => Math.sqrt(width) * value);

  let y = everywhere(weights.y_init);
  let z = everywhere(weights.z_init);
  for (;;) {
    for (let cycle = 0; cycle < config.cycles; cycle++) {
      if (cycle) yield null;
      for (let step = 0; step < config.latent_steps; step++) {
        z = net(add(embedded, add(y, z)));
        yield null;
      }
      y = net(add(y, z));
    }
    const halt = dot(weights["halt.weight"], y) + weights["halt.bias"][0]; // of the first token
    yield { logits: decode(y), halt, mind: decode(z) };
  }
}

// ---------------------------------------------------------------------------------------------
// Boards: N² digits in a row, 0 for a blank

/** What a shape of boxes comes to: the units of each cell, and the cells of each unit. */
export function boards({ rows, columns, held_out_share: share }) {
  const side = rows * columns;
  const cells = side ** 2;
  const units = Array.from({ length: cells }, (_, cell) => {
    const [row, column] = [Math.floor(cell / side), cell % side];
    const box = Math.floor(row / rows) * rows + Math.floor(column / columns);
    return [row, side + column, 2 * side + box];
  });
  const members = Array.from({ length: 3 * side }, () => []);
  units.forEach((own, cell) => own.forEach((unit) => members[unit].push(cell)));
  return { rows, columns, share, side, cells, units, members };
}

const bit = (digit) => 1 << digit;
const blank = (task) => new Array(task.cells).fill(0);
const digitsOf = (task) => Array.from({ length: task.side }, (_, i) => i + 1);

/**
 * The pairs of cell and digit of which one has to come next: what could stand in a cell, or where
 * a digit could stand in a unit, whichever is least. None if the board contradicts itself; null if
 * it is full.
 */
function fewest(task, board) {
  const used = new Array(task.members.length).fill(0); // bits of the digits that stand in a unit
  for (let cell = 0; cell < task.cells; cell++) {
    if (!board[cell]) continue;
    for (const unit of task.units[cell]) {
      if (used[unit] & bit(board[cell])) return [];
      used[unit] |= bit(board[cell]);
    }
  }
  const digits = digitsOf(task);
  const every = digits.reduce((bits, digit) => bits | bit(digit), 0);
  const free = board.map((digit, cell) => {
    const [row, column, box] = task.units[cell];
    return digit ? 0 : every & ~(used[row] | used[column] | used[box]);
  });
  let least = Infinity;
  let best = null; // cells, and bits of digits
  function offer(cells, bits) {
    let count = 0;
    for (const cell of cells) for (let left = free[cell] & bits; left; left &= left - 1) count++;
    if (count < least) [least, best] = [count, [cells, bits]];
  }
  for (let cell = 0; cell < task.cells; cell++) if (!board[cell]) offer([cell], every);
  task.members.forEach((cells, unit) => {
    for (const digit of digits) if (!(used[unit] & bit(digit))) offer(cells, bit(digit));
  });
  return best && best[0].flatMap((cell) =>
    digits.filter((digit) => free[cell] & best[1] & bit(digit)).map((digit) => [cell, digit]),
  );
}

/** All ways to fill a board in, one after the other; `order` says what to try first. */
function* fill(task, board, order = (pairs) => pairs) {
  const pairs = fewest(task, board);
  if (!pairs) yield board;
  else for (const [cell, digit] of order(pairs)) yield* fill(task, board.with(cell, digit), order);
}

/** How many solutions a board has, counted up to 2, and the first of them. */
export function solve(task, board) {
  const ways = fill(task, board);
  const solution = ways.next().value ?? null;
  return { count: solution ? 1 + !ways.next().done : 0, solution };
}

/** The same things in random order. */
function shuffled(things, random) {
  const order = [...things];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

// Numbers below wrap around at 2⁶⁴, as they do in Python.
const wrapped = (x) => BigInt.asIntN(64, x);
const WEIGHT = 6364136223846793005n;
const FACTORS = [-7046029254386353131n, -4417276706812531889n];

function scatter(key) {
  for (const factor of FACTORS) key = wrapped((key ^ (key >> 31n)) * factor);
  return key ^ (key >> 31n);
}

/** The number that tells classes of complete grids apart, up to other names for the digits. */
export function classKey(task, grid) {
  let weight = 1n;
  let key = 0n;
  for (const digit of grid) {
    weight = wrapped(weight * WEIGHT);
    key += weight * BigInt(grid.indexOf(digit) + 1); // its place in the first row names a digit
  }
  return scatter(wrapped(key));
}

/** Whether training left a grid's class out. */
export const heldOut = (task, grid) =>
  Number(BigInt.asUintN(20, scatter(classKey(task, grid)))) < task.share * 2 ** 20;

const TRIES = 1000; // grids, of which one should be of a class that is held out

/**
 * A random puzzle with one solution, of a class that is held out where any is: "easy" is dug out
 * until half of the cells are blank, "minimal" until every clue is needed. Null if none was found.
 */
export function draw(task, kind, random = Math.random) {
  const grid = () => fill(task, blank(task), (pairs) => shuffled(pairs, random)).next().value;
  let found = grid();
  for (let tries = 1; task.share && !heldOut(task, found); tries++) {
    if (tries === TRIES) return null;
    found = grid();
  }
  let clues = task.cells;
  for (const cell of shuffled(found.keys(), random)) {
    if (kind === "easy" && clues <= task.cells / 2) break;
    const dug = found.with(cell, 0);
    if (solve(task, dug).count > 1) continue;
    found = dug;
    clues--;
  }
  return found;
}

/**
 * What a board comes to: its solution if there is exactly one; else a fault, the cells that are to
 * blame where a digit stands twice, and whether more clues could mend it.
 */
export function judge(task, board) {
  for (const digit of digitsOf(task)) {
    const unit = task.members.findIndex(
      (cells) => cells.filter((cell) => board[cell] === digit).length > 1,
    );
    if (unit < 0) continue;
    const name = ["row", "column", "box"][Math.floor(unit / task.side)];
    return {
      fault: `${digit} stands twice in ${name} ${(unit % task.side) + 1}`,
      clash: task.members[unit].filter((cell) => board[cell] === digit),
    };
  }
  const { count, solution } = solve(task, board);
  if (count === 1) return { fault: null, clash: [], solution };
  return {
    fault: `this board has ${count ? "more than one" : "no"} solution`,
    clash: [],
    open: count > 1,
  };
}

/** Why a character cannot stand in a cell; one that cannot be seen is named by its number. */
function noCell(task, character) {
  const seen = /[\p{L}\p{N}\p{P}\p{S}]/u.test(character);
  const name = seen ? character : `U+${character.codePointAt(0).toString(16).toUpperCase()}`;
  return `‘${name}’ is not a cell: use 1 to ${task.side}, and . for a blank`;
}

const BLANKS = "0._"; // each is one

/** A board from text, where blanks are `0`, `.` or `_` and lines around boxes are passed over. */
export function read(task, text) {
  const characters = [...text].filter((c) => c.trim() && !"|+-".includes(c));
  const allowed = new Set([...BLANKS, ...digitsOf(task).map(String)]);
  const unknown = characters.find((c) => !allowed.has(c));
  if (unknown) return { fault: noCell(task, unknown) };
  if (characters.length !== task.cells) {
    return { fault: `a board has ${task.cells} cells, and this one has ${characters.length}` };
  }
  const board = characters.map((c) => Number(c) || 0);
  return { board, ...judge(task, board) };
}

const write = (board) => board.map((digit) => digit || ".").join("");

// ---------------------------------------------------------------------------------------------
// Words and parts for the page

const SHOWN = { answer: "its answer", mind: "what is in mind" };
const FROM_BEFORE = "The board is from before.";
const howToWrite = (task) =>
  `${task.cells} cells, row by row: 1 to ${task.side}, and . for a blank.`;

const capital = (words) => words[0].toUpperCase() + words.slice(1);
const sentence = (words) => `${capital(words)}.`;

/** A probability in words: what is nearly certain is not called certain. */
function percent(p) {
  if (Number.isNaN(p)) return "no number";
  if (p < 0.005) return "under 1\u00a0%";
  return p >= 0.995 ? "over 99\u00a0%" : `${number(100 * p, 0)}\u00a0%`;
}

/** What a thought says of every cell, by the answer or by what is in mind. */
function reading(thought, task, shown) {
  const flat = shown === "mind" ? thought.mind : thought.logits;
  const size = task.side + 1;
  const shares = Array.from({ length: task.cells }, (_, cell) =>
    softmax(flat.subarray(cell * size, (cell + 1) * size)),
  );
  return { shares, digits: shares.map(argmax) };
}

// ---------------------------------------------------------------------------------------------
// The board

const place = (task, cell) =>
  `row ${Math.floor(cell / task.side) + 1}, column ${(cell % task.side) + 1}`;

function boardView({ uid, choose, put, refused }) {
  const node = html("div", {
    class: "trm-board",
    role: "grid",
    "aria-label": "Sudoku board",
    "aria-describedby": `${uid}-help`,
    onfocusin: (event) => choose(cells.findIndex((cell) => cell.node === event.target)),
    onkeydown: press,
  });
  let task = null;
  let cells = [];

  function press(event) {
    const i = cells.findIndex((cell) => cell.node === event.target);
    if (i < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const { side } = task;
    const column = i % side;
    const to = {
      ArrowLeft: column > 0 ? i - 1 : i,
      ArrowRight: column < side - 1 ? i + 1 : i,
      ArrowUp: i >= side ? i - side : i,
      ArrowDown: i + side < task.cells ? i + side : i,
      Home: i - column,
      End: i - column + side - 1,
    }[event.key];
    const removes = ["Delete", "Backspace", " ", ...BLANKS].includes(event.key);
    const digit = removes ? 0 : Number(event.key);
    if (to !== undefined) rove(event.target, cells[to].node);
    else if (digit >= 0 && digit <= side) put(i, digit);
    else if (event.key.length === 1) refused(event.key);
    else return;
    event.preventDefault();
  }

  function build(next) {
    task = next;
    const { rows, columns, side } = task;
    node.style.setProperty("--side", side);
    cells = Array.from({ length: task.cells }, (_, i) => {
      const text = html("span", { class: "trm-digit" });
      const sure = html("span", { class: "trm-sure" });
      const thickRight = (i + 1) % columns === 0 && (i + 1) % side !== 0;
      const thickBelow = (Math.floor(i / side) + 1) % rows === 0 && i + side < task.cells;
      const edges = `${thickRight ? " trm-thick-right" : ""}${thickBelow ? " trm-thick-below" : ""}`;
      const cell = html("div", { class: `trm-cell${edges}`, role: "gridcell" }, text, sure);
      return { node: cell, text, sure };
    });
    const lines = digitsOf(task).map((row) =>
      html(
        "div",
        { class: "trm-row", role: "row" },
        ...cells.slice((row - 1) * side, row * side).map((cell) => cell.node),
      ),
    );
    node.replaceChildren(...lines);
  }

  /** Contents of all cells: {digit, clue, sure, wrong, changed, clash}. */
  function draw(next, contents, chosen, kind) {
    if (task?.rows !== next.rows || task.columns !== next.columns) build(next);
    node.dataset.kind = kind;
    contents.forEach(({ digit, clue, sure, wrong, changed, clash }, i) => {
      const { node: cell, text, sure: bar } = cells[i];
      const guess = !clue && sure !== undefined;
      text.textContent = digit || (guess ? "·" : "");
      bar.style.transform = `scaleX(${guess ? drawn(sure).toFixed(4) : 0})`;
      cell.classList.toggle("trm-clue", clue);
      cell.classList.toggle("trm-wrong", Boolean(wrong || clash));
      cell.classList.toggle("trm-changed", Boolean(changed));
      cell.setAttribute("tabindex", i === chosen ? "0" : "-1");
      cell.setAttribute("aria-selected", i === chosen);
      const said = [
        digit || (guess ? "no digit" : "blank"),
        clue && "clue",
        guess && `${percent(sure)} sure`,
        wrong && (clue ? "misread" : "wrong"),
        clash && "stands twice",
        changed && "changed",
      ];
      cell.setAttribute("aria-label", `${place(task, i)}: ${said.filter(Boolean).join(", ")}`);
    });
  }

  return { node, draw };
}

// ---------------------------------------------------------------------------------------------
// The steps: the halting probability as a dial, and the way so far as a curve

const ARC = "M10 58A50 50 0 0 1 110 58";

function dial() {
  const fill = svg("path", { class: "trm-arc trm-arc-fill", d: ARC, pathLength: 1 });
  const value = svg("text", { x: 60, y: 56, class: "trm-dial-value" });
  const picture = svg(
    "svg",
    { class: "trm-dial-picture", viewBox: "0 0 120 66", "aria-hidden": "true" },
    svg("path", { class: "trm-arc", d: ARC }),
    fill,
    value,
  );
  const node = html(
    "div",
    { class: "trm-dial" },
    picture,
    html("p", { class: "attn-help" }, "sure that it is right, by its own estimate"),
  );
  /** Show a probability, or that there is none yet. */
  function draw(p) {
    value.textContent = p === null ? "–" : percent(p);
    // Of a round line's end something stays even where its length is 0.
    fill.setAttribute("stroke-dasharray", `${drawn(p)} 2`);
    fill.classList.toggle("trm-nothing", !drawn(p));
  }
  return { node, draw };
}

function courseView({ uid, go }) {
  const curve = svg("svg", {
    class: "trm-curve",
    viewBox: `0 0 ${LAST} 1`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  const scrub = slider({
    uid,
    name: "step",
    label: "Step",
    max: LAST,
    step: 1,
    say: (value) => `${value} of ${LAST}`,
    oninput: go,
  });
  const sample = (name) =>
    svg(
      "svg",
      { class: `trm-sample trm-${name}`, viewBox: "0 0 24 8", "aria-hidden": "true" },
      svg("path", { class: "trm-line", d: "M0 4H24" }),
    );
  const node = html(
    "div",
    { class: "trm-course" },
    html(
      "p",
      { class: "attn-help trm-legend" },
      html("span", {}, sample("right"), "blanks right"),
      html("span", {}, sample("halts"), "how sure it is"),
    ),
    curve,
    scrub.node,
  );

  /** The shares of blanks that are right, and how sure it was, of all steps so far. */
  function draw(step, now, series) {
    const lines = Object.entries(series).map(([name, values]) => {
      const points = values.map((share, i) => `${i + 1} ${(1 - drawn(share)).toFixed(4)}`);
      const dots = points.map((point) => `M${point}h0`).join("");
      const line = points.length > 1 ? `M${points.join("L")}` : "";
      return svg(
        "g",
        { class: `trm-${name}` },
        svg("path", { class: "trm-line", d: line }),
        svg("path", { class: "trm-dots", d: dots }),
      );
    });
    curve.replaceChildren(
      svg("path", { class: "trm-axis", d: `M0 0H${LAST}M0 1H${LAST}` }),
      svg("path", { class: "trm-here", d: `M${now} 0V1` }),
      ...lines,
    );
    scrub.set(step);
  }

  return { node, draw, input: scrub.input };
}

// ---------------------------------------------------------------------------------------------
// One cell: how likely it holds each digit to be

function closeView(put) {
  const title = html("caption", {});
  const body = html("tbody", {});
  const column = (text) => html("th", { scope: "col" }, text);
  const node = html(
    "table",
    { class: "trm-table" },
    title,
    html("thead", {}, html("tr", {}, column("digit"), column("answer"), column("in mind"))),
    body,
  );
  let lines = [];

  function build(side) {
    lines = Array.from({ length: side }, (_, i) => {
      const key = button(String(i + 1), () => put(i + 1));
      key.classList.add("trm-key");
      const values = ["answer", "mind"].map((kind) => {
        const value = html("span", { class: "trm-share" });
        const fill = html("span", { class: `trm-fill trm-${kind}` });
        const meter = html("span", { class: "trm-meter", "aria-hidden": "true" }, fill);
        return { node: html("td", {}, value, meter), value, fill };
      });
      const name = html("th", { scope: "row" }, key);
      return { key, values, node: html("tr", {}, name, ...values.map((value) => value.node)) };
    });
    body.replaceChildren(...lines.map((line) => line.node));
  }

  /** Shares of each digit, the blank's first, by the answer and in mind; null before step 1. */
  function draw(task, cell, clue, both) {
    if (lines.length !== task.side) build(task.side);
    title.textContent = capital(place(task, cell)) + (clue ? `: ${clue}, a clue` : "");
    lines.forEach(({ key, values }, i) => {
      key.setAttribute("aria-label", `${i + 1} as the clue in ${place(task, cell)}`);
      key.setAttribute("aria-pressed", clue === i + 1);
      values.forEach(({ value, fill }, n) => {
        const share = both?.[n][i + 1];
        value.textContent = both ? number(share) : "";
        fill.style.transform = `scaleX(${drawn(share).toFixed(4)})`;
      });
    });
  }

  return { node, draw };
}

// ---------------------------------------------------------------------------------------------
// The view

const WITHOUT_MODEL = { rows: 2, columns: 3, held_out_share: 0.1 };
const DRAWN = ["runs", "run", "seed", "step", "shown", "selected"];

function render({ model, el }) {
  const uid = `trm-${Math.random().toString(36).slice(2)}`;
  const spoken = speaker();
  const { save, watch } = saver(model, show);
  let task = null;
  let draft = null; // a board that the reader is editing, and that is no puzzle (yet)
  let thinking = null; // {run, seed, network, puzzle, source, thoughts}
  let at = 0; // the step that is on the board
  let timer = null;

  const models = menus({ uid, model, save });
  const { run } = models;
  const puzzle = () => read(task, model.get("puzzle"));

  // --- what the reader does

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

  /** Have another board: a puzzle, or a draft on which the reader will go on. */
  function edit(board) {
    box.value = write(board);
    if (!judge(task, board).fault) return take(board);
    draft = board;
    show();
  }

  /** Make a digit the clue of a cell, or take it away. */
  function put(cell, digit) {
    const board = draft ?? puzzle().board ?? blank(task);
    if (board[cell] !== digit) edit(board.with(cell, digit));
    else weigh();
  }

  function offer(kind) {
    const drawnBoard = draw(task, kind);
    if (!drawnBoard) {
      message.textContent = `Of ${TRIES} grids drawn, training held none out.`;
      return;
    }
    box.value = write(drawnBoard);
    take(drawnBoard, { selected: -1 });
  }

  function startOver() {
    draft = null;
    box.value = model.get("puzzle");
    go(0);
  }

  const board = boardView({
    uid,
    put,
    choose: (selected) => selected === model.get("selected") || save({ selected }),
    refused: (key) => weigh(sentence(noCell(task, key))),
  });
  const gauge = dial();
  const course = courseView({ uid, go });
  const close = closeView((digit) => {
    const cell = chosen();
    put(cell, clues()[cell] === digit ? 0 : digit);
  });
  const back = button("Back", () => go(Math.max(0, model.get("step") - 1)));
  const next = button("Step", () => go(Math.min(LAST, model.get("step") + 1)));
  const play = button("Play", () => {
    if (plays.going()) return go(model.get("step"));
    plays.play(model.get("step") < LAST ? model.get("step") : 0, LAST);
  });
  const over = button("Start over", startOver);
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
      if (found.fault) weigh();
      else take(found.board);
    },
  });
  const box = text.input;

  /** Say why a key was refused, if one was, and what the text lacks; the board is then another. */
  function weigh(refusal) {
    const typed = read(task, box.value);
    const other = typed.fault && !(draft && box.value === write(draft));
    const faults = [refusal, other && `${sentence(typed.fault)} ${FROM_BEFORE}`].filter(Boolean);
    message.textContent = faults.join(" ") || howToWrite(task);
    message.classList.toggle("attn-wrong", faults.length > 0);
    refuse(box, other);
  }

  const asleep = sleeper();
  const choices = html("span", { class: "trm-choices" }, ...models.nodes);
  const help = html(
    "p",
    { class: "attn-help", id: `${uid}-help` },
    "Type a clue, or press its digit in the table; Delete removes it. Bar: probability. Shaded: changed. ✗: wrong.",
  );
  const root = html(
    "div",
    { class: "attn-widget trm", role: "group", "aria-label": "The Sudoku explorer" },
    html(
      "div",
      { class: "attn-controls" },
      choices,
      button("Draw an easy one", () => offer("easy")),
      button("Draw a minimal one", () => offer("minimal")),
      button("Clear", () => edit(blank(task))),
    ),
    html(
      "div",
      { class: "trm-columns" },
      html(
        "div",
        { class: "trm-first" },
        board.node,
        html("div", { class: "trm-buttons" }, back, next, play, over),
        html(
          "fieldset",
          { class: "trm-toggles" },
          html("legend", { class: "attn-hidden" }, "On the board"),
          ...toggles.map((toggle) => toggle.node),
        ),
        help,
      ),
      html(
        "div",
        { class: "trm-second" },
        asleep,
        html("div", { class: "trm-state" }, gauge.node, html("div", {}, told, origin)),
        course.node,
        close.node,
        html(
          "p",
          { class: "attn-help" },
          "In mind: z, read by the answer’s head. No loss asked it to be readable.",
        ),
      ),
    ),
    text.node,
    message,
    spoken.node,
  );

  // --- thinking

  /** Begin anew if anything has changed that thoughts depend on. */
  function prepare(board) {
    const now = run();
    const seed = models.seed();
    const same = thinking?.run === now && thinking.seed === seed;
    if (same && thinking.puzzle === write(board)) return;
    const network = same ? thinking.network : make(unpack(now, seed), now.config);
    const source = think(network, board);
    thinking = { run: now, seed, network, puzzle: write(board), source, thoughts: [] };
    at = 0;
  }

  /** Think until the chosen step, a few milliseconds at a time, so that the page stays awake. */
  function seek() {
    clearTimeout(timer);
    const { thoughts, source } = thinking;
    const busy = thoughts.length < model.get("step");
    board.node.setAttribute("aria-busy", busy);
    if (!busy) {
      at = model.get("step");
      return;
    }
    timer = setTimeout(() => {
      const until = performance.now() + 12;
      while (thoughts.length < model.get("step") && performance.now() < until) {
        const thought = source.next().value;
        if (thought) thoughts.push(thought);
      }
      if (thoughts.length < model.get("step")) seek();
      else show();
    });
  }

  // --- drawing

  const clues = () => draft ?? puzzle().board ?? blank(task);

  /** The cell to look at: the first blank, until the reader chooses. */
  function chosen() {
    const selected = model.get("selected");
    const first = Math.max(0, clues().indexOf(0));
    return selected < 0 || selected >= task.cells ? first : selected;
  }

  /** How many blanks are right, and whether everything is, the clues too. */
  function score(digits, { board, solution }) {
    const right = digits.map((digit, cell) => digit === solution[cell]);
    const blanks = board.filter((digit) => !digit).length;
    return {
      blanks,
      right: right.filter((ok, cell) => ok && !board[cell]).length,
      misread: right.filter((ok, cell) => !ok && board[cell]).length,
    };
  }

  /** What has come of the puzzle; of a step, by what the board shows of it. */
  function tell(found, seen, before) {
    if (draft) {
      const { fault, open } = judge(task, draft);
      const what = open ? "More than one solution so far." : sentence(fault);
      return `${what} ${open ? "Add clues, or go back with Start over." : "Start over goes back."}`;
    }
    if (found.fault) return `${sentence(found.fault)} Draw a puzzle, or type one.`;
    const { blanks, right, misread } = score(seen ? seen.digits : found.board, found);
    if (!seen && !blanks) return "Complete and right: no blank is left to fill.";
    if (!seen) {
      const invites = run() ? " Step or Play lets the model think." : "";
      return `${plural(blanks, "blank")}, one solution.${invites}`;
    }
    const changed = before
      ? seen.digits.filter((digit, i) => !found.board[i] && digit !== before.digits[i]).length
      : null;
    const inMind = model.get("shown") === "mind";
    const solved = right === blanks && !misread && !inMind;
    const whole = plural(blanks, "blank");
    const filled = solved ? `solved, all ${whole} right` : `${right} of ${whole} right`;
    const parts = [
      at === LAST && !solved && !inMind && "not solved",
      blanks ? filled : "no blank to fill",
      misread && `${plural(misread, "clue")} misread`,
      changed !== null && `${changed} changed`,
    ];
    const said = parts.filter(Boolean).join(", ");
    if (inMind) return `Step ${at}, in mind: ${said}.`; // the dial is about its answer
    const sure = percent(sigmoid(thinking.thoughts[at - 1].halt));
    return `Step ${at}: ${said}; the model is ${sure} sure.`;
  }

  /** What stands in every cell. */
  function contents(found, seen, before) {
    const { clash = [] } = draft ? judge(task, draft) : {};
    return clues().map((clue, i) => {
      if (!seen) return { digit: clue, clue: clue > 0, clash: clash.includes(i) };
      return {
        digit: clue || seen.digits[i],
        clue: clue > 0,
        sure: seen.shares[i][seen.digits[i]],
        wrong: seen.digits[i] !== found.solution[i],
        changed: Boolean(before) && !clue && before.digits[i] !== seen.digits[i],
      };
    });
  }

  function show() {
    task = boards(run() ?? WITHOUT_MODEL);
    const found = puzzle();
    const wakes = Boolean(run()) && !draft && !found.fault;
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
    board.draw(task, contents(found, seen, before), cell, kind);
    const shares = seen && [both.answer, both.mind].map(([here]) => here.shares[cell]);
    close.draw(task, cell, clues()[cell], shares);
    gauge.draw(seen ? sigmoid(thoughts[at - 1].halt) : null);
    course.draw(wakes ? model.get("step") : 0, wakes ? at : 0, {
      right: thoughts.map((thought) => {
        const { right, blanks } = score(reading(thought, task, "answer").digits, found);
        return blanks ? right / blanks : 1;
      }),
      halts: thoughts.map((thought) => sigmoid(thought.halt)),
    });
    for (const { input } of toggles) input.checked = input.value === kind;
    for (const control of [play, course.input]) control.disabled = !wakes;
    back.disabled = !wakes || model.get("step") === 0;
    next.disabled = !wakes || model.get("step") === LAST;
    play.textContent = plays.going() ? "Pause" : "Play";
    told.textContent = tell(found, seen, before);
    told.classList.toggle("attn-wrong", draft ? !judge(task, draft).open : Boolean(found.fault));
    origin.textContent = originOf(found, wakes);
    weigh();
    if (!plays.going()) spoken.say(told.textContent);
  }

  const originOf = ({ solution }, wakes) => {
    if (!wakes || !task.share) return "";
    return heldOut(task, solution)
      ? "Training held out all grids of this class."
      : "Training was free to draw this class of grids.";
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
  });
  el.append(root);
  fillIn();
  return () => {
    unwatch();
    plays.stop();
    clearTimeout(timer);
    spoken.quiet();
  };
}

export default { render };
