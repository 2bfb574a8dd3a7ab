"""Verdicts on claims: held, did not hold, or could not be told."""

import math
from collections.abc import Iterable

from jaxtyping import Float
from torch import Generator, Tensor

from attn_notes.analysis import seeds

Told = bool | None


def word(told: Told) -> str:
    """The verdict in words; None is what could not be told."""
    return {True: "held", False: "did not hold", None: "could not be told"}[told]


def ends_lower(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> tuple[Told, str]:
    """Whether our seeds end lower than theirs, with the chance for two random seeds."""
    c = seeds.compare(ours, theirs, Generator().manual_seed(0))
    told = {"earlier": True, "later": False, "cannot be told": None}[c.verdict]
    fewest = min(len(ours), len(theirs))
    if fewest < seeds.FEWEST:
        return told, f"{c.first:.2f}, {fewest} seeds"
    return told, f"{c.first:.2f} ({c.low:.2f} to {c.high:.2f})"


def all_on_one_side(differences: Float[Tensor, " m"]) -> Told:
    """Whether paired differences are below zero (True) or above (False): the sign test at 5 %.

    Five pairs or fewer, however they fall, tell nothing.
    """
    below, above = int((differences < 0).sum()), int((differences > 0).sum())
    n, least = below + above, min(below, above)
    if 2 * sum(math.comb(n, i) for i in range(least + 1)) / 2**n >= 0.05:
        return None
    return below > above


def within(ours: Float[Tensor, " m"], theirs: Float[Tensor, " m"], most: float) -> bool:
    """Whether no seed of ours is farther than that from the same seed of theirs."""
    return bool((ours - theirs).abs().max() < most)


def near(found: Iterable[float], right: Iterable[float], part: float = 0.1) -> bool:
    """Whether everything that was found is as it should be, up to a tenth of that."""
    return all(abs(f - r) <= part * abs(r) for f, r in zip(found, right, strict=True))


def all_rise(before: Iterable[float], after: Iterable[float]) -> Told:
    """Whether every seed's value rises (True) or every one falls (False)."""
    pairs = list(zip(before, after, strict=True))
    if all(a > b for b, a in pairs):
        return True
    return False if all(a < b for b, a in pairs) else None


def every_seed(accuracies: Float[Tensor, " m"], needed: float = 0.9) -> bool:
    """Whether every seed is right more often than needed."""
    return bool(accuracies.min() > needed)


def strictly_tests_induction(at_home: float, elsewhere: float) -> Told:
    """Whether copying well (at home) shows that a model goes by content.

    It does if whoever copies at one period copies at others too. Where nobody copies at home,
    nothing can be told.
    """
    return None if at_home <= 0.9 else elsewhere > 0.5


def never_below(losses: Iterable[tuple[float, float]]) -> tuple[bool, float]:
    """Whether no loss lies below the best on the same sequences, and the smallest gap, in nats.

    Args:
        losses: pairs of a loss and the best predictor's.
    """
    gap = min(loss - best for loss, best in losses)
    return gap > -1e-3, gap


def fastest_from(
    lengths: Iterable[int], ours: Iterable[float], others: Iterable[Iterable[float]]
) -> int | None:
    """The shortest length from which on ours is faster than all others, up to the longest."""
    first = None
    for length, mine, theirs in zip(lengths, ours, zip(*others, strict=True), strict=True):
        first = (first or length) if mine < min(theirs) else None
    return first
