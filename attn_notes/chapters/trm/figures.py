"""The figures of the lesson: results in, a drawing with title, caption and alt text out."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from attn_notes import figures
from attn_notes.analysis.words import median, percent
from attn_notes.chapters.trm import claims, recipe, sentences
from attn_notes.chapters.trm.claims import HERE, ONE_LOOK, Group
from attn_notes.chapters.trm.evidence import Live, Recorded
from attn_notes.chapters.trm.recipe import (
    CHANNELS,
    DEEP,
    EQUAL,
    KINDS,
    LIVE,
    REREADING,
    TASK,
    THINK,
    TRAINED,
    TRM_LIVE,
)
from attn_notes.figures import CONTROL, GREY, INK, MAUVE, OURS, PUBLISHED, VIOLET, Picture

BASELINES = {TRM_LIVE: OURS, DEEP: MAUVE, EQUAL: CONTROL}
Y, Z = OURS, VIOLET  # the answer and what is in mind, as in the widget
BY_KIND = dict(zip(KINDS, (GREY, INK), strict=True))
BOX = (TASK.rows, TASK.columns)
ROWS: dict[str, tuple[Group, str, str]] = {
    "straight": ((EQUAL, 1), CONTROL, "o"),
    "straight, weights × 4": ((DEEP, 1), MAUVE, "o"),
    "the same, rereading": ((REREADING, 1), MAUVE, "D"),
    "recursive, trained for one": (ONE_LOOK, GREY, "o"),
    "eight, as published": ((CHANNELS, TRAINED), PUBLISHED, "o"),
    "eight looks": (HERE, OURS, "o"),
}
"""Row of a figure → the group that it shows, its colour and its mark."""


def dashed(ax: Any, x: Tensor, y: Tensor) -> None:
    """The live run, as a line."""
    ax.plot(x, y, "--", color=INK, linewidth=1.2, label="TRM, live")


def seeds(recorded: Recorded) -> int:
    """How many were recorded."""
    return len(recorded.members())


# --- The idea and the task


def idea() -> Picture:
    """Two supervision steps: what feeds a thought, what an answer, and where the gradient stops."""
    n = LIVE.config.latent_steps
    with figures.figure(5.5, 2.5) as (fig, ax):
        ax.set(xlim=(-1.1, 2 * n + 3.4), ylim=(-0.75, 2.5))
        ax.axis("off")
        ax.plot([0, 2 * n + 2.2], [2.2, 2.2], color=GREY, linewidth=1.2)
        for row, name in ((2.2, "x"), (1.2, "z"), (0.2, "y")):
            ax.text(-0.9, row, name, va="center", fontsize=12, style="italic")

        def arrow(end: tuple[float, float], start: tuple[float, float], **style: Any) -> None:
            style = dict(arrowstyle="->", linewidth=1.1, shrinkA=5, shrinkB=5) | style
            ax.annotate("", end, start, arrowprops=style)

        for step in range(2):
            first = step * (n + 1.3)
            before = (first - 1.3, 0.2)  # the answer of the step before
            thoughts = [first + float(k) for k in range(n)]
            answer = first + n - 0.15
            ax.plot(thoughts, [1.2] * n, "o", color=Z, markersize=11)
            ax.plot(answer, 0.2, "s", color=Y, markersize=11)
            for k, place in enumerate(thoughts):
                arrow((place, 1.25), (place, 2.2), color=GREY)
                if step or k:
                    arrow((place, 1.2), (place - 1 if k else n - 1.0, 1.2), color=Z)
                if step:
                    arrow((place, 1.15), before, color=Y, alpha=0.8)
            arrow((answer, 0.25), (thoughts[-1], 1.2), color=Z)
            if step:
                arrow((answer, 0.2), before, color=Y)
            ax.text(answer, -0.45, "read, judged", ha="center", va="top", fontsize=10)
            ax.text(thoughts[0] + 0.5, 1.52, "think", ha="center", fontsize=10, color=Z)
            ax.text(answer, -0.1, "answer", ha="center", va="top", fontsize=10, color=Y)
        ax.axvline(n + 0.42, color=INK, linestyle=":", linewidth=1, ymin=0.2, ymax=0.93)
        ax.text(n + 0.42, 2.35, "no gradient across", ha="center", fontsize=10)
    return Picture(
        fig,
        "Every thought reads the puzzle; an answer does not",
        f"Two supervision steps with one cycle (T = 1) of {n} thoughts each, as trained here. "
        "Every dot and every square is the same network. (In the first step no arrow comes from y "
        "or from an earlier z: they have only the values that they always start from.)",
        f"Two supervision steps of one cycle each. In each, {n} dots for thinking in a row, fed by "
        "the puzzle, the answer and the dot before, then a square for the answer, fed by the last "
        "dot and the answer before, which is read and judged. Between the steps a dotted line: no "
        "gradient across.",
    )


def disguises(shown: Mapping[str, Int[Tensor, " c"]]) -> Picture:
    """A grid and two disguises: other names, and rows in another order too."""
    first, *others = shown.values()
    changed = [int((board != first).sum()) for board in others]
    with figures.figure(5.5, 2.25, columns=3) as (fig, axes):
        for ax, (name, board) in zip(axes, shown.items(), strict=True):
            figures.board(ax, board, BOX, size=10.0)
            ax.set_title(name, fontsize=10)
    return Picture(
        fig,
        "One grid three times",
        "A grid; the same with 1 and 2 as each other’s names; that one with its first two rows "
        "exchanged. Whoever can solve puzzles of one can solve those of the others by the same "
        "steps. The first split keeps the first two in one class; the stricter one all three.",
        f"Three whole boards. The second differs from the first in {changed[0]} cells, the third "
        f"in {changed[1]}.",
    )


# --- Training, and what came out


def training(live: Live, recorded: Recorded) -> Picture:
    """Puzzles solved along training, beneath what is possible and above one look's share."""
    once = 100 * median(recorded.solved(DEEP, "minimal", 1))
    minutes, share = live.minutes, 100 * live.course
    with figures.figure(5.5, 2.8) as (fig, ax):
        ax.axhline(100, color=INK, linewidth=1, label="all: each has one solution")
        ax.axhline(
            once, color=MAUVE, linestyle=":", label="one look, four times the weights (recorded)"
        )
        ax.plot(minutes, share, "o-", color=OURS, markersize=4, label="eight looks, live")
        ax.set(xlabel="minutes of training", ylabel="solved, %", ylim=(-3, 104))
        figures.legend_below(fig)
    end = percent(live.course[-1], 0)
    return Picture(
        fig,
        f"From nothing to {end} % of minimal puzzles"
        if live.course[0] < 0.01 and live.course[-1] > 0.5
        else "Minimal puzzles solved along training",
        f"Of {recipe.SIZES['probed']} held-out minimal puzzles, after eight looks, probing not "
        "counted in the time.",
        "Share of held-out minimal puzzles solved, at "
        + ", ".join(
            f"{m:.1f} minutes {percent(s, 0)} %"
            for m, s in zip(minutes.tolist(), live.course, strict=True)
        )
        + f". Above it a line at 100 %, below it one at {once:.0f} %.",
    )


