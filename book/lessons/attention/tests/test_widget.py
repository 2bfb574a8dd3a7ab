"""What the pictures of the first lesson take, and what they refuse."""

import pytest

from book.lessons.attention import evidence
from book.lessons.attention.widget import SeenWhole

PARAMETERS = evidence.shown()["mask"]


def test_a_word_is_three_letters() -> None:
    seen = SeenWhole(word=" CAB ")
    assert seen.word == "cab"
    with pytest.raises(ValueError, match="three letters"):
        seen.word = "abd"


def test_models_keep_the_order_in_which_they_came() -> None:
    seen = SeenWhole()
    for name in ("z", "a", "z"):
        seen.load(name, PARAMETERS, mask=True)
    assert [(name, run["order"]) for name, run in seen.runs.items()] == [("z", 0), ("a", 1)]
    assert repr(seen) == "SeenWhole: 2 models, 1 seed"
    assert repr(seen.show("rows", "Rows")) == "SeenWhole: rows"


def test_what_is_no_sorter_is_refused_and_changes_nothing() -> None:
    seen = SeenWhole()
    for name, parameters in ((" ", PARAMETERS), ("mine", {})):
        with pytest.raises(ValueError, match=r"name has 1 to|lack"):
            seen.load(name, parameters, mask=True)
    assert not seen.runs and not seen.program
