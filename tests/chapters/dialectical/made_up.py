"""Evidence that nobody has measured: whatever a test wants the chapter to rest on."""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from attn_notes.chapters.dialectical import recipe
from attn_notes.chapters.dialectical.evidence import Live, Recorded

WATCHED = ("published", "published, masked", "corrected")
FAULTS = ("unbalanced", "contain PAD", "exceed the budget", "ten fillers in a row")
SEEDS = 8
LEVEL = [0.0200, 0.0201, 0.0202, 0.0203, 0.0204, 0.0205, 0.0206, 0.0207]


def member(excess: float, **other: Any) -> dict[str, Any]:
    found = {
        "excess": excess,
        "mean steps": 5.0,
        "tension": [0.3, 0.3, 0.3, 0.3, 0.3, 0.3],
        "tension and entropy": 0.0,
        "depth": {"0": [0.03, 0.5], "1": [0.01, 0.496], "2": [0.5, 0.004]},
    }
    return found | other


def watched(**other: Any) -> dict[str, Any]:
    found = {
        "loss": 1.3,
        "leak": 0.0,
        "loss on prefixes": 1.3,
        "streams apart": 0.5,
        "first token saves": 0.5,
    }
    return found | other


def sweep(tension: dict[float, tuple[float, float, float]]) -> dict[str, list[list[float]]]:
    """The loss of n moves for everybody is 0.75 − n / 8; tension: τ → steps, moves, loss."""
    return {
        "depth": [[n, float(n), float(n), 0.75 - n / 8] for n in range(7)],
        "tension": [[tau, *row] for tau, row in tension.items()],
    }


EVEN = dict.fromkeys(recipe.TOLD, (4.0, 3.0, 0.375))


def recorded() -> Recorded:
    """All kinds alike, nothing leaks, nothing halts early, and no text is wrong."""
    none = dict.fromkeys(FAULTS, 0)
    written = {
        logits: {
            str(budget): {name: dict(none) for name in ("published", "grammar")}
            for budget in recipe.BUDGETS
        }
        for logits in ("as trained", "logits lower by 30")
    }
    inside = {
        kind: {
            "steps": [0, 20],
            "at work": [[[6.0, 0.9, 0.8]] * SEEDS, [[5.0, 0.5, 0.4]] * SEEDS],
            "best": 1.29,
            "untrained": {"gradient of the keys": 0.0, "tension": 0.9},
            "members": [watched() for _ in range(SEEDS)],
            "written": [deepcopy(written) for _ in range(3)],
            "halting": [sweep(EVEN) for _ in range(SEEDS)],
        }
        for kind in WATCHED
    }
    parts = {
        kind: {
            "parameters": 100,
            "operations": 2e6,
            "head_dim": 16,
            "members": [member(excess) for excess in LEVEL],
        }
        for kind in recipe.KINDS
    }
    rates = [3e-3, 1e-2, 3e-2]
    return Recorded(
        {"runs": parts},
        {"runs": inside},
        {
            "settings": {"rates": rates, "seeds": 4, "steps": 300},
            "runs": {
                f"{kind} {rate}": {"excess": [[0.5] * 4, [rate] * 4]}
                for kind in recipe.KINDS
                for rate in rates
            },
        },
        {
            "settings": {"seeds": 3, "steps": 200},
            "runs": {
                "published": {
                    "parameters": 12345,
                    "steps": [0, 200],
                    "excess": [[0.5] * 3, [-0.1] * 3],
                },
                "corrected": {"steps": [0, 200], "excess": [[0.5] * 3, [0.2] * 3]},
            },
        },
    )


def ends(made: Recorded, kind: str, losses: list[float]) -> None:
    """Let the seeds of a kind end at these losses above the floor."""
    for found, excess in zip(made.parts["runs"][kind]["members"], losses, strict=True):
        found["excess"] = excess


def of_parts(made: Recorded, kind: str, what: str, values: list[Any]) -> None:
    """Let the seeds of a kind show this."""
    for found, value in zip(made.parts["runs"][kind]["members"], values, strict=True):
        found[what] = value


def of_inside(made: Recorded, kind: str, what: str, values: list[Any]) -> None:
    """Let the watched seeds of a kind show this."""
    for found, value in zip(made.inside["runs"][kind]["members"], values, strict=True):
        found[what] = value


def halting(made: Recorded, tau: float, losses: list[float]) -> None:
    """Let halting below τ lose so much, each seed, with four steps and three moves a token."""
    runs = made.inside["runs"]["corrected"]
    runs["halting"] = [sweep(EVEN | {tau: (4.0, 3.0, loss)}) for loss in losses]


def fault(made: Recorded, kind: str, logits: str, decoder: str, name: str) -> None:
    """Let one text of one kind have a fault."""
    made.inside["runs"][kind]["written"][1][logits]["40"][decoder][name] = 1


def live(
    published: tuple[float, ...] = (-0.2, -0.3, -0.25),
    mended: tuple[float, ...] = (0.02, 0.015, 0.01),
    leaks: tuple[float, ...] = (0.0, 0.0, 0.0),
) -> Live:
    """The reader's models, ending so; the mended one leaks so."""

    def curve(end: tuple[float, ...]) -> Tensor:
        return torch.tensor([[0.7] * len(end), [0.1] * len(end), list(end)])

    whole = torch.ones(7, 7)
    return Live(
        torch.tensor([0, 50, 100]),
        {"as published": curve(published), "mask mended": curve(mended)},
        {"as published": torch.tensor(published), "mask mended": torch.tensor(mended)},
        {"as published": torch.tensor([3.0, 3.0, 3.0]), "mask mended": torch.tensor(leaks)},
        {"as published": whole, "mask mended": whole.tril()},
    )
