"""The figures of the chapter's evidence page, drawn as those of its lesson are."""

from collections.abc import Mapping

import torch
from jaxtyping import Int
from torch import Tensor

from book.kit import figures
from book.kit.figures import GREY, MAUVE, OURS, VIOLET, Picture
from book.kit.words import median, percent
from book.lessons.trm import recipe
from book.lessons.trm.claims import NAMES
from book.lessons.trm.evidence import Mind, Recorded
from book.lessons.trm.figures import BASELINES, BOX, BY_KIND, Y, Z, seeds
from book.lessons.trm.puzzles import Puzzles, solved_by_rounds
from book.lessons.trm.recipe import (
    KINDS,
    LIVE,
    ONE_STEP,
    REREADING,
    SHARING,
    TASK,
    THINK,
    TRAINED,
    TRM_LIVE,
    USES,
)

MARKS = {1: "o", 2: "s", 4: "^", 16: "D"}  # of the steps after which puzzles are counted
NONE_LEFT = 5e-4  # a share of zero, on an axis of logarithms

# --- The task


def boards(shown: Mapping[str, Int[Tensor, " c"]]) -> Picture:
    """A grid, and a mixed and a minimal puzzle of it."""
    clues = {name: int((board > 0).sum()) for name, board in shown.items()}
    rounds = {name: int(TASK.rounds(board[None])) for name, board in shown.items()}
    with figures.figure(5.5, 2.25, columns=3) as (fig, axes):
        for ax, (name, board) in zip(axes, shown.items(), strict=True):
            figures.board(ax, board, BOX)
            ax.set_title(f"{name}: {clues[name]} clues", fontsize=10)
    return Picture(
        fig,
        "Two puzzles with one and the same solution",
        f"A grid and two puzzles dug out of it. The mixed one takes {rounds['mixed']} rounds, the "
        f"minimal one {rounds['minimal']}.",
        f"Three boards: a whole grid, a mixed puzzle of it with {clues['mixed']} clues, a minimal "
        f"one with {clues['minimal']}.",
    )


def difficulty(puzzles: Puzzles) -> Picture:
    """How many rounds the held-out puzzles take."""
    rounds = puzzles.rounds
    never = {kind: int((found < 0).sum()) for kind, found in rounds.items()}
    mean = {kind: solved_by_rounds(found).float().mean().item() for kind, found in rounds.items()}
    size = len(rounds["minimal"])
    most = max(int(found.max()) for found in rounds.values())
    with figures.figure(5.5, 2.6) as (fig, ax):
        for offset, (kind, colour) in zip((-0.2, 0.2), BY_KIND.items(), strict=True):
            found = rounds[kind]
            share = torch.bincount(torch.where(found < 0, most + 2, found), minlength=most + 3)
            places = [k + offset for k in range(most + 3)]
            ax.bar(
                places, (100 * share / len(found)).tolist(), width=0.38, color=colour, label=kind
            )
        ax.set(xlabel="rounds", ylabel="puzzles, %", xlim=(0.3, most + 2.7))
        ax.set_xticks([*range(1, most + 1), most + 2], [*map(str, range(1, most + 1)), "never"])
        figures.legend_below(fig)
    return Picture(
        fig,
        "Minimal puzzles take more rounds",
        f"Difficulty of the {size:,} held-out puzzles of each kind. “Never”: rounds alone do not "
        "get there.",
        "How many rounds the held-out puzzles take: mixed ones "
        f"{mean['mixed']:.1f} in the mean, minimal ones {mean['minimal']:.1f}, and "
        f"{never['minimal']} of {size:,} minimal ones are never solved by rounds.",
    )


# --- Training, and thinking longer


