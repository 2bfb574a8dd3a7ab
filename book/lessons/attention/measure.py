"""What a trained sorter does: what it writes, where a head looks, what a push at a head changes."""

import copy

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_notes.tasks import sorting
from attn_notes.tasks.prediction import token_losses
from book.lessons.attention import recipe
from book.lessons.attention.whole import WholeSorter

WRITING = range(sorting.LETTERS_PER_WORD, recipe.READ)  # the places from which a letter is written


def texts() -> Int[Tensor, "27 6"]:
    """All that the model reads in training."""
    return sorting.all_sequences()[:, :-1]


@torch.no_grad()
def written(
    model: WholeSorter,
    may_read: Float[Tensor, "6 6"],
    push: tuple[int, int, int] | None = None,
) -> Int[Tensor, "27 3"]:
    """What it writes by itself for each of the 27 words: it reads what stands there by then.

    Args:
        model: a trained sorter.
        may_read: its mask; of what is not written yet it can read nothing.
        push: a letter, a head and a place. While it writes that letter the head reads this place.
    """
    x = texts()[:, : WRITING.start + 1]
    for n, place in enumerate(WRITING):
        held = torch.zeros(recipe.CONFIG.heads, place + 1, place + 1)
        if push is not None and push[0] == n:
            held[push[1], place, push[2]] = 1
        logits = model.whole(x, may_read[: place + 1, : place + 1], held=held).logits[:, -1]
        x = torch.cat([x, sorting.forbid_sep(logits).argmax(-1)[:, None]], 1)
    return x[:, WRITING.start + 1 :]


def right(model: WholeSorter, may_read: Float[Tensor, "6 6"]) -> int:
    """How many of the 27 words it writes in order, by itself."""
    answers = sorting.all_sequences()[:, WRITING.start + 1 :]
    return int((written(model, may_read) == answers).all(-1).sum())


@torch.no_grad()
def losses(model: WholeSorter, may_read: Float[Tensor, "6 6"]) -> Float[Tensor, "27 6"]:
    """The surprise of each prediction in nats, as in training."""
    return token_losses(model(texts(), may_read), sorting.all_sequences())


@torch.no_grad()
def seeking(model: WholeSorter, may_read: Float[Tensor, "6 6"]) -> Float[Tensor, " h"]:
    """How much of each head's shares lies on cells that hold the letter to be written.

    Mean over the 27 texts and the three places of writing, each read as in training.
    """
    shares = model.whole(texts(), may_read).attention[:, :, WRITING]
    letters = sorting.all_sequences()[:, WRITING.start + 1 :]
    same = (texts()[:, None] == letters[:, :, None])[:, None]
    return (shares * same).sum(-1).mean((0, 2))


@torch.no_grad()
def found(model: WholeSorter) -> Int[Tensor, " 3"]:
    """In how many of the 27 words the largest share of head 1 lies on the letter to be written."""
    shares = model.whole(texts()).attention[:, 0, WRITING]
    letters = sorting.all_sequences()[:, WRITING.start + 1 :]
    return (texts().gather(1, shares.argmax(-1)) == letters).sum(0)


@torch.no_grad()
def without(model: WholeSorter, part: str) -> WholeSorter:
    """The same model, of which a part adds nothing to the stream.

    Args:
        model: a trained sorter.
        part: "head 1", "head 2", "heads" or "network".
    """
    model, size = copy.deepcopy(model), recipe.CONFIG.embedding // recipe.CONFIG.heads
    out, network = model.block.attention.o, model.block.feed_forward.l2
    silent = {
        "head 1": [out.weight[:, :size]],
        "head 2": [out.weight[:, size:]],
        "heads": [out.weight],
        "network": [network.weight],
    }
    for weight in silent[part]:
        weight.zero_()
    return model


@torch.no_grad()
def peeked(model: WholeSorter) -> Float[Tensor, " h"]:
    """Without a mask: the share of each head that lies on the cell of the answer.

    Mean over the 27 texts and the five places whose answer stands in the text.
    """
    shares = model.whole(texts(), recipe.MASKS["no mask"]).attention
    return shares.diagonal(1, -2, -1).mean((0, 2))


def pushes(model: WholeSorter) -> list[tuple[int, int]]:
    """How many pushes make it write the letter that head 1 was made to read, and of how many.

    By letter written. A push is a word and one of its places, with another letter than is written
    without it: what would be written anyway shows nothing.
    """
    words, mask = texts()[:, : WRITING.start], recipe.MASKS["mask"]
    found = []
    for n, free in enumerate(written(model, mask).T):
        other = words != free[:, None]
        pushed = [written(model, mask, (n, 0, place))[:, n] for place in range(WRITING.start)]
        same = torch.stack(pushed, 1) == words
        found.append((int((same & other).sum()), int(other.sum())))
    return found


@torch.no_grad()
def in_order(model: WholeSorter, may_read: Float[Tensor, "6 6"]) -> WholeSorter:
    """The same model with the head that seeks the letter first; no output moves."""
    return model if seeking(model, may_read).argmax() == 0 else swapped(model)


@torch.no_grad()
def swapped(model: WholeSorter) -> WholeSorter:
    """The same model with its heads in the other order; no output moves."""
    heads = model.block.attention
    for weight in (heads.q, heads.k, heads.v):
        weight.base.copy_(weight.base.flip(0))
    size = recipe.CONFIG.embedding // recipe.CONFIG.heads
    heads.o.weight.copy_(heads.o.weight.roll(size, 1))
    return model
