"""The number of a lesson follows from `_toc.yml`: a page writes `[#](STEM.ipynb)` to show it.

So the lessons can change places, and no page has to be told. A lesson is a file that the contents
list as `book/lessons/STEM/STEM`; its notes for teaching, `[#](../STEM/teaching.md)`, have its
number.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

from book.site.dependencies import all_stems


def setup(app: Sphinx) -> None:
    """Fill the numbers in before a page is parsed."""
    app.connect("source-read", _number)


def numbered(source: str, stems: list[str]) -> str:
    """A page's source with the number of a lesson in each `[#…]` that leads to one.

    >>> numbered("See [#](../cats/cats.ipynb) and [#](dogs/teaching.md).", ["dogs", "cats"])
    'See [2](../cats/cats.ipynb) and [1](dogs/teaching.md).'

    Raises:
        ValueError: one leads to a page that is no lesson.
    """

    def number(link: re.Match[str]) -> str:
        if link["stem"] not in stems:
            raise ValueError(f"{link[0]} leads to no lesson, and so has no number")
        return f"[{stems.index(link['stem']) + 1}{link['rest']}"

    to = r"(?:[\w.]+/)*(?P<stem>\w+)(?:\.ipynb|/teaching\.md)"
    return re.sub(rf"\[#(?P<rest>[^]]*\]\({to}\))", number, source)


def _number(app: Sphinx, page: str, source: list[str]) -> None:
    if Path(app.env.doc2path(page)).suffix == ".md":
        source[0] = numbered(source[0], all_stems(Path(app.srcdir)))
