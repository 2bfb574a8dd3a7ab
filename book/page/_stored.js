// A text under a name in this browser, never sent; where a browser keeps nothing, or no more, it lasts as long as the page
// does, and all that stands on the page shares it.

const UNKEPT = Symbol.for("attn_notes.unkept");
const unkept = () => (document[UNKEPT] ??= new Map()); // what this browser did not take, by its key
const PROBE = "attention-notes probe";

/** Put a text there, or with null take it away; gives whether the browser did so. */
function given(key, text) {
  try {
    if (text === null) localStorage.removeItem(key);
    else return localStorage.setItem(key, text) !== false; // on a page of the site, see templates/storage.html
    return true;
  } catch {
    return false; // forbidden, or full
  }
}

/**
 * `get` gives the text, or null; `put` keeps it, and null forgets it. `keeps` says whether what is put, or was put last,
 * is there another day, and `stays` says it in words.
 */
export function stored(key) {
  const keeps = () => !unkept().has(key) && given(PROBE, "") && given(PROBE, null);
  return {
    get() {
      if (unkept().has(key)) return unkept().get(key);
      try {
        return localStorage.getItem(key);
      } catch {
        return null;
      }
    },
    put(text) {
      if (given(key, text)) unkept().delete(key);
      else unkept().set(key, text);
    },
    keeps,
    stays: () => (keeps() ? "stays in this browser" : "lasts as long as this page is open: this browser keeps nothing of it"),
  };
}
