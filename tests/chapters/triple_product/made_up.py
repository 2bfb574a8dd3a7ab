"""Evidence of the chapter that nobody has measured, to turn its verdicts and figures round."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attn_notes.chapters.triple_product import recipe
from attn_notes.chapters.triple_product.evidence import Body, Costs, Learning, Sweep
from attn_notes.chapters.triple_product.geometry import Key, Resilience, Rounding
from attn_notes.chapters.triple_product.learnt import ByToken, Circuits, Loudness, Transfer
from attn_notes.chapters.triple_product.rules import Reach

LIVE, RECORDED, LONGER = "live, 6 seeds", "recorded, 8 seeds", "longer, 8 seeds"
BODIES = {LIVE: 6, RECORDED: 8, LONGER: 8}  # seeds, of which each can tell


def learning(
    end: float = 1.5,
    right: Sequence[float] | float = 0.95,
    seeds: int = 8,
    steps: int = 1200,
) -> Learning:
    """Seed s ends at a loss of `end` + s / 1000 and an accuracy of `right`, from 3 and 0."""
    accuracy = torch.tensor([right] * seeds if isinstance(right, float) else right)
    last = end + torch.arange(len(accuracy)) / 1000
    return Learning(
        floor=1.0,
        steps=torch.tensor([0, 50, steps]),
        loss=torch.stack([torch.full_like(last, 3.0), last + 0.5, last]),
        accuracy=torch.stack([torch.zeros(len(accuracy)), accuracy / 2, accuracy]),
        parameters=5120,
        seconds=12.0,
    )


def kinds(names: Sequence[str], **settings: Any) -> dict[str, Learning]:
    return {kind: learning(**settings) for kind in names}


def learnings(seeds: int, steps: int, two: Sequence[str]) -> dict[str, dict[str, Learning]]:
    """One layer copies at one period and not at a random one, two layers do."""
    return {
        "one layer": kinds(two, seeds=seeds, steps=steps),
        "one layer, random period": kinds(recipe.KINDS, right=0.4, seeds=seeds, steps=steps),
        "two layers": kinds(two, seeds=seeds, steps=steps),
    }


def loudness(**at: float) -> Loudness:
    """As found: `others_volume_100=0.2` says what one median is. Three seeds, 0.01 apart."""
    found = {
        ("others", "dot"): {0.1: 1.0, 3.0: 0.5, 100.0: 0.11},
        ("others", "volume"): {0.1: 0.12, 3.0: 0.98, 100.0: 0.97},
        ("others", "angle"): {0.1: 0.99, 3.0: 0.96, 100.0: 0.52},
        ("own", "dot"): {0.1: 0.05, 3.0: 0.94, 100.0: 0.93},
        ("own", "volume"): {0.1: 0.92, 3.0: 0.08, 100.0: 0.03},
        ("own", "angle"): {0.1: 0.15, 3.0: 0.95, 100.0: 0.99},
    }
    for name, value in at.items():
        of, kind, factor = name.split("_")
        found[of, kind][{"01": 0.1, "3": 3.0, "100": 100.0}[factor]] = value

    def seeds(of: str, kind: str) -> Tensor:
        return torch.tensor([[x - 0.01, x, x + 0.01] for x in found[of, kind].values()])

    return Loudness(
        [0.1, 3.0, 100.0],
        *({kind: seeds(of, kind) for kind in recipe.KINDS} for of in ("others", "own")),
    )


def transfer(
    home: float = 0.99, elsewhere: float = 0.2, trained: tuple[int, ...] = (12,), **one: float
) -> Transfer:
    """Two seeds; `one` changes the last seed of a kind: at 12 (`dot_home`), 11 (`dot_near`), 14."""
    periods = (10, 11, 12, 14)
    at = [[home if p in trained else 0.1, home if p in trained else elsewhere] for p in periods]
    accuracy = {kind: torch.tensor(at) for kind in recipe.KINDS}
    for name, value in one.items():
        kind, place = name.split("_")
        accuracy[kind][{"home": 2, "near": 1}.get(place, 3), 1] = value
    return Transfer(periods, trained, accuracy)


def moved(**one: Transfer) -> dict[str, Transfer]:
    """As found: who has seen one period copies there alone. `one_layer=…` changes one."""
    found = {
        "one layer": transfer(),
        "one layer, random period": transfer(0.4, 0.4, (10, 11, 12)),
        "two layers": transfer(0.95, 0.7, (10, 11, 12)),
        "two layers, period 12": transfer(),
    }
    return found | {name.replace("__", ", ").replace("_", " "): t for name, t in one.items()}


def resilience(
    dots: Sequence[float] = (0.1, 0.1, 0.1),
    volumes: Sequence[float] = (-1.0, -25.0, -10000.0),
    shared: Sequence[float] = (0.1, 0.5, 10.0),
) -> Resilience:
    lengths = (1.0, 5.0, 100.0)
    strangers = [
        Key("stranger", length, dot, volume, 0.0099)
        for length, dot, volume in zip(lengths, dots, volumes, strict=True)
    ]
    return Resilience(
        [Key("friend", 1.0, 0.7071, -0.0, 1.0), *strangers], dict(zip(lengths, shared, strict=True))
    )


def rounding(negative: float = 0.44) -> dict[str, dict[float, Rounding]]:
    return {
        "expanded": {1.0: Rounding(negative, -1e-3, 5e-4), 1000.0: Rounding(0.4, -768.0, 320.0)},
        "projected": {1.0: Rounding(0.0, -7e-4, 0.0), 1000.0: Rounding(0.0, -512.0, 0.0)},
    }


def body(name: str, **change: Any) -> Body:
    """All as the chapter found it, in round numbers, with every pair level; or changed."""
    seeds = BODIES[name]
    if name == LONGER:
        seen = Body(learnings(seeds, 3000, list(recipe.CONTENDERS)))
    elif name == LIVE:
        three = {n: t for n, t in moved().items() if n != "two layers, period 12"}
        seen = Body(learnings(seeds, 800, recipe.KINDS), three, loudness())
    else:
        seen = Body(learnings(seeds, 800, list(recipe.CONTENDERS)), moved(), loudness(), follows())
        seen.learnings["two layers, period 12"] = kinds(recipe.KINDS, steps=800)
    return replace(seen, **change)


def bodies(**change: Any) -> dict[str, Body]:
    """All three; `change` in each that has what is changed."""
    found = {}
    for name in BODIES:
        seen = body(name)
        has = {k: v for k, v in change.items() if k == "learnings" or getattr(seen, k)}
        found[name] = replace(seen, **has)
    return found


BEST = dict.fromkeys(recipe.TASKS, 1.0)
"""The best predictor's losses."""


