"""A reader's guess: fields for it, before the result is known."""

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from attn_notes import allowed
from book.kit.predictions import Part, Question
from book.page.bundle import javascript, plain_style
from book.page.scored import Scored

OPENS = (7.0, 7.0, 12.0)  # rem high as it opens: wide, on a page, on a phone


class Guess(anywidget.AnyWidget):
    """Fields for what a lesson asks its reader to predict.

    What is typed stays in the browser, and comes to `guesses` where a kernel runs.

    >>> from book.kit.predictions import Number
    >>> Guess("animals", [Number("cats", 0, 100, label="Cats", unit="%")])
    Guess: nothing yet of cats

    Args:
        lesson: its stem, under which the guesses are kept.
        questions: what is asked, in this order.
    """

    _esm = javascript("guess")
    _css = plain_style("guess")

    lesson = traitlets.Unicode().tag(sync=True)
    questions: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    # what gives the answer away: from a figure on, or behind a widget, to the score; or the rest of
    # the section
    veils = traitlets.Enum(("figure", "widget", "rest"), "figure").tag(sync=True)
    # part -> number
    guesses = traitlets.Dict().tag(sync=True)

    def __init__(self, lesson: str, questions: Sequence[Question], **traits: Any) -> None:
        allowed.some(questions=questions)
        super().__init__(
            lesson=lesson, questions=[question.asked() for question in questions], **traits
        )

    def score(self, parts: Sequence[Part], *, waits: bool = False) -> Scored:
        """How near the guesses are to what came out; `waits` for the reader's own training."""
        words = {
            question["name"]: {f"{value:g}": text for text, value in question["options"]}
            for question in self.questions
            if question["kind"] == "choice"
        }
        return Scored(self.lesson, parts, words=words, waits=waits)

    def __repr__(self) -> str:
        names = ", ".join(question["name"] for question in self.questions)
        told = ", ".join(f"{name} {value:g}" for name, value in self.guesses.items())
        return f"Guess: {told or f'nothing yet of {names}'}"
