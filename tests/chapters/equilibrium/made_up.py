"""Evidence of the chapter as nobody has found it: all numbers differ, and every claim holds."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attn_notes.chapters.equilibrium.evidence import (
    Gradients,
    Live,
    Scene,
    Training,
    Ungoverned,
    Yardsticks,
)
from attn_notes.chapters.equilibrium.probes import (
    Costs,
    Credit,
    Memory,
    Rates,
    Rest,
    Scaled,
    Settling,
    Spectrum,
)


def evenly(first: float, step: float, m: int) -> Tensor:
    """m numbers, one for each seed."""
    return first + step * torch.arange(m, dtype=torch.float64)


# Where each kind ends, seed 0, and by how much each next seed ends higher.
ENDS = {
    "BPTT": (2.440, 0.002),
    "exact": (2.444, 0.002),
    "AEP": (2.443, 0.003),
    "AEP, clipped": (2.510, 0.002),
    "naive EP": (2.550, 0.002),
    "frozen": (2.600, 0.002),
}


COUNTED = {"one": 3.311, "pairs": 2.482, "threes": 2.041, "fives": 1.713}


def training(seeds: int = 8, counted: dict[str, float] | None = None, **ends: Tensor) -> Training:
    """Every curve ends 0.01 below its end on more pieces."""
    found = {kind: evenly(*first, seeds) for kind, first in ENDS.items()} | ends
    return Training(
        (0, 200, 400),
        {kind: torch.stack([end * 0 + 4.2, end + 0.1, end - 0.01]) for kind, end in found.items()},
        found,
        {kind: evenly(0.1 * i + 0.3, 0.01, seeds) for i, kind in enumerate(ENDS)},
        COUNTED | (counted or {}),
        {kind: f"\nthe {kind} of\n" for kind in ENDS},
        1234,
    )


FREE = {
    ("BPTT", 3): 2.410,
    ("AEP", 3): 2.411,
    ("AEP, clipped", 3): 2.61,
    ("naive EP", 3): 2.71,
    ("BPTT", 1): 2.310,
    ("AEP", 1): 2.312,
    ("AEP, clipped", 1): 2.62,
    ("naive EP", 1): 2.72,
}


def ungoverned(**ends: Tensor) -> Ungoverned:
    """Three seeds of each, none of which runs away; `AEP_1` is AEP at damping 1."""
    found = {of: evenly(first, 0.01, 3) for of, first in FREE.items()}
    for name, end in ends.items():
        kind, _, damping = name.rpartition("_")
        found[kind, int(damping)] = end
    return Ungoverned(
        (0, 200, 400),
        {of: torch.stack([end * 0 + 4.3, end + 0.1, end]) for of, end in found.items()},
    )


COSINES = {"none": (0.8, 0.70, 0.65), "clipped": (0.9, 0.96, 0.970), "full": (0.95, 0.99, 1.0)}
LENGTHS = {"none": (0.6, 0.94, 0.98), "clipped": (0.7, 0.96, 2.5), "full": (0.8, 0.97, 1.0)}


def gradients(**late: Tensor) -> Gradients:
    """Five seeds after 5, 20 and 320 steps; `clipped_320` gives those of one correction there."""
    lower = evenly(0, 0.002, 5)[:, None]
    cosines = {c: torch.tensor([v], dtype=torch.float64) - lower for c, v in COSINES.items()}
    cosines["full"][:, 2] = evenly(1 - 1e-8, -1e-8, 5)
    steps = (5, 20, 320)
    for name, values in late.items():
        correction, _, at = name.partition("_")
        cosines[correction][:, steps.index(int(at))] = values
    return Gradients(
        3,
        7,
        steps,
        cosines,
        {c: torch.tensor([v], dtype=torch.float64) + lower for c, v in LENGTHS.items()},
        (0.02, 2.0, 20.0),
        torch.tensor([[1e-8, 2e-8, 7e-7]] * 5, dtype=torch.float64),
        torch.tensor([[6e-5, 6e-6, 1.2e-6]] * 5, dtype=torch.float64),
    )


def yardsticks(excerpt: bool = False) -> Yardsticks:
    return Yardsticks(4.174, {"one": 3.3, "pairs": 2.471, "threes": 2.03, "fives": 1.7}, excerpt)


def live(excerpt: bool = False, **change: Any) -> Live:
    """A run that ends 7 thousandths above BPTT's first seed."""
    losses = torch.tensor([4.2, 2.6, 2.437])
    return replace(Live((0, 200, 400), losses, yardsticks(excerpt), "the the\nto be"), **change)


