"""The lesson's figures: results in, a picture with title, caption and alternative text out."""

from collections.abc import Mapping

from matplotlib.axes import Axes

from attn_notes import figures
from attn_notes.chapters.attention import recipe
from attn_notes.chapters.attention.evidence import Crowd, recorded
from attn_notes.figures import Picture, Yours
from attn_notes.tasks import sorting

COLOUR = {"mask": figures.INK, "no mask": figures.PUBLISHED}
NAMES = {"mask": "with the mask", "no mask": "without the mask"}


def _curves(ax: Axes, crowds: Mapping[str, Crowd]) -> None:
    ax.axhspan(0, sorting.FLOOR, facecolor="none", edgecolor=figures.GREY, hatch="///", linewidth=0)
    ax.axhline(sorting.FLOOR, color=figures.FLOOR, linewidth=2.4)
    for mask, crowd in crowds.items():
        ax.plot(crowd.steps, crowd.losses, color=COLOUR[mask], linewidth=1, alpha=0.7)


def losses(crowds: Mapping[str, Crowd]) -> Picture:
    """The loss of every seed in training, with the mask and without, and the floor."""
    below = {mask: crowd.below for mask, crowd in crowds.items()}
    seeds = len(crowds["mask"].right)
    with figures.figure(5.5, 3.0) as (fig, ax):
        _curves(ax, crowds)
        ax.set(xlabel="step", ylabel="loss, nats", ylim=(0, 1.4), xlim=(0, recipe.STEPS))
        ax.text(0.98, sorting.FLOOR + 0.16, "with the mask", ha="right", transform=_mixed(ax))
        ax.text(
            0.98, 0.06, "without", ha="right", color=COLOUR["no mask"], transform=_mixed(ax),
            bbox={"facecolor": figures.PAPER, "edgecolor": "none", "pad": 2},
        )  # fmt: skip
    return Picture(
        fig,
        f"{below['mask']} of {seeds} seeds fall through the floor with the mask, "
        f"{below['no mask']} of {seeds} without",
        "Each line is a seed. The thick line is the floor, 0.366 nats.",
        f"The loss of {seeds} seeds each. With the mask they end between "
        f"{crowds['mask'].losses[-1].min():.3f} and {crowds['mask'].losses[-1].max():.3f} nats, "
        f"without it between {crowds['no mask'].losses[-1].min():.4f} and "
        f"{crowds['no mask'].losses[-1].max():.3f}; the floor is {sorting.FLOOR:.3f}.",
        lesson="attention",
        yours=[Yours(ax, NAMES, series="loss", reads={"ends at": None}, unit=" nats")],
    )


def written(crowds: Mapping[str, Crowd]) -> Picture:
    """How many of the 27 words each seed writes in order, by itself."""
    ways = [*crowds][::-1]
    counts = {mask: crowds[mask].right.tolist() for mask in ways}
    with figures.figure(5.5, 1.9) as (fig, ax):
        for row, mask in enumerate(ways):
            seen: dict[int, int] = {}
            for right in counts[mask]:  # seeds with the same number stand one on the other
                seen[right] = seen.get(right, -1) + 1
                ax.plot(right, row + 0.09 * seen[right], "o", color=COLOUR[mask], markersize=5)
        ax.set_yticks(range(len(ways)), [NAMES[mask] for mask in ways])
        ax.set(xlabel="of 27 words, written in order", xlim=(-0.5, 27.5), ylim=(-0.4, 2.5))
    sentences = [
        f"{NAMES[mask]} from {min(counts[mask])} to {max(counts[mask])}" for mask in crowds
    ]
    return Picture(
        fig,
        "Below the floor, and yet they cannot write",
        "Each dot is a seed.",
        f"Words written in order by each seed: {'; '.join(sentences)}.",
    )


def _mixed(ax: Axes) -> object:
    return ax.get_yaxis_transform()


def emblem() -> Picture:
    """The lesson in a small picture: a loss that falls through the floor, and one that does not."""
    crowds = recorded()
    with figures.figure(2.6, 1.7) as (fig, ax):
        ax.axhspan(0, sorting.FLOOR, facecolor="none", edgecolor=figures.GREY, hatch="///", lw=0)
        ax.axhline(sorting.FLOOR, color=figures.FLOOR, linewidth=2.4)
        for mask, crowd in crowds.items():
            curve = crowd.losses[:, recipe.RECORDED.index(recipe.SHOWN)]
            ax.plot(crowd.steps, curve, color=COLOUR[mask], linewidth=2.4)
        ax.set(xlim=(0, 400), ylim=(0, 1.5), xticks=[], yticks=[])
    return Picture(
        fig,
        "",
        "",
        "Two losses and a floor: one comes to rest on it, the other falls through.",
    )
