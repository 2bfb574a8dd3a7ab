"""Pages with the explorer; what a reader does there, their transcripts say."""

import os
from functools import partial
from typing import Any
from unittest.mock import patch

from book.lessons.triple_product import evidence, explorer, figures
from tests.transcripts.played import on_site


@patch.dict(os.environ, FAST="1")
def page(mode: str = "head", steps: int = 0, figure: bool = False) -> list[Any]:
    widget, moved = explorer.explorer(), evidence.recorded().moved
    widget.mode = mode
    if steps:
        widget.lessons = {name: each | {"steps": steps} for name, each in widget.lessons.items()}
    return [widget, *[figures.transfer(moved["one layer"])] * figure]


@patch.dict(os.environ, FAST="1")
def lesson() -> list[Any]:
    recorded = evidence.recorded()
    widget = explorer.copier()
    widget.lessons = {name: each | {"steps": 40} for name, each in widget.lessons.items()}
    return [widget, figures.transfer(recorded.moved["one layer"]), figures.cure(recorded)]


PAGES = {
    "copier": lambda: on_site(*lesson(), "eleven", "two-layers"),
    "drawn": partial(page, "hand"),
    "moved": partial(page, "hand"),
    "numbers": lambda: on_site(*page("hand"), "whisper"),
    "head": lambda: on_site(*page(), "twelve", "eleven", "two-layers", "space"),
    "texts": page,
    "training": partial(page, figure=True),
    "own": partial(page, steps=40, figure=True),
}
# "drawn" tells each part of a drawing.
WHOLE = dict.fromkeys(
    PAGES.keys() - {"drawn"},
    ("g.tp-space", "g.tp-names", "g.tp-handle", "td", "span.tp-token", "select"),
)
