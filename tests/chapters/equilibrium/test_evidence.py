"""What the chapter reads from its records and measures on its page."""

import math
from dataclasses import replace

import pooch
import pytest
import torch
from experiments import equilibrium as recorded
from torch import Generator, Tensor

from attn_notes.analysis import cost, results
from attn_notes.chapters.equilibrium import estimators, evidence, measure, probes, recipe
from attn_notes.chapters.equilibrium.estimators import Nudged
from attn_notes.models.equilibrium import LanguageModel, Relaxation
from attn_notes.tasks.text import FALLBACK, Text
from attn_notes.training.ensemble import Run

from . import made_up

TEXT = Text.read(FALLBACK)


def settings(name: str) -> results.Record:
    return results.load(f"equilibrium_{name}")["settings"]


def test_the_records_are_of_the_recipe() -> None:
    sizes = {"length": recipe.LENGTH}
    found = settings("training")
    counted = found.pop("counted")
    assert found == {
        **sizes,
        "validation pieces": recipe.JUDGED,
        **recorded.settings(recipe.SEEDS),
        "characters": 1_115_394,
    }
    for losses in counted.values():  # the more is counted, the less is lost
        assert [*losses] == [*recipe.ORDERS]
        assert [*losses.values()] == sorted(losses.values(), reverse=True)
    assert settings("ungoverned") == sizes | recorded.settings(recipe.UNGOVERNED_SEEDS)
    assert settings("gradients") == {
        "seeds": recipe.GRADIENT_SEEDS,
        "batch": recipe.PUBLISHED_BATCH,
        "length": recipe.PUBLISHED_LENGTH,
        "steps": [*recipe.GRADIENT_STEPS],
        "betas": [*recipe.NUDGES],
        "step": recipe.GRADIENT_STEP,
    }


def test_what_is_recorded_is_read_as_it_stands() -> None:
    record = results.load("equilibrium_training")["runs"]
    training = evidence.training()
    assert list(training.curves) == list(recipe.ESTIMATORS) == list(record)
    assert training.seeds == recipe.SEEDS
    for kind, run in record.items():
        assert training.curves[kind].tolist() == run["loss"]
        assert training.ends[kind].tolist() == [member["loss"] for member in run["members"]]
        assert training.cosines[kind].tolist() == [member["cosine"] for member in run["members"]]
        assert training.texts[kind] == run["text"] and len(run["text"]) == recipe.WRITTEN
    assert training.counted == settings("training")["counted"]["judged"]
    assert training.parameters == sum(p.numel() for p in evidence.trained()[0].parameters())
    ungoverned, runs = evidence.ungoverned(), results.load("equilibrium_ungoverned")["runs"]
    assert {f"{kind}, c = {c}" for kind, c in ungoverned.curves} == set(runs)
    assert ungoverned.seeds == recipe.UNGOVERNED_SEEDS
    for (kind, c), curves in ungoverned.curves.items():
        told = [[None if math.isnan(v) else v for v in row] for row in curves.tolist()]
        assert told == runs[f"{kind}, c = {c}"]["loss"]
    assert ungoverned.curves["AEP", 1].isnan().any()
    gradients, kept = evidence.gradients(), results.load("equilibrium_gradients")["runs"]
    for correction, members in gradients.cosines.items():
        assert members.tolist() == [run["cosine"] for run in kept[correction]]
        assert gradients.wholes[correction].tolist() == [run["whole"] for run in kept[correction]]
        assert gradients.lengths[correction].tolist() == [run["length"] for run in kept[correction]]
        assert gradients.at(correction, 20)[0] == kept[correction][0]["cosine"][3]
    assert (gradients.double.tolist(), gradients.single.tolist()) == (
        kept["beta"], kept["precision"],
    )  # fmt: skip


def test_a_seed_has_run_away_once_it_was_lost() -> None:
    curves = torch.tensor([[4.2, 4.2, 4.2, 4.2], [2.6, 9.0, 2.7, math.nan], [2.5, 2.4, 4.39, 2.4]])
    found = replace(evidence.ungoverned(), curves={("AEP", 3): curves.double()})
    assert found.ran_away("AEP", 3) == 2  # one was caught again, one came to no number
    assert found.ends("AEP", 3).tolist() == pytest.approx([2.5, 2.4, 4.39, 2.4])


