// A text with its tracks, one column for each character, and one of its choices, looked at closely.

import { argmax } from "./_model.js";
import { arrows, bar, board, drawn, hidden, html, number, plural, svg } from "./_page.js";
import { NAMES, PAD, VOCABULARY, after, depthOf, ends, glyph, glyphOf, inWords } from "./_dialectical_text.js";

const taken = (step) => step.seen.filter(({ active }) => active).length;
const broken = (step) => step.depth < 0 || step.token === PAD;

/** Where the streams looked before a choice, from its first step. */
function looked([{ attention }], names) {
  const most = (shares) => `${names[argmax(shares)]}, ${number(Math.max(...shares))}`;
  const [positive, negative] = attention;
  if (!negative) return `The stream looked most at ${most(positive)}.`;
  if (positive.some((share, j) => Math.abs(share - negative[j]) > 1e-6)) {
    return `Stream a⁺ looked most at ${most(positive)}; stream a⁻ at ${most(negative)}.`;
  }
  const even = positive.every((share) => Math.abs(share - positive[0]) < 1e-6);
  return even
    ? `Both streams looked evenly at all there is: ${number(positive[0])} each.`
    : `Both streams looked the same way, most at ${most(positive)}.`;
}

// ---------------------------------------------------------------------------------------------
// The text with its tracks: one column for each character of the prompt and of the budget

const LEVELS = 6; // of depth, at least

export function boardView({ uid, choose }) {
  const given = html("span", { class: "dh-cells", "aria-hidden": "true" });
  const cells = html("span", {
    class: "dh-cells",
    role: "radiogroup",
    "aria-label": "Written characters",
    "aria-describedby": `${uid}-help`,
    onkeydown: arrows(choose),
  });
  const unspent = html("span", { class: "dh-cells dh-unspent", "aria-hidden": "true" });
  const counts = html("span", { class: "dh-cells dh-counts", "aria-hidden": "true" });
  const take = (column) => {
    const i = column - given.children.length;
    if (cells.children[i]) choose(i);
  };
  // What is written, and, for who opens it, what the head did: columns of the same width.
  const [text, head] = [board(take), board(take)];
  const lanes = {
    depth: text.lane("dh-depth"),
    removed: text.lane("dh-removed"),
    tension: head.lane("dh-tension"),
    streams: head.lane("dh-streams"),
  };
  text.line("written", "", given, cells, unspent);
  text.line("depth", "within what is left", lanes.depth);
  text.line("removed", "by the grammar", lanes.removed);
  head.line("tension", "of the one before", lanes.tension);
  head.line("steps", "of the one before", counts);
  head.line("streams", "a⁺ upwards, a⁻ down", lanes.streams);
  let columns = 1;

  const cell = (className, content) => html("span", { class: `dh-cell ${className}` }, content);
  const fill = (name, ...content) => text.fill(lanes[name], ...content);
  const fillHead = (name, ...content) => head.fill(lanes[name], ...content);

  function drawCells({ prompt, steps }, chosen) {
    given.replaceChildren(
      ...[...prompt].map((character) => cell("", glyphOf(VOCABULARY.indexOf(character)))),
    );
    while (cells.children.length > steps.length) cells.lastChild.remove();
    while (cells.children.length < steps.length) cells.append(cell("", ""));
    steps.forEach((step, i) => {
      const node = cells.children[i];
      node.textContent = glyph(step);
      node.classList.toggle("dh-broken", broken(step));
      node.setAttribute("role", "radio");
      node.setAttribute("aria-checked", i === chosen);
      node.setAttribute("tabindex", i === chosen ? "0" : "-1");
      node.setAttribute(
        "aria-label",
        `${inWords(step)} at ${prompt.length + i + 1}: depth ${number(step.depth, 0)}, tension ` +
          `${number(step.seen[0].tension)}, ${plural(taken(step), "step")}, ` +
          `${number(step.removed)} removed`,
      );
    });
    const left = columns - prompt.length - steps.length;
    unspent.replaceChildren(...Array.from({ length: left }, () => cell("", "·")));
    counts.replaceChildren(
      ...[...prompt].map(() => cell("", "")),
      ...steps.map((step) => cell("", String(taken(step)))),
    );
  }

  /** The depth after each character, and where no closing would be in time. */
  function drawDepth({ prompt, steps }, here) {
    const depths = [];
    for (const character of prompt) {
      depths.push(after(VOCABULARY.indexOf(character), depths.at(-1) ?? 0));
    }
    depths.push(...steps.map((step) => step.depth));
    const top = Math.max(LEVELS, ...depths) + 0.5;
    const bottom = Math.min(0, ...depths) - 0.75;
    const left = (i) => Math.min(top, columns - 1 - i); // characters after this one
    let ceiling = "";
    for (let i = 0; i < columns; i++) ceiling += `V${top - left(i) - 0.25}H${i + 1}`;
    const stairs = depths.map((depth, i) => `V${top - depth}H${i + 1}`).join("");
    const zero = top + 0.25;
    fill(
      "depth",
      top - bottom,
      here,
      svg("path", { class: "dh-forbidden", d: `M0 0${ceiling}V0Z` }),
      svg("path", { class: "dh-forbidden", d: `M0 ${zero}H${columns}V${top - bottom}H0Z` }),
      svg("path", { class: "dh-under", d: `M0 ${top}${stairs}V${top}Z` }),
      svg("path", { class: "dh-stairs", d: `M0 ${top}${stairs}` }),
    );
  }

  /** The attention of both streams, to the scale of its largest share. */
  function drawStreams(attention) {
    const largest = Math.max(...attention.flat().map(drawn));
    return attention.flatMap((shares, n) =>
      shares.map((share, j) => {
        const height = drawn(share / largest);
        return n === 0
          ? bar(j, 1, height, "dh-for")
          : bar(j, 1 + height, height, "dh-against");
      }),
    );
  }

  function draw(written, budget, chosen) {
    const { prompt, steps } = written;
    columns = prompt.length + budget;
    text.resize(columns);
    head.resize(columns);
    const start = prompt.length;
    const here = start + chosen;
    drawCells(written, chosen);
    drawDepth(written, here);
    const bars = (share, className) =>
      steps.map((step, i) => bar(start + i, 1, drawn(share(step)), className));
    fill("removed", 1, here, ...bars((step) => step.removed, "dh-loss"));
    fillHead("tension", 1, here, ...bars((step) => step.seen[0].tension, ""));
    fillHead(
      "streams",
      2,
      here,
      ...drawStreams(steps[chosen]?.seen[0].attention ?? []),
      svg("path", { class: "dh-axis", d: `M0 1H${columns}` }),
    );
  }

  return { node: text.node, head: head.node, draw };
}

