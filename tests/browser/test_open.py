"""Links in the text that open a state of a widget, on every page that has one."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from .conftest import CHAPTERS, SITE, Visit

OpenPage = Callable[..., Visit]
LINK = 'article a[href^="#open-"]'
WITH_LINKS = [path for path in CHAPTERS if 'href="#open-' in (SITE / path).read_text("utf-8")]

SHOWN = """() => [...document.querySelectorAll(".attn-widget")].map((widget) =>
  [...widget.querySelectorAll("input, select, output, [role=status], svg")].map((part) =>
    [part.checked, part.value, part.tagName === "svg" ? part.outerHTML : part.textContent]))"""


def test_some_pages_have_such_links() -> None:
    assert len(WITH_LINKS) >= 2


@pytest.mark.parametrize("path", WITH_LINKS)
def test_a_link_opens_a_state(path: str, open_page: OpenPage) -> None:
    """It shows something else, the widget has the focus and is in view; so is it from afar."""
    visit = open_page(path)
    page = visit.page
    names = [link.get_attribute("href") or "" for link in page.locator(LINK).all()]
    before = page.evaluate(SHOWN)
    for name in names:
        page.locator(f'{LINK}[href="{name}"]').first.click()
        assert in_view(page), name
        assert page.evaluate("location.hash") == name
    first = names[0]
    afar = open_page(path + first).page
    expect(afar.locator(".attn-widget:focus")).to_have_count(1)
    assert in_view(afar)
    assert afar.evaluate(SHOWN) != before, f"{first} opens what is open anyway"
    visit.assert_clean()


def test_the_link_in_the_lesson_of_sorting(open_page: OpenPage) -> None:
    """From a seed that sorts everything to one that does not, and no further at a second click."""
    visit = open_page("book/deep_qkv.html")
    score = visit.page.locator(".abc-score").first
    expect(score).to_have_text("27 of 27 sorted")
    link = visit.page.locator('article a[href="#open-failed"]').first
    link.click()
    expect(score).not_to_have_text("27 of 27 sorted")
    failed = score.text_content() or ""
    link.press("Enter")
    expect(score).to_have_text(failed)
    visit.assert_clean()


def test_an_address_that_names_no_state_does_nothing(open_page: OpenPage) -> None:
    for name in ("#open-nothing", "#open-constructor", "#open-", "#play-first"):
        visit = open_page("book/deep_qkv.html" + name)
        expect(visit.page.locator(".attn-widget:focus")).to_have_count(0)
        visit.assert_clean()


def in_view(page: Page) -> bool:
    """Whether the focus is on a widget whose top, or bottom, is on the screen."""
    return bool(
        page.evaluate(
            """() => {
              const { activeElement: widget } = document;
              if (!widget.matches(".attn-widget")) return false;
              const { top, bottom } = widget.getBoundingClientRect();
              const header = document.querySelector(".bd-header, .bd-header-article");
              const least = header?.getBoundingClientRect().bottom ?? 0;
              const inside = (y) => y >= least - 1 && y <= innerHeight;
              return inside(top) || inside(bottom);
            }"""
        )
    )
