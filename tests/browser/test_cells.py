"""The lessons' own cells on the site: changed, run and trained, beside what the text says."""

import re
from collections.abc import Iterator
from importlib import import_module

import nbformat
import pytest
from playwright.sync_api import Browser, expect

from book.site.dependencies import lesson_page

from . import cell_page
from .cell_page import Change
from .conftest import (
    BACKED,
    LESSONS,
    ROOT,
    STRICT_POLICY,
    Visit,
    address,
    opened,
    serve,
)
from .training_page import UNABLE
from .widget_page import light_and_dark, of_lesson

CHANGES: dict[str, list[Change]] = {stem: of_lesson(stem, "CHANGES") for stem in BACKED}
NAME = re.compile(r'\bCell\(\s*"(\w+)"')
SMALL = [
    (stem, name)
    for stem in BACKED
    for name in NAME.findall((LESSONS / stem / "editable.py").read_text("utf-8"))
    if name != "model"
]
"""Cells that only show an idea."""
TRAINED = [stem for stem in BACKED if (LESSONS / stem / f"_lesson_{stem}.js").is_file()]
"""Those whose cell trains: the book's own code reaches all that is asked."""


@pytest.fixture(scope="module", params=CHANGES)
def stem(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def lesson(stem: str, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Its page, for all that may be tried on one."""
    with opened(browser, request) as open_page:
        visit = open_page(address(stem))
        yield visit
        visit.assert_clean()


@pytest.mark.by_day(3)
def test_the_books_code_is_its_model_and_changes_do_what_the_text_says(lesson, stem):
    cell = cell_page.editor(lesson.page)
    found = cell_page.run(cell)
    assert found["code"] == "done" and float(found["agrees"]) < 1e-4
    book, *_ = import_module(f"book.lessons.{stem}.editable").cells()
    ordered = book.ahead is not None  # it reads from left to right, and not a board
    assert found.get("leak") == ("0" if ordered else None)
    line = cell_page.said(cell)
    assert ("and by its gradient none depends on one" in line) is ordered
    assert ("asked at 2 of 11 places" in line) is (stem == "equilibrium")
    notebook = nbformat.read(ROOT / lesson_page(stem), as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for change in CHANGES[stem]:
        assert change.named in text
        cell_page.change(cell, change.before, change.after)
        found, line = cell_page.run(cell), cell_page.said(cell)
        assert found["code"] == "done", line
        assert (float(found["agrees"]) < 1e-4) is change.agrees, change
        assert (float(found.get("leak", 0)) > 1e-3) is change.ahead, change
        assert ("It reads ahead" in line) is change.ahead


@pytest.mark.by_day
@pytest.mark.parametrize("stem", TRAINED)
def test_the_books_code_and_its_changes_train(open_page, stem):
    page = open_page(address(stem)).page
    cell = cell_page.editor(page)
    assert float(cell_page.train(cell)["score"]) >= 1
    for change in CHANGES[stem]:
        if change.score is None:
            continue
        cell_page.change(cell, change.before, change.after)
        found = cell_page.train(cell)
        assert float(found["score"]) >= change.score, change
        line = cell.locator(".attn-train-said").inner_text()
        assert ("No honest predictor" in line or "it reads ahead" in line) is change.below, change
    if stem == "deep_qkv":
        figure = page.locator("figure[data-listens=deep_qkv]").filter(has_text="You, your code")
        expect(figure.first).to_have_attribute("data-yours", "1")  # of the code as it is now


@pytest.mark.by_day
@pytest.mark.parametrize(("stem", "name"), SMALL)
def test_a_small_cell_prints_what_the_notebook_printed(open_page, stem, name):
    page = open_page(address(stem)).page
    cell = cell_page.editor(page, name)
    there = page.locator(f"#code-{name}").locator("xpath=..").locator(".cell_output").inner_text()
    assert cell_page.run(cell)["code"] == "done", cell_page.said(cell)
    printed = cell.locator(".attn-printed").inner_text()
    assert printed.split() and [*printed.split()] == [*there.split()][-len(printed.split()) :]


# --- What goes wrong


CELL = ":is([data-cell=model], .attn-bench-place) .attn-cell"
PAGES = [BACKED[0], "workbench"]
ENDLESS = [(BACKED[0], "pass"), (BACKED[0], "print(1)"), ("workbench", "pass")]


@pytest.mark.parametrize(("page", "line"), ENDLESS)
def test_what_does_not_end_is_ended_and_the_next_run_works(page, line, open_page):
    """By its work, in the page and in the frame that the workbench has for it."""
    visit = open_page(address(page))
    cell = visit.page.locator(CELL).first
    book = cell_page.code(cell)
    for text, said in ((f"while True:\n    {line}", "had not ended after "), (book, "ahead")):
        cell.get_by_role("textbox").fill(text)
        assert cell_page.run(cell)["code"] == ("done" if text == book else "failed")
        assert said in cell_page.said(cell)
    visit.assert_clean()


@pytest.mark.by_day
def test_it_fits_a_phone_and_axe_finds_nothing(open_page, axe, stem):
    page = open_page(address(stem), width=390).page
    cell = cell_page.editor(page)
    cell_page.run(cell)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert light_and_dark(page, axe, ".attn-cell") == []


@pytest.mark.parametrize("page", PAGES)
def test_nothing_of_the_engine_is_loaded_before_the_first_run(page, open_page):
    visit = open_page(address(page), fresh=True)
    cell = visit.page.locator(CELL).first

    def names() -> set[str]:
        return {response.url.rpartition("/")[2] for response in visit.responses}

    heavy = {"micropython.wasm", "python.json", "worker.js"}
    expect(cell).to_be_visible()
    assert not names() & {*heavy, f"{BACKED[0]}.json", "training.js"}
    cell_page.run(cell)
    assert names() >= heavy
    assert visit.external == []


@pytest.mark.parametrize("page", PAGES)
def test_under_a_strict_policy_a_sentence_says_why_not(page, site, open_page):
    with serve(site, policy=STRICT_POLICY) as base:
        opened = open_page(address(page), base=base, fresh=True).page
        cell = opened.locator(CELL).first
        assert cell_page.run(cell)["code"] == "failed"
        assert "policy bars WebAssembly" in cell_page.said(cell)


@pytest.mark.parametrize("why", ["there is none", "none may be made", "it ends at once"])
@pytest.mark.parametrize("page", PAGES)
def test_a_worker_that_does_not_begin_is_told(page, why, open_page):
    """In the page, and in the frame that the workbench has for it; the next run does not hang."""
    opened = open_page(address(page), fresh=True).page
    opened.add_init_script(UNABLE[why])
    opened.reload()
    cell = opened.locator(CELL).first
    for _ in range(2):
        assert cell_page.run(cell)["code"] == "failed"
        words = "no Workers of this kind" if why == "there is none" else "its Worker did not start"
        assert words in cell_page.said(cell)


def test_from_a_disk_the_page_stays_as_it_is(site, open_page):
    page = open_page("book/lessons/deep_qkv/deep_qkv.html", base=f"{site.as_uri()}/").page
    place = page.locator(".attn-cell-place[data-cell=model]")
    expect(place).to_have_text(
        "This code can be changed and run where the page comes from a server, with JavaScript."
    )
    expect(page.locator("#code-model")).to_be_visible()
