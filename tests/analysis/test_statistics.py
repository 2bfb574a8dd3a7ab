import math
from fractions import Fraction
from itertools import combinations, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Generator

from attn_notes.analysis import statistics
from book.kit import verdicts

NAN, INF = math.nan, math.inf
FEW = torch.tensor([1.0, 2.0])
# Few values, so that draws are common; what is infinite or no number is among them.
ENDS = st.lists(st.sampled_from([-INF, 0.0, 0.5, 1.0, 2.0, INF, NAN]), min_size=1, max_size=5)


def test_what_is_no_number_tells_nothing():
    column = torch.tensor([[1.0], [NAN]])
    some = [(NAN,), (1.0, NAN), ([1.0, NAN],), (column,), ([0.5], NAN), ({1: NAN}.values(),)]
    for verdict, values in product((True, False, None), some):
        assert verdicts.unless_nan(verdict, *values) is None
        assert verdicts.unless_nan(verdict, 1.0, [INF], torch.tensor(0)) is verdict


def test_a_verdict_with_what_was_found():
    words = {True: "held", False: "did not hold", None: "could not be told"}
    for told, word in words.items():
        assert verdicts.word(told) == verdicts.held(told) == word
        assert verdicts.held(told, "3 of 9") == f"{word}: 3 of 9"


