"""Figures in the house style: inline SVG that takes its ink from the page, with a description.

A figure is drawn in two placeholder colours, INK and PAPER, which `show` turns into the page's own
text and background colours, so that one file is right in light and dark. `show` will not show a
figure without alternative text.
"""

import html
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
from IPython.display import display
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

INK = "#010203"  # becomes currentColor
PAPER = "#fdfcfb"  # becomes the page's background

# Blue, vermilion, green of Okabe and Ito, a mauve and a violet: told apart by every kind of colour
# vision, and at least 3 : 1 against white and against the dark theme's background.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5629b", "#8844ee")
GREY = "#7f7f7f"

# Letters need more, 4.5 : 1, which no colour has against both. So a page may set its own for them
# (`--attn-text-blue` ...); where none does, and in formulas (`$...$`), they are as above.
NAMES = ("blue", "vermilion", "green", "mauve", "violet", "grey")
TEXT = dict(zip((*COLOURS, GREY), NAMES, strict=True))

STYLE = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.prop_cycle": mpl.cycler(color=COLOURS),
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "font.size": 11,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",
    "svg.hashsalt": "attention-notes",
}

# Text stays text in the SVG, in the page's own face. Matplotlib sets it in DejaVu Sans, which is
# wider than these, so nothing that fits there is cut here.
FACES = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
PAGE_PAPER = "var(--pst-color-background, var(--jp-layout-color0, #fff))"

WEIGHTS = LinearSegmentedColormap.from_list("weights", ["#0072b2", "#eceae7", "#d55e00"])
"""For signed numbers: blue below zero, orange above, as in the widgets."""
SHARES = LinearSegmentedColormap.from_list("shares", ["#f2f1ef", "#0072b2"])
"""For probabilities and attention: pale at 0, blue at 1."""


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's defaults and `STYLE`, whatever a user's matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


@contextmanager
def figure(
    width: float = 5.6, height: float = 3.0, rows: int = 1, columns: int = 1, **kwargs: object
) -> Iterator[tuple[Figure, Axes]]:
    """A figure in the house style, closed afterwards: `with figure() as (fig, ax): ...`.

    Width and height in inches; at 5.6 wide the letters can still be read on a phone. More rows or
    columns make `ax` an array.
    """
    with house_style():
        fig, axes = plt.subplots(
            rows, columns, figsize=(width, height), layout="constrained", **kwargs
        )
        try:
            yield fig, axes
        finally:
            plt.close(fig)


def to_svg(fig: Figure, alt: str) -> str:
    """The figure as one SVG element that carries its description and the page's colours.

    Raises:
        ValueError: `alt` is empty or blank.
    """
    if not alt.strip():
        raise ValueError("a figure needs alternative text: say what it shows")
    buffer = io.StringIO()
    with house_style():
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = svg.replace(INK, "currentColor").replace(PAPER, PAGE_PAPER)
    for colour, name in TEXT.items():
        own = rf"\1fill: var(--attn-text-{name}, {colour})"
        svg = re.sub(rf"(<text [^>]*)fill: {colour}", own, svg)
    svg = re.sub(r"'?DejaVu Sans'?[^;\"]*", FACES, svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(alt)}" ', 1)


@dataclass(frozen=True)
class Picture:
    """A figure with all that belongs to it, as a chapter's `figures` return it and a cell shows it.

    Args:
        fig: what is drawn; it may be closed.
        title: what it shows, in a few words: its conclusion.
        caption: how to read it.
        alt: the same for those who cannot see it, with its numbers.
        wide: on a phone a figure shrinks to the width of the page; a wide one keeps its size and
            scrolls.

    Raises:
        ValueError: `alt` is empty or blank.
    """

    fig: Figure
    title: str
    caption: str
    alt: str
    wide: bool = False

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise ValueError("a figure needs alternative text: say what it shows")

    def html(self) -> str:
        """The figure as an element of the page."""
        title = f'<p class="attn-figure-title">{html.escape(self.title)}</p>' if self.title else ""
        legend = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        kind = "attn-figure wide" if self.wide else "attn-figure"
        return f'<figure class="{kind}">{title}{to_svg(self.fig, self.alt)}{legend}</figure>'

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.alt}


