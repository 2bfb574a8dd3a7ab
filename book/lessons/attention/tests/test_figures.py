"""What the page as it was read does not show: the room below the floor, and the small picture."""

import torch

from attn_notes.tasks import sorting
from book.lessons.attention import figures
from book.lessons.attention.evidence import Crowd


def test_whether_one_is_below_the_floor_has_room_for_rounding() -> None:
    ends = sorting.FLOOR + torch.tensor([-0.1, -0.002, -0.0005, 0.1])
    assert Crowd(torch.tensor([0]), ends[None], torch.zeros(4)).below == 2


def test_the_small_picture_leads_from_each_letter_that_is_written_to_itself() -> None:
    ax = figures.emblem().fig.axes[0]
    signs = "".join(text.get_text() for text in ax.texts)
    ends = [(arc.center[0] - arc.width / 2, arc.center[0] + arc.width / 2) for arc in ax.patches]
    assert signs == "cab|abc"
    assert [signs[round(left)] for left, _ in ends] == list("abc")
    assert [right for _, right in ends] == [3, 4, 5]  # from where each is written
