"""What the lesson measures, of models whose every answer is known, and of vectors by hand."""

import math
from typing import Any

import pytest
import torch
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.models.triple_product import AttentionOnly, Config, expanded_volume
from attn_notes.tasks.copying import Copying
from attn_notes.training.ensemble import Run
from book.lessons.triple_product import explorer, geometry, learnt, measure, recipe
from book.lessons.triple_product.learnt import Runs


def test_wrong_signs_are_counted() -> None:
    """Stopping at zero mends the sign and not the digits; taking off the projection mends both."""

    def signs(form: str, d: int, loudness: float) -> tuple[float, float, float]:
        return measure.wrong_signs(form, d, loudness, 2000, Generator().manual_seed(3))

    share, low, high = signs("expanded", 16, 1000.0)
    assert 0.2 < share < 0.6 and low < -100 and high > 100
    for form, digits in (("projected", False), ("residual", True), ("stable", True)):
        share, low, high = signs(form, 16, 1000.0)
        assert share == 0 and high <= 0 and (low > -0.1) == digits
    once, louder = (signs("expanded", 16, loudness) for loudness in (1.0, 8.0))
    assert louder == pytest.approx((once[0], 64 * once[1], 64 * once[2]))  # a power of two
    assert signs("expanded", 64, 1.0)[2] < 4 ** (3 - 1.5) * 20 * once[2]
    # Rounding of the vectors themselves lifts a key by about 1e-7 of its length off the plane.
    assert signs("stable", 16, 1.0)[1] > -1e-9


def test_heads_are_widened_to_equal_parameters() -> None:
    dot, volume = (Config(score, width=24, heads=3, head_dim=16) for score in ("dot", "volume"))
    assert measure.with_parameters_of(dot, volume).d == 20  # 4 matrices of 20 for 5 of 16
    with pytest.raises(ValueError, match="no even dimension"):
        measure.with_parameters_of(volume, dot)


def test_a_stranger_takes_what_the_formula_says() -> None:
    """Dot product: friend 1/√2 against the leak. Volume: 0 against −length². Angle: β cos²."""
    fixed, shared = geometry.against_stranger(False, 3), geometry.against_stranger(True, 3)
    for shares, leak in ((fixed, 0.5), (shared, 50.0)):  # the last leak, a stranger of 100
        right = 1 / (1 + math.exp(leak - 0.5**0.5))
        assert shares.of["dot"][-1, -1] == pytest.approx(right, abs=1e-4)
        assert shares.of["volume"][0, 0] == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-4)


def test_the_spread_of_the_volume_is_the_one_in_closed_form() -> None:
    """det G of three normal vectors is a product of χ² with d, d − 1 and d − 2 degrees."""
    for s in geometry.spreads():
        of = s.d, s.d - 1, s.d - 2
        exact = math.sqrt(math.prod(d * (d + 2) for d in of) - math.prod(of) ** 2) / s.d**1.5
        assert exact == pytest.approx(s.exact)
        assert (s.volume, s.dot) == pytest.approx((exact, 1), rel=0.1)


def test_training_is_asked_for_as_one_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(measure, "train_kinds", lambda *_, **more: seen.update(more) or {})
    settings = {"seeds": 2, "steps": 7, "lr": 0.125, "warmup": 2, "probe_every": 3}
    measure.train_comparison({}, Copying(9, 11, (5,)), batch=13, **settings)
    assert settings.items() <= seen.items()
    with pytest.raises(ValueError, match="a has 16 tokens, the task 9"):
        measure.train_comparison({"a": Config()}, Copying(9, 11, (5,)), batch=13, **settings)


def test_offsets_are_counted_back() -> None:
    attention = torch.zeros(2, 7, 7)
    attention[0].diagonal(-2)[:] = 1
    attention[1] = torch.tril(torch.ones(7, 7)) / torch.arange(1, 8)[:, None]
    found = measure.by_offset(attention, slice(3, None))
    assert_close(found[0], torch.eye(7)[2])
    first, last = (1 / torch.tensor([4.0, 5, 6, 7])).mean(), torch.tensor(1 / 7 / 4)
    assert_close(found[1][[0, 6]], torch.stack([first, last]))
    assert_close(found.sum(1), torch.ones(2))


