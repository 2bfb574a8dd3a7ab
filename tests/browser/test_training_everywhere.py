"""What holds in every chapter while it trains in the page: access, nonsense, a phone."""

import pytest
from playwright.sync_api import Locator, expect

from .conftest import TRAINING, Visit, address
from .training_page import PATIENCE, TRAINS, told
from .widget_page import light_and_dark

NONSENSE = ("<img src=x onerror=document.title='run'>", "\u202eabc((", "9" * 500, "")

# What runs off the side of the widget, or is under a finger and smaller than a fingertip.
AMISS = """(widget) => {
  const { left, right } = widget.getBoundingClientRect();
  const shown = [...widget.querySelectorAll(".attn-train button, .attn-train select")]
    .filter((part) => part.checkVisibility());
  const faults = shown.filter((part) => {
    const box = part.getBoundingClientRect();
    return box.left < left - 1 || box.right > right + 1 || box.height < 24 || box.width < 24;
  });
  return [shown.length, faults.map((part) => part.textContent)];
}"""


def steps(visit: Visit, widget: Locator, more: int = 2) -> None:
    """Wait until so many further steps are taken, or the training is over."""
    until = int(told(widget)["step"]) + more
    visit.page.wait_for_function(
        """(until) => {
          const { training, step } = document.querySelector('[data-training]').dataset;
          return training === 'done' || Number(step) >= until;
        }""",
        arg=until,
        timeout=PATIENCE,
    )


@pytest.mark.by_day(2)
@pytest.mark.parametrize("stem", TRAINING)
def test_it_can_be_used_by_everybody_while_it_trains_and_nonsense_changes_nothing(
    stem, open_page, axe
):
    visit = open_page(f"{address(stem)}?bare=training", width=390)
    widget = visit.page.locator(TRAINS).first
    widget.get_by_role("button", name="Train", exact=True).click()
    steps(visit, widget)
    assert light_and_dark(visit.page, axe) == []
    buttons, faults = widget.evaluate(AMISS)
    assert buttons >= 3 and faults == []
    for box in widget.locator("input[type=text]").all():
        for text in NONSENSE:
            if box.is_visible():
                box.fill(text)
                box.press("Enter")
    steps(visit, widget)
    assert widget.locator("img").count() == 0
    assert visit.page.title() != "run"
    assert told(widget)["loss"] not in ("", "NaN")
    if told(widget)["training"] == "running":
        widget.get_by_role("button", name="Pause").press("Enter")
        expect(widget).not_to_have_attribute("data-training", "running")
    visit.assert_clean()
