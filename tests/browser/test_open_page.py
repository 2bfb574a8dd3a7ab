"""Words that open a state, where a widget, or the words, are late; on a page made for the case.

What they do where all are there is `tests/widgets/scripts.py`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from book.page import bundle

from .conftest import OpenPage, still_read, write_page

FOLDERS = (Path(__file__).parents[1] / "widgets", *bundle.FOLDERS)
MODULE = bundle.javascript("opening", FOLDERS) + "export default { render };"
# Far from one another, and the one above farther from the words than the one below.
BODY = """
<main><h1>A page</h1>{a}<p id="top">Top</p><div style="height: 300rem"></div>
<p>One that <a id="far" href="#open-a">does not</a>.</p><div style="height: 100rem"></div>{b}
<div style="height: 100rem"></div></main>
"""
Show = Callable[..., Page]


def model(name: str, late: int = 0) -> dict[str, Any]:
    state = {"_esm": MODULE, "states": ["both", name], "late": late, "opened": ""}
    return {"model_module": "anywidget", "state": state}


@pytest.fixture
def show(tmp_path: Path, open_page: OpenPage) -> Show:
    """Open the page with two widgets, of which the second or none comes late."""

    def show(address: str = "", late: int = 0) -> Page:
        models = {"a": model("a", late), "b": model("b")}
        write_page(tmp_path, models, BODY)
        return open_page(f"page.html{address}", base=tmp_path.as_uri() + "/").page

    return show


def opened(page: Page) -> list[str]:
    """What has been opened in each widget, one after another."""
    return page.locator(".attn-widget").all_inner_texts()


def at_its_top(page: Page) -> list[str]:
    """The widget that has the focus, if its top is within the upper half of the screen."""
    found: list[str] = page.locator(".attn-widget:focus").evaluate_all(
        """(all) => all.filter((e) => e.getBoundingClientRect().top > -1
          && e.getBoundingClientRect().top <= innerHeight / 2).map((e) => e.textContent)"""
    )
    return found


@pytest.mark.parametrize(
    ("address", "states"),
    [("#open-both", ["both", ""]), ("#open-both-2", ["", "both"]), ("#open-b", ["", "b"])],
)
def test_an_address_opens_the_one_that_it_names(
    address: str, states: list[str], show: Show
) -> None:
    """Whichever is there first; and so does one that is typed, on a page that is there."""
    page = show(address, late=300)
    expect(page.locator(".attn-widget:focus")).to_have_count(1)
    assert opened(page) == states
    assert len(at_its_top(page)) == 1
    page.evaluate("location.hash = '#open-a'")
    assert opened(page) == [states[0] + "a", states[1]]
    expect(page.locator(".attn-widget").first).to_be_focused()


def test_a_widget_that_is_still_to_come_opens_when_it_is_there(show: Show) -> None:
    page = show(late=800)
    page.reload()
    page.locator("#far").press("Enter")
    expect(page.locator("#far")).to_have_attribute("aria-pressed", "true")
    assert opened(page) == ["a", ""]
    expect(page.locator("#far")).to_be_focused()
    expect(page.locator("#far")).to_be_in_viewport()


def test_words_that_are_read_after_their_widget_is_there_are_a_button(
    tmp_path: Path, open_page: OpenPage
) -> None:
    """As on a long page over a slow line: the widget lives while the rest is still to come."""
    body = """<main>{a}<p><a id="early" href="#open-a">one</a></p><script src="slow.js"></script>
<p><a id="late" href="#open-a">another</a></p></main>"""
    with still_read(open_page, tmp_path, {"a": model("a")}, body) as visit:
        expect(visit.page.locator("#early")).to_have_role("button")
    expect(visit.page.locator("#late")).to_have_role("button")
    expect(visit.page.locator("#late")).to_have_attribute("aria-pressed", "false")