def rates(one: float = 1.0, both: float = 2.0, factor: float = 0.6, **change: Any) -> Rates:
    """Errors that fall with these powers of β, and by this factor in each step."""
    betas, steps = (0.1, 0.2, 0.4), tuple(range(2, 21, 2))
    return replace(
        Rates(
            betas,
            {
                "one side": [0.03 * beta**one for beta in betas],
                "both sides": [0.05 * beta**both for beta in betas],
            },
            steps,
            {
                "AEP": [1e-5 * factor**s for s in steps],
                "AEP, clipped": [0.04 + 0.01 * abs(s - 8) for s in steps],
                "naive EP": [0.52] * len(steps),
            },
            0.61,
        ),
        **change,
    )


def rests(loud: float = 3e-4) -> list[Rest]:
    """Two spreads of the embeddings; what is left of the force at the larger."""
    return [Rest(0.02, 1e-6, 2e-6, 0.1), Rest(6.0, loud, 4e-4, 0.1)]


def memory(**peaks: list[float]) -> Memory:
    return Memory(
        (5, 10, 40),
        {"BPTT": [10.0, 20.0, 80.0], "AEP": [9.0, 9.2, 9.5], "adjoint": [7.0, 7.1, 7.2]} | peaks,
    )


SECONDS = {
    "step by step, as published": 8.0,
    "the same, linearised once": 4.0,
    "AEP, longer steps": 2.0,
    "AEP, longer steps, one side": 1.0,
    "BPTT, 120 steps of 0.1": 5.0,
    "BPTT, 12 steps of 0.5": 0.8,
    "adjoint relaxation": 0.5,
}


def costs(**change: dict[str, float]) -> Costs:
    """Changes of `seconds` and `cosines`, by way."""
    cosines = {way: 0.98 + 0.001 * i for i, way in enumerate(SECONDS)}
    return Costs(SECONDS | change.get("seconds", {}), cosines | change.get("cosines", {}))


def scenes(off: float = 90.0) -> dict[str, Scene]:
    """In the second the naive arrow is off by so many degrees."""
    axis = torch.linspace(-2, 2, 5).double()

    def scene(degrees: float) -> Scene:
        turn = math.radians(degrees)
        naive = torch.tensor([math.cos(turn), math.sin(turn)]).double()
        true = torch.tensor([1.0, 0.0]).double()
        arrows = {"true": true, "AEP": 0.9 * true, "naive": naive}
        flow = torch.stack(torch.meshgrid(-axis, -axis / 2, indexing="ij"), -1)
        return Scene(axis, flow, torch.tensor([0.5, 0.1]), torch.tensor([0.4, -0.3]), arrows)

    return {"mutual": scene(0.0), "one way": scene(off)}


def credit(swapped: bool = False) -> Credit:
    """AEP's goes to the past, the naive one's to the future; or the other way round."""
    past = torch.tensor([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [1.0, 1.0, 2.0]])
    maps = {"exact": past, "AEP": past, "naive EP": past.T.clone()}
    if swapped:
        maps["AEP"], maps["naive EP"] = maps["naive EP"], maps["AEP"]
    return Credit(["a", "␣", "b"], maps)


def spectrum(right: float = -1.5, reach: float = 0.4) -> Spectrum:
    return Spectrum(
        torch.tensor([right + 1j, right - 1j, -3 + 0j]),
        torch.tensor([-4.0, -1.0, reach]),
        torch.tensor([-2.2, 0.0, 2.2]),
    )


def scaled() -> Scaled:
    return Scaled(
        (0.5, 1.0, 2.0),
        {
            0.0: [1e-9, 0.1, math.inf],
            1.0: [1e-6, 0.01, 0.2],
            3.0: [2e-6, 1e-5, 0.1],
            7.0: [3e-6, 4e-6, 5e-6],
        },
    )


def settling() -> Settling:
    return Settling(
        {
            "ε = 0.1": torch.tensor([1.0, 0.1, 0.02, 0.01, 9e-4]),
            "ε = 0.5": torch.tensor([1.0, 0.1, 8e-4]),
            "ε = 0.5, mixed": torch.tensor([1.0, 7e-4, 1e-9]),
        }
    )
