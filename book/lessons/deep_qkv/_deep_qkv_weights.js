// Every weight of the sorter as a cell that can be zeroed.

import { html, number, rove } from "./_page.js";
import { VOCABULARY } from "./_sorter.js";

const projectionTensors = (word, letter) =>
  ["base", "A", "B"].map((part) => ({
    name: `block.attention.${letter}.${part}`,
    label: `${word} ${part}`,
    symbol: part,
  }));

// In the order of the forward pass. A tensor that a variant does not have is left out.
const GROUPS = [
  {
    title: "Embeddings",
    note: "what a token is, and where it stands",
    tensors: [
      { name: "token.weight", label: "token embedding", symbol: "token" },
      { name: "position.weight", label: "position embedding", symbol: "position" },
    ],
  },
  {
    title: "LayerNorm",
    note: "before attention",
    tensors: [
      { name: "block.ln1.weight", label: "LayerNorm before attention, scale", symbol: "scale" },
      { name: "block.ln1.bias", label: "LayerNorm before attention, shift", symbol: "shift" },
    ],
  },
  {
    title: "Query",
    note: "what a position asks for",
    made: true,
    tensors: projectionTensors("query", "q"),
  },
  {
    title: "Key",
    note: "what a position answers to",
    made: true,
    tensors: projectionTensors("key", "k"),
  },
  {
    title: "Value",
    note: "what a position hands over",
    made: true,
    tensors: projectionTensors("value", "v"),
  },
  {
    title: "Output",
    note: "of attention",
    tensors: [{ name: "block.attention.o.weight", label: "attention output", symbol: "O" }],
  },
  {
    title: "LayerNorm",
    note: "before feed-forward",
    tensors: [
      { name: "block.ln2.weight", label: "LayerNorm before feed-forward, scale", symbol: "scale" },
      { name: "block.ln2.bias", label: "LayerNorm before feed-forward, shift", symbol: "shift" },
    ],
  },
  {
    title: "Feed-forward",
    note: "W₂ relu(W₁ x)",
    tensors: [
      { name: "block.feed_forward.l1.weight", label: "feed-forward W₁", symbol: "W₁" },
      { name: "block.feed_forward.l2.weight", label: "feed-forward W₂", symbol: "W₂" },
    ],
  },
  {
    title: "Last LayerNorm",
    note: "then the token embedding again",
    tensors: [
      { name: "norm.weight", label: "last LayerNorm, scale", symbol: "scale" },
      { name: "norm.bias", label: "last LayerNorm, shift", symbol: "shift" },
    ],
  },
];

// Rows that mean something by themselves: how they are called, and their mark on the page.
const ROWS = {
  "token.weight": { name: (i) => `token ${VOCABULARY[i]}`, mark: (i) => VOCABULARY[i] },
  "position.weight": { name: (i) => `position ${i + 1}`, mark: (i) => `${i + 1}` },
};

