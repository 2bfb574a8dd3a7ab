"""What simple rules can reach, by a loop that is written for each, and by counting."""

import itertools
import random
from collections import Counter

import pytest
import torch
from torch import Generator

from attn_notes.chapters.triple_product import checks, evidence, recipe, rules
from attn_notes.tasks.copying import Copying

TASK = Copying(3, 14, (5, 4))


def by_loop(x: dict[int, list[list[int]]], look: object) -> float:
    """The share right of a rule that names the positions it looks at; ties shared out.

    By period, in sequences of two: every letter of the copy but its first, each period alike.
    """
    shares = []
    for period, rows in x.items():
        right = []
        for row in rows:
            for i in range(period, 2 * period - 1):  # predicts row[i + 1]
                counted = Counter(row[s] for s in look(row, i))  # type: ignore[operator]
                most = max(counted.values(), default=0)
                best = [letter for letter, n in counted.items() if n == most]
                right.append((row[i + 1] in best) / len(best) if best else 0.0)
        shares.append(sum(right) / len(right))
    return sum(shares) / len(shares)


def two_periods(task: Copying, x: torch.Tensor) -> dict[int, list[list[int]]]:
    """What `rules.draw` has drawn, by period and no longer than two."""
    by_period = zip(task.periods, x.chunk(len(task.periods)), strict=True)
    return {period: rows[:, : 2 * period].tolist() for period, rows in by_period}


def after(row: list[int], i: int, letters: int = 1) -> list[int]:
    now = row[i - letters + 1 : i + 1]
    return [j + 1 for j in range(letters - 1, i) if row[j - letters + 1 : j + 1] == now]


