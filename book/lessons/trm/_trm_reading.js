// What a thought says, and what has come of the puzzle, in a sentence and cell by cell.

import { argmax, sigmoid, softmax } from "./_model.js";
import { plural } from "./_page.js";
import { LAST } from "./_trm_course.js";
import { clashes, percent, sentence } from "./_trm_text.js";

/** What a thought says of every cell, by the answer or by what is in mind. */
export function reading(thought, task, shown) {
  const flat = shown === "mind" ? thought.mind : thought.logits;
  const size = task.side + 1;
  const shares = Array.from({ length: task.cells }, (_, cell) =>
    softmax(flat.subarray(cell * size, (cell + 1) * size)),
  );
  return { shares, digits: shares.map(argmax) };
}

/** Which cells are right; where there are many solutions, those that agree with all others. */
function rightCells(task, digits, { board, solution }) {
  if (solution) return digits.map((digit, cell) => digit === solution[cell]);
  const clash = clashes(task, board.map((clue, cell) => clue || digits[cell]));
  return digits.map((digit, cell) =>
    board[cell] ? digit === board[cell] : digit > 0 && !clash.has(cell),
  );
}

/** How many blanks are right, and how many clues are misread. */
export function score(task, digits, found) {
  const { board } = found;
  const right = rightCells(task, digits, found);
  const blanks = board.filter((digit) => !digit).length;
  return {
    blanks,
    right: right.filter((ok, cell) => ok && !board[cell]).length,
    misread: right.filter((ok, cell) => !ok && board[cell]).length,
  };
}

/**
 * What has come of the puzzle; of step `at`, by what the board shows of it, `seen`, and of the one
 * `before`. `found` is the puzzle as it was read; `draft` is what is wrong with a board in the making.
 */
export function tell({ task, found, seen, before, draft, at, mind, halt }, awake) {
  const open = draft?.open;
  if (draft && !(open && seen)) {
    if (!open) return `${sentence(draft.fault)} Start over goes back.`;
    const model = awake ? ", or let the model fill it in" : "";
    return `More than one solution so far. Add clues${model}. Start over goes back.`;
  }
  if (found.fault) return `${sentence(found.fault)} Draw a puzzle, or type one.`;
  const { blanks, right, misread } = score(task, seen ? seen.digits : found.board, found);
  if (!seen && !blanks) return "Complete and right: no blank is left to fill.";
  if (!seen) {
    const invites = awake ? " Look or Play lets the model think." : "";
    return `${plural(blanks, "blank")}, one solution.${invites}`;
  }
  const changed = before
    ? seen.digits.filter((digit, i) => !found.board[i] && digit !== before.digits[i]).length
    : null;
  const solved = right === blanks && !misread && !mind;
  const whole = plural(blanks, "blank");
  const fit = open ? "by the rules" : "right";
  const done = open ? "a Sudoku" : "solved";
  const filled = solved ? `${done}, all ${whole} ${fit}` : `${right} of ${whole} ${fit}`;
  const parts = [
    at === LAST && !solved && !mind && !open && "not solved",
    blanks ? filled : "no blank to fill",
    misread && `${plural(misread, "clue")} misread`,
    changed !== null && `${changed} changed`,
  ];
  const said = parts.filter(Boolean).join(", ");
  if (mind) return `Look ${at}, in mind: ${said}.`; // the dial is about its answer
  return `Look ${at}: ${said}; the model is ${percent(sigmoid(halt))} sure.`;
}

/** What stands in every cell of a board with these clues. */
export function contents(clues, { task, found, seen, before, draft }) {
  const { clash = [] } = draft ?? {};
  const right = seen && rightCells(task, seen.digits, found);
  return clues.map((clue, i) => {
    if (!seen) return { digit: clue, clue: clue > 0, clash: clash.includes(i) };
    return {
      digit: clue || seen.digits[i],
      clue: clue > 0,
      sure: seen.shares[i][seen.digits[i]],
      wrong: !right[i],
      read: seen.digits[i],
      changed: Boolean(before) && !clue && before.digits[i] !== seen.digits[i],
    };
  });
}
