"""What the records are of, and that they come out again, as short runs of the tests can tell."""

import ast
import warnings
from dataclasses import replace
from math import log

import pytest
import torch
from torch import Generator

from attn_notes.analysis import results, statistics
from attn_notes.chapters.equilibrium import estimators, measure, recipe
from attn_notes.chapters.equilibrium.estimators import Implicit, Nudged
from attn_notes.models.equilibrium import (
    PUBLISHED,
    TOLERANCE,
    LanguageModel,
    NotSettledWarning,
    Relaxation,
)
from attn_notes.tasks.text import FALLBACK, Text

from ... import exercises

CHAPTER = exercises.ROOT / "book" / "equilibrium.ipynb"
EVIDENCE = exercises.ROOT / "book" / "evidence" / "equilibrium.ipynb"

TEXT = Text.read(FALLBACK)  # always at hand


def runs(name: str) -> results.Record:
    return results.load(f"equilibrium_{name}")["runs"]


def at(steps: int) -> int:
    """Where the recorded gradients have so many nudged steps."""
    return results.load("equilibrium_gradients")["settings"]["steps"].index(steps)


def test_the_chapter_trains_as_the_recipe_says() -> None:
    scope = exercises.after_setup(CHAPTER)
    assert scope["config"] == recipe.corrected(scope["text"])
    (call,) = (
        node
        for node in ast.walk(ast.parse(exercises.cells(CHAPTER)["train-live"]))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "measure.train_estimators"
    )
    told = {each.arg: ast.unparse(each.value) for each in call.keywords}
    assert [ast.unparse(each) for each in call.args] == [
        "config", "text", "{'AEP': estimators.AEP}",
    ]  # fmt: skip
    assert (told["steps"], told["batch"], told["lr"], told["seeds"]) == (
        "recipe.STEPS", "recipe.BATCH", "recipe.RATE", "1",
    )  # fmt: skip
    assert recipe.ESTIMATORS["AEP"] == estimators.AEP


def test_the_records_cover_what_the_chapter_says_of_them() -> None:
    kinds = ["BPTT", "exact", "AEP", "AEP, clipped", "naive EP", "frozen"]
    assert list(runs("training")) == list(recipe.ESTIMATORS) == kinds
    assert all(run["parameters"] == 73_856 for run in runs("training").values())
    assert "73,856 trained parameters on the whole text" in exercises.cells(EVIDENCE)["parts"]
    assert recipe.GRADIENT_SEEDS >= 5 and {20, 320} <= set(recipe.GRADIENT_STEPS)
    published = estimators.PUBLISHED
    assert (published.beta, published.relaxation) == (0.02, Relaxation(20, 0.1))
    assert (recipe.GRADIENT_BETA, recipe.GRADIENT_STEP) == (0.02, 0.1)


def test_the_error_of_large_nudges_falls_as_beta_squared() -> None:
    betas = results.load("equilibrium_gradients")["settings"]["betas"]
    large = [i for i, beta in enumerate(betas) if beta >= 20]
    for run in runs("gradients")["beta"]:
        order = measure.order_in([betas[i] for i in large], [run[i] for i in large])
        assert statistics.near([order], [2.0])


@pytest.mark.slow
def test_a_recorded_gradient_comes_out_again() -> None:
    """Of the shortest record: seed 0, at the published setting."""
    config = replace(PUBLISHED, vocabulary=len(TEXT.characters))
    model = LanguageModel(config, Generator().manual_seed(0)).double()
    sequences = TEXT.sample(16, 64, Generator().manual_seed(0))
    true = measure.attention_gradient(model, sequences, Implicit(Relaxation(40, 0.25)))
    found = measure.attention_gradient(model, sequences, estimators.PUBLISHED)
    for of, name in ((measure.cosine, "cosine"), (measure.cosine_of_whole, "whole")):
        assert of(found, true) == pytest.approx(
            runs("gradients")["clipped"][0][name][at(20)], abs=1e-6
        )


@pytest.mark.slow
def test_damping_does_not_always_bring_rest_and_the_published_test_does_not_see_it() -> None:
    x = TEXT.held_out(64)[:4, :-1]
    for std, step_says_rest, at_rest in ((0.02, True, True), (4.0, True, False)):
        config = replace(PUBLISHED, vocabulary=len(TEXT.characters), embedding_std=std)
        model = LanguageModel(config, Generator().manual_seed(0))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", NotSettledWarning)
            model.settle(x)
        assert (not said) == step_says_rest
        left = measure.residuals(model, x, config.relaxation)[-1]
        assert (left < TOLERANCE["force"]) == at_rest


@pytest.mark.slow
def test_longer_steps_and_one_side_are_no_worse_than_what_is_published() -> None:
    """At the published sizes; how much quicker they are `make benchmark` says."""
    generator = Generator().manual_seed(0)
    sequences = TEXT.sample(16, 64, generator)
    ways, exact = measure.ways_to_one_gradient(
        replace(PUBLISHED, vocabulary=len(TEXT.characters)), sequences, generator
    )
    published, ours = "step by step, as published", "AEP, longer steps, one side"
    assert measure.cosine(ways[ours](), exact) >= measure.cosine(ways[published](), exact)


@pytest.mark.slow
def test_the_error_falls_by_the_spectral_radius_in_the_range_that_the_chapter_fits() -> None:
    """On an untrained block of the chapter's size, its attention louder, to settle slowly."""
    config = recipe.corrected(TEXT)
    model = LanguageModel(config, Generator().manual_seed(0)).double()
    with torch.no_grad():
        for p in model.block.parameters():
            p.mul_(1.3)
    enough, steps = Relaxation(90, 0.25), list(range(2, 41, 2))
    model = measure.with_relaxation(model, enough)
    piece = TEXT.held_out(16)[:1]
    at_rest = measure.at_rest(model, piece)
    j = measure.jacobian(at_rest.force, at_rest.z)
    radius = (1 + 0.25 * measure.eigenvalues(j, config.width)).abs().max().item()
    true = measure.attention_gradient(model, piece, Implicit(enough))
    nudged = Nudged("full", 1e-4, Relaxation(max(steps), 0.25))
    found = measure.gradients_by_steps(model, piece, nudged, steps)
    errors = {s: measure.relative_error(gradient, true) for s, (gradient, _) in found.items()}
    falling = {s: e for s, e in errors.items() if 5e-10 < e < 1e-6}
    assert len(falling) >= 4
    factor = measure.factor_per_step(list(falling), list(falling.values()))
    assert statistics.near([log(factor)], [log(radius)])