def courses(recorded: Recorded) -> Picture:
    """Puzzles solved along training: recursion, and none."""
    courses = {kind: {on: recorded.course(kind, on) for on in KINDS} for kind in BASELINES}
    with figures.figure(5.5, 3.1, columns=2, sharey=True) as (fig, axes):
        for ax, on in zip(axes, KINDS, strict=True):
            for kind, colour in BASELINES.items():
                along, share = courses[kind][on]
                figures.band(ax, 100 * along, 100 * share, colour, kind)
            ax.set(xlabel="training, % of its steps", ylim=(0, 102))
            ax.set_title(f"held-out {on} puzzles", fontsize=10)
        axes[0].set_ylabel("solved, %")
        figures.legend_below(fig)
    ends = {kind: {on: courses[kind][on][1][-1] for on in KINDS} for kind in BASELINES}
    return Picture(
        fig,
        "Every seed with recursion ends above every one without",
        f"Recorded seeds ({len(recorded.members())} of each kind: median and middle half). All "
        f"kinds make as many operations in all. On {recipe.SIZES['probed']} puzzles of each kind, "
        "after eight supervision steps.",
        "Share of held-out puzzles solved against the share of training done. Medians at the end: "
        + "; ".join(
            f"{kind} {percent(median(end['mixed']), 0)} % mixed and "
            f"{percent(median(end['minimal']), 0)} % minimal"
            for kind, end in ends.items()
        )
        + ".",
    )


def steps(recorded: Recorded) -> Picture:
    """Puzzles solved against supervision steps at test time."""
    x = torch.arange(1, THINK + 1)

    def shares(kind: str, on: str) -> Tensor:
        return 100 * torch.stack([recorded.solved(kind, on, step) for step in x.tolist()])

    with figures.figure(5.5, 3.1, columns=2, sharey=True) as (fig, axes):
        for ax, on in zip(axes, KINDS, strict=True):
            for kind, colour in BASELINES.items():
                figures.band(ax, x, shares(kind, on), colour, kind)
            ax.plot(x, shares(ONE_STEP, on), color=GREY, linewidth=1, alpha=0.8)
            ax.plot([], [], color=GREY, linewidth=1, label="trained for one step, each seed")
            for kind, colour in ((REREADING, MAUVE), (SHARING, VIOLET)):
                again = 100 * recorded.solved(kind, on, 1)
                ax.plot(
                    [1] * len(again), again, "D", color=colour, markerfacecolor="none",
                    markersize=4, clip_on=False, label=f"{kind}, each seed",
                )  # fmt: skip
            ax.axvline(TRAINED, color=GREY, linestyle=":", linewidth=1)
            ax.set(xlabel="supervision steps at test time", ylim=(0, 102), xlim=(1, THINK))
            ax.set_xticks([1, 4, 8, 12, 16])
            ax.set_title(f"held-out {on} puzzles", fontsize=10)
        axes[0].set_ylabel("solved, %")
        figures.legend_below(fig)
    ends = {
        on: [percent(median(recorded.solved(TRM_LIVE, on, k)), 0) for k in (1, TRAINED, THINK)]
        for on in KINDS
    }
    return Picture(
        fig,
        "One look solves 40 % of the minimal puzzles, 8 looks 97 %",
        f"{recipe.SIZES['tests']:,} held-out puzzles of each kind; lines and bands are "
        f"{seeds(recorded)} recorded seeds of the recursion and {len(recorded.members())} of each "
        "other kind, median and middle half. Dotted: the most steps that a puzzle had in training. "
        "The straight networks answer once.",
        "Share solved against supervision steps at test time, medians. "
        + "; ".join(
            f"{on}: {one} % after one step, {eight} after {TRAINED}, {late} after {THINK}"
            for on, (one, eight, late) in ends.items()
        )
        + ".",
    )


