"""What the page trains: an easier text, the lesson's ways, and yardsticks on the same pieces."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attn_notes.chapters.equilibrium import lesson, measure, recipe
from attn_notes.chapters.equilibrium.estimators import loss
from attn_notes.chapters.equilibrium.governor import force_left
from attn_notes.tasks.text import FALLBACK, Text

from .sizes import make


def test_the_easier_text_has_letters_and_single_spaces() -> None:
    found = lesson.easier(Text("To be,\n\nor NOT to-be: 42\tthat"))
    assert found.content == "to be or not to be that"


def test_the_excerpt_has_all_of_it() -> None:
    """So a page learns the same text wherever it was made."""
    excerpt = Text.read(FALLBACK)
    easier = lesson.easier(excerpt)
    assert len(easier.content) == recipe.IN_PAGE_TEXT
    assert len(easier.characters) == recipe.IN_PAGE.vocabulary
    assert lesson.easier(Text(excerpt.content + "what comes after it")) == easier


def weights_of(model: torch.nn.Module, value: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(value, list(model.parameters())))


@pytest.mark.parametrize("name", recipe.IN_PAGE_WAYS)
def test_a_step_is_its_estimators_and_sees_what_is_left(name: str) -> None:
    model, sequences = make()
    way = lesson.settings(Text.read(FALLBACK))["ways"][name]
    estimator = recipe.ESTIMATORS[recipe.IN_PAGE_WAYS[name]]
    value, seen = way(model, sequences)
    expected = loss(model, sequences, estimator)
    assert_close(value, expected)
    assert_close(weights_of(model, value), weights_of(model, expected))
    assert_close(seen["left"], force_left(model, sequences[:, :-1]))


def test_the_ways_differ_in_the_block_alone() -> None:
    model, sequences = make()
    ways: dict[str, Callable[..., tuple[Tensor, dict[str, Tensor]]]]
    ways = lesson.settings(Text.read(FALLBACK))["ways"]
    found = {name: weights_of(model, way(model, sequences)[0]) for name, way in ways.items()}
    for naive, true in zip(found["naive"][:2], found["BPTT"][:2], strict=True):
        assert measure.relative_error(naive, true) > 0.1
    for naive, true in zip(found["naive"][2:], found["BPTT"][2:], strict=True):
        assert_close(naive, true)


def test_yardsticks_fall_and_are_counted_on_the_pieces_that_a_model_is_judged_by() -> None:
    settings = lesson.settings(Text.read(FALLBACK))
    text, length = settings["text"], recipe.IN_PAGE.context
    yardsticks = settings["yardsticks"]
    one, pairs = yardsticks.values()
    assert pairs < one < math.log(len(text.characters))
    held = settings["held"]
    assert held.shape[1] == length + 1 and len(held) <= recipe.PROBED
    frequency = text.train.bincount(minlength=len(text.characters)).double()
    # Smoothed by even chances, one for each kind of character that there is.
    shares = (frequency + 1) / (frequency.sum() + len(frequency))
    assert yardsticks["counting frequencies"] == pytest.approx(
        float(-shares[held[:, 1:]].log().mean()), abs=1e-9
    )
