import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_notes.analysis import verdicts

NAN, INF = math.nan, math.inf
# Few values, so that draws are common; what is infinite or no number is among them.
ENDS = st.lists(st.sampled_from([-INF, 0.0, 0.5, 1.0, 2.0, INF, NAN]), min_size=1, max_size=6)


def test_words() -> None:
    assert [verdicts.word(told) for told in (True, False, None)] == [
        "held",
        "did not hold",
        "could not be told",
    ]


def test_a_verdict_with_what_was_found() -> None:
    assert verdicts.held(True) == "held"
    assert verdicts.held(None, "3 of 9") == "could not be told: 3 of 9"


@pytest.mark.parametrize(
    ("ours", "theirs", "told", "found"),
    [
        # Two of the 70 ways to deal eight numbers into two hands of four are as far apart.
        ([1, 2, 3, 4], [5, 6, 7, 8], True, "16 of 16 pairs, p = 0.0286"),
        ([5, 6, 7, 8], [1, 2, 3, 4], False, "0 of 16 pairs, p = 0.0286"),
        # Two more ways, one on either side.
        ([1, 2, 3, 5], [4, 6, 7, 8], None, "15 of 16 pairs, p = 0.0571"),
        ([1, 2, 3, 4], [1, 2, 3, 4], None, "8 of 16 pairs, p = 1"),
        ([1, 2, 3], [5, 6, 7], None, "9 of 9 pairs, p = 0.1"),
        # Two of the 15 ways to deal six numbers into hands of two and four.
        ([1, 2], [5, 6, 7, 8], None, "8 of 8 pairs, p = 0.133"),
        (range(8), range(8, 16), True, "64 of 64 pairs, p < 0.001"),
        ([1, 2], [2, 3], None, "3.5 of 4 pairs, p = 0.667"),  # a draw is half a pair
        ([1, 2], [2.0001, 3], None, "4 of 4 pairs, p = 0.333"),  # and near is no draw
        # Two of the 45 ways to deal ten numbers into hands of two and eight.
        ([1, 2], range(3, 11), True, "16 of 16 pairs, p = 0.0444"),
        ([1, 2, 3, 4], [5, 6, 7, math.nan], True, "16 of 16 pairs, p = 0.0286"),
        ([5, 6, 7, math.nan], [1, 2, 3, 4], False, "0 of 16 pairs, p = 0.0286"),
        ([math.inf] * 2, [math.nan] * 2, None, "2 of 4 pairs, p = 1"),
        # Two of 924 ways.
        (range(6), range(6, 12), True, "36 of 36 pairs, p = 0.00216"),
    ],
)
def test_lower_is_told_by_the_exact_rank_test(
    ours: Sequence[float], theirs: Sequence[float], told: bool | None, found: str
) -> None:
    verdict, evidence = verdicts.ends_lower(
        *(torch.tensor([*map(float, x)]) for x in (ours, theirs))
    )
    assert verdict is told
    assert evidence.replace(verdicts.NO_BREAK, " ") == found


def dealt_by_hand(ours: list[float], theirs: list[float]) -> tuple[Fraction, Fraction]:
    """Pairs in which ours is lower, and the share of deals at least as far from an even count."""
    every = [INF if math.isnan(x) else x for x in ours + theirs]

    def lower(hand: tuple[int, ...]) -> Fraction:
        rest = [i for i in range(len(every)) if i not in hand]
        halves = sum(2 if every[i] < every[j] else every[i] == every[j] for i in hand for j in rest)
        return Fraction(halves, 2)

    pairs = Fraction(len(ours) * len(theirs), 2)
    counts = [lower(hand) for hand in combinations(range(len(every)), len(ours))]
    far = [abs(count - pairs) >= abs(counts[0] - pairs) for count in counts]
    return counts[0], Fraction(sum(far), len(far))


@settings(max_examples=60, deadline=None)
@given(ours=ENDS, theirs=ENDS)
def test_the_rank_test_is_exact_with_draws_too(ours: list[float], theirs: list[float]) -> None:
    """Against an enumeration in whole numbers, from the definition."""
    told, found = verdicts.ends_lower(torch.tensor(ours), torch.tensor(theirs))
    lower, p = dealt_by_hand(ours, theirs)
    assert found == (
        f"{float(lower):g} of {len(ours) * len(theirs)} pairs, "
        + (f"p = {float(p):.3g}" if p >= Fraction(1, 1000) else "p < 0.001").replace(
            " ", verdicts.NO_BREAK
        )
    )
    assert told is (None if p >= Fraction(1, 20) else 2 * lower > len(ours) * len(theirs))


