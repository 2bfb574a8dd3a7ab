"""The lesson's figures: results in, a picture with title, caption and alternative text out."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.patches import Arc

from attn_notes.tasks import sorting
from book.kit import figures
from book.kit.figures import Picture, Yours
from book.lessons.attention import measure, recipe
from book.lessons.attention.evidence import Crowd, model

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
        for mask, y in {"mask": sorting.FLOOR, "no mask": 0.0}.items():  # beside where they end
            ax.text(
                1.02,
                y,
                NAMES[mask],
                va="center",
                color=COLOUR[mask],
                transform=ax.get_yaxis_transform(),
            )
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


def emblem() -> Picture:
    """The lesson in a small picture: where head 1 looks while `cab` becomes `abc`."""
    text = sorting.complete(sorting.prompt("cab")[:3])
    looks = model("mask").whole(text[:-1]).attention[0].argmax(-1).tolist()
    with figures.figure(1.75, 1.15) as (fig, ax):
        for place, sign in enumerate(sorting.decode(text.tolist())):
            ax.text(place, 0, sign, ha="center", va="center", fontsize=12, color=figures.INK)
        for place in measure.WRITING:
            wide = place - looks[place]
            middle = (place + looks[place]) / 2
            ax.add_patch(
                Arc((middle, 0.6), wide, 0.8 * wide, theta2=180, color=figures.VIOLET, linewidth=2)
            )
        ax.set(xlim=(-0.6, 6.6), ylim=(-0.7, 2.8))
        ax.axis("off")
    return Picture(fig, "", "", "Arcs from where a letter is written to the letter that is read.")
