"""What of the lessons' checks travels to a page, and what may not."""

import ast
import json

import pytest

from book.page.code import answers, dialect, engine
from book.site.dependencies import lesson_stems, pages_of

from ..exercises import ROOT
from .test_dialect import unsaid

STEMS = lesson_stems(ROOT)


def lesson(stem: str) -> dict:
    pages = [ROOT / page for page in pages_of(ROOT, stem)]
    return json.loads(answers.of_lesson(pages, stem)[1]())


@pytest.mark.in_short(2)
@pytest.mark.parametrize("stem", STEMS)
def test_all_that_checks_need_can_be_said_in_a_page(stem):
    told = lesson(stem)
    there = {*told["files"], *engine.python()}
    for path, text in told["files"].items():
        assert not unsaid(text), path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attn_notes"):
                name = node.module.replace(".", "/")
                assert {f"{name}.py", f"{name}/__init__.py"} & there, (path, node.module)


LACKING = [
    ("import numpy\ndef f(x): return numpy.sum(x)", "needs numpy, which a page's Python"),
    ("from inspect import signature as f", "needs inspect, which a page's Python has not"),
    ("def f(x):\n    match x:\n        case 1: pass", "a page's Python has no `match`"),
]


@pytest.mark.parametrize(("source", "words"), LACKING)
def test_what_a_page_lacks_is_named(source, words, monkeypatch):
    monkeypatch.setattr(answers, "_module", lambda name: answers._Module(source))
    with pytest.raises(dialect.NotInPageError, match=words):
        answers._Needed().reach("attn_notes.somewhere", "f")


def test_what_nobody_reaches_stays_at_home():
    files = lesson("deep_qkv")["files"]
    assert "rescue" not in files["book/lessons/deep_qkv/checks.py"]
    assert "def sample" not in files["attn_notes/tasks/sorting.py"]
    assert "attn_notes/models/deep_qkv.py" not in files
