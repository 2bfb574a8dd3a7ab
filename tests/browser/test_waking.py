"""A widget that a notebook has shown before there was a model, and then gives one."""

from collections.abc import Callable

import pytest
from dependencies import lesson_stems
from playwright.sync_api import expect

from .conftest import ROOT, Visit
from .widget_page import FAKE_MODEL, READ_PAGE

CHOICES = ("run", "variant")  # one of them says which run is shown
# Nothing to show, and the view that says so where a widget has several.
ASLEEP = {"runs": {}, "lessons": {}, "lesson": {}, "run": "", "mode": "head", "panel": "network"}


@pytest.mark.parametrize("runs_first", [True, False])
@pytest.mark.parametrize("chapter", lesson_stems(ROOT))
def test_it_wakes_up_whichever_a_message_names_first(
    chapter: str, runs_first: bool, open_page: Callable[..., Visit]
) -> None:
    """ipywidgets sends what changed together in one message, in any order."""
    visit = open_page(f"book/{chapter}.html?bare")
    visit.page.evaluate(READ_PAGE)
    traits = visit.page.evaluate("Object.keys(saved)")
    (choice,) = {*CHOICES} & {*traits}
    visit.page.evaluate(FAKE_MODEL, {name: ASLEEP[name] for name in ASLEEP.keys() & {*traits}})
    widget = visit.page.locator("#scratch")
    expect(widget.get_by_text("No model yet")).to_be_visible()
    visit.page.evaluate(
        """([choice, runsFirst]) => {
          const values = [["runs", saved.runs], [choice, Object.keys(saved.runs)[0]]];
          return fake.receive(Object.fromEntries(runsFirst ? values : values.reverse()));
        }""",
        [choice, runs_first],
    )
    expect(widget.get_by_text("No model yet")).to_be_hidden()
    visit.assert_clean()