def test_what_goes_in_pairs_is_as_many_on_both_sides():
    with pytest.raises(ValueError, match="found and right go in pairs, and there are 1 and 2"):
        verdicts.near([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="before and after go in pairs, and there are 2 and 1"):
        verdicts.all_rise([1.0, 2.0], [3.0])


@pytest.mark.parametrize(
    ("ours", "theirs", "told", "found"),
    [
        # Two of the 70 ways to deal eight numbers into two hands of four are as far apart.
        ([5, 6, 7, math.nan], [1, 2, 3, 4], False, "0 of 16 pairs, p = 0.029"),
        ([math.inf] * 2, [math.nan] * 2, None, "2 of 4 pairs, p = 1"),
        (range(8), range(8, 16), True, "64 of 64 pairs, p < 0.001"),
        ([1, 2], [2.0001, 3], None, "4 of 4 pairs, p = 0.33"),  # near is no draw
        (range(6), range(6, 12), True, "36 of 36 pairs, p = 0.0022"),  # two of 924 ways
    ],
)
def test_lower_is_told_by_the_exact_rank_test(ours, theirs, told, found):
    finding = verdicts.ends_lower(*(torch.tensor([*map(float, x)]) for x in (ours, theirs)))
    assert finding.verdict is told
    assert str(finding).replace(statistics.NO_BREAK, " ") == f"{verdicts.word(told)}: {found}"


@given(ours=ENDS, theirs=ENDS)
def test_the_rank_test_is_exact_with_draws_too(ours, theirs):
    """By the share of all deals at least as far from an even count, in whole numbers."""
    every, pairs = [INF if math.isnan(x) else x for x in ours + theirs], len(ours) * len(theirs)

    def halves(hand):
        """Twice the pairs in which the hand is lower."""
        rest = {*range(len(every))} - {*hand}
        return sum((every[i] < every[j]) + (every[i] <= every[j]) for i in hand for j in rest)

    lower, *others = map(halves, combinations(range(len(every)), len(ours)))
    far = [abs(count - pairs) >= abs(lower - pairs) for count in (lower, *others)]
    told, found, p = verdicts.ends_lower(torch.tensor(ours), torch.tensor(theirs))
    assert found == f"{lower / 2:g} of {pairs} pairs" and p == pytest.approx(sum(far) / len(far))
    assert told is (None if 20 * sum(far) >= len(far) else lower > pairs)


SIZES = [(4, 17), (1, 40), (10, 11), (32, 32), (3, 200), (64, 64)]


@pytest.mark.parametrize(("m", "k"), SIZES)
def test_many_seeds_are_told_by_the_exact_test_too(m, k, generator):
    """Where no two are level, as scipy counts; and none of ours above any of theirs is one deal."""
    ranks = torch.randperm(m + k, generator=generator).double()
    expected = stats.mannwhitneyu(ranks[:m].numpy(), ranks[m:].numpy(), method="exact").pvalue
    assert statistics.rank_p(ranks[:m], ranks[m:]) == pytest.approx(expected, rel=1e-12)
    ours, theirs = torch.arange(m).double(), torch.arange(k).double() + m
    assert statistics.rank_p(ours, theirs) == pytest.approx(2 / math.comb(m + k, m), rel=1e-12)


@pytest.mark.parametrize(
    ("m", "k", "never"),
    [*((m, k, never) for m, k in SIZES[:-1] for never in (1, 5, 20)), (64, 64, 40)],
)
def test_draws_of_many_seeds_are_dealt_as_well(m, k, never):
    """Some never arrive and all others are level: how many of these are ours is hypergeometric."""
    n, seen = m + k, min(m, never)
    ours = torch.where(torch.arange(m) < seen, INF, 0.0)
    theirs = torch.where(torch.arange(k) < never - seen, NAN, 0.0)  # as late as never
    far = [h for h in range(seen + 1) if abs(n * h - m * never) >= n * seen - m * never]
    ways = sum(math.comb(m, here) * math.comb(k, never - here) for here in far)
    expected = pytest.approx(float(Fraction(ways, math.comb(n, never))), rel=1e-12)
    assert statistics.rank_p(ours, theirs) == statistics.rank_p(theirs, ours) == expected


def test_holms_correction():
    for before, after in (
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # Holm's own kind of example
        *(([0.04], [0.04]), ([0.5, 0.6], [1.0, 1.0]), ([0.01, NAN], [0.02, 1.0]), ([], [])),
    ):
        assert statistics.holm(before) == pytest.approx(after)


UP = [1.0, 2.0]
VERDICTS = [
    *((verdicts.every_seed, (torch.tensor([least, 0.99]),), least > 0.9) for least in (0.91, 0.89)),
    # within: for every seed and either side
    (verdicts.within, (FEW, FEW + torch.tensor([0.01, -0.01]), 0.02), True),
    (verdicts.within, (FEW, FEW + torch.tensor([0.0, -0.03]), 0.02), False),
    (verdicts.within, (FEW, FEW + torch.tensor([0.03, 0.0]), 0.02), False),
    (verdicts.within, (FEW, FEW * NAN, 0.02), False),
    # near: within a tenth of what is right
    (verdicts.near, ([0.91, -2.19], [1.0, -2.0]), True),
    *((verdicts.near, ([found], [1.0]), False) for found in (1.11, NAN)),
    (verdicts.near, ([1.0, 1.7], UP), False),
    # all rise or all fall, or it cannot be told
    (verdicts.all_rise, (UP, [2.0, 3.0]), True),
    (verdicts.all_rise, (UP, [0.5, 1.0]), False),
    *((verdicts.all_rise, (UP, after), None) for after in ([2.0, 1.0], UP, [2.0, NAN])),
]


@pytest.mark.parametrize(("function", "given_", "told"), VERDICTS)
def test_verdicts_on_a_few_numbers(function, given_, told):
    assert function(*given_) is told


def test_the_smallest_gap_decides():
    assert verdicts.never_below([(2.0, 1.5), (1.6, 1.0)]) == (True, 0.5)
    # A thousandth of a nat is rounding; twice as much is not.
    for loss, held in ((0.9, False), (1 - 5e-4, True), (1 - 2e-3, False), (0.99, False)):
        assert verdicts.never_below([(2.0, 1.5), (loss, 1.0)]) == (held, pytest.approx(loss - 1))
    right = (1.30, 1.28)
    for wrong in ((NAN, 1.28), (1.3, NAN), (INF, INF)):
        for losses in ([right, wrong], [wrong, right], [wrong]):
            held, gap = verdicts.never_below(losses)
            assert not held and math.isnan(gap)


@given(below=st.integers(0, 20), above=st.integers(0, 20), level=st.integers(0, 3))
def test_the_sign_test_is_the_tail_of_a_binomial(below, above, level):
    n, least = below + above, min(below, above)
    p = min(Fraction(1), 2 * Fraction(sum(math.comb(n, i) for i in range(least + 1)), 2**n))
    told = None if p >= Fraction(1, 20) else below > above
    for size in (1.0, INF):
        signs = [-size] * below + [size] * above + [0.0] * level
        assert verdicts.sign_test(torch.tensor(signs)).verdict is told
        assert verdicts.sign_test(torch.tensor([*signs, NAN])).verdict is None


@given(st.data())
def test_a_difference_excludes_zero_where_its_test_tells(data):
    m, k = (data.draw(st.integers(1, 9)) for _ in "mk")
    # Whole numbers apart from one another, so that no difference is zero by chance.
    dealt = data.draw(st.permutations(range(m + k)))
    ours, theirs = (torch.tensor(part).double() for part in (dealt[:m], dealt[m:]))
    middle, low, high = statistics.difference(ours, theirs)
    assert (low > 0 or high < 0) == (statistics.rank_p(ours, theirs) < statistics.LEVEL)
    assert statistics.difference(theirs, ours) == (-middle, -high, -low)


@given(st.lists(st.floats(-5, 5).filter(bool), min_size=1, max_size=20))
def test_pairs_exclude_zero_where_their_test_tells(values):
    apart = torch.tensor(values, dtype=torch.float64)
    (_, low, high), told = statistics.typical(apart), verdicts.sign_test(apart).verdict
    assert (True if high < 0 else False if low > 0 else None) is told


def test_differences_by_hand():
    ours, theirs = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0.0, 0.0, 0.0, 10.0])
    # Of the 16 differences −9 to −6 and three of each 1, 2, 3, 4; one deal of 35 tells no more.
    assert statistics.difference(ours, theirs) == (2.0, -9.0, 4.0)
    assert statistics.difference(ours[:3], theirs) == (1.5, -INF, INF)
    assert statistics.typical(torch.arange(8.0)) == (3.5, 0.0, 7.0)
    assert statistics.typical(torch.arange(5.0)) == (2.0, -INF, INF)
    assert statistics.shift(torch.arange(5.0))[1:] == (-INF, INF)
    assert statistics.shift(torch.arange(6.0)) == (2.5, 0.0, 5.0)
    assert statistics.could_show_in_pairs(torch.arange(5.0)) == INF
    assert statistics.could_show(torch.arange(3.0), torch.arange(3.0)) == INF


