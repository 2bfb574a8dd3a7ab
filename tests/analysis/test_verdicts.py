import math
from collections.abc import Sequence

import pytest
import torch

from attn_notes.analysis import verdicts


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


@pytest.mark.parametrize("shift", [0.0, 0.7, 2.0])
def test_the_rank_test_against_drawing_hands(shift: float, generator: torch.Generator) -> None:
    ours = torch.randn(5, generator=generator)
    theirs = torch.randn(6, generator=generator) + shift
    told, found = verdicts.ends_lower(ours, theirs)
    every, far = torch.cat([ours, theirs]), 0
    apart = abs((ours[:, None] < theirs).sum().item() - 15)
    for _ in range(4000):
        hand = every[torch.randperm(11, generator=generator)]
        far += abs((hand[:5, None] < hand[5:]).sum().item() - 15) >= apart
    p = float(found.split(verdicts.NO_BREAK)[-1])
    assert p == pytest.approx(far / 4000, abs=0.03)
    assert (told is None) == (p >= 0.05)


def test_too_many_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match="21 seeds"):
        verdicts.ends_lower(torch.arange(10.0), torch.arange(11.0))


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
    [(0.99, 0.1, False), (0.99, 0.95, True), (0.5, 0.1, None), (0.5, 0.9, None)],
)
def test_a_task_tests_induction_if_copiers_transfer(at_home, elsewhere, told) -> None:
    assert verdicts.strictly_tests_induction(at_home, elsewhere) is told


def test_the_smallest_gap_decides() -> None:
    assert verdicts.never_below([(2.0, 1.5), (1.6, 1.0)]) == (True, 0.5)
    held, gap = verdicts.never_below([(2.0, 1.5), (0.9, 1.0)])
    assert not held and gap == pytest.approx(-0.1)
    assert verdicts.never_below([(1 - 1e-4, 1.0)])[0]  # rounding
    assert not verdicts.never_below([(0.99, 1.0)])[0]


def test_faster_from_a_length_on_is_faster_ever_after() -> None:
    lengths, slow = (1, 2, 4, 8), [(5.0, 5.0, 5.0, 5.0), (9.0, 3.0, 9.0, 9.0)]
    assert verdicts.fastest_from(lengths, (9.0, 4.0, 4.0, 4.0), slow) == 4
    assert verdicts.fastest_from(lengths, (4.0, 2.0, 4.0, 4.0), slow) == 1
    assert verdicts.fastest_from(lengths, (4.0, 2.0, 4.0, 6.0), slow) is None


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
