"""The lesson's figures: what was measured → what is drawn, with its conclusion and description."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attn_notes.doubt.comparing import Compared
from book.kit import figures as house
from book.kit.figures import COLOURS, CONTROL, FLOOR, GREY, OURS, PUBLISHED, Picture
from book.kit.words import number

Seen = Sequence[tuple[int, float, float]]
"""Of a training: step, loss as it trains, loss on held-out texts."""


def emblem() -> Picture:
    """A model as a square of who reads whom, and a glass over the half that should be empty."""
    with house.figure(2.6, 1.7) as (fig, ax):
        for i in range(7):
            for j in range(7):
                if j <= i:
                    ax.plot(j, -i, "s", color=GREY, markersize=8, alpha=0.45)
        ax.plot(4, -2, "s", color=PUBLISHED, markersize=8)
        ax.plot(4, -2, "o", markersize=30, markerfacecolor="none", color=FLOOR, markeredgewidth=2)
        ax.plot([4.9, 6.3], [-2.9, -4.3], color=FLOOR, linewidth=3)
        ax.set(xlim=(-2, 8.5), ylim=(-6.8, 0.8), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    return Picture(
        fig,
        title="",
        caption="",
        alt="A triangle of small squares, who may read whom, and a magnifying glass over one that "
        "stands outside it.",
    )


def training(planted: Seen, mended: Seen, floor: float) -> Picture:
    """The loss as it trains and on held-out texts, of both models, beside the floor."""
    (steps, seen, held), (_, honest, kept) = (zip(*each, strict=True) for each in (planted, mended))
    below = seen[-1] < floor < held[-1]
    with house.figure(5.5, 3.2) as (fig, ax):
        ax.axhspan(0, floor, color=GREY, alpha=0.13, linewidth=0)
        ax.axhline(floor, color=FLOOR, linewidth=1)
        ax.text(0.02 * steps[-1], 0.2 * floor, "below the floor", va="center", fontsize=10)
        ax.plot(steps, held, color=PUBLISHED, linestyle="--", label="held out")
        ax.plot(steps, seen, color=PUBLISHED, label="as it trains")
        ax.plot(steps, honest, color=OURS, label="mended, as it trains")
        ax.plot(steps, kept, color=OURS, linestyle="--", label="mended, held out")
        ax.set(xlabel="step", ylabel="nats a token", xlim=(0, steps[-1]), ylim=(0, 5))
        house.label_lines(ax)
    return Picture(
        fig,
        title="Too good as it trains, useless when asked"
        if below
        else "As it trains and on held-out texts",
        caption="The planted model in orange: as it trains it ends far below the floor, on "
        "held-out texts it leaves the picture. Every batch is drawn anew."
        if below
        else "Every batch is drawn anew.",
        alt=f"Four curves over {steps[-1]} steps, and a line at the floor, {number(floor)} nats. "
        f"The planted model ends at {number(seen[-1])} as it trains and at {number(held[-1])} on "
        f"held-out texts, the mended one at {number(honest[-1])} and {number(kept[-1])}.",
    )


def influences(trained: Tensor, asked: Tensor) -> Picture:
    """Who reads whom while the model trains, and when it is asked: [reader, read] each."""
    t = len(trained)
    ahead = [float(moved.triu(1).max()) > 1e-3 for moved in (trained, asked)]
    with house.figure(5.5, 2.7, 1, 2) as (fig, axes):
        for ax, moved, name in zip(
            axes, (trained, asked), ("in training mode", "in evaluation mode"), strict=True
        ):
            house.heat_map(ax, moved / moved.max())
            ax.plot([-0.5, t - 0.5], [-0.5, t - 0.5], color=COLOURS[1], linewidth=1)
            ax.set(title=name, xlabel="token that is changed", xticks=[], yticks=[])
        axes[0].set_ylabel("logits that move")
    counts = [int((moved.triu(1) > 1e-3).sum()) for moved in (trained, asked)]
    return Picture(
        fig,
        title="In training it reads ahead, and only then"
        if ahead == [True, False]
        else "Who reads whom",
        caption="A cell that stands out: the token of its column is changed, and the logits of its "
        "row move. Above the line they do so before the token has come.",
        alt=f"Two squares of {t} by {t} cells. Above the diagonal {counts[0]} cells stand out in "
        f"training mode, {counts[1]} in evaluation mode.",
    )


def rates(compared: Compared) -> Picture:
    """At each rate where the seeds for tuning ended, and where fresh ones did at the best."""
    ours, theirs = compared.swept
    lowest = min(ours)
    ahead = ours[lowest] < theirs[lowest] and compared.verdict is None
    with house.figure(5.5, 2.9, 1, 2, width_ratios=(2, 1)) as (fig, (left, right)):
        arms = (
            ("with the factor", ours, compared.ours, OURS),
            ("without", theirs, compared.theirs, CONTROL),
        )
        for i, (name, swept, ends, colour) in enumerate(arms):
            left.plot([*swept], [*swept.values()], "o-", color=colour, label=name)
            shift = torch.linspace(-0.15, 0.15, len(ends))
            right.plot(i + shift, ends, "o", color=colour, markersize=4)
        left.set(xscale="log", xlabel="learning rate", ylabel="nats a token")
        left.legend(fontsize=10)
        right.set(xlim=(-0.6, 1.6), ylabel="at the best rate")
        right.set_xticks([0, 1], ["with", "without"])
    middles = [number(float(each.median())) for each in (compared.ours, compared.theirs)]
    low = [number(each[lowest]) for each in (ours, theirs)]
    return Picture(
        fig,
        title="At a low rate the factor wins; at the best rates nothing can be told"
        if ahead
        else "Each at its own rates, and at its best",
        caption="Left, the mean of the seeds for tuning at each rate. Right, other seeds, each "
        "way at its own best rate; the scale is finer.",
        alt=f"Left, two curves over {len(ours)} rates: at {lowest:g} the one with the factor ends "
        f"at {low[0]}, the one without at {low[1]}. Right, {len(compared.ours)} dots each at the "
        f"best rates, medians {middles[0]} and {middles[1]}.",
    )
