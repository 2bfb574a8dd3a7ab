"""The records are of the recipe, and come out again."""

import math
from typing import Any

import pytest
import torch

from attn_notes.models.equilibrium import Relaxation
from attn_notes.tasks.text import FALLBACK, Text
from book.kit import results
from book.lessons.equilibrium import evidence, measure, probes, recipe
from book.lessons.equilibrium import experiments as recorded
from book.lessons.equilibrium.estimators import PUBLISHED, Implicit

TEXT = Text.read(FALLBACK)  # always at hand
TRAINED = {"length": recipe.LENGTH}


RECORDS = [
    ("training", TRAINED | recorded.settings(recipe.SEEDS)
     | {"validation pieces": recipe.JUDGED, "characters": 1_115_394}),
    ("ungoverned", TRAINED | recorded.settings(recipe.UNGOVERNED_SEEDS)),
    ("page", {"seeds": recipe.SEEDS, "steps": recipe.IN_PAGE_STEPS, "batch": recipe.BATCH,
              "lr": recipe.IN_PAGE_RATE}),
    ("gradients", {"seeds": recipe.GRADIENT_SEEDS, "batch": recipe.PUBLISHED_BATCH,
                   "length": recipe.PUBLISHED_LENGTH, "steps": [*recipe.GRADIENT_STEPS],
                   "betas": [*recipe.NUDGES], "step": recipe.GRADIENT_STEP}),
    ("limit", {"seeds": recipe.GRADIENT_SEEDS, "steps": [*recipe.GRADIENT_STEPS],
               "step": recipe.GRADIENT_STEP}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings"), RECORDS)
def test_a_record_is_of_the_recipe(name: str, settings: dict[str, Any]) -> None:
    found = results.load(f"equilibrium_{name}")["settings"]
    assert {k: v for k, v in found.items() if k not in ("counted", "yardsticks")} == settings


def test_what_was_looked_into_is_of_the_recipe() -> None:
    rates = evidence.rates()
    assert (rates.betas, rates.steps) == ([*recipe.BETAS], [*recipe.RATE_STEPS])
    assert [rest.spread for rest in evidence.rests()] == [*recipe.SPREADS]


def test_a_recorded_model_is_what_was_trained() -> None:
    """It predicts as well as its record says, on pieces that the record holds."""
    model, characters = evidence.trained()
    assert len(characters) == model.config.vocabulary == 65
    loss = measure.losses(model, evidence.pieces()).mean().item()
    assert abs(loss - evidence.training().ends["AEP"][0]) < 0.5  # two pieces only
    assert loss < math.log(65) - 1


@pytest.mark.slow
def test_the_shortest_record_and_the_share_of_the_limit_come_out_again() -> None:
    model, batch = probes.untrained(TEXT).double(), probes.published_batch(TEXT)
    true = measure.attention_gradient(model, batch, Implicit(Relaxation(40, 0.25)))
    found, record = measure.attention_gradient(model, batch, PUBLISHED), evidence.gradients()
    for of, kept in ((measure.cosine, record.at), (measure.cosine_of_whole, record.whole)):
        assert of(found, true) == pytest.approx(kept("clipped", 20)[0].item(), abs=1e-6)
    shares = measure.let_through(model, batch, PUBLISHED)
    steps = [step for step in recipe.GRADIENT_STEPS if step <= len(shares)]
    kept = evidence.let_through()[0, : len(steps)].tolist()
    assert [shares[step - 1] for step in steps] == pytest.approx(kept, abs=1e-4)
    assert shares[0] == 1 and max(shares) == 1 and shares[-1] < 0.9


@pytest.mark.long
def test_what_was_looked_into_comes_out_again() -> None:
    rates, again = evidence.rates(), probes.rates(evidence.trained()[0], evidence.pieces())
    assert again.radius == pytest.approx(rates.radius, rel=1e-6)
    for part in ("by_beta", "by_steps"):
        for name, errors in getattr(rates, part).items():
            assert getattr(again, part)[name] == pytest.approx(errors, rel=1e-3, abs=1e-9)
    left = [[rest.left for rest in rests] for rests in (probes.rests(TEXT), evidence.rests())]
    assert left[0] == pytest.approx(left[1], rel=0.05, abs=1e-5)
    for way, forces in probes.settling(TEXT).left.items():
        kept = evidence.settling().left[way]
        torch.testing.assert_close(forces.double(), kept, rtol=0.05, atol=1e-5)