def looks(live: Live, recorded: Recorded) -> Picture:
    """Minimal puzzles solved: against looks, and by one look of several networks."""
    x = torch.arange(1, THINK + 1)
    curve = torch.stack([recorded.solved(TRM_LIVE, "minimal", k) for k in x.tolist()])
    shares = {
        row: 100 * recorded.solved(kind, "minimal", step)
        for row, ((kind, step), _, _) in ROWS.items()
    }
    with figures.figure(5.5, 3.0, columns=2) as (fig, (left, right)):
        figures.band(left, x, 100 * curve, OURS, "recorded seeds")
        dashed(left, x, 100 * live.seen.right.float().mean(1))
        left.axvline(TRAINED, color=GREY, linestyle=":", linewidth=1)
        left.set(xlabel="looks", ylabel="solved, %", ylim=(0, 103), xlim=(1, THINK))
        left.set_xticks([1, 4, 8, 12, 16])
        for place, (row, (_, colour, mark)) in enumerate(ROWS.items()):
            right.plot(
                shares[row], [place] * len(shares[row]), mark, color=colour, markersize=5,
                alpha=0.7, markerfacecolor="none" if mark == "D" else colour,
            )  # fmt: skip
        right.set(xlabel="solved, %", xlim=(-3, 103), ylim=(len(ROWS) - 0.5, -0.5))
        right.set_yticks(range(len(ROWS)), list(ROWS), fontsize=10)
        right.grid(axis="x", alpha=0.25)
        figures.legend_below(fig)
    one, eight = (percent(live.solved(step), 0) for step in (1, TRAINED))
    return Picture(
        fig,
        f"After one look it has solved {one} % of the minimal puzzles, after eight {eight} %",
        f"Left: {len(live.seen.right[0]):,} fresh puzzles live; {seeds(recorded)} "
        "recorded seeds, median and middle half, on those by which settings were chosen. Dotted: "
        "as many looks as a puzzle had in training. Right: every dot a recorded seed; the first "
        "four rows are networks trained for one look.",
        f"Left, share solved against looks: live {one} % after one, {eight} after {TRAINED}, "
        f"{percent(live.solved(), 0)} after {THINK}. Right, medians: "
        + ", ".join(f"{row} {median(share):.0f} %" for row, share in shares.items())
        + ".",
    )