def test_induction_names_the_two_parts() -> None:
    def observe(x: Tensor) -> tuple[Tensor, Tensor]:
        attention = torch.zeros(len(x), 2, 1, x.shape[1], x.shape[1])
        for layer, back in enumerate((1, 3)):
            attention[:, layer].diagonal(-back, -2, -1)[:] = 1
        return torch.zeros(0), attention

    for periods, share in (((4,), 1.0), ((4, 6), 0.5)):
        found = measure.induction(observe, Copying(7, 13, periods), Generator().manual_seed(0), 5)
        assert_close(found[:, 0], torch.tensor([[1.0, 0], [0, share]]))


def test_score_spread_reads_causal_scores_only(generator: Generator) -> None:
    model = AttentionOnly(Config("volume"), generator)
    x = torch.randint(16, (3, 7), generator=generator)
    q, k, r, _ = model.layers[0].project(model.embedding(x))
    volumes = expanded_volume(q, k, r) / 64
    read = max(volumes[..., i, j].max().item() for i in range(7) for j in range(i + 1))
    sharpest = model.observe(x)[1].amax(-1).mean().item()
    found = measure.score_spread(model, x)
    assert found["lowest"] == pytest.approx(-read, rel=1e-3)
    assert found["sharpest"] == pytest.approx(sharpest)


@pytest.mark.parametrize("form", measure.FORMS)
def test_every_form_does_the_same_work(form: str, generator: Generator) -> None:
    q, k, r, v = torch.randn(4, 2, 3, 11, 6, generator=generator, dtype=torch.float64)
    expected = measure.mixer("dot" if "dot" in form else "expanded")(q, k, r, v)
    assert_close(measure.mixer(form)(q, k, r, v), expected)


def test_costs_are_measured_for_every_form_that_fits() -> None:
    generator = Generator().manual_seed(0)
    fits = measure.forward_backward(1, 1, measure.LONGEST_RESIDUAL, 2, generator)
    assert [*fits] == [*measure.FORMS]
    found = measure.cost_of_forms(1, 2, 521, 4, generator, repeats=1)
    assert [*found] == [form for form in measure.FORMS if form != "residual"]
    # The fused kernels never hold a score for every pair, all others do.
    matrix = 2 * 521 * 521 * 4
    for form, (seconds, peak) in found.items():
        assert seconds > 0 and (peak > matrix) == (form not in ("features", "fused dot")), form


NOISE = torch.randint(16, (256, 23), generator=Generator().manual_seed(7))


@pytest.fixture(scope="module")
def untrained() -> Runs:
    settings = recipe.ONE | {"seeds": 2, "steps": 0}
    return measure.train_comparison(recipe.ONE_OF_EACH, recipe.FIXED, **settings)


def test_of_two_heads_the_one_that_looks_most_to_the_source_is_drawn(untrained: Runs) -> None:
    for kind, profile in learnt.offsets(untrained).items():
        for s, model in enumerate(learnt.members(untrained[kind])):
            _, attention = model.observe(NOISE)
            each = measure.by_offset(attention[:, 0].mean(0), slice(12, None))
            assert_close(profile[:, s], each[each[:, 11].argmax()])


def test_the_lowest_score_is_of_all_seeds_and_sharpness_their_mean(untrained: Runs) -> None:
    members = learnt.members(untrained["volume"])
    one, other = (measure.score_spread(model, NOISE) for model in members)
    lowest, sharpest = learnt.trained_scores(untrained)
    assert lowest == min(one["lowest"], other["lowest"])
    assert sharpest == pytest.approx((one["sharpest"] + other["sharpest"]) / 2)


def test_a_circuit_is_one_place_back_and_then_the_source() -> None:
    model = AttentionOnly(recipe.TWO_LAYERS["dot"], Generator().manual_seed(3))
    heads = measure.induction(model.observe, recipe.RANDOM, Generator().manual_seed(9))
    parameters = {name: p.detach()[None] for name, p in model.named_parameters()}
    run = Run(parameters, {}, torch.tensor([0]), {"loss": torch.zeros(1, 1)}, 0.0, model)
    found = learnt.circuits(dict.fromkeys(recipe.KINDS, run))
    assert found.previous["dot"].item() == pytest.approx(heads[0, :, 0].max().item())
    assert found.source["dot"].item() == pytest.approx(heads[1, :, 1].max().item())


@pytest.mark.slow
def test_the_widget_is_given_the_first_seed_of_what_was_trained(untrained: Runs) -> None:
    widget = explorer.copier()
    before = dict(widget.runs)
    explorer.load(widget, "one layer", untrained)
    assert [*widget.runs] == [*before] and {run["seeds"] for run in widget.runs.values()} == {1}
    for name, run in widget.runs.items():
        assert (run != before[name]) == name.startswith("one layer")
