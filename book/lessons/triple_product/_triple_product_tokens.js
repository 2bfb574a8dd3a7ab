// What is drawn of a head: the text with its attention, and the space that a query sees.

import { arrows, html } from "./_page.js";
import { LETTERS } from "./_triple_product_task.js";
import { norm, times } from "./_triple_product_vectors.js";

/** The letters of a text to `ask` from, and over each its attention, a bar to `take` the key by. */
export function tokenStrip({ ask, take }) {
  const node = html("div", {
    class: "tp-tokens",
    role: "radiogroup",
    "aria-label": "Query position",
    onkeydown: arrows((i) => ask(i)),
  });

  function draw(text, i, j, attention) {
    while (node.children.length > text.length) node.lastChild.remove();
    while (node.children.length < text.length) {
      const t = node.children.length;
      node.append(
        html(
          "span",
          { class: "tp-token", role: "radio", onclick: () => ask(t) },
          html(
            "span",
            {
              class: "tp-bar",
              onclick: (event) => {
                event.stopPropagation();
                take(t);
              },
            },
            html("span", { class: "tp-bar-fill" }),
          ),
          html("span", { class: "tp-letter" }),
        ),
      );
    }
    [...node.children].forEach((token, t) => {
      const weight = attention[t];
      const [bar, letter] = token.children;
      bar.firstChild.style.transform = `scaleY(${(weight ?? 0).toFixed(4)})`;
      letter.textContent = LETTERS[text[t]];
      token.classList.toggle("tp-future", t > i);
      token.classList.toggle("tp-the-key", t === j);
      token.setAttribute("aria-checked", t === i);
      token.setAttribute("tabindex", t === i ? "0" : "-1");
      const looked = weight === undefined ? "" : `, attention ${weight.toFixed(2)}`;
      token.setAttribute("aria-label", `${LETTERS[text[t]]} at ${t + 1}${looked}`);
    });
  }
  return { node, draw };
}

/** What fits the frame: it is wider than it is high, and the keys mostly stand. */
export const reachOf = (keys) =>
  1.05 * Math.max(...keys.map(([x, y, z]) => Math.max(Math.hypot(x, y), z / 1.25)));

/** A query's plane with the keys above it, for `sceneView`; `name` calls a key by its position. */
export function headScene({ q, r, keys, flat }, attention, reach, j, name) {
  // q and r share a scale of their own: what they say is the plane, and which way is q.
  const own = (0.8 * reach) / Math.max(norm(q), r ? norm(r) : 0, 1e-12);
  return {
    low: true,
    reach: reach || 1,
    plane: flat ? null : { e1: [1, 0, 0], e2: [0, 1, 0], radius: 0.92 * reach },
    axis: flat ? [1, 0, 0] : null,
    box: null,
    arrows: [
      ...Object.entries(r ? { q, r } : { q }).map(([id, x]) => ({
        id,
        text: id,
        at: times(x, own),
        className: "tp-plane-arrow",
        weight: 0.6,
        needed: true,
        flat: true,
      })),
      ...keys.map((at, t) => ({
        id: String(t),
        text: name(t),
        at,
        foot: attention[t] > 0.05 || t === j ? [at[0], at[1], 0] : null,
        className: t === j ? "tp-selected" : attention[t] > 0.05 ? "tp-attended" : "tp-faint",
        chosen: t === j,
        weight: attention[t],
        needed: t === j,
      })),
    ],
  };
}
