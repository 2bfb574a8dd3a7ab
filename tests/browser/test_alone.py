"""One widget alone and large, by its button or by `?show=` and its name, on the built pages.

What stands in its address, and what of an address is nonsense, is in each lesson's scripts.
"""

import math
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page, expect

from .conftest import SHOWING, address
from .test_widgets import SCENES
from .widget_page import centre, light_and_dark

ALONE = ".attn-widget[data-alone]"

# Of all that can be seen, what is no part of the widget that is alone.
BESIDE = """() => [...document.body.querySelectorAll("*")].filter((e) =>
  e.checkVisibility({ visibilityProperty: true }) && !e.closest("[data-alone]")
    && !e.querySelector("[data-alone]")).map((e) => e.outerHTML.slice(0, 80))"""
DRAGGED = {scene.name: (scene.page or stem, scene) for stem, scene in SCENES if scene.handles}


def query(page: Page) -> dict[str, str]:
    """What the page's address asks for, but for the test's own word."""
    asked = dict(parse_qsl(urlsplit(page.url).query, keep_blank_values=True))
    asked.pop("bare", None)
    return asked


@pytest.mark.by_day
@pytest.mark.parametrize("stem", SHOWING)
def test_nothing_else_is_seen(stem, open_page, axe):
    """How large its letters are is `test_decks.py`."""
    visit = open_page(address(stem))
    page = visit.page
    name = page.locator("[data-show]").first.get_attribute("data-show") or ""
    page.goto(f"{page.url}?show={name}")
    visit.settle()
    expect(page.locator(ALONE)).to_have_attribute("data-show", name)
    expect(page.get_by_role("button", name="Back to the page")).to_be_visible()
    fading = "Promise.all(document.getAnimations().map((each) => each.finished))"
    page.evaluate(fading)  # the bar at the side
    assert page.evaluate(BESIDE) == []
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 720})
        assert page.locator(ALONE).evaluate("e => e.scrollWidth - e.clientWidth") <= 0
        findings = light_and_dark(page, axe, "html")
        assert not findings, "\n".join(findings)
    visit.assert_clean()


@pytest.mark.parametrize("name", DRAGGED)
@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_dragged_stays_under_the_pointer(name, width, open_page):
    """Large or not, to a pixel or two; not by zoom, under which engines differ in where it is."""
    stem, scene = DRAGGED[name]
    page = open_page(f"{address(stem)}?bare&{scene.asked}", width=width).page
    assert page.locator(ALONE).evaluate("e => e.currentCSSZoom") == 1
    handles = page.locator(f"{scene.handles}:visible")
    assert handles.count() >= 2
    for handle in handles.all():
        handle.scroll_into_view_if_needed()
        x, y = centre(handle)
        page.mouse.move(x, y)
        page.mouse.down()
        for dx, dy in ((-18, 12), (-30, 24)):
            page.mouse.move(x + dx, y + dy, steps=4)
            assert math.dist(centre(handle), (x + dx, y + dy)) < 2
        page.mouse.up()


def test_one_is_back_where_one_was(open_page):
    """By whatever leads back (`transcript_alone.txt`): as far down the page, at the same button."""
    visit = open_page("book/lessons/dialectical/dialectical.html")
    page = visit.page
    widget = page.locator(".attn-widget").first
    go = widget.get_by_role("button", name="Show alone")
    go.scroll_into_view_if_needed()
    page.evaluate("scrollBy({ top: 40, behavior: 'instant' })")
    was = page.evaluate("scrollY")
    top = widget.evaluate("e => e.getBoundingClientRect().top")
    go.press("Enter")
    expect(page.locator(ALONE)).to_have_attribute("data-show", "brackets")
    assert query(page)["show"] == "brackets"
    expect(page.get_by_role("button", name="Back to the page")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(ALONE)).to_have_count(0)
    assert query(page) == {}
    assert page.evaluate("scrollY") == was
    assert widget.evaluate("e => e.getBoundingClientRect().top") == pytest.approx(top, abs=1)
    expect(go).to_be_focused()
    page.go_forward()
    expect(page.locator(ALONE)).to_have_attribute("data-show", "brackets")
    visit.assert_clean()


def test_a_page_on_disk_does_it_too(site, open_page):
    visit = open_page(
        "book/lessons/deep_qkv/deep_qkv.html?show=sorter-2&text=bca", base=site.as_uri() + "/"
    )
    page = visit.page
    expect(page.locator(f"{ALONE} .abc-output")).to_have_text("abc")
    page.keyboard.press("Escape")
    sorter = page.locator(".abc-sorter").filter(has=page.locator(".abc-output"))
    sorter.get_by_role("button", name="Show alone").click()
    assert query(page)["text"] == "bca"
    visit.assert_clean()