def reach(matched: float = 0.99, near: float = 0.85, placed: float = 0.82) -> Reach:
    return Reach(
        place=0.2, places=0.3, fitted=0.6, placed=placed, last=0.62, first=0.8, vote=0.71,
        near=near, matched=matched, two=0.84,
    )  # fmt: skip


def follows(near: float = 0.9, far: float = 0.1) -> dict[str, dict[str, Tensor]]:
    """Three seeds, 0.01 apart, at 18 distances: up to 14 back a match is followed, and then not."""
    met = torch.tensor([near] * 14 + [far] * 4)[:, None] + torch.tensor([-0.01, 0, 0.01])
    each = torch.stack([met, torch.full_like(met, 0.06)])
    return {name: dict.fromkeys(recipe.KINDS, each) for name in recipe.TASKS}


def costs(features: Sequence[float] = (8.0, 2.0, 0.5), fused: float = 0.01) -> Costs:
    """Seconds at three lengths, for heads of 8; with 16 the features take three times as long."""
    runs = {}
    for d in (8, 16):
        for n, length in enumerate((24, 128, 2048)):
            seconds = {
                "expanded": 4.0,
                "projected": 3.0,
                "stable": 3.5,
                "features": features[n] * d / 8 * (1 if d == 8 else 1.5),
                "dot": 0.02,
                "fused dot": fused,
            }
            if length < 2048:
                seconds["residual"] = 9.0
            runs[f"{d} {length}"] = {
                form: {"seconds": s, "bytes": {"features": 30, "residual": 5000}.get(form, 1000)}
                for form, s in seconds.items()
            }
    return Costs([24, 128, 2048], [8, 16], runs)


def by_token() -> ByToken:
    """Six tokens that cannot be known, with a surplus on the first four, and two copies."""
    best = torch.tensor([2.77] * 6 + [0.0] * 2)
    losses = {}
    for kind in recipe.KINDS:
        middle = best + torch.tensor([0.2] * 4 + [0.1] * 4)
        losses[kind] = torch.stack([middle - 0.01, middle, middle + 0.01], 1)
    return ByToken(losses, best, 6)


def circuits(part: float = 0.5) -> Circuits:
    def seeds(x: float) -> Tensor:
        return torch.tensor([x - 0.02, x, x + 0.02])

    previous = {"dot": seeds(0.85), "volume": seeds(part), "angle": seeds(0.49)}
    source = {"dot": seeds(0.76), "volume": seeds(0.66), "angle": seeds(part)}
    return Circuits(previous, source)


def sweep(volume: int = 0) -> Sweep:
    """Best at the rate of that number for the volume, at the second for the others; four seeds."""

    def ends(best: int) -> Tensor:
        middle = torch.tensor([0.4, 0.5, 0.6])
        middle[best] = 0.1
        return middle[:, None] + torch.tensor([0.0, 0.01, 0.02, 0.03])

    scores = {kind: ends(volume if kind == "volume" else 1) for kind in (*recipe.KINDS, "line")}
    return Sweep(
        [0.01, 0.03, 0.1],
        4,
        {"one layer": 400, "two layers": 800},
        {"one layer": scores, "two layers": scores},
    )
