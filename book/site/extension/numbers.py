"""The number of a lesson follows from `_toc.yml`: a page writes `[#](STEM.ipynb)` to show it.

So the lessons can change places, and no page has to be told. A lesson is a file that the contents
list directly in `book`, in a part with numbers where there are parts; the notes for teaching it,
`[#](teaching/STEM.md)`, have its number.
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
    contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    parts = [part for part in contents.get("parts", []) if part.get("numbered")] or [contents]
    listed = [chapter["file"] for part in parts for chapter in part.get("chapters", [])]
    return [file.removeprefix("book/") for file in listed if re.fullmatch(r"book/\w+", file)]


def _number(app: Sphinx, page: str, source: list[str]) -> None:
    if Path(app.env.doc2path(page)).suffix == ".md":
        source[0] = numbered(source[0], lessons(Path(app.srcdir)))
