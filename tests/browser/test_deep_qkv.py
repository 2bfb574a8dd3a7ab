"""The ABC sorter on its page, against torch and as a reader uses it."""

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Generator, Tensor
from torch.func import stack_module_state

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.widgets.deep_qkv import ABCSorter

from ..packed import parameters
from .conftest import Visit
from .widget_page import (
    FAKE_MODEL,
    Field,
    Scene,
    saved_runs,
    zero_weights,
)

CHAPTER = "book/deep_qkv.html"
OpenPage = Callable[..., Visit]
WORDS = [sorting.decode(ids) for ids in sorting.all_sequences()[:, :3].tolist()]
ALLOWED = "Type three letters, each a, b or c, such as cab."


@pytest.fixture
def widget(module_page: Page) -> Locator:
    """The sorter as the page saved it, its weights in view, on the first gated seed."""
    module_page.evaluate(FAKE_MODEL, {})
    widget = module_page.locator("#scratch")
    open_weights(widget)
    widget.get_by_label("Model", exact=True).select_option("gated")
    widget.get_by_label("Seed", exact=True).select_option("0")
    return widget


def open_weights(widget: Locator) -> None:
    apart = widget.get_by_role("button", name="Take it apart")
    if apart.get_attribute("aria-expanded") == "false":
        apart.click()
    expect(widget.locator(".abc-cell").first).to_be_visible()


@pytest.fixture(scope="module")
def runs(module_page: Page) -> dict[str, Any]:
    """What the page saved of each variant, the weights as bytes."""
    return saved_runs(module_page)


def rebuild(variant: str, run: dict[str, Any], seed: int) -> Sorter:
    """A torch model with the weights that the page holds."""
    model = Sorter(Config(variant), Generator())
    model.load_state_dict(parameters(run, seed))
    return model


@torch.no_grad()
def sort_all(model: Sorter) -> tuple[list[str], Tensor, list[Tensor]]:
    """For all 27 words: the letters, each step's probabilities, each step's attention."""
    x = sorting.all_sequences()[:, :4]
    probabilities, attentions = [], []
    for _ in range(3):
        logits, attention = model.observe(x)
        probabilities.append(sorting.forbid_sep(logits[:, -1]).softmax(-1))
        attentions.append(attention[:, :, -1])
        x = torch.cat([x, probabilities[-1].argmax(-1, keepdim=True)], -1)
    answers = [sorting.decode(ids) for ids in x[:, 4:].tolist()]
    return answers, torch.stack(probabilities, 1), attentions


def score(model: Sorter) -> int:
    answers = sort_all(model)[0]
    return sum(answer == "".join(sorted(word)) for word, answer in zip(WORDS, answers, strict=True))


def shown(widget: Locator) -> dict[str, Any]:
    """What the widget shows of its answer."""
    found: dict[str, Any] = widget.evaluate(
        """(root) => {
          const text = (selector) => [...root.querySelectorAll(selector)].map((e) => e.textContent);
          return {
            answer: text('.abc-output')[0],
            score: parseInt(text('.abc-score')[0]),
            values: text('.abc-value').map(Number),
            steps: text('.abc-step .attn-hidden'),
            words: [...root.querySelectorAll('.abc-word')].map((e) => e.ariaLabel),
            chosen: [...root.querySelectorAll('[aria-checked=true]')].map((e) => e.dataset.word),
          };
        }"""
    )
    return found


# What the picture of each step shows. An arc belongs to the tile that it ends at.
READ_PICTURE = """(root) => [...root.querySelectorAll('.abc-step')].map((step) => {
  const all = (selector) => [...step.querySelectorAll(selector)];
  const middle = (node) => {
    const { x, y, width, height } = node.getBBox();
    return { x: x + width / 2, y: y + height / 2 };
  };
  const tiles = all('.abc-tile');
  const level = middle(tiles[0].querySelector('rect')).y;
  const head = (node) => (middle(node).y < level ? 0 : 1);
  return {
    bars: all('.abc-bar').map((bar) => [
      bar.firstChild.textContent,
      Number(bar.querySelector('.attn-fill').style.transform.match(/^scaleX\\((.+)\\)$/)[1]),
    ]),
    labels: all('.abc-strip > .abc-small').map((label) => [head(label), label.textContent]),
    percents: tiles.map((tile) => [...tile.querySelectorAll('.abc-small')]
      .map((small) => small.textContent)),
    arcs: all('.abc-arc').map((arc) => {
      const end = arc.getPointAtLength(arc.getTotalLength()).x;
      const far = tiles.map((tile) => Math.abs(middle(tile.querySelector('rect')).x - end));
      return [head(arc), far.indexOf(Math.min(...far)),
        Number(arc.getAttribute('stroke-width')), Number(arc.getAttribute('opacity'))];
    }),
  };
})"""


# Against torch ---------------------------------------------------------------------------------


def test_the_chapter_shows_every_variant_over_sixteen_seeds(runs: dict[str, Any]) -> None:
    assert {"gated", "strict", "plain", "plain_third"} <= set(runs)
    assert all(run["seeds"] >= 16 for run in runs.values())


