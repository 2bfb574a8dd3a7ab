"""The last lesson's page: three figures, and a report to unfold. `test_site.py` asks the rest."""

import pytest
from dependencies import own_stems
from playwright.sync_api import expect

from .conftest import ROOT
from .test_site import OpenPage

(STEM,) = own_stems(ROOT)


@pytest.mark.parametrize("width", [1280, 390])
def test_figures_stand_and_the_report_unfolds(width: int, open_page: OpenPage) -> None:
    visit = open_page(f"book/{STEM}.html", width=width)
    drawings = visit.page.locator("figure.attn-figure svg[role=img]")
    expect(drawings).to_have_count(3)
    for drawing in drawings.all():
        expect(drawing).to_be_visible()
        assert drawing.evaluate("svg => svg.getBoundingClientRect().right <= innerWidth")
        assert len(drawing.get_attribute("aria-label") or "") > 40  # a sentence, not a name
    folded = visit.page.locator("details", has=visit.page.get_by_text("Show the report"))
    report = folded.locator("pre")
    expect(report).to_be_hidden()
    folded.locator("summary").press("Enter")
    expect(report).to_be_visible()
    expect(report).to_contain_text("could not be told")
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    visit.assert_clean()
