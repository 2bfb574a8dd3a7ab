"""Other right answers pass the lesson's checks; wrong ones stand in `wrong.py`."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Generator, Tensor

from attn_notes.models.triple_product import cos2_to_plane
from attn_notes.tasks.copying import Copying
from book.lessons.triple_product import checks


def at(model: Callable[[Tensor], Tensor], period: int) -> float:
    task = Copying(16, 24, (period,))
    return float(task.probe(model, task.sample(64, Generator().manual_seed(0)))["accuracy"])


def nearly(vocabulary: int, length: int, periods: tuple[int, ...]) -> float:
    fresh = (sum(periods) / len(periods) - 1) * math.log(vocabulary)
    return (fresh + math.log(len(periods))) / (length - 1)


LEAST, FIVE = dict.fromkeys(range(7, 13), 1 / 6), dict.fromkeys(range(7, 12), 1 / 5)
UNEVEN = dict.fromkeys(range(7, 12), 7 / 40) | {12: 1 / 8, 6: 0.0}
RIGHT = [
    (checks.floor, lambda v, n, p: torch.tensor(Copying(v, n, tuple(p)).floor), "exact"),
    (checks.floor, nearly, "0.544155 for periods 3 and 5 here, not 0.544240"),
    (checks.by_content, lambda model: torch.tensor(min(at(model, 8), at(model, 10)) > 0.9), ""),
    (checks.uncountable, LEAST, "0.2188, by the rule that looks 7 back, and no spread of"),
    (checks.uncountable, FIVE, "0.2500, by the rule that looks 7 back; the least"),
    (checks.uncountable, UNEVEN, "0.2266, by the rule that looks 7 back; the least"),
    (checks.deaf_to_loudness, cos2_to_plane, "only the angle"),
    (checks.deaf_to_loudness, lambda q, k, r: cos2_to_plane(q, k, r).sqrt(), "only the angle"),
    (checks.deaf_to_loudness, lambda q, k, r: -cos2_to_plane(q, k, r).acos(), "only the angle"),
]


@pytest.mark.parametrize(("check", "answer", "said"), RIGHT)
def test_other_right_answers_pass(check, answer, said):
    outcome = check(answer)
    assert outcome.passed and said in outcome.message


def test_what_is_no_angle_for_every_size_and_every_crowd_earns_nothing():
    for wrong in (
        lambda q, k, r: cos2_to_plane(q, k, r) * (k.shape[1] == 7),
        lambda q, k, r: cos2_to_plane(q, k, r).softmax(-1),
    ):
        assert checks.deaf_to_loudness(wrong).share == 0


def test_no_name_tells_the_copier():
    told = checks.by_content(lambda model: "ideal" in repr(model) + getattr(model, "__name__", ""))
    assert told.share == 0
