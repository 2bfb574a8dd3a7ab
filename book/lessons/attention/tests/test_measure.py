"""What the records of the lesson, which its page shows, do not reach."""

import torch
from torch.testing import assert_close

from attn_notes.tasks import sorting
from book.lessons.attention import evidence, measure, recipe

MASK, SHOWN = recipe.MASKS["mask"], evidence.model("mask")


def test_whether_one_is_below_the_floor_has_room_for_rounding() -> None:
    ends = sorting.FLOOR + torch.tensor([-0.1, -0.002, -0.0005, 0.1])
    assert evidence.Crowd(torch.tensor([0]), ends[None], torch.zeros(4)).below == 2


@torch.no_grad()
def test_what_is_read_ahead_is_told_by_head() -> None:
    shares = SHOWN.whole(measure.texts(), recipe.MASKS["no mask"]).attention
    by_hand = [sum(shares[:, h, i, i + 1].mean() for i in range(5)) / 5 for h in (0, 1)]
    assert_close(measure.peeked(SHOWN), torch.stack(by_hand))


def test_heads_change_places_and_no_output_moves() -> None:
    turned = recipe.sorter(0)
    turned.load_state_dict(SHOWN.state_dict())
    heads = turned.block.attention
    with torch.no_grad():
        for weight in (heads.q, heads.k, heads.v):
            weight.base.copy_(weight.base.flip(0))
        heads.o.weight.copy_(torch.cat(heads.o.weight.split(3, 1)[::-1], 1))
    assert measure.seeking(turned, MASK).argmax() == 1
    logits = turned(measure.texts())
    found = measure.in_order(turned, MASK)
    assert_close(found(measure.texts()), logits, atol=1e-3, rtol=0)
    for name, value in SHOWN.state_dict().items():
        assert_close(found.state_dict()[name], value)
    assert measure.in_order(found, MASK) is found
