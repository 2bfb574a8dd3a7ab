"""What a cell shows, as lines of text: figures, tables, widgets and sentences."""

import math
import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any

import numpy as np
from anywidget import AnyWidget
from matplotlib.collections import Collection, LineCollection, QuadMesh
from matplotlib.colors import to_hex, to_rgba
from matplotlib.contour import ContourSet
from matplotlib.text import Annotation

from book.kit import figures as house
from book.kit.figures import Picture
from book.kit.notebook import Cost

from ..drawn import crowded
from ..tables import rows, words

NAMED = {
    **{house.INK: "ink", house.PAPER: "paper", house.GREY: "grey", house.OURS: "blue"},
    **{house.PUBLISHED: "vermilion", house.CONTROL: "green", house.MAUVE: "mauve"},
    **{house.VIOLET: "violet", house.YOURS: "yours"},
    **{code: f"{light} ({dark} in the dark)" for (light, dark), code in house.ON_CELL.items()},
}
MOST = 12
"""Points of a curve that stand in the text: both ends and some between."""
CELLS = 64
"""Cells of a heat map that do."""
BRIEF = 300
"""Letters of a widget's trait, or of one thing in it, that is told whole."""
ITEMS = 12
"""Things in a trait that are told one by one."""

APART = re.compile(r"$|:::|:\w+:|#|\||\$\$")
"""How a line of prose begins that none follows on."""
BEGINS = re.compile(rf"\s*(?:{APART.pattern}|[-*] |\d+\. |:)")
"""How one begins that follows on none."""


def described(shown: Any) -> Iterator[str]:
    """Lines for one thing that a cell has shown; what belongs to a line stands further in."""
    if isinstance(shown, Picture):
        yield f"figure: {shown.title}"
        yield from inwards(picture(shown))
    elif isinstance(shown, AnyWidget):
        yield f"widget: {shown!r}"
        yield from inwards(opening(shown))
    elif isinstance(shown, Cost):
        yield "what it took"  # which is never the same
    elif isinstance(data := getattr(shown, "data", None), str) and "<tr>" in data:
        listens = re.findall(r"data-[a-z]+=\"[^\"]*\"", data)
        yield unescape(" ".join(["table", *listens]))
        head, *body = rows(shown)
        measured = [name.endswith("per second") for name in head]
        body = [["…" if new else x for x, new in zip(r, measured, strict=True)] for r in body]
        yield from inwards(" | ".join(row).rstrip() for row in (head, *body))
    else:
        yield from timeless(sentences(words(data) if isinstance(data, str) else told(shown)))


def inwards(lines: Iterable[str]) -> Iterator[str]:
    """Each a line of its own, whatever is in it."""
    return (f"  {line.replace(chr(10), ' / ')}" for line in lines)


def sentences(text: str) -> Iterator[str]:
    """A text with a line for each sentence, wherever its own lines end; code keeps its lines."""
    found: list[str] = []
    code, flows = False, False
    for line in text.splitlines():
        fence = line.startswith("```")
        if flows and not fence and not BEGINS.match(line):
            found[-1] += f" {line.strip()}"
        elif line.strip():
            found.append(line)
        code ^= fence
        flows = not (code or fence or APART.match(line))
    for line in found:
        yield from re.split(r"(?<=[.!?]) (?=[A-Z“‘\"*`$\[<])", line)


def told(shown: Any) -> str:
    """The words of whatever else there is, without an address that is another in each run."""
    bundle = getattr(shown, "_repr_mimebundle_", dict)()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    text = data.get("text/markdown") or data.get("text/plain") or str(shown)
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def timeless(lines: Iterable[str]) -> Iterator[str]:
    """Lines that say how long something took, or how far it came by then, without the number."""
    untimed = (re.sub(r"\d+(\.\d+)? s\b", "… s", line) for line in lines)
    return (re.sub(r"\([\d,]+ rows, … s\)", "(… rows, … s)", line) for line in untimed)


