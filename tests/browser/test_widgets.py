"""What holds for every widget; the scenes of each stand in its own file, with what it alone has."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from book.page import bundle

from .conftest import BACKED, CheckPage, OpenPage, address
from .widget_page import (
    FAKE_MODEL,
    READ_PAGE,
    Scene,
    assert_large_enough,
    assert_nothing_left,
    light_and_dark,
)

FILES = {stem: sorted(Path(__file__).parent.glob(f"test_{stem}*.py")) for stem in BACKED}
SCENES: list[tuple[str, Scene]] = [
    (stem, scene)
    for stem in BACKED
    for path in FILES[stem]
    for scene in import_module(f"{__package__}.{path.stem}").SCENES
]
FIRST = dict(reversed(SCENES))
"""A widget's first scene."""
STEADY = 1.5  # rem: a scroll bar, a line
# What the page's own view shows; what it says to a screen reader comes a little later.
# As it is once it no longer changes by itself: a board's solutions are counted a little at a time.
FIRST_VIEW = """async () => {
  const seen = () => {
    const view = document.querySelector('.attn-widget').cloneNode(true);
    for (const spoken of view.querySelectorAll('[aria-live]')) spoken.remove();
    return view.outerHTML;
  };
  let before;
  for (let now = seen(); now !== before; now = seen()) {
    before = now;
    await new Promise((go) => setTimeout(go, 500));
  }
  return before;
}"""


@pytest.mark.by_day(3)
@pytest.mark.parametrize("where", ["bare", pytest.param("lesson", marks=pytest.mark.long)])
@pytest.mark.parametrize(("stem", "scene"), SCENES, ids=[s.name for _, s in SCENES])
def test_every_state_is_for_everybody(
    stem: str, scene: Scene, where: str, open_page: OpenPage, axe: CheckPage
) -> None:
    """At a desk and on a phone: no wider than the page, always as high, large enough letters.

    And what axe asks for, in both themes: of what is new at a desk, and of the end on a phone.
    """
    visit = open_page(address(scene.page or stem) + "?bare" * (where == "bare"))
    page = visit.page
    widget = page.locator(".attn-widget").first
    expect(widget).to_have_accessible_name(re.compile(r"\w"))
    for width, limit in scene.limits.items():
        page.set_viewport_size({"width": width, "height": 900})
        scene.open(widget)
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


@pytest.mark.parametrize("stem", BACKED)
def test_it_wakes_up_whichever_a_message_names_first(stem: str, open_page: OpenPage) -> None:
    """ipywidgets sends what changed together in one message, in any order."""
    page = open_page(f"{address(stem)}?bare").page
    page.evaluate(READ_PAGE)
    choice, traits = FIRST[stem].choice, FIRST[stem].asleep
    for order in ("values", "values.reverse()"):
        page.evaluate(FAKE_MODEL, {"runs": {}, "lessons": {}, "lesson": {}, **traits})
        widget = page.locator("#scratch")
        expect(widget.get_by_text("No model yet")).to_be_visible()
        expect(widget.get_by_label("Model", exact=True)).to_be_hidden()
        page.evaluate(
            f"""(choice) => {{
              const values = [["runs", saved.runs], [choice, Object.keys(saved.runs)[0]]];
              return fake.receive(Object.fromEntries({order}));
            }}""",
            choice,
        )
        expect(widget.get_by_text("No model yet")).to_be_hidden()


@pytest.mark.parametrize("stem", BACKED)
def test_a_name_is_text_and_a_second_view_leaves_nothing_behind(
    stem: str, open_page: OpenPage
) -> None:
    page = open_page(f"{address(stem)}?bare").page
    before = page.evaluate(FIRST_VIEW)
    page.evaluate(READ_PAGE)
    page.evaluate(FAKE_MODEL, FIRST[stem].awake)
    scratch = page.locator("#scratch")
    if FIRST[stem].choice == "run":  # a sorter's variants have their names from us
        name = "<b>bold</b>"
        page.evaluate(
            """(name) => {
              const [run] = Object.values(fake.get('runs'));
              fake.set('run', name);
              return fake.set('runs', { [name]: run });
            }""",
            name,
        )
        expect(scratch.get_by_text(name, exact=True).first).to_be_attached()
    expect(scratch.locator("b")).to_have_count(0)
    (field, *_) = FIRST[stem].fields
    scratch.get_by_label(field.label, exact=True).fill(field.good)
    assert page.evaluate(FIRST_VIEW) == before
    assert_nothing_left(page)


@pytest.mark.parametrize("stem", BACKED)
def test_what_is_hidden_is_not_shown_where_no_sheet_of_the_site_stands_by(
    browser: Browser, stem: str
) -> None:
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