def test_the_ungoverned_runs_take_steps_that_suit_their_damping() -> None:
    """ε = 1 / (1 + c), so that without attention one step is all the way."""
    corrected = recipe.corrected(TEXT)
    assert recipe.damped(corrected, 3) == corrected
    assert recipe.damped(corrected, 1) == replace(
        corrected, damping=1.0, relaxation=Relaxation(16, 0.5)
    )
    assert recipe.stepped("AEP", 3) == estimators.AEP
    assert recipe.stepped("naive EP", 1) == Nudged("none", 10.0, Relaxation(8, 0.5))
    assert recipe.stepped("BPTT", 1) is estimators.bptt


def test_where_the_whole_text_cannot_be_had_the_excerpt_is_read(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object, **__: object) -> str:
        raise OSError("no network")

    monkeypatch.setattr(pooch, "retrieve", nothing)
    text, excerpt = evidence.read_text()
    assert excerpt and text == TEXT
    monkeypatch.setattr(pooch, "retrieve", lambda *_, **__: str(FALLBACK))
    assert evidence.read_text() == (TEXT, False)


@pytest.mark.slow
def test_what_is_live_is_held_against_counting_on_the_same_pieces() -> None:
    weights = {name: p.detach()[None] for name, p in untrained().named_parameters()}
    buffers = {name: b[None] for name, b in untrained().named_buffers()}
    seen = {"loss": torch.tensor([[4.0, 9], [3.0, 9]])}
    run = Run(weights, buffers, torch.tensor([0, 2]), seen, 1.0, untrained())
    counted = evidence.yardsticks(TEXT, True)
    live = evidence.live(run, TEXT, counted)
    assert live.steps == [0, 2] and live.losses.tolist() == [4.0, 3.0] and live.end == 3.0
    assert live.excerpt and live.text == measure.written(untrained(), TEXT)
    assert counted.nothing == pytest.approx(math.log(62))
    for name, order in {"one": 1, "pairs": 2, "threes": 3, "fives": 5}.items():
        assert counted.counted[name] == pytest.approx(measure.count_loss(TEXT, order, 32, 128))
    values = [*counted.counted.values()]
    assert values == sorted(values, reverse=True)


def test_a_recorded_model_is_what_was_trained() -> None:
    """It predicts as well as its record says, on pieces that the record holds."""
    model, characters = evidence.trained()
    assert len(characters) == model.config.vocabulary == 65
    assert evidence.pieces().shape == (2, recipe.LENGTH + 1)
    loss = measure.losses(model, evidence.pieces()).mean().item()
    assert abs(loss - evidence.training().ends["AEP"][0]) < 0.5  # two pieces only
    assert loss < math.log(65) - 1


def test_the_records_of_what_was_looked_into() -> None:
    """Recorded once, each is read back into the values that the probes measure."""
    rates, credit = evidence.rates(), evidence.credit()
    assert [*rates.by_steps] == ["AEP", "AEP, clipped", "naive EP"]
    assert [*rates.betas] == [*recipe.BETAS] and [*rates.steps] == [*recipe.RATE_STEPS]
    assert all(len(errors) == len(rates.steps) for errors in rates.by_steps.values())
    assert [*credit.maps] == ["exact", "AEP", "naive EP"] and len(credit.letters) == recipe.SHORT
    assert credit.shares["exact"][2] == pytest.approx(0, abs=1e-6)
    spectrum = evidence.spectrum()
    assert spectrum.free.is_complex() and len(spectrum.free) == len(spectrum.symmetric)
    assert [rest.spread for rest in evidence.rests()] == [*recipe.SPREADS]
    assert [*evidence.scaled().left] == [*recipe.SCALED_DAMPINGS]
    assert [*evidence.settling().left] == [*recipe.WAYS_TO_REST]
    assert {probes.SLOWEST, probes.QUICKEST, *probes.NOT_AEP} < set(evidence.costs().seconds)
    assert [*evidence.memory().counts] == [*recipe.COUNTS]


@pytest.mark.slow
def test_a_recorded_rate_comes_out_again() -> None:
    """Of the recorded trained model, on the recorded pieces."""
    model, enough = evidence.trained()[0], recipe.ENOUGH
    double = measure.with_relaxation(model, enough).double()
    true = measure.attention_gradient(double, evidence.pieces(), estimators.Implicit(enough))
    nudged = Nudged("full", recipe.BETAS[-1], enough, symmetric=False)
    error = measure.relative_error(
        measure.attention_gradient(double, evidence.pieces(), nudged), true
    )
    assert error == pytest.approx(evidence.rates().by_beta["one side"][-1], rel=1e-3)


