"""What the two pages hold between them: the lesson's cells, and those of the evidence."""

import re
from functools import partial
from typing import Any

import pytest
import torch
from torch import Generator

from attn_notes.analysis import results
from attn_notes.chapters.triple_product import evidence, recipe
from attn_notes.models.triple_product import AttentionOnly

from ... import exercises

LESSON = exercises.ROOT / "book" / "triple_product.ipynb"
EVIDENCE = exercises.ROOT / "book" / "evidence" / "triple_product.ipynb"


@pytest.mark.parametrize("score", recipe.KINDS)
def test_the_lessons_model_is_the_packages(score: str) -> None:
    """Its cells, run with other weights, off the start, where β is the same for every head."""
    scope: dict[str, Any] = {}
    exec("import torch\nfrom torch.nn import functional as F\n", scope)
    for cell in ("model-cell", "score-cell"):
        exec(exercises.cells(LESSON)[cell], scope)
    generator = Generator().manual_seed(4)
    layer = AttentionOnly(recipe.ONE_LAYER[score], generator).layers[0]
    with torch.no_grad():
        for p in layer.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    x = torch.randn(3, 23, 32, generator=generator)
    weights = dict(layer.named_parameters())
    named = scope[score]
    if score == "angle":
        named = partial(named, beta=weights["beta"][:, None, None])
    inward = weights["qkv.weight" if score == "dot" else "qkrv.weight"]
    ours = scope["attend"](x, inward, weights["o.weight"], named)
    torch.testing.assert_close(ours, layer(x), rtol=1e-4, atol=1e-4)


def test_the_blackboard_is_what_a_hand_works_out(capsys: pytest.CaptureFixture[str]) -> None:
    """q = (2, 0, 0) and r = (1, 1, 0): the area is 2 · 1, the height the third coordinate."""
    scope: dict[str, Any] = {}
    exec("import torch\nfrom torch.nn import functional as F\n", scope)
    exec(exercises.cells(LESSON)["score-cell"], scope)
    assert capsys.readouterr().out.splitlines() == [
        "[1.0, 2, 0] q·k=2 det=0 cos²=1.00",
        "[1.0, 2, 1] q·k=2 det=4 cos²=0.83",  # 5 of 6
        "[2.0, 4, 2] q·k=4 det=16 cos²=0.83",
    ]


def test_live_seeds_are_the_first_of_the_recorded_ones() -> None:
    """A run's members are its seeds 0, 1, …; the record says how many and at which settings."""
    settings = results.load("triple_product_lesson")["settings"]
    for live, there in ((recipe.ONE, settings["one"]), (recipe.TWO, settings["two"])):
        assert {**there, "seeds": None} == {**live, "seeds": None}


def test_the_play_text_is_what_the_widget_opens_on() -> None:
    links = set(re.findall(r'href="#open-([\w-]+)"', " ".join(exercises.cells(LESSON).values())))
    widget = exercises.ROOT / "attn_notes" / "widgets" / "triple_product.js"
    states = widget.read_text("utf-8").partition("const states = {")[2].partition("};")[0]
    assert links and all(re.search(rf'^ +"?{name}"?:', states, re.M) for name in links)


def test_the_evidence_reads_what_the_lesson_trains() -> None:
    cell = exercises.cells(LESSON)["train-cell"]
    names = set(re.findall(r'"((?:one layer|two layers)[^"]*)"', cell))
    assert names == {"one layer", "one layer, random period", "two layers"}
    assert names < evidence.recorded().learnings.keys() == recipe.TASKS.keys()