def show(fig: Figure, *, alt: str, caption: str = "", wide: bool = False) -> None:
    """Display a figure without a title; see `Picture`."""
    display(Picture(fig, "", caption, alt, wide))


def band(ax: Axes, x: Tensor, curves: Tensor, colour: str, label: str | None = None) -> None:
    """Draw the median of curves [n, m] over x [n] and, behind it, their middle half."""
    low, middle, high = curves.quantile(curves.new_tensor([0.25, 0.5, 0.75]), dim=1)
    ax.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0)
    ax.plot(x, middle, color=colour, label=label)


def _short(value: float) -> str:
    """Two decimals without a leading zero: −.18, .05, 1.00."""
    text = f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")
    return text.replace("0.", ".", 1) if abs(value) < 0.995 else text


def heat_map(
    ax: Axes,
    values: Tensor,
    *,
    signed: bool = False,
    x: Sequence[str] | None = None,
    y: Sequence[str] | None = None,
    numbers: bool = False,
    frames: Iterable[tuple[int, int]] = (),
) -> None:
    """Draw a matrix as coloured cells: signed around zero, else from 0 to 1.

    `x` and `y` label columns and rows, `numbers` writes each value into its cell, `frames` lists
    cells (row, column) to put a frame around.
    """
    values = values.detach()
    rows, columns = values.shape
    limit = values.abs().max().item() if signed else 1.0
    mesh = ax.pcolormesh(
        values.numpy(),
        cmap=WEIGHTS if signed else SHARES,
        vmin=-limit if signed else 0,
        vmax=limit,
        edgecolors=PAPER,
        linewidth=0.8,
    )
    ax.set(aspect="equal", xlim=(0, columns), ylim=(rows, 0))
    ax.set_xticks([i + 0.5 for i in range(columns)] if x else [], x or [])
    ax.set_yticks([i + 0.5 for i in range(rows)] if y else [], y or [])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    for i, j in frames:
        ax.add_patch(
            Rectangle(
                (j + 0.08, i + 0.08), 0.84, 0.84, fill=False, edgecolor=COLOURS[1], linewidth=2
            )
        )
    if numbers:
        for i in range(rows):
            for j in range(columns):
                red, green, blue, _ = mesh.to_rgba(values[i, j].item())
                dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
                ax.text(
                    j + 0.5, i + 0.5, _short(values[i, j].item()),
                    ha="center", va="center", color="white" if dark else "black", fontsize=8,
                )  # fmt: skip


def board(
    ax: Axes,
    clues: Tensor,
    box: tuple[int, int],
    *,
    filled: Tensor | None = None,
    solution: Tensor | None = None,
    size: float = 9,
) -> None:
    """Draw a Sudoku board: clues in ink and, in blue, what is filled into the blanks.

    Args:
        ax: where to.
        clues: the board's cells in one row, 0 for a blank.
        box: rows and columns of a box, around which lines are thicker.
        filled: digits for the blanks, as many as clues.
        solution: what they should be; cells that differ get a frame.
        size: of the digits, in points.
    """
    side = math.isqrt(len(clues))
    ax.set(xlim=(0, side), ylim=(side, 0), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    for i in range(side + 1):
        for along, every in ((ax.axhline, box[0]), (ax.axvline, box[1])):
            thick = i % every == 0
            along(i, color=INK if thick else GREY, linewidth=1.2 if thick else 0.4, clip_on=False)
    shown = clues if filled is None else filled.where(clues == 0, clues)
    for cell, digit in enumerate(shown.tolist()):
        row, column = divmod(cell, side)
        given = int(clues[cell]) > 0
        if digit:
            ax.text(
                column + 0.5, row + 0.54, str(digit), ha="center", va="center", fontsize=size,
                color=INK if given else COLOURS[0],
            )  # fmt: skip
        if solution is not None and not given and digit != int(solution[cell]):
            ax.add_patch(
                Rectangle(
                    (column + 0.1, row + 0.1), 0.8, 0.8, fill=False, edgecolor=COLOURS[1],
                    linewidth=1.3,
                )
            )  # fmt: skip
