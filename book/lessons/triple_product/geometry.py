"""What the three scores make of vectors, with nothing trained, as values: no sentence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from attn_notes.models.triple_product import (
    VOLUMES,
    cos2_to_plane,
    stable_volume,
)
from book.lessons.triple_product import measure, recipe

# --- One determinant, several ways


class Rounding(NamedTuple):
    """What a form makes of keys in the plane: share of negative volumes, lowest, highest score."""

    negative: float
    lowest: float
    highest: float


LOUD = (1.0, 1000.0)  # what the keys are multiplied by
KEYS, WIDTH = 4000, 16  # how many of them, and of how many numbers each


def rounding() -> dict[str, dict[float, Rounding]]:
    """Form → loudness of the keys → what rounding makes of keys in the plane."""
    return {
        form: {
            loudness: Rounding(
                *measure.wrong_signs(form, WIDTH, loudness, KEYS, Generator().manual_seed(3))
            )
            for loudness in LOUD
        }
        for form in VOLUMES
    }


# --- Loud strangers, loud friends and whispers


class Key(NamedTuple):
    """A key of the source's scene and its three scores, unscaled."""

    name: str
    length: float
    dot: float
    volume: float
    angle: float


@dataclass(frozen=True)
class Resilience:
    """The source's table, its friend first, and the dot product where the leak is a share."""

    keys: Sequence[Key]
    shared: Mapping[float, float]  # length of the stranger → its dot product

    @property
    def strangers(self) -> Sequence[Key]:
        """Without the friend."""
        return self.keys[1:]


def resilience() -> Resilience:
    """The source's scene."""
    keys = []
    for i, (length, dot, volume) in enumerate(measure.resilience_table()):
        s = measure.scene(length)
        k = s.stranger if i else s.friend
        angle = measure.single_score("angle", s.q, k, s.r)
        keys.append(Key("stranger" if i else "friend", length, dot, volume, angle))
    shared = {}
    for key in keys[1:]:
        s = measure.scene(key.length, leak_scales=True)
        shared[key.length] = measure.single_score("dot", s.q, s.stranger, s.r)
    return Resilience(keys, shared)


class Scene(NamedTuple):
    """Arrows of three numbers each: what a place asks, and keys, the friend's first."""

    q: Sequence[float]
    r: Sequence[float]
    keys: Sequence[Sequence[float]]


BY_HAND = Scene(
    (2.0, 0.2, 0.3), (-0.3, 1.8, 0.1), ((1.4, 1.0, 0.9), (0.4, 0.0, 1.3), (-1.4, 0.7, 1.2))
)
"""What the widget shows at first."""


def by_hand(key: int, longer: float) -> dict[str, Tensor]:
    """Attention on the keys by each score, as in the widget, one being so many times as long."""
    q, r, keys = map(torch.tensor, BY_HAND)
    keys[key] *= longer
    scores = {
        "dot": keys @ q / len(q) ** 0.5,
        "volume": -stable_volume(q[None], keys, r[None])[0] / len(q) ** 1.5,
        "angle": 8 * cos2_to_plane(q[None], keys, r[None])[0],
    }
    return {kind: score.softmax(0) for kind, score in scores.items()}


@dataclass(frozen=True)
class Shares:
    """Attention on the friend, over a grid.

    Args:
        across: what a column stands for [columns].
        up: what a row stands for [rows].
        of: name of a map → [rows, columns].
    """

    across: Tensor
    up: Tensor
    of: Mapping[str, Tensor]


def against_stranger(leak_scales: bool, n: int = 31) -> Shares:
    """Over length and leak of the stranger; the leak is a length, or a share of the stranger."""
    magnitudes, leaks = torch.logspace(0, 2, n), torch.linspace(0, 0.5, n)
    grid = [
        [(measure.scene(m, leak, leak_scales=leak_scales), 1.0) for m in magnitudes.tolist()]
        for leak in leaks.tolist()
    ]
    return Shares(magnitudes, leaks, _shares(grid))


def _shares(grid: Sequence[Sequence[tuple[measure.Scene, float]]]) -> dict[str, Tensor]:
    """What each score gives a scene's friend, made so many times as long."""
    scenes, lengths = zip(*(each for row in grid for each in row), strict=True)
    return {
        score: measure.share_of_friend(score, scenes, lengths).view(len(grid), -1)
        for score in recipe.KINDS
    }


# --- How far scores spread


class Spread(NamedTuple):
    """Standard deviation of each score as it stands in the softmax, over queries and keys."""

    d: int
    dot: float
    volume: float
    angle: float

    @property
    def exact(self) -> float:
        """The volume's in closed form.

        For normal vectors det G is a product of three independent χ², with d, d − 1 and d − 2
        degrees of freedom, so its standard deviation is d √(6 (d − 1)(d − 2) d), about √6 d^2.5.
        """
        return math.sqrt(6 * (self.d - 1) * (self.d - 2))


def spreads() -> list[Spread]:
    """For vectors of independent standard normal numbers, at three dimensions."""
    found = []
    for d in (4, 16, 64):
        q, k, r = torch.randn(3, 512, d, generator=Generator().manual_seed(12))
        scores = (q @ k.T / d**0.5, stable_volume(q, k, r) / d**1.5, 8 * cos2_to_plane(q, k, r))
        found.append(Spread(d, *(score.std().item() for score in scores)))
    return found