# Every step of every word, for each seed of a run, from `window.saved`.
SORT_ALL = """async (run) => {
  const { machine, sortAll, unpack } = window.widget;
  const ready = await machine(run);
  const seeds = Array.from({ length: run.seeds }, (_, seed) => sortAll(ready, unpack(run, seed)));
  return JSON.stringify(seeds); // read much faster than as many values one by one
}"""


DOUBLE: dict[str, Any] = {"dtype": torch.float64}


def assert_agrees(words: list[list[dict[str, Any]]], model: Sorter) -> None:
    """What the page computed for all 27 words is what torch computes, in double precision."""
    letters, probabilities, attentions = sort_all(model.double())
    assert [sorting.decode([step["choice"] for step in steps]) for steps in words] == letters
    p = torch.tensor([[step["probabilities"] for step in steps] for steps in words], **DOUBLE)
    torch.testing.assert_close(p, probabilities, atol=1e-9, rtol=0)
    assert p[..., sorting.SEP].eq(0).all()
    for i, expected in enumerate(attentions):
        a = torch.tensor([steps[i]["attention"] for steps in words], **DOUBLE)
        torch.testing.assert_close(a, expected, atol=1e-9, rtol=0)


def test_javascript_and_torch_agree_on_everything(module_page: Page, runs: dict[str, Any]) -> None:
    for variant, run in runs.items():
        traces = json.loads(
            module_page.evaluate(f"(name) => ({SORT_ALL})(saved.runs[name])", variant)
        )
        assert len(traces) == run["seeds"]
        for seed, words in enumerate(traces):
            assert_agrees(words, rebuild(variant, run, seed))


def test_what_is_shown_is_what_torch_says(widget: Locator, runs: dict[str, Any]) -> None:
    for variant, run in runs.items():
        widget.get_by_label("Model", exact=True).select_option(variant)
        for seed in (0, run["seeds"] - 1):
            widget.get_by_label("Seed", exact=True).select_option(str(seed))
            letters, probabilities, _ = sort_all(rebuild(variant, run, seed))
            for i in range(0, 27, 5):
                widget.get_by_label("Type three letters").fill(WORDS[i])
                page = shown(widget)
                assert page["answer"] == letters[i]
                assert page["chosen"] == [WORDS[i]]
                values = torch.tensor(page["values"], dtype=torch.float32).view(3, 3)
                torch.testing.assert_close(values, probabilities[i, :, 1:], atol=6e-4, rtol=0)
            verdicts = [
                answer == "".join(sorted(word)) for word, answer in zip(WORDS, letters, strict=True)
            ]
            assert page["words"] == [
                f"{word}, {'right' if right else 'wrong'}: writes {answer}"
                for word, answer, right in zip(WORDS, letters, verdicts, strict=True)
            ]


def test_seeds_that_failed_are_marked(widget: Locator, runs: dict[str, Any]) -> None:
    for variant, run in runs.items():
        widget.get_by_label("Model", exact=True).select_option(variant)
        options = widget.get_by_label("Seed", exact=True).locator("option").all_text_contents()
        scores = [score(rebuild(variant, run, seed)) for seed in range(run["seeds"])]
        assert options == [
            f"{seed}" if right == 27 else f"{seed} (✗ {right} of 27)"
            for seed, right in enumerate(scores)
        ]


# Every weight ----------------------------------------------------------------------------------


def test_zeroing_changes_the_score_as_torch_says(widget: Locator, runs: dict[str, Any]) -> None:
    choice = random.Random(0)
    changes = 0
    counter = widget.locator(".abc-score")
    for variant, run in runs.items():
        widget.get_by_label("Model", exact=True).select_option(variant)
        model = rebuild(variant, run, 0)
        parameters = dict(model.named_parameters())
        scores = [score(model)]
        for _ in range(8):
            name = choice.choice(run["names"])
            index = choice.randrange(parameters[name].numel())
            cell = widget.locator(f'[data-name="{name}"][data-index="{index}"]')
            if "zeroed" in (cell.get_attribute("class") or ""):
                continue
            cell.click()
            with torch.no_grad():
                parameters[name].view(-1)[index] = 0
            scores.append(score(model))
            expect(counter).to_have_text(f"{scores[-1]} of 27 sorted")
            expect(cell).to_have_accessible_name(re.compile(r": 0, was −?\d+\.\d\d$"))
        changes += len(set(scores)) - 1
        for button, path in (("Undo", scores[-2::-1]), ("Redo", scores[1:])):
            for expected in path:
                widget.get_by_role("button", name=button).click()
                expect(counter).to_have_text(f"{expected} of 27 sorted")
            expect(widget.get_by_role("button", name=button)).to_be_disabled()
        widget.get_by_role("button", name="Restore every weight").click()
        expect(counter).to_have_text(f"{scores[0]} of 27 sorted")
        expect(widget.locator(".abc-zeroed")).to_have_count(0)
        widget.get_by_role("button", name="Undo").click()
        expect(counter).to_have_text(f"{scores[-1]} of 27 sorted")
    assert changes  # else the cells drawn above would tell nothing