def depth(puzzles: Puzzles, recorded: Recorded) -> Picture:
    """Puzzles solved, by the rounds that they take and the steps that it thinks."""
    groups = puzzles.groups
    shares = {name: recorded.by_group(name) for name in groups}
    with figures.figure(5.5, 3.1) as (fig, ax):
        places = torch.arange(len(groups))
        for step, marker in MARKS.items():
            found = torch.stack([share[step - 1] for share in shares.values()])
            figures.band(ax, places, 100 * found, OURS)
            ax.plot(
                places, 100 * found.quantile(0.5, dim=1), marker, color=OURS, markersize=5,
                label=f"{step} step{'s' if step > 1 else ''}",
            )  # fmt: skip
        ax.set(xlabel="rounds that the puzzle takes", ylabel="solved, %", ylim=(0, 103))
        ax.set_xticks(places, list(groups))
        figures.legend_below(fig)
    easy, hard = ([median(step) for step in shares[name]] for name in ("1–2", "6"))
    return Picture(
        fig,
        "Puzzles that take more rounds need more steps",
        f"{sum(int(chosen.sum()) for chosen in groups.values()):,} held-out puzzles, by "
        f"difficulty; {len(recorded.inside)} recorded seeds, median and middle half. Puzzles: "
        + ", ".join(f"{name}: {int(chosen.sum())}" for name, chosen in groups.items())
        + ".",
        "Share solved against rounds, after 1, 2, 4 and 16 supervision steps, medians. After one "
        f"step it is {percent(easy[0], 0)} % at one or two rounds and {percent(hard[0], 0)} % at "
        f"six; after sixteen {percent(hard[-1], 0)} % there.",
    )


# --- Inside


def drafts(mind: Mind) -> Picture:
    """One puzzle as it is read in z and in y, at five moments."""
    n, last = LIVE.config.latent_steps, len(mind.mind) - 1
    # One that takes a few steps: the first that is wrong after two and right after four.
    shown = int(
        ((mind.wrong("answer", 2 * USES - 1) > 0) & (mind.wrong("answer", 4 * USES - 1) == 0))
        .int()
        .argmax()
    )
    clues, solution = (part[shown] for part in mind.puzzles)
    moments = {
        f"thought {use + 1}" if use < n else f"answer {(use + 1) // USES}": use
        for use in (0, n - 1, n, 2 * USES - 1, last)
    }
    readings = {"z": "mind", "y": "answer"}
    wrong = {
        letter: [
            int(((getattr(mind, name)[use, shown] != solution) & (clues == 0)).sum())
            for use in moments.values()
        ]
        for letter, name in readings.items()
    }
    with figures.figure(5.5, 2.55, rows=2, columns=len(moments)) as (fig, axes):
        for row, (letter, name) in zip(axes, readings.items(), strict=True):
            for ax, use in zip(row, moments.values(), strict=True):
                filled = getattr(mind, name)[use, shown]
                figures.board(ax, clues, BOX, filled=filled, solution=solution, size=7.0)
            row[0].set_ylabel(letter, rotation=0, labelpad=10)
        for ax, title in zip(axes[0], moments, strict=True):
            ax.set_title(title, fontsize=9)
    return Picture(
        fig,
        "The mistakes of the first thought are mended in four looks",
        "One minimal puzzle, the recorded network. Blue: what the head reads in the blanks; in a "
        "frame: wrong. The other digits are clues. Above from z, below from y, which changes only "
        "when an answer is given.",
        "One minimal puzzle as read from z and from y at five moments. Wrong blanks in z: "
        f"{wrong['z']}; in y: {wrong['y']}.",
        wide=True,
    )


def mind(recorded: Recorded, guessing: float) -> Picture:
    """How much of the solution is read in z and in y, after each use of the network."""
    n = LIVE.config.latent_steps
    shares = {name: recorded.legible(name) for name in ("mind", "answer")}
    along = torch.arange(1, len(shares["mind"]) + 1)
    given = along % USES == 0
    with figures.figure(5.5, 2.7) as (fig, ax):
        for name, chosen, colour, marker, label in (
            ("mind", along > 0, Z, "o", "read in z"),
            ("answer", given, Y, "s", "read in y, where it is given"),
        ):
            found = 100 * shares[name][chosen]
            figures.band(ax, along[chosen], found, colour)
            ax.plot(
                along[chosen], found.quantile(0.5, dim=1), marker, color=colour, markersize=5,
                label=label,
            )  # fmt: skip
        ax.axhline(
            100 * guessing, color=GREY, linestyle=":", linewidth=1.2,
            label="guessing among what the clues allow",
        )  # fmt: skip
        ax.set(xlabel="uses of the network", ylabel="blanks right, %", ylim=(0, 103))
        ax.set_xticks(list(range(0, len(along) + 1, USES)))
        figures.legend_below(fig)
    first, second, third = (percent(median(shares["mind"][k]), 0) for k in range(n))
    return Picture(
        fig,
        "z holds a draft of the answer that follows",
        f"{recipe.SIZES['probed']} held-out minimal puzzles; {len(recorded.inside)} recorded "
        "seeds, median and middle half. Dotted: a digit at random among those that stand in no "
        f"unit of the cell, {100 * guessing:.0f} %.",
        "Share of the blanks that are right after each use of the network, medians. Read in z: "
        f"{first}, {second} and {third} % after the first {n} thoughts; the first answer has "
        f"{percent(median(shares['answer'][n]), 0)} %.",
    )


