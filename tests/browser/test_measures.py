"""How long a lesson is: counted on the built page, as a reader has it before them.

The limits are those of a twenty-minute read.
"""

import re
from collections.abc import Iterator

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from book.site.dependencies import evidence_page, lesson_page, read_chapter

from .conftest import BACKED, ROOT, WINDOW, address, opened

WORDS = 2_400  # about 2,200, of which no two counts agree to the last
FIGURES, TABLES, LINES = 8, 2, 160
ROWS, COLUMNS = 8, 5  # of a small table
LEAST, MOST = 1, 6  # cells of code that are open on the page, besides those that wait for an answer


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


@pytest.fixture(scope="module", params=BACKED)
def stem(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def lesson(stem: str, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Its page, as it lies on a laptop's screen."""
    with opened(browser, request) as open_page:
        yield open_page(address(stem)).page


def test_a_lesson_is_short(lesson):
    found = lesson.evaluate(COUNT)
    assert 1_000 < found["words"] <= WORDS, found
    assert 4 <= found["figures"] <= FIGURES, found
    assert len(found["tables"]) <= TABLES, found
    assert all(rows <= ROWS and columns <= COLUMNS for rows, columns in found["tables"]), found


def test_its_code_is_worth_reading(stem):
    """What only calls the package is folded (tests/test_folding.py); few cells are left open."""
    lines = shown = 0
    for cell in nbformat.read(ROOT / lesson_page(stem), as_version=4).cells:
        tags = {*cell.metadata.get("tags", [])}
        if cell.cell_type == "code" and not {"remove-cell", "remove-input"} & tags:
            lines += sum(bool(line.strip()) for line in cell.source.splitlines())
            shown += not tags and not re.fullmatch(r"exercise-.+-answer", cell.id)
    assert lines <= LINES
    assert LEAST <= shown <= MOST


def test_its_code_is_not_cut_and_its_figures_fit_a_phone(lesson):
    """On a laptop's screen no line has to be scrolled to, folded cells and solutions included.

    On a phone a figure is whole: `book.kit.figures` lets no letter become too small for that.
    """
    cut = """([selector, rounding]) => {
      document.querySelectorAll("details").forEach((details) => (details.open = true));
      return [...document.querySelectorAll(`article.bd-article ${selector}`)]
        .filter((part) => part.scrollWidth > part.clientWidth + rounding)
        .map((part) => part.innerText);
    }"""
    code = lesson.evaluate(cut, ["pre", 1])
    lesson.set_viewport_size({"width": 390, "height": WINDOW["height"]})
    figures = lesson.evaluate(cut, [".attn-figure", 0])
    lesson.set_viewport_size(WINDOW)
    assert not code, "lines over 84 characters, or 80 in a solution"
    assert not figures, "at most 5.5 inches wide, letters of at least 10 points"


def test_its_evidence_trains_nothing(stem):
    """It reads records, and so takes seconds: `make bench` says how many."""
    chapter = read_chapter(ROOT, (ROOT / evidence_page(stem)).relative_to(ROOT))
    assert chapter.cells
    assert not [source for source, _ in chapter.cells if "train(" in source]
