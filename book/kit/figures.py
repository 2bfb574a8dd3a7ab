"""Figures in the house style: inline SVG that takes its ink from the page, with a description.

A figure is drawn in two placeholder colours, INK and PAPER, which `show` turns into the page's own
text and background colours, so that one file is right in light and dark. `show` will not show a
figure without alternative text.
"""

import base64
import html
import io
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import matplotlib as mpl
from IPython.display import display
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation, Text
from matplotlib.transforms import offset_copy
from PIL import Image
from torch import Tensor

INK = "#010203"  # becomes currentColor
PAPER = "#fdfcfb"  # becomes the page's background

# One colour, one meaning. Lines, bars and points take theirs from here: blue, vermilion, green of
# Okabe and Ito, a mauve and a violet, told apart by every kind of colour vision.
OURS = CORRECTED = "#0072b2"  # the model as this book would have it
PUBLISHED = "#d55e00"  # as its source has it
CONTROL = "#009e73"  # what has the same side effects, and not the idea
MAUVE, VIOLET = "#b5629b", "#8844ee"  # further kinds, where a figure has more
FLOOR = INK  # what is known exactly: the best possible, chance, a theorem
GREY = "#7f7f7f"  # what stands around: axes, single seeds, guides for the eye
YOURS = "#cc0066"  # what a reader guessed or trained, which the page draws into a figure
COLOURS = (OURS, PUBLISHED, CONTROL, MAUVE, VIOLET)

# In the dark theme each is lighter; as letters, darker in the light one. So every line has at least
# 3 : 1 and every letter 4.5 : 1 against its page.
DARK = {
    OURS: "#73bdf0",
    PUBLISHED: "#f08a3c",
    CONTROL: "#2fbf95",
    MAUVE: "#d491bf",
    VIOLET: "#b592ff",
    GREY: "#a3adb7",
    YOURS: "#ff80b5",
}
LETTERS = {
    OURS: "#0a659f",
    PUBLISHED: "#b34700",
    CONTROL: "#00735a",
    MAUVE: "#97447d",
    VIOLET: "#7733dd",
    GREY: "#666666",
}

# Letters on a coloured cell: white or black in the light theme, white or black in the dark one.
ON_CELL = {
    (light, dark): f"#00000{2 * (light == 'white') + (dark == 'white') + 4}"
    for light in ("black", "white")
    for dark in ("black", "white")
}

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

# Where a page is dark: the book, Colab, JupyterLab, VS Code.
HOSTS = (
    ':is(html[data-theme="dark"], html[theme="dark"], body[data-jp-theme-light="false"], '
    "body.vscode-dark)"
)
SMALLEST = 9  # pixels: a figure shrinks to a phone's width, but its letters not below this


def _ramp(name: str, *colours: str) -> LinearSegmentedColormap:
    return LinearSegmentedColormap.from_list(name, colours)


# Their ends are near the colours of lines and not the same, so that a cell can be told from a bar.
WEIGHTS = _ramp("weights", "#0c6cab", "#eceae7", "#cc5a02")
"""For signed numbers: blue below zero, orange above, as in the widgets."""
SHARES = _ramp("shares", "#f4f2ee", "#a3a6ab", "#2a3038")
"""For probabilities, attention and whatever begins at zero: from paper to ink, so that a strong
cell cannot be taken for a negative one."""

# The same maps in the dark theme, where zero is dark as well.
DARK_WEIGHTS = _ramp("weights, dark", "#5fb4f0", "#262d35", "#f08a3c")
DARK_SHARES = _ramp("shares, dark", "#20262d", "#717a84", "#e8edf2")

# Every colour that a figure may be drawn in, and its counterpart in the dark.
_COUNTERPART = DARK | {
    to_hex(light(i)): to_hex(dark(i))
    for light, dark in ((WEIGHTS, DARK_WEIGHTS), (SHARES, DARK_SHARES))
    for i in range(light.N)
}
_OF_LETTERS = {to_hex(placeholder): pair for pair, placeholder in ON_CELL.items()} | {
    colour: (LETTERS[colour], DARK[colour]) for colour in LETTERS
}


