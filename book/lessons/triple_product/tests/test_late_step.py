"""A step of a training that comes late calls nobody back to the model that was trained."""

import pytest
from playwright.sync_api import expect

from book.lessons.triple_product import explorer
from book.lessons.triple_product.tests.scripts import PAGES
from tests.transcripts.played import ADDRESS, page_of

# What is trained comes up to this step at once, and from then on at `late`.
HELD = """(step) => {
  const Own = Worker;
  window.Worker = class extends Own {
    set onmessage(hears) {
      super.onmessage = (event) => {
        if (event.data.step >= step) window.late = () => hears(event);
        else hears(event);
      };
    }
  };
}"""


@pytest.mark.parametrize("step", [1, 2])
def test_who_looks_at_another_model_is_not_called_back(step, browser):
    page = browser.new_page()
    body = page_of(*PAGES["copier"](), own="")
    page.route(f"{ADDRESS}**", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto(ADDRESS)
    page.evaluate(HELD, step)
    page.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_function("!!window.late")
    page.get_by_role("button", name="two-layers").click()
    page.evaluate("late()")
    expect(page.locator(".triple-product")).to_have_attribute("data-training", "paused")
    expect(page.get_by_label("Model")).to_have_value(explorer.NAMES["two layers"])
    expect(page.get_by_label("Text")).to_have_value(explorer.ELSEWHERE)
    page.close()
