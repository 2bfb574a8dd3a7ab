"""The chapter's figures of vectors: what each score makes of a key, with nothing trained."""

from typing import Any

import torch

from attn_notes.models.triple_product import cos2_to_plane, stable_volume
from book.kit.figures import MAUVE, ON_CELL, SHARES, Picture, figure
from book.lessons.triple_product.geometry import Shares


def idea() -> Picture:
    """What each score sees of a key's place."""
    along, height = torch.meshgrid(
        torch.linspace(-2, 2, 81), torch.linspace(0, 2, 41), indexing="xy"
    )
    keys = torch.stack([along, torch.zeros_like(along), height], -1).flatten(0, 1)
    q, r = torch.eye(3)[:1], torch.eye(3)[1:2]
    panels = {
        "volume": -stable_volume(q, keys, r),
        "angle": cos2_to_plane(q, keys, r),
    }
    ends = {
        "scores high": ("white", "black", (-1.9, 0.2)),
        "scores low": ("black", "white", (-0.5, 1.7)),
    }
    with figure(5.5, 2.1, columns=2, sharey=True) as (fig, axes):
        for ax, (name, score) in zip(axes, panels.items(), strict=True):
            values = score.view(along.shape)
            levels = torch.linspace(values.min().item(), values.max().item(), 9).tolist()
            ax.contourf(along, height, values, levels=levels, cmap=SHARES)
            arrow = {"arrowstyle": "->", "color": MAUVE, "lw": 2}
            ax.annotate("", (1, 0), (0, 0), arrowprops=arrow)
            for words, (light, dark, at) in ends.items():
                ax.text(*at, words, color=ON_CELL[light, dark], fontsize=10)
            ax.set_title(name, fontsize=11.5)
            ax.set(aspect="equal", yticks=[0, 1, 2])
            ax.set_xticks([-2, 0, 1, 2], ["−2", "0", "q", "2"])
            ax.tick_params(labelsize=11)
        axes[0].set_ylabel("height", fontsize=11.5)
    return Picture(
        fig,
        title="The volume sees a key’s height, the angle its direction",
        caption="Seen from the side: the floor is the plane, and at each point may be the tip of a "
        "key.",
        alt="Contours of two scores over a key’s place. The volume changes with the height only, "
        "in level stripes that get narrower. The angle changes from ray to ray out of the origin.",
    )


def _map(ax: Any, shares: Shares, kind: str) -> Any:
    """Draw attention on the friend over the grid, and return what a colour bar needs."""
    levels = [i / 10 for i in range(11)]
    mesh = ax.contourf(shares.across, shares.up, shares.of[kind], levels=levels, cmap=SHARES)
    ax.set(xscale="log")
    return mesh


def _above(x: float) -> str:
    """In two decimals, rounded down."""
    return f"{int(100 * x) / 100:.2f}"


def strangers(length: Shares, share: Shares) -> Picture:
    """Attention on the friend where the leak is a length, and where it is a share."""
    rows = (length, "leak, as a length"), (share, "leak, as a share")
    with figure(5.5, 3.7, rows=2, columns=3, sharex=True, sharey=True) as (fig, axes):
        for row, (shares, label) in enumerate(rows):
            for ax, kind in zip(axes[row], shares.of, strict=True):
                mesh = _map(ax, shares, kind)
                ax.set_xticks([1, 10, 100], ["1", "10", "100"])
                if row == 0:
                    ax.set_title(kind, fontsize=10)
            axes[row, 0].set_ylabel(label)
        axes[1, 1].set_xlabel("length of the stranger")
        fig.colorbar(mesh, ax=axes, label="attention on the friend", ticks=[0, 0.5, 1])
    fixed, shared = length.of["dot"], share.of["dot"]
    still = bool((fixed.amax(1) - fixed.amin(1) < 1e-6).all())
    wins = still and bool(shared.min() < 0.5)
    lowest = min(length.of["angle"].min().item(), share.of["angle"].min().item())
    return Picture(
        fig,
        title="A longer stranger wins the dot product only if its leak grows with it"
        if wins
        else "Attention on the friend, against one stranger",
        caption="Attention on the friend, against one stranger. Above, the leak is a length, as "
        "published: the dot product does not change with the stranger's length. Below it is a "
        "share of it. (Unscaled scores, the angle times its β of 8.)",
        alt="Attention on the friend over the stranger's length and leak. With a fixed leak the "
        f"dot product keeps between {fixed.min():.2f} and {fixed.max():.2f} whatever the length; "
        f"with a leak that is a share of the length it falls to {shared.min():.2f}. The volume "
        f"rises to {share.of['volume'].max():.2f} in both. The angle stays above {_above(lowest)}.",
    )
