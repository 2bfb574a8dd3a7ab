"""The figures of the lesson: results in, a drawing with title, caption and alt text out."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from book.kit import figures
from book.kit.figures import CONTROL, GREY, INK, MAUVE, OURS, VIOLET, Picture, Yours
from book.kit.words import median, percent
from book.lessons.trm import evidence, recipe
from book.lessons.trm.evidence import Live, Recorded, network
from book.lessons.trm.recipe import DEEP, EQUAL, KINDS, LIVE, TASK, THINK, TRAINED, TRM_LIVE

BASELINES = {TRM_LIVE: OURS, DEEP: MAUVE, EQUAL: CONTROL}
Y, Z = OURS, VIOLET  # the answer and what is in mind, as in the widget
BY_KIND = dict(zip(KINDS, (GREY, INK), strict=True))
BOX = (TASK.rows, TASK.columns)
PUZZLE = "..4...1..2...4..65......3...1...5..."  # which the widget opens with


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
        f"Two looks, of one cycle (T = 1) of {n} thoughts each. Every dot and every square is the "
        "same network. In the first look y and z are what they always start from.",
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
        "exchanged. The first split keeps the first two in one class, the stricter one all three.",
        f"Three whole boards. The second differs from the first in {changed[0]} cells, the third "
        f"in {changed[1]}.",
    )


SEATED = [
    [(8, 9)],
    [(2, 2), (4, 4), (3, 3)],
    [(6, 2), (3, 3)],
    [(3, 3), (1, 1), (5, 5)],
]
"""Of four seats, puzzle by puzzle: how many looks it has, and after which q is above zero."""


def seats() -> Picture:
    """Puzzles on their seats, a column for each step of the optimiser."""
    with figures.figure(5.5, 2.6) as (fig, ax):
        for seat, puzzles in enumerate(SEATED):
            step = 1
            for looks, sure in puzzles:
                along = range(step, step + looks)
                ends = [along[0] - 0.2, along[-1] + 0.2]
                ax.plot(ends, [seat] * 2, color=GREY, linewidth=7, alpha=0.35)
                for look, place in enumerate(along, 1):
                    full = OURS if look >= sure else "none"
                    ax.plot(place, seat, "o", color=OURS, markerfacecolor=full, markersize=7)
                step += looks
        for middle, seat, words in (
            (4.5, 0, "never sure: eight looks"),
            (1.5, 1, "sure: it leaves"),
            (4.0, 2, "sure, but has to stay"),
        ):
            ax.text(middle, seat - 0.28, words, ha="center", va="bottom", fontsize=10)
        ax.set(xlabel="steps of the optimiser", xlim=(0.4, 9.6), ylim=(3.5, -0.85))
        ax.set_xticks(range(1, 10))
        ax.set_yticks(range(4), [f"seat {seat + 1}" for seat in range(4)], fontsize=10)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    return Picture(
        fig,
        "Who is sure leaves, and a new puzzle sits down",
        "A sketch. A bar is a puzzle, a dot a look; it is full where q is above zero.",
        "Four seats over nine steps of the optimiser. On the first a puzzle is never sure and has "
        "eight looks; on the second three puzzles leave one after the other as soon as they are "
        "sure; on the third one is sure after two looks and has to stay for six.",
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
        f"From nothing to {end} % of minimal puzzles",
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
    """Minimal puzzles solved against looks."""
    x = torch.arange(1, THINK + 1)
    curve = torch.stack([recorded.solved(TRM_LIVE, "minimal", k) for k in x.tolist()])
    once = median(recorded.solved(DEEP, "minimal", 1))
    with figures.figure(5.5, 3.2) as (fig, ax):
        figures.band(ax, x, 100 * curve, OURS, "recursive, trained for eight looks")
        ax.plot(
            x, 100 * live.seen.right.float().mean(1), "--", color=INK, linewidth=1.2, label="live"
        )
        ax.plot(1, 100 * once, "s", color=MAUVE, label="one look, four times the weights")
        ax.axvline(TRAINED, color=GREY, linestyle=":", linewidth=1)
        ax.set(xlabel="looks", ylabel="solved, %", ylim=(0, 103), xlim=(0.5, THINK))
        ax.set_xticks([1, 4, 8, 12, 16])
        figures.legend_below(fig)
    one, eight, late = (percent(median(curve[k - 1]), 0) for k in (1, TRAINED, THINK))
    return Picture(
        fig,
        "One look solves four in ten, eight looks nearly all",
        f"{live.boards:,} fresh minimal puzzles live; {seeds(recorded)} recorded seeds, median and "
        "middle half. Dotted: as many looks as in training.",
        f"Share solved against looks, medians of recorded seeds: {one} % after one, {eight} after "
        f"{TRAINED}, {late} after {THINK}; after one of the network with four times the weights "
        f"{percent(once, 0)} %; live {percent(live.solved(1), 0)}, "
        f"{percent(live.solved(TRAINED), 0)} and {percent(live.solved(), 0)} %.",
        lesson="trm",
        yours=[
            Yours(
                ax,
                {"recursive": "recursive"},
                series="looks",
                reads={"solved after one look": 1.0, f"after {TRAINED}": float(TRAINED)},
                unit=" %",
                guesses={
                    question.name: (float(step), None)
                    for question, step in zip(evidence.ASKED, (1, TRAINED, 1), strict=True)
                },
                recorded={
                    "recursive": f"The recorded seeds, trained longer, solve {eight} % after "
                    f"{TRAINED} looks, by their median."
                },
            )
        ],
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
    return Picture(
        fig,
        "Classes it has never seen are solved as often as those it has",
        f"After eight looks; a dot is a recorded seed ({seeds(recorded)} of the first split, "
        f"{len(recorded.stricter)} of the second), the bar their median. Each split has its own "
        "thousand puzzles.",
        "Minimal puzzles left unsolved, medians: "
        + ", ".join(
            f"{name.replace(chr(10), ' ')} {percent(median(x))} %" for name, x in left.items()
        )
        + ".",
    )


def certainty(recorded: Recorded, live: Live | None = None) -> Picture:
    """How often a board is right, by the model's own estimate of that."""
    gaps = {"recorded": recorded.largest_gap}
    with figures.figure(5.5, 3.0) as (fig, ax):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="an exact estimate")
        for seed, (estimate, share) in enumerate(recorded.reliability()):
            name = None if seed else "recorded, each seed"
            ax.plot(estimate, share, color=OURS, linewidth=0.8, label=name)
        if live:
            said, right, _ = live.shown
            gaps["live"] = (said - right).abs().max().item()
            ax.plot(said, right, "o", color=OURS, markersize=5, label="live")
        ax.set(xlabel="estimate σ(q)", ylabel="share that is right")
        figures.legend_below(fig)
    first, fewest = recipe.INSIDE["thoughts"], recipe.INSIDE["fewest"]
    return Picture(
        fig,
        "It is right about as often as it expects to be",
        f"Answers of the first {first} looks, in bins with at least {fewest} of them; "
        f"{len(recorded.inside)} recorded seeds, mixed and minimal puzzles"
        f"{'; live, minimal ones' if live else ''}.",
        "Share of right answers against the model's estimate, farthest from the diagonal: "
        + ", ".join(f"{name} {gap:.2f}" for name, gap in gaps.items())
        + ".",
    )


# --- On the landing page


def emblem() -> Picture:
    """A board after one look, with what is wrong in it, and an arrow that comes back to it."""
    clues, solution = TASK.read(PUZZLE)
    logits, _ = network().trace(clues[None], 1)
    filled = logits[0, 0].argmax(-1)
    wrong = int((filled != solution).sum())
    with figures.figure(2.6, 1.7, columns=2, width_ratios=(3, 1)) as (fig, (ax, side)):
        figures.board(ax, clues, BOX, filled=filled, solution=solution, size=8.5)
        side.axis("off")
        arrow = dict(arrowstyle="-|>", color=OURS, linewidth=2, connectionstyle="arc3,rad=-1.2")
        side.annotate("", (0, 0.25), (0, 0.75), arrowprops=arrow)
    return Picture(
        fig,
        "",
        "",
        f"A Sudoku of six by six, filled in: {wrong} cells are in a frame, for they are wrong. An "
        "arrow leads from the board back to it.",
    )
