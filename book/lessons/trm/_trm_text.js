// What is wrong with a board, in a sentence, and boards as text.

import { number } from "./_page.js";
import { digitsOf, solve } from "./_trm_puzzles.js";

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

/** The cells whose digit stands again in a row, column or box of theirs. */
export function clashes(task, board) {
  const found = task.members.flatMap((cells) =>
    cells.filter((cell) => board[cell] && cells.some((c) => c !== cell && board[c] === board[cell])),
  );
  return new Set(found);
}

/** Why a character cannot stand in a cell; one that cannot be seen is named by its number. */
export function noCell(task, character) {
  const seen = /[\p{L}\p{N}\p{P}\p{S}]/u.test(character);
  const name = seen ? character : `U+${character.codePointAt(0).toString(16).toUpperCase()}`;
  return `‘${name}’ is not a cell: use 1 to ${task.side}, and . for a blank`;
}

export const BLANKS = "0._"; // each is one

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

export const write = (board) => board.map((digit) => digit || ".").join("");

export const capital = (words) => words[0].toUpperCase() + words.slice(1);
export const sentence = (words) => `${capital(words)}.`;

/** A probability in words: what is nearly certain is not called certain. */
export function percent(p) {
  if (Number.isNaN(p)) return "no number";
  if (p < 0.005) return "under 1\u00a0%";
  return p >= 0.995 ? "over 99\u00a0%" : `${number(100 * p, 0)}\u00a0%`;
}
