"""The translation into a page's Python: the same meaning, in constructs that MicroPython has."""

import ast

import pytest

from attn_notes.cell import dialect, engine

SAID = """
def f(a, *b, **c):
    whole = [*b, a, *b]
    pair = (a, *b)
    some = {*b, a}
    named = {**c, "a": a}
    return whole, pair, some, named, f"{a!r:>4}|{1.25:.{a}f}|{', '.join(map(str, b))}|{{}}"
"""


def test_what_is_said_otherwise_means_the_same() -> None:
    space: dict[str, object] = {}
    exec(SAID, space)
    prelude: dict[str, object] = {}
    exec(dialect.PRELUDE, prelude)
    there = dict(prelude)
    text = dialect.translated(SAID)
    exec(text.partition("\n")[2], there)
    assert there["f"](1, 2, 3, x=4) == space["f"](1, 2, 3, x=4)  # type: ignore[operator]
    assert not any(isinstance(node, ast.Starred) for node in ast.walk(ast.parse(text)))


CLASS = '''
from dataclasses import dataclass, replace

@dataclass(frozen=True)
class Point:
    """Of the plane."""

    x: int
    y: int = 2

    def swapped(self) -> "Point":
        return replace(self, x=self.y, y=self.x)

    def __post_init__(self) -> None:
        if isinstance(self.x, str | list | tuple):
            raise TypeError("a number")

@dataclass(eq=False)
class Thing:
    name: str = ""
'''


def test_a_dataclass_is_compared_hashed_and_replaced_as_before() -> None:
    space: dict[str, object] = {}
    exec(dialect.PRELUDE, space)
    exec(dialect.translated(CLASS).partition("\n")[2], space)
    Point, Thing = space["Point"], space["Thing"]
    assert Point(1) == Point(1, 2) != Point(2, 1)  # type: ignore[operator]
    assert len({Point(1), Point(1, 2)}) == 1  # type: ignore[operator]
    assert Point(1).swapped() == Point(2, 1)  # type: ignore[operator]
    assert Thing() != Thing()  # type: ignore[operator]
    with pytest.raises(TypeError, match="a number"):
        Point([])  # type: ignore[operator]


def test_types_are_left_out_and_classes_of_a_union_kept() -> None:
    text = dialect.translated(
        "from typing import Any\nShape = tuple[int, ...]\nclass Ab: pass\nclass Bb: pass\n"
        "Either = Ab | Bb\nFIRST = [1, 2][0]\nx: int = 1\ny: int\n"
        "@overload\ndef f(a: int) -> int: ...\n"
        "def f(a: Any, /, *, b: int = 2) -> None: pass\n"
    )
    assert "typing" not in text and "int" not in text and "y" not in text.split()
    assert "Either = (Ab, Bb)" in text and "FIRST = [1, 2][0]" in text
    assert "def f(a, *, b=2):" in text and text.count("def f") == 1


@pytest.mark.parametrize(
    ("source", "line"), [("x = 1\nmatch x:\n    case 1: pass", 2), ("async def f(): pass", 1)]
)
def test_what_cannot_be_said_is_refused_with_its_line(source: str, line: int) -> None:
    with pytest.raises(dialect.NotInPageError, match=f"line {line}: a page's Python has no"):
        dialect.translated(source)


def test_all_that_travels_to_a_page_can_be_said_there() -> None:
    found = engine.python()
    assert {"attn_notes/programs/lowering.py", "attn_notes/cell/page/running.py"} <= {*found}
    for text in found.values():
        for node in ast.walk(ast.parse(text)):
            assert not isinstance(node, (ast.AnnAssign, ast.JoinedStr, ast.Match))
            if isinstance(node, (ast.List, ast.Set)):
                assert not any(isinstance(each, ast.Starred) for each in node.elts)


OF_MICROPYTHON = {"io", "json", "math", "random", "re", "struct", "sys"}


def test_nothing_that_travels_needs_torch() -> None:
    there = engine.python()
    modules = {name.removesuffix(".py").removesuffix("/__init__") for name in there}
    for name, text in there.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").replace(".", "/") in modules, (name, node.module)
            elif isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= OF_MICROPYTHON
