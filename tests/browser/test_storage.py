"""Where a browser keeps nothing: the site goes on, and says what is true.

What fills up while a page is open, and what is said then, is in `tests/widgets/scripts.py`.
"""

import pytest
from playwright.sync_api import Frame, Page, expect

BARRED = """for (const name of ["localStorage", "sessionStorage"]) {
  const get = () => { throw new DOMException("barred", "SecurityError"); };
  Object.defineProperty(window, name, { configurable: true, get });
}"""
NONE = BARRED.replace('throw new DOMException("barred", "SecurityError");', "return null;")
FULL = """Storage.prototype.setItem = () => {
  throw new DOMException("full", "QuotaExceededError");
};"""
WAYS = {"barred": BARRED, "not there": NONE, "full": FULL}
FOR_NOW = "lasts as long as this page is open: this browser keeps nothing of it"


def assert_alive(page: Page | Frame) -> None:
    """Theme and search do what they do, as does the menu of a phone."""
    modes = set()
    for _ in range(3):
        page.get_by_role("button", name="Color mode").click()
        modes.add(page.evaluate("document.documentElement.dataset.mode"))
    assert modes == {"auto", "dark", "light"}
    page.locator(".search-button__button:visible").first.click()
    expect(page.locator("input[type=search]:focus")).to_be_visible()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", ["book/index.html", "book/lessons/trm/trm.html"])
def test_theme_search_and_menu_go_on(path, way, open_page):
    """In a browser that keeps nothing."""
    visit = open_page(path, fresh=True)
    visit.page.add_init_script(WAYS[way])
    visit.page.reload()
    visit.settle()
    assert_alive(visit.page)
    visit.page.keyboard.press("Escape")
    visit.page.set_viewport_size({"width": 390, "height": 800})
    visit.page.locator("button.primary-toggle:visible").first.click()
    menu = visit.page.locator(".bd-sidebar-primary, #pst-primary-sidebar-modal").first
    expect(menu).to_be_visible()
    visit.assert_clean()


def test_they_go_on_in_a_frame_that_may_store_nothing(open_page, server):
    """As a learning platform shows a page."""
    visit = open_page("book/index.html", fresh=True)
    visit.page.evaluate(
        """(src) => {
          const frame = Object.assign(document.createElement("iframe"), { src });
          frame.setAttribute("sandbox", "allow-scripts");
          frame.style = "position: fixed; inset: 0; width: 100%; height: 100%; z-index: 99999";
          document.body.append(frame);
        }""",
        f"{server}book/lessons/trm/trm.html",
    )
    frame = visit.page.locator("iframe").element_handle().content_frame()
    assert frame
    frame.wait_for_url("**/trm.html")
    assert_alive(frame)
    expect(frame.locator(".attn-guesses .attn-note")).to_contain_text(FOR_NOW)
    # Its origin is no host's, so a module is another's, which this host does not lend.
    expect(frame.locator(".attn-cell-place").first).to_contain_text("in a window of its own")
    assert visit.errors == []
