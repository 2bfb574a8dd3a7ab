"""The translation into a page's Python, which keeps the meaning; what travels there of checks."""

import ast
import json
from typing import Any

import pytest

from book.page.code import answers, dialect, engine
from book.site.dependencies import lesson_stems, pages_of

from ..exercises import ROOT

SAID = """
def f(a, *b, **c):
    whole = [*b, a, *b]
    pair = (a, *b)
    some = {*b, a}
    named = {**c, "a": a}
    return whole, pair, some, named, f"{a!r:>4}|{1.25:.{a}f}|{', '.join(map(str, b))}|{{}}"
"""


def run(source: str, space: dict[str, Any]) -> dict[str, Any]:
    exec(source, space)
    return space


def translated(source: str) -> dict[str, Any]:
    return run(dialect.translated(source).partition("\n")[2], run(dialect.PRELUDE, {}))


def test_what_is_said_otherwise_means_the_same():
    assert translated(SAID)["f"](1, 2, 3, x=4) == run(SAID, {})["f"](1, 2, 3, x=4)
    assert not unsaid(dialect.translated(SAID))


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


def test_a_dataclass_is_compared_hashed_and_replaced_as_before():
    space = translated(CLASS)
    Point, Thing = space["Point"], space["Thing"]
    assert Point(1) == Point(1, 2) != Point(2, 1) == Point(1).swapped()
    assert len({Point(1), Point(1, 2)}) == 1 and Thing() != Thing()
    with pytest.raises(TypeError, match="a number"):
        Point([])


def test_types_are_left_out_and_classes_of_a_union_kept():
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
def test_what_cannot_be_said_is_refused_with_its_line(source, line):
    with pytest.raises(dialect.NotInPageError, match=f"line {line}: a page's Python has no"):
        dialect.translated(source)


def unsaid(text: str) -> list[ast.AST]:
    nodes = [*ast.walk(ast.parse(text))]
    inner = [each for n in nodes if isinstance(n, ast.List | ast.Set) for each in n.elts]
    found = [n for n in nodes if isinstance(n, ast.AnnAssign | ast.JoinedStr | ast.Match)]
    return found + [each for each in inner if isinstance(each, ast.Starred)]


def test_all_that_travels_to_a_page_can_be_said_there():
    there = engine.python()
    assert {"attn_notes/programs/lowering.py", "book/page/code/python/running.py"} <= {*there}
    modules = {name.removesuffix(".py").removesuffix("/__init__") for name in there}
    for name, text in there.items():
        assert not unsaid(text), name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").replace(".", "/") in modules, (name, node.module)
            elif isinstance(node, ast.Import):
                of_micropython = {"io", "json", "math", "random", "re", "struct", "sys"}
                assert {alias.name for alias in node.names} <= of_micropython


def lesson(stem: str) -> dict:
    return json.loads(answers.of_lesson([ROOT / page for page in pages_of(ROOT, stem)], stem)[1]())


@pytest.mark.in_short(2)
@pytest.mark.parametrize("stem", lesson_stems(ROOT))
def test_all_that_checks_need_can_be_said_in_a_page(stem):
    told = lesson(stem)
    there = {*told["files"], *engine.python()}
    for path, text in told["files"].items():
        assert not unsaid(text), path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attn_notes"):
                name = node.module.replace(".", "/")
                assert {f"{name}.py", f"{name}/__init__.py"} & there, (path, node.module)


def test_what_a_page_lacks_is_named(monkeypatch):
    for source, words in (
        ("import numpy\ndef f(x): return numpy.sum(x)", "needs numpy, which a page's Python"),
        ("from inspect import signature as f", "needs inspect, which a page's Python has not"),
        ("def f(x):\n    match x:\n        case 1: pass", "a page's Python has no `match`"),
    ):
        module = answers._Module(source)
        monkeypatch.setattr(answers, "_module", lambda name, module=module: module)
        with pytest.raises(dialect.NotInPageError, match=words):
            answers._Needed().reach("attn_notes.somewhere", "f")


def test_what_nobody_reaches_stays_at_home():
    files = lesson("deep_qkv")["files"]
    assert "rescue" not in files["book/lessons/deep_qkv/checks.py"]
    assert "def sample" not in files["attn_notes/tasks/sorting.py"]
    assert "attn_notes/models/deep_qkv.py" not in files
