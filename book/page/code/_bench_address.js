// Code and settings of the workbench as the end of an address, behind its #: nothing there is ever sent.

const LONGEST = 20_000; // letters of code

/** The part behind the #, for {code, start, task}. */
export function addressOf(what) {
  const bytes = new TextEncoder().encode(JSON.stringify(what));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#bench=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** What such an address says, if it is one: of `starts` and `tasks` there are only these. */
export function readAddress(hash, { starts, tasks }) {
  try {
    const text = atob(/^#bench=([\w-]+)$/.exec(hash)[1].replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const { code, start, task } = JSON.parse(new TextDecoder().decode(bytes));
    const known = Object.hasOwn(starts, start) && Object.hasOwn(tasks, task);
    return known && typeof code === "string" && code.length <= LONGEST ? { code, start, task } : null;
  } catch {
    return null;
  }
}
