"""What holds a page to its records fails where it has to, and says what to paste."""

import ast
import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest
from dependencies import evidence_stems, lesson_stems

from attn_notes import figures
from attn_notes.analysis.statistics import Finding

from . import says
from .says import Page, titled

ROOT = Path(__file__).parents[1]
STEMS, BACKED = lesson_stems(ROOT), evidence_stems(ROOT)
HELD, FAILED, UNTOLD = (Finding(told, "3 of 4 pairs", 0.03) for told in (True, False, None))


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    def cell(name: str, source: str) -> dict[str, str]:
        return {"cell_type": "markdown", "id": name, "source": source}

    cells = [
        cell("other", "Of a hundred puzzles it solves some."),
        cell(
            "looks",
            "As we saw, it solves 28.7 more of every\nhundred, in all four seeds. It helps.",
        ),
    ]
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "cats.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "book" / "index.md").write_text(
        "Begin.\n\n## The lessons\n\nThere are 5 of them.\n"
    )
    monkeypatch.setattr(says, "BOOK", tmp_path / "book")
    return Page("cats")


def test_what_the_page_says_may_be_broken_into_lines(page: Page) -> None:
    page.says("it solves 28.7 more of every hundred", held=[HELD], failed=[FAILED], untold=[UNTOLD])
    Page("index").says("There are 5 of them")


@pytest.mark.parametrize(
    ("words", "there"),
    [
        ("it solves 27.1 more of every hundred", "it solves 28.7 more of every hundred"),
        ("it solves −0.1 more of every hundred", "it solves 28.7 more of every hundred"),
        ("every hundred, in all three seeds", "every hundred, in all four seeds"),
        ("It solves more of a hundred puzzles in every seed", "it solves 28.7 more of every"),
    ],
)
def test_a_number_that_changed_is_named_with_its_cell(page: Page, words: str, there: str) -> None:
    with pytest.raises(AssertionError) as failed:
        page.says(words)
    told = str(failed.value)
    assert "book/cats.ipynb, cell looks, says" in told and there in told
    assert f"and the records\n    {words}" in told


def test_a_number_on_a_page_of_text_is_found_by_its_heading(page: Page) -> None:
    with pytest.raises(AssertionError, match=r"book/index\.md, cell The lessons, says"):
        Page("index").says("There are 6 of them")


@pytest.mark.parametrize(
    "rests",
    [
        *({kind: [found]} for kind in ("held", "failed") for found in (UNTOLD,)),
        *({kind: [HELD]} for kind in ("failed", "untold")),
        *({kind: [HELD, FAILED]} for kind in ("held", "untold")),
        {"where": False},
    ],
)
def test_a_verdict_that_turned_names_the_sentence(page: Page, rests: dict) -> None:
    words = "in all four seeds. It helps."
    with pytest.raises(AssertionError, match=f"cell looks, says “{words}”, "):
        page.says(words, **rests)


@pytest.mark.parametrize(
    "words", ["8.7 more of every hundred", "it solves 28", "it solves 28.7 mor"]
)
def test_a_part_of_a_number_or_a_word_is_none(page: Page, words: str) -> None:
    with pytest.raises(AssertionError, match="cell looks, says"):
        page.says(words)


def test_words_stand_in_their_order(page: Page) -> None:
    with pytest.raises(AssertionError, match="cell looks, says"):
        page.says("of hundred every, in all four seeds")


def test_a_title_is_held_to_its_words_and_its_verdicts() -> None:
    with figures.figure() as (fig, _):
        picture = figures.Picture(fig, "It helps", "", "A line.")
    titled(picture, "It helps", held=[HELD])
    with pytest.raises(AssertionError, match="It helps"):
        titled(picture, "It hurts", held=[HELD])
    for rests in ({"held": [FAILED]}, {"where": False}):
        with pytest.raises(AssertionError, match="The figure “It helps” says so"):
            titled(picture, "It helps", **rests)


def test_a_passage_that_could_stand_anywhere_is_refused(page: Page) -> None:
    with pytest.raises(AssertionError, match="too short"):
        page.says("28.7 more")


# What is computed, and what is written


@pytest.mark.parametrize("stem", [s for s in STEMS if s != "dialectical"])  # has `said.py`
def test_every_lesson_is_held_to_its_records(stem: str) -> None:
    source = (ROOT / "tests" / "chapters" / stem / "test_says.py").read_text("utf-8")
    named = {
        node.args[0].value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "Page"
        and isinstance(node.args[0], ast.Constant)
    }
    backed = {f"evidence/{stem}"} if stem in BACKED else set()
    assert named >= {stem, f"teaching/{stem}"} | backed


def sentences(stem: str) -> Iterator[FunctionType]:
    """The functions of a chapter that return text for a page."""
    for path in sorted((ROOT / "attn_notes" / "chapters" / stem).glob("*.py")):
        module = import_module(f"attn_notes.chapters.{stem}.{path.stem}")
        for _, found in inspect.getmembers(module, inspect.isfunction):
            told = found.__annotations__.get("return")
            if (
                found.__module__ == module.__name__
                and getattr(told, "__name__", told) == "Markdown"
            ):
                yield found


@pytest.mark.parametrize("stem", STEMS)
def test_only_a_live_run_is_told_by_code(stem: str) -> None:
    """What is said of a recording is prose; a sentence that code writes is about a run of now."""
    for sentence in sentences(stem):
        given = [*inspect.get_annotations(sentence).items()][:-1]
        assert any("live" in f"{name} {kind}".lower() for name, kind in given), (
            f"{sentence.__name__} is told no live run"
        )
    if stem not in BACKED:
        return
    evidence = (ROOT / "book" / "evidence" / f"{stem}.ipynb").read_text("utf-8")
    called = {
        sentence.__name__ for sentence in sentences(stem) if f".{sentence.__name__}(" in evidence
    }
    assert not called