CENT = Decimal("0.01")  # a page rounds 0.625 up, and Python to the even digit


def test_every_weight_is_there_once(widget: Locator, runs: dict[str, Any]) -> None:
    for variant, run in runs.items():
        widget.get_by_label("Model", exact=True).select_option(variant)
        cells = widget.locator(".abc-cell").evaluate_all(
            "cells => cells.map((e) => [e.dataset.name, +e.dataset.index, e.ariaLabel])"
        )
        expected = {
            (name, i): str(Decimal(weight).quantize(CENT, ROUND_HALF_UP)).replace("-", "−")
            for name, p in rebuild(variant, run, 0).named_parameters()
            for i, weight in enumerate(p.flatten().tolist())
        }
        assert len(cells) == len(expected)
        for name, index, label in cells:
            assert label.endswith(f": {expected[name, index]}"), (name, index)


def test_a_click_says_what_it_did_and_a_second_one_takes_it_back(
    widget: Locator, runs: dict[str, Any]
) -> None:
    name = "block.attention.q.base"
    model = rebuild("gated", runs["gated"], 0)
    weight = dict(model.named_parameters())[name]
    value = f"{weight[1, 2, 1].item():.2f}".replace("-", "−")
    before = score(model)
    with torch.no_grad():
        weight[1, 2, 1] = 0
    after = score(model)
    where = "query base, head 2, row 3, column 2"
    effect = "Score stays {0}." if before == after else "Score {0} → {1}."
    cell = widget.locator(f'[data-name="{name}"][data-index="{(1 * 6 + 2) * 3 + 1}"]')
    status = widget.locator(".abc-status")
    cell.click()
    expect(status).to_have_text(f"{where}: {value} → 0. {effect.format(before, after)}")
    expect(cell).to_have_class(re.compile("abc-zeroed"))
    cell.click()
    expect(status).to_have_text(f"{where}: 0 → {value}. {effect.format(after, before)}")
    expect(cell).not_to_have_class(re.compile("abc-zeroed"))


def test_a_whole_matrix_is_zeroed_and_restored(widget: Locator, runs: dict[str, Any]) -> None:
    model = rebuild("gated", runs["gated"], 0)
    before = score(model)
    with torch.no_grad():
        model.get_parameter("block.attention.v.base")[0] = 0
    widget.get_by_role("button", name="zero all: value base, head 1").click()
    expect(widget.locator(".abc-score")).to_have_text(f"{score(model)} of 27 sorted")
    expect(widget.locator(".abc-zeroed")).to_have_count(18)
    expect(widget.locator(".abc-status")).to_contain_text("value base, head 1, all 18 weights → 0")
    widget.get_by_role("button", name="restore all: value base, head 1").click()
    expect(widget.locator(".abc-score")).to_have_text(f"{before} of 27 sorted")


def test_each_model_keeps_the_text_and_its_own_edits(widget: Locator) -> None:
    box = widget.get_by_label("Type three letters")
    model, seed = (widget.get_by_label(name, exact=True) for name in ("Model", "Seed"))
    note, zeroed = widget.locator(".abc-switch"), widget.locator(".abc-zeroed")
    undo, redo = (widget.get_by_role("button", name=name) for name in ("Undo", "Redo"))
    box.fill("bca")
    for i in (0, 7, 9):
        widget.locator(".abc-cell").nth(i).click()
    undo.click()
    edited = shown(widget)
    model.select_option("strict")
    expect(note).to_have_text(re.compile(r"^strict, seed 0: \d+ of 27 sorted, no weights zeroed$"))
    expect(box).to_have_value("bca")
    expect(zeroed).to_have_count(0)
    expect(undo).to_be_disabled()
    expect(redo).to_be_disabled()
    assert shown(widget)["chosen"] == ["bca"]
    widget.locator(".abc-cell").nth(3).click()
    expect(note).to_have_text("")  # what it said was of the model before the click
    seed.select_option("1")
    expect(note).to_contain_text("strict, seed 1: ")
    expect(zeroed).to_have_count(0)
    seed.select_option("0")
    expect(note).to_contain_text(", 1 weight zeroed")
    expect(zeroed).to_have_count(1)
    model.select_option("gated")
    expect(note).to_contain_text(f"gated, seed 0: {edited['score']} of 27 sorted, 2 weights zeroed")
    assert shown(widget) == edited
    for button, left in ((redo, 3), (undo, 2), (undo, 1), (undo, 0)):
        button.click()
        expect(zeroed).to_have_count(left)
    expect(undo).to_be_disabled()


def test_the_scale_says_that_it_ends_before_the_largest_weights(
    widget: Locator, runs: dict[str, Any]
) -> None:
    legend = widget.locator(".abc-legend").text_content() or ""
    found = re.fullmatch(r"≤ −(\d\.\d\d)≥ (\d\.\d\d)", legend)
    assert found, legend
    assert found[1] == found[2]
    weights = torch.cat([p.flatten() for p in rebuild("gated", runs["gated"], 0).parameters()])
    assert weights.abs().max() > float(found[1])


