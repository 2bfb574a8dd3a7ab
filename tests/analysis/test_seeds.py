import math

import pytest
import torch
from torch import Generator
from torch.testing import assert_close

from attn_notes.analysis.seeds import compare, not_yet, stable_from

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
