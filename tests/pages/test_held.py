"""The instrument itself: what differs is told in one line, what is only rounded in none."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from book.kit import figures
from book.kit.figures import Picture

from .described import described
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


def drawn(**changed: object) -> list[str]:
    given = {"colour": figures.OURS, "height": 2.0, "dash": "-", "word": 0.5, "size": 4} | changed
    with figures.figure(2.0, 2.0) as (fig, ax):
        ax.plot([0, 1, 2], [0, given["height"], 3], given["dash"], color=given["colour"])
        ax.text(0.1, given["word"], "floor")
        ax.pcolormesh([[0.0, given["size"]], [2, 3]], cmap=figures.SHARES, vmin=0, vmax=8)
        ax.set(xlim=(0, 2), ylim=(0, 4))
    return list(described(Picture(fig, "Made up", "A line.", "A line that rises.")))


SEEN = [
    ({"height": 2.001}, ""),
    ({"colour": figures.CONTROL}, "is line green - None"),
    ({"dash": ":"}, "is line blue : None"),
    ({"height": 2.5}, "(1, 2) (2, 3), is"),
    ({"word": 0.8}, "at (0.100, 0.500), is text 'floor' ink at (0.100, 0.800)"),
    ({"size": 5}, "mean (2.25), (0, 4, 2, 3), is"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "said"), SEEN)
def test_of_a_figure_nothing_changes_unseen(changed, said):
    found = [each.said for each in differences(drawn(), drawn(**changed))]
    assert len(found) == bool(said)
    assert all("figure: Made up: axes 0: was" in each and said in each for each in found), found


CELLS = """
from IPython.display import Markdown, display
from book.kit import notebook
handle = display(Markdown("Nothing yet. *Wait.*"), display_id=True)
display(notebook.table(["a"], [["0.25"]], **{"data-listens": "x"}))
print("took 0.25 s")
handle.update(Markdown("Done."))
{i: i for i in range(2)}
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    def of(code: str) -> list[str]:
        title = new_markdown_cell("# A page\n\nOne. Two\nthree.", id="title")
        cell = new_code_cell(code, id="cell")
        nbformat.write(new_notebook(cells=[title, cell]), tmp_path / "page.ipynb")
        return list(shown(tmp_path / "page.ipynb", monkeypatch))

    return of


def test_all_that_a_cell_shows_is_told(page):
    assert page(CELLS) == [
        *("title", "  > # A page", "  > One.", "  > Two three."),
        *("cell", "  took … s", "  Nothing yet.", "  *Wait.*"),
        *('  table data-listens="x"', "    a", "    0.25", "  Done.", "  {0: 0, 1: 1}"),
    ]


def test_what_is_not_recorded_is_named_and_not_trained(page):
    code = "from book.lessons.deep_qkv.recipe import LIVE, SWEEP, train_kind\n{}"
    assert page(code.format("train_kind('plain', LIVE)"))  # it is recorded
    with pytest.raises(LookupError, match=r"^page, cell cell: 16 × Sorter is .* page_runs$"):
        page(code.format("train_kind('plain', SWEEP)"))
