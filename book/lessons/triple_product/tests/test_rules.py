"""What simple rules can reach, by loops and counting; what is read off learnt heads."""

import itertools
import random
import statistics
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Generator
from torch.testing import assert_close

from attn_notes.models.triple_product import AttentionOnly
from attn_notes.tasks.copying import Copying
from attn_notes.training.ensemble import Run
from book.lessons.triple_product import evidence, explorer, learnt, measure, recipe, rules
from book.lessons.triple_product.checks import LEAST, PERIODS
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


def test_a_rule_is_right_as_often_as_a_loop_says():
    found = rules.reach(TASK, Generator().manual_seed(2), 300)
    drawn = rules.draw(TASK, 300, Generator().manual_seed(2)).x.chunk(2)
    x = {p: rows[:, : 2 * p].tolist() for p, rows in zip(TASK.periods, drawn, strict=True)}
    for name, look in RULES.items():
        assert getattr(found, name) == pytest.approx(by_loop(x, look), abs=1e-6), name
    best = max(by_loop(x, at([back])) for back in range(1, 10))
    assert found.place == pytest.approx(best, abs=1e-6)


def test_one_distance_is_counted_exactly():
    task, weights = Copying(2, 9, (2, 3, 4)), {2: 0.5, 3: 0.2, 4: 0.3}
    found = rules.by_distance(task, weights)
    rows = [(p, x) for p in weights for x in itertools.product(range(2), repeat=p)]
    for back in range(1, 9):
        right = 0.0
        for p, x in rows:
            hits = [t >= back and x[(t - back) % p] == x[t % p] for t in range(4, 9)]
            right += weights[p] * 2**-p * statistics.mean(hits)
        assert found[back - 1] == pytest.approx(right)


def test_the_best_score_of_the_open_exercise_is_the_best_there_is():
    """No spread of periods goes below it: 2,000 at random, and its own answer reaches it."""
    task = Copying(16, 24, PERIODS)

    def score(weights: Sequence[float]) -> float:
        return max(rules.by_distance(task, dict(zip(PERIODS, weights, strict=True))))

    weights = torch.rand(2000, 12, generator=Generator().manual_seed(5), dtype=torch.float64)
    weights[:1000] **= 5
    assert min(map(score, (weights / weights.sum(1, True)).tolist())) >= LEAST - 1e-9
    assert score([0.0] * 6 + [1 / 6] * 6) == pytest.approx(LEAST)


def test_weights_by_distance_find_what_a_distance_can_tell():
    draw = Generator().manual_seed(1)
    assert rules.reach(Copying(5, 12, (6,)), Generator().manual_seed(0), 100).fitted == 1
    counted = torch.ones(1000, 11, dtype=torch.bool)
    noise = [rules.Copies(4, torch.randint(4, (1000, 12), generator=draw), counted) for _ in "ab"]
    # 11,000 predictions, more than 7 deviations
    assert rules.fitted(*noise) == pytest.approx(1 / 4, abs=0.03)


def test_weights_at_every_place_find_what_a_place_can_tell():
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
def test_what_is_recorded_of_the_rules(name, task):
    draw, found = random.Random(1), evidence.reach(name)
    x = {p: [draw.choices(range(16), k=p) * 2 for _ in range(600)] for p in task.periods}
    for rule, look in RULES.items():
        assert getattr(found, rule) == pytest.approx(by_loop(x, look), abs=0.02), rule


@pytest.mark.slow
def test_the_fitted_rules_are_recorded_as_they_come_out():
    """On fewer sequences, fitted anew: a hundredth of what is recorded, or nearly."""
    draw, found = Generator().manual_seed(3), evidence.reach("random")
    given, fresh = (rules.draw(recipe.RANDOM, 400, draw) for _ in "ab")
    assert rules.fitted(given, fresh) == pytest.approx(found.fitted, abs=0.02)
    assert rules.fitted(given, fresh, match=True) == pytest.approx(found.matched, abs=0.01)
    # Six back serves the period 6, and elsewhere another fresh letter stands there.
    assert found.place == pytest.approx(1 / 7 + 6 / 7 / 16, abs=0.01)


NOISE = torch.randint(16, (256, 23), generator=Generator().manual_seed(7))


@pytest.fixture(scope="module")
def untrained() -> Runs:
    settings = recipe.ONE | {"seeds": 2, "steps": 0}
    return measure.train_comparison(recipe.ONE_OF_EACH, recipe.FIXED, **settings)


def test_of_two_heads_the_one_that_looks_most_to_the_source_is_drawn(untrained):
    for kind, profile in learnt.offsets(untrained).items():
        for s, model in enumerate(learnt.members(untrained[kind])):
            _, attention = model.observe(NOISE)
            each = measure.by_offset(attention[:, 0].mean(0), slice(12, None))
            assert_close(profile[:, s], each[each[:, 11].argmax()])


def test_the_lowest_score_is_of_all_seeds_and_sharpness_their_mean(untrained):
    members = learnt.members(untrained["volume"])
    one, other = (measure.score_spread(model, NOISE) for model in members)
    lowest, sharpest = learnt.trained_scores(untrained)
    assert lowest == min(one["lowest"], other["lowest"])
    assert sharpest == pytest.approx((one["sharpest"] + other["sharpest"]) / 2)


def test_a_circuit_is_one_place_back_and_then_the_source():
    model = AttentionOnly(recipe.TWO_LAYERS["dot"], Generator().manual_seed(3))
    heads = measure.induction(model.observe, recipe.RANDOM, Generator().manual_seed(9))
    parameters = {name: p.detach()[None] for name, p in model.named_parameters()}
    run = Run(parameters, {}, torch.tensor([0]), {"loss": torch.zeros(1, 1)}, 0.0, model)
    found = learnt.circuits(dict.fromkeys(recipe.KINDS, run))
    assert found.previous["dot"].item() == pytest.approx(heads[0, :, 0].max().item())
    assert found.source["dot"].item() == pytest.approx(heads[1, :, 1].max().item())


@pytest.mark.slow
def test_the_widget_is_given_the_first_seed_of_what_was_trained(untrained):
    widget = explorer.copier()
    before = dict(widget.runs)
    explorer.load(widget, "one layer", untrained)
    assert [*widget.runs] == [*before] and {run["seeds"] for run in widget.runs.values()} == {1}
    for name, run in widget.runs.items():
        assert (run != before[name]) == name.startswith("one layer")
