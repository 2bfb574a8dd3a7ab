// The kinds of models, and the order in which they are named.

export const isPublished = ({ config }) => config.mask === "published";

/** Names of runs by how much of them is mended, as published first: a saved page has them by the alphabet. */
export function inOrder(runs) {
  const all = Object.entries(runs);
  const published = all.find(([, run]) => isPublished(run))?.[1].config ?? {};
  const mended = ({ config }) => Object.keys(config).filter((key) => config[key] !== published[key]).length;
  return all.sort(([, a], [, b]) => mended(a) - mended(b)).map(([name]) => name);
}
