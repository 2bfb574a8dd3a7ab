"""The figures of the chapter's evidence page, drawn as those of its lesson are."""

import torch
from torch import Tensor

from book.kit import figures
from book.kit.figures import GREY, MAUVE, OURS, VIOLET, Picture
from book.kit.words import median, percent
from book.lessons.trm import recipe
from book.lessons.trm.evidence import Recorded
from book.lessons.trm.figures import BASELINES, Y, Z, seeds
from book.lessons.trm.puzzles import Puzzles
from book.lessons.trm.recipe import (
    KINDS,
    LIVE,
    ONE_STEP,
    REREADING,
    SHARING,
    THINK,
    TRAINED,
    TRM_LIVE,
    USES,
)

MARKS = {1: "o", 2: "s", 4: "^", 16: "D"}  # of the steps after which puzzles are counted

# --- Thinking longer


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


def certainty(recorded: Recorded) -> Picture:
    """How often a board is right, by the model's own estimate of that."""
    with figures.figure(5.5, 3.0) as (fig, ax):
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="an exact estimate")
        for seed, (estimate, share) in enumerate(recorded.reliability()):
            name = None if seed else "recorded, each seed"
            ax.plot(estimate, share, color=OURS, linewidth=0.8, label=name)
        ax.set(xlabel="estimate σ(q)", ylabel="share that is right")
        figures.legend_below(fig)
    first, fewest = recipe.INSIDE["thoughts"], recipe.INSIDE["fewest"]
    return Picture(
        fig,
        "It is right about as often as it expects to be",
        f"Answers of the first {first} looks, in bins with at least {fewest} of them; "
        f"{len(recorded.inside)} recorded seeds, mixed and minimal puzzles.",
        "Share of right answers against the model's estimate, farthest from the diagonal: "
        f"{recorded.largest_gap:.2f}.",
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
