"""The source made of a text: what is drawn, and what its best predictor loses, by enumeration."""

import math
from collections import Counter
from itertools import product

import pytest
import torch
from torch import Generator

from book.page.bench.shannon import Ring

RING = Ring("abracadabra", 5)
LETTERS = "abcdr"


def chance(letters: str) -> float:
    """How probable a sequence is: a place of the ring, then for each letter a place alike."""
    size = len(RING.text)
    twice = RING.text * 2
    places = [i for i in range(size) if twice[i] == letters[0]]
    share = len(places) / size
    for t in range(1, len(letters)):
        before, letter = letters[max(0, t - 2) : t], letters[t]
        alike = [i for i in range(size) if twice.startswith(before, i)]
        if not alike:
            return 0.0
        share *= sum(twice[i + len(before)] == letter for i in alike) / len(alike)
    return share


ALL = {x: chance(x) for x in map("".join, product(LETTERS, repeat=RING.length))}


def test_its_chances_are_those_of_a_source() -> None:
    assert RING.letters == LETTERS
    assert math.isclose(sum(ALL.values()), 1)


def test_the_floor_is_the_entropy_of_all_but_the_first_letter() -> None:
    first = Counter(RING.text)
    given = {x: p for x, p in ALL.items() if p > 0}
    loss = -sum(p * math.log(p / (first[x[0]] / len(RING.text))) for x, p in given.items())
    assert math.isclose(RING.floor, loss / (RING.length - 1))


def test_the_best_predictor_loses_what_its_chances_say() -> None:
    for x, p in ALL.items():
        if p > 0:
            row = torch.tensor([[LETTERS.index(letter) for letter in x]])
            found = float(RING.losses(row).double().sum())
            first = RING.text.count(x[0]) / len(RING.text)
            assert math.isclose(found, -math.log(p / first), rel_tol=1e-5, abs_tol=1e-6)


def test_sequences_are_drawn_by_their_chances() -> None:
    n = 20_000
    drawn = Counter(map(tuple, RING.sample(n, Generator().manual_seed(0)).tolist()))
    for x, p in ALL.items():
        off = drawn[tuple(LETTERS.index(letter) for letter in x)] / n - p
        assert abs(off) <= 5 * math.sqrt(p * (1 - p) / n)


@pytest.mark.parametrize("text", ["ab", "aab"])
def test_a_ring_in_which_all_is_known_costs_nothing_after_two_letters(text: str) -> None:
    ring = Ring(text, 6)
    assert float(ring.losses(ring.sample(8, Generator().manual_seed(0)))[:, 1:].max()) == 0
