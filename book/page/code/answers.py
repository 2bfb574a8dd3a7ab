"""What a page is given of a lesson's exercises, so that answers are checked there.

A check is written once, in a chapter's `checks`, and travels to the page in its smaller Python:
what the checks of the page reach, of every module of the package no definition more, translated
by `dialect`. So do names that the notebook's setup imports and an exercise's solution uses. What
such a module needs, and the page has not, breaks the build, with its name.
"""

import ast
import importlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from book.page.code import dialect

ROOT = Path(__file__).parents[3]
PACKAGES = ("attn_notes", "book")
"""Whose modules travel, from there."""

OTHERWISE = {"book.kit.trying": "book.page.code.python.trying"}
"""Modules that a page has one of its own for."""

THERE = ("functools", "itertools", "math", "numbers", "torch")
"""What else a page's Python has, `book.page.code.python` among it."""

BUILTINS = """\
from book.page.code.python.running import BUILTINS
float, max, min, slice = [BUILTINS[_] for _ in ("float", "max", "min", "slice")]
sorted, zip = BUILTINS["sorted"], BUILTINS["zip"]
"""
"""With this a module begins: a page has better ones than MicroPython's own."""


@dataclass(frozen=True)
class Exercise:
    """An exercise, as its notebook has it.

    Attributes:
        name: of the exercise.
        points: that it is worth.
        stub: what stands in the place of an answer.
        line: what tries it, `checks.NAME(ANSWER)`.
        solution: the printed one; empty in a course's site, which has none.
        uses: what the solution takes of the package, as `copying.Copying`.
        setup: the imports of the notebook's first cell that the stub and the solution use.
        why_not: why it is not answered in a page; empty if it is.
    """

    name: str
    points: int
    stub: str
    line: str
    solution: str
    uses: tuple[str, ...]
    setup: str
    why_not: str

    @property
    def asks(self) -> list[str]:
        """The names that its line asks of an answer."""
        return sorted(_names(self.line) - {"checks"})

    @property
    def check(self) -> str:
        """The name of its check."""
        return self.line.removeprefix("checks.").partition("(")[0]


def exercises(notebook: Mapping[str, Any], checks: str) -> list[Exercise]:
    """The exercises of a notebook whose checks stand in this module, in its order.

    Where a course's site has no solution, the metadata say what it would use: `uses`.
    """
    cells = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    only = getattr(importlib.import_module(checks), "NOTEBOOK_ONLY", {})
    found = []
    for cell in notebook["cells"]:
        told = cell["metadata"].get("exercise")
        if told is None:
            continue
        of = f"exercise-{told['name']}"
        solution = _solution(cells[f"{of}-solution"]) if f"{of}-solution" in cells else ""
        used = uses(solution, cells["setup"]) if solution else tuple(told["uses"])
        stub, line = cells[f"{of}-answer"], cells[f"{of}-check"]
        check = line.removeprefix("checks.").partition("(")[0]
        names = {*_names(stub), *(use.partition(".")[0] for use in used)}
        imports = _imports_of(names, cells["setup"])
        name, points, why = told["name"], told["points"], only.get(check, "")
        found.append(Exercise(name, points, stub, line, solution, used, imports, why))
    return found


def _solution(cell: str) -> str:
    block = re.search(r"```python\n(.*?)\n```", cell, re.DOTALL)
    assert block is not None, f"no block of Python in {cell!r}"
    return block[1]