@contextmanager
def house_style() -> Iterator[None]:
    """Matplotlib's defaults and `STYLE`, whatever a user's matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


@contextmanager
def figure(
    width: float = 5.5, height: float = 3.0, rows: int = 1, columns: int = 1, **kwargs: object
) -> Iterator[tuple[Figure, Axes]]:
    """A figure in the house style, closed afterwards: `with figure() as (fig, ax): ...`.

    Width and height in inches. On a phone 5.5 inches become 358 pixels, and letters of 10 points
    nine pixels; a wider figure, or one with smaller letters, has to be scrolled there. More rows
    or columns make `ax` an array.
    """
    with house_style():
        fig, axes = plt.subplots(
            rows, columns, figsize=(width, height), layout="constrained", **kwargs
        )
        try:
            yield fig, axes
        finally:
            plt.close(fig)


def themed(light: str, dark: str) -> str:
    """One colour in a light page and another in a dark one, as CSS.

    >>> themed("#000000", "#ffffff")
    'color-mix(in srgb, #000000, #ffffff var(--attn-dark, 0%))'
    """
    return f"color-mix(in srgb, {light}, {dark} var(--attn-dark, 0%))"


def to_svg(fig: Figure, alt: str) -> str:
    """The figure as one SVG element that carries its description and the page's colours.

    Its style says how wide it must be for its smallest letters to be read, in `--attn-least`.

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
    sizes = re.findall(r"<text [^>]*?font(?:-size)?: ([\d.]+)px", svg)
    svg = re.sub(r"<text [^>]*>|(?:fill|stroke): #[0-9a-f]{6}\b", _recoloured, svg)
    svg = svg.replace(INK, "currentColor").replace(PAPER, PAGE_PAPER)
    svg = re.sub(r"'?DejaVu Sans'?[^;\"]*", FACES, svg)
    # Matplotlib's own rule would be one for the whole page.
    svg = svg.replace(
        '<style type="text/css">*{', f"<style>{HOSTS} {{--attn-dark: 100%}} .attn-drawing *{{", 1
    )
    least = fig.get_figwidth() * 72 * SMALLEST / min(map(float, sizes), default=11)
    return svg.replace(
        "<svg ",
        f'<svg class="attn-drawing" style="--attn-least: {math.ceil(least)}px" role="img" '
        f'aria-label="{html.escape(alt)}" ',
        1,
    )


def _recoloured(part: re.Match[str]) -> str:
    """A text's tag, or the fill or stroke of anything else, with colours for both themes."""

    def of_letters(match: re.Match[str]) -> str:
        pair = _OF_LETTERS.get(match[0])
        return themed(*pair) if pair else match[0]

    if part[0].startswith("<text"):
        return re.sub(r"#[0-9a-f]{6}\b", of_letters, part[0])
    name, _, colour = part[0].partition(": ")
    dark = _COUNTERPART.get(colour)
    return f"{name}: {themed(colour, dark)}" if dark else part[0]


def to_png(fig: Figure) -> bytes:
    """The figure in at most 64 colours on white: a light picture for where SVG is not let in.

    Its letters are in the colours of the light theme; the figure keeps its own.
    """
    drawn, packed = io.BytesIO(), io.BytesIO()
    letters = {text: text.get_color() for text in fig.findobj(Text)}
    with house_style():
        try:
            for text, colour in letters.items():
                text.set_color(_OF_LETTERS.get(to_hex(colour), (colour,))[0])
            fig.savefig(drawn, format="png", dpi=110, facecolor="white")
        finally:
            for text, colour in letters.items():
                text.set_color(colour)
    Image.open(drawn).convert("RGB").quantize(64).save(packed, "png", optimize=True)
    return packed.getvalue()


