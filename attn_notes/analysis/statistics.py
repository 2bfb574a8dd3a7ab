"""What many seeds say: when each arrived, whether one crowd does better, and how sure that is."""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from attn_notes import allowed
from attn_notes.allowed import needed, some

Verdict = bool | None
"""Held, did not hold, or could not be told."""

LEVEL = 0.05  # of every test, or of a family of them


def stable_from(
    solved: Int[Tensor, "n m"], steps: Int[Tensor, " n"], target: int
) -> Float[Tensor, " m"]:
    """The first probed step from which a member solves `target` inputs and never fewer again.

    Infinite for a member that ends below the target; one that touches it and falls back is
    counted from its last return.

    Raises:
        ValueError: no probe.
    """
    if not len(steps):
        raise ValueError("nothing was probed, so nobody can be said to have arrived")
    last_below = torch.where(solved < target, torch.arange(len(steps))[:, None], -1).amax(0)
    arrivals = torch.cat([steps.float(), torch.tensor([math.inf])])
    return arrivals[last_below + 1]


def not_yet(arrivals: Float[Tensor, " m"], steps: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The share of members that have not arrived by each step: the survival curve.

    A member without an arrival (NaN) has not arrived.

    Raises:
        ValueError: no members.
    """
    allowed.some(members=arrivals)
    return 1 - (arrivals <= steps[:, None]).float().mean(1)


class Comparison(NamedTuple):
    """How often a random member of one crowd arrives before one of another, and what chance does.

    Args:
        first: P(ours < theirs) + ½ P(ours = theirs).
        low: what chance makes of two crowds of one kind, in 19 of 20: from this
        high: to this.
        p: the chance that two crowds of one kind are at least as far from one half.
    """

    first: float
    low: float
    high: float
    p: float

    @property
    def verdict(self) -> Verdict:
        """Whether ours arrive earlier (held) or later; none where chance could have done it."""
        return None if self.p >= LEVEL else self.first > 0.5


def compare(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> Comparison:
    """P(ours < theirs) + ½ P(ours = theirs), beside what chance makes of two crowds of one kind.

    The probability of superiority (Mann and Whitney, 1947). It needs no mean, so a member that
    never arrives (∞) counts as what it is: later than all that do, level with others like it, and
    with those that came to no number (NaN). p, low and high are those of the exact rank test, see
    `rank_p`: the number lies outside of them where, and only where, p is below 5 %. Of three
    against three chance may make anything.

    Raises:
        ValueError: nobody on a side, or too many for `rank_p`.
    """
    return _rank_test(ranks(ours, theirs), len(ours))


def ranks(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> np.ndarray:
    """Everyone's rank among all, the lowest 1, ours first; who is level shares the mean rank.

    What is no number (NaN) ranks as infinity.

    Raises:
        ValueError: nobody on a side.
    """
    some(ours=ours, theirs=theirs)
    every = torch.cat([ours, theirs]).detach().cpu().double()
    return needed("scipy.stats", "doubt").rankdata(every.where(~every.isnan(), math.inf).numpy())


class Effect(NamedTuple):
    """A number with its 95 % interval: all that a test at 5 % would not have refused."""

    middle: float
    low: float
    high: float


def difference(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> Effect:
    """By how much ours lie above theirs: the middle of all pairs' differences, and its interval.

    The estimate and the interval of Hodges and Lehmann (1963): all shifts that, taken from ours,
    leave two crowds which the rank test cannot tell apart. So zero lies outside where, and only
    where, `rank_p` is below 5 %, draws aside; and if the crowds differ by a shift, the interval
    holds it in at least 95 of 100 repetitions, whatever they are distributed like. Three seeds
    against three bound nothing.

    Raises:
        ValueError: nobody on a side, too many for `rank_p`, or what is no finite number.
    """
    some(ours=ours, theirs=theirs)
    apart = _sorted(ours.detach().cpu().double()[:, None] - theirs.detach().cpu().double())
    return _between(apart, _refused(len(ours), len(theirs)))


def _refused(m: int, k: int) -> int:
    """How many pairs of m and k may be lower, nobody level, for the rank test to refuse that."""
    return round(m * k * _rank_test(np.arange(1.0, m + k + 1), m).low)


def shift(differences: Float[Tensor, " m"]) -> Effect:
    """By how much the same seeds differ: the middle of their differences, and its interval.

    The estimate and the interval of Hodges and Lehmann (1963) for pairs: the median of the means of
    all two differences, and all shifts that `signed_rank_p` would not refuse, draws aside. If the
    differences are symmetric about a shift, the interval holds it in at least 95 of 100
    repetitions. Five pairs bound nothing.

    Raises:
        ValueError: no pairs, or what is no finite number.
    """
    some(differences=differences)
    d = differences.detach().cpu().double()
    return _between(_sorted(_means_of_two(d)), _refused_in_pairs(len(d)))


def _means_of_two(d: Float[Tensor, "*b m"]) -> Float[Tensor, "*b k"]:
    """The means of all two of them, each with itself as well (Walsh averages)."""
    first, second = torch.triu_indices(d.shape[-1], d.shape[-1])
    return (d[..., first] + d[..., second]) / 2


def _refused_in_pairs(n: int) -> int:
    """The same as `_refused`, of the means of two of n differences."""
    off = _signed(tuple(range(2, 2 * n + 1, 2)), 0)[1]
    return round((n * (n + 1) - off) / 4)


POWER, DRAWS = 0.8, 400


def could_show(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> float:
    """The smallest shift that the rank test would find four times in five, of crowds like these.

    Both are drawn anew from what they are around their medians: a crowd shifted by more than the
    lower end of its interval lies below zero is one that the test tells apart.

    Raises:
        ValueError: nobody on a side, too many for `rank_p`, or what is no finite number.
    """
    some(ours=ours, theirs=theirs)
    g, (m, k) = Generator().manual_seed(0), (len(ours), len(theirs))
    a, b = (_anew(each.detach().cpu().double(), g) for each in (ours, theirs))
    return _least((a[:, :, None] - b[:, None]).flatten(1), _refused(m, k))


def could_show_in_pairs(differences: Float[Tensor, " m"]) -> float:
    """The same of pairs, by the signed-rank test.

    Raises:
        ValueError: no pairs, or what is no finite number.
    """
    some(differences=differences)
    drawn = _anew(differences.detach().cpu().double(), Generator().manual_seed(0))
    return _least(_means_of_two(drawn), _refused_in_pairs(len(differences)))


def _anew(values: Float[Tensor, " m"], g: Generator) -> Float[Tensor, "d m"]:
    """Values around their median, drawn again and again, as wide as they are."""
    allowed.finite(values=values)
    m = len(values)
    around = (values - values.quantile(0.5)) * math.sqrt(m / max(m - 1, 1))
    return around[torch.randint(m, (DRAWS, m), generator=g)]


def _least(apart: Float[Tensor, "d n"], refused: int) -> float:
    """What shift takes the lower end of an interval above zero in so many of the rows."""
    if not refused:
        return math.inf
    return float((-apart.sort(1).values[:, refused - 1]).quantile(POWER).clamp(min=0))


def typical(values: Float[Tensor, " m"]) -> Effect:
    """The median of seeds and its interval; of differences between the same seeds, that of pairs.

    The interval inverts the sign test: it holds all medians that this test would not refuse, and
    in at least 95 of 100 repetitions the true one, whatever the values are distributed like. Of
    eight seeds it goes from the lowest to the highest; five bound nothing.

    Raises:
        ValueError: no values, or what is no finite number.
    """
    some(values=values)
    ordered = _sorted(values.detach().cpu().double())
    n = len(ordered)
    # A median with fewer values than this on one side of it is refused.
    return _between(ordered, int(needed("scipy.stats", "doubt").binom.ppf(LEVEL / 2, n, 0.5)))


def _sorted(values: Float[Tensor, "..."]) -> np.ndarray:
    """All the numbers in a row, from the lowest on, if they are numbers."""
    if not bool(values.isfinite().all()):
        raise ValueError("a difference or a median takes finite numbers")
    return np.sort(values.numpy(), axis=None)


def _between(ordered: np.ndarray, beyond: int) -> Effect:
    """The median, and what is left of a row when `beyond` − 1 numbers at either end are taken."""
    low, high = (ordered[beyond - 1], ordered[-beyond]) if beyond else (-math.inf, math.inf)
    return Effect(float(np.median(ordered)), float(low), float(high))


MOST_PAIRS = 200 * 200  # of seeds, of which a rank test counts all deals
NO_BREAK = "\u00a0"  # a space at which no line ends


def said(p: float) -> str:
    """A probability as it is printed: two digits, 1 as what it is, and in one piece."""
    text = f"p = {p:#.2g}".removesuffix(".0") if p >= 0.001 else "p < 0.001"
    return text.replace(" ", NO_BREAK)


def holm(probabilities: Sequence[float]) -> list[float]:
    """Holm's correction for many tests at once (1979): of each p what to hold against the level.

    Where m questions are asked, the smallest p counts m times, the next m − 1 times and so on, none
    less than one before it: so the chance that any of them is told wrongly stays below the level.
    A p that is no number counts as 1.
    """
    clean = [1.0 if math.isnan(p) else p for p in probabilities]
    found, least = [1.0] * len(clean), 0.0
    for rank, i in enumerate(sorted(range(len(clean)), key=clean.__getitem__)):
        least = max(least, min(1.0, (len(clean) - rank) * clean[i]))
        found[i] = least
    return found


def rank_p(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> float:
    """The chance of an even or more uneven count of pairs, if both are of one kind.

    Counted are the pairs of one of ours and one of theirs in which ours is lower, a draw as half a
    pair; p is two-sided (Mann and Whitney, 1947). It is exact, with draws and for any number of
    seeds: the share of all ways to deal the m + k numbers into two such hands that are at least as
    far from an even count as this one. What is no number (NaN) ranks last, level with infinity.
    The work grows as the square of the pairs: 0.02 s for 64 seeds against 64, 2 s for the most.

    Raises:
        ValueError: nobody on a side, or more than `MOST_PAIRS` pairs.
    """
    return compare(ours, theirs).p


def _rank_test(ranked: np.ndarray, m: int) -> Comparison:
    """The rank test of those who have the first m of these ranks against the others."""
    pairs = m * (len(ranked) - m)
    allowed.whole(1, MOST_PAIRS, pairs=pairs)
    twice = (2 * ranked).astype(int).tolist()  # who is level has half a rank
    hands = sorted(twice[:m]), sorted(twice[m:])
    hand, rest = sorted(hands, key=len)
    p, off = _dealt(tuple(hand), tuple(rest))
    before, chance = (m * (len(ranked) + 1) - sum(twice[:m])) / (2 * pairs), off / (2 * pairs)
    return Comparison(0.5 + before, 0.5 - chance, 0.5 + chance, p)


@cache
def _dealt(hand: tuple[int, ...], rest: tuple[int, ...]) -> tuple[float, int]:
    """P of two hands, each number as twice its rank, and how far off chance may put a sum.

    Kept, for the same few come again. By the shift algorithm of Streitberg and Röhmel (1986), since
    scipy's exact test knows no draws: number by number, in how many ways so many of those so far
    come to which sum. The counts are whole up to 2⁵³ and rounded beyond.
    """
    m, every = len(hand), sorted(hand + rest)
    ways = np.zeros((m + 1, sum(every[-m:]) + 1))
    ways[0, 0] = 1
    for seen, rank in enumerate(every, 1):
        top = sum(every[max(0, seen - m) : seen]) + 1  # no sum is higher yet
        for size in range(min(seen, m), 0, -1):
            ways[size, rank:top] += ways[size - 1, : top - rank]
    off = abs(np.arange(ways.shape[1]) - m * (len(every) + 1))  # how far from even pairs
    at = np.bincount(off, weights=ways[m]) / math.comb(len(every), m)
    tail = np.minimum(1.0, at[::-1].cumsum()[::-1])  # the chance of so far off, or farther
    return float(tail[off[sum(hand)]]), int(np.flatnonzero(tail >= LEVEL).max())


def signed_rank_p(differences: Float[Tensor, " m"]) -> float:
    """The chance of differences as uneven as these or more, if they are symmetric about zero.

    The signed-rank test (Wilcoxon, 1945), two-sided and exact, with draws: the share of all ways to
    give signs to the sizes. Pairs without a difference tell nothing, those that are no number
    (NaN) neither.

    Raises:
        ValueError: no pairs.
    """
    some(differences=differences)
    d = differences.detach().cpu().double()
    d = d[(d != 0) & ~d.isnan()]
    if not len(d):
        return 1.0
    twice = (2 * needed("scipy.stats", "doubt").rankdata(d.abs().numpy())).astype(int)
    return _signed(tuple(sorted(twice.tolist())), int(twice[d.numpy() > 0].sum()))[0]


@cache
def _signed(twice: tuple[int, ...], above: int) -> tuple[float, int]:
    """P of such a sum of ranks above zero, and how far off half of all chance may put it.

    Ranks are doubled, so that those who are level have whole ones; rank by rank, how likely it is
    that those above zero come to which sum.
    """
    total = sum(twice)
    chance = np.zeros(total + 1)
    chance[0] = 1
    for rank in twice:
        with_it = np.zeros_like(chance)
        with_it[rank:] = chance[: total + 1 - rank]
        chance = (chance + with_it) / 2
    off = abs(2 * np.arange(total + 1) - total)
    at = np.bincount(off, weights=chance)
    tail = np.minimum(1.0, at[::-1].cumsum()[::-1])
    return float(tail[abs(2 * above - total)]), int(np.flatnonzero(tail >= LEVEL).max())


ROUNDING = 1e-3
"""Nats by which a loss may lie below the best possible one and not count as below it: rounding in
float32 is far less, and a leak is a hundred times as much."""