RULES = {
    "places": lambda row, i: [i + 1 - p for p in (4, 5)],
    "last": lambda row, i: after(row, i)[-1:],
    "first": lambda row, i: after(row, i)[:1],
    "vote": after,
    "near": lambda row, i: [s for s in after(row, i) if i + 1 - s in (4, 5)],
    "two": lambda row, i: after(row, i, 2)[-1:],
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_right_as_often_as_a_loop_says(name: str) -> None:
    found = rules.reach(TASK, Generator().manual_seed(2), 300)
    x = two_periods(TASK, rules.draw(TASK, 300, Generator().manual_seed(2)).x)
    assert getattr(found, name) == pytest.approx(by_loop(x, RULES[name]), abs=1e-6)
    places = [
        by_loop(x, lambda row, i, d=d: [i + 1 - d] if d <= i + 1 else []) for d in range(1, 10)
    ]
    assert found.place == pytest.approx(max(places), abs=1e-6)


@pytest.mark.parametrize("letters", [1, 2, 3])
def test_followers_of_several_letters(letters: int) -> None:
    x = TASK.sample(50, Generator().manual_seed(3))
    sources = rules.followers(x, letters)
    for n, row in enumerate(x.tolist()):
        for i in range(letters - 1, len(row) - 1):
            assert sources[n, i].nonzero().flatten().tolist() == after(row, i, letters)


def test_one_distance_is_counted_exactly() -> None:
    """Against every sequence of a small task, each with its probability."""
    task, weights = Copying(2, 9, (2, 3, 4)), {2: 0.5, 3: 0.2, 4: 0.3}
    found = rules.by_distance(task, weights)
    for back in range(1, 9):
        right = 0.0
        for p, weight in weights.items():
            for start in itertools.product(range(2), repeat=p):
                row = [start[t % p] for t in range(9)]
                hits = [t >= back and row[t - back] == row[t] for t in range(4, 9)]
                right += weight * 2**-p * sum(hits) / len(hits)
        assert found[back - 1] == pytest.approx(right)


def test_of_two_periods_every_letter_of_the_copy_counts_but_its_first() -> None:
    """11 of the 23 predictions at period 12, and of a shorter one as many as it has."""
    drawn = rules.draw(Copying(16, 24, (12, 7)), 1, Generator().manual_seed(0))
    for period, counted in zip((12, 7), drawn.counted, strict=True):
        assert counted.nonzero()[:, 0].tolist() == [*range(period, 2 * period - 1)]


def test_the_best_score_of_the_open_exercise_is_the_best_there_is() -> None:
    """No spread of periods goes below it: 2,000 at random, and its own answer reaches it."""
    task = Copying(16, 24, checks.PERIODS)
    weights = torch.rand(2000, 12, generator=Generator().manual_seed(5), dtype=torch.float64)
    weights[:1000] **= 5
    for row in (weights / weights.sum(1, keepdim=True)).tolist():
        spread = dict(zip(checks.PERIODS, row, strict=True))
        assert max(rules.by_distance(task, spread)) >= checks.LEAST - 1e-9
    best = rules.by_distance(task, dict.fromkeys(range(7, 13), 1 / 6))
    assert max(best) == pytest.approx(checks.LEAST)


def test_weights_by_distance_find_what_a_distance_can_tell() -> None:
    """At one period that is all; of letters that are all alike nothing can be told apart."""
    draw = Generator().manual_seed(1)
    assert rules.reach(Copying(5, 12, (6,)), Generator().manual_seed(0), 100).fitted == 1
    counted = torch.ones(1000, 11, dtype=torch.bool)
    noise = [rules.Copies(4, torch.randint(4, (1000, 12), generator=draw), counted) for _ in "ab"]
    even = rules.fitted(*noise)
    assert even == pytest.approx(1 / 4, abs=0.03)  # 11,000 predictions, more than 7 deviations


def test_weights_at_every_place_find_what_a_place_can_tell() -> None:
    """The source stands two back at even places, three back at odd ones: no one distance serves."""
    draw = Generator().manual_seed(5)
    rows = torch.randint(50, (600, 3), generator=draw)
    for t in range(3, 12):
        source = rows[:, t - (2 if t % 2 == 0 else 3)]
        rows = torch.cat([rows, source[:, None]], 1)
    counted = torch.zeros(300, 11, dtype=torch.bool)
    counted[:, 2:] = True
    given, fresh = (rules.Copies(50, part, counted) for part in rows.chunk(2))
    assert rules.fitted(given, fresh, places=True) == pytest.approx(1, abs=0.01)


@pytest.mark.slow
def test_what_is_recorded_of_the_rules() -> None:
    """By a loop of its own, on other sequences: 600 of a period, so to two digits."""
    draw = random.Random(1)
    for name, task in (("fixed", recipe.FIXED), ("random", recipe.RANDOM)):
        found = evidence.reach(name)
        x: dict[int, list[list[int]]] = {}
        for p in task.periods:
            starts = [[draw.randrange(16) for _ in range(p)] for _ in range(600)]
            x[p] = [start * 2 for start in starts]
        look = dict(RULES)
        look["places"] = lambda row, i, task=task: [i + 1 - p for p in task.periods if p <= i + 1]
        look["near"] = lambda row, i, task=task: [
            s for s in after(row, i) if i + 1 - s in task.periods
        ]
        for rule, looks in look.items():
            assert getattr(found, rule) == pytest.approx(by_loop(x, looks), abs=0.02)
    # Six back serves the period 6, and elsewhere another fresh letter stands there.
    assert found.place == pytest.approx(1 / 7 + 6 / 7 / 16, abs=0.01)
    assert found.matched > found.near > found.placed > found.fitted > found.place
    assert found.first > found.vote > found.last > found.place


@pytest.mark.slow
def test_the_fitted_rules_are_recorded_as_they_come_out() -> None:
    """On fewer sequences, fitted anew: a hundredth of what is recorded, or nearly."""
    draw, found = Generator().manual_seed(3), evidence.reach("random")
    given, fresh = (rules.draw(recipe.RANDOM, 400, draw) for _ in "ab")
    assert rules.fitted(given, fresh) == pytest.approx(found.fitted, abs=0.02)
    assert rules.fitted(given, fresh, match=True) == pytest.approx(found.matched, abs=0.01)
