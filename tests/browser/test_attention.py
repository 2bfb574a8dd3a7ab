"""Attention, seen whole: its pictures against torch, and as a reader uses them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from attn_notes.chapters.attention import evidence, measure, recipe
from attn_notes.models.whole import WholeSorter
from attn_notes.tasks import sorting

from .conftest import HANGS, Visit
from .widget_page import asked, assert_large_enough

CHAPTER = "book/attention.html"
OpenPage = Callable[..., Visit]
STORE = "globalThis[Symbol.for('attn_notes.attention')]"
WORDS = [sorting.decode(ids) for ids in measure.texts()[:, :3].tolist()]


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    page: Page = open_page(CHAPTER).page
    expect(page.get_by_text("27 of 27 words come out right")).to_be_attached()
    return page


def model(mask: str) -> WholeSorter:
    return evidence.model(mask).double()


def machinery(page: Page, name: str, call: str, *given: Any) -> Any:
    """What the page's own program gives for one of its models."""
    question = f"""([name, ...given]) => {{
      const {{ machinery, models }} = {STORE}.now();
      const model = models.find((each) => each.name === name);
      return ({call})(machinery, model, ...given);
    }}"""
    return asked(page, question, [name, *given])


# Against torch


@pytest.mark.parametrize(
    ("name", "mask"), [("with the mask", "mask"), ("without the mask", "no mask")]
)
def test_every_number_is_torchs(page: Page, name: str, mask: str) -> None:
    may_read, sorter = recipe.MASKS[mask].double(), model(mask)
    told = "(_, { weights }) => Object.entries(weights).map(([name, row]) => [name, [...row]])"
    weights = {key: torch.tensor(row) for key, row in machinery(page, name, told)}
    own = {key: weights[key].reshape(old.shape) for key, old in sorter.state_dict().items()}
    if mask == "mask":
        assert all(torch.equal(own[key], old) for key, old in sorter.state_dict().items())
    sorter.load_state_dict(own)  # without it, of this build: the notebook has trained it
    with torch.no_grad():
        whole = sorter.whole(measure.texts(), may_read)
        losses = measure.losses(sorter, may_read)
    call = "(machinery, model, words) => words.map((word) => machinery.whole(model, word))"
    drawn = machinery(page, name, call, WORDS)
    for word, made in enumerate(drawn):
        for field, numbers in made.items():
            if field == "chances":
                right = whole.logits[word].softmax(-1)
            else:
                right = getattr(whole, field)
                right = right if field == "position" else right[word]
            torch.testing.assert_close(
                torch.tensor(numbers, dtype=torch.float64), right, atol=1e-9, rtol=0
            )
    found = machinery(page, name, "(machinery, model) => machinery.surprises(model)")
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), losses, atol=1e-9, rtol=0)
    answers = machinery(page, name, "(machinery, model) => machinery.answers(model)")
    assert answers == [sorting.decode(ids) for ids in measure.written(sorter, may_read).tolist()]


def test_a_push_and_a_turned_query_are_torchs(page: Page) -> None:
    word, by = "bca", [1.5, -2.0, 0.5]
    row = WORDS.index(word)
    call = """(machinery, model, word, by) => [
      [0, 1, 2].map((n) => machinery.write(model, word, { push: { n, at: 2 } }).answer),
      machinery.whole(model, word, { turned: { head: 0, place: 4, by } }).logits,
    ]"""
    pushed, logits = machinery(page, "with the mask", call, word, by)
    mask = recipe.MASKS["mask"].double()
    letters = [measure.written(model("mask"), mask, (n, 0, 2))[row].tolist() for n in range(3)]
    assert pushed == [sorting.decode(ids) for ids in letters]
    turned = torch.zeros(2, 6, 3, dtype=torch.float64)
    turned[0, 4] = torch.tensor(by)
    with torch.no_grad():
        right = model("mask").whole(measure.texts()[row], mask, turned).logits
    torch.testing.assert_close(torch.tensor(logits, dtype=torch.float64), right, atol=1e-9, rtol=0)


def test_what_is_written_if_the_heads_bring_nothing_is_torchs(page: Page) -> None:
    call = "(machinery, model) => machinery.answers(machinery.headless(model))"
    silent = measure.without(model("mask"), "heads")
    written = measure.written(silent, recipe.MASKS["mask"].double())
    answers = machinery(page, "with the mask", call)
    assert answers == [sorting.decode(ids) for ids in written.tolist()]


@pytest.mark.parametrize("word", ["cab", "aab"])
def test_what_would_be_written_on_the_way_is_what_torch_reads_off_the_stream(
    page: Page, word: str
) -> None:
    """The sum so far, brought to one size, times the embeddings."""
    call = "(machinery, model, word) => machinery.onTheWay(model, word)"
    found = machinery(page, "with the mask", call, word)
    sorter = model("mask")
    with torch.no_grad():
        made = sorter.whole(measure.texts()[WORDS.index(word)])
        first = made.mixture[0] @ sorter.block.attention.o.weight[:, :3].T
        for chances, stream in zip(found, (made.row, made.row + first, made.middle), strict=True):
            right = (sorter.norm(stream) @ sorter.token.weight.T).softmax(-1)
            shown = torch.tensor(chances, dtype=torch.float64)
            torch.testing.assert_close(shown, right, atol=1e-9, rtol=0)


def test_what_the_heads_add_is_taken_apart_right(page: Page) -> None:
    """Beside torch's sum, of which the picture shows a part for each head."""
    with torch.no_grad():
        made = model("mask").whole(measure.texts()[WORDS.index("cab")])
        out = model("mask").block.attention.o.weight
    for h, row in ((0, 1), (1, 2)):
        right = made.mixture[h, 4] @ out[:, 3 * h : 3 * h + 3].T
        cells = page.locator(f"[data-picture=stream] [data-at^='{row},'] .whole-digits")
        shown = [float(text.replace("−", "-")) for text in cells.all_text_contents()]
        assert shown == [round(value, 2) for value in right.tolist()]


