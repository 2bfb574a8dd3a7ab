// What is trained and how: folded, so that Train and what it trains are on one screen, with what is chosen in sight.

import { html } from "./_page.js";

/** Choices behind one line that names those that are made; `tell` says them anew. */
export function settingsFold(settings) {
  const made = html("span", { class: "attn-settings-made" });
  const node = html(
    "details",
    { class: "attn-settings", onchange: tell },
    html("summary", {}, "Settings: ", made),
    html("div", { class: "attn-controls" }, ...settings),
  );
  function tell() {
    const boxes = [...node.querySelectorAll("select, input:checked")];
    made.textContent = boxes.map((box) => (box.selectedOptions ?? box.labels)[0]?.textContent).join(", ");
  }
  return { node, tell };
}
