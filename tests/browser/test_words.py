"""The card of a word of the glossary on the built pages, and at the first tap.

What a pointer and keys do is `tests/words/scripts.py`.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from .conftest import CHAPTERS

PAGE = "book/lessons/dialectical/dialectical.html"

# Where an element reaches over the window's edges, in pixels.
OVER = """(card) => {
  const { left, right, top, bottom } = card.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  return Math.max(-left, right - clientWidth, -top, bottom - clientHeight);
}"""


def words(page: Page) -> Locator:
    return page.locator("a.attn-word")


def term(word: Locator) -> str:
    """Which entry a word leads to, by its anchor: “token” where “tokens” is written."""
    return (word.get_attribute("href") or "").rpartition("#term-")[2].replace("-", " ")


def shows(page: Page, word: Locator) -> None:
    """Wait for the card of a word: its name, beside the picture, which may have letters too."""
    page.wait_for_function(
        """(term) => [...document.querySelectorAll(".attn-word-card:not([hidden]) dt")].some((dt) =>
          [...dt.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
            .map(({ data }) => data).join("").trim() === term)""",
        arg=term(word),
    )


def card(page: Page) -> Locator:
    return page.locator(".attn-word-card")


@pytest.fixture
def phone(browser: Browser, server: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    page = context.new_page()
    page.goto(server + PAGE)
    yield page
    context.close()


def test_a_first_tap_shows_it_and_a_second_follows_the_link(phone):
    here = phone.url
    first, second = words(phone).nth(0), words(phone).nth(5)
    first.tap()
    expect(card(phone)).to_be_visible()
    card(phone).locator("dd").tap()
    phone.wait_for_timeout(600)
    expect(card(phone)).to_be_visible()
    phone.locator(".bd-article > section > h1").tap()
    expect(card(phone)).to_be_hidden()
    first.tap()
    shows(phone, first)
    second.tap()
    shows(phone, second)
    assert phone.url == here
    card(phone).get_by_role("link", name="More in the glossary").tap()
    phone.wait_for_url("**/reference/glossary.html#term-*")
    phone.go_back()
    first.tap()
    expect(card(phone)).to_be_visible()
    first.tap()
    phone.wait_for_url("**/reference/glossary.html#term-*")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_stays_in_the_window_and_axe_finds_nothing(theme, open_page, axe):
    page = open_page(PAGE, width=390, theme=theme).page
    for word in words(page).filter(visible=True).all()[::6]:  # others are in folded hints
        for end in ("start", "end"):  # of the window
            word.evaluate(f"e => e.scrollIntoView({{ block: '{end}', behavior: 'instant' }})")
            word.focus()
            page.keyboard.press("Escape")
            word.hover()
            expect(card(page)).to_be_visible()
            assert card(page).evaluate(OVER) <= 0, word.text_content()
    assert axe(page, ".bd-article") == []
    page.emulate_media(media="print")
    expect(card(page)).to_be_hidden()


@pytest.mark.by_day
@pytest.mark.parametrize("path", CHAPTERS)
def test_every_word_of_a_page_has_what_it_shows(path, open_page):
    page = open_page(path).page
    found = page.evaluate(
        """() => [...document.querySelectorAll("a.attn-word")].map((word) => [word.hash.slice(1),
          document.getElementById(word.getAttribute("aria-describedby"))?.textContent])"""
    )
    assert len(found) > 5
    assert all(meaning and meaning.endswith(".") for _, meaning in found)
    kept = page.locator(".attn-words > div").all()
    anchors = [(each.get_attribute("data-anchors") or "").split() for each in kept]
    assert all(any(anchor in entry for anchor, _ in found) for entry in anchors)