# Pairs: the same seeds twice


@given(st.lists(st.integers(-99, 99).filter(bool), min_size=1, max_size=9, unique_by=abs))
def test_signed_ranks_are_scipys_where_nobody_is_level(d):
    theirs = stats.wilcoxon(d, method="exact").pvalue
    assert statistics.signed_rank_p(torch.tensor(d).double()) == pytest.approx(theirs, abs=1e-12)


@given(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, NAN]), min_size=1, max_size=8))
def test_signed_ranks_with_draws_are_all_ways_to_give_signs(values):
    d = [x for x in values if x and not math.isnan(x)]
    sizes = stats.rankdata([abs(x) for x in d]) if d else []
    off = abs(sum(r if x > 0 else -r for r, x in zip(sizes, d, strict=True)))
    signs = product((1, -1), repeat=len(d))
    ways = [sum(r * s for r, s in zip(sizes, each, strict=True)) for each in signs]
    share = sum(abs(w) >= off - 1e-9 for w in ways) / len(ways)
    assert statistics.signed_rank_p(torch.tensor(values)) == pytest.approx(share)


@given(
    d=st.lists(st.integers(-40, 40), min_size=1, max_size=12, unique_by=abs),
    shift=st.sampled_from([0.0, 0.3, -0.7]),
)
def test_the_interval_of_pairs_is_what_signed_ranks_do_not_refuse(d, shift):
    """Tried at a shift that no mean of two is, so that nobody is level."""
    differences = torch.tensor(d).double() * math.pi / 3
    effect = statistics.shift(differences)
    at = shift + 0.01
    sizes = (differences - at).abs()
    if len(sizes.unique()) == len(d):
        refused = statistics.signed_rank_p(differences - at) < statistics.LEVEL
        assert refused == (not effect.low <= at <= effect.high)
    assert effect.low <= effect.middle <= effect.high


@pytest.mark.parametrize("pairs", [True, False])
def test_what_could_be_shown_is_shown_about_four_times_in_five(pairs):
    """Of normal crowds shifted by it; less often, as eight have seldom the right width."""
    g, n, found = Generator().manual_seed(3), 8, 0
    for _ in range(40):
        a, b = torch.randn(2, n, generator=g)
        least = statistics.could_show_in_pairs(a) if pairs else statistics.could_show(a, b)
        for _ in range(8):
            a, b = torch.randn(2, n, generator=g)
            told = statistics.signed_rank_p(a + least) if pairs else statistics.rank_p(a + least, b)
            found += told < statistics.LEVEL
    assert 0.6 < found / 320 < 0.9
