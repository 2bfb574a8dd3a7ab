"""Titles that turn with results, which the page as it was read does not show."""

import pytest
import torch

from attn_notes.analysis import leaks
from attn_notes.analysis.statistics import Effect
from attn_notes.doubt.comparing import Compared
from book.lessons.your_model import example, figures

DOWN = [(0, 2.0, 2.0), (10, 1.0, 1.5)]
THROUGH = [(0, 2.0, 2.0), (10, 0.25, 8.0)]


def test_a_training_below_the_floor_is_said_and_one_above_is_not() -> None:
    below = figures.training(THROUGH, DOWN, floor=0.5)
    assert below.title == "Too good as it trains, useless when asked"
    honest = figures.training(DOWN, DOWN, floor=0.5)
    assert "Too good" not in honest.title and "below the floor" not in honest.caption


def test_who_reads_whom_is_counted_above_the_line() -> None:
    past = torch.ones(5, 5).tril()
    ahead = past.clone()
    ahead[1, 4] = 1.0
    assert "1 cells stand out in training mode, 0 in eval" in figures.influences(ahead, past).alt
    for both in ((past, past), (ahead, ahead), (past, ahead)):
        assert figures.influences(*both).title == "Who reads whom"


def compared(ours: float, p: float) -> Compared:
    swept = ({0.1: ours, 0.3: 1.0}, {0.1: 2.0, 0.3: 1.0})
    ends = torch.tensor([1.0, 1.5, 2.0])
    return Compared(ends, ends + 0.25, (0.3, 0.3), swept, Effect(-1, -2, 1), p, 0.0, False, 0.1, [])


@pytest.mark.parametrize(
    ("ours", "p", "wins"), [(1.5, 0.5, True), (2.5, 0.5, False), (1.5, 0.01, False)]
)
def test_a_factor_that_was_a_rate_is_told(ours: float, p: float, wins: bool) -> None:
    title = figures.rates(compared(ours, p)).title
    assert title.startswith("At a low rate the factor wins") is wins


def test_the_example_reads_what_it_may_and_nothing_ahead() -> None:
    model, texts, vocabulary = example.make()
    moved = leaks.influence(model, texts[:1, :7], vocabulary)
    assert float(moved.triu(1).max()) == 0 and bool((moved.diagonal() > 0).all())
