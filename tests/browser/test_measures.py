"""How long a lesson is: counted on the built page, as a reader has it before them.

The limits are those of a twenty-minute read.
"""

import re
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from dependencies import read_chapter
from playwright.sync_api import Browser, Page

from .conftest import BACKED, ROOT, WINDOW, opened

WORDS = 2_400  # about 2,200, of which no two counts agree to the last
FIGURES, TABLES, LINES = 8, 2, 160
ROWS, COLUMNS = 8, 5  # of a small table
LEAST, MOST = 2, 6  # cells of code that are open on the page, besides those that wait for an answer


COUNT = """() => {
  const page = document.querySelector("article.bd-article");
  const count = (what) => page.querySelectorAll(what).length;
  const tables = [...page.querySelectorAll("table")].filter((t) => !t.closest(".live-widget"));
  const found = {
    figures: count("figure svg[role=img], img:not(.attn-still)"),
    tables: tables.map((t) => [t.tBodies[0].rows.length, t.rows[0].cells.length]),
  };
  const words = page.cloneNode(true);
  const others = ".live-widget, .attn-cell, .cell_input, pre, svg, script, style, mjx-container"
    + ", .math, .headerlink, .stream, details > summary ~ button, .attn-words, .attn-word-card"
    + ", details.hide > summary";  // “Show the code”, where a cell is folded
  words.querySelectorAll(others).forEach((part) => part.remove());
  found.words = words.textContent.split(/\\s+/).filter((w) => /[\\p{L}\\p{N}]/u.test(w)).length;
  return found;
}"""


def lines(source: str) -> int:
    """Lines of code in a cell that are not blank."""
    return sum(bool(line.strip()) for line in source.splitlines())


@pytest.fixture(scope="module", params=BACKED)
def stem(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def lesson(stem: str, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Its page, as it lies on a laptop's screen."""
    with opened(browser, request) as open_page:
        yield open_page(f"book/{stem}.html").page


def code_cells(stem: str) -> list[Any]:
    notebook = nbformat.read(ROOT / "book" / f"{stem}.ipynb", as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_a_lesson_is_short(lesson: Page) -> None:
    found = lesson.evaluate(COUNT)
    assert 1_000 < found["words"] <= WORDS, found
    assert 4 <= found["figures"] <= FIGURES, found
    assert len(found["tables"]) <= TABLES, found
    assert all(rows <= ROWS and columns <= COLUMNS for rows, columns in found["tables"]), found


def test_its_code_is_worth_reading(stem: str) -> None:
    """What only calls the package is folded (tests/test_folding.py); few cells are left open."""
    cells = [
        cell
        for cell in code_cells(stem)
        if not {"remove-cell", "remove-input"} & {*cell.metadata.get("tags", [])}
    ]
    assert sum(lines(cell.source) for cell in cells) <= LINES
    shown = [
        cell.id
        for cell in cells
        if not cell.metadata.get("tags") and not re.fullmatch(r"exercise-.+-answer", cell.id)
    ]
    assert LEAST <= len(shown) <= MOST, shown


def test_its_code_is_not_cut(lesson: Page) -> None:
    """On a laptop's screen no line has to be scrolled to, folded cells and solutions included."""
    cut = lesson.evaluate(
        """() => {
          document.querySelectorAll("details").forEach((details) => (details.open = true));
          const blocks = [...document.querySelectorAll("article.bd-article pre")];
          return blocks.filter((pre) => pre.scrollWidth > pre.clientWidth + 1)
            .map((pre) => pre.innerText.split("\\n").sort((a, b) => b.length - a.length)[0]);
        }"""
    )
    assert not cut, "lines over 84 characters, or 80 in a solution"


def test_its_figures_fit_a_phone(lesson: Page) -> None:
    """Whole, with letters that can be read: `attn_notes.figures` lets none become smaller."""
    lesson.set_viewport_size({"width": 390, "height": WINDOW["height"]})
    scrolled = lesson.evaluate(
        """() => [...document.querySelectorAll("article.bd-article .attn-figure")]
          .filter((figure) => figure.scrollWidth > figure.clientWidth)
          .map((figure) => figure.querySelector(".attn-figure-title")?.textContent)"""
    )
    lesson.set_viewport_size(WINDOW)
    assert not scrolled, "at most 5.5 inches wide, letters of at least 10 points"


def test_its_evidence_trains_nothing(stem: str) -> None:
    """It reads records, and so takes seconds: `make bench` says how many."""
    chapter = read_chapter(ROOT, (ROOT / "book" / "evidence" / f"{stem}.ipynb").relative_to(ROOT))
    assert chapter.cells
    assert not [source for source, _ in chapter.cells if "train(" in source]
