// What a reader has reached in a lesson's exercises: kept in this browser, and never sent.

import { stored } from "./_stored.js";

const sharesOf = (lesson) => stored(`attention-notes reached ${lesson}`);

/** The largest share of the points that each exercise has earned so far, by its name. */
export function reached(lesson) {
  try {
    const kept = Object.entries(JSON.parse(sharesOf(lesson).get() ?? "{}"));
    return Object.fromEntries(kept.filter(([, share]) => share >= 0 && share <= 1));
  } catch {
    return {}; // something else stands there
  }
}

/** Note a share of the points, if there was none so large. */
export function reach(lesson, name, share) {
  const all = reached(lesson);
  sharesOf(lesson).put(JSON.stringify({ ...all, [name]: Math.max(all[name] ?? 0, share) }));
}
