"""The ABC sorter on its page, against torch; what a reader does there is its transcripts'."""

import json
import random
import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Generator, Tensor
from torch.func import stack_module_state
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.widgets.deep_qkv import ABCSorter

from ..packed import parameters
from .widget_page import FAKE_MODEL, Field, Scene, saved_runs

CHAPTER = "book/deep_qkv.html"
WORDS = [sorting.decode(ids) for ids in sorting.all_sequences()[:, :3].tolist()]
ALLOWED = "Type three letters, each a, b or c, such as cab."


@pytest.fixture
def widget(module_page: Page) -> Locator:
    """The sorter as the page saved it, its weights in view, those of seed 0."""
    module_page.evaluate(FAKE_MODEL, {"seed": 0})
    open_weights(module_page.locator("#scratch"))
    return module_page.locator("#scratch")


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


SEEN: dict[str, Any] = {"atol": 6e-4, "rtol": 0, "check_dtype": False}  # three digits
HALF = SEEN | {"atol": 0.51}  # a percent


# Every step of every word, for each seed of a run.
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
    assert_close(p, probabilities, atol=1e-9, rtol=0)
    assert p[..., sorting.SEP].eq(0).all()
    for i, expected in enumerate(attentions):
        a = torch.tensor([steps[i]["attention"] for steps in words], **DOUBLE)
        assert_close(a, expected, atol=1e-9, rtol=0)


def test_javascript_and_torch_agree_on_everything(module_page: Page, runs: dict[str, Any]) -> None:
    for variant, run in runs.items():
        traces = json.loads(
            module_page.evaluate(f"(name) => ({SORT_ALL})(saved.runs[name])", variant)
        )
        assert len(traces) == run["seeds"]
        for seed, words in enumerate(traces):
            assert_agrees(words, rebuild(variant, run, seed))


def test_without_a_position_table_positions_count_as_nothing(module_page: Page) -> None:
    model = Sorter(config := Config(positions=False), Generator().manual_seed(0))
    sorter = ABCSorter()
    sorter.load("gated", stack_module_state([model])[0], config)
    run = sorter.runs["gated"] | {"weights": [*sorter.runs["gated"]["weights"]]}
    given = "{ ...run, weights: new DataView(Uint8Array.from(run.weights).buffer) }"
    (words,) = json.loads(module_page.evaluate(f"(run) => ({SORT_ALL})({given})", run))
    assert_agrees(words, model)


@pytest.mark.parametrize("variant", ["gated", "plain", "fixed_gate"])
def test_what_is_shown_is_what_torch_says(
    variant: str, widget: Locator, runs: dict[str, Any]
) -> None:
    """Of each word the answer, of each seed how many words it sorts, of a word every step."""
    run = runs[variant]
    widget.get_by_label("Model", exact=True).select_option(variant)
    options = widget.get_by_label("Seed", exact=True).locator("option").all_text_contents()
    scores = [score(rebuild(variant, run, seed)) for seed in range(run["seeds"])]
    marks = ["" if right == 27 else f" (✗ {right} of 27)" for right in scores]
    assert options == [f"{seed}{mark}" for seed, mark in enumerate(marks)]
    for seed in (0, run["seeds"] - 1):
        widget.get_by_label("Seed", exact=True).select_option(str(seed))
        model = rebuild(variant, run, seed)
        letters, probabilities, _ = sort_all(model)
        for i in range(0, 27, 5):
            widget.get_by_label("Type three letters").fill(WORDS[i])
            page = shown(widget)
            assert (page["answer"], page["chosen"]) == (letters[i], [WORDS[i]])
            assert_close(torch.tensor(page["values"]).view(3, 3), probabilities[i, :, 1:], **SEEN)
        assert page["words"] == [
            f"{word}, {'right' if ''.join(sorted(word)) == answer else 'wrong'}: writes {answer}"
            for word, answer in zip(WORDS, letters, strict=True)
        ]
    widget.get_by_label("Type three letters").fill("cab")
    told, drawn = shown(widget)["steps"], widget.evaluate(READ_PICTURE)
    for i, step in enumerate(model.trace("cab")):
        assert told[i].startswith(f"Step {i + 1} writes {sorting.VOCABULARY[step.choice]}, ")
        weights = [float(weight) for weight in re.findall(r"(\d+)% at", told[i])]
        assert_close(torch.tensor(weights), 100 * step.attention.flatten(), **HALF)
        assert_drawn(drawn[i], step.probabilities, step.attention)