def test_colours_are_of_the_model_shown(widget: Locator) -> None:
    """Also in cells whose weight reads the same in two models with different scales."""
    colours = """(root) => [...root.querySelectorAll('.abc-cell')]
        .map((cell) => getComputedStyle(cell).backgroundColor)"""
    seed = widget.get_by_label("Seed", exact=True)
    legend = widget.locator(".abc-legend")
    scales = set()
    for i in range(6):
        seed.select_option(str(i))
        scales.add(legend.text_content())
        drawn = widget.evaluate(colours)
        widget.get_by_label("Model", exact=True).select_option("strict")
        widget.get_by_label("Model", exact=True).select_option("gated")  # all cells drawn anew
        assert widget.evaluate(colours) == drawn
    assert len(scales) > 1  # else this would tell nothing


# What is typed ---------------------------------------------------------------------------------


WRONG = [  # of nothing at all: test_a_word_that_is_not_finished_is_not_wrong
    "xyz",
    "cabc",
    "a b c",
    "cax",
    "x",
    "abc" * 100,
    "<b>abc</b>",
    '<img src=x onerror="alert(1)">',
    "<script>alert(1)</script>",
    "🙂🙂🙂",
    "абс",  # Cyrillic
]


def test_a_word_that_is_not_finished_is_not_wrong(widget: Locator) -> None:
    box, message = widget.get_by_label("Type three letters"), widget.locator(".abc-message")
    box.fill("bca")
    before = shown(widget)
    for typed, sentence in (
        ("", ALLOWED),
        ("C", "Two more letters."),
        ("b", "Two more letters."),
        ("cA", "One more letter."),
        (" ca ", "One more letter."),
    ):
        box.fill("xyz")
        expect(message).to_have_class(re.compile("abc-wrong"))
        box.fill(typed)
        expect(message).to_have_text(sentence)
        expect(message).not_to_have_class(re.compile("abc-wrong"))
        expect(box).not_to_have_attribute("aria-invalid", "true")
        assert shown(widget) == before


def test_an_answer_to_another_word_says_so(widget: Locator) -> None:
    box, field = widget.get_by_label("Type three letters"), widget.locator(".attn-field").last
    heading, tile = field.locator(".attn-label"), field.locator(".abc-output span").first
    colour = "(tile) => getComputedStyle(tile).backgroundColor"
    for correct in (  # back to the same word, and on to another
        lambda: box.fill("cab"),
        lambda: widget.get_by_role("radio", name=re.compile("^cab")).click(),
        lambda: widget.get_by_role("button", name="Next word").click(),
    ):
        box.fill("cab")
        expect(heading).to_have_text("The model writes")
        filled = tile.evaluate(colour)
        for typed in ("xyz", "ca"):
            box.fill(typed)
            expect(heading).to_have_text("Still showing cab")
            assert tile.evaluate(colour) != filled
        correct()
        expect(heading).to_have_text("The model writes")
        assert tile.evaluate(colour) == filled


def test_no_verdict_stands_beside_what_is_refused(widget: Locator) -> None:
    """The verdict on the word before goes, for eyes and ears, and comes back with a word."""
    box, verdict = widget.get_by_label("Type three letters"), widget.locator(".abc-verdict")
    spoken = widget.locator("[aria-live=polite]")
    right = "cab: the model writes abc, right."
    box.fill("cab")
    expect(spoken).to_have_text(right)
    place = verdict.bounding_box()
    for typed in ("xyz", "", "ca", "cabc"):
        box.fill(typed)
        expect(verdict).not_to_be_visible()
        expect(spoken).to_have_text("Still showing cab.")
        # another model's answer to the earlier word is no verdict on what is typed either
        widget.get_by_label("Seed", exact=True).select_option("1")
        expect(verdict).not_to_be_visible()
        expect(spoken).to_have_text("Still showing cab.")
        expect(widget.locator(".abc-steps")).to_have_accessible_name("The three steps for cab")
        widget.get_by_label("Seed", exact=True).select_option("0")
        box.fill("cab")
        expect(verdict).to_be_visible()
        expect(verdict).to_have_text("✓ in order")
        expect(spoken).to_have_text(right)
        assert verdict.bounding_box() == place


def test_what_was_said_of_the_input_outlives_a_switch(widget: Locator) -> None:
    box, message = widget.get_by_label("Type three letters"), widget.locator(".abc-message")
    heading = widget.locator(".attn-field .attn-label")
    box.fill("cab")
    for typed, sentence in (("xyz", ALLOWED), ("bb", "One more letter."), ("bca", "")):
        box.fill(typed)
        for label, option in (("Model", "plain"), ("Seed", "1"), ("Model", "gated"), ("Seed", "0")):
            widget.get_by_label(label, exact=True).select_option(option)
            expect(message).to_have_text(sentence)
            expect(box).to_have_value(typed)
            expect(heading).to_have_text("Still showing cab" if sentence else "The model writes")


