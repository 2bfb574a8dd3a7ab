"""The operations that a page's Python knows, as a page of the reference: from their one table.

    ```{operations}
    ```

becomes a table of what there is by itself (`book.page.code.python.operations`), and lists of what
is composed of these, by torch's names.
"""

from collections.abc import Iterable
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HEAD = ("in a graph", "in code", "gives", "has a slope")
SIGNS = {
    **{"__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__neg__": "-x"},
    **{"__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">"},
    **{"__ge__": ">=", "__and__": "&", "__or__": "|"},
}
GIVES = {"same": "as given", "float": "a float", "bool": "a bool"}
ELSEWHERE = {
    "pow": "** pow",
    "bitwise_not": "~",
    "_to_copy": "to float double long bool",
    "alias": "clone contiguous",
    "slice": "x[a:b] narrow",
    "view": "view reshape flatten",
    "index": "x[i] gather",
    "index_put": "x[i] = y",
    "multiply": "@ matmul",
    "mm": "@ mm",
    "bmm": "@ bmm",
}
"""How those are written that have no method of their own name."""


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("operations", Operations)


class Operations(SphinxDirective):
    """The table, and the lists."""

    def run(self) -> list[nodes.Node]:
        """As HTML: none of it is prose."""
        lists = "".join(
            f"<p><strong>{escape(title)}</strong>: {_codes(names)}</p>"
            for title, names in composed().items()
        )
        return [nodes.raw(text=f"{_table(rows())}{lists}", format="html")]


def rows() -> list[tuple[str, str, str, str]]:
    """One for each operation of the table: see `HEAD`."""
    from book.page.code.python.operations import EAGER, ENTRYWISE, OTHERS

    found = []
    for name, (kind, spelled, slope) in ENTRYWISE.items():
        words = " ".join(SIGNS.get(word, word) for word in spelled.split())
        found.append((name, words or ELSEWHERE.get(name, name), GIVES[kind], _yes(slope)))
    for name, slope in OTHERS.items():
        found.append((name, ELSEWHERE.get(name, name), "as given", _yes(slope)))
    found += [(name, name, "at once, in no program", "no") for name in EAGER]
    return found


def _yes(slope: object) -> str:
    return "no" if slope is None else "yes"


def composed() -> dict[str, list[str]]:
    """What torch calls what the page's torch has, by where it stands."""
    import torch

    from book.page.code.python.running import F, func, nn, solved
    from book.page.code.python.running import torch as page
    from book.page.code.python.tensor import Tensor

    def both(ours: object, theirs: object) -> list[str]:
        names = [name for name in dir(ours) if name[0] != "_" and hasattr(theirs, name)]
        return [name for name in names if callable(getattr(theirs, name)) or name in CONSTANTS]

    return {
        "torch": both(page, torch),
        "of a tensor": both(Tensor, torch.Tensor),
        "torch.nn": both(nn, torch.nn),
        "torch.nn.functional": both(F, torch.nn.functional),
        "torch.func": both(func, torch.func),
        "torch.linalg": both(solved, torch.linalg),
    }


CONSTANTS = {
    *("T", "bool", "double", "float", "float32", "float64", "inf", "int", "int64", "long"),
    *("mT", "nan", "pi", "shape"),
}
"""What is no function."""


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"<code>{escape(name)}</code>" for name in names)


def _table(found: Iterable[tuple[str, ...]]) -> str:
    def line(cells: Iterable[str], tag: str, more: str = "") -> str:
        return "<tr>" + "".join(f"<{tag}{more}>{cell}</{tag}>" for cell in cells) + "</tr>"

    head = line(HEAD, "th", ' scope="col"')
    body = "".join(
        line((_codes([name]), _codes(words.split()), gives, slope), "td")
        for name, words, gives, slope in found
    )
    table = f'<table class="table"><thead>{head}</thead><tbody>{body}</tbody></table>'
    return f'<div class="pst-scrollable-table-container">{table}</div>'  # as the theme does of its
