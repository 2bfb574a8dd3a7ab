"""What the page as it was read does not show: the room below the floor, and the small picture."""

import torch

from attn_notes.tasks import sorting
from book.lessons.attention import figures
from book.lessons.attention.evidence import Crowd


def test_whether_one_is_below_the_floor_has_room_for_rounding() -> None:
    ends = sorting.FLOOR + torch.tensor([-0.1, -0.002, -0.0005, 0.1])
    assert Crowd(torch.tensor([0]), ends[None], torch.zeros(4)).below == 2


def test_the_small_picture_has_both_losses_of_the_seed_that_is_shown() -> None:
    _, masked, open_ = (line.get_ydata() for line in figures.emblem().fig.axes[0].lines)
    assert masked[-1] > sorting.FLOOR > open_[-1]
