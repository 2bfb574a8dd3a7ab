// The network: a text coming to rest, and who is held responsible for one prediction.

import { argmax } from "./_model.js";
import { unpack } from "./_unpack.js";
import {
  arrows,
  bar,
  board,
  button,
  html,
  menus,
  number,
  player,
  refuse,
  sleeper,
  slider,
  svg,
  textBox,
} from "./_page.js";
import { inSlices } from "./_equilibrium_credit.js";
import {
  ESTIMATES,
  crediting,
  make,
  prepare,
  prepared,
  read,
  settle,
} from "./_equilibrium_network.js";
import {
  NAMES_OF,
  glyphOf,
  nameOf,
  objection,
  parts,
  percent,
  tiny,
  wanted,
} from "./_equilibrium_text.js";

const CUT = 0.65; // of the height of a lane: where the largest share of credit but one ends
const BEST = 5; // next characters to show
const FROM_BEFORE = "What is shown is from before.";
const HOW_TO_WRITE = "↵ stands for a new line. Take a character to look at it.";

export function networkView({ uid, model, save, say }) {
  let shown = null; // the text at rest, and what has been read from its states so far
  let blamed = { key: "", sizes: {} }; // the credit that has been computed so far
  let stopBlaming = () => {};
  let left = false;

  const models = menus({ uid, model, save });
  const { run } = models;
  const message = html("p", { class: "attn-message", id: `${uid}-message`, role: "status" });
  const box = textBox({
    uid,
    name: "text",
    label: "Text",
    described: `${uid}-message`,
    oninput: ask,
  });
  const { input } = box;

  /** The text in the box, where ↵ stands for a new line. */
  const typed = () =>
    run().characters.includes("↵") ? input.value : input.value.replaceAll("↵", "\n");

  function ask() {
    if (objection(typed(), run())) judge();
    else save({ text: typed(), selected: -1 });
  }

  /** Say what the text lacks, if anything; what is shown is then from the text before. */
  function judge() {
    const found = objection(typed(), run());
    message.textContent = found ? [found, shown && FROM_BEFORE].filter(Boolean).join(" ") : HOW_TO_WRITE;
    message.classList.toggle("attn-wrong", Boolean(found));
    refuse(input, found);
  }

  // --- the relaxation, step by step

  const last = () => shown.settled.states.length - 1;
  const stepNow = () => {
    const step = model.get("step");
    return step < 0 ? last() : Math.min(step, last());
  };
  const plays = player(150, (step) => save({ step }));
  const curve = svg("svg", { class: "eq-curve", preserveAspectRatio: "none", "aria-hidden": "true" });
  const scrub = slider({
    uid,
    name: "step",
    label: "Relaxation step",
    max: 1,
    step: 1,
    say: (value) => (shown ? `${value} of ${last()}` : ""),
    oninput: (step) => {
      plays.stop();
      save({ step });
    },
  });
  const play = button("Play", () => plays.play(stepNow() < last() ? stepNow() : 0, last()));
  const rest = html("p", { class: "eq-rest-text" });

  // --- the text with its tracks

  const cells = html("span", {
    class: "eq-cells",
    role: "radiogroup",
    "aria-label": "Characters",
    onkeydown: arrows((selected) => save({ selected })),
  });
  const says = html("span", { class: "eq-cells eq-says", "aria-hidden": "true" });
  const lines = board((column) => {
    if (cells.children[column]) save({ selected: column });
  });
  const lanes = Object.fromEntries(
    ["away", "looks", ...ESTIMATES].map((name) => [name, lines.lane(`eq-${name}`)]),
  );
  lines.line("text", "", cells);
  lines.line("from rest", "|force| / |state|", lanes.away);
  lines.line("expects next", "bold: just changed", says);
  lines.line("looks at", "mean of its heads", lanes.looks);
  const blame = html("p", { class: "eq-heading" });
  lines.node.append(blame);
  const shares = Object.fromEntries(
    ESTIMATES.map((name) => [name, lines.line(NAMES_OF[name], "", lanes[name])]),
  );
  const moral = html("p", { class: "eq-moral" });

  const title = html("caption", {});
  const best = Array.from({ length: BEST }, () => {
    const name = html("th", { scope: "row" });
    const value = html("span", { class: "eq-share" });
    const fill = html("span", { class: "attn-fill" });
    const meter = html("span", { class: "attn-meter", "aria-hidden": "true" }, fill);
    return { name, value, fill, node: html("tr", {}, name, html("td", {}, value, meter)) };
  });
  const table = html(
    "table",
    { class: "attn-table eq-table" },
    title,
    html("tbody", {}, ...best.map(({ node }) => node)),
  );
  const looked = html("p", { class: "eq-looked" });

  const asleep = sleeper();
  const result = html(
    "div",
    {},
    html("div", { class: "eq-relaxation" }, html(
        "div",
        { class: "eq-scrub" },
        html("p", { class: "eq-axis" }, "|force| / |state| by powers of ten; dashed: at rest"),
        curve,
        scrub.node,
      ), play),
    rest,
    lines.node,
    moral,
    html("div", { class: "eq-below" }, table, looked),
  );
  const awake = html(
    "div",
    {},
    html("div", { class: "attn-controls" }, ...models.nodes, box.node),
    message,
    result,
  );

  // --- drawing

  /** Let the text come to rest anew, unless nothing has changed that this depends on. */
  function relax(text) {
    const now = run();
    const seed = models.seed();
    if (shown?.run === now && shown.seed === seed && shown.text === text) return;
    const network =
      shown?.run === now && shown.seed === seed
        ? shown.network
        : make(unpack(now, seed), now);
    const known = [...now.characters];
    const characters = [...text];
    const tokens = characters.map((character) => known.indexOf(character));
    const settled = settle(network, tokens);
    shown = { run: now, seed, network, text, characters, tokens, known, settled, reads: [] };
    blamed = { key: "", sizes: {} };
  }

  /** How high on a scale of powers of ten, from a tenth of the last residual to 10. */
  function height(x) {
    const least = Math.min(-4, Math.max(-12, Math.log10(shown.settled.residuals.at(-1)) - 1 || -4));
    return Math.max(0, Math.min(1, (Math.log10(x) - least) / (1 - least))) || 0;
  }

  function drawCurve(step) {
    const { residuals, limit } = shown.settled;
    const [width, tall] = [last() || 1, 1];
    curve.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    const d = residuals
      .map((r, i) => `${i ? "L" : "M"}${i} ${(tall - height(r)).toFixed(4)}`)
      .join("");
    const line = (className, way) => svg("path", { class: className, d: way });
    curve.replaceChildren(
      line("eq-limit", `M0 ${1 - height(limit)}H${width}`),
      line("eq-here", `M${step} 0V1`),
      line("eq-residual", d),
    );
    play.disabled = last() === 0;
  }

  const at = (i) => `${glyphOf(shown.characters[i])} at ${i + 1}`;

  /** The likeliest character after a place; a dash where weights are no numbers. */
  function expected(reading, i) {
    const top = argmax(reading.next[i]);
    return Number.isFinite(reading.next[i][top]) ? shown.known[top] : "–";
  }

  function drawCells(step, chosen, now, before) {
    const { characters, settled } = shown;
    while (cells.children.length > characters.length) cells.lastChild.remove();
    while (cells.children.length < characters.length) {
      cells.append(html("span", { class: "eq-cell", role: "radio" }));
    }
    characters.forEach((character, i) => {
      const node = cells.children[i];
      node.textContent = glyphOf(character);
      node.setAttribute("aria-checked", i === chosen);
      node.setAttribute("tabindex", i === chosen ? "0" : "-1");
      node.setAttribute(
        "aria-label",
        `${nameOf(character)} at ${i + 1}: expects ${nameOf(expected(now, i))}, ` +
          `${tiny(settled.each[step][i])} from rest`,
      );
    });
    says.replaceChildren(
      ...characters.map((_, i) => {
        const changed = before && expected(before, i) !== expected(now, i);
        const className = changed ? "eq-cell eq-new" : "eq-cell";
        return html("span", { class: className }, glyphOf(expected(now, i)));
      }),
    );
  }

  /** Bars over the characters, to a scale on which `largest` is the whole height. */
  const bars = (values, largest, className) =>
    values.map((value, i) => bar(i, 1, Math.max(0, Math.min(1, value / largest)) || 0, className));

  function drawLanes(step, chosen, now) {
    const { settled } = shown;
    const limit = 1 - height(settled.limit);
    lines.fill(
      lanes.away,
      1,
      chosen,
      ...bars(settled.each[step].map(height), 1, ""),
      svg("path", { class: "eq-limit", d: `M0 ${limit}H${shown.tokens.length}` }),
    );
    const looks = now.attention[chosen];
    lines.fill(lanes.looks, 1, chosen, ...bars(looks, Math.max(...looks), ""));
    const most = argmax(looks);
    looked.textContent = Number.isFinite(looks[most])
      ? `From ${at(chosen)} attention goes most to ${most === chosen ? "itself" : at(most)}, ${number(looks[most])} of it.`
      : "";
  }

  function drawBest(step, chosen, now) {
    const next = now.next[chosen];
    const order = next.map((_, i) => i).sort((a, b) => next[b] - next[a]);
    title.textContent = `What may follow ${at(chosen)}, at step ${step}`;
    best.forEach(({ name, value, fill, node }, i) => {
      node.hidden = !(i < order.length);
      if (node.hidden) return;
      name.textContent = glyphOf(shown.known[order[i]]);
      value.textContent = Number.isFinite(next[order[i]]) ? number(next[order[i]], 3) : "–";
      fill.style.transform = `scaleX(${(next[order[i]] || 0).toFixed(4)})`;
    });
  }

  /** Who is responsible for the prediction after the chosen character, as far as it is known. */
  function drawBlame(chosen, target) {
    const { settled, tokens, known } = shown;
    const wish = glyphOf(known[target]);
    blame.textContent =
      chosen + 1 < tokens.length
        ? `After ${at(chosen)} comes ${wish}. Whose state is responsible for −log p(${wish})?`
        : `The text ends at ${at(chosen)}. Suppose ${wish} came, the second likeliest: ` +
          "whose state is responsible?";
    const found = Object.fromEntries(
      Object.entries(blamed.sizes).map(([name, sizes]) => [name, parts(sizes, chosen)]),
    );
    const portions = Object.fromEntries(
      Object.entries(blamed.sizes).map(([name, sizes]) => [
        name,
        sizes.map((size) => size / total(sizes)),
      ]),
    );
    const others = Object.values(portions).flatMap((all) => all.filter((_, i) => i !== chosen));
    // The chosen character's own share is the largest by far: its bar is cut.
    const scale = Math.max(0.01, ...others.filter(Number.isFinite)) / CUT;
    for (const name of ESTIMATES) {
      const three = settled.settled ? found[name] : null;
      const drawn = three ? bars(portions[name], scale, `eq-${name}`) : [];
      if (three && portions[name][chosen] > scale) {
        drawn.push(svg("path", { class: "eq-cut", d: `M${chosen} ${CUT / 2}H${chosen + 1}` }));
      }
      lines.fill(lanes[name], 1, chosen, ...drawn);
      shares[name].textContent = three
        ? `${three.map((share) => number(100 * share, 0)).join(" · ")} %`
        : settled.settled && !(name in found) ? "…" : "no credit";
    }
    moral.textContent = moralOf(found, chosen);
  }

  const total = (sizes) => sizes.reduce((sum, x) => sum + x, 0);

  function moralOf({ exact, none }, chosen) {
    if (!shown.settled.settled) {
      return "The state has not come to rest: it has no gradient, and there is no credit to share out.";
    }
    if (!exact || !none) return "Share of credit before · at · after the character: on its way.";
    const said = [
      `Before · at · after it: exact ${exact.map(percent).join(" · ")};`,
      `naive ${none.map(percent).join(" · ")}.`,
    ];
    const misses = chosen > 0;
    const invents = chosen + 1 < shown.tokens.length;
    if (misses && invents) {
      said.push("Naive leaves out what came before, and blames what comes later, which had no say.");
    } else if (misses) said.push("Naive leaves out all that came before.");
    else if (invents) said.push("Naive blames what comes later, which had no say.");
    else said.push("There is nobody else.");
    return said.join(" ");
  }

  /** Find the credit by one method after the other, while the page stays awake. */
  function seekCredit(chosen, target) {
    const key = `${chosen} ${target}`;
    if (blamed.key === key) return;
    stopBlaming();
    blamed = { key, sizes: {} };
    lines.node.setAttribute("aria-busy", shown.settled.settled);
    if (!shown.settled.settled) return;
    const { network, settled } = shown;
    const seek = ([name, ...others]) => {
      stopBlaming = inSlices(crediting(network, settled, chosen, target, name), (sizes) => {
        blamed.sizes[name] = sizes;
        if (others.length) seek(others);
        else lines.node.setAttribute("aria-busy", "false");
        drawBlame(chosen, target);
      });
    };
    seek(ESTIMATES);
  }

  function restText(step) {
    const { residuals, limit, settled } = shown.settled;
    const least = limit.toPrecision(1);
    const so = (at) => `step ${at} the force is ${tiny(residuals[at])} of the state`;
    if (!Number.isFinite(residuals[last()])) return `It does not come to rest: after step ${last()} the force is no number.`;
    if (!settled) return `It does not come to rest: after ${so(last())}, not below ${least}.`;
    return `At ${so(step)}${residuals[step] < limit ? ": at rest." : `; at rest is below ${least}.`}`;
  }

  function draw() {
    asleep.hidden = Boolean(run());
    awake.hidden = !run();
    if (!run()) return;
    models.show();
    if (!prepared(run())) {
      prepare(model.get("runs")).then(() => left || draw());
      return;
    }
    if (!objection(model.get("text"), run())) relax(model.get("text"));
    judge();
    result.hidden = !shown;
    if (!shown) return;

    const { network, settled, tokens, reads } = shown;
    const step = stepNow();
    const selected = model.get("selected");
    const chosen = selected < 0 || selected >= tokens.length ? Math.floor(tokens.length / 2) : selected;
    const readAt = (i) => (reads[i] ??= read(network, settled.states[i]));
    const now = readAt(step);
    const before = step > 0 ? readAt(step - 1) : null;
    const target = wanted(tokens, readAt(last()).next, chosen);
    lines.resize(tokens.length);
    scrub.input.max = last();
    scrub.set(step);
    rest.textContent = restText(step);
    rest.classList.toggle("attn-wrong", !settled.settled);
    drawCurve(step);
    drawCells(step, chosen, now, before);
    drawLanes(step, chosen, now);
    drawBest(step, chosen, now);
    seekCredit(chosen, target);
    drawBlame(chosen, target);
    const first = glyphOf(expected(now, chosen));
    say(`${rest.textContent} After ${at(chosen)} it expects ${first}.`);
  }

  /** Show the text that the model now holds: another view, or the notebook, has changed it. */
  function fill() {
    input.value = model.get("text").replaceAll("\n", "↵");
  }

  const leave = () => {
    left = true;
    plays.stop();
    stopBlaming();
  };
  return { node: html("div", {}, asleep, awake), draw, fill, leave };
}
