// What stands beside the board: the halting probability as a dial, the way so far as a curve, and one
// cell, looked at closely.

import { button, drawn, html, number, slider, svg } from "./_page.js";
import { place } from "./_trm_board.js";
import { capital, percent } from "./_trm_text.js";

export const LAST = 24; // supervision step

const ARC = "M10 58A50 50 0 0 1 110 58";

export function dial() {
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

export function courseView({ uid, go }) {
  const curve = svg("svg", {
    class: "trm-curve",
    viewBox: `0 0 ${LAST} 1`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  const scrub = slider({
    uid,
    name: "step",
    label: "Look",
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
      const dots = points.map((point) => `M${point}h.01`).join("");
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

export function closeView(put) {
  const title = html("caption", {});
  const body = html("tbody", {});
  const column = (text) => html("th", { scope: "col" }, text);
  const node = html(
    "table",
    { class: "attn-table trm-table" },
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
        const fill = html("span", { class: `attn-fill trm-${kind}` });
        const meter = html("span", { class: "attn-meter", "aria-hidden": "true" }, fill);
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
