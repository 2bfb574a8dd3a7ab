"""The tests that a page applies to its reader's runs are those of `analysis.statistics`."""

import math
import random
from itertools import product

import pytest
import torch
from playwright.sync_api import Page

from attn_notes.analysis import statistics

from .widget_page import asked

CHAPTER = "book/deep_qkv.html"
NEVER = None  # JSON has no infinity


def crowds() -> list[tuple[list[float | None], list[float | None]]]:
    """Pairs of crowds of 1 to 16 seeds: with draws, without, and with some that never arrive."""
    draw = random.Random(0)
    found = []
    for m, k in product((1, 2, 3, 5, 8, 16), repeat=2):
        for kind in ("apart", "level", "never"):
            most = {"apart": 10**6, "level": 3, "never": 50}[kind]

            def one(kind: str = kind, most: int = most) -> float | None:
                lost = kind == "never" and draw.random() < 0.4
                return NEVER if lost else float(draw.randrange(most))

            found.append(([one() for _ in range(m)], [one() for _ in range(k)]))
    return found


def tensor(values: list[float | None]) -> torch.Tensor:
    return torch.tensor([math.inf if value is None else value for value in values])


def test_a_comparison_is_the_one_of_the_package(module_page: Page) -> None:
    cases = crowds()
    found = asked(module_page, "(all) => all.map(([a, b]) => widget.compared(a, b))", cases)
    for (ours, theirs), each in zip(cases, found, strict=True):
        expected = statistics.compare(tensor(ours), tensor(theirs))
        assert each["first"] == pytest.approx(expected.first, abs=1e-12)
        assert each["p"] == pytest.approx(expected.p, abs=1e-9)


def test_holm_is_the_one_of_the_package(module_page: Page) -> None:
    draw = random.Random(1)
    families = [[draw.random() ** 3 for _ in range(n)] for n in range(1, 9) for _ in range(5)]
    found = asked(module_page, "(all) => all.map((p) => widget.holm(p))", families)
    assert found == [pytest.approx(statistics.holm(each)) for each in families]


def test_a_chance_is_said_as_in_the_package(module_page: Page) -> None:
    chances = [1.0, 0.5, 0.0996, 0.05, 0.049, 0.0079, 0.001, 0.00099, 1e-9]
    found = asked(module_page, "(all) => all.map((p) => widget.chance(p))", chances)
    assert found == [statistics.said(p) for p in chances]


@pytest.mark.parametrize("questions", [1, 2, 5, 12])
@pytest.mark.parametrize("others", [None, 4, 17])
def test_so_few_seeds_tell_nothing_and_one_more_may(
    questions: int, others: int | None, module_page: Page
) -> None:
    def least(seeds: int) -> float:
        """The smallest p that so many seeds can come to, all of them before all others."""
        crowd = torch.arange(float(seeds)), 1e3 + torch.arange(float(others or seeds))
        return min(1.0, questions * statistics.rank_p(*crowd))

    needs = asked(module_page, "([q, o]) => widget.fewest(q, o)", [questions, others])
    assert least(needs) < statistics.LEVEL
    assert needs == 1 or least(needs - 1) >= statistics.LEVEL
