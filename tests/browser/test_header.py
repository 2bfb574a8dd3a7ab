"""What stands above a page's text: its buttons, and the one that takes a search's marks away."""

from playwright.sync_api import expect

PAGE = "book/reference/glossary.html"

# What surrounds each button of the header that is there, while it has the focus.
OUTLINES = """() => [...document.querySelectorAll(".bd-header-article button")]
  .filter((button) => button.checkVisibility())
  .map((button) => {
    button.focus();
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(button);
    return [button.className, outlineStyle, parseFloat(outlineWidth), outlineColor];
  })"""


def test_the_button_that_hides_what_a_search_marked(open_page):
    """It has its icon, for which no font is asked for, and does what it says."""
    visit = open_page(PAGE + "?highlight=loss")
    marked = visit.page.locator(".highlighted")
    expect(marked).not_to_have_count(0)
    hide = visit.page.get_by_role("link", name="Hide Search Matches", exact=True)
    icon = hide.evaluate(
        """(link) => {
          const { content, maskImage, width } = getComputedStyle(link, "::before");
          return [content, maskImage.startsWith("url("), parseFloat(width) >= 12];
        }"""
    )
    assert icon == ['""', True, True]
    hide.click()
    expect(marked).to_have_count(0)
    expect(hide).to_have_count(0)
    visit.assert_clean()


def test_every_button_shows_that_it_has_the_focus(open_page):
    """On a phone and on a desk, in both themes: an outline in another colour than the page."""
    visit = open_page(PAGE)
    page = visit.page
    page.keyboard.press("Tab")  # the keyboard is in use
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
            outlines = page.evaluate(OUTLINES)
            assert len(outlines) >= 2
            paper = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
            for name, style, thickness, colour in outlines:
                seen = style == "solid" and thickness >= 2 and colour != paper
                assert seen, f"{name} at {width}, {theme}"
    visit.assert_clean()
