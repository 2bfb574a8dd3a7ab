"""Evidence that nobody has seen: random, or with what a test asks for, and quick to make."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from attn_notes.chapters.trm import recipe
from attn_notes.chapters.trm.evidence import Live, Mind, Recorded
from attn_notes.chapters.trm.measure import Legible, Solving
from attn_notes.chapters.trm.puzzles import Puzzles

KINDS = ("mixed", "minimal")
STRAIGHT = (recipe.DEEP, recipe.EQUAL)
ALL = (
    recipe.TRM_LIVE,
    *STRAIGHT,
    recipe.REREADING,
    recipe.SHARING,
    recipe.ONE_STEP,
    recipe.NO_HALTING,
    recipe.STABLEMAX,
    recipe.CHANNELS,
    recipe.TWO_CYCLES,
)
GROUPS = ("1–2", "3", "4", "5", "6", "7+", "never")
GRID = "123456456123231564564231312645645312"
THINK, USES = 16, 16


def numbers(text: str) -> list[float]:
    """All that stand in a text, in their order."""
    found = re.findall(r"\d[\d,]*\d(?:\.\d+)?|\d+(?:\.\d+)?", text)
    return [float(x.replace(",", "")) for x in found]


class Numbers:
    """Shares that are all different, rounded as in a record."""

    def __init__(self, seed: int = 0) -> None:
        self.generator = Generator().manual_seed(seed)

    def __call__(self, *shape: int) -> Any:
        return [
            [*map(self.short, row)] if shape[1:] else self.short(row) for row in self.raw(shape)
        ]

    def raw(self, shape: Sequence[int]) -> Any:
        return torch.rand(*shape, generator=self.generator).tolist()

    @staticmethod
    def short(x: float) -> float:
        return round(x, 4)


def member(draw: Numbers, steps: int, probes: int) -> dict[str, Any]:
    """One seed's record."""

    def solving() -> dict[str, Any]:
        return {"right": draw(steps), "stopped": [1 + 9 * draw(1)[0], draw(1)[0]], "lost": 0}

    return {
        **{f"{on} by step": draw(probes) for on in KINDS},
        **{on: solving() for on in KINDS},
        "certainty": {on: [[5, 1], [2, 998]] for on in KINDS},
        "without EMA": {on: {"right": draw(8)} for on in KINDS},
        "seen": {"right": draw(8)},
    }


def held_out(draw: Numbers) -> dict[str, Any]:
    """One seed's record where whole classes up to all symmetries were held out."""
    parts = ("fresh", "seen")
    return {part: {on: {"right": draw(THINK)} for on in KINDS} for part in parts} | {
        "by class": {"fresh": [[30, draw(1)[0]], [70, draw(1)[0]]]}
    }


def look_inside(draw: Numbers) -> dict[str, Any]:
    """What is recorded of the inside of one seed."""
    return {
        "by rounds": {name: draw(THINK) for name in GROUPS},
        "legible": {name: draw(USES) for name in ("answer", "mind")},
        "reliability": draw(5, 2),
        "right": {on: draw(THINK) for on in KINDS},
        "stops": {on: draw(9, 2) for on in KINDS},
    }


def recorded(seeds: int = 6, seed: int = 0) -> Recorded:
    """Random records."""
    draw = Numbers(seed)
    rates = [recipe.at_rate(kind, lr) for kind in STRAIGHT for lr in (0.001, 0.01)]
    kinds = {
        kind: {
            "steps": [0, 100, 200, 400],
            "parameters": 1000 * len(kind),
            "recipe": {"config": {"layers": len(kind)}},
            "members": [
                member(draw, 1 if kind.startswith("straight") else THINK, 4)
                for _ in range(1 if kind in rates else seeds)
            ],
        }
        for kind in (*ALL, *rates)
    }
    inside = [look_inside(draw) for _ in range(seeds)]
    return Recorded(kinds, inside, [held_out(draw) for _ in range(4)])


def level(seeds: int = 6) -> Recorded:
    """Records in which every kind leaves half of everything unsolved."""
    found = recorded(seeds)
    for kind in found.kinds.values():
        for one in kind["members"]:
            for on in KINDS:
                one[on]["right"] = [0.5] * len(one[on]["right"])
                one["without EMA"][on]["right"] = [0.5] * 8
    return found


def leave(
    found: Recorded, kind: str, left: Sequence[float], step: int = 8, on: str = "minimal"
) -> None:
    """Write down how much each seed of a kind leaves unsolved after so many steps."""
    for one, share in zip(
        found.members(recipe.TRM_LIVE if kind == recipe.WITHOUT_EMA else kind), left, strict=True
    ):
        right = (one[kind] if kind == recipe.WITHOUT_EMA else one)[on]["right"]
        right[min(step, len(right)) - 1] = None if share != share else 1 - share


def solving(right: Tensor, seed: int = 0) -> Solving:
    halt = 2 * torch.randn(right.shape, generator=Generator().manual_seed(seed))
    return Solving(right, torch.zeros(right.shape), halt)


def counted(n: int, solved: Mapping[int, int] | int) -> Tensor:
    """Answers of n puzzles in 16 steps, of which so many are right: the first ones."""
    at = dict.fromkeys(range(1, 17), solved) if isinstance(solved, int) else solved
    return torch.stack([torch.arange(n) < at.get(step, n // 2) for step in range(1, 17)])


def mind(n: int = 10, seed: int = 0) -> Mind:
    """What is read, at random, of one grid under other names."""
    generator = Generator().manual_seed(seed)
    names = torch.stack([torch.randperm(6, generator=generator) + 1 for _ in range(n)])
    solutions = names[:, [int(digit) - 1 for digit in GRID]]
    clues = solutions * (torch.rand(n, 36, generator=generator) < 0.4)
    digits = torch.randint(1, 7, (2, USES, n, 36), generator=generator)
    shares = torch.rand(2, USES, generator=generator)
    return Mind((clues, solutions), *digits, Legible(*shares))


def live(right: Tensor | None = None, **change: Any) -> Live:
    """A run of 40 minimal puzzles, at random."""
    generator = Generator().manual_seed(3)
    right = torch.rand(16, 40, generator=generator) < 0.6 if right is None else right
    values: dict[str, Any] = dict(
        minutes=torch.tensor([0.0, 1.0, 2.5]),
        course=torch.rand(3, generator=generator),
        seen=solving(right),
    )
    return Live(**values | change)


def puzzles(rounds: Mapping[str, Sequence[int]]) -> Puzzles:
    """Puzzles that take so many rounds: their boards are not looked at."""
    empty = {on: (torch.zeros(len(r), 36).long(),) * 2 for on, r in rounds.items()}
    found = Puzzles(empty["mixed"], empty)
    vars(found)["rounds"] = {on: torch.tensor(r) for on, r in rounds.items()}
    return found
