// The board of the Sudoku explorer, cell by cell, by pointer and by keyboard.

import { drawn, html, rove } from "./_page.js";
import { digitsOf } from "./_trm_puzzles.js";
import { BLANKS, percent } from "./_trm_text.js";

export const place = (task, cell) =>
  `row ${Math.floor(cell / task.side) + 1}, column ${(cell % task.side) + 1}`;

export function boardView({ uid, choose, put, refused }) {
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

  /** Contents of all cells: {digit, clue, sure, wrong, read, changed, clash}. */
  function draw(next, contents, chosen, kind) {
    if (task?.rows !== next.rows || task.columns !== next.columns) build(next);
    node.dataset.kind = kind;
    contents.forEach(({ digit, clue, sure, wrong, read, changed, clash }, i) => {
      const { node: cell, text, sure: bar } = cells[i];
      const guess = !clue && sure !== undefined;
      text.textContent = digit || (guess ? "·" : "");
      bar.style.transform = `scaleX(${guess ? drawn(sure).toFixed(4) : 0})`;
      cell.classList.toggle("trm-clue", clue);
      cell.classList.toggle("trm-wrong", Boolean(wrong || clash));
      cell.classList.toggle("trm-changed", Boolean(changed));
      if (clue && wrong) cell.dataset.read = read || "·";
      else delete cell.dataset.read;
      cell.setAttribute("tabindex", i === chosen ? "0" : "-1");
      cell.setAttribute("aria-selected", i === chosen);
      const said = [
        digit || (guess ? "no digit" : "blank"),
        clue && "clue",
        guess && `${percent(sure)} sure`,
        wrong && (clue ? `misread as ${read || "no digit"}` : "wrong"),
        clash && "stands twice",
        changed && "changed",
      ];
      cell.setAttribute("aria-label", `${place(task, i)}: ${said.filter(Boolean).join(", ")}`);
    });
  }

  return { node, draw };
}