def opening(widget: AnyWidget) -> Iterator[str]:
    for name, value in sorted(widget.get_state().items()):
        if name[0] == "_" or name in ("layout", "tabbable", "tooltip") or value in ("", {}, []):
            continue
        parts = {"": value}
        if len(repr(value)) > BRIEF and isinstance(value, dict | list) and len(value) <= ITEMS:
            named = value.items() if isinstance(value, dict) else enumerate(value)
            parts = {f"[{key!r}]": part for key, part in named}
        for key, part in parts.items():
            text = repr(part)
            if len(text) > BRIEF:
                text = f"has {', '.join(part)}" if isinstance(part, dict) else "long"
            yield f"{name}{key}: {text}"


def picture(shown: Picture) -> Iterator[str]:
    fig = shown.fig
    with house.house_style():
        fig.canvas.draw()
    yield f"caption: {shown.caption}"
    yield f"alt: {shown.alt}"
    size = "×".join(f"{x:g}" for x in fig.get_size_inches())
    listens = f", listens to {shown.lesson}" if shown.lesson else ""
    yield f"{size} inches{', wide' if shown.wide else ''}{listens}"
    yield from (f"text {t.get_text()!r} {colour(t)}" for t in fig.texts)
    yield from (f"legend: {legend(each)}" for each in fig.legends)
    for i, ax in enumerate(fig.axes):
        yield f"axes {i} {ax.get_title('left') or ax.get_title()}".rstrip()
        yield from inwards(axes(ax))
        for each in shown.yours:
            if each.ax is ax:
                left_out = ("x", "y", "colour")
                yours = {k: v for k, v in each.told().items() if k not in left_out and v}
                yield f"  yours: {yours}"
    yield from (f"NO: {found}" for found in crowded(fig))


def axes(ax: Any) -> Iterator[str]:
    for name in "xy":
        parts = ("label", "lim", "scale", "ticklabels")
        label, ends, scale, ticks = (getattr(ax, f"get_{name}{part}")() for part in parts)
        places = [(t.get_position()[name == "y"], t.get_text()) for t in ticks]
        seen = ", ".join(text for at, text in places if min(ends) <= at <= max(ends))
        yield f"{name} {label!r} {numbers(ends)} {scale}{f': {seen}' if seen else ''}"
    for line in ax.lines:
        width = f"{line.get_linewidth():g}"
        marks = (line.get_linestyle(), line.get_marker(), width, opacity(line))
        label = "" if str(line.get_label()).startswith("_") else repr(line.get_label())
        kind = " ".join(filter(None, ["line", colour(line), *map(str, marks), *face(line), label]))
        yield f"{kind}: {curve(line.get_xydata())}"
    for patch in ax.patches:
        box = patch.get_path().get_extents(patch.get_patch_transform())
        edge = colour(patch.get_edgecolor())
        ink = (colour(patch.get_facecolor()), "" if edge == "none" else f"edge {edge}")
        kind = [type(patch).__name__.lower(), *ink, patch.get_hatch(), opacity(patch)]
        yield f"{' '.join(filter(None, kind))}: {numbers(box.extents)}"
    yield from map(collection, ax.collections)
    for image in ax.images:
        yield cells(image)
    for text in ax.texts:
        noted = isinstance(text, Annotation)
        to = f", of {numbers(text.xy)}" if noted else ""
        if noted and text.arrow_patch:
            to += f", arrow {colour(text.arrow_patch.get_edgecolor())}"
        at = numbers(text.xyann if noted else text.get_position())
        yield f"text {text.get_text()!r} {colour(text)} at {at}{to}"
    if found := ax.get_legend():
        yield f"legend: {legend(found)}"


def face(line: Any) -> Iterator[str]:
    """What fills a line's markers, where that is another colour than its own."""
    if line.get_marker() not in ("None", "", None):
        inside = "none" if line.get_fillstyle() == "none" else colour(line.get_markerfacecolor())
        yield "" if inside == colour(line) else f"face {inside}"


