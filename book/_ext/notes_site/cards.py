"""The lessons as the landing page shows them: a small picture and a question each.

    ```{lessons}
    ```

becomes a list of all lessons of `_toc.yml` in their order. A lesson's title stands at the top of
its notebook, its question in the notebook's metadata, and its picture is `figures.emblem()` of its
chapter, drawn from the records. So a new lesson is there as soon as it is listed.
"""

import html
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from notes_site import numbers


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("lessons", Lessons)


class Card(NamedTuple):
    """What the landing page shows of a lesson."""

    stem: str
    title: str
    question: str


class Lessons(SphinxDirective):
    """The lessons' cards, each a link to its page."""

    def run(self) -> list[nodes.Node]:
        """One list."""
        book = Path(self.env.srcdir) / "book"
        found = [read(book / f"{stem}.ipynb") for stem in numbers.lessons(Path(self.env.srcdir))]
        for card in found:
            self.env.note_dependency(str(book / f"{card.stem}.ipynb"))
        here = self.env.app.builder.get_relative_uri
        entries = [
            entry(card, here(self.env.docname, f"book/{card.stem}"), emblem(card.stem))
            for card in found
        ]
        text = f'<ul class="lesson-cards">{"".join(entries)}</ul>'
        return [nodes.raw(text=text, format="html")]


def read(path: Path) -> Card:
    """A lesson's card, from its notebook.

    Raises:
        ExtensionError: it has no title at its top, or no question.
    """
    notebook = json.loads(path.read_text("utf-8"))
    title = re.match(r"# (.+)", "".join(notebook["cells"][0]["source"]))
    question = notebook["metadata"].get("question", "")
    if not title or not question:
        missing = "question in its metadata" if title else "title in its first cell"
        raise ExtensionError(f"{path.name} has no {missing}, which the landing page shows")
    return Card(path.stem, title[1].strip(), question)


def emblem(stem: str) -> str:
    """A chapter's small picture, as SVG."""
    from attn_notes import figures  # heavy, and only the landing page needs it

    draw: Callable[[], figures.Picture]
    draw = importlib.import_module(f"attn_notes.chapters.{stem}.figures").emblem
    picture = draw()
    return figures.to_svg(picture.fig, picture.alt)


def entry(card: Card, address: str, picture: str) -> str:
    """A card as an element of the list.

    >>> entry(Card("cats", "A & B", "Which?"), "cats.html", "<svg></svg>")
    '<li><a href="cats.html"><svg></svg><strong>A &amp; B</strong> <span>Which?</span></a></li>'
    """
    title, question = (html.escape(each).replace("&#x27;", "’") for each in card[1:])
    return (
        f'<li><a href="{html.escape(address)}">{picture}'
        f"<strong>{title}</strong> <span>{question}</span></a></li>"
    )
