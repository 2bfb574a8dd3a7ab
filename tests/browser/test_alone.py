"""One widget alone and large, by its button or by `?show=` and its name."""

import math
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from .conftest import BACKED, CheckPage, OpenPage, address
from .widget_page import centre, light_and_dark

# What may be chosen, none of it as the page opens; all that a view has stands in the address.
CHOICES = {
    "deep_qkv": ["show=sorter&variant=strict&seed=2&text=bca"],
    "dialectical": [
        "show=brackets&view=losses&run=mask mended&seed=0&text=(ab)(a)&place=3&replacement=b",
    ],
    "dialectical_writing": [
        "show=brackets&view=writing&run=mask mended&seed=0&prompt=(a&budget=9&temperature=0.7"
        "&constrained=no&stop_on_closed=no&draw=3",
    ],
    "equilibrium": [
        "show=equilibrium&panel=plane&weights=1.2,-0.4&input=-1,0.5&target=0.25,2&method=full"
        "&beta=0.03&steps=40&learned=4",
        "show=equilibrium&panel=network&run=untrained&seed=0&text=To be&step=3&selected=2",
    ],
    "triple_product": [
        "show=arrows&mode=head&run=two layers, taught six to twelve&seed=0&layer=1&head=1"
        "&text=abcabcab&position=5&key=2&loudness=4",
    ],
    "triple_product_volume": [
        "show=arrows&mode=hand&selected=3",
        "show=arrows&mode=head&run=volume, two layers&seed=0&layer=1&head=1&text=abcabcab"
        "&position=5&key=2&loudness=4",
    ],
    "trm": [
        "show=sudoku&run=untrained&seed=0&puzzle=.2.1.....2.3.1..5.6.....53...11.....&step=4"
        "&shown=mind&selected=7"
    ],
}
EACH = [
    (page, dict(parse_qsl(choice, keep_blank_values=True)))
    for page, choices in CHOICES.items()
    for choice in choices
]
FIRST = dict(reversed(EACH))
ALONE = ".attn-widget[data-alone]"

# Of all that can be seen, what is no part of the widget that is alone.
BESIDE = """() => [...document.body.querySelectorAll("*")].filter((e) =>
  e.checkVisibility({ visibilityProperty: true }) && !e.closest("[data-alone]")
    && !e.querySelector("[data-alone]")).map((e) => e.outerHTML.slice(0, 80))"""
# What the widget shows; what it says, of the address and to a screen reader, is left out.
SHOWN = """() => {
  const view = document.querySelector("[data-alone]").cloneNode(true);
  for (const said of view.querySelectorAll("[aria-live], .attn-alone-said")) said.remove();
  return view.textContent;
}"""
# What is drawn of a length of 0, with ends that can be seen and a stroke that does not scale.
POINTS = """() => {
  const part = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const lengthOf = (d) => {
    part.setAttribute("d", d);
    return part.getTotalLength();
  };
  return [...document.querySelectorAll("[data-alone] :is(path, line, polyline)")].filter((e) => {
    const { vectorEffect, strokeLinecap } = getComputedStyle(e);
    if (vectorEffect === "none" || strokeLinecap === "butt") return false;
    const parts = e.getAttribute("d")?.match(/M[^M]+/g)?.map(lengthOf);
    return (parts ?? [e.getTotalLength()]).includes(0);
  }).map((e) => e.outerHTML);
}"""
# What can be dragged, by the address that shows it.
HANDLES = {"triple_product_volume": ".tp-hit:visible", "equilibrium": ".eq-hit:visible"}


def query(page: Page) -> dict[str, str]:
    """What the page's address asks for, but for the test's own word."""
    asked = dict(parse_qsl(urlsplit(page.url).query, keep_blank_values=True))
    asked.pop("bare", None)
    return asked


def choosing(page: str, choice: dict[str, str]) -> str:
    return f"{address(page)}?bare&{urlencode(choice)}"


@pytest.mark.by_day
@pytest.mark.parametrize("stem", BACKED)
def test_nothing_else_is_seen(stem: str, open_page: OpenPage, axe: CheckPage) -> None:
    """How large its letters are is `test_decks.py`."""
    name = FIRST[stem]["show"]
    visit = open_page(f"{address(stem)}?show={name}")
    page = visit.page
    expect(page.locator(ALONE)).to_have_attribute("data-show", name)
    expect(page.get_by_role("button", name="Back to the page")).to_be_visible()
    assert page.evaluate(BESIDE) == []
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 720})
        assert page.locator(ALONE).evaluate("e => e.scrollWidth - e.clientWidth") <= 0
        findings = light_and_dark(page, axe, "html")
        assert not findings, "\n".join(findings)
    visit.assert_clean()


