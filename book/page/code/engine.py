"""All that a page needs to run a reader's Python, file by file, but for MicroPython itself.

What a page begins with is one module of the files that it imports. What may come later stays as it
is, its files beside one another, so that imports are real ones. The page's Python is translated
(`dialect`) and travels as one file. The numbers of an operation are computed by what its text in a
program says, so that there is one table of both.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_notes.programs import source
from attn_notes.programs.javascript import OPERATIONS
from attn_notes.programs.pointwise import POINTWISE
from book.page import bundle
from book.page.code import dialect
from book.page.code.python.operations import ENTRYWISE

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
"""Where the packages lie."""

FOLDERS = (HERE, *bundle.FOLDERS)
ENTRIES = (
    "host.js",
    "_bench_shannon.js",
    "training.js",
    "worker.js",
    "frame.html",
    "frame.js",
    "editor.css",
    "workbench.css",
    "NOTICES.txt",
)
LOWERING = (
    *("arena", "constants", "graph", "indexing", "javascript", "kernels", "loops", "lowering"),
    *("matrices", "module", "operations", "pointwise", "reductions", "values", "views"),
)
"""Modules of `attn_notes.programs` that need no torch."""

IMPORT = re.compile(r'^(?:import|export) (?:[^;"]*? from )?"\./([\w.]+)";$', re.MULTILINE)


def files() -> dict[str, str]:
    """Every file, by its name."""
    found = {"places.js": bundle.javascript("places", FOLDERS)}
    lessons = (path.name for folder in FOLDERS for path in folder.glob("_lesson_*.js"))
    todo = [*ENTRIES, *lessons]
    while todo:
        name = todo.pop()
        if name in found or name == "micropython.mjs":
            continue
        found[name] = entrywise() if name == "_entrywise.js" else source.read(name, FOLDERS)
        if name == "editor.css":  # looks like a widget, and is none
            theme = source.read("_theme.css", FOLDERS)
            found[name] = theme.replace(".attn-widget", ".attn-cell") + found[name]
        if name.endswith(".js"):
            todo += IMPORT.findall(found[name])
    return found | {"python.json": json.dumps(python(), ensure_ascii=False)}


def entrywise() -> str:
    """A module with what each entrywise operation of the table computes."""
    lines = ["const { exp } = Math;", "export const ENTRYWISE = {"]
    for name in ENTRYWISE:
        ours = POINTWISE.get(name, name.removeprefix("bitwise_"))
        text = OPERATIONS[ours].format("a", "b", "c")
        lines.append(f"  {name}: (a, b, c) => {text},")
    return "\n".join([*lines, "};", ""])


def python() -> dict[str, str]:
    """The page's Python, path → text."""
    found = {"_said_otherwise.py": dialect.PRELUDE}
    for folder in ("attn_notes", "attn_notes/programs", "book", "book/page", "book/page/code"):
        found[f"{folder}/__init__.py"] = ""
    for path in _modules():
        name = path.relative_to(ROOT).as_posix()
        found[name] = dialect.translated(path.read_text("utf-8"))
    found["book/page/code/python/lacking.py"] += f"\nTHEIRS.update({theirs()!r})\n"
    return found


def theirs() -> dict[str, str]:
    """The public names of what PyTorch has and a page has less of, for `page.lacking`."""
    modules = {x.__name__: x for x in (torch, nn, functional, torch.func, torch.linalg)}
    return {
        name: " ".join(["", *(x for x in dir(where) if x[0] != "_"), ""])
        for name, where in (modules | {"Tensor": Tensor, "Module": nn.Module}).items()
    }


def _modules() -> Iterator[Path]:
    yield from sorted((HERE / "python").glob("*.py"))
    for name in LOWERING:
        yield source.HERE / f"{name}.py"
