"""What may be may be: the largest, the smallest, nothing; what may not is in `refused.py`."""

import math
import runpy
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from attn_notes import allowed
from attn_notes.tasks import brackets, copying, prediction, sorting, sudoku, text

from .refused import INF, NAN, SUDOKU, TEXT, G, sorter, whole


def test_the_largest_that_are_allowed_can_be():
    x, y = brackets.Brackets(pairs=brackets.MOST_PAIRS).sample(2, G)
    assert x.shape == y.shape == (2, 95)
    task = sudoku.Sudoku(4, 4)
    assert task.rounds(task.grids(1, G)).tolist() == [0]


def test_nothing_can_be_drawn():
    assert sorting.sample(0, G).shape == (0, 7)
    assert copying.Copying().sample(0, G).shape == (0, 32)
    assert [part.shape for part in brackets.Brackets().sample(0, G)] == [(0, 95)] * 2
    assert TEXT.sample(0, 3, G).shape == (0, 4)
    assert SUDOKU.grids(0, G).shape == (0, 16)
    assert text.look_up(whole([])[0], whole([])[0], whole([3])[0]).tolist() == [0]


def test_a_board_that_cannot_be_decided_is_given_up(monkeypatch):
    """Of 6 × 6 an empty board has 28,200,960 solutions, and each takes a try."""
    monkeypatch.setattr(sudoku, "MOST_TRIES", 2)
    task, empty = sudoku.Sudoku(2, 3), torch.zeros(1, 36, dtype=torch.long)
    with pytest.raises(ValueError, match=r"after 2 tries a board .* give more digits"):
        task.solve(empty, limit=2)
    assert task.solve(task.grids(1, G))[0].tolist() == [1]  # which one look decides


def test_tokens_of_a_longer_sorter_are_read():
    assert sorter(context=9)(whole([1] * 9)).shape == (1, 9, 4)


def test_prediction_of_nothing_is_nothing():
    assert prediction.token_losses(torch.zeros(0, 3, 4), torch.zeros(0, 4).long()).shape == (0, 3)


def test_what_is_not_installed_is_asked_for_by_name():
    assert allowed.needed("math", "doubt") is math
    with pytest.raises(ModuleNotFoundError, match=r"no_such, which comes .*'attn-notes\[a\]'") as e:
        allowed.needed("no_such", "a")
    assert e.value.name == "no_such"


def test_a_setting_of_another_kind_is_refused_outside_the_tests_too():
    """Here the hook that checks types comes first; a reader has none, and meets these."""
    plain = SimpleNamespace(**runpy.run_path(allowed.__file__))
    real, above = ("1", None, NAN, INF, -INF), partial(plain.whole, 2, 4)
    for check, right, wrong in (
        (plain.whole, (1, 10**6), (2.5, "2", None, NAN, 0, 10**6 + 1)),
        (above, (2, 4), (1, 5)),
        (plain.number, (1, 0.5, -1.0), real),
        (plain.positive, (1, 0.5), (*real, 0, -1e-300)),
        (plain.not_negative, (1, 0.5, 0.0), (*real, -1e-300)),
    ):
        for value in right:
            check(lr=value)
        for value in wrong:
            with pytest.raises(ValueError, match="lr must be"):
                check(lr=value)
    with pytest.raises(ValueError, match="lr must be a whole number, not"):
        plain.whole(lr=2.5)
    for value, words in ((1, "at least 2, not 1"), (5, "at most 4, not 5")):
        with pytest.raises(ValueError, match=f"lr must be {words}"):
            above(lr=value)
