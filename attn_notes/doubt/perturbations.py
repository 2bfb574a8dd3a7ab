"""What is changed in a text to see whether an earlier logit moves: rows, the most telling first."""

from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any

import torch
from torch import Generator, Tensor

from attn_notes import allowed

Question = tuple[Tensor, int]
"""A row [t] that differs from the text from a place on, and that place."""

SHORT = 66  # of so many tokens all cuts are asked first: beyond blocks of 64, and soon done
MOST_EACH = 20_000  # rows of an exhaustive search


def telling(t: int) -> list[int]:
    """The cuts that tell most: the ends, powers of two and their neighbours; all, if few."""
    near = {2**k + d for k in range(1, t.bit_length()) for d in (-1, 0, 1)}
    every = range(1, t) if t <= SHORT else ()
    return [cut for cut in dict.fromkeys([1, t - 1, *sorted(near), *every]) if 0 < cut < t]


def cuts_of(t: int) -> list[int]:
    """Every cut of t tokens: those that are telling first, then the rest at random.

    >>> cuts_of(9)
    [1, 8, 2, 3, 4, 5, 7, 6]

    Raises:
        ValueError: t is below 1, or above `allowed.MOST`.
    """
    allowed.whole(t=t)
    first = telling(t)
    left = [cut for cut in range(1, t) if cut not in set(first)]
    order = torch.randperm(len(left), generator=Generator().manual_seed(0)).tolist()
    return first + [left[i] for i in order]


def drawn(x: Tensor, vocabulary: int, seed: int) -> Tensor:
    """Another text: at every place another token, at random."""
    g = Generator().manual_seed(seed)
    shift = torch.randint(1, vocabulary, x.shape, generator=g).to(x.device)
    return (x + shift) % vocabulary


def from_cut(x: Tensor, other: Tensor, cut: int) -> Tensor:
    """A text [t] up to a cut, and another one from there on."""
    return torch.cat([x[:cut], other[cut:]])


def suffixes(
    x: Tensor, vocabulary: int, special: Sequence[int], cuts: Sequence[int], draws: int
) -> Iterator[Question]:
    """Another future from each cut on: at random, then all of one special token, then anew."""
    for draw in range(draws):
        if draw == 1:
            for token in special:
                yield from ((from_cut(x, torch.full_like(x, token), cut), cut) for cut in cuts)
        for cut in cuts:
            yield from_cut(x, drawn(x, vocabulary, 1 + 7919 * draw + cut), cut), cut


def each(x: Tensor, vocabulary: int) -> Iterator[Question]:
    """Every other token in every place but the first, and every token from each place on.

    At random, so that a part of them is a fair part.
    """
    order = torch.randperm((len(x) - 1) * vocabulary, generator=Generator().manual_seed(0))
    for code in order.tolist():
        cut, token = 1 + code // vocabulary, code % vocabulary
        if int(x[cut]) != token:
            row = x.clone()
            row[cut] = token
            yield row, cut
        yield from_cut(x, torch.full_like(x, token), cut), cut


def pieces(t: int) -> list[list[int]]:
    """Sizes of pieces that a text of t tokens may be read in with a cache."""
    half, threes = t // 2, [3] * (t // 3) + [t % 3] * (t % 3 > 0)
    return [[t], [1] * t, [half] + [1] * (t - half), [1, t - 1], threes, [half, t - half]]


def takes(function: Any, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        signature(function).bind(*[None] * count)
    except (TypeError, ValueError):  # the latter of what has no signature
        return False
    return True
