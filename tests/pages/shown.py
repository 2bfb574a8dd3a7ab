"""What a notebook's cells show and say: run in this process, with recorded runs (`FAST=1`)."""

import ast
import contextlib
import io
import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest
from dependencies import python_code, read_notebook
from IPython.core.interactiveshell import InteractiveShell

from .described import described, inwards, sentences, timeless
from .held import WRITTEN


def shown(path: Path, patch: pytest.MonkeyPatch) -> Iterator[str]:
    """Lines for each cell of a notebook: its id, and further in what it shows or says."""
    patch.setenv("FAST", "1")
    patch.chdir(path.parent)
    now = displayed(patch)
    # What a cell defines is found by its source, and is not the tests' own: `recall.key` asks.
    patch.setitem(sys.modules, "__main__", main := ModuleType("__main__"))
    for cell in read_notebook(path).cells:
        yield cell.id
        if cell.cell_type == "markdown":
            yield from inwards(f"{WRITTEN} {line}" for line in sentences(cell.source))
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            run(python_code(cell.source), f"<{cell.id}>", vars(main), now)
        yield from inwards(timeless(printed.getvalue().splitlines()))
        for each in now:
            yield from inwards(described(each))
        now.clear()


def run(code: str, name: str, scope: dict[str, Any], now: list[Any]) -> None:
    """Run a cell; what its last line gives is shown."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), scope)
    if isinstance(last, ast.Expr):
        found = eval(compile(ast.Expression(last.value), name, "eval"), scope)
        now += [] if found is None else [found]


class Raw:
    """A bundle that is displayed as it is."""

    def __init__(self, bundle: dict[str, str]) -> None:
        self._repr_mimebundle_ = lambda: bundle


def displayed(patch: pytest.MonkeyPatch) -> list[Any]:
    """A list that fills with what `display` is given, as objects."""
    now: list[Any] = []
    shell = MagicMock()
    shell.display_formatter.format = lambda shown, **_: ({"shown": shown}, {})
    shell.display_pub.publish = lambda data, **_: now.append(data.get("shown", Raw(data)))
    patch.setattr(InteractiveShell, "initialized", lambda: True)
    patch.setattr(InteractiveShell, "instance", lambda: shell)
    return now
