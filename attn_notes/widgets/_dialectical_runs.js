// The kinds of models, and the order in which they are named.

export const isPublished = ({ config }) => config.mask === "published";

/** Names of runs, those as published first: a saved page has them by the alphabet. */
export function inOrder(runs) {
  return Object.entries(runs)
    .sort(([, a], [, b]) => isPublished(b) - isPublished(a))
    .map(([name]) => name);
}
