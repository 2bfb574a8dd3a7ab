"""A reader's guess, scored where the result stands."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from attn_notes import allowed
from book.kit.predictions import Part
from book.page.bundle import javascript, plain_style

OPENS = (10.0, 10.0, 12.0)  # rem high as it opens: wide, on a page, on a phone


class Scored(anywidget.AnyWidget):
    """A reader's guess beside what came out and the best possible, and a file of it for a class.

    What came out as no number, as where a training broke, is left out.

    Args:
        lesson: its stem, under which the guesses are kept.
        parts: what was asked, with what came out.
        words: of those that were one of several, part → number → what it is called.
        waits: whether what came out is told only after the reader has trained something.

    Raises:
        ValueError: nothing came out as a number.
    """

    _esm = javascript("scored")
    _css = plain_style("guess")

    lesson = traitlets.Unicode().tag(sync=True)
    parts: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)
    waits = traitlets.Bool(False).tag(sync=True)

    def __init__(self, lesson: str, parts: Sequence[Part], **traits: Any) -> None:
        parts = [part for part in parts if math.isfinite(part.came)]
        allowed.some(parts=parts)
        super().__init__(lesson=lesson, parts=[part._asdict() for part in parts], **traits)

    def __repr__(self) -> str:
        came: Sequence[Mapping[str, Any]] = self.parts
        return "Came out: " + ", ".join(f"{part['name']} {part['came']:.3g}" for part in came)
