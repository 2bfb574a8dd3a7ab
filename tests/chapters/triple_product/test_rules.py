"""What simple rules can reach, by a loop that is written for each, and by counting."""

import itertools
import random
from collections import Counter

import pytest
import torch
from torch import Generator

from attn_notes.chapters.triple_product import recipe, rules
from attn_notes.tasks.copying import Copying

TASK = Copying(3, 14, (5, 4))


def by_loop(task: Copying, x: list[list[int]], look: object) -> float:
    """The share right of a rule that names the positions it looks at; ties shared out."""
    right = []
    for row in x:
        for i in range(task.settled.start, len(row) - 1):  # predicts row[i + 1]
            counted = Counter(row[s] for s in look(row, i))  # type: ignore[operator]
            most = max(counted.values(), default=0)
            best = [letter for letter, n in counted.items() if n == most]
            right.append((row[i + 1] in best) / len(best) if best else 0.0)
    return sum(right) / len(right)


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
    x = TASK.sample(300, Generator().manual_seed(2)).tolist()
    assert getattr(found, name) == pytest.approx(by_loop(TASK, x, RULES[name]), abs=1e-6)


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


def test_weights_by_distance_find_what_a_distance_can_tell() -> None:
    """At one period that is all; of letters that are all alike nothing can be told apart."""
    assert rules.reach(Copying(5, 12, (6,)), Generator().manual_seed(0), 100).fitted == 1
    x = torch.randint(4, (2000, 12), generator=Generator().manual_seed(1))
    even = rules.fitted(Copying(4, 12, (6,)), x[:1000], x[1000:])
    assert even == pytest.approx(1 / 4, abs=0.03)  # 6,000 predictions, more than 5 deviations


def test_what_the_chapter_says_that_rules_reach() -> None:
    """By a loop of its own, on other sequences: 6,000, so to two digits or nearly."""
    draw = random.Random(1)
    for task in (recipe.FIXED, recipe.RANDOM):
        found = rules.reach(task, Generator().manual_seed(13), 1500)
        x = []
        for _ in range(1500):
            p = draw.choice(task.periods)
            start = [draw.randrange(16) for _ in range(p)]
            x.append([start[t % p] for t in range(24)])
        look = dict(RULES)
        look["places"] = lambda row, i, task=task: [i + 1 - p for p in task.periods]
        look["near"] = lambda row, i, task=task: [
            s for s in after(row, i) if i + 1 - s in task.periods
        ]
        for name, rule in look.items():
            assert getattr(found, name) == pytest.approx(by_loop(task, x, rule), abs=0.03)
    assert found.place == pytest.approx(2 / 7 + 5 / 7 / 16)  # 12 back serves 6 and 12
    assert found.near > found.vote > found.last > found.place
