"""What a notebook's cells show and say: run in this process, with recorded runs (`FAST=1`)."""

import ast
import contextlib
import io
import linecache
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest
from IPython.core.interactiveshell import InteractiveShell
from torch import nn

from book.kit import recorded
from book.site.dependencies import python_code, read_notebook

from ..checked import recalled
from .described import described, inwards, sentences, timeless
from .held import WRITTEN


def shown(
    path: Path, patch: pytest.MonkeyPatch, machine: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Lines for each cell of a notebook: its id, and further in what it shows or says.

    What by the pattern of a cell in `machine` hangs on the processor is not told.
    """
    patch.chdir(path.parent)
    at: list[str] = []
    only_recorded(patch, path, at)
    now = displayed(patch)
    # What a cell defines is found by its source, and is not the tests' own: `recorded.key` asks.
    patch.setitem(sys.modules, "__main__", main := ModuleType("__main__"))
    for cell in read_notebook(path).cells:
        yield cell.id
        at[:] = [cell.id]
        if cell.cell_type == "markdown":
            yield from inwards(f"{WRITTEN} {line}" for line in sentences(cell.source))
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            run(python_code(cell.source), f"<{cell.id}>", vars(main), now)
        told = [*timeless(printed.getvalue().splitlines())]
        told += [line for each in now for line in described(each)]
        now.clear()
        if cell.id in machine:
            told = [re.sub(machine[cell.id], "…", line) for line in told]
        yield from inwards(told)


def only_recorded(patch: pytest.MonkeyPatch, path: Path, cell: Sequence[str]) -> None:
    """Nothing is trained: what a lesson asks for and no record has is an error that says so.

    Evidence reads other records, and may draw puzzles anew.
    """
    key, find, begins = recorded.key, recorded.find, recorded.begins
    asked = ""

    def named(models: Sequence[nn.Module], *settings: object) -> str:
        nonlocal asked
        asked = f"{len(models)} × {type(models[0]).__name__}" if models else str(settings[0])
        return key(models, *settings)

    def known(found: Any) -> Any:
        if not found and not path.stem.endswith("_evidence"):
            raise LookupError(
                f"{path.stem}, cell {cell[0]}: {asked} is not recorded as it is asked for. "
                f"Run: python book/experiments {path.stem}_runs"
            )
        return found

    recalled(patch)
    patch.setattr(recorded, "key", named)
    patch.setattr(recorded, "find", lambda key: known(find(key)))
    patch.setattr(recorded, "begins", lambda found, seen: known(begins(found, seen)))


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
