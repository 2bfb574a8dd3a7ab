"""The book on paper: numbers, version, nothing cut, nothing that asks for a hand."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from pypdf import PdfWriter

from book.paper import printing

from .conftest import STEMS, Visit

A4 = 595.28  # points across
ENTRIES = [
    printing.Part(f"book/lessons/{STEMS[0]}/{STEMS[0]}", 0),
    printing.Part("", 0, "Reference"),
    printing.Part("book/reference/glossary", 1),
]
CUT = """() => [...document.querySelectorAll(".bd-article *")].filter((e) => e.checkVisibility()
    && !e.closest("mjx-assistive-mml, svg, .attn-hidden")
    && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((e) => e.outerHTML.slice(0, 90))"""


@pytest.fixture(scope="module")
def book(browser: Browser, site: Path) -> PdfWriter:
    """A lesson and a page of reference, as a book."""
    return printing.printed_book(browser, ENTRIES, site, "Attention Notes 1.0")


def text(book: PdfWriter, number: int) -> str:
    return re.sub(r"\s+", " ", book.pages[number].extract_text())


def test_each_page_has_its_number_the_version_and_the_licence(book):
    for number in range(1, len(book.pages)):
        assert text(book, number).endswith(f"Attention Notes 1.0. MIT licence {number + 1}")
    assert "Attention Notes 1.0" in text(book, 0) and "MIT licence" in text(book, 0)


def test_contents_and_bookmarks_lead_to_the_pages_that_begin_so(book):
    told = text(book, 1)
    found = {item["/Title"]: book.get_destination_page_number(item) for item in flat(book.outline)}
    titles = [title for title in found if title != "Reference"]
    assert len(titles) == 2 and found["Reference"] == found[titles[1]]
    for title in titles:
        assert title in text(book, found[title])[:80]
        assert f"{title} {found[title] + 1}" in told


def flat(outline: object) -> list[dict[str, str]]:
    return [one for each in outline for one in (flat(each) if isinstance(each, list) else [each])]  # type: ignore[attr-defined]


def test_no_word_asks_for_a_hand_and_no_solution_is_read(book):
    everything = " ".join(text(book, number) for number in range(len(book.pages)))
    asks = "Press(?! and Wolf)|click|Show the code|Show alone|Not yet:|Solution|Train one"
    assert re.findall(asks, everything) == []
    empty = r"\u2022 \u2022|\u2022 (?=Attention Notes 1.0)"  # items
    assert re.findall(empty, everything) == []
    assert "Exercise 1" in everything and "Hint" in everything
    assert f"Live: book/lessons/{STEMS[0]}/{STEMS[0]}.html" in everything


def test_links_between_its_pages_stay_in_it(book):
    links = [one.get_object() for page in book.pages for one in page.get("/Annots", [])]
    addresses = [str(link["/A"]["/URI"]) for link in links if "/URI" in link.get("/A", {})]
    assert [one for one in addresses if not one.startswith("http")] == []
    assert [link for link in links if "/Dest" in link]


@pytest.mark.parametrize("path", [entry.path for entry in ENTRIES if entry.path])
def test_nothing_is_cut_at_the_right(path, open_page):
    visit: Visit = open_page(f"{path}.html", width=round((A4 - 2 * 51) * 4 / 3))  # type: ignore[operator]
    visit.page.emulate_media(media="print")
    assert visit.page.evaluate(CUT) == []
