"""The lesson's figures and its sentence, of crowds that are made up."""

import torch

from attn_notes.chapters.attention import claims, evidence, figures, recipe
from attn_notes.chapters.attention.evidence import Crowd
from attn_notes.tasks import sorting

STEPS = torch.tensor([0, 100, 1000])
LOW, HIGH = torch.tensor([1.5, 0.39, 0.37]), torch.tensor([1.6, 0.42, 0.41])
PEEKS = torch.tensor([1.5, 0.01, 0.001])
CROWDS = {
    "mask": Crowd(STEPS, torch.stack([LOW, HIGH], 1), torch.tensor([27, 20])),
    "no mask": Crowd(STEPS, torch.stack([PEEKS, LOW - 0.01], 1), torch.tensor([11, 3])),
}


def test_whether_one_is_below_the_floor_has_room_for_rounding() -> None:
    ends = sorting.FLOOR + torch.tensor([-0.1, -0.002, -0.0005, 0.1])
    assert Crowd(STEPS, ends[None], torch.zeros(4)).below == 2
    assert (CROWDS["mask"].below, CROWDS["no mask"].below) == (0, 2)


def test_a_line_for_each_seed_and_the_floor() -> None:
    picture = figures.losses(CROWDS)
    assert picture.title == ("0 of 2 seeds fall through the floor with the mask, 2 of 2 without")
    assert "between 0.370 and 0.410 nats" in picture.alt and "0.0010 and 0.360" in picture.alt
    (ax,) = picture.fig.axes
    floor, *lines = ax.lines
    assert {*floor.get_ydata()} == {sorting.FLOOR}
    expected = torch.cat([crowd.losses for crowd in CROWDS.values()], 1).T
    assert torch.allclose(torch.tensor([[*map(float, x.get_ydata())] for x in lines]), expected)
    assert [x.get_color() for x in lines] == [figures.COLOUR[mask] for mask in CROWDS for _ in "ab"]


def test_the_small_picture_has_both_losses_of_the_seed_that_is_shown() -> None:
    (ax,) = figures.emblem().fig.axes
    assert (
        len(ax.lines) == 3
        and ax.lines[1].get_ydata()[-1] > sorting.FLOOR > ax.lines[2].get_ydata()[-1]
    )


def test_the_sentence_counts() -> None:
    assert claims.told(CROWDS).data == (
        "Of 2 with the mask 0 end below the floor, and 1 write all 27 words in order. Of 2 without "
        "it 2 end below the floor, and they write 3 to 11 words in order."
    )


def test_a_guess_is_held_against_the_model_in_the_pictures() -> None:
    (part,) = evidence.predicted()
    shown = evidence.recorded()["no mask"].right[recipe.RECORDED.index(recipe.SHOWN)]
    assert (part.came, part.low, part.high) == (shown, 0, 27)
