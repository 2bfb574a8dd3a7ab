"""What trained copiers do: at other periods, on random letters, with a loud token, inside a head.

Live they are made from runs as `measure.train_comparison` returns them, by kind; recorded ones come
back from the numbers that `book/experiments` kept. Tensors have the seeds, m of them, as their last
dimension, unless something else is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from attn_notes.models.triple_product import AttentionOnly
from attn_notes.tasks.copying import Copying
from attn_notes.training.ensemble import Run
from book.kit.words import median
from book.lessons.triple_product import measure, recipe

Runs = Mapping[str, Run]
"""Kind → its trained models."""

OfKinds = Mapping[str, Tensor]
"""Kind → what was found of its seeds."""


def members(run: Run) -> list[AttentionOnly]:
    """Every trained model of a kind."""
    return [cast(AttentionOnly, run.member(s)) for s in range(run.history["loss"].shape[1])]


# --- At other periods


@dataclass(frozen=True)
class Transfer:
    """Share of copies right at several periods, of models trained at some of them.

    Args:
        periods: at test.
        home: those that they were trained on.
        accuracy: kind → [periods, m].
    """

    periods: Sequence[int]
    home: tuple[int, ...]
    accuracy: OfKinds

    def at(self, kind: str, period: int) -> Float[Tensor, " m"]:
        """At one period."""
        return self.accuracy[kind][self.periods.index(period)]

    def at_home(self, kind: str) -> Float[Tensor, " m"]:
        """Of each seed at that period of training where it is worst."""
        return self._home(kind).amin(0)

    def copies(self, kind: str) -> Float[Tensor, " m"]:
        """Of each seed over all periods of training, each counted alike."""
        return self._home(kind).mean(0)

    def elsewhere(self, kind: str) -> Float[Tensor, "k m"]:
        """At the periods on which it was not trained."""
        return torch.stack([self.at(kind, p) for p in self.periods if p not in self.home])

    def _home(self, kind: str) -> Float[Tensor, "h m"]:
        return torch.stack([self.at(kind, p) for p in self.periods if p in self.home])


def transfer(runs: Runs, task: Copying) -> Transfer:
    """Of models trained on a task."""
    accuracy = {
        kind: measure.transfer(
            members(run), task.vocabulary, recipe.TESTED, Generator().manual_seed(8)
        )
        for kind, run in runs.items()
    }
    return Transfer(recipe.TESTED, task.periods, accuracy)


# --- By content or by distance


def follows(runs: Runs, task: Copying) -> dict[str, Float[Tensor, "2 d m"]]:
    """Kind → what each seed predicts on random letters: see `measure.follows`."""
    return {
        kind: torch.stack(
            [measure.follows(m, task, Generator().manual_seed(14)) for m in members(run)], -1
        )
        for kind, run in runs.items()
    }


# --- Where one layer looks


def _noise() -> Int[Tensor, "n t"]:
    """Random sequences, in which there is nothing to find."""
    generator = Generator().manual_seed(7)
    return torch.randint(
        recipe.FIXED.vocabulary, (256, recipe.FIXED.length - 1), generator=generator
    )


@torch.no_grad()
def offsets(one: Runs) -> dict[str, Float[Tensor, "t m"]]:
    """Kind → mean attention at each distance back on random sequences.

    Of each seed the head that looks most to where the source of a copy is: 11 places back.
    """
    rows, noise = slice(recipe.HALF, None), _noise()
    found = {}
    for kind in recipe.KINDS:
        profiles = [
            measure.by_offset(m.observe(noise)[1][:, 0].mean(0), rows) for m in members(one[kind])
        ]
        heads = [p[p[:, recipe.HALF - 1].argmax()] for p in profiles]
        found[kind] = torch.stack(heads, 1)
    return found


def trained_scores(one: Runs) -> tuple[float, float]:
    """The trained volume's lowest score and mean largest weight of a row, on random letters."""
    found = [measure.score_spread(m, _noise()) for m in members(one["volume"])]
    return min(x["lowest"] for x in found), sum(x["sharpest"] for x in found) / len(found)


# --- Two layers


@dataclass(frozen=True)
class Circuits:
    """How far two layers are an induction circuit.

    Args:
        previous: kind → mean attention one place back of the best head of layer 1, [m].
        source: kind → mean attention at the right source of the best head of layer 2, [m].
    """

    previous: OfKinds
    source: OfKinds


def circuits(two: Runs) -> Circuits:
    """Of trained two-layer models, on the task with a random period."""
    task = recipe.RANDOM
    found = {
        kind: torch.stack(
            [
                measure.induction(m.observe, task, Generator().manual_seed(9))
                for m in members(two[kind])
            ]
        )
        for kind in recipe.KINDS
    }
    return Circuits(
        {kind: heads[:, 0, :, 0].amax(1) for kind, heads in found.items()},
        {kind: heads[:, 1, :, 1].amax(1) for kind, heads in found.items()},
    )


# --- One token made louder


@dataclass(frozen=True)
class Loudness:
    """Share of copies right when one token's embedding is multiplied.

    Args:
        factors: by which.
        others: kind → copies whose source is another token, [factors, m].
        own: kind → the copy whose source is the loud one, [factors, m].
    """

    factors: Sequence[float]
    others: OfKinds
    own: OfKinds

    def of(self, what: str, kind: str, factor: float) -> Float[Tensor, " m"]:
        """At a factor, of the `others` or of the token's `own` copy."""
        accuracy = {"others": self.others, "own": self.own}[what][kind]
        return accuracy[self.factors.index(factor)]

    def at(self, what: str, kind: str, factor: float) -> float:
        """The median over the seeds."""
        return median(self.of(what, kind, factor))


def loudness(one: Runs) -> Loudness:
    """Of trained one-layer models."""
    found = {
        kind: torch.tensor(
            [
                [
                    measure.accuracy_at_loudness(m, recipe.FIXED, c, Generator().manual_seed(10))
                    for m in members(one[kind])
                ]
                for c in recipe.FACTORS
            ]
        )
        for kind in recipe.KINDS
    }
    return Loudness(
        recipe.FACTORS,
        {kind: both[..., 0] for kind, both in found.items()},
        {kind: both[..., 1] for kind, both in found.items()},
    )
