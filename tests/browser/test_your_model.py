"""The widget that asks losses: what test_widgets.py and test_one_screen.py try of it.

Its numbers are torch's, which book/lessons/your_model/tests/test_widget.py holds to `targets`; what
a reader does with it, line by line, is in book/lessons/your_model/tests/scripts.py.
"""

from collections.abc import Iterator

from playwright.sync_api import Locator

from .widget_page import Scene


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    yield "alike", True
    for letter in "qr":
        widget.get_by_role("radio", name=letter, exact=True).last.click()
        yield f"{letter} raised", letter == "r"
    for name in ("Try all 26", "Ask at every place"):
        widget.get_by_role("button", name=name).click()
        yield name, name != "Try all 26"
    widget.get_by_role("radio", name="one shifts").check()
    yield "one shifts", True
    widget.get_by_role("button", name="Begin anew").click()
    yield "begun anew", False


SCENES = [Scene("ask", states, {1280: 26, 390: 44})]
TOGETHER = [[".ask-arcs", ".ask-tiles", ".ask-value", ".ask-verdict", ".ask-keys", ".ask-buttons"]]