def test_focus_selects_the_word_and_typing_replaces_it(module_page: Page, widget: Locator) -> None:
    box = widget.get_by_label("Type three letters")
    keyboard = module_page.keyboard
    selected = "(box) => box.value.slice(box.selectionStart, box.selectionEnd)"

    def by_hand() -> None:
        place = box.bounding_box()
        assert place
        module_page.mouse.move(place["x"] + 30, place["y"] + 20)
        module_page.mouse.down()
        module_page.mouse.move(place["x"] + 50, place["y"] + 22)  # a hand does not hold still
        module_page.mouse.up()

    def by_tab() -> None:
        widget.get_by_role("button", name="Previous word").focus()
        keyboard.press("Shift+Tab")

    def by_label() -> None:
        widget.get_by_text("Type three letters", exact=True).click()

    for focus in (by_hand, by_tab, by_label):
        box.fill("cab")
        box.blur()
        focus()
        assert box.evaluate(selected) == "cab"
        keyboard.type("bba")
        expect(box).to_have_value("bba")
    box.click(position={"x": 30, "y": 20})  # once it has the focus, a click only moves the caret
    assert box.evaluate(selected) == ""


def test_capital_letters_and_spaces_around_are_forgiven(widget: Locator) -> None:
    box = widget.get_by_label("Type three letters")
    for typed in ("CAB", " cab ", "cAb\t"):
        box.fill("bbb")
        box.fill(typed)
        expect(widget.locator(".abc-message")).to_have_text("")
        assert shown(widget)["chosen"] == ["cab"]


# Keyboard, screen reader, phone, dark ------------------------------------------------------------


def focused(page: Page) -> Any:
    return page.evaluate("document.activeElement.ariaLabel")


def test_weights_from_the_keyboard(module_page: Page, widget: Locator) -> None:
    keyboard = module_page.keyboard
    widget.get_by_label("Seed", exact=True).focus()
    keyboard.press("Tab")
    assert focused(module_page).startswith("token |, column 1: ")
    keyboard.press("ArrowUp")
    assert focused(module_page).startswith("token |, column 1: ")
    keyboard.press("ArrowRight")
    keyboard.press("ArrowDown")
    assert focused(module_page).startswith("token a, column 2: ")
    keyboard.press("Enter")
    assert focused(module_page).startswith("token a, column 2: 0, was")
    expect(widget.locator(".abc-status")).to_contain_text("token embedding, token a, column 2: ")
    keyboard.press("Space")
    expect(widget.locator(".abc-zeroed")).to_have_count(0)
    keyboard.press("Shift+Enter")
    expect(widget.locator(".abc-zeroed")).to_have_count(24)
    keyboard.press("PageDown")
    assert focused(module_page).startswith("position 1, column 1: ")
    keyboard.press("End")
    assert focused(module_page).startswith("position 1, column 6: ")
    keyboard.press("Shift+Tab")  # one tab stop for all the weights: before it come the buttons
    assert focused(module_page) == "Restore every weight"
    keyboard.press("Enter")
    expect(widget.locator(".abc-zeroed")).to_have_count(0)


def test_undo_and_redo_from_the_keyboard(module_page: Page, widget: Locator) -> None:
    keyboard = module_page.keyboard
    zeroed, status = widget.locator(".abc-zeroed"), widget.locator(".abc-status")
    box = widget.get_by_label("Type three letters")
    box.fill("bca")
    for i in (0, 1):
        widget.locator(".abc-cell").nth(i).click()
    for modifier in ("Control", "Meta"):
        for keys, left in (("z", 1), ("z", 0), ("z", 0), ("Shift+z", 1), ("Shift+z", 2)):
            keyboard.press(f"{modifier}+{keys}")
            expect(zeroed).to_have_count(left)
            assert focused(module_page).startswith("token |, column 2: ")
        expect(status).to_contain_text("Redone: token embedding, token |, column 2: ")
    keyboard.press("z")
    expect(zeroed).to_have_count(2)
    expect(box).to_have_value("bca")


def test_words_from_the_keyboard(module_page: Page, widget: Locator) -> None:
    widget.get_by_label("Type three letters").fill("bbb")
    current = widget.get_by_role("radio", name=re.compile("^bbb"))
    current.focus()
    for key, word in (("ArrowRight", "bbc"), ("ArrowUp", "abc"), ("Home", "aaa"), ("End", "ccc")):
        module_page.keyboard.press(key)
        assert shown(widget)["chosen"] == [word]
        assert focused(module_page).startswith(word)
        expect(widget.get_by_label("Type three letters")).to_have_value(word)


def test_quick_buttons(widget: Locator) -> None:
    box = widget.get_by_label("Type three letters")
    box.fill("ccc")
    widget.get_by_role("button", name="Next word").click()
    expect(box).to_have_value("aaa")
    widget.get_by_role("button", name="Previous word").click()
    expect(box).to_have_value("ccc")
    widget.get_by_role("button", name="A random word").click()
    expect(box).not_to_have_value("ccc")
    assert shown(widget)["chosen"][0] in WORDS
    widget.get_by_role("radio", name=re.compile("^acb")).click()
    expect(box).to_have_value("acb")


