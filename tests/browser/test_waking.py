"""A widget that a notebook has shown before there was a model, and then gives one."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from .conftest import Visit
from .widget_page import FAKE_MODEL, READ_PAGE

# What says which run is shown, and where a widget without one says so.
CHAPTERS: dict[str, tuple[str, dict[str, Any]]] = {
    "deep_qkv": ("variant", {}),
    "triple_product": ("run", {"run": "", "mode": "head"}),
    "dialectical": ("run", {"run": ""}),
    "equilibrium": ("run", {"run": "", "panel": "network"}),
    "trm": ("run", {"run": ""}),
}


@pytest.mark.parametrize("runs_first", [True, False])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_it_wakes_up_whichever_a_message_names_first(
    chapter: str, runs_first: bool, open_page: Callable[..., Visit]
) -> None:
    """ipywidgets sends what changed together in one message, in any order."""
    visit = open_page(f"book/{chapter}.html?bare")
    choice, traits = CHAPTERS[chapter]
    visit.page.evaluate(READ_PAGE)
    visit.page.evaluate(FAKE_MODEL, {"runs": {}, "lessons": {}, "lesson": {}, **traits})
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
