"""What is drawn in a figure, as a reader sees it: whether words lie on data or on other words."""

import math
import re
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.spines import Spine
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from book.kit.figures import ON_CELL, house_style

SEEN = 32  # of 255: what differs from white by less is a grid line or the shade of a region
MARGIN = 0.15  # of a line's height: above and below most letters it is empty


def crowded(fig: Figure) -> list[str]:
    """Words that lie on data or on others, or are no number; those in cells are meant to."""
    with house_style():
        texts, data = words_and_data(fig)
        boxes = [(text.get_text().strip(), extent(text)) for text in texts]
    found = []
    for said, box in boxes:
        x0, y0, x1, y1 = (max(round(edge), 0) for edge in box.extents)
        if data[y0:y1, x0:x1].any():
            found.append(f"{said!r} lies on data")
        if re.search(r"\b(?:nan|inf)\b", said):
            found.append(f"{said!r} is no number")
    x0, y0, x1, y1 = np.array([box.extents for _, box in boxes]).reshape(-1, 4).T
    wide = np.minimum.outer(x1, x1) - np.maximum.outer(x0, x0)
    high = np.minimum.outer(y1, y1) - np.maximum.outer(y0, y0)
    for one, two in np.argwhere(np.triu((wide > 0) & (high > 0), 1)):
        found.append(f"{boxes[one][0]!r} lies on {boxes[two][0]!r}")
    return found


def words_and_data(fig: Figure) -> tuple[list[Text], np.ndarray]:
    """Texts but those in cells; where there is colour without texts, legends, axes, from below."""
    found: list[Text] = []
    aside = RendererAgg(*fig.canvas.get_width_height(), fig.dpi)

    def record(text: Text, renderer: RendererBase) -> None:
        if text.get_visible() and text.get_text().strip():
            found.append(text)

    def beside(kind: type[Artist]) -> AbstractContextManager[object]:
        draw = kind.draw
        return patch.object(kind, "draw", lambda part, renderer: draw(part, aside))

    canvas = FigureCanvasAgg(fig)
    with patch.object(Text, "draw", record), beside(Legend), beside(Axis), beside(Spine):
        canvas.draw()
    red_green_blue_alpha = np.asarray(canvas.buffer_rgba()).astype(int)[::-1]
    colour, alpha = red_green_blue_alpha[..., :3], red_green_blue_alpha[..., 3:]
    on_white = (colour * alpha + 255 * (255 - alpha)) // 255
    texts = [text for text in found if text.get_color() not in ON_CELL.values()]
    return texts, (255 - on_white).max(-1) > SEEN


def extent(text: Text) -> Bbox:
    x0, y0, x1, y1 = Text.get_window_extent(text).extents
    air = MARGIN * (y1 - y0) / (1 + text.get_text().count("\n"))
    return Bbox.from_extents(x0 + 1, y0 + air, x1 - 1, y1 - air)


def place(axis: dict[str, Any], value: float) -> float:
    low, high, at = (math.log10(v) if axis["scale"] == "log" else v for v in (*axis["from"], value))
    share = min(max((at - low) / (high - low), 0), 1)
    return float(axis["to"][0] + share * (axis["to"][1] - axis["to"][0]))