def splits(recorded: Recorded) -> Picture:
    """What is left unsolved, by which classes were held out."""
    left = {
        "by names:\nheld out": recorded.unsolved(TRM_LIVE),
        "by all symmetries:\nheld out": 1 - recorded.split("fresh"),
        "by all symmetries:\nseen": 1 - recorded.split("seen"),
    }
    top = 100 * max(0.06, 1.25 * max(float(x.max()) for x in left.values()))
    with figures.figure(5.5, 2.4) as (fig, ax):
        for place, (values, colour) in enumerate(
            zip(left.values(), (OURS, OURS, GREY), strict=True)
        ):
            ax.plot(100 * values, [place] * len(values), "o", color=colour, alpha=0.7)
            ax.plot(100 * median(values), place, "|", color=colour, markersize=16)
        ax.set(xlabel="minimal puzzles left unsolved, %", xlim=(0, top), ylim=(2.5, -0.5))
        ax.set_yticks(range(3), list(left), fontsize=10)
        ax.grid(axis="x", alpha=0.25)
    (found,) = claims.split(recorded).findings.values()
    titles = {
        True: "Classes it has never seen are solved as often as those it has",
        False: "Classes it has never seen are not solved as often as those it has",
        None: "What is left unsolved, by which classes were held out",
    }
    return Picture(
        fig,
        titles[found.verdict],
        f"After eight looks; every dot a recorded seed ({seeds(recorded)} of the first split, "
        f"{len(recorded.stricter)} of the second), the bar their median. Not the same puzzles: "
        "each split has its own thousand.",
        "Minimal puzzles left unsolved, medians: "
        + ", ".join(
            f"{name.replace(chr(10), ' ')} {percent(median(x))} %" for name, x in left.items()
        )
        + ".",
    )


def halting(recorded: Recorded, live: Live | None = None) -> Picture:
    """How good the model's estimate of itself is, and what stopping by it gives."""
    levels, fewest = recipe.INSIDE["levels"], recipe.INSIDE["fewest"]
    first = recipe.INSIDE["thoughts"]
    gaps = {"recorded": sentences.largest_gap(recorded)}
    along = torch.arange(1, first + 1)
    # In the lesson, with a live run, of the hard puzzles only: few lines.
    kinds = {on: colour for on, colour in BY_KIND.items() if live is None or on == "minimal"}
    with figures.figure(5.5, 3.1, columns=2) as (fig, (left, axis)):
        left.plot([0, 1], [0, 1], color=GREY, linewidth=1)
        for estimate, share in recorded.reliability():
            left.plot(estimate, share, color=OURS, linewidth=0.8)
        left.set(xlabel="estimate σ(q)", ylabel="share that is right", aspect="equal")
        for on, colour in kinds.items():
            axis.plot([], [], color=colour, linewidth=0.8, label=f"{on}, halting")
            axis.plot([], [], "--", color=colour, linewidth=0.8, label=f"{on}, all alike")
            for taken, share in recorded.stops(on):
                axis.plot(taken, 100 * share, color=colour, linewidth=0.8)
            alike = 100 * recorded.thinking(on)[:first]
            axis.plot(along, alike, "--", color=colour, linewidth=0.8)
        if live:
            said, right, _ = live.shown
            gaps["live"] = (said - right).abs().max().item()
            left.plot(said, right, "o", color=OURS, markersize=5)
            stops = [live.stop(level) for level in levels]
            taken, share = ([float(s[k]) for s in stops] for k in (0, 1))
            colour = BY_KIND["minimal"]
            axis.plot(taken, [100 * x for x in share], "o", color=colour, markersize=3.5)
            fixed = 100 * live.seen.right[:first].float().mean(1)
            axis.plot(along, fixed, "x", color=colour, markersize=6)
        axis.set(xlabel="looks, mean", ylabel="solved, %", xlim=(0.9, 4.1))
        figures.legend_below(fig)
    half = {on: torch.stack(recorded.stops(on))[:, :, levels.index(0.5)] for on in kinds}
    return Picture(
        fig,
        f"Its estimate of itself is at most {max(gaps.values()):.2f} from how often it is right",
        f"Lines: {len(recorded.inside)} recorded seeds"
        + ("; marks: live, minimal puzzles" if live else "")
        + f". Left: grey is where the estimate would be exact; bins with fewer than {fewest} "
        "answers are left out. Right: solid where it stops at a level of its estimate, from "
        f"{levels[0]:g} to {levels[-1]:g}; dashed after one to four looks, whatever the puzzle.",
        "Left: share of right answers against the model's estimate, farthest from the diagonal: "
        + ", ".join(f"{name} {gap:.2f}" for name, gap in gaps.items())
        + ". Right: share solved against mean looks. "
        + "; ".join(
            f"stopping at one half, {on}: {percent(median(x[:, 1]))} % after "
            f"{median(x[:, 0]):.2f} looks"
            for on, x in half.items()
        )
        + " (recorded medians).",
    )