def test_each_step_is_told_in_words(widget: Locator, runs: dict[str, Any]) -> None:
    widget.get_by_label("Type three letters").fill("cab")
    steps = rebuild("gated", runs["gated"], 0).trace("cab")
    for i, (step, told) in enumerate(zip(steps, shown(widget)["steps"], strict=True)):
        assert told.startswith(f"Step {i + 1} writes {sorting.VOCABULARY[step.choice]}, ")
        weights = [int(weight) for weight in re.findall(r"(\d+)% at", told)]
        torch.testing.assert_close(
            torch.tensor(weights, dtype=torch.float32),
            100 * step.attention.flatten(),
            atol=0.51,
            rtol=0,
        )
    expect(widget.locator("[aria-live]")).to_contain_text("cab: the model writes ")
    for head in (1, 2):
        expect(widget.get_by_text(f"head {head}, %", exact=True)).to_have_count(len(steps))


def test_each_step_is_drawn_as_torch_says(widget: Locator, runs: dict[str, Any]) -> None:
    """Head 1 above the tiles, head 2 below: arcs at the tiles that they read, and the shares."""
    steps = rebuild("gated", runs["gated"], 0).trace("cab")
    widget.get_by_label("Type three letters").fill("cab")
    for step, drawn in zip(steps, widget.evaluate(READ_PICTURE), strict=True):
        attention, length = step.attention, len(step.context)
        assert (attention[0] - attention[1]).abs().max() > 0.1  # else a swap might not show
        assert drawn["labels"] == [[0, "head 1, %"], [1, "head 2, %"]]
        letters, widths = zip(*drawn["bars"], strict=True)
        assert letters == tuple("abc")
        torch.testing.assert_close(torch.tensor(widths), step.probabilities[1:], atol=1e-4, rtol=0)
        percents = torch.tensor([[float(p) for p in pair] for pair in drawn["percents"][:length]])
        torch.testing.assert_close(percents.T, 100 * attention, atol=0.51, rtol=0)
        arcs = sorted(drawn["arcs"])
        assert [arc[:2] for arc in arcs] == [[head, t] for head in (0, 1) for t in range(length)]
        thickness, opacity = torch.tensor([arc[2:] for arc in arcs]).T
        weights = attention.flatten()
        torch.testing.assert_close(thickness, 0.4 + 5.6 * weights, atol=0.006, rtol=0)
        torch.testing.assert_close(opacity, 0.12 + 0.88 * weights, atol=0.001, rtol=0)


def assert_beside_their_labels(widget: Locator) -> None:
    """Fail if a select stands anywhere else."""
    for label in ("Model", "Seed"):
        text = widget.get_by_text(label, exact=True).bounding_box()
        select = widget.get_by_label(label, exact=True).bounding_box()
        assert text and select
        assert text["x"] + text["width"] <= select["x"]
        assert select["y"] <= text["y"] + text["height"] / 2 <= select["y"] + select["height"]


# What is folded away, and the seed that failed ---------------------------------------------------


def weights_of(run: dict[str, Any]) -> int:
    return sum(math.prod(shape) for shape in run["shapes"])


def test_weights_and_seeds_stand_folded_until_they_are_asked_for(
    visit: Visit, runs: dict[str, Any]
) -> None:
    widget, keyboard = visit.page.locator(".abc-sorter").first, visit.page.keyboard
    expect(widget.get_by_label("Type three letters")).to_be_visible()
    expect(widget.locator(".abc-step")).to_have_count(3)
    expect(widget.locator(".abc-score")).to_contain_text(" of 27 sorted")
    apart = widget.get_by_role("button", name="Take it apart")
    inside = [widget.get_by_label(name, exact=True) for name in ("Model", "Seed")]
    for opened in (False, True, False):
        expect(apart).to_have_attribute("aria-expanded", "true" if opened else "false")
        for field in (*inside, widget.locator(".abc-heat"), widget.locator(".abc-tools")):
            expect(field).to_be_visible(visible=opened)
        apart.focus()
        keyboard.press("Space" if opened else "Enter")
    region = apart.get_attribute("aria-controls")
    expect(widget.locator(f"#{region} .abc-heat")).to_be_visible()
    for variant, run in runs.items():
        inside[0].select_option(variant)
        expect(apart).to_have_text(f"Take it apart: {weights_of(run)} weights")
    visit.page.reload()  # nothing is remembered
    visit.settle()
    expect(widget.get_by_role("button", name="Take it apart")).to_have_attribute(
        "aria-expanded", "false"
    )


def scores(run: dict[str, Any], variant: str) -> list[int]:
    return [score(rebuild(variant, run, seed)) for seed in range(run["seeds"])]


