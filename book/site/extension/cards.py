"""The lessons as the landing page shows them: a map of what each asks, and which it needs.

    ```{lessons}
    ```

becomes a list of all lessons of `_toc.yml` in their order, each with those that it needs and its
second page, if it has one. A lesson's title stands at the top of its notebook, its question in the
notebook's metadata, as do the stems of the lessons that it `needs`, if any; and its picture is
`figures.emblem()` of its chapter, drawn from the records. So a new lesson is there as soon as it is
listed.
"""

import html
import importlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from book.site.dependencies import all_stems, evidence_page, lesson_page, pages_of


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("lessons", Lessons)


class Card(NamedTuple):
    """What the landing page shows of a lesson."""

    stem: str
    title: str
    question: str
    time: str
    needs: tuple[str, ...]  # stems of lessons before it


class Lessons(SphinxDirective):
    """The lessons' cards in a row, each a link to its page."""

    def run(self) -> list[nodes.Node]:
        """One list."""
        root = Path(self.env.srcdir)
        pages = [lesson_page(stem) for stem in all_stems(root)]
        for page in pages:
            for each in (page, *second_pages(root, page.stem)):
                self.env.note_dependency(str(root / each))
        found = [read(root / page) for page in pages]
        here = self.env.app.builder.get_relative_uri

        def to(page: Path) -> str:
            return here(self.env.docname, page.with_suffix("").as_posix())

        def seconds(stem: str) -> dict[str, str]:
            return {title(root / page): to(page) for page in second_pages(root, stem)}

        entries = [
            entry(card, found, to(page), emblem(card.stem), seconds(card.stem))
            for card, page in zip(found, pages, strict=True)
        ]
        text = f'<ol class="lesson-map">{"".join(entries)}</ol>'
        return [nodes.raw(text=text, format="html")]


def second_pages(root: Path, stem: str) -> list[Path]:
    """What is read after a lesson, besides its evidence."""
    return [p for p in pages_of(root, stem) if p not in (lesson_page(stem), evidence_page(stem))]


def title(path: Path) -> str:
    """That at the top of a notebook; empty if there is none."""
    first = json.loads(path.read_text("utf-8"))["cells"][0]
    found = re.match(r"# (.+)", "".join(first["source"]))
    return found[1].strip() if found else ""


def read(path: Path) -> Card:
    """A lesson's card, from its notebook.

    Raises:
        ExtensionError: it has no title at its top, or no question.
    """
    notebook = json.loads(path.read_text("utf-8"))
    name, question = title(path), notebook["metadata"].get("question", "")
    if not name or not question:
        missing = "question in its metadata" if name else "title in its first cell"
        raise ExtensionError(f"{path.name} has no {missing}, which the landing page shows")
    needs = tuple(notebook["metadata"].get("needs", ()))
    cells = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    time = re.search(r"^Time\n: (\w+ minutes)", cells, re.MULTILINE)  # of its card
    return Card(path.stem, name, question, time[1] if time else "", needs)


def emblem(stem: str) -> str:
    """A chapter's small picture, as SVG; nothing where it draws none."""
    from book.kit import figures  # heavy, and only the landing page needs it

    draw: Callable[[], figures.Picture] | None
    draw = getattr(importlib.import_module(f"book.lessons.{stem}.figures"), "emblem", None)
    if draw is None:
        return ""
    picture = draw()
    return figures.to_svg(picture.fig, picture.alt)


def entry(
    card: Card, row: list[Card], address: str, picture: str, seconds: Mapping[str, str] = {}
) -> str:
    """A card as an element of the numbered list, with what it needs of the row.

    Args:
        card: the lesson's.
        row: all cards that there are.
        address: of the lesson's page.
        picture: as SVG.
        seconds: its second pages, title and address.

    >>> cats = Card("cats", "A & B", "Which?", "", ())
    >>> dogs = Card("dogs", "D", "Who?", "9 minutes", ("cats",))
    >>> entry(dogs, [cats], "dogs.html", "<svg></svg>")
    '<li><a href="dogs.html"><svg></svg>\
<strong>D</strong> <span>Who?</span> <small>9 minutes, after no. 1</small></a></li>'

    Raises:
        ExtensionError: it needs what is no lesson there.
    """
    places = {each.stem: str(n) for n, each in enumerate(row, 1)}
    if missing := [stem for stem in card.needs if stem not in places]:
        raise ExtensionError(f"{card.stem}.ipynb needs {missing[0]}, which is no lesson")
    after = f"after no. {' and '.join(places[stem] for stem in card.needs)}"
    told = ", ".join(filter(None, (card.time, after if card.needs else "needs no other lesson")))
    then = "".join(
        f'<a class="lesson-then" href="{html.escape(to)}">{_text(name)}</a>'
        for name, to in seconds.items()
    )
    return (
        f'<li><a href="{html.escape(address)}">{picture}<strong>{_text(card.title)}</strong> '
        f"<span>{_text(card.question)}</span> "
        f"<small>{told}</small></a>{then}</li>"
    )


def _text(words: str) -> str:
    return html.escape(words).replace("&#x27;", "’")
