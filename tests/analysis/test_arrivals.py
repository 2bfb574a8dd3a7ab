import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.analysis.statistics import compare, not_yet, stable_from

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


def test_compare_counts_pairs(generator: Generator) -> None:
    ours, theirs = torch.tensor([1.0, 2.0, INF]), torch.tensor([2.0, INF])
    # Of six pairs: 1 < 2, 1 < ∞, 2 < ∞ are earlier; 2 = 2 and ∞ = ∞ are level; ∞ > 2.
    assert compare(ours, theirs, generator).first == pytest.approx((3 + 2 / 2) / 6)


def test_compare_is_antisymmetric(generator: Generator) -> None:
    a = torch.rand(17, generator=generator)
    b = torch.rand(13, generator=generator)
    first, second = compare(a, b, generator), compare(b, a, generator)
    assert first.first == pytest.approx(1 - second.first)


def test_verdicts(generator: Generator) -> None:
    early, late = torch.arange(16.0), torch.arange(16.0) + 100
    assert compare(early, late, generator).verdict == "earlier"
    assert compare(late, early, generator).verdict == "later"
    assert compare(early, early, generator).verdict == "cannot be told"
    never = torch.full((16,), INF)
    assert compare(never, never, generator).first == 0.5


def test_three_a_side_tell_nothing(generator: Generator) -> None:
    for most, verdict in ((3, "cannot be told"), (4, "earlier")):
        early = torch.arange(float(most))
        assert compare(early, early + 100, generator).verdict == verdict


def test_interval_holds_the_truth_as_often_as_it_says() -> None:
    # Both crowds from one distribution: the truth is one half.
    generator = Generator().manual_seed(11)
    held = 0
    for _ in range(200):
        a, b = torch.rand(2, 16, generator=generator)
        c = compare(a, b, generator, draws=400)
        held += c.low <= 0.5 <= c.high
    # A 95 % interval; the bootstrap of 16 seeds is a little narrow. Binomial spread allowed for.
    assert 0.87 <= held / 200 <= 0.99


def test_interval_has_the_width_of_the_normal_approximation(generator: Generator) -> None:
    # Four like seeds against 400, half of them later: a binomial share with p = 1/2.
    c = compare(torch.zeros(4), torch.linspace(-1, 1, 400), generator, draws=4000)
    assert c.high - c.low == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 400), rel=0.07)


def by_pairs(ours: Tensor, theirs: Tensor) -> Tensor:
    """Whether each of ours is before each of theirs, a half where they are level."""
    a, b = (x.double().nan_to_num(INF, INF, -INF) for x in (ours, theirs))
    return (a[:, None] < b).double() + 0.5 * (a[:, None] == b).double()


def resampled_by_pairs(ours: Tensor, theirs: Tensor, generator: Generator, n: int) -> list[float]:
    """The interval from the table of all pairs, of which rows and columns are drawn."""
    before = by_pairs(ours, theirs)
    rows = torch.randint(len(ours), (n, len(ours)), generator=generator)
    columns = torch.randint(len(theirs), (n, len(theirs)), generator=generator)
    shares = before[rows[:, :, None], columns[:, None, :]].mean((1, 2))
    return shares.quantile(torch.tensor([0.025, 0.975]).double()).tolist()


ARRIVALS = st.lists(
    st.sampled_from([-INF, 0.0, 1.0, 2.0, 3.0, INF, math.nan]), min_size=1, max_size=9
)


@settings(max_examples=60, deadline=None)
@given(ours=ARRIVALS, theirs=ARRIVALS)
def test_ranks_count_pairs_with_draws_too(ours: list[float], theirs: list[float]) -> None:
    a, b = torch.tensor(ours), torch.tensor(theirs)
    found = compare(a, b, Generator().manual_seed(0), draws=20)
    assert found.first == pytest.approx(by_pairs(a, b).mean().item(), abs=1e-12)
    assert 0 <= found.low <= found.high <= 1


@pytest.mark.parametrize("never", [0, 5])
def test_the_interval_is_that_of_the_table_of_pairs(never: int, generator: Generator) -> None:
    ours = torch.randint(12, (11,), generator=generator).float()  # with draws
    theirs = torch.randint(12, (17,), generator=generator).float() + 2
    theirs[:never] = INF
    found = compare(ours, theirs, generator, draws=20_000)
    # Of 20,000 draws, 2.5 % lie below to within .1 % a sigma; a step of the shares is 1/374.
    low, high = resampled_by_pairs(ours, theirs, generator, 20_000)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.012)


def test_what_came_to_no_number_never_arrived(generator: Generator) -> None:
    failed, arrived = torch.full((6,), math.nan), torch.arange(6.0)
    level = compare(failed, failed, generator)
    assert level[:3] == (0.5, 0.5, 0.5) and level.p == 1 and level.verdict == "cannot be told"
    assert compare(failed, torch.full((6,), INF), generator).first == 0.5
    assert compare(failed, arrived, generator).verdict == "later"
    assert compare(arrived, failed, generator).verdict == "earlier"


def test_the_interval_follows_from_the_generator_alone() -> None:
    a, b = torch.rand(2, 16, generator=Generator().manual_seed(1))
    found = [compare(a, b, Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert found[0] == found[1]
    assert found[0].low != found[2].low or found[0].high != found[2].high


def test_crowds_of_nobody_are_refused(generator: Generator) -> None:
    nobody, some = torch.tensor([]), torch.ones(5)
    for pair, name in (((nobody, some), "ours"), ((some, nobody), "theirs")):
        with pytest.raises(ValueError, match=f"{name} must have at least one value"):
            compare(*pair, generator)
    with pytest.raises(ValueError, match="draws must be at least 2, not 1"):
        compare(some, some, generator, draws=1)
    with pytest.raises(ValueError, match="members must have at least one value"):
        not_yet(nobody, torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="nothing was probed"):
        stable_from(torch.zeros(0, 3, dtype=torch.long), torch.tensor([], dtype=torch.long), 27)