@pytest.mark.by_day(3)
@pytest.mark.parametrize(("stem", "choice"), EACH)
def test_what_is_chosen_stands_in_the_address_and_is_read_from_it(
    stem: str, choice: dict[str, str], open_page: OpenPage
) -> None:
    """From the address into the widget, back to the page, and from the widget into the address."""
    visit = open_page(choosing(stem, choice))
    page = visit.page
    expect(page.locator(".attn-alone-said")).to_be_empty()
    page.keyboard.press("Escape")
    expect(page.locator(ALONE)).to_have_count(0)
    assert query(page) == {}
    page.get_by_role("button", name="Show alone").click()
    assert query(page) == choice
    visit.assert_clean()


@pytest.mark.by_day(2)
@pytest.mark.parametrize(("stem", "choice"), EACH)
def test_a_point_is_drawn_as_a_short_line(
    stem: str, choice: dict[str, str], open_page: OpenPage
) -> None:
    """Of a line without length WebKit makes a blot, over all that is near."""
    page = open_page(choosing(stem, choice)).page
    expect(page.locator(ALONE)).to_be_visible()
    assert page.evaluate(POINTS) == []


@pytest.mark.parametrize("stem", HANDLES)
@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_dragged_stays_under_the_pointer(
    stem: str, width: int, open_page: OpenPage
) -> None:
    """Large or not, to a pixel or two; not by zoom, under which engines differ in where it is."""
    page = open_page(choosing(stem, FIRST[stem]), width=width).page
    assert page.locator(ALONE).evaluate("e => e.currentCSSZoom") == 1
    handles = page.locator(HANDLES[stem])
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


@pytest.mark.by_day(3)
@pytest.mark.parametrize(("stem", "choice"), EACH)
def test_nonsense_in_the_address_changes_nothing_and_is_told(
    stem: str, choice: dict[str, str], open_page: OpenPage
) -> None:
    """Whatever can be chosen there, each with a sentence, as of what is typed."""
    rest = {*choice} - {"show", "view", "panel", "mode"}
    page = open_page(choosing(stem, {k: x for k, x in choice.items() if k not in rest})).page
    before = page.evaluate(SHOWN)
    visit = open_page(choosing(stem, choice | dict.fromkeys(rest, "§ <b>1</b>")))
    page = visit.page
    said = page.locator(".attn-alone-said")
    told = said.inner_text()
    for name in rest:
        assert re.search(rf"“{name}” in the address changes nothing\. .+?\.", told), name
    assert page.evaluate(SHOWN) == before
    assert page.locator(f"{ALONE} b").count() == 0
    visit.assert_clean()


def test_one_is_back_where_one_was(open_page: OpenPage) -> None:
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


def test_a_state_opens_there_too(open_page: OpenPage) -> None:
    visit = open_page("book/lessons/deep_qkv/deep_qkv.html?bare&show=sorter&seed=3#open-failed")
    page = visit.page
    expect(page.locator(f"{ALONE} .abc-score")).not_to_have_text("27 of 27 sorted")
    page.wait_for_function("!location.hash && location.search.includes('variant=')")
    failed = page.locator(".abc-score").text_content() or ""
    page.reload()
    visit.settle()
    expect(page.locator(f"{ALONE} .abc-score")).to_have_text(failed)


def test_escape_belongs_first_to_what_is_in_the_widget(open_page: OpenPage) -> None:
    """A changed character is put back by it; the next time it leads back to the page."""
    page = open_page(choosing("dialectical", FIRST["dialectical"])).page
    cell = page.get_by_role("button", name=re.compile("at 4: "))
    cell.press("Escape")
    page.wait_for_function("Boolean(location.search.match(/replacement=(&|$)/))")
    expect(page.locator(ALONE)).to_have_count(1)
    page.get_by_label("Your string").press("Escape")
    expect(page.locator(ALONE)).to_have_count(0)


def test_a_page_on_disk_does_it_too(site: Path, open_page: OpenPage) -> None:
    visit = open_page(
        "book/lessons/deep_qkv/deep_qkv.html?show=sorter&text=bca", base=site.as_uri() + "/"
    )
    page = visit.page
    expect(page.locator(f"{ALONE} .abc-output")).to_have_text("abc")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show alone").first.click()
    assert query(page)["text"] == "bca"
    visit.assert_clean()
