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
    "aria-label": label,
    "aria-describedby": `${uid}-hint`,
    oninput: typed,
    onkeydown: pressed,
  });

  /** Number the lines, and mark those in which something went wrong. The same text behind the field, which nobody
   * sees, makes it as large, and keeps each number beside its line where a long one is broken. */
  function number(wrong = []) {
    const lines = field.value.split("\n");
    const numbered = (line, i) =>
      html("div", { "data-line": line }, html("span", wrong.includes(i + 1) ? { class: "attn-wrong" } : {}, `${i + 1}`));
    numbers.replaceChildren(...lines.map(numbered));
    field.rows = lines.length;
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
  return { node: html("div", { class: "attn-editor" }, numbers, field), field, number };
}