# What a browser shows of the two forms of a figure, within the figure that this stands in. Where
# HTML is cleaned of what could do harm, as in JupyterLab in a notebook that is not trusted, this
# and the tags of the SVG go, but the words in it stay: so they are hidden unless this shows them,
# in two ways, of which JupyterLab lets the style pass and others the attribute.
EITHER = (
    "<style>@scope { .attn-live { display: block !important; } "
    ".attn-still { display: none; } }</style>"
)


@dataclass(frozen=True)
class Yours:
    """Axes that a page draws into what a reader guessed and trained there.

    Args:
        ax: where to.
        runs: the kinds of run that belong here → what the reader knows each by.
        form: how a run is drawn. `line`: its `series`; `dots`: the last of its values, along the
            row of its kind, 0, 1, ... in their order; `arrivals`: together with all others of its
            kind, the share that has not arrived yet, in percent.
        series: which of the numbers along a run it is.
        guesses: questions of the lesson → where on the axes a guess is marked, (x, y), none for the
            coordinate that is the guess itself; without either, it is a line at that height.
        reads: what is said of a run, words → at which x its value is read, none for its last;
            without any it is said whether it met the lesson's criterion, and when.
        unit: of these values.
        recorded: kinds → what the runs of the book came to, as a sentence to stand beside the
            reader's own.
    """

    ax: Axes
    runs: Mapping[str, str] = field(default_factory=dict)
    form: Literal["line", "dots", "arrivals"] = "line"
    series: str = ""
    guesses: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    reads: Mapping[str, float | None] = field(default_factory=dict)
    unit: str = ""
    recorded: Mapping[str, str] = field(default_factory=dict)

    def told(self) -> dict[str, object]:
        """What `_listening.js` reads, for a figure that has just been drawn as SVG.

        `x` and `y` have the scale, two values on it and where in the drawing these are, in its own
        units: what lies between is linear in the value, or in what the scale makes of it.
        """
        fig = self.ax.get_figure()
        box = self.ax.get_window_extent()
        unit, height = 72 / fig.dpi, fig.get_figheight() * 72
        (left, right), (low, high) = self.ax.get_xlim(), self.ax.get_ylim()
        ends = {
            "x": ([left, right], [box.x0 * unit, box.x1 * unit]),
            "y": ([low, high], [height - box.y0 * unit, height - box.y1 * unit]),
        }
        scales = {"x": self.ax.get_xscale(), "y": self.ax.get_yscale()}
        return {
            **{
                name: {"scale": scales[name], "from": values, "to": [round(at, 2) for at in places]}
                for name, (values, places) in ends.items()
            },
            "colour": themed(YOURS, DARK[YOURS]),
            "form": self.form,
            "series": self.series,
            "runs": dict(self.runs),
            "guesses": {name: list(at) for name, at in self.guesses.items()},
            "reads": dict(self.reads),
            "unit": self.unit,
            "recorded": dict(self.recorded),
        }


