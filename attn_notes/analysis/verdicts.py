"""Verdicts on claims: held, did not hold, or could not be told."""

import math
from collections.abc import Iterable, Sized

from jaxtyping import Float
from scipy import stats
from torch import Tensor

from attn_notes.allowed import some
from attn_notes.analysis.seeds import ranks

Told = bool | None
MOST_DEALT = 20  # seeds that are dealt in every way
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
        ValueError: nobody on a side, or more than `MOST_DEALT` seeds in all, whose deals would be
            too many.
    """
    some(ours=ours, theirs=theirs)
    m, pairs, everyone = len(ours), len(ours) * len(theirs), len(ours) + len(theirs)
    if everyone > MOST_DEALT:
        raise ValueError(
            f"every way to deal {everyone} seeds is too much; {MOST_DEALT} are the most"
        )
    even = m * (everyone + 1) / 2  # the sum of our ranks where the count of pairs is even
    ranked = ranks(ours, theirs)
    found = pairs / 2 + even - float(ranked[:m].sum())
    if min(m, len(theirs)) == 1:  # which scipy does not deal: whoever is alone is any of all
        far = abs(ranked - ranked.mean())
        p = float((far >= far[0 if m == 1 else -1]).mean())
    else:
        # How far from even is one number for both sides, so that its upper tail is both tails.
        p = stats.permutation_test(
            (ranked[:m], ranked[m:]),
            lambda mine, other, axis: abs(mine.sum(axis) - even),
            permutation_type="independent",
            vectorized=True,
            n_resamples=math.inf,
            alternative="greater",
        ).pvalue
    told = None if p >= 0.05 else found > pairs / 2
    evidence = f"p = {p:.3g}" if p >= 0.001 else "p < 0.001"
    return told, f"{found:g} of {pairs} pairs, {evidence.replace(' ', NO_BREAK)}"


def phrase(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> str:
    """What `ends_lower` tells, as the middle of a sentence: ours ... theirs."""
    told, _ = ends_lower(ours, theirs)
    return {True: "ends lower than", False: "ends higher than", None: "cannot be told from"}[told]


def all_on_one_side(differences: Float[Tensor, " m"]) -> Told:
    """Whether paired differences are below zero (True) or above (False): the sign test at 5 %.

    Five pairs or fewer, however they fall, tell nothing; nor do any with one that is no number.
    """
    below, above = int((differences < 0).sum()), int((differences > 0).sum())
    if differences.isnan().any() or below == above:
        return None
    told = stats.binomtest(below, below + above).pvalue < 0.05
    return below > above if told else None


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


def all_rise(before: Iterable[float], after: Iterable[float]) -> Told:
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


def strictly_tests_induction(at_home: float, elsewhere: float) -> Told:
    """Whether copying well (at home) shows that a model goes by content.

    It does if whoever copies at one period copies at others too. Where nobody copies at home, or an
    accuracy is no number, nothing can be told.
    """
    return elsewhere > 0.5 if at_home > 0.9 and not math.isnan(elsewhere) else None


def never_below(losses: Iterable[tuple[float, float]]) -> tuple[bool, float]:
    """Whether no loss lies below the best on the same sequences, and the smallest gap, in nats.

    A thousandth of a nat is put down to rounding. A loss that is no number does not hold, and then
    the gap is none either.

    Args:
        losses: pairs of a loss and the best predictor's.

    Raises:
        ValueError: no losses.
    """
    gaps = [loss - best for loss, best in losses]
    some(losses=gaps)
    gap = math.nan if any(map(math.isnan, gaps)) else min(gaps)
    return gap > -1e-3, gap


def fastest_from(
    lengths: Iterable[int], ours: Iterable[float], others: Iterable[Iterable[float]]
) -> int | None:
    """The shortest length from which on ours is faster than all others, up to the longest.

    Raises:
        ValueError: no length, no others, or not a time for every length.
    """
    lengths, ours, rivals = list(lengths), list(ours), [list(times) for times in others]
    some(others=rivals)
    for times in (ours, *rivals):
        _paired(lengths=lengths, times=times)
    first = None
    for length, mine, theirs in zip(lengths, ours, zip(*rivals, strict=True), strict=True):
        first = (first or length) if all(mine < time for time in theirs) else None
    return first


def _paired(**crowds: Sized) -> None:
    """Refuse two crowds of different sizes, or of nobody."""
    some(**crowds)
    (one, ones), (other, others) = crowds.items()
    if len(ones) != len(others):
        raise ValueError(
            f"{one} and {other} go in pairs, and there are {len(ones)} and {len(others)}"
        )
