"""Attention, seen whole: its numbers against torch, and its page for everybody."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, expect

from attn_notes.tasks import sorting
from book.lessons.attention import evidence, figures, measure, recipe
from book.lessons.attention.tests.scripts import page as lesson
from book.lessons.attention.whole import WholeSorter

from ..chromium import HANGS
from .asked import Asked, asking, close
from .conftest import DRAWN, Visit
from .widget_page import assert_large_enough

CHAPTER = "book/lessons/attention/attention.html"
OpenPage = Callable[..., Visit]
STORE = "globalThis[Symbol.for('attn_notes.attention')]"
WORDS = [sorting.decode(ids) for ids in measure.texts()[:, :3].tolist()]

ask = asking("attention", lambda: lesson("stream", "race"))


@pytest.fixture(autouse=True)
def _without_gradients() -> Any:
    with torch.no_grad():
        yield


def model(mask: str = "mask") -> WholeSorter:
    return evidence.model(mask).double()


def machinery(ask: Asked, call: str, *given: Any, mask: str = "mask") -> Any:
    """What the page's own program gives for one of its models."""
    question = f"""(name, ...given) => {{
      const {{ machinery, models }} = {STORE}.now();
      return ({call})(machinery, models.find((each) => each.name === name), ...given);
    }}"""
    return ask(question, figures.NAMES[mask], *given)


@pytest.mark.parametrize("mask", figures.NAMES)
def test_every_number_is_torchs(mask, ask):
    may_read, sorter = recipe.MASKS[mask].double(), model(mask)
    whole = sorter.whole(measure.texts(), may_read)
    call = "(machinery, model, words) => words.map((word) => machinery.whole(model, word))"
    for word, drawn in enumerate(machinery(ask, call, WORDS, mask=mask)):
        chances = drawn.pop("chances")
        close(chances, whole.logits[word].softmax(-1))
        for name, numbers in drawn.items():
            right = getattr(whole, name)
            close(numbers, right if name == "position" else right[word])
    call = "(machinery, model) => [machinery.surprises(model), machinery.answers(model)]"
    losses, answers = machinery(ask, call, mask=mask)
    close(losses, measure.losses(sorter, may_read))
    assert answers == written(sorter, may_read)


def written(sorter: WholeSorter, may_read: torch.Tensor, *pushed: Any) -> list[str]:
    return [sorting.decode(ids) for ids in measure.written(sorter, may_read, *pushed).tolist()]


def test_what_is_tried_on_a_model_is_torchs(ask):
    """A head made to read, a query turned, heads that bring nothing."""
    word, by, mask = "bca", [1.5, -2.0, 0.5], recipe.MASKS["mask"].double()
    row = WORDS.index(word)
    call = """(machinery, model, word, by) => [
      [0, 1, 2].map((n) => machinery.write(model, word, { push: { n, at: 2 } }).answer),
      machinery.whole(model, word, { turned: { head: 0, place: 4, by } }).logits,
      machinery.answers(machinery.headless(model)),
    ]"""
    pushed, logits, silent = machinery(ask, call, word, by)
    assert pushed == [written(model(), mask, (n, 0, 2))[row] for n in range(3)]
    turned = torch.zeros(2, 6, 3, dtype=torch.float64)
    turned[0, 4] = torch.tensor(by)
    close(logits, model().whole(measure.texts()[row], mask, turned).logits)
    assert silent == written(measure.without(model(), "heads"), mask)


def test_what_would_be_written_on_the_way_is_what_torch_reads_off_the_stream(ask):
    """The sum so far, normalised, times the embeddings; the picture has what parts add."""
    sorter = model()
    for word in ("aab", "cab"):  # the picture has the last
        found = machinery(ask, "(machinery, model, word) => machinery.onTheWay(model, word)", word)
        made = sorter.whole(measure.texts()[WORDS.index(word)])
        out = sorter.block.attention.o.weight
        adds = [made.mixture[h] @ out[:, 3 * h : 3 * h + 3].T for h in (0, 1)]
        for chances, stream in zip(found, (made.row, made.row + adds[0], made.middle), strict=True):
            close(chances, (sorter.norm(stream) @ sorter.token.weight.T).softmax(-1))
    for row, right in enumerate((*adds, made.hidden, made.network), 1):
        cells = ask.page.locator(f"[data-picture=stream] [data-at^='{row},'] .whole-digits")
        shown = [float(text.replace("−", "-")) for text in cells.all_text_contents()]
        assert shown == [round(value, 2) for value in right[4].tolist()]


def test_from_the_same_start_it_comes_to_the_recorded_model(ask):
    """There is one number and not two."""
    race = ask.page.locator(".attn-widget:has(> .whole-race)")
    race.get_by_role("button", name="Train one without a mask").click()
    expect(race).to_have_attribute("data-training", "done", timeout=2 * HANGS)
    sorter, may_read = model("no mask"), recipe.MASKS["no mask"].double()
    assert race.get_attribute("data-score") == f"{measure.right(sorter, may_read) / 27:.3f}"
    call = "(machinery, model) => machinery.whole(model, 'cab').attention"
    recorded = sorter.whole(measure.texts()[WORDS.index("cab")], may_read).attention
    close(machinery(ask, call, mask="no mask"), recorded, atol=1e-3)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_for_everybody(open_page, axe, width, theme):
    visit = open_page(CHAPTER, width=width, theme=theme)
    page = visit.page
    expect(page.get_by_text("27 of 27 words come out right")).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for widget in page.locator(".attn-widget.whole").all():
        assert_large_enough(widget)
    findings = axe(page, ".attn-widget.whole")
    assert not findings, "\n".join(findings)
    visit.assert_clean()


@pytest.mark.parametrize("height", [720, 800])
def test_its_map_is_whole_with_a_note_above_it(height, open_page):
    page = open_page(CHAPTER).page
    page.set_viewport_size({"width": 1280, "height": height})
    page.evaluate(DRAWN)
    last = page.locator(".whole-map .whole-station").last
    before = last.bounding_box()
    page.evaluate(f"{STORE}.set({{ turned: {{ head: 0, place: 4, by: [0, 0, 4] }} }})")
    expect(page.locator(".whole-using")).to_be_visible()
    assert last.bounding_box() == before, "the note must not push"
    page.evaluate(f"{STORE}.set({{ push: {{ n: 1, at: 0 }} }})")
    at = last.bounding_box()
    assert at and at["y"] + at["height"] <= height


def use(widget: Locator) -> None:
    widget.get_by_role("textbox").fill("bbc")
