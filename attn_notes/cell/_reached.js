// What a reader has reached in a lesson's exercises: kept in this browser, and never sent.

const keyOf = (lesson) => `attention-notes reached ${lesson}`;
const here = new Map(); // where a browser keeps nothing, it lasts as long as the page

/** The largest share of the points that each exercise has earned so far, by its name. */
export function reached(lesson) {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(lesson)) ?? "{}");
    const shares = Object.entries(kept).filter(([, share]) => share >= 0 && share <= 1);
    return { ...Object.fromEntries(shares), ...here.get(lesson) };
  } catch {
    return { ...here.get(lesson) };
  }
}

/** Note a share of the points, if there was none so large. */
export function reach(lesson, name, share) {
  const all = reached(lesson);
  all[name] = Math.max(all[name] ?? 0, share);
  here.set(lesson, all);
  try {
    localStorage.setItem(keyOf(lesson), JSON.stringify(all));
  } catch {
    // forbidden, or full
  }
}