@dataclass(frozen=True)
class Picture:
    """A figure with all that belongs to it, as a lesson's `figures` return it and a cell shows it.

    Args:
        fig: what is drawn; it may be closed.
        title: what it shows, in a few words: its conclusion.
        caption: how to read it.
        alt: the same for those who cannot see it, with its numbers.
        wide: on a phone a figure shrinks to the width of the page; a wide one keeps its size and
            scrolls.
        lesson: whose reader's guesses and runs it listens to, by its stem; none for none.
        yours: where it draws them.

    Raises:
        ValueError: `alt` is empty or blank, or a figure that listens draws nothing.
    """

    fig: Figure
    title: str
    caption: str
    alt: str
    wide: bool = False
    lesson: str = ""
    yours: Sequence[Yours] = ()

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise ValueError("a figure needs alternative text: say what it shows")
        if bool(self.lesson) != bool(self.yours):
            raise ValueError("a figure that listens names a lesson, and where it draws")

    def html(self) -> str:
        """The figure as an element of the page; as a picture where SVG is taken out of it."""
        return self._html(base64.b64encode(to_png(self.fig)).decode())

    def _html(self, png: str) -> str:
        title, legend = (  # a line never begins with a percent sign
            html.escape(words).replace(" %", "&nbsp;%") for words in (self.title, self.caption)
        )
        title = f'<p class="attn-figure-title">{title}</p>' if title else ""
        legend = f"<figcaption>{legend}</figcaption>" if legend else ""
        kind = "attn-figure wide" if self.wide else "attn-figure"
        svg = to_svg(self.fig, self.alt)
        live = f'<div class="attn-live" hidden style="display: none">{svg}</div>'
        alt, source = html.escape(self.alt), f"data:image/png;base64,{png}"
        still = f'<img class="attn-still" alt="{alt}" src="{source}">'
        listens = ""
        if self.yours:  # by what has just been laid out for the SVG
            told = html.escape(json.dumps([each.told() for each in self.yours]))
            listens = f' data-listens="{html.escape(self.lesson)}" data-axes="{told}"'
        return f'<figure class="{kind}"{listens}>{title}{live}{EITHER}{still}{legend}</figure>'

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        png = base64.b64encode(to_png(self.fig)).decode()
        data = {"text/html": self._html(png), "image/png": png, "text/plain": self.alt}
        return data, {"image/png": {"alt": self.alt}}


def show(fig: Figure, *, alt: str, caption: str = "", wide: bool = False) -> None:
    """Display a figure without a title; see `Picture`."""
    display(Picture(fig, "", caption, alt, wide))


def luminance(colour: str) -> float:
    """Relative luminance of a colour `#rrggbb` as WCAG 2 defines it, from 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast of two colours as WCAG 2 defines it, from 1 to 21.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def readable(behind: str) -> str:
    """Black or white, whichever stands out more from a colour: by 4.58 : 1 at least."""
    return max(("black", "#000000"), ("white", "#ffffff"), key=lambda c: contrast(c[1], behind))[0]


def label_lines(ax: Axes, size: float = 10) -> list[Annotation]:
    """Write the label of each line beside its right end, in its colour, and none over another.

    Takes the place of a legend. The labels stand in a column right of the axes, as near to the
    ends as they can without touching; where one had to move, a thin line leads to it. Call it when
    all is drawn and the axes have their limits.

    Args:
        ax: axes whose lines were plotted with labels.
        size: of the letters, in points.

    Returns:
        the labels, from the lowest up.

    Raises:
        ValueError: no line has a label, or a labelled one has no point that can be seen.
    """
    lines = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    if not lines:
        raise ValueError("no line has a label: plot it with label=...")
    ax.get_figure().draw_without_rendering()  # the layout decides how tall the axes are
    height = ax.get_window_extent().height / ax.get_figure().dpi * 72
    ends = [_end(ax, line) for line in lines]
    order = sorted(range(len(lines)), key=lambda i: ends[i][2])
    rows = [1.25 * size * (1 + str(lines[i].get_label()).count("\n")) / height for i in order]
    places = _spread([ends[i][2] for i in order], rows)
    labels = []
    for i, row, place in zip(order, rows, places, strict=True):
        x, y, wanted, at_edge = ends[i]
        moved = abs(place - wanted) > row / 4 or not at_edge
        leader = {
            "arrowstyle": "-", "color": GREY, "linewidth": 0.7, "relpos": (0, 0.5),
            "shrinkA": 0, "shrinkB": 1,
        }  # fmt: skip
        labels.append(
            ax.annotate(
                str(lines[i].get_label()), (x, y), (1, place), fontsize=size,
                color=lines[i].get_color(), va="center", annotation_clip=False,
                textcoords=offset_copy(
                    ax.transAxes, ax.get_figure(), x=12 if moved else 5, units="points"
                ),
                arrowprops=leader if moved else None,
            )
        )  # fmt: skip
    return labels


def _end(ax: Axes, line: Line2D) -> tuple[float, float, float, bool]:
    """A line's last point in sight: x, y, how high in the axes (0 to 1), and if at their edge."""
    points = [
        (x, y, *ax.transAxes.inverted().transform(ax.transData.transform((x, y))))
        for x, y in line.get_xydata().tolist()
    ]
    seen = [p for p in points if all(map(math.isfinite, p)) and -0.001 <= p[2] <= 1.001]
    if not seen:
        raise ValueError(f"no point of the line {line.get_label()!r} can be seen")
    x, y, across, up = max(seen, key=lambda p: p[2])
    return x, y, min(max(float(up), 0.0), 1.0), bool(across > 0.98)


