"""The basic words as pictures: what the sorter of this lesson does with `cab|ab`, small.

Each is an SVG without a size of its own: as high as a letter in a line of text, larger in the
glossary. Its colours are variables of the page, which says what they are in light and in dark.
"""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attn_notes.tasks import sorting
from attn_notes.tasks.prediction import token_losses
from book.lessons.attention import evidence, recipe
from book.lessons.attention.whole import Whole

ASKS, FOUND = 3, 1  # the place of the bar, and that of `a`, which is written next
HIGH = 18

Length = int | float


class Seen(NamedTuple):
    """What the sorter of the pictures does with `cab|ab`."""

    start: Float[Tensor, " e"]  # the row of `a` before training
    whole: Whole
    losses: Float[Tensor, " t"]


@cache
def seen() -> Seen:
    """The recorded sorter, asked."""
    line = sorting.complete(sorting.prompt("cab")[:3])
    tokens = line[:-1]
    start = recipe.sorter(recipe.SHOWN).token.weight[tokens[FOUND]].detach()
    with torch.no_grad():
        whole = evidence.model("mask").whole(tokens)
    return Seen(start, whole, token_losses(whole.logits, line))


# Shapes


def rect(x: Length, y: Length, width: Length, height: Length, fill: str, more: str = "") -> str:
    """A rectangle; `fill` is a CSS colour."""
    box = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {box} style="fill:{fill}{more}"/>'


def line(path: str, colour: str = "--ink", width: Length = 1) -> str:
    """A line along a path."""
    return f'<path d="{path}" style="fill:none;stroke:var({colour});stroke-width:{width:g}"/>'


def text(x: Length, words: str, kind: str) -> str:
    """Letters about x, on the line that all pictures share."""
    return f'<text x="{x:g}" y="13.5" class="{kind}">{words}</text>'


def tint(part: Length, colour: str) -> str:
    """So much of a colour, from 0 to 1, on the ground of a cell."""
    return f"color-mix(in oklab,var({colour}) {100 * min(1, part):.0f}%,var(--zero))"


def signed(number: float, most: Length) -> str:
    """The colour of a number: one hue above zero, another below."""
    return tint(abs(number) / most, "--positive" if number > 0 else "--negative")


def cells(numbers: Iterable[float], most: Length, width: Length) -> str:
    """A row of numbers as colours, each cell as wide as told."""
    return "".join(
        rect(i * width, 2, width - 1, 14, signed(number, most)) for i, number in enumerate(numbers)
    )


def bars(parts: Iterable[float], colour: str) -> str:
    """Bars from the ground up; none is so low that it cannot be seen."""
    heights = [max(1.2, 16 * min(1, part)) for part in parts]
    return "".join(
        rect(i * 4.2, 17 - high, 3.2, high, f"var({colour})") for i, high in enumerate(heights)
    )


def triangle(fills: Iterable[tuple[int, int, str]], left: Length = 0) -> str:
    """Cells of a square of places: row i, column j."""
    return "".join(rect(left + j * 3, i * 3, 2.5, 2.5, fill) for i, j, fill in fills)


# Pictures


def drawings() -> dict[str, tuple[Length, str]]:
    """Each basic word's picture: how wide it is, and what is drawn."""
    it = seen()
    score = it.whole.score[0, ASKS, FOUND].item()
    read = [(i, j) for i in range(len(it.whole.embedding)) for j in range(i + 1)]
    shares = [
        triangle(
            ((i, j, tint(it.whole.attention[h, i, j].item(), colour)) for i, j in read), 21 * h
        )
        for h, colour in enumerate(("--head-1", "--head-2"))
    ]
    frame = ";stroke:var(--ink)"
    places = (
        rect(0.5 + i * 8, 5.5, 6, 7, f"var({'--marker' if i == ASKS else '--paper'})", frame)
        for i in range(len(it.whole.embedding))
    )
    logits = it.whole.logits[ASKS].tolist()
    ground = "".join(line(f"M{x + 3} 9.5l-3 6.5", "--faint", 1.3) for x in range(0, 30, 5))
    return {
        "token": (18, rect(0.5, 0.5, 17, 17, "var(--marker)", frame) + text(9, "a", "letter")),
        "embedding": (47, cells(it.whole.embedding[FOUND].tolist(), 3.2, 8)),
        "position": (47, "".join(places)),
        "query": (27.5, cells(it.whole.query[0, ASKS].tolist(), 4, 9.5)),
        "key": (27.5, cells(it.whole.key[0, FOUND].tolist(), 4, 9.5)),
        "value": (27.5, cells(it.whole.value[0, FOUND].tolist(), 3, 9.5)),
        "score": (17, rect(0, 1, 17, 16, signed(score, 8.5))),
        "mask": (18, triangle((i, j, "var(--ink)") for i, j in read)),
        "softmax": (24.5, bars(it.whole.attention[0, ASKS].tolist(), "--head-1")),
        "head": (39, "".join(shares)),
        "residual stream": (
            18,
            line("M9 0v18", "--faint", 5)
            + '<circle cx="9" cy="9" r="6" style="fill:var(--paper);stroke:var(--ink)"/>'
            + line("M6 9h6M9 6v6"),
        ),
        "logit": (
            30,
            line("M15 0v18", "--faint")
            + "".join(
                rect(15 + min(0, 1.5 * size), 0.5 + 4.5 * i, abs(1.5 * size), 3.4, signed(size, 1))
                for i, size in enumerate(logits)
            ),
        ),
        "loss": (24.5, bars((it.losses / 1.2).tolist(), "--ink")),
        "nat": (10, line("M1 2h8M5 2v14M1 16h8", width=1.3)),
        "floor": (29, line("M0 8h29", width=2.2) + ground),
        "seed": (47, cells(it.start.tolist(), 2.5, 8)),
    }


@cache
def glyph(name: str) -> str:
    """A basic word's picture, as SVG; it says nothing that the word beside it does not.

    Raises:
        KeyError: the word has none.
    """
    wide, drawn = drawings()[name]
    return f'<svg class="attn-glyph" viewBox="0 0 {wide:g} {HIGH}" aria-hidden="true">{drawn}</svg>'
