"""The chapter's widget, filled: with recorded models, then with those trained live."""

from collections.abc import Callable, Mapping, Sequence
from string import ascii_lowercase
from typing import NamedTuple

import torch
from torch import Tensor

from book.kit import notebook
from book.lessons.triple_product import evidence, recipe
from book.lessons.triple_product.learnt import Runs
from book.lessons.triple_product.widget import TripleProductExplorer

CONFIGS = {"one layer": recipe.ONE_OF_EACH, "two layers": recipe.TWO_OF_EACH}

ELSEWHERE = "gcafbnkdhpe" * 2
"""A text with a period of 11, one less than the one that a single layer is trained on."""
AT_HOME = "gcafbnkdhpej" * 2
"""One with the period that it knows."""
ASKED = len(ELSEWHERE) - 5
"""The position from which the widget asks, when it opens: in both texts a k stands twelve before
the letter that comes next."""


NAMES = {"one layer": "one layer, taught twelve", "two layers": "two layers, taught six to twelve"}
"""What the lesson's two models are called, where only the dot product is shown."""


def copier() -> TripleProductExplorer:
    """The lesson's: a head of a model with the dot product, and all that is needed to train one.

    It opens on a head that was trained at period 12 and reads a text that repeats after 12.
    """
    widget = TripleProductExplorer(modes=["head"])
    for layers, name in NAMES.items():
        config = CONFIGS[layers]["dot"]
        weights = evidence.weights(layers, "dot")
        widget.load(name, weights, config, recipe.TASKS[layers])
    _teach(widget, ("dot",))
    return _at(widget, NAMES["one layer"], AT_HOME)


def explorer(mode: str = "head") -> TripleProductExplorer:
    """The whole of it: vectors by hand, every score in a trained head, and how to train each."""
    widget = TripleProductExplorer()
    for layers, configs in CONFIGS.items():
        for kind in configs:
            _load(widget, kind, layers, evidence.weights(layers, kind))
    _teach(widget, recipe.KINDS)
    _at(widget, "volume, one layer", AT_HOME, "volume")
    widget.mode = mode
    return widget


def _at(
    widget: TripleProductExplorer, run: str, text: str, kind: str = "dot"
) -> TripleProductExplorer:
    """Let it open on this text, and on the head that counts to twelve."""
    widget.mode, widget.run = "head", run
    widget.text, widget.position = text, ASKED
    widget.head, _ = counting(text, kind)
    return widget


def counting(text: str, kind: str = "dot") -> tuple[int, Tensor]:
    """The recorded head of one layer that looks where the source is if the period is its own.

    And its attention to what was read of the text, up to where the widget asks.
    """
    tokens = torch.tensor([ascii_lowercase.index(letter) for letter in text[: ASKED + 1]])
    with torch.no_grad():
        _, attention = evidence.trained("one layer", kind).observe(tokens)
    rows = attention[0, :, ASKED]
    head = int(rows[:, ASKED + 1 - recipe.HALF].argmax())
    return head, rows[head]


class Circuit(NamedTuple):
    """The two looks of a trained model that copies by matching, at one place of a text.

    Args:
        text: what it has read, up to the letter that it asks from.
        source: where the letter stands that is to be copied.
        notes: how much of its first look that letter gives to the one before it.
        finds: how much of the second look the last letter gives to that letter.
    """

    text: str
    source: int
    notes: float
    finds: float


def circuit() -> Circuit:
    """Of the recorded two layers, on the text that repeats after eleven."""
    text, source = ELSEWHERE[: ASKED + 1], ASKED + 1 - len(ELSEWHERE) // 2
    tokens = torch.tensor([ascii_lowercase.index(letter) for letter in text])
    with torch.no_grad():
        _, attention = evidence.trained("two layers", "dot").observe(tokens)
    notes, finds = attention[0, :, source, source - 1], attention[1, :, ASKED, source]
    return Circuit(text, source, float(notes.max()), float(finds.max()))


def load(widget: TripleProductExplorer, layers: str, runs: Runs) -> None:
    """Show the first seed that was trained with the lesson: "one layer" or "two layers"."""
    first = {name: p[:1] for name, p in runs["dot"].parameters.items()}
    widget.load(NAMES[layers], first, CONFIGS[layers]["dot"], recipe.TASKS[layers])


def progress(line: notebook.Progress) -> Callable[[str, int, dict[str, Tensor]], None]:
    """What `train_comparison` calls after each look at the models."""

    def show(kind: str, step: int, seen: dict[str, Tensor]) -> None:
        line(f"{kind}, step {step}: {100 * seen['accuracy'].mean():.0f} % of the copies are right")

    return show


def _load(
    widget: TripleProductExplorer, kind: str, layers: str, parameters: Mapping[str, Tensor]
) -> None:
    widget.load(f"{kind}, {layers}", parameters, CONFIGS[layers][kind], recipe.TASKS[layers])


def _teach(widget: TripleProductExplorer, kinds: Sequence[str]) -> None:
    """Let the reader train these in the page, with the settings of the live training."""
    for configs, settings in ((recipe.ONE_OF_EACH, recipe.ONE), (recipe.TWO_OF_EACH, recipe.TWO)):
        for kind in kinds:
            widget.teach(
                configs[kind],
                (recipe.FIXED, recipe.RANDOM),
                rate=settings["lr"][kind],
                steps=settings["steps"],
                batch=settings["batch"],
                warmup=settings["warmup"],
                copied=evidence.COPIED,
            )