// ---------------------------------------------------------------------------------------------
// One choice: what the model wanted, what the grammar left of it, and the steps before it

export function choiceView() {
  const title = html("caption", {});
  const rows = VOCABULARY.map((_, token) => {
    const name = html("th", { scope: "row" });
    const values = [0, 1].map(() => {
      const fill = html("span", { class: "attn-fill" });
      const value = html("span", { class: "dh-share" });
      const bar = html("span", { class: "attn-meter", "aria-hidden": "true" }, fill);
      return { node: html("td", {}, value, bar), value, fill };
    });
    return { token, name, values, node: html("tr", {}, name, ...values.map((value) => value.node)) };
  });
  const column = (text) => html("th", { scope: "col" }, text);
  const allowing = column("");
  const table = html(
    "table",
    { class: "attn-table dh-table" },
    title,
    html(
      "thead",
      {},
      html("tr", {}, column("token"), column("wanted"), allowing),
    ),
    html("tbody", {}, ...rows.map((line) => line.node)),
  );
  const heading = html("p", { class: "dh-heading" }, "Tension, step by step");
  const plot = html("ol", { class: "dh-steps" });
  const halting = html("p", {});
  const attention = html("p", {});
  const head = html("div", { class: "dh-of-head" }, heading, plot, halting, attention);
  const node = html("div", { class: "dh-choice" }, table);

  function drawTable(step, place, depth, { constrained, stop }) {
    title.textContent = `How ${inWords(step)} at ${place} was chosen`;
    allowing.textContent = constrained ? "after the grammar" : "no grammar";
    for (const { token, name, values, node: line } of rows) {
      const end = stop && ends(token, depth);
      const removed = !step.mask[token];
      const text = end ? "■ the end" : [glyphOf(token), NAMES[token]].filter(Boolean).join(" ");
      name.replaceChildren(removed ? html("s", {}, text) : text);
      line.classList.toggle("dh-removed", removed);
      line.classList.toggle("dh-chosen", token === step.token);
      [step.wanted, step.allowed].forEach((shares, n) => {
        const { value, fill } = values[n];
        value.textContent =
          n === 1 && removed
            ? "✗ removed"
            : `${number(shares[token])}${n === 1 && token === step.token ? " ◂" : ""}`;
        fill.style.transform = `scaleX(${drawn(shares[token]).toFixed(4)})`;
      });
    }
  }

  function drawSteps({ seen }, { halting: kind, tension_tau: threshold, streams }) {
    plot.style.setProperty("--threshold", drawn(threshold));
    plot.replaceChildren(
      ...seen.map(({ tension, active }, i) =>
        html(
          "li",
          { class: active ? "" : "dh-halted" },
          html("span", { class: "dh-number" }, number(tension)),
          html(
            "span",
            { class: "dh-column", "aria-hidden": "true" },
            html("span", { style: `height: ${(100 * drawn(tension)).toFixed(2)}%` }),
          ),
          html("span", { class: "dh-index", "aria-hidden": "true" }, String(i + 1)),
          active ? "" : hidden("after it halted"),
        ),
      ),
    );
    const count = seen.filter(({ active }) => active).length;
    const again = kind === "published" && count < seen.length;
    halting.textContent =
      `It took ${count} of ${plural(seen.length, "step")}; under the line, at ${number(threshold)}, ` +
      `it halts${again ? ", as published not for good" : ""}.` +
      (streams === 1 ? " A single stream counts as wholly opposed." : "");
  }

  function draw(written, i, asked, config) {
    const step = written.steps[i];
    for (const part of [node, head]) part.classList.toggle("dh-nothing", !step);
    if (!step) return;
    const place = written.prompt.length + i;
    const before = [...written.text].slice(0, place);
    const tokens = before.map((character) => VOCABULARY.indexOf(character));
    drawTable(step, place + 1, depthOf(tokens), asked);
    drawSteps(step, config);
    attention.textContent = looked(
      step.seen,
      tokens.map((token, t) => `${glyphOf(token)} at ${t + 1}`),
    );
  }

  return { node, head, draw };
}
