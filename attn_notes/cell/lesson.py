"""What a page is given of a lesson's cell, so that a reader may change it and see what comes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from attn_notes.programs.initial import Spec

Numbers = dict[str, Any]

WRITTEN = {"written": "your code"}
"""The kind of run that a reader's own model is, for figures, and what the reader knows it by."""


@dataclass(frozen=True)
class Training:
    """How a reader's model is trained: as the lesson trains its own.

    Attributes:
        draws: how each weight starts, as `programs.initial.draws` says it.
        rate: AdamW's highest.
        steps: how many.
        warmup: of these, in which the rate rises.
        clip: the largest norm of a gradient.
        floor: below it no honest loss gets, in nats.
        below: so far below it a loss may lie by rounding.
    """

    draws: Mapping[str, Spec]
    rate: float
    steps: int
    warmup: int
    clip: float
    floor: float
    below: float = 1e-4

    def told(self) -> Numbers:
        """As JSON has it."""
        return {**vars(self), "weights": list(self.draws)}


@dataclass(frozen=True)
class Cell:
    """A cell that defines a model, or only shows an idea.

    Attributes:
        name: of the cell on its page.
        of: the id of the notebook's cell, whose code the reader changes.
        setup: Python that stands before it: names that other cells of the lesson have made.
        task: Python that defines `task(cell, given)`, from what the cell has defined and named
            tensors to named tensors. One is `loss` where it is trained. None: the cell is only run.
        given: these tensors, the book's weights among them.
        outputs: what the book's own model makes of them, by torch.
        ahead: which of the given are tokens, which output are predictions of the next one, and how
            many different tokens there are.
        training: how it is trained, if it is.
    """

    name: str
    of: str
    setup: str = ""
    task: str = ""
    given: Mapping[str, Tensor] = field(default_factory=dict)
    outputs: Mapping[str, Tensor] = field(default_factory=dict)
    ahead: tuple[str, str, int] = ("tokens", "logits", 0)
    training: Training | None = None

    def told(self) -> Numbers:
        """As JSON has it."""
        tokens, logits, vocabulary = self.ahead
        return {
            "setup": self.setup,
            "task": self.task,
            "inputs": [{"name": name, **_numbers(x)} for name, x in self.given.items()],
            "outputs": {name: _numbers(x) for name, x in self.outputs.items()},
            "ahead": {"tokens": tokens, "logits": logits, "vocabulary": vocabulary},
            "train": self.training and self.training.told(),
        }


def _numbers(x: Tensor) -> Numbers:
    dtype = "float32" if x.is_floating_point() else "int64"
    values: Sequence[float] = x.detach().flatten().tolist()
    if x.is_floating_point():
        values = [float(f"{value:.9g}") for value in values]  # all that single precision has
    return {"values": values, "shape": list(x.shape), "dtype": dtype}
