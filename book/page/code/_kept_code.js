// What a reader has typed in the place of the book's code: kept in this browser, and never sent.

import { stored } from "./_stored.js";

/** `get` gives it, or null; `put` keeps it, and null forgets it; `stays` says where. */
export const keptCode = (lesson, cell) => stored(`attention-notes code ${lesson} ${cell}`);
