"""The records are of the recipe, and come out again; what probes measure on small models."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Generator

from attn_notes.models.equilibrium import LanguageModel, Relaxation
from attn_notes.tasks.text import FALLBACK, Text
from book.kit import cost, results
from book.lessons.equilibrium import estimators, evidence, measure, probes, recipe
from book.lessons.equilibrium import experiments as recorded
from book.lessons.equilibrium.estimators import PUBLISHED, Implicit, Nudged

from .sizes import LONG, SMALL, make

TEXT, TRAINED = Text.read(FALLBACK), {"length": recipe.LENGTH}


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
def test_a_record_is_of_the_recipe(name, settings):
    found = results.load(f"equilibrium_{name}")["settings"]
    assert {k: v for k, v in found.items() if k not in ("counted", "yardsticks")} == settings


def test_what_was_looked_into_is_of_the_recipe():
    found = evidence.rates().betas, evidence.rates().steps, [x.spread for x in evidence.rests()]
    assert found == ([*recipe.BETAS], [*recipe.RATE_STEPS], [*recipe.SPREADS])


def test_a_recorded_model_is_what_was_trained():
    model, characters = evidence.trained()
    assert len(characters) == model.config.vocabulary == 65
    loss = measure.losses(model, evidence.pieces()).mean().item()
    assert abs(loss - evidence.training().ends["AEP"][0]) < 0.5  # two pieces only
    assert loss < math.log(65) - 1


@pytest.mark.slow
def test_the_shortest_record_and_the_share_of_the_limit_come_out_again():
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
def test_what_was_looked_into_comes_out_again():
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


# 1 / (1 + c): without attention one step is all the way.
@pytest.mark.parametrize(("damping", "step"), [(3, 0.25), (1, 0.5)])
def test_runs_without_a_governor_take_steps_that_suit_their_damping(damping, step):
    corrected, steps = recipe.corrected(TEXT), Relaxation(16, step)
    expected = replace(corrected, damping=float(damping), relaxation=steps)
    assert recipe.damped(corrected, damping) == expected
    assert recipe.stepped("naive EP", damping) == Nudged("none", 10.0, Relaxation(8, step))
    assert recipe.stepped("BPTT", damping) is estimators.bptt


def test_the_theorem_holds_of_a_small_model(monkeypatch):
    monkeypatch.setattr(recipe, "ENOUGH", LONG)
    monkeypatch.setattr(recipe, "BETAS", (0.05, 0.1))
    monkeypatch.setattr(recipe, "RATE_STEPS", tuple(range(2, 31, 2)))
    model, sequences = make(replace(SMALL, width=8))
    found = probes.rates(model, sequences[:2])
    assert found.orders == pytest.approx({"one side": 1, "both sides": 2}, rel=0.1)
    force, _, z = measure.at_rest(measure.with_relaxation(model, LONG).double(), sequences[:1])
    step = torch.eye(z.numel()) + LONG.step * measure.jacobian(force, z)
    assert found.radius == pytest.approx(torch.linalg.eigvals(step).abs().max().item())
    assert math.log(found.factor) == pytest.approx(math.log(found.radius), rel=0.1)
    naive, clipped, aep = (found.by_steps[k] for k in ("naive EP", "AEP, clipped", "AEP"))
    assert min(naive) > 1e3 * aep[-1] < clipped[-1] and len(aep) == 15


def test_credit_goes_back_and_naively_ahead(monkeypatch):
    monkeypatch.setattr(recipe, "CREDIT_REST", LONG)
    model, sequences = make()
    found = probes.credit(model, sequences[0], "\n abcde")
    names = {0: "↵", 1: "␣"}
    assert found.letters == [names.get(i, "\n abcde"[i]) for i in sequences[0, :-1].tolist()]
    shares = found.shares
    assert shares["AEP"] == pytest.approx(shares["exact"], abs=1e-3)
    assert shares["exact"][2] == pytest.approx(0, abs=1e-6) == shares["naive EP"][0]
    assert shares["naive EP"][2] > 0.01 < shares["exact"][0]


def test_memory_is_that_of_the_gradient_alone_and_grows_where_steps_are_kept(monkeypatch):
    monkeypatch.setattr(recipe, "COUNTS", (2, 4, 8))
    peaks = probes.memory(TEXT).peaks
    model = LanguageModel(recipe.corrected(TEXT), Generator().manual_seed(0))
    small = TEXT.sample(4, 32, Generator().manual_seed(1))
    two = Relaxation(2, 0.25)
    ways = {"BPTT": estimators.bptt, "AEP": Nudged("full", 2.0, two), "adjoint": Implicit(two)}
    for kind, way in ways.items():
        work = measure.with_relaxation(model, two), small, way
        held = cost.peak_bytes(lambda work=work: measure.attention_gradient(*work)) / 2**20
        assert peaks[kind][0] == pytest.approx(held, rel=0.02)
        assert kind == "BPTT" or max(peaks[kind]) == pytest.approx(held, rel=0.02)
    few, more, most = peaks["BPTT"]
    assert most - more == pytest.approx(2 * (more - few), rel=0.05) and more > 1.3 * few


def test_where_weights_and_embeddings_are_loud_nothing_rests(monkeypatch):
    monkeypatch.setattr(recipe, "SCALES", (0.5, 1.5))
    monkeypatch.setattr(recipe, "SCALED_DAMPINGS", (1.0, 3.0))
    (quiet, loud), (still, deep) = probes.scaled(TEXT).left.values()
    assert max(quiet, still, deep) < 1e-3 < loud
    monkeypatch.setattr(recipe, "SPREADS", (0.02, 4.0))
    monkeypatch.setattr(recipe, "FINE", Relaxation(80, 0.05))
    monkeypatch.setattr(recipe, "PUBLISHED_LENGTH", 16)
    quiet, loud = probes.rests(TEXT)
    assert quiet.seems and quiet.rests and loud.seems and not loud.rests
    assert quiet.step == loud.step == 0.1 and loud.fine > 1e-3  # nor do shorter steps help


@pytest.mark.slow
def test_a_spectrum_is_that_of_one_jacobian():
    found = probes.spectrum(TEXT)
    assert found.free.real.max() < -0.5 and found.symmetric.max() > 0
    assert len(found.free) == len(found.symmetric) == len(found.antisymmetric) == 16 * 128
    # Traces: of the symmetric part that of J, of the antisymmetric part 0.
    torch.testing.assert_close(found.symmetric.sum(), found.free.real.sum())
    assert abs(found.antisymmetric.sum()) < 1e-8


@pytest.mark.slow
def test_longer_steps_and_one_side_are_no_worse_than_what_is_published():
    generator = torch.Generator().manual_seed(0)
    sequences = TEXT.sample(16, 64, generator)
    ways, exact = measure.ways_to_one_gradient(recipe.published(TEXT), sequences, generator)
    slow, quick = (measure.cosine(ways[k](), exact) for k in (probes.SLOWEST, probes.QUICKEST))
    assert quick >= slow
