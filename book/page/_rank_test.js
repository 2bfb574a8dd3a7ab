// The tests by which a table of claims is judged, on a reader's own runs: those of attn_notes.analysis.statistics.

const LEVEL = 0.05;

/** Everyone's rank, ours first, twice over so that a shared one is whole; what is no finite number is last. */
function twiceRanked(ours, theirs) {
  const every = [...ours, ...theirs].map((value) => (Number.isFinite(value) ? value : Infinity));
  return every.map((value) => {
    const lower = every.filter((other) => other < value).length;
    const level = every.filter((other) => other === value).length;
    return 2 * lower + level + 1;
  });
}

/** n over k. */
export function choose(n, k) {
  let ways = 1;
  for (let i = 1; i <= k; i++) ways = (ways * (n - k + i)) / i;
  return ways;
}

/**
 * How often one of ours is lower than one of theirs, a draw as half, and the two-sided chance of a count of
 * pairs at least as uneven (Mann and Whitney), exact with draws: number by number, in how many ways so many
 * of those so far come to which sum of ranks (Streitberg and Röhmel).
 */
export function compared(ours, theirs) {
  const ranks = twiceRanked(ours, theirs);
  const [count, pairs] = [ranks.length, ours.length * theirs.length];
  const sum = (numbers) => numbers.reduce((total, value) => total + value, 0);
  const hand = ours.length <= theirs.length ? ranks.slice(0, ours.length) : ranks.slice(ours.length);
  const m = hand.length;
  const every = ranks.toSorted((a, b) => a - b);
  const ways = Array.from({ length: m + 1 }, () => new Float64Array(sum(every.slice(-m)) + 1));
  ways[0][0] = 1;
  for (const rank of every) {
    for (let size = m; size > 0; size--) {
      for (let total = ways[size].length - 1; total >= rank; total--) {
        ways[size][total] += ways[size - 1][total - rank];
      }
    }
  }
  const off = (total) => Math.abs(total - m * (count + 1));
  const least = off(sum(hand));
  let as = 0;
  ways[m].forEach((number, total) => {
    if (off(total) >= least) as += number;
  });
  const first = 0.5 + (ours.length * (count + 1) - sum(ranks.slice(0, ours.length))) / (2 * pairs);
  return { first, p: Math.min(1, as / choose(count, m)) };
}

/** Holm's correction: of each p what to hold against the level, in the order in which they came. */
export function holm(probabilities) {
  const order = probabilities.map((_, i) => i).sort((a, b) => probabilities[a] - probabilities[b]);
  const found = [];
  let least = 0;
  order.forEach((i, rank) => {
    least = Math.max(least, Math.min(1, (order.length - rank) * probabilities[i]));
    found[i] = least;
  });
  return found;
}

/** The fewest seeds that can tell anything where so many questions are asked: against as many, or so many. */
export function fewest(questions, others = null) {
  let seeds = 1;
  while ((2 * questions) / choose(seeds + (others ?? seeds), seeds) >= LEVEL) seeds++;
  return seeds;
}

/** Held, did not hold, or could not be told: by p, and whether ours are first. */
export const verdictOf = ({ first }, p) => (p < LEVEL ? first > 0.5 : null);

/** The median. */
export const middle = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
};
