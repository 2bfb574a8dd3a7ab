// By hand: q, r and three keys to move, and the three scores of each key.

import { add, dot, softmax } from "./_model.js";
import { POWERS, button, html, refuse, slider, speaker } from "./_page.js";
import { sceneView } from "./_triple_product_scene.js";
import {
  ALLOWED,
  BETA,
  FRAMED,
  LENGTHS,
  LIMIT,
  OPENING,
  PRESETS,
  START,
  coordinate,
  flatOf,
  noteOn,
  replace,
} from "./_triple_product_scenes.js";
import {
  cos2,
  determinant,
  norm,
  normalize,
  planeOf,
  score,
  times,
} from "./_triple_product_vectors.js";
import { KINDS, factor, facts, point, show, subscript } from "./_triple_product_words.js";

export function byHand({ uid, model, save }) {
  const scene = () => (model.get("vectors").q ? model.get("vectors") : START);
  const selected = () => model.get("selected");
  const keyAt = ({ keys, lengths }, i) => times(keys[i], lengths[i]);
  const spoken = speaker();

  // --- what the reader does

  /** Change what `change` gives back, and keep every coordinate within its limits. */
  function update(change, more = {}) {
    save({ vectors: { ...scene(), ...change }, ...more });
  }

  const inside = (x) => x.map((value) => Math.max(-LIMIT, Math.min(LIMIT, value)));
  const put = (id, x) =>
    update(id in START ? { [id]: x } : { keys: replace(scene().keys, Number(id), x) });
  const vector = (id) => (id in START ? scene()[id] : scene().keys[id]);

  function pick(id) {
    if (!(id in START)) save({ selected: Number(id) });
  }

  let still = null; // what fits the frame stays while a tip is dragged

  const view = sceneView({
    uid,
    label: "q, r and three keys in three dimensions. Arrow keys turn the space.",
    azimuth: -100, // from where no arrow comes at the reader
    onpick: pick,
    onmove: (id, step) => {
      pick(id);
      put(id, inside(add(vector(id), step)));
    },
    ondrag: (id, step) => {
      still ??= reach();
      const length = id in START ? 1 : scene().lengths[id];
      put(id, inside(add(vector(id), times(step, 1 / length))));
    },
    ondrop: () => {
      still = null;
      draw();
    },
  });

  const note = html("p", { class: "tp-note", role: "status" });
  const presets = html(
    "div",
    { class: "tp-presets", role: "group", "aria-label": "Scenes to try" },
    ...PRESETS.filter(({ late }) => !late).map(({ name, scene, selected }) =>
      button(name, () => save({ vectors: scene, selected })),
    ),
    button(OPENING.name, () => {
      view.face();
      save({ vectors: OPENING.scene, selected: OPENING.selected });
    }),
  );

  const length = slider({
    uid,
    name: "length",
    label: "",
    ...POWERS,
    min: LENGTHS[0],
    max: LENGTHS[1],
    step: 0.01,
    say: factor,
    oninput: (value) => update({ lengths: replace(scene().lengths, selected(), value) }),
  });

  // --- coordinates as numbers

  const message = html("p", { class: "tp-message", id: `${uid}-message`, role: "status" });
  const ids = ["q", "r", "key"];
  const idOf = (id) => (id === "key" ? String(selected()) : id);
  const nameOf = (id) => (id === "key" ? `k${subscript(selected())}` : id);
  const fields = ids.flatMap((id) =>
    ["x", "y", "z"].map((axis, n) => {
      const input = html("input", {
        class: "attn-text tp-number",
        type: "text",
        inputmode: "text",
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": `${uid}-message`,
        oninput: () => {
          const value = coordinate(input.value);
          message.textContent = value === null ? ALLOWED : "";
          refuse(input, value === null);
          if (value !== null) put(idOf(id), replace(vector(idOf(id)), n, value));
        },
        onblur: () => {
          refuse(input, false);
          message.textContent = "";
          drawFields();
        },
      });
      return { id, axis, n, input };
    }),
  );
  const rowNames = ids.map(() => html("span", { class: "tp-row-name", "aria-hidden": "true" }));
  const coordinates = html(
    "div",
    { class: "tp-coordinates", role: "group", "aria-label": "Coordinates" },
    html("span", {}),
    ...["x", "y", "z"].map((axis) => html("span", { class: "attn-label", "aria-hidden": "true" }, axis)),
    ...ids.flatMap((id, i) => [
      rowNames[i],
      ...fields.filter((field) => field.id === id).map(({ input }) => input),
    ]),
  );

  function drawFields() {
    ids.forEach((id, i) => {
      rowNames[i].textContent = nameOf(id);
    });
    for (const { id, axis, n, input } of fields) {
      input.setAttribute("aria-label", `${nameOf(id)}, ${axis}`);
      if (document.activeElement !== input) input.value = show(vector(idOf(id))[n]);
    }
  }

  // --- numbers of the selected key, and the attention over all

  const title = html("p", { class: "tp-title" });
  const numbers = facts();
  const more = facts();
  const rows = START.keys.map((_, i) => {
    const name = html(
      "button",
      { type: "button", class: "attn-button tp-key", onclick: () => save({ selected: i }) },
      `k${subscript(i)}`,
    );
    const cells = KINDS.map(({ kind }) => {
      const value = html("span", { class: "tp-value" });
      const fill = html("span", { class: "attn-fill" });
      const node = html(
        "td",
        { "data-kind": kind },
        value,
        html("span", { class: "tp-track", "aria-hidden": "true" }, fill),
      );
      return { node, value, fill };
    });
    const node = html(
      "tr",
      {},
      html("th", { scope: "row" }, name),
      ...cells.map((cell) => cell.node),
    );
    return { node, name, cells };
  });
  const table = html(
    "table",
    { class: "attn-table tp-table" },
    html("caption", {}, "Attention: each score's softmax"),
    html(
      "thead",
      {},
      html(
        "tr",
        {},
        html("th", { scope: "col" }, "key"),
        ...KINDS.map(({ name }) => html("th", { scope: "col" }, name)),
      ),
    ),
    html("tbody", {}, ...rows.map((row) => row.node)),
  );

  const node = html(
    "div",
    { class: "tp-mode" },
    html(
      "div",
      { class: "tp-columns" },
      html(
        "div",
        { class: "tp-left" },
        view.node,
        html(
          "p",
          { class: "attn-help", id: `${uid}-help` },
          "Drag a tip to move it, drag the background to turn. With the keyboard: arrows turn the " +
            "space; on a tip they move it in x and y, Page Up and Page Down in z, with Shift farther.",
        ),
        presets,
        note,
      ),
      html(
        "div",
        { class: "tp-right" },
        title,
        numbers.list,
        length.node,
        table,
        html(
          "details",
          { class: "attn-help" },
          html("summary", {}, "All numbers"),
          more.list,
          html("p", { class: "attn-label tp-heading" }, "Coordinates, a key's at length × 1"),
          coordinates,
          message,
        ),
      ),
    ),
    spoken.node,
  );

  const reach = () => {
    const { q, r, keys, lengths } = scene();
    const framed = keys.map((key, i) => Math.max(1, Math.min(FRAMED, lengths[i])) * norm(key));
    return Math.max(1.5, norm(q), norm(r), ...framed) * 1.2; // so that a box has room
  };

  function draw() {
    const now = scene();
    const { q, r } = now;
    const keys = now.keys.map((_, i) => keyAt(now, i));
    const chosen = selected();
    const plane = planeOf(q, r);
    const project = (x) =>
      add(times(plane.e1, dot(plane.e1, x)), times(plane.e2, dot(plane.e2, x)));
    const label = (name, x) => `${name}: ${point(x)}`;
    view.draw({
      reach: still ?? reach(),
      axes: true,
      plane: plane && { ...plane, radius: 1.15 * Math.max(norm(q), norm(r), 0.8) },
      axis: plane ? null : normalize(norm(q) ? q : r),
      box: plane && [q, r, keys[chosen]],
      arrows: [
        ...["q", "r"].map((id) => ({
          id,
          text: id,
          at: now[id],
          className: "tp-plane-arrow",
          label: label(id, now[id]),
          weight: 0.6,
          needed: true,
          flat: Boolean(plane),
        })),
        ...keys.map((at, i) => ({
          id: String(i),
          text: `k${subscript(i)}${i ? "" : " friend"}`,
          at,
          foot: plane && project(at),
          was: now.lengths[i] === 1 ? null : now.keys[i],
          className: i === chosen ? "tp-selected" : "tp-other",
          chosen: i === chosen,
          label: `${label(`k${subscript(i)}`, at)}${i === chosen ? ", selected" : ""}`,
          weight: i === chosen ? 0.7 : 0.4,
          needed: true,
        })),
      ],
    });

    const columns = KINDS.map(({ kind }) => softmax(keys.map((k) => score(kind, q, k, r, BETA))));
    const winners = columns.map((shares) => `k${subscript(shares.indexOf(Math.max(...shares)))}`);
    const words = noteOn(now, winners);
    if (note.textContent !== words) note.textContent = words;
    const key = keys[chosen];
    const name = `k${subscript(chosen)}`;
    const det = determinant(q, key, r);
    const volume = show(score("volume", q, key, r));
    title.textContent = `The selected key, ${name}`;
    const area = plane ? norm(q) * dot(plane.e2, r) : 0;
    numbers.set([
      ["area of q and r", show(area)],
      [`height of ${name}`, area ? show(Math.sqrt(det) / area) : "none"],
      ["volume, area times height", show(Math.sqrt(det))],
    ]);
    more.set([
      ["det G, the volume squared", show(det)],
      ["volume score, −det G / 3√3", volume],
      ["dot product, q · k / √3", show(score("dot", q, key))],
      [`cos² of the angle to ${flatOf(q, r)}`, show(cos2(q, key, r))],
      [`angle score, ${BETA} cos²`, show(score("angle", q, key, r, BETA))],
    ]);
    length.text.textContent = `Length of ${name}`;
    length.set(now.lengths[chosen]);
    rows.forEach(({ node: row, name: head, cells }, i) => {
      row.classList.toggle("tp-selected-row", i === chosen);
      head.setAttribute("aria-pressed", i === chosen);
      cells.forEach(({ value, fill }, n) => {
        value.textContent = columns[n][i].toFixed(2);
        fill.style.transform = `scaleX(${columns[n][i].toFixed(4)})`;
      });
    });
    drawFields();
    spoken.say(`${name}: volume score ${volume}.`);
  }

  // Scenes that words in the text open, by the name that they have there.
  const shownIn = ({ scene: vectors, selected: key }) => save({ mode: "hand", vectors, selected: key });
  const states = { space: () => save({ mode: "hand" }) };
  for (const preset of PRESETS) {
    const word = /^a (?:loud )?(\w+)$/.exec(preset.name)?.[1]; // a loud stranger: stranger
    if (word) states[word] = () => shownIn(preset);
  }
  return {
    node,
    states,
    draw,
    leave() {
      view.leave();
      spoken.quiet();
    },
  };
}
