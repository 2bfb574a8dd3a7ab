"""What many seeds say: when each arrived, whether one crowd does better, and the verdict on it."""

import math
from collections.abc import Iterable, Sequence, Sized
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import stats
from torch import Generator, Tensor

from attn_notes import allowed
from attn_notes.allowed import some

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
    probes = torch.arange(len(steps))[:, None]
    last_below = torch.where(solved < target, probes, -1).amax(0)
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


FEWEST = 4  # seeds a side for an interval
AT_ONCE = 1 << 20  # numbers that are resampled at once


class Comparison(NamedTuple):
    """How often a random member of one crowd arrives before one of another, with its interval.

    p is the chance that two crowds of one kind are at least as far from one half.
    """

    first: float
    low: float
    high: float
    p: float

    @property
    def verdict(self) -> str:
        """`earlier`, `later`, or `cannot be told` where the interval holds one half."""
        if self.low > 0.5:
            return "earlier"
        return "later" if self.high < 0.5 else "cannot be told"


def compare(
    ours: Float[Tensor, " m"],
    theirs: Float[Tensor, " k"],
    generator: Generator,
    draws: int = 2000,
) -> Comparison:
    """P(ours < theirs) + ½ P(ours = theirs), with a 95 % bootstrap interval over seeds.

    The probability of superiority (Mann and Whitney, 1947). It needs no mean, so a member that
    never arrives (∞) counts as what it is: later than all that do, level with others like it, and
    with those that came to no number (NaN). p is `rank_p`'s. With fewer
    than `FEWEST` a side the interval is everything: three of a kind come before three of the same
    kind one time in twenty by chance alone, and resampling cannot see that.

    Raises:
        ValueError: nobody on a side, too many for `rank_p`, or fewer than two draws.
    """
    allowed.whole(2, draws=draws)
    m, k = len(ours), len(theirs)
    ranked = ranks(ours, theirs)  # in the same order, level where they are, and finite
    p = _rank_p(ranked, m)
    crowds = ranked[:m], ranked[m:]

    def first(mine: np.ndarray, other: np.ndarray, axis: int = -1) -> Any:
        total = stats.rankdata(np.concatenate([mine, other], axis), axis=axis)
        return 1 - (total[..., :m].sum(axis) - m * (m + 1) / 2) / (m * k)

    if min(m, k) < FEWEST:
        return Comparison(float(first(*crowds)), 0.0, 1.0, p)
    seed = int(torch.randint(2**62, (), generator=generator))
    interval = stats.bootstrap(
        crowds,
        first,
        n_resamples=draws,
        batch=max(1, AT_ONCE // (m + k)),
        vectorized=True,
        paired=False,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Comparison(float(first(*crowds)), float(interval.low), float(interval.high), p)


def ranks(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> np.ndarray:
    """Everyone's rank among all, the lowest 1, ours first; who is level shares the mean rank.

    What is no number (NaN) ranks as infinity.

    Raises:
        ValueError: nobody on a side.
    """
    some(ours=ours, theirs=theirs)
    every = torch.cat([ours, theirs]).detach().cpu().double()
    return stats.rankdata(every.where(~every.isnan(), math.inf).numpy())


class Effect(NamedTuple):
    """A difference with its 95 % interval."""

    mean: float
    low: float
    high: float


def difference(
    ours: Float[Tensor, " m"],
    theirs: Float[Tensor, " k"],
    generator: Generator,
    draws: int = 2000,
) -> Effect:
    """The mean of ours less that of theirs, with a 95 % percentile bootstrap interval over seeds.

    With fewer than `FEWEST` a side the interval is everything, as in `compare`.

    Raises:
        ValueError: nobody on a side, fewer than two draws, or what is no finite number.
    """
    allowed.some(ours=ours, theirs=theirs)
    allowed.whole(2, draws=draws)
    sides = [side.detach().cpu().double() for side in (ours, theirs)]
    if not all(bool(side.isfinite().all()) for side in sides):
        raise ValueError("a difference of means takes finite numbers")
    mean = float(sides[0].mean() - sides[1].mean())
    if min(len(ours), len(theirs)) < FEWEST:
        return Effect(mean, -math.inf, math.inf)
    seed = int(torch.randint(2**62, (), generator=generator))
    interval = stats.bootstrap(
        [side.numpy() for side in sides],
        lambda mine, other, axis=-1: mine.mean(axis) - other.mean(axis),
        n_resamples=draws,
        vectorized=True,
        paired=False,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Effect(mean, float(interval.low), float(interval.high))


# --- Verdicts: held (True), did not hold (False), could not be told (None)

MOST_PAIRS = 200 * 200  # of seeds, of which a rank test counts all deals
NO_BREAK = "\u00a0"  # a space at which no line ends


class Finding(NamedTuple):
    """A verdict, what it rests on in words, and p where a test has decided."""

    verdict: Verdict
    found: str = ""
    p: float | None = None

    def __str__(self) -> str:
        return held(*self)


def word(verdict: Verdict) -> str:
    """The verdict in words; None is what could not be told."""
    return {True: "held", False: "did not hold", None: "could not be told"}[verdict]


def unless_nan(verdict: Verdict, *values: float | Tensor | Iterable[float]) -> Verdict:
    """The verdict, or that it cannot be told where one of the values is no number."""
    every = [
        torch.as_tensor(each if isinstance(each, Tensor | float | int) else [*each])
        for each in values
    ]
    return None if any(bool(each.isnan().any()) for each in every) else verdict


def held(verdict: Verdict, found: str = "", p: float | None = None) -> str:
    """The verdict in words and, after a colon, what was found and what chance could do."""
    found = ", ".join(filter(None, [found, "" if p is None else said(p)]))
    return f"{word(verdict)}: {found}" if found else word(verdict)


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
    return _rank_p(ranks(ours, theirs), len(ours))


def _rank_p(ranked: np.ndarray, m: int) -> float:
    """`rank_p` of those who have the first m of these ranks."""
    allowed.whole(1, MOST_PAIRS, pairs=m * (len(ranked) - m))
    twice = (2 * ranked).astype(int).tolist()  # who is level has half a rank
    hands = sorted(twice[:m]), sorted(twice[m:])
    hand, rest = sorted(hands, key=len)
    return _dealt(tuple(hand), tuple(rest))


@cache
def _dealt(hand: tuple[int, ...], rest: tuple[int, ...]) -> float:
    """`rank_p` of two hands, each number as twice its rank; kept, for the same few come again.

    By the shift algorithm of Streitberg and Röhmel (1986), since scipy's exact test knows no draws:
    number by number, in how many ways so many of those so far come to which sum. The counts are
    whole up to 2⁵³ and rounded beyond.
    """
    m, every = len(hand), sorted(hand + rest)
    ways = np.zeros((m + 1, sum(every[-m:]) + 1))
    ways[0, 0] = 1
    for seen, rank in enumerate(every, 1):
        top = sum(every[max(0, seen - m) : seen]) + 1  # no sum is higher yet
        for size in range(min(seen, m), 0, -1):
            ways[size, rank:top] += ways[size - 1, : top - rank]
    off = abs(np.arange(ways.shape[1]) - m * (len(every) + 1))  # how far from even pairs
    return float(min(1.0, ways[m, off >= off[sum(hand)]].sum() / math.comb(len(every), m)))


def ends_lower(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> Finding:
    """Whether our seeds end lower than theirs, by a rank test at 5 %: see `rank_p`.

    Three seeds a side, however they fall, tell nothing. A run that came to no number (NaN) ends
    higher than all that did, level with others like it.

    Raises:
        ValueError: nobody on a side, or too many for `rank_p`.
    """
    ranked = ranks(ours, theirs)
    m, pairs = len(ours), len(ours) * len(theirs)
    p = _rank_p(ranked, m)
    lower = pairs + m * (m + 1) / 2 - float(ranked[:m].sum())
    verdict = None if p >= LEVEL else lower > pairs / 2
    return Finding(verdict, f"{lower:g} of {pairs} pairs", p)


def phrase(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> str:
    """What `ends_lower` tells, as the middle of a sentence: ours ... theirs."""
    return ending(ends_lower(ours, theirs).verdict)


def ending(verdict: Verdict) -> str:
    """A verdict of `ends_lower` as the middle of a sentence: ours ... theirs."""
    words = {True: "ends lower than", False: "ends higher than", None: "cannot be told from"}
    return words[verdict]


def sign_test(differences: Float[Tensor, " m"], found: str = "") -> Finding:
    """Whether paired differences are below zero (held) or above: the sign test at 5 %.

    Five pairs or fewer, however they fall, tell nothing; nor do any with one that is no number.
    """
    below, above = int((differences < 0).sum()), int((differences > 0).sum())
    if differences.isnan().any() or below == above:
        return Finding(None, found, 1.0)
    p = float(stats.binomtest(below, below + above).pvalue)
    return Finding(below > above if p < LEVEL else None, found, p)


def all_on_one_side(differences: Float[Tensor, " m"]) -> Verdict:
    """The verdict of `sign_test`."""
    return sign_test(differences).verdict


def within(ours: Float[Tensor, " m"], theirs: Float[Tensor, " m"], most: float) -> bool:
    """Whether no seed of ours is farther than that from the same seed of theirs.

    Raises:
        ValueError: no seed, or not as many of theirs.
    """
    _paired(ours=ours, theirs=theirs)
    return bool((ours - theirs).abs().max() < most)


def near(found: Iterable[float], right: Iterable[float], part: float = 0.1) -> bool:
    """Whether everything that was found is as it should be, up to a tenth of that.

    Raises:
        ValueError: nothing was found, or not as much as is right.
    """
    found, right = list(found), list(right)
    _paired(found=found, right=right)
    return all(abs(f - r) <= part * abs(r) for f, r in zip(found, right, strict=True))


def all_rise(before: Iterable[float], after: Iterable[float]) -> Verdict:
    """Whether every seed's value rises (True) or every one falls (False).

    Raises:
        ValueError: no seed, or not as many after as before.
    """
    before, after = list(before), list(after)
    _paired(before=before, after=after)
    pairs = list(zip(before, after, strict=True))
    if all(a > b for b, a in pairs):
        return True
    return False if all(a < b for b, a in pairs) else None


def every_seed(accuracies: Float[Tensor, " m"], needed: float = 0.9) -> bool:
    """Whether every seed is right more often than needed.

    Raises:
        ValueError: no seed.
    """
    some(accuracies=accuracies)
    return bool(accuracies.min() > needed)


ROUNDING = 1e-3
"""Nats by which a loss may lie below the best possible one and not count as below it: rounding in
float32 is far less, and a leak is a hundred times as much."""


def never_below(losses: Iterable[tuple[float, float]]) -> tuple[bool, float]:
    """Whether no loss lies below the best on the same sequences, and the smallest gap, in nats.

    `ROUNDING` is allowed. A loss that is no number does not hold, and then the gap is none either.

    Args:
        losses: pairs of a loss and the best predictor's.

    Raises:
        ValueError: no losses.
    """
    gaps = [loss - best for loss, best in losses]
    some(losses=gaps)
    gap = math.nan if any(map(math.isnan, gaps)) else min(gaps)
    return gap > -ROUNDING, gap


def _paired(**crowds: Sized) -> None:
    """Refuse two crowds of different sizes, or of nobody."""
    some(**crowds)
    (one, ones), (other, others) = crowds.items()
    if len(ones) != len(others):
        raise ValueError(
            f"{one} and {other} go in pairs, and there are {len(ones)} and {len(others)}"
        )
