import itertools
import math
from collections import Counter

import pytest
import torch
from torch import Generator
from torch.testing import assert_close

from attn_notes.tasks import copying, prediction
from attn_notes.tasks.copying import Copying


def enumerate_task(task):
    found = Counter()
    for p in task.periods:
        for start in itertools.product(range(task.vocabulary), repeat=p):
            whole = (start * task.length)[: task.length]
            found[whole] += 1 / task.vocabulary**p / len(task.periods)
    return found


def exact_floor(sequences):
    """H(x) − H(first token), a predicted token, by counting."""
    first = Counter()
    for x, probability in sequences.items():
        first[x[0]] += probability
    whole, one = (-sum(p * math.log(p) for p in each.values()) for each in (sequences, first))
    return (whole - one) / (len(x) - 1)


COUNTED = {(2, 8, (2, 4)): 0.25238, (2, 5, (1, 2)): 0.1406, (7, 13, (3, 5)): 0.544155}
SMALL = [
    Copying(3, 7, (3,)),
    Copying(2, 11, (2, 3, 5)),
    Copying(3, 9, (4, 2)),
    Copying(5, 5, (1, 3)),
    *(Copying(*sizes) for sizes in [*COUNTED][:2]),
    Copying(2, 9, (8, 6, 4, 3)),
    Copying(2, 7, (1, 2, 3, 4, 5, 6)),
]


@pytest.mark.parametrize("task", SMALL)
def test_the_floor_is_exact(task):
    """Against every sequence written out, and the best predictor on each of them."""
    sequences = enumerate_task(task)
    exact = exact_floor(sequences)
    assert task.floor == pytest.approx(exact, rel=1e-12)
    x = torch.tensor([*sequences])
    losses = prediction.token_losses(task.ideal(x[:, :-1]), x).mean(1)
    assert (torch.tensor([*sequences.values()]) @ losses).item() == pytest.approx(exact, rel=1e-5)


def test_floors_that_others_have_counted_and_those_of_long_and_of_all_periods():
    for sizes, floor in COUNTED.items():
        assert Copying(*sizes).floor == pytest.approx(floor, abs=10.0 ** (2 - len(str(floor))) / 2)
    # A sequence is hardly ever of two periods, and then its period is told by its tokens at once.
    for task in (Copying(16, 24, tuple(range(6, 13))), Copying(1000, 420, (150, 200))):
        fresh = sum(p - 1 for p in task.periods) / len(task.periods)
        one_each = fresh * math.log(task.vocabulary) + math.log(len(task.periods))
        assert task.floor == pytest.approx(one_each / (task.length - 1))  # 1000^-150 is no double
    many = Copying(3, 18, tuple(range(1, 18)))  # every period there is
    assert 0 < many.floor < (8 * math.log(3) + math.log(17)) / 17


@pytest.mark.parametrize("task", SMALL)
def test_samples_follow_the_enumerated_distribution(task):
    n = 20_000
    drawn = Counter(map(tuple, task.sample(n, Generator().manual_seed(5)).tolist()))
    sequences = enumerate_task(task)
    assert drawn.keys() <= sequences.keys()
    for x, probability in sequences.items():
        deviation = math.sqrt(n * probability * (1 - probability))
        assert abs(drawn[x] - n * probability) < 5 * deviation + 1


def test_the_best_predictor_reads_no_future_and_settles_with_the_largest_period():
    task = SMALL[1]
    x = task.sample(13, Generator().manual_seed(3))
    for t in range(1, task.length):
        assert torch.equal(task.ideal(x)[:, :t], task.ideal(x[:, :t]))
    task = Copying(31, 13, (3, 5))
    x = task.sample(300, Generator().manual_seed(6))
    losses = prediction.token_losses(task.ideal(x[:, :-1]), x)
    assert losses[:, task.settled].max() < 0.01
    assert losses[:, : task.settled.start].mean(0).min() > 0.1


def test_the_best_predictor_of_long_periods_and_of_impossible_texts():
    task = Copying(1000, 420, (150, 200))  # 1000^-150 is no double
    x = task.sample(3, Generator().manual_seed(1))
    losses = prediction.token_losses(task.ideal(x[:, :-1]), x)
    assert_close(losses[:, :148], torch.full((3, 148), math.log(1000)))
    assert losses[:, task.settled].max() < 0.01
    impossible = Copying(5, 9, (2,)).ideal(torch.tensor([[0, 1, 2, 3]]))
    assert_close(impossible[0, 2:], torch.full((2, 5), math.log(1 / 5)))


def test_probe_knows_a_perfect_and_a_clueless_model():
    task = Copying(17, 23, (5, 7, 11))
    x = task.sample(500, Generator().manual_seed(4))
    best, even = task.probe(task.ideal, x), task.probe(lambda x: torch.zeros(*x.shape, 17), x)
    assert best["accuracy"] > 0.999 and even["loss"].item() == pytest.approx(math.log(17))
    assert_close(copying.loss(task.ideal, x), best["loss"])