def stopping(recorded: Recorded) -> Picture:
    """What stopping at a level of the estimate gives, beside as many looks for every puzzle."""
    levels, first = recipe.INSIDE["levels"], recipe.INSIDE["thoughts"]
    along = torch.arange(1, first + 1)
    with figures.figure(5.5, 3.1, columns=2, sharey=True) as (fig, axes):
        for ax, on in zip(axes, KINDS, strict=True):
            for seed, (taken, share) in enumerate(recorded.stops(on)):
                stops, alike = ("where it is sure", "all alike") if not seed else (None, None)
                ax.plot(taken, 100 * share, color=OURS, linewidth=0.8, label=stops)
                right = 100 * recorded.thinking(on)[:first, seed]
                ax.plot(along, right, "--", color=GREY, linewidth=0.8, label=alike)
            ax.set(xlabel="looks, mean", xlim=(0.9, 4.1))
            ax.set_title(f"held-out {on} puzzles", fontsize=10)
        axes[0].set_ylabel("solved, %")
        figures.legend_below(fig)
    half = {on: torch.stack(recorded.stops(on))[:, :, levels.index(0.5)] for on in KINDS}
    return Picture(
        fig,
        "Looks are saved where they are not needed",
        f"{len(recorded.inside)} recorded seeds. Solid: stopping at a level of the estimate, from "
        f"{levels[0]:g} to {levels[-1]:g}. Dashed: one to {first} looks for every puzzle. On "
        "minimal puzzles the seeds fall into two pairs, for the first look of two solves half of "
        "them and that of the other two a quarter.",
        "Share solved against mean looks. "
        + "; ".join(
            f"stopping at one half, {on}: {percent(median(x[:, 1]))} % after "
            f"{median(x[:, 0]):.2f} looks"
            for on, x in half.items()
        )
        + " (medians).",
    )


def parts(recorded: Recorded) -> Picture:
    """What is left unsolved by each kind, every seed a dot."""
    with figures.figure(5.5, 4.0, columns=2, sharey=True) as (fig, axes):
        for ax, on in zip(axes, KINDS, strict=True):
            for place, kind in enumerate(NAMES):
                values = 100 * recorded.unsolved(kind, on).clamp(min=NONE_LEFT)
                colour = BASELINES.get(kind, GREY)
                ax.plot(values, [place] * len(values), "o", color=colour, markersize=5, alpha=0.65)
                ax.plot(median(values), place, "|", color=colour, markersize=14)
            ax.set(
                xscale="log", xlabel="left unsolved, %", xlim=(0.04, 130),
                ylim=(len(NAMES) - 0.5, -0.5),
            )  # fmt: skip
            ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
            ax.minorticks_off()
            ax.grid(axis="x", alpha=0.25)
            ax.set_title(f"held-out {on}", fontsize=10)
        axes[0].set_yticks(range(len(NAMES)), NAMES.values(), fontsize=9)
    left = {kind: median(recorded.unsolved(kind)) for kind in NAMES}
    return Picture(
        fig,
        "Most is left unsolved where no weights are shared",
        "Recorded: each dot a seed, the bar their median; further left is better. After eight "
        "supervision steps; 0.05 % stands for none.",
        "Share of held-out puzzles left unsolved after eight steps; medians of the seeds, minimal "
        "puzzles: "
        + ", ".join(f"{NAMES[kind]} {percent(share)} %" for kind, share in left.items())
        + ".",
    )
