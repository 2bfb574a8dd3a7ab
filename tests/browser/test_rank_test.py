"""The tests that a page applies to its reader's runs are those of `analysis.statistics`."""

import math
import random
from itertools import product

import pytest
import torch

from attn_notes.analysis import statistics

from .asked import asking

ask = asking("deep_qkv")
NEVER = None  # JSON has no infinity


def crowds() -> list[tuple[list[float | None], list[float | None]]]:
    """Pairs of crowds of 1 to 16 seeds: with draws, without, and with some that never arrive."""
    draw = random.Random(0)

    def crowd(seeds: int, most: int, lost: float) -> list[float | None]:
        values = [float(draw.randrange(most)) for _ in range(seeds)]
        return [NEVER if draw.random() < lost else value for value in values]

    kinds = ((10**6, 0.0), (3, 0.0), (50, 0.4))
    sizes = product((1, 2, 3, 5, 8, 16), repeat=2)
    return [(crowd(m, *kind), crowd(k, *kind)) for (m, k), kind in product(sizes, kinds)]


def tensor(values: list[float | None]) -> torch.Tensor:
    return torch.tensor([math.inf if value is None else value for value in values])


def test_a_comparison_is_the_one_of_the_package(ask):
    cases = crowds()
    found = ask("(all) => all.map(([a, b]) => widget.compared(a, b))", cases)
    for (ours, theirs), each in zip(cases, found, strict=True):
        expected = statistics.compare(tensor(ours), tensor(theirs))
        assert each["first"] == pytest.approx(expected.first, abs=1e-12)
        assert each["p"] == pytest.approx(expected.p, abs=1e-9)


def test_holm_and_the_words_for_a_chance_are_those_of_the_package(ask):
    draw = random.Random(1)
    families = [[draw.random() ** 3 for _ in range(n)] for n in range(1, 9) for _ in range(5)]
    found = ask("(all) => all.map((p) => widget.holm(p))", families)
    assert found == [pytest.approx(statistics.holm(each)) for each in families]
    chances = [1.0, 0.5, 0.0996, 0.05, 0.049, 0.0079, 0.001, 0.00099, 1e-9]
    found = ask("(all) => all.map((p) => widget.chance(p))", chances)
    assert found == [statistics.said(p) for p in chances]


@pytest.mark.parametrize("questions", [1, 2, 5, 12])
@pytest.mark.parametrize("others", [None, 4, 17])
def test_so_few_seeds_tell_nothing_and_one_more_may(questions, others, ask):
    def least(seeds: int) -> float:
        """The smallest p that so many seeds can come to, all of them before all others."""
        crowd = torch.arange(float(seeds)), 1e3 + torch.arange(float(others or seeds))
        return min(1.0, questions * statistics.rank_p(*crowd))

    needs = ask("(q, o) => widget.fewest(q, o)", questions, others)
    assert least(needs) < statistics.LEVEL
    assert needs == 1 or least(needs - 1) >= statistics.LEVEL