def _spread(wanted: Sequence[float], rows: Sequence[float]) -> list[float]:
    """Places nearest to those wanted, in their order, at which rows of these heights do not touch.

    Within 0 and 1, and where there is no room for that, above. Moving each place down by the rows
    below it makes "do not touch" into "do not fall", and the nearest such places are means of
    blocks (isotonic regression, by pooling adjacent violators).

    >>> [round(place, 3) for place in _spread([0.0, 0.5, 0.5, 1.0], [0.1] * 4)]
    [0.0, 0.45, 0.55, 1.0]
    """
    below = [0.0]
    for low, high in itertools.pairwise(rows):
        below.append(below[-1] + (low + high) / 2)
    blocks: list[list[float]] = []
    for place, offset in zip(wanted, below, strict=True):
        blocks.append([place - offset])
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    room = max(1.0 - below[-1], 0.0)
    flat = [min(max(_mean(block), 0.0), room) for block in blocks for _ in block]
    return [place + offset for place, offset in zip(flat, below, strict=True)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def legend_below(fig: Figure, size: float = 10) -> Legend:
    """One legend under all axes, in as many columns as fit, each label once.

    Raises:
        ValueError: nothing has a label.
    """
    handles: dict[str, object] = {}
    for ax in fig.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if not handles:
        raise ValueError("nothing has a label: plot it with label=...")
    for columns in range(len(handles), 0, -1):
        legend = fig.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=columns,
            fontsize=size, handlelength=1.6, columnspacing=1.4,
        )  # fmt: skip
        if columns == 1 or legend.get_window_extent().width <= fig.bbox.width:
            break
        legend.remove()
    return legend


def band(ax: Axes, x: Tensor, curves: Tensor, colour: str, label: str | None = None) -> None:
    """Draw the median of curves [n, m] over x [n] and, behind it, their middle half."""
    low, middle, high = curves.quantile(curves.new_tensor([0.25, 0.5, 0.75]), dim=1)
    ax.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0)
    ax.plot(x, middle, color=colour, label=label)


def _short(value: float) -> str:
    """At most four signs: −.18, .05, −1.6, 1.0."""
    small = abs(value) < 0.995
    text = f"{value:.{1 + small}f}".replace("-0.00", "0.00").replace("-", "−")
    return text.replace("0.", ".", 1) if small else text


def heat_map(
    ax: Axes,
    values: Tensor,
    *,
    signed: bool = False,
    x: Sequence[str] | None = None,
    y: Sequence[str] | None = None,
    numbers: bool = False,
    frames: Iterable[tuple[int, int]] = (),
    size: float = 8,
) -> None:
    """Draw a matrix as coloured cells: signed around zero, else from 0 to 1.

    `x` and `y` label columns and rows, `numbers` writes each value into its cell, with letters of
    `size` points, `frames` lists cells (row, column) to put a frame around.
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
                cell = to_hex(mesh.to_rgba(values[i, j].item()))
                ax.text(
                    j + 0.5, i + 0.5, _short(values[i, j].item()), ha="center", va="center",
                    color=ON_CELL[readable(cell), readable(_COUNTERPART[cell])], fontsize=size,
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
