"""The landing page's list of lessons: from `_toc.yml`, the notebooks and the records."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from dependencies import lesson_stems

ROOT = Path(__file__).parents[2]
STEMS = lesson_stems(ROOT)


@pytest.fixture(scope="module")
def cards() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    yield importlib.import_module("notes_site.cards")
    sys.path.pop(0)


@pytest.mark.parametrize("stem", STEMS)
def test_every_lesson_has_its_question_and_its_picture(stem: str, cards: ModuleType) -> None:
    card = cards.read(ROOT / "book" / f"{stem}.ipynb")
    assert card.stem == stem and card.title and card.question.endswith("?")
    svg = cards.emblem(stem)
    assert svg.count("<svg") == 1 and 'role="img"' in svg and len(svg) < 40_000
    assert f'href="{stem}.html"' in cards.entry(card, f"{stem}.html", svg)


def test_a_lesson_without_a_question_is_named(tmp_path: Path, cards: ModuleType) -> None:
    def made(source: str, **metadata: str) -> Path:
        path = tmp_path / "cats.ipynb"
        path.write_text(json.dumps({"cells": [{"source": [source]}], "metadata": metadata}))
        return path

    assert cards.read(made("# Cats\n\nMany.", question="Why?")) == ("cats", "Cats", "Why?")
    with pytest.raises(cards.ExtensionError, match=r"cats\.ipynb has no question"):
        cards.read(made("# Cats"))
    with pytest.raises(cards.ExtensionError, match=r"cats\.ipynb has no title"):
        cards.read(made("Cats", question="Why?"))