def test_both_sides_are_told_where_draws_make_the_counts_lopsided() -> None:
    """Of seven numbers, six alike: the odd one alone is as far out as can be, one time in seven.

    Twice the smaller tail would say two in seven: with draws the counts are not symmetric.
    """
    alone, others = torch.tensor([1.0]), torch.full((6,), 2.0)
    assert verdicts.ends_lower(alone, others)[1].endswith(f"{1 / 7:.3g}")
    # One in 20 is not below 5 %; one of three apart, of 9, is one deal of 84.
    assert verdicts.ends_lower(torch.tensor([1.0]), torch.full((19,), 2.0))[0] is None
    assert verdicts.ends_lower(torch.ones(3), torch.full((6,), 2.0))[0] is True


def test_too_many_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match="21 seeds"):
        verdicts.ends_lower(torch.arange(10.0), torch.arange(11.0))
    assert verdicts.ends_lower(torch.arange(3.0), torch.arange(17.0) + 3)[0] is True


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: verdicts.ends_lower(torch.tensor([]), torch.ones(4)), "ours must have at least"),
        (lambda: verdicts.ends_lower(torch.ones(4), torch.tensor([])), "theirs must have at least"),
        (lambda: verdicts.phrase(torch.tensor([]), torch.ones(4)), "ours must have at least"),
        (lambda: verdicts.within(torch.tensor([]), torch.tensor([]), 1.0), "ours must have"),
        (lambda: verdicts.near([], []), "found must have at least"),
        (lambda: verdicts.near([1.0], [1.0, 2.0]), "found and right .* there are 1 and 2"),
        (lambda: verdicts.all_rise([], []), "before must have at least"),
        (lambda: verdicts.all_rise([1.0, 2.0], [3.0]), "before and after .* there are 2 and 1"),
        (lambda: verdicts.every_seed(torch.tensor([])), "accuracies must have at least"),
        (lambda: verdicts.never_below([]), "losses must have at least"),
        (lambda: verdicts.fastest_from([], [], [[]]), "lengths must have at least"),
        (lambda: verdicts.fastest_from([1], [1.0], []), "others must have at least"),
        (lambda: verdicts.fastest_from([1], [1.0], [[]]), "times must have at least"),
        (lambda: verdicts.fastest_from([1], [1.0], [[1.0, 2.0]]), "there are 1 and 2"),
    ],
)
def test_nothing_has_no_verdict(ask, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


def test_the_verdict_within_a_sentence() -> None:
    low, high = torch.arange(4.0), torch.arange(4.0) + 9
    assert verdicts.phrase(low, high) == "ends lower than"
    assert verdicts.phrase(high, low) == "ends higher than"
    assert verdicts.phrase(low, low) == "cannot be told from"


def test_every_seed_counts() -> None:
    assert verdicts.every_seed(torch.tensor([0.91, 0.99]))
    assert not verdicts.every_seed(torch.tensor([0.89, 0.99]))


@pytest.mark.parametrize(
    ("at_home", "elsewhere", "told"),
    [
        *[(0.99, 0.1, False), (0.99, 0.95, True), (0.5, 0.1, None), (0.5, 0.9, None)],
        *[(NAN, 0.9, None), (0.99, NAN, None)],
    ],
)
def test_a_task_tests_induction_if_copiers_transfer(at_home, elsewhere, told) -> None:
    assert verdicts.strictly_tests_induction(at_home, elsewhere) is told


def test_the_smallest_gap_decides() -> None:
    assert verdicts.never_below([(2.0, 1.5), (1.6, 1.0)]) == (True, 0.5)
    held, gap = verdicts.never_below([(2.0, 1.5), (0.9, 1.0)])
    assert not held and gap == pytest.approx(-0.1)
    # A thousandth of a nat is rounding; twice as much is not.
    assert verdicts.never_below([(1 - 5e-4, 1.0)])[0]
    assert not verdicts.never_below([(1 - 2e-3, 1.0)])[0]
    assert not verdicts.never_below([(0.99, 1.0)])[0]


@pytest.mark.parametrize("wrong", [(NAN, 1.28), (1.3, NAN), (INF, INF)])
def test_a_loss_that_is_no_number_is_not_above_the_best(wrong: tuple[float, float]) -> None:
    for losses in ([(1.30, 1.28), wrong], [wrong, (1.30, 1.28)], [wrong]):
        held, gap = verdicts.never_below(losses)
        assert not held and math.isnan(gap)


def test_faster_from_a_length_on_is_faster_ever_after() -> None:
    lengths, slow = (1, 2, 4, 8), [(5.0, 5.0, 5.0, 5.0), (9.0, 3.0, 9.0, 9.0)]
    assert verdicts.fastest_from(lengths, (9.0, 4.0, 4.0, 4.0), slow) == 4
    assert verdicts.fastest_from(lengths, (4.0, 2.0, 4.0, 4.0), slow) == 1
    assert verdicts.fastest_from(lengths, (4.0, 2.0, 4.0, 6.0), slow) is None
    for rivals in ([[9.0], [NAN]], [[NAN], [9.0]]):
        assert verdicts.fastest_from([1], [1.0], rivals) is None


def test_pairs_tell_by_the_sign_test() -> None:
    """Two-sided at 5 %: six of six, eight of nine (p = .039), not seven of eight (p = .070)."""
    for n, told in ((5, None), (6, True), (8, True)):
        assert verdicts.all_on_one_side(torch.full((n,), -0.1)) is told
        assert verdicts.all_on_one_side(torch.full((n,), 0.1)) is (told and False)
    signs = torch.tensor([1.0] + [-1.0] * 7)
    assert verdicts.all_on_one_side(signs) is None
    assert verdicts.all_on_one_side(torch.cat([signs, -signs[:1]])) is True
    assert (
        verdicts.all_on_one_side(torch.cat([signs[1:], torch.zeros(3)])) is True
    )  # ties say nothing
    assert verdicts.all_on_one_side(torch.zeros(9)) is None


@settings(max_examples=60, deadline=None)
@given(below=st.integers(0, 20), above=st.integers(0, 20), level=st.integers(0, 3))
def test_the_sign_test_is_the_tail_of_a_binomial(below: int, above: int, level: int) -> None:
    n, least = below + above, min(below, above)
    p = min(Fraction(1), 2 * Fraction(sum(math.comb(n, i) for i in range(least + 1)), 2**n))
    told = None if p >= Fraction(1, 20) else below > above
    signs = torch.tensor([-1.0] * below + [1.0] * above + [0.0] * level)
    assert verdicts.all_on_one_side(signs) is told
    infinite = torch.tensor([-INF] * below + [INF] * above)
    assert verdicts.all_on_one_side(infinite) is told
    assert verdicts.all_on_one_side(torch.cat([signs, torch.tensor([NAN])])) is None


def test_within_is_for_every_seed_and_either_side() -> None:
    ours = torch.tensor([1.0, 2.0])
    assert verdicts.within(ours, ours + torch.tensor([0.01, -0.01]), 0.02)
    assert not verdicts.within(ours, ours + torch.tensor([0.0, -0.03]), 0.02)
    assert not verdicts.within(ours, ours + torch.tensor([0.03, 0.0]), 0.02)
    assert not verdicts.within(ours, ours * torch.nan, 0.02)


def test_near_is_within_a_tenth_of_what_is_right() -> None:
    assert verdicts.near([0.91, -2.19], [1.0, -2.0])
    assert not verdicts.near([1.11], [1.0])
    assert not verdicts.near([1.0, 1.7], [1.0, 2.0])
    assert not verdicts.near([torch.nan], [1.0])


def test_all_rise_or_all_fall_or_it_cannot_be_told() -> None:
    assert verdicts.all_rise([1.0, 2.0], [2.0, 3.0]) is True
    assert verdicts.all_rise([1.0, 2.0], [0.5, 1.0]) is False
    for after in ([2.0, 1.0], [1.0, 2.0], [2.0, torch.nan]):
        assert verdicts.all_rise([1.0, 2.0], after) is None
