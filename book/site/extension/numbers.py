"""The number of a lesson follows from `_toc.yml`: a page writes `[#](STEM.ipynb)` to show it.

So the lessons can change places, and no page has to be told. A lesson is a file that the contents
list as `book/lessons/STEM/STEM`, in a part with numbers where there are parts; its notes for
teaching, `[#](../STEM/teaching.md)`, have its number.
"""

import re
from pathlib import Path

import yaml
from sphinx.application import Sphinx


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


def lessons(root: Path) -> list[str]:
    """The stems of the lessons in the order of `_toc.yml`."""
    contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    parts = [part for part in contents.get("parts", []) if part.get("numbered")] or [contents]
    listed = [chapter["file"] for part in parts for chapter in part.get("chapters", [])]
    return [found[1] for file in listed if (found := re.fullmatch(r"book/lessons/(\w+)/\1", file))]


def _number(app: Sphinx, page: str, source: list[str]) -> None:
    if Path(app.env.doc2path(page)).suffix == ".md":
        source[0] = numbered(source[0], lessons(Path(app.srcdir)))
