"""What is a reader's own, on the built pages: in the figures of a lesson, and in a class's file.

What fields, figures and verdicts do is `tests/widgets/scripts.py`.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from book.kit import predictions
from book.kit.predictions import Part

from .conftest import BACKED, TRAINING, OpenPage, address
from .training_page import TRAINS
from .widget_page import READ_PAGE

# A run as a panel keeps it, for figures whose training takes too long to wait for.
ADD = """([lesson, runs]) => runs.forEach((run) => widget.yours(lesson).add({
  name: run.kind, choices: "", taught: true, steps: 1000, met: true, criterion: "do it",
  arrived: 100, said: "It does it.", series: {}, ...run }))"""


def figures(page: Page) -> Locator:
    return page.locator("figure[data-listens]")


def axes(figure: Locator) -> list[dict[str, Any]]:
    """What a figure says of its axes."""
    found: list[dict[str, Any]] = json.loads(figure.get_attribute("data-axes") or "")
    return found


@pytest.fixture(params=BACKED)
def stem(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(stem: str, open_page: OpenPage) -> Iterator[Page]:
    visit = open_page(address(stem))
    visit.page.evaluate(READ_PAGE)
    yield visit.page
    visit.assert_clean()


def guess_something(page: Page) -> dict[str, float]:
    """Fill in every field; what the page keeps of it."""
    for field in page.locator(".attn-guesses [data-guess]").all():
        if field.evaluate("(e) => e.tagName") == "INPUT":
            field.fill("0,7")
            field.press("Tab")
        elif field.get_attribute("role") == "radiogroup":
            field.get_by_role("radio").first.check()
        else:
            field.get_by_role("button").nth(1).click()
            page.get_by_role("button", name="This is my order").click()
    found: dict[str, float] = page.evaluate(
        "(lesson) => widget.yours(lesson).guesses",
        page.locator("[data-listens]").first.get_attribute("data-listens"),
    )
    return found


def test_what_is_still_being_read_is_drawn_into_once_it_is_there(open_page):
    visit = open_page("book/lessons/deep_qkv/deep_qkv.html")
    page = visit.page
    page.evaluate(READ_PAGE)
    page.evaluate(ADD, ["deep_qkv", [{"kind": "plain", "name": "plain", "seed": 1, "series": {}}]])
    begun = page.evaluate(
        """() => {
          document.open();
          delete document[Symbol.for("attn_notes.listening")];
          document.write('<body><main><table data-listens="deep_qkv" data-claims="[null]">');
          widget.listenFor("deep_qkv");
          widget.yours("deep_qkv").guess({ plain: 1 });
          const { yours = "none" } = document.querySelector("table").dataset;
          const begun = [document.readyState, yours];
          document.write("<thead><tr><th>claim</th></tr></thead>");
          document.write("<tbody><tr><td>one</td></tr></tbody></table></main>");
          document.close();
          return begun;
        }"""
    )
    assert begun == ["loading", "none"]
    expect(page.locator("th.attn-mine")).to_have_count(1)
    expect(page.locator("td.attn-mine")).to_have_text("–")
    assert visit.errors == []


# What each name that is drawn for the reader lies on: letters, marks, pieces of lines, other names.
LIES_ON = """(figure) => {
  const drawing = figure.querySelector("svg.attn-drawing");
  const all = [...drawing.querySelectorAll("text, use, path, polyline")];
  const shown = all.filter((e) => !e.closest("defs, clipPath"));
  const rectOf = (e) => {
    const { left, top, right, bottom } = e.getBoundingClientRect();
    return [left + 1.5, top + 1.5, right - 1.5, bottom - 1.5];
  };
  return [...drawing.querySelectorAll(".attn-yours text")].flatMap((name) => {
    const [left, top, right, bottom] = rectOf(name);
    const inside = (x, y) => x > left && x < right && y > top && y < bottom;
    const lies = (e) => {
      if (e === name) return false;
      const band = e.style.fillOpacity && e.style.fillOpacity < 0.5;
      if (e.tagName === "text" || (e.tagName === "use" && !band)) {
        const other = rectOf(e);
        return left < other[2] && other[0] < right && top < other[3] && other[1] < bottom;
      }
      if (e.tagName === "use" || !e.style.stroke || e.style.stroke === "none") return false;
      const at = e.getScreenCTM();
      const length = e.getTotalLength();
      for (let s = 0; s <= length; s += 1.5) {
        const { x, y } = e.getPointAtLength(s).matrixTransform(at);
        if (inside(x, y)) return true;
      }
      return false;
    };
    const called = (e) => `${e.tagName} ${e.textContent}${e.closest("g[id]")?.id}`;
    const { left: from, right: to, top: above, bottom: below } = drawing.getBoundingClientRect();
    const within = left >= from && right <= to && top >= above && bottom <= below;
    const found = shown.filter(lies).map((e) => `${name.textContent} on ${called(e)}`);
    return within ? found : [...found, `${name.textContent} outside`];
  });
}"""
ENDS = """(figure) => [...figure.querySelectorAll("svg.attn-drawing path[clip-path]")]
  .map((path) => path.getAttribute("d").match(/-?[\\d.]+/g).map(Number).slice(-2))"""


def values_along(figure: Locator, of: dict[str, Any], name: str) -> list[float]:
    """Of an axis: its ends, its middle, and some at which something is drawn."""
    low, high = of[name]["from"]
    begin, end = of[name]["to"]
    drawn = [(at["xy".index(name)] - begin) / (end - begin) for at in figure.evaluate(ENDS)]
    shares = [0, 0.5, 1, *[x for x in drawn if 0 <= x <= 1][:3]]
    if of[name]["scale"] == "log":
        return [float(low * (high / low) ** share) for share in shares]
    return [float(low + share * (high - low)) for share in shares]


@pytest.mark.by_day
def test_a_readers_names_lie_on_nothing(stem, page):
    """Of guesses and runs together, at the ends of axes, in the middle, and at what is drawn."""
    for figure in figures(page).all():
        by_axes = axes(figure)
        rows = [
            (of, values_along(figure, of, "x" if of["form"] == "dots" else "y")) for of in by_axes
        ]
        for i in range(max(len(values) for _, values in rows)):
            guesses, runs = {}, []
            for of, values in rows:
                value = values[i % len(values)]
                guesses |= dict.fromkeys(of["guesses"], value)
                begin, *_, end = sorted(of["x"]["from"])
                curve = [[begin, value], [(begin + end) / 2, value], [end, value]]
                runs += [
                    {
                        "kind": kind,
                        "seed": i,
                        "series": {of["series"]: curve},
                        "arrived": end / (2 + i),
                    }
                    for kind in of["runs"]
                ]
            page.evaluate("(lesson) => widget.yours(lesson).forget()", stem)
            page.evaluate("([l, g]) => widget.yours(l).guess(g)", [stem, guesses])
            page.evaluate(ADD, [stem, runs])
            assert figure.locator(".attn-yours text").count() > 0
            assert figure.evaluate(LIES_ON) == [], (figure.get_attribute("class"), guesses)


@pytest.mark.by_day(2)
def test_a_class_reads_what_a_page_saves(stem, page, tmp_path):
    guesses = guess_something(page)
    scored = page.locator(".attn-scored")
    with page.expect_download() as download:
        scored.get_by_role("button", name="Save for the class").click()
    assert download.value.suggested_filename == predictions.file_name(stem)
    download.value.save_as(tmp_path / predictions.file_name(stem))
    found, unread = predictions.collected(tmp_path, stem)
    assert unread == 0
    assert {name: each.guess for name, (each,) in found.items()} == guesses
    sentence = scored.get_by_role("status").text_content() or ""
    share = sum(points_of(each.part, each.guess) for (each,) in found.values()) / len(found)
    of_one_choice = {"As you guessed.": 1.0, "Not as you guessed.": 0.0}
    if sentence in of_one_choice:
        assert len(found) == 1 and of_one_choice[sentence] == (share == 1)
    else:
        assert sentence.startswith(f"{100 * share:.0f} of 100 points")


def points_of(part: Part, guess: float) -> float:
    """From 1, exact or one of several ranks that are right, to 0, off by half the scale or more."""
    right = min(max(guess, part.came - part.either), part.came + part.either)
    return max(0.0, 1 - 2 * abs(part.at(guess) - part.at(right)))


@pytest.mark.parametrize("stem", TRAINING)
def test_see_it_below_is_there_where_there_is_something_to_see(stem, open_page):
    """A figure of this page that draws such runs; it can be pressed as soon as there is one."""
    visit = open_page(address(stem))
    page = visit.page
    page.evaluate(READ_PAGE)
    widget = page.locator(TRAINS).first
    see = widget.get_by_role("button", name="See it in the figure")
    assert not (see.count() and see.is_enabled())
    drawn = [axis for figure in figures(page).all() for axis in axes(figure)]
    runs = [{"kind": kind, "seed": 1} for axis in drawn for kind in axis["runs"]]
    page.evaluate(ADD, [stem, runs])
    see.click()
    mine = page.locator("figure[data-listens][data-yours]:not([data-yours='0'])").first
    if mine.locator("xpath=ancestor::*[@inert]").count():  # to the guess that it would give away
        lift = page.get_by_role("button", name="Guess first, or press to see it")
        expect(page.locator(".attn-guesses").filter(visible=True).first).to_be_in_viewport()
        for each in lift.all():
            each.click()
        see.click()
    expect(mine).to_be_in_viewport()
    widget.get_by_role("button", name="Show alone").click()
    expect(see).to_have_count(0)  # alone, there is nothing below
    visit.assert_clean()


SHORT = [[7, 0.5], [12, 1.5]]


@pytest.mark.by_day
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_used_by_everybody_on_a_phone(theme, stem, open_page, axe):
    visit = open_page(address(stem), width=390, theme=theme)
    visit.page.evaluate(READ_PAGE)
    guess_something(visit.page)
    for figure in figures(visit.page).all():
        runs = [
            {"kind": next(iter(of["runs"])), "seed": 1, "series": {of["series"]: SHORT}}
            for of in axes(figure)
            if of["runs"]
        ]
        visit.page.evaluate(ADD, [stem, runs])
    for part in (".attn-guesses", "figure[data-listens]", "table[data-listens]"):
        assert axe(visit.page, part, every=True) == []
    wide = visit.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    small = visit.page.locator(".attn-guesses button, .attn-yours-said button").evaluate_all(
        "(all) => all.filter((e) => e.offsetHeight && e.offsetHeight < 24).length"
    )
    assert small == 0
