// Boards of a Sudoku, and puzzles drawn as attn_notes/tasks/sudoku.py draws them: the same rounds, the
// same search, the same classes of grids that training leaves out. A board is N² digits in a row, 0 for
// a blank.
//
//   boards → deduce → solve
//                   → grid → dig → sample, drawPuzzle      heldOut: which grids training never draws


/**
 * What a shape of boxes comes to: the units of each cell, and the cells of each unit. Classes of grids are
 * up to other names for the digits, or up to "all" symmetries.
 */
export function boards({ rows, columns, held_out_share: share, symmetries = "labels" }) {
  const side = rows * columns;
  const cells = side ** 2;
  const units = Array.from({ length: cells }, (_, cell) => {
    const [row, column] = [Math.floor(cell / side), cell % side];
    const box = Math.floor(row / rows) * rows + Math.floor(column / columns);
    return [row, side + column, 2 * side + box];
  });
  const members = Array.from({ length: 3 * side }, () => []);
  units.forEach((own, cell) => own.forEach((unit) => members[unit].push(cell)));
  return { rows, columns, share, symmetries, side, cells, units, members };
}

export const blank = (task) => new Array(task.cells).fill(0);
export const digitsOf = (task) => Array.from({ length: task.side }, (_, i) => i + 1);

// ---------------------------------------------------------------------------------------------
// Rounds and search. A set of digits is a number with their bits.

const bitOf = (digit) => 1 << digit;
const digitOf = (bits) => 31 - Math.clz32(bits); // of a single one
const several = (bits) => (bits & (bits - 1)) !== 0;
function countOf(bits) {
  let count = 0;
  for (let left = bits; left; left &= left - 1) count++;
  return count;
}

/**
 * What can be seen on a board as it stands: for each blank the digits that could go there, and those
 * that must. Null where it contradicts itself.
 */
function look({ side, cells, units }, board) {
  const every = 2 ** (side + 1) - 2;
  const used = new Array(3 * side).fill(0);
  for (let cell = 0; cell < cells; cell++) {
    if (!board[cell]) continue;
    for (const unit of units[cell]) {
      if (used[unit] & bitOf(board[cell])) return null;
      used[unit] |= bitOf(board[cell]);
    }
  }
  const possible = new Array(cells).fill(0);
  const once = new Array(3 * side).fill(0); // digits with a place in a unit, and with a second one
  const twice = new Array(3 * side).fill(0);
  for (let cell = 0; cell < cells; cell++) {
    if (board[cell]) continue;
    const own = units[cell];
    const bits = every & ~(used[own[0]] | used[own[1]] | used[own[2]]);
    if (!bits) return null;
    possible[cell] = bits;
    for (const unit of own) {
      twice[unit] |= once[unit] & bits;
      once[unit] |= bits;
    }
  }
  if (used.some((bits, unit) => (bits | once[unit]) !== every)) return null;
  const must = new Array(cells).fill(0);
  for (let cell = 0; cell < cells; cell++) {
    const bits = possible[cell];
    if (!bits) continue;
    let hidden = 0;
    for (const unit of units[cell]) hidden |= once[unit] & ~twice[unit];
    must[cell] = several(bits) ? bits & hidden : bits;
    if (several(must[cell])) return null;
  }
  return { possible, must };
}

/**
 * The board after as many rounds as still fill something, or until a cell is filled, with what could go
 * into its blanks; null where it contradicts itself. A round fills all that must be filled at once.
 */
export function deduce(task, board, until = -1) {
  const now = [...board];
  for (;;) {
    const seen = look(task, now);
    if (!seen) return null;
    let moved = false;
    for (let cell = 0; cell < task.cells; cell++) {
      if (!seen.must[cell]) continue;
      now[cell] = digitOf(seen.must[cell]);
      moved = true;
    }
    if (!moved || now[until]) return { board: now, possible: seen.possible };
  }
}

/** The blanks with the fewest choices. */
function tightest({ board, possible }) {
  let least = Infinity;
  let found = [];
  board.forEach((digit, cell) => {
    if (digit) return;
    const count = countOf(possible[cell]);
    if (count < least) [least, found] = [count, []];
    if (count === least) found.push(cell);
  });
  return found;
}

/** All ways to fill a board in, one after the other. */
export function* fill(task, board) {
  const deduced = deduce(task, board);
  if (!deduced) return;
  const [cell] = tightest(deduced);
  if (cell === undefined) yield deduced.board;
  else {
    for (const digit of digitsOf(task)) {
      if (!(deduced.possible[cell] & bitOf(digit))) continue;
      yield* fill(task, deduced.board.with(cell, digit));
    }
  }
}

/** How many solutions a board has, counted up to 2, and the first of them. */
export function solve(task, board) {
  const ways = fill(task, board);
  const solution = ways.next().value ?? null;
  return { count: solution ? 1 + !ways.next().done : 0, solution };
}

// ---------------------------------------------------------------------------------------------
// Classes of grids. Numbers below wrap around at 2⁶⁴, as they do in Python.

const wrapped = (x) => BigInt.asIntN(64, x);
const WEIGHT = 6364136223846793005n;
const FACTORS = [-7046029254386353131n, -4417276706812531889n];

function scatter(key) {
  for (const factor of FACTORS) key = wrapped((key ^ (key >> 31n)) * factor);
  return key ^ (key >> 31n);
}

/** A number for a row of digits that tells which stands where. */
function weigh(digits) {
  let weight = 1n;
  let sum = 0n;
  for (const digit of digits) {
    weight = wrapped(weight * WEIGHT);
    sum += weight * BigInt(digit);
  }
  return wrapped(sum);
}

