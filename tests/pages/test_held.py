"""The instruments, where they could fail unseen: what is told in one line, what in none; `Says`."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from book.kit.verdicts import Finding

from .held import differences, hold
from .said import Says
from .shown import shown

PAGE = ["race", "  figure: Who is first", "    line blue: (0.500, 0.366)", "  > It is 0.366."]
AXES = "race: figure: Who is first: was"


CHANGES = [
    ("    line blue: (0.501, 0.367)", "", ""),
    ("    line blue: (0.500, 0.368)", AXES, "is line blue: (0.500, 0.368)"),
    ("    line mauve: (0.500, 0.366)", AXES, "is line mauve: (0.500, 0.366)"),
    ("  figure: Who is last", "race: ", "was figure: Who is first, is figure: Who is last"),
    ("  > It is 0.367.", "race: ", "was > It is 0.366., is > It is 0.367."),
]  # fmt: skip


@pytest.mark.parametrize(("now", "place", "said"), CHANGES)
def test_what_differs_is_told_with_its_place(now, place, said):
    at = min(range(4), key=lambda i: PAGE[i].split()[:1] != now.split()[:1])
    page = [*PAGE[:at], now, *PAGE[at + 1 :]]
    found = [each.said for each in differences(PAGE, page)]
    assert len(found) == bool(said)
    assert all(each.startswith(place) and each.endswith(said) for each in found), found


def test_lines_come_and_go():
    assert [each.said for each in differences(PAGE, PAGE[:2] + PAGE[3:])] == [
        "race: figure: Who is first: gone: line blue: (0.500, 0.366)"
    ]
    new = [*PAGE, "table", "  held: 27 of 32"]
    assert [d.said for d in differences(PAGE, new)] == ["new: table", "table: new: held: 27 of 32"]


def test_of_the_differences_those_are_taken_over_that_one_wants(tmp_path):
    file, now = tmp_path / "page.txt", ["one", "  2 of 5", "two", "  0.40", "  gone"]
    hold(file, now, "all")
    other = ["one", "  3 of 5", "two", "  0.50"]
    _, changed, gone, _ = hold(file, other, "one: was")
    assert changed == "two: was 0.40, is 0.50" and "gone" in gone
    assert file.read_text("utf-8").splitlines() == ["one", "  3 of 5", *now[2:]]
    assert not hold(file, other, "all") and not hold(file, other, None)


def test_what_is_not_recorded_is_named_and_not_trained(tmp_path, monkeypatch):
    def page(kind: str) -> list[str]:
        code = f"from book.lessons.deep_qkv.recipe import *\ntrain_kind('plain', {kind})"
        notebook = new_notebook(cells=[new_code_cell(code, id="cell")])
        nbformat.write(notebook, tmp_path / "page.ipynb")
        return list(shown(tmp_path / "page.ipynb", monkeypatch))

    assert page("LIVE")  # it is recorded
    with pytest.raises(LookupError, match=r"^page, cell cell: 16 × Sorter is .* page_runs$"):
        page("SWEEP")


HELD, FAILED, UNTOLD = (Finding(told, "3 of 4 pairs", 0.03) for told in (True, False, None))
SAID = {
    "other": "Of a hundred puzzles it solves some.",
    "looks": "As we saw, it solves 28.7 more of every\nhundred, in all four seeds. It helps.",
}
SAYS = "book/cats.ipynb, cell looks, says"
HELPS = "in all four seeds. It helps."


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
    page = Says("book/cats.ipynb", SAID)
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
    page = Says("book/cats.ipynb", SAID)
    page("As we saw, it solves", HELPS, **rests)
    assert len(page.wrong) == turned
    assert all(said.startswith(f"{SAYS} “As we saw, it solves”, ") for said in page.wrong)


def test_a_passage_that_could_stand_anywhere_is_refused():
    with pytest.raises(AssertionError, match="too short"):
        Says("book/cats.ipynb", SAID)("28.7 more")
