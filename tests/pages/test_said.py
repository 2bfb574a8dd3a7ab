"""What holds a page to its records fails where it has to, and says what to paste."""

import pytest

from book.kit.verdicts import Finding

from .said import Says

HELD, FAILED, UNTOLD = (Finding(told, "3 of 4 pairs", 0.03) for told in (True, False, None))
CELLS = {
    "other": "Of a hundred puzzles it solves some.",
    "looks": "As we saw, it solves 28.7 more of every\nhundred, in all four seeds. It helps.",
}
SAYS = "book/cats.ipynb, cell looks, says"
UNSAID = [
    ("it solves 28.7 more of every hundred", ""),  # however it is broken into lines
    ("it solves 27.1 more of every hundred", "it solves 28.7 more of every hundred"),
    ("it solves −0.1 more of every hundred", "it solves 28.7 more of every hundred"),
    ("every hundred, in all three seeds", "every hundred, in all four seeds"),
    ("It solves more of a hundred puzzles in every seed", "it solves 28.7 more of every"),
    ("of hundred every, in all four seeds", "hundred, in all four seeds"),
    ("8.7 more of every hundred", "28.7 more of every hundred"),  # a part of a number
    ("it solves 28", "it solves 28.7"),
    ("it solves 28.7 mor", "it solves 28.7 mor"),
]


@pytest.mark.parametrize(("words", "there"), UNSAID)
def test_what_is_not_said_is_told_with_its_cell_and_what_stands_there(words, there):
    page = Says("book/cats.ipynb", CELLS)
    page(words)
    assert len(page.wrong) == bool(there)
    assert all(said.startswith(SAYS) and there in said for said in page.wrong)
    assert all(said.endswith(f"and the records\n    {words}") for said in page.wrong)


RESTS = [
    ({"held": [HELD], "failed": [FAILED], "untold": [UNTOLD]}, 0),
    *(({kind: [HELD, UNTOLD, FAILED]}, 2) for kind in ("held", "failed", "untold")),
    ({"where": False}, 1),
]


@pytest.mark.parametrize(("rests", "turned"), RESTS)
def test_a_verdict_that_turned_names_the_sentence(rests, turned):
    page = Says("book/cats.ipynb", CELLS)
    page("As we saw, it solves", "in all four seeds. It helps.", **rests)
    assert len(page.wrong) == turned
    assert all(said.startswith(f"{SAYS} “As we saw, it solves”, ") for said in page.wrong)


def test_a_passage_that_could_stand_anywhere_is_refused():
    with pytest.raises(AssertionError, match="too short"):
        Says("book/cats.ipynb", CELLS)("28.7 more")