# As a reader uses it


def test_all_pictures_follow_the_word(page: Page) -> None:
    page.get_by_role("textbox", name="your word").fill("bab")
    for part in ("to write a, the bar", "abb"):
        expect(page.locator("main")).to_contain_text(part, ignore_case=True)
    expect(page.locator(".whole-written")).to_have_text("→ abb")
    signs = page.locator("[data-picture=rows] .whole-token").all_text_contents()
    assert signs[:6] == [*"bab|ab"]


@pytest.mark.parametrize("typed", ["xq7", "<b>", "a c", "ab1"])
def test_what_is_no_word_gets_a_sentence_and_changes_nothing(page: Page, typed: str) -> None:
    box = page.get_by_role("textbox", name="your word")
    box.fill(typed)
    expect(box).to_have_accessible_description("Three letters, each a, b or c.")
    expect(page.locator(".whole-written")).to_have_text("→ abc")
    box.fill("CBA")
    expect(box).not_to_have_attribute("aria-invalid", "true")
    assert page.evaluate(f"{STORE}.state.word") == "cba"


def test_by_keyboard_a_score_is_taken_apart_and_a_query_turned(page: Page) -> None:
    picture = page.locator("[data-picture=scores]")
    picture.locator(".whole-on").focus()
    page.keyboard.press("ArrowRight")
    expect(picture.locator(".whole-readout")).to_contain_text("the bar at place 4 answers")
    page.keyboard.press("ArrowLeft")
    before = picture.locator(".whole-readout").text_content()
    picture.get_by_role("slider", name="number 3 of the query at place 5").focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(picture.locator(".whole-readout")).not_to_have_text(before or "")
    picture.locator(".whole-undo").press("Enter")
    expect(picture.locator(".whole-readout")).to_have_text(before or "")


def test_a_head_made_to_read_a_letter_writes_it(page: Page) -> None:
    picture = page.locator("[data-picture=writing]")
    press = picture.get_by_role(
        "button", name="Press, and head 1 must read the c at place 1 while the second"
    )
    press.press("Enter")
    assert page.evaluate(f"{STORE}.now().writing.answer")[1] == "c"
    picture.get_by_role("button", name="Press once more to let go.").press("Enter")
    assert page.evaluate(f"{STORE}.now().writing.answer") == "abc"


def test_it_trains_without_the_mask_and_with_it(page: Page) -> None:
    race = page.locator(".attn-widget:has(> .whole-race)")
    with_it = race.get_by_role("button", name="Train one with the mask")
    expect(with_it).to_be_hidden()
    race.get_by_role("button", name="Train one without a mask").click()
    expect(race).to_have_attribute("data-training", "done", timeout=2 * HANGS)
    # from the same start it comes to the recorded model: there is one number and not two
    right = measure.right(model("no mask"), recipe.MASKS["no mask"].double())
    assert race.get_attribute("data-score") == f"{right / 27:.3f}"
    expect(page.locator("[data-picture=unmasked]")).to_contain_text(f"{right} of 27 words right")
    call = "(machinery, model) => machinery.whole(model, 'cab').attention"
    shares = torch.tensor(machinery(page, "without the mask", call), dtype=torch.float64)
    with torch.no_grad():
        recorded = model("no mask").whole(
            measure.texts()[WORDS.index("cab")], recipe.MASKS["no mask"].double()
        )
    torch.testing.assert_close(shares, recorded.attention, atol=1e-3, rtol=0)
    assert float(race.get_attribute("data-loss") or "") < sorting.FLOOR - 0.1
    expect(race.get_by_role("status")).to_contain_text("below the floor")
    with_it.click()
    expect(race).to_have_attribute("data-training", "done", timeout=2 * HANGS)
    assert float(race.get_attribute("data-loss") or "") > sorting.FLOOR
    assert race.get_attribute("data-score") == "1.000"
    race.get_by_role("radio", name="without the mask").check()
    triangle = page.locator("[data-picture=triangle]")
    expect(triangle).to_contain_text("nothing is struck out")
    page.get_by_role("button", name="back").click()
    expect(triangle).not_to_contain_text("nothing is struck out")


# For everybody


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_for_everybody(
    open_page: OpenPage, axe: Callable[..., list[str]], width: int, theme: str
) -> None:
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
def test_its_map_is_whole_with_a_note_above_it(height: int, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": height})
    last = page.locator(".whole-map .whole-station").last
    before = last.bounding_box()
    page.evaluate(f"{STORE}.set({{ turned: {{ head: 0, place: 4, by: [0, 0, 4] }} }})")
    expect(page.locator(".whole-using")).to_be_visible()
    assert last.bounding_box() == before, "the note must not push"
    page.evaluate(f"{STORE}.set({{ push: {{ n: 1, at: 0 }} }})")
    at = last.bounding_box()
    assert at and at["y"] + at["height"] <= height


def test_its_map_says_where_one_is(page: Page) -> None:
    page.locator("[data-picture=chances]").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('[data-picture=chances]').scrollIntoView()")
    current = page.locator(".whole-map [aria-current=step]")
    expect(current).to_have_attribute("aria-label", "a letter’s chance")


def test_the_accessibility_tree_tells_the_story(page: Page) -> None:
    told = page.locator("article.bd-article").aria_snapshot()
    for part in (
        "the a at place 2 answers: score 8.6",
        "takes 99.98 % from the a at place 2",
        "The a is what place 4 has to say.",
        "Over all 27 words the mean is 0.3670; the floor is 0.3662",
    ):
        assert part in told, part
