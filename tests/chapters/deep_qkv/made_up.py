"""Made-up results of the chapter: seeds that converge when a test says so."""

import math

import torch
from torch import Tensor

from attn_notes.chapters.deep_qkv import recipe
from attn_notes.chapters.deep_qkv.evidence import Crowd
from attn_notes.models.deep_qkv import Config, Sorter

SEEDS = 12
EARLY = torch.arange(100.0, 100 + 10 * SEEDS, 10)
LATE = EARLY + 500
NEVER = torch.full((SEEDS,), math.inf)
NAN = torch.full((SEEDS,), math.nan)


def crowd(arrivals: Tensor = EARLY, *, lowest: float = 0.367, last: float = 0.37) -> Crowd:
    """A crowd of these arrivals, whose losses end at `last` and fall to `lowest`."""
    steps = torch.arange(0, 1001, 10)
    seeds = len(arrivals)
    quartiles = torch.linspace(1.5, last, len(steps))[:, None] + torch.tensor([0.0, 0.01, 0.02])
    losses = torch.linspace(1, 6, 6) + torch.arange(3.0)[:, None, None] * torch.ones(3, seeds, 6)
    solved = torch.where(arrivals.isfinite(), recipe.SOLVED, 20)
    return Crowd(steps, arrivals, solved, lowest, 24.0, quartiles, (0, 50, 1000), losses)


def crowds(**changed: Tensor) -> dict[str, Crowd]:
    """All kinds converging at the same steps, but those that are changed.

    A kind is named as `plain__knowable` for "plain, knowable".
    """
    arrivals = {name.replace("__", ", "): values for name, values in changed.items()}
    assert arrivals.keys() <= recipe.KINDS.keys()
    return {kind: crowd(arrivals.get(kind, EARLY)) for kind in recipe.KINDS}


class Fixed(Sorter):
    """A sorter whose attention is set: head 0 reads the a's, or the first place, head 1 evenly."""

    def __init__(self, by: str) -> None:
        super().__init__(Config("plain"), torch.Generator().manual_seed(0))
        self.by = by

    def observe(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, attention = super().observe(x)
        even = torch.ones_like(attention).tril()
        wanted = even.clone()
        if self.by == "letter":
            wanted[:, 0] *= 1e-6 + (x == 1)[:, None].float()
        else:
            wanted[:, 0, :, 1:] *= 1e-6
        return logits, wanted / wanted.sum(-1, keepdim=True)
