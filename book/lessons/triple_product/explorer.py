"""The chapter's widget, filled: with recorded models, then with those trained live."""

from collections.abc import Callable, Mapping
from string import ascii_lowercase

import torch
from torch import Tensor

from book.kit import notebook
from book.lessons.triple_product import claims, evidence, recipe
from book.lessons.triple_product.learnt import Runs
from book.lessons.triple_product.widget import TripleProductExplorer

CONFIGS = {"one layer": recipe.ONE_OF_EACH, "two layers": recipe.TWO_OF_EACH}

ELSEWHERE = "gcafbnkdhpe" * 2
"""A text with a period of 11, one less than the one that a single layer is trained on."""
AT_HOME = "gcafbnkdhpej" * 2
"""One with the period that it knows."""
ASKED = len(ELSEWHERE) - 5
"""The position from which the widget asks, when it opens: there the letter that is expected is the
one twelve back, too."""


def explorer() -> TripleProductExplorer:
    """The widget with the recorded models, and all that it needs to train them anew.

    It opens on a head that was trained at period 12 and reads a text that repeats after 11.
    """
    widget = TripleProductExplorer()
    for layers, configs in CONFIGS.items():
        for kind in configs:
            _load(widget, kind, layers, evidence.weights(layers, kind))
    _teach(widget)
    widget.mode, widget.run = "head", "dot, one layer"
    widget.text, widget.position = ELSEWHERE, ASKED
    widget.head, _ = counting(ELSEWHERE)
    return widget


def counting(text: str) -> tuple[int, Tensor]:
    """The recorded head of one layer that looks where the source is if the period is its own.

    And its attention to what was read of the text, up to where the widget asks.
    """
    tokens = torch.tensor([ascii_lowercase.index(letter) for letter in text[: ASKED + 1]])
    with torch.no_grad():
        _, attention = evidence.trained("one layer", "dot").observe(tokens)
    rows = attention[0, :, ASKED]
    head = int(rows[:, ASKED + 1 - recipe.HALF].argmax())
    return head, rows[head]


def load(widget: TripleProductExplorer, layers: str, runs: Runs) -> None:
    """Show the first seed of each trained kind in the widget: "one layer" or "two layers"."""
    for kind in CONFIGS[layers]:
        _load(widget, kind, layers, {n: p[:1] for n, p in runs[kind].parameters.items()})


def progress(line: notebook.Progress) -> Callable[[str, int, dict[str, Tensor]], None]:
    """What `train_comparison` calls after each look at the models."""

    def show(kind: str, step: int, seen: dict[str, Tensor]) -> None:
        line(f"{kind}, step {step}: {100 * seen['accuracy'].mean():.0f} % of the copies are right")

    return show


def _load(
    widget: TripleProductExplorer, kind: str, layers: str, parameters: Mapping[str, Tensor]
) -> None:
    widget.load(f"{kind}, {layers}", parameters, CONFIGS[layers][kind], recipe.TASKS[layers])


def _teach(widget: TripleProductExplorer) -> None:
    """Let the reader train every kind in the page, with the settings of the live training."""
    for configs, settings in ((recipe.ONE_OF_EACH, recipe.ONE), (recipe.TWO_OF_EACH, recipe.TWO)):
        for kind, config in configs.items():
            widget.teach(
                config,
                (recipe.FIXED, recipe.RANDOM),
                rate=settings["lr"][kind],
                steps=settings["steps"],
                batch=settings["batch"],
                warmup=settings["warmup"],
                copied=claims.SOLVED,
            )
