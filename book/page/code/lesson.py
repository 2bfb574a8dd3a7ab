"""What a page is given of a lesson's cell, so that a reader may change it and see what comes."""

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

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
        below: so far below it a loss may lie by rounding, or by luck.
        more: what else `_lesson_STEM.js` reads.
    """

    draws: Mapping[str, Spec]
    rate: float
    steps: int
    warmup: int
    clip: float
    floor: float
    below: float = 1e-4
    more: Mapping[str, Any] = field(default_factory=dict)

    def told(self) -> Numbers:
        """As JSON has it."""
        own = {name: value for name, value in vars(self).items() if name != "more"}
        return {**own, **self.more, "weights": list(self.draws)}


AHEAD = ("tokens", "vocabulary")
CHOOSES = ("what", "of")


@dataclass(frozen=True)
class Cell:
    """A cell that defines a model, or only shows an idea.

    Attributes:
        name: of the cell on its page.
        of: the id of the notebook's cell, whose code the reader changes.
        needs: the id of another cell, whose code a reader leaves as it is, and which runs before.
        task: Python that defines `task(cell, given)`, from what the cell has defined and named
            tensors to named tensors, `logits` among them, and `loss` where it is trained; torch's
            own runs it as well. Without one the cell is only run.
        given: these tensors, the book's weights among them.
        outputs: what the book's own model makes of them, by torch; where there are none, it is what
            the book's own cell makes of them.
        ahead: which of the given are tokens, of which the logits predict the next, and how many
            different ones there are; none where nothing is to be read from left to right.
        chooses: what the largest of so many logits chooses, in a word, and of how many.
        training: how it is trained, if it is.
    """

    name: str
    of: str
    needs: str = ""
    task: str = ""
    given: Mapping[str, Tensor] = field(default_factory=dict)
    outputs: Mapping[str, Tensor] = field(default_factory=dict)
    ahead: tuple[str, int] | None = None
    chooses: tuple[str, int] | None = None
    training: Training | None = None

    def told(self, source: str, setup: str = "") -> Numbers:
        """As JSON has it, of a cell and of the one it needs, with their code in the notebook."""
        return {
            "setup": setup,
            "task": self.task,
            "inputs": [{"name": name, **_packed(x)} for name, x in self.given.items()],
            "outputs": {
                name: {**numbers(x.flatten()[:COMPARED]), "shape": list(x.shape)}
                for name, x in (self.outputs or self._by_torch(setup, source)).items()
            },
            "chooses": self.chooses and dict(zip(CHOOSES, self.chooses, strict=True)),
            "ahead": self.ahead and dict(zip(AHEAD, self.ahead, strict=True)),
            "train": self.training and self.training.told(),
        }

    def _by_torch(self, *code: str) -> dict[str, Tensor]:
        """What the book's own cell makes of the given tensors, in double precision."""
        if not self.task:
            return {}
        space: dict[str, Any] = {"torch": torch, "nn": torch.nn, "F": F, "math": math}
        space |= {"grad": torch.func.grad, "vjp": torch.func.vjp, "jvp": torch.func.jvp}
        given = {
            name: rounded(x.detach()).double() if x.is_floating_point() else x
            for name, x in self.given.items()
        }
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            for each in (*code, self.task):
                exec(compile(each, "<cell>", "exec"), space)
            found: dict[str, Tensor] = space["task"](space, given)
        finally:
            torch.set_default_dtype(usual)
        return {"logits": found["logits"].detach()}


LARGE = 4096
"""Weights of more numbers travel in half precision; the book's model has them rounded as well."""


def rounded(x: Tensor) -> Tensor:
    """A tensor as it arrives in a page."""
    return x.half().to(x.dtype) if x.is_floating_point() and x.numel() > LARGE else x


def _packed(x: Tensor) -> Numbers:
    if x.is_floating_point() and x.numel() > LARGE:
        half = x.detach().half().flatten().numpy().astype("<f2").tobytes()
        return {"half": b64encode(half).decode(), "shape": list(x.shape), "dtype": "float32"}
    return numbers(x)


COMPARED = 2048
"""Of larger outputs so many numbers are compared, the first."""


def numbers(x: Tensor) -> Numbers:
    """A tensor as JSON has it, to all the digits of single precision."""
    dtype = "float32" if x.is_floating_point() else "int64"
    values: Sequence[float] = x.detach().flatten().tolist()
    if x.is_floating_point():
        values = [float(f"{value:.9g}") for value in values]  # all that single precision has
    return {"values": values, "shape": list(x.shape), "dtype": dtype}
