"""The slides in a browser, from a folder: each fits, its letters are large, its models too."""

import re
import unicodedata
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pypdf import PdfReader

from book import build
from book.paper import deck_pages, decks, printing

from .. import exercises
from .conftest import ROOT, STEMS, recorded
from .widget_page import of_lesson

SLIDE = {"width": 1280, "height": 720}
LETTERS = 18  # px, the smallest; an exponent of a figure's scale may be a hair smaller
# Whatever of a slide, or of the widget in its frame, can be seen lies in it, and so do its letters;
# nothing is to be scrolled to.
AMISS = """(slide, least) => {
  const found = [];
  const box = { right: innerWidth, bottom: innerHeight };
  for (const e of slide.querySelectorAll("*")) {
    if (e.closest("aside, mjx-assistive-mml") || !e.checkVisibility()) continue;
    const { width, right, bottom, left, top } = e.getBoundingClientRect();
    if (!width || e.closest(".attn-hidden")) continue;
    const drawing = e.parentElement.closest("svg");
    const cut = drawing && getComputedStyle(drawing).overflow === "hidden";
    if (!cut && (right > box.right + 1 || bottom > box.bottom + 1 || left < -1 || top < -1))
      found.push(`out: ${e.outerHTML.slice(0, 80)}`);
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const alone = e.closest("[data-alone]");
    const large = alone ? alone.getBoundingClientRect().width / alone.offsetWidth : 1;
    const at = e.ownerSVGElement ? e.getScreenCTM() : { a: e.currentCSSZoom * large, b: 0 };
    const size = parseFloat(getComputedStyle(e).fontSize) * Math.hypot(at.a, at.b);
    if (size < least - 0.1) found.push(`${size}: ${e.outerHTML.slice(0, 80)}`);
  }
  if (slide.scrollHeight > slide.clientHeight + 1) found.push(`high: ${slide.scrollHeight}`);
  return found;
}"""
SHOW_ALL = "() => { while (Reveal.availableFragments().next) Reveal.nextFragment(); }"
IN_WIDGET = ".attn-widget[data-alone]"


@pytest.fixture(scope="module")
def folder(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All decks, as `make decks` writes them."""
    folder = tmp_path_factory.mktemp("decks")
    deck_pages.write(ROOT, site, build.lessons(ROOT), folder, "Attention Notes", decks.SEED)
    return folder


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may ask for files only, and in which nothing may go wrong."""
    visit = recorded(browser.new_page(viewport=SLIDE), "file:")
    yield visit.page
    visit.assert_clean()
    visit.page.close()


def opened(page: Page, path: Path) -> Page:
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


@pytest.mark.parametrize("stem", STEMS)
def test_every_slide_fits_its_letters_are_large_and_its_models_alive(stem, folder, page):
    """A model that answers shows something else once it is used; a clicker leads on."""
    opened(page, folder / f"{stem}.html")
    slides = decks.read(ROOT, stem).slides
    assert page.evaluate("Reveal.getTotalSlides()") == len(slides)
    for number, slide in enumerate(slides):
        page.evaluate("(number) => Reveal.slide(number)", number)
        present = page.locator("section.present")
        said = f"{stem}, slide {number + 1}: {slide.title}"
        assert present.evaluate(AMISS, LETTERS) == [], said
        page.evaluate(SHOW_ALL)
        assert present.evaluate(AMISS, LETTERS) == [], f"{said}, all shown"
        if slide.kind != "widget":
            continue
        widget = page.frame_locator("section.present iframe").locator(IN_WIDGET)
        expect(widget).to_have_attribute("data-show", slide.content)
        assert widget.evaluate(AMISS, LETTERS) == [], f"{said}, inside"
        before = widget.inner_html()
        of_lesson(stem, "use")(widget)
        expect(widget).not_to_have_js_property("innerHTML", before)
        assert widget.evaluate(AMISS, LETTERS) == [], f"{said}, inside, used"
        widget.locator(":is(button, input):visible").first.press("PageDown")
        page.wait_for_function("(number) => Reveal.getIndices().h === number + 1", arg=number)


def test_what_others_made_goes_with_its_licence(folder):
    for name, words in (("LICENSE", "Permission is hereby granted"), ("mathjax/LICENSE", "Apache")):
        assert words in (folder / "parts" / name).read_text("utf-8")


def test_no_line_of_a_solution_is_in_the_folder(folder):
    """Slides, handouts, widgets with their state."""
    found = list(exercises.texts(folder))
    assert len(found) > 3 * len(STEMS) and exercises.leaks(found) == []


def test_a_cover_hides_its_figure_until_the_next_key(folder, page):
    stem = STEMS[0]
    opened(page, folder / f"{stem}.html")
    number = [slide.kind for slide in decks.read(ROOT, stem).slides].index("figure")
    page.evaluate("(number) => Reveal.slide(number)", number)
    cover, figure = page.locator(".present .cover"), page.locator(".present figure")
    inside, around = figure.bounding_box(), cover.bounding_box()
    assert inside and around
    assert around["x"] <= inside["x"] and around["y"] <= inside["y"]
    assert around["y"] + around["height"] >= inside["y"] + inside["height"]
    expect(cover).to_have_css("opacity", "1")
    page.keyboard.press("ArrowRight")
    expect(cover).to_have_css("opacity", "0")


def test_a_deck_is_printed_a_page_for_each_press_and_a_handout_on_four(browser, folder):
    stem = STEMS[0]
    names = (f"{stem}.html", f"{stem}-handout.html")
    deck, sheet = (
        PdfReader(BytesIO(printing.printed_deck(browser, folder / name))) for name in names
    )
    slides = decks.read(ROOT, stem).slides
    assert {(page.mediabox.width, page.mediabox.height) for page in deck.pages} == {(960, 540)}
    covered = sum(slide.kind == "figure" for slide in slides)
    assert len(deck.pages) >= len(slides) + covered
    assert 1 <= len(sheet.pages) <= 4
    pages = [page.extract_text() for page in sheet.pages]
    assert all(len(page.split()) > 50 for page in pages)  # none has a last line to itself
    text = unicodedata.normalize("NFKC", " ".join(pages))  # some fonts have one sign for fl
    for slide in slides:
        if slide.kind not in ("widget", "question"):
            assert " ".join(slide.title.split()[:2]) in re.sub(r"\s+", " ", text), slide.title
    assert "MIT licence" in text
