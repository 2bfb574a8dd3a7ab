"""The instrument itself: what differs is told in one line, what is only rounded in none."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from .held import differences, hold
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
    found = [each.said for each in differences(PAGE, [*PAGE[:at], now, *PAGE[at + 1 :]])]
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
    imports = "from book.lessons.deep_qkv.recipe import LIVE, SWEEP, train_kind"

    def page(settings):
        cell = new_code_cell(f"{imports}\ntrain_kind('plain', {settings})", id="cell")
        nbformat.write(new_notebook(cells=[cell]), tmp_path / "page.ipynb")
        return list(shown(tmp_path / "page.ipynb", monkeypatch))

    assert page("LIVE")  # it is recorded
    with pytest.raises(LookupError, match=r"^page, cell cell: 16 × Sorter is .* page_runs$"):
        page("SWEEP")
