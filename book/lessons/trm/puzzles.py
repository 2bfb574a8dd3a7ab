"""The chapter's puzzles: what there is to learn from and to be judged by, and what they share."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from book.lessons.trm import measure, recipe
from book.lessons.trm.recipe import TASK


@dataclass(frozen=True)
class Puzzles:
    """What there is to learn from and to be judged by.

    Args:
        bank: mixed puzzles to learn from; of a page that only reads records, some of them.
        tests: kind → puzzles of classes held out.
        speed: how many were drawn in a second, of the bank and of each test set in turn.
    """

    bank: tuple[Tensor, Tensor]
    tests: Mapping[str, tuple[Tensor, Tensor]]
    speed: Sequence[float] = ()

    @property
    def sets(self) -> dict[str, tuple[Tensor, Tensor]]:
        """All of them, by what a table calls them."""
        return {"training, mixed": self.bank} | {
            f"held out, {kind}": batch for kind, batch in self.tests.items()
        }

    @property
    def guessing(self) -> float:
        """The share of the blanks right by a guess, of the minimal puzzles looked at closely."""
        return guessing(self.probed["minimal"][0])

    @property
    def probed(self) -> dict[str, tuple[Tensor, Tensor]]:
        """The first of each kind."""
        return {kind: recipe.probed(batch) for kind, batch in self.tests.items()}

    @cached_property
    def rounds(self) -> dict[str, Int[Tensor, " n"]]:
        """Of each puzzle of a test set; −1 where they do not solve it."""
        return {kind: TASK.rounds(batch[0]) for kind, batch in self.tests.items()}

    @cached_property
    def groups(self) -> dict[str, Bool[Tensor, " n"]]:
        """Which of all held-out puzzles, the mixed ones first, are how difficult."""
        return measure.difficulties(torch.cat([*self.rounds.values()]))


def draw(bank: int | None = None) -> Puzzles:
    """Some of the bank, or all of it, and the sets that kinds are compared on: always the same."""
    speed, batches = [], []
    for drawn, size in (
        (recipe.BANK, bank),
        *((drawn, None) for drawn in recipe.VALIDATION.values()),
    ):
        start = time.perf_counter()
        batches.append(drawn.sample(size))
        speed.append(len(batches[-1][0]) / (time.perf_counter() - start))
    first, *tests = batches
    return Puzzles(first, dict(zip(recipe.VALIDATION, tests, strict=True)), speed)


def solved_by_rounds(rounds: Int[Tensor, " n"]) -> Int[Tensor, " k"]:
    """The rounds of those puzzles that take some, and are solved by them."""
    return rounds[rounds > 0]


def guessing(puzzles: Int[Tensor, "n c"]) -> float:
    """The share of blanks right by a guess among the digits that stand in no unit of the cell."""
    choices = TASK.look(TASK.place(puzzles)).possible.sum(1)
    return (1 / choices[puzzles == 0]).mean().item()
