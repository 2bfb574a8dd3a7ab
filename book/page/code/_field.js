// A field for code with its line numbers: Enter keeps the indent, Ctrl+Enter runs, and Tab leaves, as everywhere.

import { html } from "./_page.js";

/** `typed` is called after each change, `run` on Ctrl+Enter. */
export function codeField({ uid, label, typed, run }) {
  const numbers = html("div", { class: "attn-line-numbers", "aria-hidden": "true" });
  const field = html("textarea", {
    id: `${uid}-code`,
    class: "attn-code",
    spellcheck: "false",
    autocapitalize: "off",
    autocomplete: "off",
    wrap: "off",
    "aria-label": label,
    "aria-describedby": `${uid}-hint`,
    oninput: typed,
    onkeydown: pressed,
  });
  const scroller = html("div", { class: "attn-code-scroller" }, field);

  /** Number the lines, and mark those in which something went wrong. */
  function number(wrong = []) {
    const count = field.value.split("\n").length;
    const marked = (n) => (wrong.includes(n) ? html("span", { class: "attn-wrong" }, `${n}`) : html("span", {}, `${n}`));
    numbers.replaceChildren(...Array.from({ length: count }, (_, i) => marked(i + 1)));
    field.rows = count;
    scroller.dataset.code = field.value;
  }
  function pressed(event) {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) {
      run();
      return;
    }
    const before = field.value.slice(0, field.selectionStart);
    const [indent] = before.split("\n").at(-1).match(/^ */);
    const deeper = before.trimEnd().endsWith(":") ? "    " : "";
    // So that it can be taken back, as all that is typed.
    document.execCommand("insertText", false, `\n${indent}${deeper}`);
  }
  return { node: html("div", { class: "attn-editor" }, numbers, scroller), field, number };
}