def one_of(page: Page, variant: str, seeds: list[int], **traits: Any) -> Locator:
    """One more sorter, which has these seeds of one variant of the page, and nothing else."""
    page.evaluate(FAKE_MODEL, {**ASLEEP, "variant": variant, **traits})
    page.evaluate(
        """([variant, seeds]) => {
          const run = saved.runs[variant];
          const all = seeds.map((seed) => widget.unpack(run, seed));
          const numbers = run.names.flatMap((name) => all.flatMap((one) => [...one[name]]));
          const weights = new DataView(new Float32Array(numbers).buffer);
          return fake.set('runs', { [variant]: { ...run, seeds: seeds.length, weights } });
        }""",
        [variant, seeds],
    )
    return page.locator("#scratch")


def good_and_failed(runs: dict[str, Any]) -> tuple[str, int, int]:
    """A variant of the page with a seed that sorts everything and one that does not."""
    for variant, run in runs.items():
        found = scores(run, variant)
        if 27 in found and min(found) < 27:
            return variant, found.index(27), found.index(min(found))
    pytest.fail("no variant of the page has both: no reader can see a seed that failed")


SHOW_FAILED, SHOW_GOOD = "Show a seed that failed", "Show a seed that sorts all 27"


def test_a_seed_that_failed_is_one_button_away_and_back(
    module_page: Page, runs: dict[str, Any]
) -> None:
    variant, good, failed = good_and_failed(runs)
    put = one_of(module_page, variant, [good, good, failed, good], seed=1)
    right = score(rebuild(variant, runs[variant], failed))
    expect(put.locator(".abc-score")).to_have_text("27 of 27 sorted")
    put.get_by_role("button", name=SHOW_FAILED).click()
    expect(put.locator(".abc-score")).to_have_text(f"{right} of 27 sorted")
    expect(put.locator(".abc-switch")).to_contain_text(f"seed 2: {right} of 27 sorted")
    expect(put.locator(".abc-switch")).to_have_attribute("role", "status")
    assert module_page.evaluate("fake.get('seed')") == 2
    put.get_by_role("button", name=SHOW_GOOD).click()
    expect(put.locator(".abc-score")).to_have_text("27 of 27 sorted")
    assert module_page.evaluate("fake.get('seed')") == 1  # where the reader came from


def test_no_seed_is_said_to_have_failed_where_none_has(
    module_page: Page, runs: dict[str, Any]
) -> None:
    """Nor where none sorts everything: they may be untrained."""
    variant, good, failed = good_and_failed(runs)
    for seeds, seed, name in (
        ([good, good], 0, None),
        ([failed, failed], 0, None),
        ([good, failed], 0, SHOW_FAILED),
        ([good, failed], 1, SHOW_GOOD),
    ):
        put = one_of(module_page, variant, seeds, seed=seed)
        for each in (SHOW_FAILED, SHOW_GOOD):
            expect(put.get_by_role("button", name=each)).to_be_visible(visible=each == name)


def test_what_is_loaded_is_shown_whatever_was_asked_for(
    module_page: Page, runs: dict[str, Any]
) -> None:
    variant, good, failed = good_and_failed(runs)
    put = one_of(module_page, variant, [good, failed])
    other = next(name for name in runs if name != variant)
    module_page.evaluate("(other) => fake.set('variant', other)", other)
    # What is asked for is not loaded, so what is loaded is shown.
    expect(put.locator(".abc-score")).to_have_text("27 of 27 sorted")
    put.get_by_role("button", name=SHOW_FAILED).click()
    expect(put.locator(".abc-score")).not_to_have_text("27 of 27 sorted")
    assert module_page.evaluate("[fake.get('variant'), fake.get('seed')]") == [variant, 1]


@pytest.fixture(scope="module")
def without_positions() -> tuple[dict[str, Any], Sorter]:
    """A run as the package sends it, of a sorter without a position table, and the sorter."""
    config = Config(positions=False)
    model = Sorter(config, Generator().manual_seed(0))
    sorter = ABCSorter()
    sorter.load("gated", stack_module_state([model])[0], config)
    run = dict(sorter.runs["gated"])
    run["weights"] = list(run["weights"])
    return run, model


GIVE_RUN = "(run) => ({ ...run, weights: new DataView(Uint8Array.from(run.weights).buffer) })"


def test_without_a_position_table_positions_count_as_nothing(
    module_page: Page, without_positions: tuple[dict[str, Any], Sorter]
) -> None:
    run, model = without_positions
    (words,) = json.loads(module_page.evaluate(f"(run) => ({SORT_ALL})(({GIVE_RUN})(run))", run))
    assert_agrees(words, model)


def test_a_model_without_a_position_table_is_shown(
    module_page: Page, without_positions: tuple[dict[str, Any], Sorter]
) -> None:
    run, model = without_positions
    module_page.evaluate(FAKE_MODEL, ASLEEP)
    module_page.evaluate(f"(run) => fake.set('runs', {{ gated: ({GIVE_RUN})(run) }})", run)
    put = module_page.locator("#scratch")
    open_weights(put)
    left = sum(p.numel() for p in model.parameters())
    expect(put.locator(".abc-cell")).to_have_count(left)
    expect(put.get_by_role("button", name=f"Take it apart: {left} weights")).to_be_visible()


