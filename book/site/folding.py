"""Which cells are worth reading as code: the others are folded, and their outputs stand.

A cell that only calls functions of the package, such as `figures.training(live)` or
`table(claims.lesson(live))`, tells a reader nothing that its output does not say. One that defines
something, computes with operators or loops, or calls torch, does. `python book/build.py strip`
folds the first kind and unfolds what is no longer of it.
"""

import ast
import re

from nbformat import NotebookNode

from book.site.dependencies import PACKAGES, python_code

FOLDED = {"hide-input", "remove-input"}
"""Tags of the cells whose code the site does not show, or only when it is asked to."""

WORTH = (
    *(
        ast.FunctionDef,
        ast.ClassDef,
        ast.Lambda,
        ast.ListComp,
        ast.SetComp,
        ast.DictComp,
        ast.GeneratorExp,
    ),
    *(ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Assert, ast.AugAssign),
    *(ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp),
)
"""What a learner may read a cell for."""

SHOWS = {"IPython"}
"""Packages besides the book's own whose calls say nothing of the matter."""


def elsewhere(notebook: NotebookNode) -> set[str]:
    """The names that a notebook has imported from other packages, as `torch` or `F`."""
    found = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(python_code(cell.source))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    module = node.module if isinstance(node, ast.ImportFrom) else alias.name
                    if (module or "").split(".")[0] not in {*PACKAGES, *SHOWS}:
                        found.add((alias.asname or alias.name).split(".")[0])
    return found


def only_calls(source: str, others: set[str]) -> bool:
    """Whether a cell does nothing but call the package's functions, and name what they return.

    Args:
        source: the cell's code.
        others: names whose calls are worth reading: see `elsewhere`.

    >>> only_calls("display(figures.floor(), tables.moves(live))", {"torch"})
    True
    >>> only_calls("scores = q @ k.mT", {"torch"})
    False
    >>> only_calls("torch.softmax(scores, -1)", {"torch"})
    False
    """
    called, worth = False, {*others, "print"}
    for node in ast.walk(ast.parse(python_code(source))):
        if isinstance(node, WORTH):
            return False
        if isinstance(node, ast.Call):
            root: ast.AST = node.func
            while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
                root = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Name) and root.id in worth:
                return False
            called = True
    return called


def fold(notebook: NotebookNode) -> None:
    """Fold the cells that only call the package; in JupyterLab, too, all that the site folds."""
    others = elsewhere(notebook)
    for cell in notebook.cells:
        cell.metadata.pop("jupyter", None)
        if cell.cell_type != "code":
            continue
        tags = set(cell.metadata.pop("tags", []))
        if not has_its_place(cell.id, tags):
            folded = tags & {"remove-input"} or {"hide-input"}
            tags = tags - FOLDED | (folded if only_calls(cell.source, others) else set())
        if tags:
            cell.metadata["tags"] = sorted(tags)
        if tags & FOLDED:
            cell.metadata["jupyter"] = {"source_hidden": True}


def has_its_place(name: str, tags: set[str]) -> bool:
    """Whether a cell is as it is whatever its code: the setup, a stub, what the site leaves out."""
    stub = re.fullmatch(r"exercise-.+-answer", name) is not None
    return name == "setup" or stub or "remove-cell" in tags
