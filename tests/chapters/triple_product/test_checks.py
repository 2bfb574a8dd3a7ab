"""Other right answers pass the chapter's checks; wrong ones stand in `wrong.py`."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from attn_notes.chapters.triple_product import checks
from attn_notes.models.triple_product import cos2_to_plane
from attn_notes.tasks.copying import Copying


def at(model: Callable[[Tensor], Tensor], period: int) -> float:
    task = Copying(16, 24, (period,))
    x = task.sample(64, torch.Generator().manual_seed(0))
    return float(task.probe(model, x)["accuracy"])


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (checks.floor, lambda v, n, p: torch.tensor(Copying(v, n, tuple(p)).floor)),
        (checks.by_content, lambda model: torch.tensor(at(model, 8) > 0.9) & (at(model, 10) > 0.9)),
        (checks.deaf_to_loudness, cos2_to_plane),
        (checks.deaf_to_loudness, lambda q, k, r: cos2_to_plane(q, k, r).sqrt()),
        (checks.deaf_to_loudness, lambda q, k, r: cos2_to_plane(q, k, r).acos().neg()),
    ],
)
def test_other_right_answers_pass(check: Callable[..., Any], answer: object) -> None:
    assert check(answer).passed


def nearly(vocabulary: int, length: int, periods: tuple[int, ...]) -> float:
    """The formula, which counts a sequence as having one period."""
    fresh = (sum(periods) / len(periods) - 1) * math.log(vocabulary)
    return (fresh + math.log(len(periods))) / (length - 1)


def test_both_floors_pass_and_each_is_told_what_it_is() -> None:
    exact, rough = checks.floor(lambda v, n, p: Copying(v, n, tuple(p)).floor), checks.floor(nearly)
    assert exact.passed and "exact" in exact.message
    # 0.544155 by writing out all sequences of 7 letters and periods 3 and 5.
    assert Copying(7, 13, (3, 5)).floor == pytest.approx(0.544155, abs=5e-7)
    assert rough.passed and "0.544155 for periods 3 and 5 here, not 0.544240" in rough.message


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (dict.fromkeys(range(7, 13), 1 / 6), "0.2188, by the rule"),
        (dict.fromkeys(range(7, 12), 1 / 5), "0.2500, by the rule that looks 7 back; the least"),
        ({12: 1 / 8, 6: 0.0} | dict.fromkeys(range(7, 12), 7 / 40), "0.2266"),
    ],
)
def test_proposals_of_periods_are_scored(weights: dict[int, float], said: str) -> None:
    outcome = checks.uncountable(weights)
    assert outcome.passed and said in outcome.message
    assert ("no spread of periods goes lower" in outcome.message) == ("0.2188" in said)


def test_what_is_no_angle_for_every_size_and_every_crowd_earns_nothing() -> None:
    for wrong in (
        lambda q, k, r: cos2_to_plane(q, k, r) * (k.shape[1] == 7),
        lambda q, k, r: cos2_to_plane(q, k, r).softmax(-1),
    ):
        assert checks.deaf_to_loudness(wrong).share == 0


def test_no_name_tells_the_copier() -> None:
    told = checks.by_content(lambda model: "ideal" in repr(model) + getattr(model, "__name__", ""))
    assert told.share == 0


@pytest.mark.parametrize("case", range(8))
def test_a_distance_serves_the_periods_that_divide_it(case: int) -> None:
    copied = checks.counts.seen(case)["copied"]
    served = {period for period, share in copied.items() if share > 0.5}
    fits = [back for back in copied if {p for p in copied if back % p == 0} == served]
    reads = served == {*copied}
    answer = {"distance": 0 if reads else fits[0], "verdict": "it reads" if reads else "it counts"}
    assert len(fits) == (not reads) and checks.counts((case, answer)).passed
