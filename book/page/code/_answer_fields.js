// An answer that is a few values, as fields: one for each `...` of the stub's line `answer = …`, so that it takes no Python; where a
// comment `# name: one | another` lists what it may be, a menu.
// What is typed there is written into the code, which stays what is checked and kept.

import { html } from "./_page.js";

const LINE = /^answer = .*$/m;
const LEFT = "...";
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** As Python writes it: a number or a sum of some, with a comma or a point, or a percentage, else words. */
const written = (text) => asPython(text.replace(/^([\d.,]+)\s*%$/, "$1 / 100"));
const asPython = (text) => (/^[\d.,\s()+*/−-]+$/.test(text) ? text.replaceAll(",", ".").replaceAll("−", "-") : JSON.stringify(text));
const read = (code) => (code === LEFT ? "" : /^(["']).*\1$/.test(code) ? code.slice(1, -1) : code);

/** Fields for a stub that has such a line, else none; `code` gives what stands in the editor, `put` changes it. */
export function answerFields({ stub, uid, code, put, run, lines }) {
  const [line, told = ""] = (LINE.exec(stub)?.[0] ?? "").split("  # your answer");
  const parts = line.split(LEFT);
  if (!/^answer = [({]/.test(line) || parts.length < 2) return { node: lines, follow() {} };
  const names = told.slice(2).split(", ");
  const fields = parts.slice(0, -1).map((part, n) => {
    const id = `${uid}-${n}`;
    const name = /"([^"]+)": $/.exec(part)?.[1] ?? names[n];
    const listed = new RegExp(`^# ${escaped(name)}: (.+ \\| .+)$`, "m").exec(stub)?.[1].split(" | ");
    const input = listed
      ? html("select", { id, class: "attn-text", oninput: write }, ...["", ...listed].map((each) => html("option", {}, each)))
      : html("input", { id, type: "text", class: "attn-text", autocomplete: "off", autocapitalize: "none", spellcheck: "false", oninput: write });
    input.addEventListener("keydown", ({ key }) => !listed && key === "Enter" && run());
    return { input, node: html("div", {}, html("label", { for: id }, name), input) };
  });
  const filled = new RegExp(`^${parts.map(escaped).join("(.+?)")}(?:  #.*)?$`, "m");

  function write() {
    const values = fields.map(({ input }) => (input.value.trim() ? written(input.value.trim()) : LEFT));
    const answer = parts.map((part, n) => part + (values[n] ?? "")).join("");
    put(code().replace(LINE, () => answer));
  }
  /** What stands in the editor, if it still is of that form. */
  function follow() {
    const values = filled.exec(code())?.slice(1);
    fields.forEach(({ input }, n) => {
      if (input !== document.activeElement) input.value = values ? read(values[n]) : "";
    });
    if (!values) fold.open = true;
  }
  const fold = html("details", {}, html("summary", {}, "The same as code"), lines);
  return { node: html("div", {}, html("div", { class: "attn-answer-fields" }, ...fields.map(({ node }) => node)), fold), follow };
}
