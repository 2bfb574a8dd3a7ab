"""Links in the text that open a state: what they name, without a browser."""

import re

import pytest

from attn_notes.widgets import _source

from ..exercises import CHAPTERS, ROOT


def names(stem: str) -> set[str]:
    """The states that links open, in the lesson and in sentences that its chapter computes."""
    chapter = ROOT / "attn_notes" / "chapters" / stem
    files = [ROOT / "book" / f"{stem}.ipynb", *chapter.glob("*.py")]
    text = "".join(path.read_text("utf-8") for path in files)
    return set(re.findall(r'#open-([\w-]+?)(?:-\d+)?\\?"', text))


def test_some_are_found() -> None:
    assert len(set().union(*(names(path.stem) for path in CHAPTERS))) > 5


@pytest.mark.parametrize("stem", [path.stem for path in CHAPTERS])
def test_the_widget_of_the_page_knows_what_a_link_opens(stem: str) -> None:
    """By a method, or a property, or a string, of that name."""
    module = _source.javascript(stem)
    for name in names(stem):
        assert re.search(rf'\b{name}\(\) \{{|\b{name}: |"{name}"[:,]', module), name