/** The matrices of one tensor: a vector is one row, and each head has its own. */
function matrices(tensor, shape) {
  const [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape.slice(-2);
  const row = ROWS[tensor.name] ?? { name: (i) => `row ${i + 1}` };
  if (shape.length < 3) return [{ ...tensor, rows, columns, start: 0, row }];
  return Array.from({ length: shape[0] }, (_, h) => ({
    ...tensor,
    label: `${tensor.label}, head ${h + 1}`,
    head: h + 1,
    rows,
    columns,
    start: h * rows * columns,
    row,
  }));
}

/**
 * Every weight as a cell. `toggle(matrix, indices)` is called with the cell, or with all cells of
 * a matrix, that the reader wants to zero or to restore; `point` with what they point at.
 */
export function heatMaps(run, formula, { toggle, point }) {
  const cells = {}; // tensor name -> its cells, flat
  const grids = [];
  const shapes = Object.fromEntries(run.names.map((name, n) => [name, run.shapes[n]]));

  function moveTo(event, matrix, grid, i, j) {
    const { rows, columns } = matrix;
    const page = { PageUp: -1, PageDown: 1 }[event.key];
    if (page) {
      event.preventDefault();
      rove(event.target, grids[grids.indexOf(grid) + page]?.cell(0, 0));
      return;
    }
    const to = {
      ArrowLeft: [i, j - 1],
      ArrowRight: [i, j + 1],
      ArrowUp: [i - 1, j],
      ArrowDown: [i + 1, j],
      Home: [i, 0],
      End: [i, columns - 1],
    }[event.key];
    if (to) {
      event.preventDefault();
      if (to[0] >= 0 && to[0] < rows && to[1] >= 0 && to[1] < columns) {
        rove(event.target, grid.cell(...to));
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (event.shiftKey) toggle(matrix, all(matrix));
      else toggle(matrix, [matrix.start + i * columns + j]);
    }
  }

  const all = ({ start, rows, columns }) =>
    Array.from({ length: rows * columns }, (_, i) => start + i);

  function matrixView(matrix) {
    const { name, label, symbol, rows, columns, start, row } = matrix;
    const grid = { matrix, cell: (i, j) => cells[name][start + i * columns + j] };
    const body = html("div", { class: "abc-grid", role: "grid", "aria-label": label });
    for (let i = 0; i < rows; i++) {
      const line = html("div", { class: "abc-line", role: "row" });
      if (row.mark) {
        line.append(html("span", { class: "abc-row", "aria-hidden": "true" }, row.mark(i)));
      }
      for (let j = 0; j < columns; j++) {
        const index = start + i * columns + j;
        const cell = html("span", {
          class: "abc-cell",
          role: "gridcell",
          tabindex: "-1",
          "data-name": name,
          "data-index": index,
          onclick: () => {
            rove(body.closest(".abc-heat").querySelector('.abc-cell[tabindex="0"]'), cell);
            toggle(matrix, [index]);
          },
          onkeydown: (event) => moveTo(event, matrix, grid, i, j),
          onpointerenter: () => point(matrix, index),
          onfocus: () => point(matrix, index),
        });
        (cells[name] ??= [])[index] = cell;
        line.append(cell);
      }
      body.append(line);
    }
    grids.push(grid);
    grid.button = html(
      "button",
      // Shift+Enter on a cell does the same, so that a matrix costs no tab stop
      { type: "button", class: "abc-all", tabindex: "-1", onclick: () => toggle(matrix, all(matrix)) },
      "zero all",
    );
    return html(
      "div",
      { class: "abc-matrix" },
      html(
        "div",
        { class: "abc-caption" },
        html("span", { class: "abc-symbol" }, symbol),
        html("span", { class: "abc-shape" }, ` ${rows}×${columns}`),
      ),
      body,
      grid.button,
    );
  }

  const heat = html("div", { class: "abc-heat" });
  for (const { title, note, made, tensors } of GROUPS) {
    const present = tensors.filter(({ name }) => shapes[name]);
    const heads = present.map((tensor) => matrices(tensor, shapes[tensor.name]));
    const bundles = heads[0].map(({ head }, h) =>
      html(
        "div",
        {},
        head ? html("div", { class: "abc-caption" }, `head ${head}`) : "",
        html("div", { class: "abc-matrices" }, ...heads.map((list) => matrixView(list[h]))),
      ),
    );
    const remark = made ? `${note}: ${formula}` : note;
    heat.append(
      html(
        "div",
        { class: "abc-group", role: "group", "aria-label": `${title}, ${remark}` },
        html(
          "div",
          { class: "abc-title", "aria-hidden": "true" },
          html("span", {}, title),
          html("span", { class: "abc-note" }, remark),
        ),
        html("div", { class: "abc-heads" }, ...bundles),
      ),
    );
  }
  grids[0].cell(0, 0).setAttribute("tabindex", "0");

  /** Draw the cells whose weight or mark has changed. `full` is the weight at full colour. */
  function show(original, zeroed, full) {
    for (const { matrix, cell, button } of grids) {
      const { name, rows, columns, start } = matrix;
      let left = 0;
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < columns; j++) {
          const value = original[name][start + i * columns + j];
          const off = zeroed.has(`${name}:${start + i * columns + j}`);
          const node = cell(i, j);
          if (!off) left++;
          const label =
            `${matrix.row.name(i)}, column ${j + 1}: ` + (off ? `0, was ${number(value)}` : number(value));
          const strength = `${off ? 0 : (100 * Math.min(1, Math.abs(value) / full)).toFixed(1)}%`;
          const drawn = `${label}, ${strength}`; // weights that read alike need not look alike
          if (node.dataset.drawn === drawn) continue;
          node.dataset.drawn = drawn;
          node.setAttribute("aria-label", label);
          node.classList.toggle("abc-zeroed", off);
          node.classList.toggle("abc-negative", value < 0);
          node.style.setProperty("--strength", strength);
        }
      }
      button.textContent = left ? "zero all" : "restore all";
      button.setAttribute("aria-label", `${button.textContent}: ${matrix.label}`);
    }
  }
  return { heat, show };
}

/** The weight shown at full colour: only one weight in twenty is larger. */
export function fullColour(weights) {
  const sizes = Object.values(weights).flatMap((values) => Array.from(values, Math.abs));
  sizes.sort((x, y) => x - y);
  return Math.max(0.1, Math.ceil(10 * sizes[Math.floor(0.95 * sizes.length)]) / 10 || 0);
}
