"""What the lesson's runs found, live and recorded, as values: no sentences."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run
from book.kit import results
from book.kit.predictions import Number, Part
from book.lessons.attention import measure, recipe
from book.lessons.attention.whole import WholeSorter

ASKED = Number(
    "words in order",
    0,
    27,
    label="Trained without the mask, how many of the 27 words does it write in order?",
)


class Crowd(NamedTuple):
    """Sorters that were trained in one way, with the mask or without."""

    steps: Int[Tensor, " n"]  # at which the loss was kept
    losses: Float[Tensor, "n m"]  # of each seed, in nats a token
    right: Int[Tensor, " m"]  # words that each writes in order, by itself

    @property
    def below(self) -> int:
        """How many end below the floor."""
        return int((self.losses[-1] < sorting.FLOOR - 1e-3).sum())


def members(mask: str, run: Run) -> list[WholeSorter]:
    """The trained sorters, of each the head first that looks for the letter to be written."""
    may_read = recipe.MASKS[mask]
    trained = [run.member(i) for i in range(run.history["loss"].shape[1])]
    return [measure.in_order(model, may_read) for model in trained]  # type: ignore[arg-type]


def crowd(mask: str, run: Run) -> Crowd:
    """What the seeds of one way came to."""
    may_read = recipe.MASKS[mask]
    right = [measure.right(model, may_read) for model in members(mask, run)]
    return Crowd(run.steps, run.history["loss"], torch.tensor(right))


def recorded() -> dict[str, Crowd]:
    """The recorded runs, 32 seeds each way."""
    runs = results.load("attention_seeds")["runs"]
    return {
        mask: Crowd(*(torch.tensor(runs[mask][name]) for name in Crowd._fields)) for mask in runs
    }


def curve() -> list[tuple[int, float]]:
    """The recorded loss of the sorter in the pictures, with the mask: steps and nats."""
    crowd = recorded()["mask"]
    own = crowd.losses[:, recipe.RECORDED.index(recipe.SHOWN)]
    pairs = zip(crowd.steps.tolist(), own.tolist(), strict=True)
    return [(step, round(loss, 4)) for step, loss in pairs]


def shown() -> dict[str, dict[str, Tensor]]:
    """The two sorters of the pictures, with the mask and without, of the same seed."""
    with np.load(results.path("attention_shown.npz")) as saved:
        arrays = {name: torch.from_numpy(saved[name]) for name in saved.files}
    return {
        mask: {
            name.partition(":")[2]: value
            for name, value in arrays.items()
            if name.startswith(f"{mask}:")
        }
        for mask in recipe.MASKS
    }


def model(mask: str) -> WholeSorter:
    """One of them, as a model."""
    sorter = recipe.sorter(recipe.SHOWN)
    sorter.load_state_dict(shown()[mask])
    return sorter


def start() -> tuple[int, dict[str, Tensor]]:
    """The seed of both, and its first weights, with the heads as in the one without the mask."""
    return recipe.SHOWN, measure.swapped(recipe.sorter(recipe.SHOWN)).state_dict()


def predicted() -> list[Part]:
    """What was asked, with what came out."""
    return [ASKED.came(float(measure.right(model("no mask"), recipe.MASKS["no mask"])))]
