"""Where scroll bars take room, as on Windows, no page is too wide and no line is cut.

A browser without a window hides them; this one does not.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from book.paper.browser import FLAGS, find_browser

from .conftest import CHAPTERS, Visit, by_day
from .test_site import PAGES

WIDTHS = range(360, 1401, 40)
OPEN = {*CHAPTERS, *(path for path in PAGES if "/lessons/" not in path)}
"""Asked by day: each lesson, and what is no part of one."""

# What a page shows too much of, at its width: itself; and what scrolls sideways and hides what lies
# below, to which it cannot be scrolled.
AMISS = """() => {
  const root = document.documentElement;
  const found = root.scrollWidth > root.clientWidth ? [`${root.scrollWidth} px wide`] : [];
  for (const e of document.querySelectorAll("textarea, pre, div, figure, mjx-container")) {
    const { overflowX, overflowY } = getComputedStyle(e);
    const rolls = ["auto", "scroll"].includes(overflowX) && e.scrollWidth > e.clientWidth;
    if (rolls && overflowY === "hidden" && e.scrollHeight > e.clientHeight + 1)
      found.push(`cut: ${e.outerHTML.slice(0, 100)}`);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def roomy(browser: Browser) -> Iterator[Browser]:
    """The same browser, with scroll bars that take room."""
    found = browser.browser_type.launch(
        executable_path=find_browser(), args=list(FLAGS), ignore_default_args=["--hide-scrollbars"]
    )
    yield found
    found.close()


@pytest.fixture
def page(roomy: Browser, server: str) -> Iterator[Page]:
    page = roomy.new_page(reduced_motion="reduce", viewport={"width": 1280, "height": 900})
    yield page
    page.close()


@pytest.mark.parametrize("path", by_day(PAGES, OPEN))
def test_nothing_is_too_wide_or_cut_at_any_width(path, page, server):
    visit = Visit(page)
    page.goto(server + path)
    visit.settle()
    found: dict[int, Any] = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if amiss := page.evaluate(AMISS):
            found[width] = amiss
    assert found == {}


def test_the_last_line_of_an_editor_is_seen_and_what_is_typed_too(page, server):
    """Whatever is typed: wide letters, tabs, an empty last line; the caret stays in sight."""
    page.goto(server + "book/workbench.html")
    editor = page.locator(".attn-editor").first
    field = editor.locator("textarea")
    line = editor.locator(".attn-line-numbers span")
    for text in ("x = 1", "x" * 300, "漢字" * 100 + "\n\tx\n", "# 😀" + "\t" * 60 + "\n" * 30, ""):
        field.fill(text)
        expect(line).to_have_count(text.count("\n") + 1)
        below, last, all_, room = field.evaluate(
            """(field) => {
              const scroller = field.parentElement;
              const bar = scroller.offsetHeight - scroller.clientHeight;
              const { bottom } = scroller.getBoundingClientRect();
              return [bottom - bar, field.previousSibling.lastChild.getBoundingClientRect().bottom,
                field.scrollWidth, field.clientWidth];
            }"""
        )
        assert last <= below
        assert all_ <= room, "the field itself would scroll"
    field.fill("")
    field.press_sequentially("abcdefghij" * 40)
    place = "(field) => [field.parentElement.scrollLeft, field.parentElement.clientWidth]"
    left, room = field.evaluate(place)
    assert left > 0 and left + room >= field.evaluate("(field) => field.scrollWidth") - 20
    field.press("Home")
    assert field.evaluate(place)[0] < 20
