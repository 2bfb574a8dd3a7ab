"""The records, changed so that a verdict turns; and a live run as nobody has had it."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attn_notes.chapters.equilibrium import evidence, recipe
from attn_notes.chapters.equilibrium.evidence import (
    Gradients,
    Live,
    Training,
    Ungoverned,
    Yardsticks,
)
from attn_notes.chapters.equilibrium.probes import Costs, Memory, Rates, Rest


def but_last(values: Tensor, last: float) -> Tensor:
    """The same seeds, the last of which has come to something else."""
    return torch.cat([values[:-1], values.new_tensor([last])])


def training(**ends: Tensor) -> Training:
    found = evidence.training()
    return replace(found, ends={**found.ends, **ends})


def ungoverned(kind: str, damping: int, ends: Tensor) -> Ungoverned:
    found = evidence.ungoverned()
    curves = found.curves[kind, damping].clone()
    curves[-1] = ends
    return replace(found, curves={**found.curves, (kind, damping): curves})


def gradients(correction: str, steps: int, cosine: float, seeds: int = 1) -> Gradients:
    """The last seeds' cosine after so many steps."""
    found = evidence.gradients()
    cosines = found.cosines[correction].clone()
    cosines[-seeds:, list(found.steps).index(steps)] = cosine
    return replace(found, cosines={**found.cosines, correction: cosines})


def rates(one: float = 1.0, both: float = 2.0, factor: float = 0.5, radius: float = 0.5) -> Rates:
    """Errors that fall with these powers of β, and by this factor in each step."""
    steps = recipe.RATE_STEPS
    return replace(
        evidence.rates(),
        by_beta={
            name: [0.03 * beta**power for beta in recipe.BETAS]
            for name, power in (("one side", one), ("both sides", both))
        },
        by_steps={**evidence.rates().by_steps, "AEP": [1e-3 * factor**s for s in steps]},
        radius=radius,
    )


def rests(*left: float) -> list[Rest]:
    """What is left of the force, from the quietest embeddings on."""
    return [replace(rest, left=each) for rest, each in zip(evidence.rests(), left, strict=True)]


def memory(**peaks: list[float]) -> Memory:
    found = evidence.memory()
    return replace(found, peaks={**found.peaks, **peaks})


Change = dict[str, float] | None


def costs(seconds: Change = None, cosines: Change = None) -> Costs:
    found = evidence.costs()
    return Costs({**found.seconds, **(seconds or {})}, {**found.cosines, **(cosines or {})})


def yardsticks(excerpt: bool = False) -> Yardsticks:
    return Yardsticks(4.174, {"one": 3.3, "pairs": 2.471, "threes": 2.03, "fives": 1.7}, excerpt)


def live(excerpt: bool = False, **change: Any) -> Live:
    """A run that ends 7 thousandths above BPTT's first seed."""
    end = evidence.training().curves["BPTT"][-1, 0].item() + 0.007
    losses = torch.tensor([4.2, 2.6, end])
    return replace(Live((0, 200, 400), losses, yardsticks(excerpt), "the the\nto be"), **change)