def _names(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def uses(code: str, setup: str) -> tuple[str, ...]:
    """What some code takes of the package, by the names that a notebook's setup gives it.

    >>> uses("copying.Copying(1).floor", "from attn_notes.tasks import copying")
    ('copying.Copying',)
    >>> uses("best(2)", "from attn_notes.tasks.copying import best, other")
    ('best',)
    """
    found: list[str] = []
    for name, (module, what) in sorted(_Module(setup).imports.items()):
        if module.split(".")[0] in PACKAGES and name in _names(code) - {"checks"}:
            inner = _attributes(code, name) if _is_module(module, what) else [""]
            found += sorted({f"{name}.{each}" if each else name for each in inner})
    return tuple(found)


def _imports_of(used: set[str], setup: str) -> str:
    """The imports from the package that a setup makes of these names."""
    lines = []
    for node in ast.parse(setup).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            names = [x.name for x in node.names if x.name in used - {"checks"}]
            lines += [f"from {node.module} import {', '.join(names)}"] if names else []
    return "\n".join(lines)


def told(found: list[Exercise], checks: str) -> dict[str, Any]:
    """What a page is given of the exercises that are answered there, as JSON has it."""
    here = [exercise for exercise in found if not exercise.why_not]
    return {
        "checks": checks,
        "files": files(here, checks),
        "exercises": {x.name: {"line": x.line, "setup": x.setup, "asks": x.asks} for x in here},
    }


def files(found: list[Exercise], checks: str) -> dict[str, str]:
    """The Python of these exercises, path → text: their checks, and what these need."""
    needed = _Needed()
    needed.reach("book.kit.exercises", "misnamed")
    for exercise in found:
        needed.reach(checks, exercise.check)
        setup = _Module(exercise.setup)
        for use in exercise.uses:
            name, _, inner = use.partition(".")
            module, what = setup.imports[name]
            needed.reach(f"{module}.{what}" if inner else module, inner or what)
    return needed.files()


def _attributes(code: str, name: str) -> Iterator[str]:
    """The attributes that some code takes of a name."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name:
            yield node.attr


def _path(module: str) -> Path:
    return ROOT / (module.replace(".", "/") + ".py")


def _is_module(module: str, name: str) -> bool:
    return module.split(".")[0] in PACKAGES and _path(f"{module}.{name}").is_file()


class _Module:
    """A module's top level: what each statement defines, and where other names come from."""

    def __init__(self, text: str) -> None:
        self.body = ast.parse(text).body
        self.defined: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        for node in self.body:
            for word in _defines(node):
                self.defined.setdefault(word, []).append(node)
            if isinstance(node, ast.Import):
                self.imports |= {x.asname or x.name: (x.name, "") for x in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                self.imports |= {x.asname or x.name: (module, x.name) for x in node.names}


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.Assign):
        return [x.id for t in node.targets for x in ast.walk(t) if isinstance(x, ast.Name)]
    return []


@cache
def _module(name: str) -> _Module:
    return _Module(_path(name).read_text("utf-8"))


@cache
def _there(node: ast.stmt) -> ast.Module:
    """A definition, as the page has it."""
    return ast.parse(dialect.translated(ast.unparse(node)))


class _Needed:
    """Which definitions of which modules are reached."""

    def __init__(self) -> None:
        self.kept: dict[str, set[str]] = {}

    def reach(self, module: str, name: str) -> None:
        """Keep a name of a module, and all that it needs."""
        kept = self.kept.setdefault(module, set())
        if name in kept:
            return
        kept.add(name)
        found = _module(module)
        if name in found.imports:
            self._import(module, *found.imports[name])
            return
        if name not in found.defined:
            raise dialect.NotInPageError(f"{module} defines no {name} that could be taken alone")
        for node in map(_there, found.defined[name]):
            for word in sorted({x.id for x in ast.walk(node) if isinstance(x, ast.Name)}):
                if word in found.imports and _is_module(*found.imports[word]):
                    kept.add(word)
                    for inner in _attributes(ast.unparse(node), word):
                        self.reach(".".join(found.imports[word]), inner)
                elif word in found.imports or word in found.defined:
                    self.reach(module, word)

    def _import(self, into: str, module: str, name: str) -> None:
        if module in OTHERWISE:
            return
        if module.split(".")[0] in PACKAGES:
            self.reach(module, name)
        elif module.split(".")[0] not in THERE:
            raise dialect.NotInPageError(f"{into} needs {module}, which a page's Python has not")

    def files(self) -> dict[str, str]:
        """Path → text of each module, and of the folders above."""
        found = {}
        for module, kept in self.kept.items():
            parts = module.split(".")
            for i in range(1, len(parts)):
                found["/".join([*parts[:i], "__init__.py"])] = ""
            found["/".join(parts) + ".py"] = _text(_module(module), kept)
        return found


def _text(module: _Module, kept: set[str]) -> str:
    """A module with only these names, as the page has it."""
    lines = [BUILTINS]
    for node in module.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines += _kept_import(node, kept)
        elif kept & {*_defines(node)}:
            lines.append(ast.unparse(node))
    return dialect.translated("\n".join(lines)) + "\n"


def _kept_import(node: ast.Import | ast.ImportFrom, kept: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [f"import {x.name}" for x in node.names if x.name in kept]
    names = [ast.unparse(x) for x in node.names if (x.asname or x.name) in kept]
    module = OTHERWISE.get(node.module or "", node.module)
    return [f"from {module} import {', '.join(names)}"] if names else []


def of_lesson(pages: list[Path], stem: str) -> tuple[list[Exercise], Callable[[], str]]:
    """The exercises of a lesson and its evidence, and what makes the file of the page."""
    checks = f"book.lessons.{stem}.checks"
    found = [
        exercise
        for page in pages
        if page.is_file()
        for exercise in exercises(json.loads(page.read_text("utf-8")), checks)
    ]
    return found, lambda: json.dumps(told(found, checks), ensure_ascii=False)
