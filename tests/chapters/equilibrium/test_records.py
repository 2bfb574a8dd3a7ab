"""What the chapter says in words, held against its records and against short runs of its own."""

import ast
import warnings
from dataclasses import replace
from math import log

import pytest
import torch
from torch import Generator, Tensor

from attn_notes.analysis import cost, results, statistics
from attn_notes.chapters.equilibrium import claims, estimators, evidence, measure, recipe
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


def final(kind: str) -> Tensor:
    return torch.tensor([member["loss"] for member in runs("training")[kind]["members"]])


def cosines(correction: str, steps: int) -> Tensor:
    at = results.load("equilibrium_gradients")["settings"]["steps"].index(steps)
    found = [run["cosine"][at] for run in runs("gradients")[correction]]
    return torch.tensor(found, dtype=torch.float64)


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


def test_aep_trains_as_bptt_does() -> None:
    """Seed by seed within two hundredths of a nat, and no farther than another exact way ends."""
    assert statistics.within(final("AEP"), final("BPTT"), 0.02)
    apart = (final("exact") - final("BPTT")).abs()  # rounding, after 400 steps of training
    assert (final("AEP") - final("BPTT")).abs().max() < apart.max() < 0.03


def test_what_is_said_of_training_where_nothing_is_held() -> None:
    """With more damping exact gradients keep the state at rest by themselves, the others do not."""

    def ends(kind: str) -> Tensor:
        last = runs("ungoverned")[kind]["loss"][-1]
        return torch.tensor([float("nan") if loss is None else loss for loss in last])

    assert statistics.within(ends("AEP, c = 3"), ends("BPTT, c = 3"), 0.02)
    assert not (ends("naive EP, c = 3") < 4.4).any()
    assert not (ends("AEP, c = 1") < 4.4).all() and (ends("BPTT, c = 1") < 4.4).all()
    governed = torch.tensor(runs("training")["AEP"]["loss"][-1])[:3]
    assert (ends("BPTT, c = 1") < ends("AEP, c = 3")).all()
    assert (ends("AEP, c = 3") < governed).all()


def test_the_steps_that_the_chapter_names() -> None:
    text = exercises.cells(CHAPTER)["train"]
    scope = exercises.after_setup(CHAPTER)
    assert f"$T_1 = {scope['config'].relaxation.steps}$" in text
    assert f"$T_2 = {estimators.AEP.relaxation.steps}$" in text
    assert estimators.AEP.beta / (recipe.BATCH * recipe.LENGTH) == pytest.approx(0.02, 0.05)


def test_what_eight_seeds_say_of_the_clip_and_of_the_naive_gradient() -> None:
    """Every pair on one side: p is 2 of 12,870, and thrice that at the most after correction."""
    taught, clip, naive = claims.comparisons(evidence.training()).values()
    for claim, verdict, pairs in (
        (taught, True, "64 of 64 pairs"),
        (clip, True, "64 of 64 pairs"),
        (naive, False, "0 of 64 pairs"),
    ):
        finding = claim.findings["recorded"]
        assert finding.verdict is verdict and finding.found.endswith(pairs)
        assert finding.p == pytest.approx(3 * 2 / 12_870)
    assert statistics.ends_lower(final("AEP"), final("frozen")).verdict


def test_without_the_clip_aep_is_exact_and_with_it_more_steps_are_worse() -> None:
    assert (cosines("full", 320) > 0.999999).all()
    assert (cosines("clipped", 20) > 0.95).all() and (cosines("none", 20) < 0.95).all()
    assert statistics.all_rise(
        cosines("clipped", 20).tolist(), cosines("clipped", 320).tolist()
    ) is False  # fmt: skip
    lengths = torch.tensor([run["length"] for run in runs("gradients")["clipped"]])
    assert (lengths[:, -1] > 1.1 * lengths[:, -2]).all()  # it runs away, and does not settle askew
    naive = torch.tensor([run["length"] for run in runs("gradients")["none"]])
    assert (naive[:, -1] / naive[:, -2] - 1).abs().max() < 1e-2  # the naive one does settle


def test_the_error_falls_as_beta_squared_until_rounding_rules() -> None:
    betas = results.load("equilibrium_gradients")["settings"]["betas"]
    large = [i for i, beta in enumerate(betas) if beta >= 20]
    for run in runs("gradients")["beta"]:
        order = measure.order_in([betas[i] for i in large], [run[i] for i in large])
        assert statistics.near([order], [2.0])
    single = torch.tensor(runs("gradients")["precision"]).quantile(0.5, 0)
    best = betas[int(single.argmin())]
    assert best > 10 * estimators.PUBLISHED.beta
    assert single[betas.index(0.02)] > 10 * single.min()


@pytest.mark.slow
def test_a_recorded_gradient_comes_out_again() -> None:
    """Of the shortest record: seed 0, at the published setting."""
    config = replace(PUBLISHED, vocabulary=len(TEXT.characters))
    model = LanguageModel(config, Generator().manual_seed(0)).double()
    sequences = TEXT.sample(16, 64, Generator().manual_seed(0))
    true = measure.attention_gradient(model, sequences, Implicit(Relaxation(40, 0.25)))
    found = measure.attention_gradient(model, sequences, estimators.PUBLISHED)
    assert measure.cosine(found, true) == pytest.approx(cosines("clipped", 20)[0].item(), abs=1e-6)


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
def test_one_gradient_is_four_times_faster_than_step_by_step_and_no_worse() -> None:
    """Measured in one run, at the published sizes."""
    torch.set_num_threads(1)
    generator = Generator().manual_seed(0)
    sequences = TEXT.sample(16, 64, generator)
    ways, exact = measure.ways_to_one_gradient(
        replace(PUBLISHED, vocabulary=len(TEXT.characters)), sequences, generator
    )
    published, ours = "step by step, as published", "AEP, longer steps, one side"
    assert measure.cosine(ways[ours](), exact) >= measure.cosine(ways[published](), exact)
    times = cost.seconds({name: ways[name] for name in (published, ours)}, repeats=2)
    assert times[published] / times[ours] >= 4


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
