"""The Python side of the widget that asks losses: what it takes, refuses and sends."""

import pytest
import torch
from traitlets import TraitError

from attn_notes import doubt
from book.lessons.your_model.widget import AskTheLoss

from .scripts import ahead

TEXT = "pqrstu"
LOSSES = {f"{offset} ahead": ahead(offset) for offset in (0, 1, 2)}


@pytest.mark.parametrize("text", [TEXT, "zebra"])
def test_it_finds_what_targets_find(text):
    """A place's label is the letter whose raised score lowers the loss, and there is no other."""
    letters = torch.tensor([[ord(letter) - ord("a") for letter in text]])
    for name, asked in AskTheLoss(LOSSES, text).losses:
        falls = {
            (place, text.index(chr(ord("a") + i)))
            for place, row in enumerate(asked["raised"])
            for i, raised in enumerate(row)
            if raised < asked["alike"] - 1e-5
        }
        arrows = doubt.targets(LOSSES[name], letters, 26).arrows
        assert falls == {(arrow.place, arrow.to) for arrow in arrows}


def test_another_text_and_what_is_no_loss_are_refused():
    for losses, text, said in (
        *((LOSSES, text, "different letters from a to z") for text in ("", "abca", "A", "a b")),
        ({}, TEXT, "losses"),
        ({"none": lambda logits, letters: torch.nan}, TEXT, "finite number, not nan"),
    ):
        with pytest.raises(ValueError, match=said):
            AskTheLoss(losses, text)


CHOSEN = [
    ("loss", "3 ahead", "loss must be one of 0 ahead, 1 ahead, 2 ahead"),
    *(("place", 6, "place must be at most 5"), ("place", -1, "place")),
    *(("tried", [one, *[""] * 5], "for each place") for one in ("qq", "Q")),
    ("tried", ["q"], "for each place"),
]


@pytest.mark.parametrize(("trait", "value", "sentence"), CHOSEN)
def test_what_cannot_be_chosen_is_refused(trait, value, sentence):
    widget = AskTheLoss(LOSSES, TEXT, place=2)
    before = getattr(widget, trait)
    with pytest.raises((TraitError, ValueError), match=sentence):
        setattr(widget, trait, value)
    assert getattr(widget, trait) == before


def test_its_numbers_are_the_loss():
    ((_, asked),) = AskTheLoss({"two ahead": ahead(2)}, TEXT).losses
    assert asked["alike"] == pytest.approx(torch.tensor(26.0).log().item())
    raised = torch.zeros(1, 6, 26)
    raised[0, 3, 20] = 1
    letters = torch.arange(15, 21)[None]
    assert asked["raised"][3][20] == pytest.approx(ahead(2)(raised, letters).item())
