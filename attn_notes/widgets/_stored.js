// A text under a name in this browser, never sent; where a browser keeps nothing it lasts as long as the page does, and
// all that stands on the page shares it.

const STORED = Symbol.for("attn_notes.stored");
const whilePageLasts = () => (document[STORED] ??= new Map());

/** `get` gives the text, or null; `put` keeps it, and null forgets it. */
export const stored = (key) => ({
  get() {
    try {
      return localStorage.getItem(key);
    } catch {
      return whilePageLasts().get(key) ?? null;
    }
  },
  put(text) {
    whilePageLasts().set(key, text);
    try {
      if (text === null) localStorage.removeItem(key);
      else localStorage.setItem(key, text);
    } catch {
      // forbidden, or full
    }
  },
});
