"""Verdicts on what many seeds say: held (True), did not hold (False), could not be told (None)."""

import math
from collections.abc import Iterable, Sized
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attn_notes import allowed
from attn_notes.analysis import statistics
from attn_notes.analysis.statistics import Verdict


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
    found = ", ".join(filter(None, [found, "" if p is None else statistics.said(p)]))
    return f"{word(verdict)}: {found}" if found else word(verdict)


def ends_lower(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> Finding:
    """Whether our seeds end lower than theirs, by a rank test at 5 %: see `statistics.rank_p`.

    Three seeds a side, however they fall, tell nothing. A run that came to no number (NaN) ends
    higher than all that did, level with others like it.

    Raises:
        ValueError: nobody on a side, or too many for `statistics.rank_p`.
    """
    found, pairs = statistics.compare(ours, theirs), len(ours) * len(theirs)
    return Finding(found.verdict, f"{found.first * pairs:g} of {pairs} pairs", found.p)


def sign_test(differences: Float[Tensor, " m"], found: str = "") -> Finding:
    """Whether paired differences are below zero (held) or above: the sign test at 5 %.

    Five pairs or fewer, however they fall, tell nothing; nor do any with one that is no number.
    """
    below, above = int((differences < 0).sum()), int((differences > 0).sum())
    if differences.isnan().any() or below == above:
        return Finding(None, found, 1.0)
    p = float(allowed.needed("scipy.stats", "doubt").binomtest(below, below + above).pvalue)
    return Finding(below > above if p < statistics.LEVEL else None, found, p)


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
    allowed.some(accuracies=accuracies)
    return bool(accuracies.min() > needed)


def never_below(losses: Iterable[tuple[float, float]]) -> tuple[bool, float]:
    """Whether no loss lies below the best on the same sequences, and the smallest gap, in nats.

    `statistics.ROUNDING` is allowed. A loss that is no number does not hold, and then the gap is
    none either.

    Args:
        losses: pairs of a loss and the best predictor's.

    Raises:
        ValueError: no losses.
    """
    gaps = [loss - best for loss, best in losses]
    allowed.some(losses=gaps)
    gap = math.nan if any(map(math.isnan, gaps)) else min(gaps)
    return gap > -statistics.ROUNDING, gap


def _paired(**crowds: Sized) -> None:
    """Refuse two crowds of different sizes, or of nobody."""
    allowed.some(**crowds)
    (one, ones), (other, others) = crowds.items()
    if len(ones) != len(others):
        raise ValueError(
            f"{one} and {other} go in pairs, and there are {len(ones)} and {len(others)}"
        )