const addUp = (numbers) => numbers.reduce((sum, x) => wrapped(sum + x), 0n);
const inParts = (things, size) =>
  Array.from({ length: things.length / size }, (_, i) => things.slice(i * size, (i + 1) * size));

/** All orders of some things. */
function* orders(things) {
  if (!things.length) yield [];
  for (const [i, thing] of things.entries()) {
    for (const rest of orders(things.toSpliced(i, 1))) yield [thing, ...rest];
  }
}

/** Every way to put the columns: the stacks in any order, and in each its columns. */
function* columnOrders({ side, columns }) {
  const stacks = inParts([...Array(side).keys()], columns);
  function* inside([stack, ...others]) {
    if (!stack) yield [];
    else for (const own of orders(stack)) for (const rest of inside(others)) yield [...own, ...rest];
  }
  for (const order of orders(stacks)) yield* inside(order);
}

const ways = new Map(); // the shape of a box → its orders of the columns, worked out once
function waysOf(task) {
  const shape = `${task.rows} × ${task.columns}`;
  if (!ways.has(shape)) ways.set(shape, [...columnOrders(task)]);
  return ways.get(shape);
}

/**
 * The same up to all symmetries: a sum over every order of the columns and every row that may give the
 * digits their names. Rows and bands are added up, so that their order is lost.
 */
function keyOfAll(task, grid) {
  const { side } = task;
  const lines = inParts(grid, side);
  const turned = lines.map((_, i) => lines.map((line) => line[i]));
  const keys = (task.rows === task.columns ? [lines, turned] : [lines]).flatMap((view) =>
    waysOf(task).flatMap((order) => {
      const here = view.map((line) => order.map((column) => line[column]));
      return here.map((names) => {
        const rows = here.map((line) => scatter(weigh(line.map((d) => names.indexOf(d) + 1))));
        return scatter(addUp(inParts(rows, task.rows).map((band) => scatter(addUp(band)))));
      });
    }),
  );
  return addUp(keys);
}

/** The number that tells classes of complete grids apart. */
export function classKey(task, grid) {
  if (task.symmetries === "all") return keyOfAll(task, grid);
  return scatter(weigh(grid.map((digit) => grid.indexOf(digit) + 1))); // named by the first row
}

/** Whether training left a grid's class out. */
export const heldOut = (task, grid) =>
  Number(BigInt.asUintN(20, scatter(classKey(task, grid)))) < task.share * 2 ** 20;

// ---------------------------------------------------------------------------------------------
// Drawing. `random` gives numbers in [0, 1).

/** The same things in random order. */
function shuffled(things, random) {
  const order = [...things];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** A complete grid: one of the tightest cells gets one of its digits, and rounds fill what follows. */
export function grid(task, random) {
  const empty = deduce(task, blank(task));
  let here = empty;
  for (;;) {
    const cells = tightest(here);
    if (!cells.length) return here.board;
    const cell = cells[Math.floor(random() * cells.length)]; // each has as many choices
    const choices = digitsOf(task).filter((digit) => here.possible[cell] & bitOf(digit));
    const digit = choices[Math.floor(random() * choices.length)];
    here = deduce(task, here.board.with(cell, digit)) ?? empty;
  }
}

const TRIES = 1000; // grids, of which one should be of a class that is sought
export const SOUGHT_IN_VAIN = `Of ${TRIES} grids drawn, training held none out.`;

/** A grid of a class that is held out, or of one that is not; null if none was found. */
function gridOf(task, held, random) {
  for (let tries = 0; tries < TRIES; tries++) {
    const found = grid(task, random);
    if (heldOut(task, found) === held) return found;
  }
  return null;
}

const roundsBringBack = (task, board, cell) => Boolean(deduce(task, board, cell)?.board[cell]);
const oneIsLeft = (task, board) => solve(task, board).count === 1;

/** Blank digits that may go, trying so many cells in random order, until so few clues are left. */
function dig(task, full, { tries = task.cells, least = 0, mayGo, random }) {
  let board = full;
  let clues = board.filter(Boolean).length;
  for (const cell of shuffled(board.keys(), random).slice(0, tries)) {
    if (clues <= least) break;
    if (!board[cell]) continue;
    const dug = board.with(cell, 0);
    if (!mayGo(task, dug, cell)) continue;
    board = dug;
    clues--;
  }
  return board;
}

/**
 * A puzzle and its solution, of a class that is held out or of one that is not, drawn as in training:
 * "mixed", where rounds bring back what was dug, or "minimal", in which every clue is needed. Null if no
 * such class was found.
 */
export function sample(task, kind, held, random) {
  const solution = gridOf(task, held, random);
  if (!solution) return null;
  const half = Math.floor(task.cells / 2);
  const mixed = half + Math.floor(random() * (task.cells - half + 1));
  const tries = kind === "mixed" ? mixed : task.cells;
  const dug = dig(task, solution, { tries, mayGo: roundsBringBack, random });
  const puzzle = kind === "mixed" ? dug : dig(task, dug, { mayGo: oneIsLeft, random });
  return { puzzle, solution };
}

/**
 * A puzzle for the reader, of a class that is held out where any is: "minimal" as above, "easy" with half
 * of its cells blank. Null if none was found.
 */
export function drawPuzzle(task, kind, random = Math.random) {
  const held = task.share > 0;
  if (kind === "minimal") return sample(task, kind, held, random)?.puzzle ?? null;
  const solution = gridOf(task, held, random);
  return solution && dig(task, solution, { least: task.cells / 2, mayGo: oneIsLeft, random });
}