def collection(each: Collection) -> str:
    if isinstance(each, QuadMesh):
        return cells(each)
    colours = (*each.get_facecolor(), *each.get_edgecolor())
    inks = dict.fromkeys(colour(c) for c in colours if len(c) and c[-1])
    ink = " ".join([*inks, opacity(each)]).strip()
    if isinstance(each, ContourSet):
        return f"contours {ink}: at {numbers(each.levels)}, {'; '.join(contours(each))}"
    if isinstance(each, LineCollection):
        segments = each.get_segments()
        return f"segments {ink}: {len(segments)}, {curve(np.concatenate(segments or [[]]))}"
    offsets = np.asarray(each.get_offsets())
    if len(offsets) > 1 or offsets.any():
        return f"dots {ink}: {curve(offsets)}"
    return f"area {ink}: {'; '.join(curve(p.vertices) for p in each.get_paths())}"


def contours(each: ContourSet) -> Iterator[str]:
    """How large the field of each level is, and how far its middle from the left and from below.

    Of its corners nothing: on another processor they are others.
    """
    corner = [min(each.axes.get_xlim()), min(each.axes.get_ylim())]
    for path in each.get_paths():
        size, moment = 0.0, np.zeros(2)
        for polygon in path.to_polygons(closed_only=False):
            ends = np.roll(polygon, -1, axis=0)
            wedges = (polygon[:, 0] * ends[:, 1] - ends[:, 0] * polygon[:, 1]) / 2
            size += wedges.sum()  # a hole goes round the other way, and counts against it
            moment += wedges @ (polygon + ends) / 3
        yield f"{short(size)} about {numbers(moment / size - corner)}" if size else "nothing"


def cells(each: Any) -> str:
    """A heat map: its colours, between which numbers, and the numbers, or some and their mean."""
    values = np.ma.getdata(each.get_array())
    some = values.ravel() if values.size <= CELLS else values.ravel()[:: values.size // CELLS + 1]
    size = "×".join(map(str, values.shape))
    found = f"mean {numbers([values.mean()])}, {numbers(some)}"
    return f"cells {size} {each.cmap.name} {numbers(each.get_clim())}: {found}"


def legend(found: Any) -> str:
    return ", ".join(text.get_text() for text in found.get_texts())


def opacity(of: Any) -> str:
    return "" if of.get_alpha() is None else f"alpha {of.get_alpha():g}"


def colour(of: Any) -> str:
    """Its name in the house, else its code."""
    found = of.get_color() if hasattr(of, "get_color") else of
    code = to_hex(found)
    return NAMED.get(code, code) if to_rgba(found)[-1] else "none"


def curve(points: Any) -> str:
    """Some points, how many, and their mean: what is drawn between cannot go unseen."""
    points = np.asarray(points, float)
    if not len(points):
        return "nothing"
    some = points[np.unique(np.linspace(0, len(points) - 1, MOST).round().astype(int))]
    mean = np.where(np.isfinite(points), points, 0).mean(0)
    return f"{len(points)} points, mean {numbers(mean)}: " + " ".join(map(numbers, some))


def numbers(values: Any) -> str:
    """Numbers as a drawing shows them; an axis may have words instead."""
    return "(" + ", ".join(map(short, np.asarray(values, object).ravel())) + ")"


def short(x: Any) -> str:
    """A whole number as it is; of others three digits or more, with a point.

    >>> short(577.31), short(577.0), short(0.01), short(-1e-9)
    ('577.3', '577', '0.0100', '0')
    """
    if isinstance(x, str):
        return repr(x)
    if not math.isfinite(x):
        return str(x)
    if abs(x) < 1e-6 or float(x).is_integer():
        return str(round(x))
    return f"{x:.1f}" if 100 <= abs(x) < 1000 else f"{x:#.3g}"
