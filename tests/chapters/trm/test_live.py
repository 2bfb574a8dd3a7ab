"""What is said and kept of the run of now: sentences, puzzles that it fails on, predictions."""

import pytest
import torch

from attn_notes.analysis.words import median
from attn_notes.chapters.trm import claims, evidence, recipe

from . import made_up
from .made_up import counted, live, numbers


def test_what_is_said_of_knowing_and_stopping() -> None:
    run = live()
    held = run.seen.halt[7] > 0
    ends = [
        next((k for k in range(16) if run.seen.halt[k, i].sigmoid() > 0.5), 15) for i in range(40)
    ]
    right = sum(bool(run.seen.right[k, i]) for i, k in enumerate(ends))
    wanted = [
        *(int(held.sum()), int(run.seen.right[7][held].sum())),
        *(100 * right / 40, sum(ends) / 40 + 1, 100 * run.solved()),
    ]
    assert numbers(claims.knowing(run).data) == pytest.approx(wanted, abs=0.051)


def test_some_that_it_fails_on() -> None:
    right = counted(4, 4)
    boards = torch.zeros(4, 36).long()
    boards[:, 0] = torch.tensor([1, 2, 3, 4])
    assert evidence.failures(live(right), boards) == []
    right[-1] = torch.tensor([True, False, True, False])
    assert {*evidence.failures(live(right), boards)} == {f"{digit}{'.' * 35}" for digit in (2, 4)}
    right[-1] = False
    run = live(right)
    run.seen.halt[-1] = torch.tensor([0.5, -1.0, 3.0, 0.7])  # the surest first
    assert evidence.failures(run, boards) == [f"{digit}{'.' * 35}" for digit in (3, 4, 1)]


def test_what_is_to_be_predicted_is_what_the_lesson_says() -> None:
    """Of a hundred: the live run's looks, and the median seed of the largest straight network."""
    found, seen = made_up.recorded(), live()
    parts = {part.name: part for part in evidence.predicted(seen, found)}
    assert parts["one look"].came == 100 * seen.solved(1)
    assert parts["eight looks"].came == 100 * seen.solved(recipe.TRAINED)
    once = parts["four times the weights, one look"].came
    assert once == pytest.approx(100 * median(found.solved(recipe.DEEP)))
