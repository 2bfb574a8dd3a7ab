"""The Python side of the bracket generator, beside what holds for every widget: `test_each.py`."""

from dataclasses import replace

import pytest

from attn_notes.models.dialectical import PUBLISHED
from attn_notes.tasks.brackets import Brackets
from book.lessons.dialectical.widget import BracketGenerator


def test_it_has_the_settings_of_its_task() -> None:
    widget = BracketGenerator(Brackets(pairs=3, max_length=20, filler=0.1))
    assert widget.task == dict(pairs=3, max_length=20, filler=0.1, fewest=1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"vocabulary": 11}, "has 7 tokens, not 11"), ({"pad": 0}, "padding is token 6, not 0")],
)
def test_a_model_of_another_task_is_refused(change: dict[str, int], sentence: str) -> None:
    widget = BracketGenerator()
    with pytest.raises(ValueError, match=sentence):
        widget.load("one", {}, replace(PUBLISHED, **change))
    assert widget.runs == {}