def test_what_rests_and_what_seems_to() -> None:
    for left, seems, rests in ((5e-4, True, True), (5e-2, True, False), (0.5, False, False)):
        rest = probes.Rest(4.0, left, left, 0.1)
        assert (rest.seems, rest.rests) == (seems, rests)


def test_evaluations_until_it_rests() -> None:
    found = probes.Settling({"quick": torch.tensor([1.0, 0.1, 9e-4, 1e-5])})
    assert found.needed("quick") == 2
    with pytest.raises(ValueError, match=r"with long the force never falls to 0\.001"):
        probes.Settling({"long": torch.tensor([1.0, 0.1])}).needed("long")


def test_falling_is_where_it_falls_evenly() -> None:
    rates = made_up.rates(factor=0.6)
    assert all(5e-10 < error < 1e-6 for _, error in rates.falling) and len(rates.falling) > 4
    assert rates.factor == pytest.approx(0.6)
    assert rates.orders == pytest.approx({"one side": 1, "both sides": 2})
    assert math.isnan(made_up.rates(factor=1.0).factor)


def untrained() -> LanguageModel:
    return LanguageModel(recipe.corrected(TEXT), Generator().manual_seed(0))


def test_memory_is_that_of_the_gradient_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "COUNTS", (4,))
    model = untrained()
    found = probes.memory(TEXT)
    relaxation = Relaxation(4, 0.25)
    stepped = measure.with_relaxation(model, relaxation)
    small = TEXT.sample(4, 32, Generator().manual_seed(1))
    ways = {
        "BPTT": estimators.bptt,
        "AEP": Nudged("full", 2.0, relaxation),
        "adjoint": estimators.Implicit(relaxation),
    }
    for kind, way in ways.items():

        def work(way: estimators.Estimator = way) -> Tensor:
            return measure.attention_gradient(stepped, small, way)

        assert found.peaks[kind] == [pytest.approx(cost.peak_bytes(work) / 2**20, rel=0.02)]


@pytest.mark.slow
def test_a_spectrum_is_that_of_one_jacobian() -> None:
    """The published block is stable, and its symmetric part is not."""
    found = probes.spectrum(TEXT)
    assert found.free.real.max() < -0.5 and found.symmetric.max() > 0
    assert len(found.free) == len(found.symmetric) == len(found.antisymmetric) == 16 * 128
    # Traces: of the symmetric part that of J, of the antisymmetric part 0.
    torch.testing.assert_close(found.symmetric.sum(), found.free.real.sum())
    assert abs(found.antisymmetric.sum()) < 1e-8
    assert found.antisymmetric.max() == pytest.approx(-found.antisymmetric.min().item())


@pytest.mark.slow
def test_what_the_page_measures_on_a_model() -> None:
    """On an untrained block: exact credit and AEP's agree, and the naive one's is elsewhere."""
    found = probes.credit(untrained(), TEXT.held_out(16)[9], TEXT.characters)
    assert len(found.letters) == 16 and not {" ", "\n"} & set(found.letters)
    shares = found.shares
    assert shares["AEP"] == pytest.approx(shares["exact"], abs=0.01)
    assert shares["exact"][2] == pytest.approx(0, abs=1e-6) == shares["naive EP"][0]
    assert shares["naive EP"][2] > 0.01
    rates = probes.rates(untrained(), measure.spread(TEXT.held_out(32), 2))
    assert rates.orders == pytest.approx({"one side": 1, "both sides": 2}, rel=0.1)
    assert rates.factor == pytest.approx(rates.radius, rel=0.1)
    assert min(rates.by_steps["naive EP"]) > 1e3 * rates.by_steps["AEP"][-1]


@pytest.mark.slow
def test_what_the_page_measures_of_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "SPREADS", (0.02, 4.0))
    quiet, loud = probes.rests(TEXT)
    assert quiet.seems and quiet.rests and loud.seems and not loud.rests
    assert loud.fine > 1e-3  # nor do short steps bring it to rest
    monkeypatch.setattr(recipe, "SCALES", (0.5, 1.5))
    for c, (small, large) in probes.scaled(TEXT).left.items():
        assert small < 1e-3 and (large < 1e-3) == (c >= 3)
    settling = probes.settling(TEXT)
    assert [*settling.left] == [*recipe.WAYS_TO_REST]
    assert settling.needed("ε = 0.1") > 3 * settling.needed("ε = 0.5")


def test_where_aep_ends_lower_it_is_below_bptt() -> None:
    found = evidence.training()
    lower = found.ends["AEP"] < found.ends["BPTT"]
    assert lower.any() and torch.equal(found.apart < 0, lower)
