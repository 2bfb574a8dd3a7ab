"""What a sorter does is counted right: by sorters whose every move is known, and by hand."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attn_notes.tasks import sorting
from book.lessons.attention import evidence, measure, recipe
from book.lessons.attention.whole import Whole, WholeSorter

MASK, OPEN = recipe.MASKS["mask"], recipe.MASKS["no mask"]
SHOWN = evidence.model("mask")


class MadeUp(WholeSorter):
    """Reads where it is told and writes what its head 1 reads, or what it always writes."""

    def __init__(self, looks: Callable[[Tensor], Tensor], writes: int | None = None) -> None:
        super().__init__(recipe.CONFIG, torch.Generator())
        self.looks, self.writes = looks, writes

    def whole(self, x: Tensor, may_read=None, turned=None, held=None) -> Whole:
        """Attention [b, 2, t, t] and logits; head 2 reads its own place."""
        t = x.shape[-1]
        first = torch.nn.functional.one_hot(self.looks(x), t).float()
        attention = torch.stack([first, torch.eye(t).expand_as(first)], 1)
        if held is not None:
            attention = torch.where(held.sum(-1, keepdim=True) > 0, held, attention)
        read = x.gather(-1, attention[:, 0].argmax(-1))
        letters = read if self.writes is None else torch.full_like(read, self.writes)
        logits = torch.nn.functional.one_hot(letters, 4).float()
        return Whole(**dict.fromkeys(Whole._fields, torch.zeros(0))
                     | {"attention": attention, "logits": logits})  # fmt: skip


def smallest_left(x: Tensor) -> Tensor:
    """The place of the letter that each place has to write; the first, before the bar."""
    order = x[:, :3].argsort(dim=-1, stable=True)
    return torch.cat([torch.zeros(len(x), 3, dtype=torch.long), order], 1)[:, : x.shape[1]]


def test_one_that_reads_right_writes_right():
    model = MadeUp(smallest_left)
    assert measure.right(model, MASK) == 27
    assert measure.found(model).tolist() == [27, 27, 27]
    assert measure.seeking(model, MASK)[0] == 1
    assert measure.pushes(model) == [(39, 39), (30, 30), (39, 39)]
    second = measure.written(model, MASK, (1, 0, 0))  # and no other letter is pushed
    assert second.equal(sorting.all_sequences()[:, [4, 0, 6]])


def test_one_that_always_writes_b_is_right_once():
    model = MadeUp(smallest_left, writes=sorting.VOCABULARY.index("b"))
    assert measure.right(model, MASK) == 1
    assert (measure.written(model, MASK) == 2).all()
    assert measure.found(model).tolist() == [27, 27, 27]
    assert measure.pushes(model) == [(0, 54)] * 3  # b is no other letter


def test_who_reads_its_own_place_finds_the_letter_that_it_has_just_written():
    """The letter before in order; at first the bar. Head 2 does so: in how many, by hand."""
    model = MadeUp(lambda x: torch.arange(x.shape[1]).expand_as(x))
    words = [sorted(word) for word in sorting.all_sequences()[:, :3].tolist()]
    same = [sum(word[n] == word[n + 1] for word in words) for n in (0, 1)]
    assert measure.found(model).tolist() == [0, *same]
    assert_close(measure.seeking(model, MASK), torch.full((2,), sum(same) / 81))
    assert measure.peeked(model).tolist() == [0, 0]
    ahead = MadeUp(lambda x: (torch.arange(x.shape[1]) + 1).clamp(max=5).expand_as(x))
    assert measure.peeked(ahead).tolist() == [1, 0]


def test_without_a_part_is_what_its_sum_in_the_stream_leaves():
    """The parts that `whole` shows, added by hand; of the heads each has its half of the sum."""
    made, block = SHOWN.whole(measure.texts()), SHOWN.block
    heads = [made.mixture[:, i] @ block.attention.o.weight[:, 3 * i : 3 * i + 3].T for i in (0, 1)]
    assert_close(sum(heads), made.read)
    middles = {"head 1": made.row + heads[1], "head 2": made.row + heads[0]}
    ends = {part: x + block.feed_forward(block.ln2(x)) for part, x in middles.items()}
    ends["heads"] = made.row + block.feed_forward(block.ln2(made.row))
    for part, end in {"network": made.middle, **ends}.items():
        found = measure.without(SHOWN, part)(measure.texts())
        assert_close(found, SHOWN.norm(end) @ SHOWN.token.weight.T, atol=1e-4, rtol=0)


@pytest.mark.parametrize("mask", recipe.MASKS)
def test_what_it_writes_is_what_its_logits_say_letter_by_letter(mask):
    model, may_read = evidence.model(mask), recipe.MASKS[mask]
    for i, written in enumerate(measure.written(model, may_read).tolist()):
        x = measure.texts()[i, :4].tolist()
        for letter in written:
            logits = model(torch.tensor(x), may_read[: len(x), : len(x)])[-1]
            assert int(logits[1:].argmax()) + 1 == letter
            x.append(letter)


def test_the_losses_are_surprises():
    found, due = measure.losses(SHOWN, MASK), sorting.all_sequences()[:, 1:]
    chances = SHOWN(measure.texts()).softmax(-1).detach()
    assert_close(found, -chances.gather(-1, due[..., None])[..., 0].log())
    assert_close(found.mean(), recipe.loss(SHOWN, MASK).detach())


def test_whether_one_is_below_the_floor_has_room_for_rounding():
    ends = sorting.FLOOR + torch.tensor([-0.1, -0.002, -0.0005, 0.1])
    assert evidence.Crowd(torch.tensor([0]), ends[None], torch.zeros(4)).below == 2


def test_heads_change_places_and_no_output_moves():
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
    assert_close(found.state_dict(), SHOWN.state_dict())
    assert measure.in_order(found, MASK) is found
