"""Verdicts on claims: held, did not hold, or could not be told."""

import math
from collections.abc import Iterable
from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor

Told = bool | None
NO_BREAK = "\u00a0"  # a space at which no line ends


def word(told: Told) -> str:
    """The verdict in words; None is what could not be told."""
    return {True: "held", False: "did not hold", None: "could not be told"}[told]


def held(told: Told, found: str = "") -> str:
    """The verdict in words and, after a colon, what was found."""
    return f"{word(told)}: {found}" if found else word(told)


def ends_lower(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> tuple[Told, str]:
    """Whether our seeds end lower than theirs, by an exact rank test at 5 %, and its evidence.

    Counted are the pairs of one of ours and one of theirs in which ours is lower, a draw as half a
    pair. p is the share of all ways to deal the m + k numbers into two such hands that are at least
    as far from an even count as this one (Mann and Whitney, 1947; two-sided). Three seeds a side,
    however they fall, tell nothing. A run that came to no number (NaN) ends higher than all that
    did, level with others like it. For crowds there is `seeds.compare`.

    Raises:
        ValueError: more than 20 seeds in all, whose deals would be too many.
    """
    m, every = len(ours), torch.cat([ours, theirs]).nan_to_num(math.inf, math.inf, -math.inf)
    if len(every) > 20:
        raise ValueError(f"every way to deal {len(every)} seeds is too much; 20 are the most")
    lower = (every[:, None] < every).double() + 0.5 * (every[:, None] == every)
    hands = torch.zeros(math.comb(len(every), m), len(every), dtype=torch.float64)
    dealt = torch.tensor(list(combinations(range(len(every)), m)))
    hands.scatter_(1, dealt, 1)
    wins = ((hands @ lower) * (1 - hands)).sum(1)
    pairs, found = m * len(theirs), wins[0]  # the first hand is ours
    apart = (wins - pairs / 2).abs()
    p = (apart >= apart[0]).double().mean().item()
    told = None if p >= 0.05 else bool(found > pairs / 2)
    evidence = f"p = {p:.3g}" if p >= 0.001 else "p < 0.001"
    return told, f"{found.item():g} of {pairs} pairs, {evidence.replace(' ', NO_BREAK)}"


def phrase(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> str:
    """What `ends_lower` tells, as the middle of a sentence: ours ... theirs."""
    told, _ = ends_lower(ours, theirs)
    return {True: "ends lower than", False: "ends higher than", None: "cannot be told from"}[told]


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
