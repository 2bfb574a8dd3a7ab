"""What holds for every widget; the scenes of each stand in its own file, with what it alone has."""

import re

import pytest
from playwright.sync_api import expect

from book.page import bundle

from .conftest import SHOWING, address
from .widget_page import Scene, assert_large_enough, light_and_dark, of_lesson

SCENES: list[tuple[str, Scene]] = [
    (stem, scene) for stem in SHOWING for scene in of_lesson(stem, "SCENES")
]
STEADY = 1.5  # rem: a scroll bar, a line


@pytest.mark.by_day(3)
@pytest.mark.parametrize("where", ["bare", pytest.param("lesson", marks=pytest.mark.long)])
@pytest.mark.parametrize(("stem", "scene"), SCENES, ids=[s.name for _, s in SCENES])
def test_every_state_is_for_everybody(stem, scene, where, open_page, axe):
    """At a desk and on a phone: no wider than the page, always as high, large enough letters.

    And what axe asks for, in both themes: of what is new at a desk, and of the end on a phone.
    """
    visit = open_page(address(scene.page or stem) + f"?bare={scene.picture}" * (where == "bare"))
    page = visit.page
    widget = page.locator(scene.root).first
    expect(widget).to_have_accessible_name(re.compile(r"\w"))
    for width, limit in scene.limits.items():
        page.set_viewport_size({"width": width, "height": 900})
        part = widget.locator(scene.part) if scene.part else widget
        heights, findings = {}, []
        for state, is_new in scene.states(widget):
            heights[state] = part.evaluate("(part) => part.offsetHeight") / 16
            assert page.evaluate("document.documentElement.scrollWidth") <= width, state
            if is_new and width == max(scene.limits):
                findings += light_and_dark(page, axe)
        findings += light_and_dark(page, axe)
        assert not findings, "\n".join(findings)
        assert_large_enough(widget)
        if limit:
            assert max(heights.values()) <= limit, heights
            assert max(heights.values()) - min(heights.values()) <= STEADY, heights
    visit.assert_clean()


@pytest.mark.parametrize("stem", SHOWING)
def test_what_is_hidden_is_not_shown_where_no_sheet_of_the_site_stands_by(browser, stem):
    """As in JupyterLab, whatever display its class asks for."""
    sheet = bundle.style(stem)
    classes = sorted(set(re.findall(r"\.([a-z][\w-]*)", sheet)))
    assert "attn-choice" in classes
    page = browser.new_page()
    page.set_content(
        f"<style>{sheet}</style><div class='attn-widget {stem.replace('_', '-')}'>"
        + "".join(f"<span class='{name}' hidden>{name}</span>" for name in classes)
        + "</div>"
    )
    assert page.locator("span").count() == len(classes)
    assert page.locator("span:visible").all_text_contents() == []
    page.close()
