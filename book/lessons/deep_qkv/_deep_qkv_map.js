// The map of all 27 inputs.

import { arrows, html } from "./_page.js";
import { WORDS, sorted, written } from "./_sorter.js";

export function wordMap(choose) {
  const tiles = WORDS.map((word) =>
    html(
      "span",
      {
        class: "abc-word",
        role: "radio",
        tabindex: "-1",
        "data-word": word,
        onclick: () => choose(word),
      },
      html("span", { "aria-hidden": "true" }, word),
      html("span", { class: "abc-mark", "aria-hidden": "true" }),
    ),
  );
  const columns = () => tiles.filter((node) => node.offsetTop === tiles[0].offsetTop).length;
  const map = html("div", {
    class: "abc-map",
    role: "radiogroup",
    "aria-label": "All 27 inputs",
    onkeydown: arrows((i) => choose(WORDS[i]), columns),
  });
  map.append(...tiles);

  /** Mark each word right or wrong, and the one in the box. */
  function show(steps, current) {
    const answers = steps.map(written);
    tiles.forEach((node, i) => {
      const right = answers[i] === sorted(WORDS[i]);
      const chosen = WORDS[i] === current;
      const label = `${WORDS[i]}, ${right ? "right" : "wrong"}: writes ${answers[i]}`;
      if (node.getAttribute("aria-label") !== label) {
        node.setAttribute("aria-label", label);
        node.setAttribute("title", `${WORDS[i]} → ${answers[i]}`);
        node.classList.toggle("abc-wrong", !right);
        node.lastChild.textContent = right ? "✓" : "✗";
      }
      node.setAttribute("aria-checked", chosen);
      node.setAttribute("tabindex", chosen ? "0" : "-1");
    });
  }
  return { map, show };
}