def assert_drawn(drawn: dict[str, Any], probabilities: Tensor, attention: Tensor) -> None:
    """Head 1 above the tiles, head 2 below: arcs at the tiles that they read, and the shares."""
    length = attention.shape[1]
    assert drawn["labels"] == [[0, "head 1, %"], [1, "head 2, %"]]
    letters, widths = zip(*drawn["bars"], strict=True)
    assert letters == tuple("abc")
    assert_close(torch.tensor(widths), probabilities[1:], atol=1e-4, rtol=0)
    percents = torch.tensor([[float(p) for p in pair] for pair in drawn["percents"][:length]])
    assert_close(percents.T, 100 * attention, **HALF)
    arcs = sorted(drawn["arcs"])
    assert [arc[:2] for arc in arcs] == [[head, t] for head in (0, 1) for t in range(length)]
    thickness, opacity = torch.tensor([arc[2:] for arc in arcs]).T
    assert_close(thickness, 0.4 + 5.6 * attention.flatten(), atol=0.006, rtol=0)
    assert_close(opacity, 0.12 + 0.88 * attention.flatten(), atol=0.001, rtol=0)


def test_zeroing_changes_the_score_as_torch_says(widget: Locator, runs: dict[str, Any]) -> None:
    choice, changes = random.Random(0), 0
    counter = widget.locator(".abc-score")
    for variant, run in runs.items():
        widget.get_by_label("Model", exact=True).select_option(variant)
        parameters = dict((model := rebuild(variant, run, 0)).named_parameters())
        scores = [score(model)]
        for name in choice.sample(run["names"], 6):
            index = choice.randrange(parameters[name].numel())
            widget.locator(f'[data-name="{name}"][data-index="{index}"]').click()
            with torch.no_grad():
                parameters[name].view(-1)[index] = 0
            scores.append(score(model))
            expect(counter).to_have_text(f"{scores[-1]} of 27 sorted")
        changes += len(set(scores)) - 1
        for button, path in (("Undo", scores[-2::-1]), ("Redo", scores[1:])):
            for expected in path:
                widget.get_by_role("button", name=button).click()
                expect(counter).to_have_text(f"{expected} of 27 sorted")
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


# As test_widgets.py tries it


WRONG = [  # of nothing at all, or of what is not finished: the transcript of a word
    *("xyz", "cabc", "a b c", "cax", "x", "abc" * 100, "🙂🙂🙂"),
    *("<b>abc</b>", '<img src=x onerror="alert(1)">', "<script>alert(1)</script>"),
    "абс",  # Cyrillic
]


def assert_beside_their_labels(widget: Locator) -> None:
    """Fail if a select stands anywhere else."""
    for label in ("Model", "Seed"):
        text = widget.get_by_text(label, exact=True).bounding_box()
        select = widget.get_by_label(label, exact=True).bounding_box()
        assert text and select
        assert text["x"] + text["width"] <= select["x"]
        assert select["y"] <= text["y"] + text["height"] / 2 <= select["y"] + select["height"]


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


BOX = Field(
    *(lambda visit: visit.page.locator(".abc-sorter").first, "Type three letters", "bca"),
    *(dict.fromkeys(WRONG, ALLOWED), shown, ".abc-message"),
)
SCENES = [Scene("deep_qkv", states, (BOX,), choice="variant", asleep={})]
