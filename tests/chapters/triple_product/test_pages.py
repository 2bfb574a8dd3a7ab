"""What the two pages hold between them: the lesson's cells, settings in their sentences."""

import re
from pathlib import Path

import pytest
import torch
from torch import Generator

from attn_notes.analysis import results
from attn_notes.chapters.triple_product import checks, claims, evidence, recipe
from attn_notes.models.triple_product import AttentionOnly
from attn_notes.tasks.copying import Copying

from ... import exercises

LESSON = exercises.ROOT / "book" / "triple_product.ipynb"
EVIDENCE = exercises.ROOT / "book" / "evidence" / "triple_product.ipynb"
WORDS = {3: "three", 5: "five", 6: "six", 7: "seven", 8: "eight", 12: "twelve", 16: "sixteen"}


def text_of(page: Path, cell: str) -> str:
    """A cell of text, its lines joined."""
    return " ".join(exercises.cells(page)[cell].split())


@pytest.mark.parametrize("name", ["negative", "deaf"])
def test_the_exercises_of_the_evidence_page(name: str) -> None:
    stub = exercises.outcome(EVIDENCE, name)
    assert not stub.passed and "there is no answer yet" in repr(stub)
    assert exercises.outcome(EVIDENCE, name, exercises.solution(EVIDENCE, name)).passed


@pytest.mark.parametrize("score", ["volume", "angle"])
def test_the_lessons_model_is_the_packages(score: str) -> None:
    """Its cell, run with other weights, off the start, where β is the same for every head."""
    imports = "import torch\nfrom torch.nn import functional as F\n"
    scope: dict[str, object] = {}
    exec(imports + exercises.cells(LESSON)["model-cell"], scope)
    generator = Generator().manual_seed(4)
    layer = AttentionOnly(recipe.ONE_LAYER[score], generator).layers[0]
    with torch.no_grad():
        for p in layer.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    x = torch.randn(3, 23, 32, generator=generator)
    ours = scope["attend"](dict(layer.named_parameters()), x, score)  # type: ignore[operator]
    torch.testing.assert_close(ours, layer(x)[0], rtol=1e-4, atol=1e-4)


ONE, TWO = recipe.ONE, recipe.TWO
FIXED, RANDOM = recipe.FIXED, recipe.RANDOM
LOST = Copying(2, 8, (2, 4))


@pytest.mark.parametrize(
    ("page", "cell", "says"),
    [
        (LESSON, "floor", f"{FIXED.floor:.3f} nats at period {recipe.HALF} and {RANDOM.floor:.3f} "
         f"at {RANDOM.periods[0]} to {RANDOM.periods[-1]}"),
        (LESSON, "floor", f"There are $V = {FIXED.vocabulary}$ letters, a to p, and sequences of "
         f"{FIXED.length}"),
        (LESSON, "floor", f"over {FIXED.length - 1} predictions"),
        (LESSON, "train", f"the same {WORDS[ONE['seeds']]} seeds"),
        (LESSON, "train", f"best of {WORDS[len(recipe.RATES)]}"),
        (LESSON, "verdict", f"{WORDS[recipe.RECORDED]} recorded seeds"),
        (LESSON, "exercise-periods", f"more often than {checks.MOST}, in sequences of "
         f"{FIXED.length} of {FIXED.vocabulary} letters"),
        (EVIDENCE, "claims", f"for {ONE['steps']} steps with one layer and {TWO['steps']} with "
         "two"),
        (EVIDENCE, "claims-kinds", f"heads of {recipe.ONE_LAYER[recipe.WIDER].d} dimensions "
         f"instead of {recipe.ONE_LAYER['dot'].d}"),
        (EVIDENCE, "task", f"There are {FIXED.vocabulary} tokens, here the letters a to p, and "
         f"{FIXED.length} of them"),
        (EVIDENCE, "floor-text", f"the periods 2 and 4 it is {LOST.floor:.4f} against "),
        (EVIDENCE, "rates", f"at {WORDS[len(recipe.RATES)]} learning rates"),
        (EVIDENCE, "longer", f"ran at {recipe.LONG_ONE['lr']['angle']:g} there"),
        (EVIDENCE, "methods-text", f"the same {WORDS[recipe.RECORDED]}"),
        (EVIDENCE, "methods-text", f"the lesson's {WORDS[ONE['seeds']]} are the first"),
        (EVIDENCE, "methods-text", f"the {WORDS[len(claims.PAIRS)]} comparisons of a column"),
        (EVIDENCE, "methods-text", f"the rate rises over {ONE['warmup']} steps"),
    ],
)  # fmt: skip
def test_a_setting_in_a_sentence_is_the_recipes(page: Path, cell: str, says: str) -> None:
    assert says in text_of(page, cell)


def test_what_the_sentences_say_of_seeds_and_rates() -> None:
    assert ONE["seeds"] == TWO["seeds"] < recipe.RECORDED
    assert ONE["warmup"] == TWO["warmup"]
    assert recipe.LONG_ONE["seeds"] == recipe.LONG_TWO["seeds"] == recipe.RECORDED
    assert recipe.SWEPT_ONE["seeds"] == 4 and "four seeds each" in text_of(EVIDENCE, "rates")
    assert set(recipe.ONE_OF_EACH) == set(recipe.TWO_OF_EACH) == set(recipe.KINDS)


def test_the_floor_of_the_formula() -> None:
    """2 letters, length 8, periods 2 and 4: two fresh letters on average, and ln 2 for which."""
    rough = (2 * torch.tensor(2.0).log() + torch.tensor(2.0).log()).item() / 7
    assert f"against {rough:.4f}" in text_of(EVIDENCE, "floor-text")


def test_live_seeds_are_the_first_of_the_recorded_ones() -> None:
    """A run's members are its seeds 0, 1, …; the record says how many and at which settings."""
    settings = results.load("triple_product_lesson")["settings"]
    for live, there in ((ONE, settings["one"]), (TWO, settings["two"])):
        assert {**there, "seeds": None} == {**live, "seeds": None}


def test_the_play_text_is_what_the_widget_opens_on() -> None:
    assert "period 12 only, and the text repeats after 11" in text_of(LESSON, "play")
    links = set(re.findall(r'href="#open-([\w-]+)"', " ".join(exercises.cells(LESSON).values())))
    widget = exercises.ROOT / "attn_notes" / "widgets" / "triple_product.js"
    states = widget.read_text("utf-8").partition("opens(root, {")[2].partition("});")[0]
    assert links and all(re.search(rf'^ +"?{name}"?:', states, re.M) for name in links)


def test_the_evidence_reads_what_the_lesson_trains() -> None:
    cell = exercises.cells(LESSON)["train-cell"]
    names = set(re.findall(r'"((?:one layer|two layers)[^"]*)"', cell))
    assert names == {"one layer", "one layer, random period", "two layers"}
    assert names < evidence.recorded().learnings.keys() == recipe.TASKS.keys()
