"""The chapter's tables: the opponents of its lesson, and those of its evidence page."""

from IPython.display import HTML
from torch import Tensor

from attn_notes.analysis import statistics
from attn_notes.models.trm import OFFICIAL, PUBLISHED, Config
from book.kit import notebook, verdicts
from book.kit.words import median, number, percent
from book.lessons.trm import recipe
from book.lessons.trm.claims import HERE, NAMES, QUESTIONS, compared
from book.lessons.trm.evidence import Recorded
from book.lessons.trm.puzzles import Puzzles, solved_by_rounds
from book.lessons.trm.recipe import (
    DEEP,
    LIVE,
    ONE_STEP,
    REREADING,
    SHARING,
    TASK,
    THINK,
    TRAINED,
    TRM_LIVE,
    Recipe,
)
from book.lessons.trm.supervision import Settings

# --- The opponents


def effects(recorded: Recorded) -> HTML:
    """By how much kinds differ, of a hundred minimal puzzles."""

    def solved(kind: str, step: int = TRAINED) -> Tensor:
        return recorded.solved(kind, "minimal", step)

    pairs = {
        "eight steps than one, each trained for": (solved(TRM_LIVE), solved(ONE_STEP, 1)),
        "reading again than reading once, in one look": (solved(REREADING, 1), solved(DEEP, 1)),
        "one set of weights than four, reading again": (solved(SHARING, 1), solved(REREADING, 1)),
        "keeping y and z apart than one state": (solved(ONE_STEP, 1), solved(SHARING, 1)),
        "split up to names than up to all symmetries": (solved(TRM_LIVE), recorded.split("fresh")),
        "stopping at an estimate of ½ than sixteen steps": (
            recorded.stopped()[1],
            solved(TRM_LIVE, THINK),
        ),
    }
    rows = []
    for name, (ours, theirs) in pairs.items():
        middle, low, high = statistics.difference(100 * ours, 100 * theirs)
        rows.append([name, number(middle, 1), f"{number(low, 1)} to {number(high, 1)}"])
    return notebook.table(["more solved by", "of a hundred", "95 % interval"], rows)


# --- The puzzles


def puzzles_table(puzzles: Puzzles) -> HTML:
    """How many are drawn in a second, and what they are like."""

    def row(name: str, boards: Tensor, speed: float) -> list[object]:
        clues, rounds = (boards > 0).sum(1), TASK.rounds(boards)
        needed = solved_by_rounds(rounds).float()
        return [
            name,
            f"{speed:,.0f}",
            f"{clues.float().mean():.1f} ({clues.min()} to {clues.max()})",
            f"{needed.mean():.1f} (to {needed.max():.0f})",
            f"{percent((rounds < 0).float().mean())} %",
            f"{(TASK.solve(boards)[0] == 1).sum():,} of {len(clues):,}",
        ]

    header = ["puzzles", "drawn per second", "clues", "rounds", "not by rounds"]
    return notebook.table(
        [*header, "with exactly one solution"],
        [
            row(name, batch[0], speed)
            for (name, batch), speed in zip(puzzles.sets.items(), puzzles.speed, strict=True)
        ],
    )


# --- Sizes and settings


def model_table() -> HTML:
    """The published network, the official code's and the one that is trained here."""
    configs = PUBLISHED, OFFICIAL, LIVE.config
    published, official, here = (f"{recipe.parameters(config):,}" for config in configs)
    fields = {
        "width": "width",
        "layers": "layers",
        "thoughts n": "latent_steps",
        "cycles T": "cycles",
        "summary tokens": "summary",
        "norm after mixing is over": "norm",
    }
    return notebook.table(
        ["part", "the source", "the official code", "here"],
        [
            [
                "cells, digits",
                "81 and 9, fixed in the code",
                "any",
                f"any: {TASK.cells} and {TASK.side}",
            ],
            *(
                [name, *(str(getattr(config, field)) for config in configs)]
                for name, field in fields.items()
            ),
            ["rotary positions", "defined, never used", "with attention", "with attention"],
            ["where y and z start", "called learnable; fixed", "fixed", "fixed"],
            [
                "losses, training, data",
                "none",
                "from the paper",
                "from the paper, each part a switch",
            ],
            [
                "parameters",
                published,
                f"{official}; its own count, 5,028,866, leaves the summary tokens out and has a "
                "second output beside q",
                here,
            ],
        ],
    )


def settings_table() -> HTML:
    """How the network is trained here, and how in the paper."""
    here, paper = LIVE.settings, Settings()
    return notebook.table(
        ["setting", "here", "in the paper, for 9 × 9"],
        [
            ["seats", here.seats, paper.seats],
            ["supervision steps, at most", here.steps, paper.steps],
            ["loss", here.loss, paper.loss],
            ["EMA, d", here.ema, paper.ema],
            ["learning rate", f"{LIVE.lr:g}, then a cosine", "0.0001, constant"],
            ["warm-up, steps", recipe.WARM_UP, "2,000"],
            ["weight decay", recipe.WEIGHT_DECAY, 1],
            ["steps of the optimiser", LIVE.steps, f"{60_000 * 1000 // paper.seats:,}"],
        ],
    )


def cost_table() -> HTML:
    """What a supervision step costs at the published sizes."""
    here = recipe.operations(LIVE) / 1e9

    def row(name: str, config: Config) -> list[object]:
        cost = recipe.operations(Recipe(config, Settings(), steps=1, lr=1e-4)) / 1e9
        return [name, f"{recipe.parameters(config):,}", f"{cost:.2f}", f"{cost / here:,.0f}"]

    header = ["network", "parameters", "billion operations, a puzzle and training step"]
    return notebook.table(
        [*header, "times this chapter's"],
        [
            row("this chapter's", LIVE.config),
            row("the source's", PUBLISHED),
            row("the official code's", OFFICIAL),
        ],
    )


def parts_table(recorded: Recorded) -> HTML:
    """What each change of the recipe leaves unsolved; corrected as in the claims."""
    found = compared(recorded)

    def than_live(kind: str) -> str:
        if kind == TRM_LIVE:
            return ""
        other = (kind, 1 if kind.startswith("straight") else TRAINED)
        (question,) = (q for q in QUESTIONS if {q.ours, *q.theirs} == {other, HERE})
        verdict, _, p = found[question.text].findings[recorded.name]
        if verdict is not None and question.ours == HERE:
            verdict = not verdict
        word = {True: "fewer", False: "more", None: "cannot be told"}[verdict]
        left = (recorded.unsolved(one) for one in (kind, TRM_LIVE))
        return f"{word}, {verdicts.ends_lower(*left).found}, {statistics.said(p or 0.0)}"

    return notebook.table(
        ["recipe", "minimal puzzles unsolved, median", "than the live recipe, pairs of seeds"],
        [
            [name, f"{percent(median(recorded.unsolved(kind)))} %", than_live(kind)]
            for kind, name in NAMES.items()
        ],
    )