OTHERS = {
    "another kind": ["{ gated: saved.runs.plain }"],
    "none, then another kind": ["{}", "{ plain: saved.runs.plain }"],
    "the same weights by another name": ["{ strict: saved.runs.gated }"],
    "there and back": ["{ plain: saved.runs.plain }", "{}", "{ gated: saved.runs.gated }"],
}
CELLS = """() => [...document.querySelectorAll("#scratch .abc-cell")].map((cell) =>
  [cell.dataset.name, cell.dataset.index, cell.getAttribute("aria-label")].join(" "))"""


@pytest.mark.parametrize("arrive", OTHERS.values(), ids=OTHERS)
def test_runs_of_another_kind_arrive_while_weights_are_open(
    module_page: Page, arrive: list[str]
) -> None:
    """And a weight is zeroed: what is seen is what one sees who opens the new ones."""
    module_page.evaluate(FAKE_MODEL, {"variant": "gated", "seed": 0, "lessons": {}})
    module_page.evaluate("fake.set('runs', { gated: saved.runs.gated })")
    scratch = module_page.locator("#scratch")
    open_weights(scratch)
    scratch.locator(".abc-cell").last.click()
    for runs in arrive:
        module_page.evaluate(f"fake.set('runs', {runs})")
    zeroed = scratch.locator(".abc-zeroed")
    if zeroed.count():  # the reader's own, of these very weights
        zeroed.click()
    cells = module_page.evaluate(CELLS)
    told = scratch.locator(".abc-score, .abc-note, .abc-apart").all_text_contents()
    module_page.evaluate(FAKE_MODEL, {"variant": "gated", "seed": 0, "lessons": {}, "runs": {}})
    module_page.evaluate(f"fake.set('runs', {arrive[-1]})")
    open_weights(scratch)
    assert cells == module_page.evaluate(CELLS)
    assert told == scratch.locator(".abc-score, .abc-note, .abc-apart").all_text_contents()


# Other views and other times -------------------------------------------------------------------

ASLEEP = {"runs": {}, "variant": "gated", "seed": 0, "text": "cab"}


def test_it_wakes_up_when_a_model_arrives(module_page: Page) -> None:
    module_page.evaluate(FAKE_MODEL, ASLEEP)
    scratch = module_page.locator("#scratch")
    expect(scratch.get_by_text("No model yet")).to_be_visible()
    expect(scratch.get_by_label("Type three letters")).to_be_hidden()
    module_page.evaluate("fake.set('runs', { gated: saved.runs.gated })")
    expect(scratch.get_by_text("No model yet")).to_be_hidden()
    expect(scratch.get_by_label("Type three letters")).to_have_value("cab")
    open_weights(scratch)
    scratch.locator(".abc-cell").first.click()
    # another variant is no reason to touch what is on the page; new weights of this one are
    module_page.evaluate(
        "fake.set('runs', { gated: { ...saved.runs.gated }, plain: saved.runs.plain })"
    )
    expect(scratch.get_by_label("Model", exact=True).locator("option")).to_have_count(2)
    expect(scratch.locator(".abc-zeroed")).to_have_count(1)
    zero_weights(module_page, "gated")
    # every letter is as likely as the others, so the first is written: right for one word only
    expect(scratch.locator(".abc-score")).to_have_text("1 of 27 sorted")
    expect(scratch.locator(".abc-zeroed")).to_have_count(0)
    expect(scratch.locator(".abc-value").first).to_have_text("0.333")


def test_weights_that_are_not_numbers_sort_nothing(module_page: Page) -> None:
    answers = module_page.evaluate(
        """async () => {
          const { weights, ...run } = saved.runs.gated;
          const bytes = new Uint8Array(weights.byteLength).fill(255); // NaN, all of them
          const ready = await widget.machine(run);
          const none = widget.unpack({ ...run, weights: bytes }, 0);
          return widget.sortAll(ready, none).map(widget.written);
        }"""
    )
    assert answers == ["|||"] * 27


# As test_widgets.py tries it ---------------------------------------------------------------------


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    open_weights(widget)
    assert_beside_their_labels(widget)
    for model in ("gated", "plain"):
        widget.get_by_label("Model", exact=True).select_option(model)
        widget.get_by_label("Type three letters").fill("cab")
        yield model, False
        zero = widget.get_by_role("button", name="zero all: token embedding")
        if zero.count():
            zero.click()
        assert shown(widget)["score"] == 1  # all letters are alike, so it writes aaa for every word
        widget.get_by_label("Type three letters").fill("xyz")
        yield f"{model}, zeroed and refused", model == "plain"


SCENES = [
    Scene(
        "deep_qkv",
        states,
        (
            Field(
                lambda visit: visit.page.locator(".abc-sorter").first,
                "Type three letters",
                "bca",
                dict.fromkeys(WRONG, ALLOWED),
                shown,
                ".abc-message",
            ),
        ),
        choice="variant",
        asleep={},
    )
]
