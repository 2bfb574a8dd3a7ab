"""The ABC sorter's numbers against torch's; what a reader does there its transcripts have."""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from playwright.sync_api import Locator, expect
from torch import Generator, Tensor

from attn_notes.analysis import statistics
from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting
from book.lessons.deep_qkv import evidence, recipe
from book.lessons.deep_qkv.tests.scripts import ALL, beside_another, opened
from book.lessons.deep_qkv.widget import ABCSorter

from ..packed import parameters
from .asked import asking, close
from .cell_page import Change
from .training_page import TRAIN, Challenge
from .widget_page import Scene

CHAPTER = "book/lessons/deep_qkv/deep_qkv.html"
WORDS = [sorting.decode(ids) for ids in sorting.all_sequences()[:, :3].tolist()]


@cache
def shown() -> list[ABCSorter]:
    """The lesson's, and beside it a gated one without positions."""
    return [opened(**dict.fromkeys(VARIANTS, ALL)), *beside_another()]


ask = asking("deep_qkv", shown)


def rebuild(variant: str, run: dict[str, Any], seed: int) -> Sorter:
    """A torch model with the weights that the page holds."""
    config = Config(variant, positions="position.weight" in run["names"])
    model = Sorter(config, Generator()).double()
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
    answers, *_ = sort_all(model)
    return sum(answer == "".join(sorted(word)) for word, answer in zip(WORDS, answers, strict=True))


SORT_ALL = """async (i, variant) => {
  const run = models[i].get("runs")[variant];
  const ready = await widget.machine(run);
  return Array.from({ length: run.seeds }, (_, seed) =>
    widget.sortAll(ready, widget.unpack(run, seed)));
}"""


def test_every_step_of_every_word_is_torchs(ask):
    seeds = 0
    for i, sorter in enumerate(shown()):
        for variant, run in sorter.runs.items():
            for seed, words in enumerate(ask(SORT_ALL, i, variant)):
                answers, probabilities, attentions = sort_all(rebuild(variant, run, seed))
                letters = [[step["choice"] for step in steps] for steps in words]
                assert [sorting.decode(each) for each in letters] == answers
                shares = [[step["probabilities"] for step in steps] for steps in words]
                close(shares, probabilities)
                assert torch.tensor(shares)[..., sorting.SEP].eq(0).all()
                for step, expected in enumerate(attentions):
                    close([steps[step]["attention"] for steps in words], expected)
                seeds += 1
    assert seeds > 5 * 16


def test_zeroing_changes_the_score_as_torch_says(ask):
    choice, changes = random.Random(0), 0
    widget = ask.page.locator(".abc-sorter").first
    counter = widget.locator(".abc-score")
    open_weights(widget)
    widget.get_by_label("Seed", exact=True).select_option("0")
    for variant, run in shown()[0].runs.items():
        widget.get_by_label("Model", exact=True).select_option(variant)
        weights = dict((model := rebuild(variant, run, 0)).named_parameters())
        scores = [score(model)]
        for name in choice.sample(run["names"], 6):
            index = choice.randrange(weights[name].numel())
            widget.locator(f'[data-name="{name}"][data-index="{index}"]').click()
            weights[name].data.view(-1)[index] = 0
            scores.append(score(model))
            expect(counter).to_have_text(f"{scores[-1]} of 27 sorted")
        changes += len(set(scores)) - 1
    assert changes  # else the cells drawn above would tell nothing


def test_home_is_who_sorts_every_word_from_then_on(ask):
    steps = torch.arange(0, 60, 10)
    ways = [[27] * 6, [0, 27, 27, 26, 27, 27], [1, 5, 27, 27, 27, 26], [0, 0, 0, 0, 0, 27]]
    words = torch.tensor(ways).T
    found = ask("(...race) => widget.arrivalsOf(...race)", steps.tolist(), words.tolist())
    ours = statistics.stable_from(words, steps, recipe.SOLVED)
    assert found == [step if step < evidence.NEVER else None for step in ours.tolist()]


# As test_widgets.py tries it


def open_weights(widget: Locator) -> None:
    apart = widget.get_by_role("button", name="Take it apart")
    if apart.get_attribute("aria-expanded") == "false":
        apart.click()


def states(widget: Locator) -> Iterator[tuple[str, bool]]:
    """What a reader may come to see, one after another."""
    open_weights(widget)
    for label in ("Model", "Seed"):  # stand beside their menus
        text = widget.get_by_text(label, exact=True).bounding_box()
        select = widget.get_by_label(label, exact=True).bounding_box()
        assert text and select and text["x"] + text["width"] <= select["x"]
        assert select["y"] <= text["y"] + text["height"] / 2 <= select["y"] + select["height"]
    for model in ("gated", "plain"):
        widget.get_by_label("Model", exact=True).select_option(model)
        widget.get_by_label("Type three letters").fill("cab")
        yield model, False
        zero = widget.get_by_role("button", name="zero all: token embedding")
        if zero.count():
            zero.click()
        widget.get_by_label("Type three letters").fill("xyz")
        yield f"{model}, zeroed and refused", model == "plain"


def ran(widget: Locator) -> Iterator[tuple[str, bool]]:
    """One of each, all of them on their way and at the end, and one that is picked."""
    use(widget)
    widget.get_by_role("button", name="Next seed").click()
    yield "one of each", True
    widget.get_by_role("button", name="Race all 16").click()
    widget.get_by_label("Step", exact=True).fill("100")
    yield "on their way", True
    widget.get_by_label("Step", exact=True).fill("400")
    widget.locator(".abc-short").first.press("Enter")
    yield "at the end", True


def use(widget: Locator) -> None:
    """The race, or the sorter."""
    if widget.get_by_role("button", name="Race one of each").count():
        widget.get_by_role("button", name="Race one of each").click()
        widget.get_by_label("Step", exact=True).fill("400")  # it need not be waited for
    else:
        widget.get_by_label("Type three letters").fill("bbc")


SCENES = [
    Scene("race", ran, {1280: 37, 390: 43}),
    Scene("deep_qkv", states, picture="training", root=".abc-sorter"),
]
TOGETHER = [
    [".abc-start", ".abc-board", ".abc-scrub", ".abc-said"],
    [".abc-ask", ".abc-map", ".abc-steps", *TRAIN],
]
KNOWABLE = ["the four it can know"]
CHALLENGES = [Challenge("all but two sort", KNOWABLE, 16, (0, 2), {"steps": "600"})]
CHANGES = [
    Change("`return base / 3`", "base * (A @ B).softmax(-1)", "base / 3", score=1),
    Change("`return base`, the plain sorter", "base * (A @ B).softmax(-1)", "base"),
]
