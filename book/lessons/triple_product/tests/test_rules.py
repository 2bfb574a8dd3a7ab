"""What simple rules can reach, by loops and counting; what is measured of known models."""

import itertools
import math
import random
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Generator, Tensor
from torch.testing import assert_close

from attn_notes.models.triple_product import AttentionOnly, Config, expanded_volume
from attn_notes.tasks.copying import Copying
from attn_notes.training.ensemble import Run
from book.lessons.triple_product import evidence, explorer, learnt, measure, recipe, rules
from book.lessons.triple_product.checks import LEAST, PERIODS
from book.lessons.triple_product.geometry import against_stranger, spreads
from book.lessons.triple_product.learnt import Runs

TASK = Copying(3, 14, (5, 4))
Rows = dict[int, list[list[int]]]
"""Sequences of two periods, by period."""
Look = Callable[[list[int], int, Sequence[int]], list[int]]
"""The places that a rule looks at, of a row, the position that asks, and the possible periods."""


def by_loop(x: Rows, look: Look) -> float:
    """The share right, ties shared out, of the letters of a copy but its first, by period alike."""
    shares = []
    for period, rows in x.items():
        right = []
        for row, i in itertools.product(rows, range(period, 2 * period - 1)):
            best = statistics.multimode(row[s] for s in look(row, i, [*x]))
            right.append((row[i + 1] in best) / len(best) if best else 0.0)
        shares.append(statistics.mean(right))
    return statistics.mean(shares)


def at(distances: Sequence[int]) -> Look:
    return lambda row, i, periods: [i + 1 - d for d in distances or periods if d <= i + 1]


def after(row: list[int], i: int, letters: int = 1) -> list[int]:
    now = row[i - letters + 1 : i + 1]
    return [j + 1 for j in range(letters - 1, i) if row[j - letters + 1 : j + 1] == now]


RULES: dict[str, Look] = {
    "places": at(()),
    "last": lambda row, i, _: after(row, i)[-1:],
    "first": lambda row, i, _: after(row, i)[:1],
    "vote": lambda row, i, _: after(row, i),
    "near": lambda row, i, periods: [s for s in after(row, i) if i + 1 - s in periods],
    "two": lambda row, i, _: after(row, i, 2)[-1:],
}


def test_a_rule_is_right_as_often_as_a_loop_says() -> None:
    found = rules.reach(TASK, Generator().manual_seed(2), 300)
    drawn = rules.draw(TASK, 300, Generator().manual_seed(2)).x.chunk(2)
    x = {p: rows[:, : 2 * p].tolist() for p, rows in zip(TASK.periods, drawn, strict=True)}
    for name, look in RULES.items():
        assert getattr(found, name) == pytest.approx(by_loop(x, look), abs=1e-6), name
    best = max(by_loop(x, at([back])) for back in range(1, 10))
    assert found.place == pytest.approx(best, abs=1e-6)


def test_one_distance_is_counted_exactly() -> None:
    task, weights = Copying(2, 9, (2, 3, 4)), {2: 0.5, 3: 0.2, 4: 0.3}
    found = rules.by_distance(task, weights)
    rows = [(p, x) for p in weights for x in itertools.product(range(2), repeat=p)]
    for back in range(1, 9):
        right = 0.0
        for p, x in rows:
            hits = [t >= back and x[(t - back) % p] == x[t % p] for t in range(4, 9)]
            right += weights[p] * 2**-p * statistics.mean(hits)
        assert found[back - 1] == pytest.approx(right)


def test_the_best_score_of_the_open_exercise_is_the_best_there_is() -> None:
    """No spread of periods goes below it: 2,000 at random, and its own answer reaches it."""
    task = Copying(16, 24, PERIODS)

    def score(weights: Sequence[float]) -> float:
        return max(rules.by_distance(task, dict(zip(PERIODS, weights, strict=True))))

    weights = torch.rand(2000, 12, generator=Generator().manual_seed(5), dtype=torch.float64)
    weights[:1000] **= 5
    assert min(map(score, (weights / weights.sum(1, True)).tolist())) >= LEAST - 1e-9
    assert score([0.0] * 6 + [1 / 6] * 6) == pytest.approx(LEAST)


def test_weights_by_distance_find_what_a_distance_can_tell() -> None:
    draw = Generator().manual_seed(1)
    assert rules.reach(Copying(5, 12, (6,)), Generator().manual_seed(0), 100).fitted == 1
    counted = torch.ones(1000, 11, dtype=torch.bool)
    noise = [rules.Copies(4, torch.randint(4, (1000, 12), generator=draw), counted) for _ in "ab"]
    # 11,000 predictions, more than 7 deviations
    assert rules.fitted(*noise) == pytest.approx(1 / 4, abs=0.03)


def test_weights_at_every_place_find_what_a_place_can_tell() -> None:
    """The source stands two back at even places, three back at odd ones: no one distance serves."""
    rows = torch.randint(50, (600, 12), generator=Generator().manual_seed(5))
    for t in range(3, 12):
        rows[:, t] = rows[:, t - (2 if t % 2 == 0 else 3)]
    counted = torch.zeros(300, 11, dtype=torch.bool)
    counted[:, 2:] = True
    given, fresh = (rules.Copies(50, part, counted) for part in rows.chunk(2))
    assert rules.fitted(given, fresh, places=True) == pytest.approx(1, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task"), [("fixed", recipe.FIXED), ("random", recipe.RANDOM)])
def test_what_is_recorded_of_the_rules(name: str, task: Copying) -> None:
    draw, found = random.Random(1), evidence.reach(name)
    x = {p: [draw.choices(range(16), k=p) * 2 for _ in range(600)] for p in task.periods}
    for rule, look in RULES.items():
        assert getattr(found, rule) == pytest.approx(by_loop(x, look), abs=0.02), rule


@pytest.mark.slow
def test_the_fitted_rules_are_recorded_as_they_come_out() -> None:
    """On fewer sequences, fitted anew: a hundredth of what is recorded, or nearly."""
    draw, found = Generator().manual_seed(3), evidence.reach("random")
    given, fresh = (rules.draw(recipe.RANDOM, 400, draw) for _ in "ab")
    assert rules.fitted(given, fresh) == pytest.approx(found.fitted, abs=0.02)
    assert rules.fitted(given, fresh, match=True) == pytest.approx(found.matched, abs=0.01)
    # Six back serves the period 6, and elsewhere another fresh letter stands there.
    assert found.place == pytest.approx(1 / 7 + 6 / 7 / 16, abs=0.01)


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
    fixed, shared = against_stranger(False, 3), against_stranger(True, 3)
    for shares, leak in ((fixed, 0.5), (shared, 50.0)):  # the last leak, a stranger of 100
        right = 1 / (1 + math.exp(leak - 0.5**0.5))
        assert shares.of["dot"][-1, -1] == pytest.approx(right, abs=1e-4)
        assert shares.of["volume"][0, 0] == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-4)


def test_the_spread_of_the_volume_is_the_one_in_closed_form() -> None:
    """det G of three normal vectors is a product of χ² with d, d − 1 and d − 2 degrees."""
    for s in spreads():
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
