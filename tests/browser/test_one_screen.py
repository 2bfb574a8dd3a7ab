"""What is asked, what one does and what comes of it are on one screen, in a page's first widget."""

import pytest
from playwright.sync_api import Locator

from .conftest import SHOWING, Visit, address
from .training_page import TRAIN
from .widget_page import of_lesson

LAPTOP = {"width": 1280, "height": 720}
PHONE = {"width": 390, "height": 844}
# What is to be seen together: the question, the controls, and what changes, which is the first.
SCREENS: list[tuple[str, list[str]]] = [
    ("index", [".attn-go", ".whole-canvas", ".whole-verdict"]),
    *((stem, parts) for stem in SHOWING for parts in of_lesson(stem, "TOGETHER")),
]
# Where Train stands beside it, and on a phone below.
TRAINED = [(stem, parts) for stem, parts in SCREENS if {*TRAIN} <= {*parts}]
HEADER = """() => Math.max(0, ...[...document.querySelectorAll(".bd-header, .bd-header-article")]
  .map((e) => e.getBoundingClientRect().bottom).filter((bottom) => bottom < 200))"""


def first_widget(visit: Visit, size: dict[str, int], what: str = "*", at: str = "") -> Locator:
    """The first widget that has this, it or a part of it just below the page's header."""
    page = visit.page
    page.set_viewport_size(size)
    widget = page.locator(".attn-widget").filter(has=page.locator(what)).first
    part = widget.locator(at).first if at else widget
    part.evaluate("e => e.scrollIntoView({ block: 'start', behavior: 'instant' })")
    header = page.evaluate(HEADER)
    part.evaluate(
        "(e, header) => scrollBy({ top: e.getBoundingClientRect().top - header - 4,"
        " behavior: 'instant' })",
        header,
    )
    return widget


def seen(widget: Locator, part: str) -> bool:
    """Whether a part is on the screen, all of it, and nothing lies over it."""
    return bool(
        widget.locator(part).first.evaluate(
            """(e) => {
              const { left, right, top, bottom, width, height } = e.getBoundingClientRect();
              const within = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
              const middle = document.elementFromPoint(left + width / 2, top + height / 2);
              const corner = document.elementFromPoint(right - 2, top + height / 2);
              const own = (found) => Boolean(found?.closest(".attn-widget"));
              return width > 0 && within && own(middle) && own(corner);
            }"""
        )
    )


@pytest.mark.parametrize(("stem", "parts"), SCREENS)
def test_question_controls_and_result_are_seen_together(stem, parts, open_page):
    visit = open_page(address(stem))
    widget = first_widget(visit, LAPTOP, parts[0])
    assert [part for part in parts if not seen(widget, part)] == []
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= LAPTOP["width"]
    visit.assert_clean()


@pytest.mark.parametrize(("stem", "parts"), TRAINED)
def test_on_a_phone_train_is_on_the_screen_of_what_it_trains(stem, parts, open_page):
    visit = open_page(address(stem), width=PHONE["width"])
    what, *_ = parts
    widget = first_widget(visit, PHONE, what, at=what)
    least = [what, ".attn-go", ".attn-chart"]
    assert [part for part in least if not seen(widget, part)] == []
    visit.assert_clean()


def test_the_contents_of_the_page_come_up_from_under_a_widget(open_page):
    """It covers them where it is wide; whoever goes there with the keyboard sees where they are."""
    visit = open_page("book/lessons/trm/trm.html")
    first_widget(visit, LAPTOP)
    link = visit.page.locator(".bd-sidebar-secondary nav a").nth(4)
    over = """(e) => {
      const { left, top, width, height } = e.getBoundingClientRect();
      return e.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    }"""
    assert not link.evaluate(over)
    link.evaluate("e => e.focus({ preventScroll: true })")
    assert link.evaluate(over)
