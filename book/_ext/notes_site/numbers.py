"""The number of a lesson follows from `_toc.yml`: a page writes `[#](STEM.ipynb)` to show it.

So the lessons can change places, and no page has to be told. A lesson is a notebook that the
contents list directly in `book`; the notes for teaching it, `[#](teaching/STEM.md)`, have its number.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Fill the numbers in before a page is parsed."""
    app.connect("source-read", _number)


def numbered(source: str, stems: list[str]) -> str:
    """A page's source with the number of a lesson in each `[#…]` that leads to one.

    >>> numbered("See [#](../cats.ipynb) and [#. Dogs](teaching/dogs.md).", ["dogs", "cats"])
    'See [2](../cats.ipynb) and [1. Dogs](teaching/dogs.md).'

    Raises:
        ValueError: one leads to a page that is no lesson.
    """

    def number(link: re.Match[str]) -> str:
        if link["stem"] not in stems:
            raise ValueError(f"{link[0]} leads to no lesson, and so has no number")
        return f"[{stems.index(link['stem']) + 1}{link['rest']}"

    return re.sub(
        r"\[#(?P<rest>[^]]*\]\((?:[\w.]+/)*(?P<stem>\w+)\.(?:ipynb|md)\))", number, source
    )


def lessons(root: Path) -> list[str]:
    """The stems of the lessons in the order of `_toc.yml`."""
    contents = (root / "_toc.yml").read_text("utf-8")
    listed = re.findall(r"file: book/(\w+)$", contents, re.M)
    return [stem for stem in listed if (root / "book" / f"{stem}.ipynb").is_file()]


def _number(app: Sphinx, page: str, source: list[str]) -> None:
    if Path(app.env.doc2path(page)).suffix == ".md":
        source[0] = numbered(source[0], lessons(Path(app.srcdir)))
