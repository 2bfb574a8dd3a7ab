"""Words in the text that open a state of a widget, all of every page that has any.

`tests/widgets/scripts.py` has what they are to do in each case, on pages made for it.
"""

import pytest
from playwright.sync_api import expect

from book.site.dependencies import lesson_page

from .conftest import ROOT, SHOWING, address

LINK = 'article a[href^="#open-"]'
NOTEBOOKS = {stem: (ROOT / lesson_page(stem)).read_text("utf-8") for stem in SHOWING}
WITH_LINKS = [address(stem) for stem, text in NOTEBOOKS.items() if "#open-" in text]
SHOWN = """() => [...document.querySelectorAll(".attn-widget")].map((widget) =>
  [...widget.querySelectorAll("input, select, output, [role=status], svg, .attn-message")].map(
    (part) => [part.checked, part.value,
      part.tagName === "svg" ? part.outerHTML : part.textContent]).join())"""
# Which widget is the nearest of those that know the state, its place among all of them.
NEAREST = """(link) => {
  const state = link.getAttribute("href").replace("#open-", "").replace(/-\\d+$/, "");
  const { top, bottom } = link.getBoundingClientRect();
  const way = (widget) => {
    const box = widget.getBoundingClientRect();
    return Math.max(box.top - bottom, top - box.bottom, 0);
  };
  const all = [...document.querySelectorAll(".attn-widget")];
  const knowing = all.filter((widget) => (widget.dataset.opens ?? "").split(" ").includes(state));
  knowing.sort((one, other) => way(one) - way(other));
  return all.indexOf(knowing[0]);
}"""
# Which widget has the focus and its top on the upper half of the screen, below the page's header.
IN_VIEW = """() => {
  const { activeElement: widget } = document;
  const { top } = widget.getBoundingClientRect();
  const header = document.querySelector(".bd-header-article").getBoundingClientRect().bottom;
  const seen = top >= header - 1 && top <= innerHeight / 2;
  return seen ? [...document.querySelectorAll(".attn-widget")].indexOf(widget) : -1;
}"""


def test_some_pages_have_such_links():
    assert WITH_LINKS


BUSY = ".attn-widget [aria-busy=true]"  # a model that has not yet thought as far as what is shown

# What is chosen in all widgets, and drawn where it is seen, but for what they last said.
CHOSEN = """() => [...document.querySelectorAll(".attn-widget")].map((widget) =>
  [...widget.querySelectorAll("input, select, svg")].filter((part) => part.checkVisibility()).map(
    (part) => [part.checked, part.value, part.tagName === "svg" ? part.outerHTML : ""]).join())"""


@pytest.mark.by_day(2)
@pytest.mark.parametrize("path", WITH_LINKS)
def test_all_words_open_a_state_and_give_back_what_was(path, open_page):
    """Nothing scrolls; where the widget is out of sight a way leads there, and Back returns."""
    visit = open_page(path)
    page = visit.page
    for veil in page.locator(".attn-veil button").all():  # what is behind cannot be pressed
        veil.click()
    for words in page.locator(LINK).all():
        name = words.get_attribute("href") or ""
        words.evaluate("e => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
        place = words.evaluate("e => e.getBoundingClientRect().top")
        expect(page.locator(BUSY)).to_have_count(0)
        before, chosen = page.evaluate(SHOWN), page.evaluate(CHOSEN)
        nearest = words.evaluate(NEAREST)
        assert nearest >= 0, f"no widget knows {name}"
        expect(words).to_have_role("button")
        words.click()
        expect(words).to_have_attribute("aria-pressed", "true")
        assert words.evaluate("e => e.getBoundingClientRect().top") == pytest.approx(place, abs=3)
        after = page.evaluate(SHOWN)
        changed = [i for i, (was, now) in enumerate(zip(before, after, strict=True)) if was != now]
        assert changed in ([nearest], []), f"{name} opens another too"
        assert changed, f"{name} opens what is open"
        way = page.locator(".attn-to")
        if way.count():
            way.click()
            assert page.evaluate(IN_VIEW) == nearest, name
            assert page.evaluate("location.hash").startswith(name)
            page.go_back()
            expect(words).to_be_focused()
            where = words.evaluate("e => e.getBoundingClientRect().top")
            assert where == pytest.approx(place, abs=3)
        words.click()
        expect(words).to_have_attribute("aria-pressed", "false")
        expect(page.locator(BUSY)).to_have_count(0)
        assert page.evaluate(CHOSEN) == chosen, f"{name} does not give back what was"
        expect(way).to_have_count(0)
    visit.assert_clean()


def test_an_address_leads_to_a_widget_far_down_the_page(open_page):
    """Below figures and code; and again when the page is read anew."""
    visit = open_page("book/lessons/dialectical/dialectical.html")
    page = visit.page
    (before,) = page.evaluate(SHOWN)
    name = page.locator(LINK).first.get_attribute("href")
    page.evaluate("(address) => { location.hash = address; }", name)
    expect(page.locator(".attn-widget")).to_be_focused()
    page.wait_for_function(f"({IN_VIEW})() === 0")
    assert page.evaluate(SHOWN) != [before]
    visit.assert_clean()
    page.reload()
    visit.settle()
    expect(page.locator(".attn-widget")).to_be_focused()
    page.wait_for_function(f"({IN_VIEW})() === 0")
