// What is trained and how: folded, so that Train and what it trains are on one screen, with what was changed in sight.

import { html } from "./_page.js";

/**
 * Choices behind one line that names those that differ from the first that `tell` found. `keep` is called when the reader
 * makes one, with all of them by the names of their fields; `restore` makes such choices again, as far as they
 * still exist.
 */
export function settingsFold({ uid, settings, keep }) {
  const made = html("span", { class: "attn-settings-made" });
  const node = html(
    "details",
    { class: "attn-settings", onchange: changed },
    html("summary", {}, "Settings", made),
    html("div", { class: "attn-controls" }, ...settings),
  );
  const fieldOf = (box) => (box.name || box.id).slice(uid.length);
  const boxes = () =>
    [...node.querySelectorAll("select, input:checked")].filter((box) => !box.closest("[hidden]"));
  const labelOf = (box) => box.closest("[role=radiogroup]")?.getAttribute("aria-label") ?? box.parentElement.firstChild.textContent; // the page may not have it yet
  let usual = null;
  function tell() {
    const now = new Map(boxes().map((box) => [labelOf(box), (box.selectedOptions ?? box.labels)[0]?.textContent]));
    usual ??= now;
    const other = [...now].filter(([label, text]) => usual.get(label) !== text);
    made.textContent = other.length ? ` (${other.map((each) => each.join(": ")).join("; ")})` : "";
  }
  function changed() {
    tell();
    keep(Object.fromEntries(boxes().map((box) => [fieldOf(box), box.value])));
  }
  function restore(choices) {
    // One choice may offer others anew, so each is looked for when those before it are made.
    for (const [name, value] of Object.entries(choices)) {
      const places = [...node.querySelectorAll("option, input")];
      const place = places.find((each) => each.value === value && fieldOf(each.closest("select") ?? each) === name);
      if (!place || place.selected || place.checked) continue;
      place[place.matches("option") ? "selected" : "checked"] = true;
      place.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }
  return { node, tell, restore };
}
