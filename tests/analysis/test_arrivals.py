import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.analysis.statistics import LEVEL, compare, not_yet, stable_from

INF = math.inf


def test_stable_from_counts_from_the_last_return() -> None:
    steps = torch.tensor([0, 10, 20, 30])
    solved = torch.tensor(
        # arrives at 20; at once; touches 27 and falls back; falls back and returns; never
        [[5, 27, 0, 27, 0], [26, 27, 27, 3, 0], [27, 27, 27, 9, 0], [27, 27, 26, 27, 26]]
    )
    assert stable_from(solved, steps, 27).tolist() == [20, 0, INF, 30, INF]


def test_not_yet() -> None:
    arrivals = torch.tensor([0.0, 10.0, INF, 20.0])
    shares = not_yet(arrivals, torch.tensor([0, 10, 20]))
    assert_close(shares, torch.tensor([0.75, 0.5, 0.25]))
    never = torch.tensor([math.nan, 0.0])
    assert_close(not_yet(never, torch.tensor([0, 20])), torch.tensor([0.5, 0.5]))


def test_compare_counts_pairs() -> None:
    ours, theirs = torch.tensor([1.0, 2.0, INF]), torch.tensor([2.0, INF])
    # Of six pairs: 1 < 2, 1 < ∞, 2 < ∞ are earlier; 2 = 2 and ∞ = ∞ are level; ∞ > 2.
    assert compare(ours, theirs).first == pytest.approx((3 + 2 / 2) / 6)


def test_compare_is_antisymmetric(generator: Generator) -> None:
    a = torch.rand(17, generator=generator)
    b = torch.rand(13, generator=generator)
    first, second = compare(a, b), compare(b, a)
    assert first.first == pytest.approx(1 - second.first)


def test_verdicts() -> None:
    early, late = torch.arange(16.0), torch.arange(16.0) + 100
    assert compare(early, late).verdict is True
    assert compare(late, early).verdict is False
    assert compare(early, early).verdict is None
    never = torch.full((16,), INF)
    assert compare(never, never).first == 0.5


def test_three_a_side_tell_nothing() -> None:
    for most, verdict in ((3, None), (4, True)):
        early = torch.arange(float(most))
        assert compare(early, early + 100).verdict is verdict


@settings(max_examples=60, deadline=None)
@given(ours=st.lists(st.integers(0, 9), min_size=1), theirs=st.lists(st.integers(0, 9), min_size=1))
def test_what_lies_outside_of_chance_is_what_the_test_tells(
    ours: list[int], theirs: list[int]
) -> None:
    c = compare(*(torch.tensor(each).double() for each in (ours, theirs)))
    assert (c.low <= c.first <= c.high) == (c.p >= LEVEL)
    assert c.low + c.high == pytest.approx(1)


LARGE = pytest.param((32, 32), marks=pytest.mark.slow)


def test_one_in_twenty_is_chance() -> None:
    assert compare(torch.tensor([0.0]), torch.arange(1.0, 40)) == (1.0, 0.0, 1.0, 0.05)


@pytest.mark.now("sizes0")
@pytest.mark.parametrize("sizes", [(4, 4), (8, 8), (16, 16), LARGE])
def test_crowds_of_one_kind_lie_within_chance(sizes: tuple[int, int]) -> None:
    """In at least 95 of 100 repetitions, whatever arrivals look like: some never arrive."""
    generator = Generator().manual_seed(11)
    held = 0
    for _ in range(500):
        every = torch.rand(sum(sizes), generator=generator)
        every[every > 0.8] = INF
        c = compare(*every.split(sizes))
        held += c.low <= c.first <= c.high
    assert held / 500 >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 500)


def test_chance_is_as_wide_as_the_normal_approximation() -> None:
    """The variance of the share of pairs among two crowds of m and k is (m + k + 1) / 12mk."""
    c = compare(*torch.rand(2, 40, generator=Generator().manual_seed(2)))
    assert c.high - c.low == pytest.approx(2 * 1.96 * math.sqrt(81 / (12 * 1600)), rel=0.02)


def by_pairs(ours: Tensor, theirs: Tensor) -> Tensor:
    """Whether each of ours is before each of theirs, a half where they are level."""
    a, b = (x.double().nan_to_num(INF, INF, -INF) for x in (ours, theirs))
    return (a[:, None] < b).double() + 0.5 * (a[:, None] == b).double()


ARRIVALS = st.lists(
    st.sampled_from([-INF, 0.0, 1.0, 2.0, 3.0, INF, math.nan]), min_size=1, max_size=9
)


@settings(max_examples=60, deadline=None)
@given(ours=ARRIVALS, theirs=ARRIVALS)
def test_ranks_count_pairs_with_draws_too(ours: list[float], theirs: list[float]) -> None:
    a, b = torch.tensor(ours), torch.tensor(theirs)
    found = compare(a, b)
    assert found.first == pytest.approx(by_pairs(a, b).mean().item(), abs=1e-12)
    assert 0 <= found.low <= found.high <= 1


def test_what_came_to_no_number_never_arrived() -> None:
    failed, arrived = torch.full((6,), math.nan), torch.arange(6.0)
    level = compare(failed, failed)
    assert level == (0.5, 0.5, 0.5, 1) and level.verdict is None
    assert compare(failed, torch.full((6,), INF)).first == 0.5
    assert compare(failed, arrived).verdict is False
    assert compare(arrived, failed).verdict is True
