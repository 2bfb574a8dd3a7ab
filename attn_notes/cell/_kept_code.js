// What a reader has typed in the place of the book's code: kept in this browser, and never sent.

/** `get` gives it, or null; `put` keeps it, and null forgets it. */
export function keptCode(lesson, cell) {
  const key = `attention-notes code ${lesson} ${cell}`;
  return {
    get() {
      try {
        return localStorage.getItem(key);
      } catch {
        return null;
      }
    },
    put(code) {
      try {
        if (code === null) localStorage.removeItem(key);
        else localStorage.setItem(key, code);
      } catch {
        // forbidden, or full: it lasts as long as the page
      }
    },
  };
}
