"""A source made of a short text: after two letters comes what has followed them there.

So Shannon wrote (1948, section 3): open a book anywhere and copy two letters; find these two at
another place and copy the one that follows; then find the last two again. Here the text is read as
a ring, so that each pair is followed by something, and is as frequent in what is drawn as in the
text, wherever one looks. That makes the best predictor exact. With n(·) how often letters stand
one after another in the ring,

    P(b | a) = n(ab) / n(a) for the second letter,     P(c | ab) = n(abc) / n(ab) for all others,

and over L predictions it loses, in nats each,

    ( H₂ − H₁ + (L − 1)(H₃ − H₂) ) / L,     Hₖ = −Σ p ln p over the shares of groups of k letters.

[Shannon (1948)](https://doi.org/10.1002/j.1538-7305.1948.tb01338.x)
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

GROUPS = (1, 2, 3)  # letters that are counted together


@dataclass(frozen=True)
class Ring:
    """The source: its text, and how many letters are drawn of it at a time."""

    text: str
    length: int

    @cached_property
    def letters(self) -> str:
        """The vocabulary in order."""
        return "".join(sorted(set(self.text)))

    @cached_property
    def numbers(self) -> list[int]:
        """The text, as places in the vocabulary."""
        return [self.letters.index(letter) for letter in self.text]

    @cached_property
    def floor(self) -> float:
        """The best mean loss that any predictor can reach, in nats a prediction; exact."""
        one, two, three = (self._entropy(k) for k in GROUPS)
        predictions = self.length - 1
        return (two - one + (predictions - 1) * (three - two)) / predictions

    def sample(self, n: int, generator: Generator) -> Int[Tensor, "{n} {self.length}"]:
        """Draw `n` sequences."""
        ring, pairs, alike, first, count = self._book
        at = torch.randint(len(ring), (n,), generator=generator)
        drawn = [ring[at]]
        for _ in range(self.length - 1):
            pair = pairs[at]
            which = (torch.rand(n, generator=generator) * count[pair]).long()
            at = (alike[first[pair] + which] + 1) % len(ring)
            drawn.append(ring[at])
        return torch.stack(drawn, 1)

    def losses(self, x: Int[Tensor, "n t"]) -> Float[Tensor, "n t-1"]:
        """What the best predictor loses on each letter but the first, in nats."""

        def loss(row: list[int], t: int) -> float:
            start = max(0, t - 2)
            return math.log(self._often(row[start:t]) / self._often(row[start : t + 1]))

        return torch.tensor([[loss(row, t) for t in range(1, len(row))] for row in x.tolist()])

    @cached_property
    def _book(self) -> tuple[Tensor, ...]:
        """The ring, the pair at each place, and the places in the order of their pairs.

        And by pair where its places begin in that order, and how many there are.
        """
        ring = torch.tensor(self.numbers)
        pairs = ring * len(self.letters) + ring.roll(-1)
        count = pairs.bincount()
        return ring, pairs, pairs.argsort(), count.cumsum(0) - count, count

    @cached_property
    def _counts(self) -> dict[int, Counter[tuple[int, ...]]]:
        size = len(self.numbers)
        twice = self.numbers + self.numbers[: max(GROUPS)]
        return {k: Counter(tuple(twice[i : i + k]) for i in range(size)) for k in GROUPS}

    def _often(self, letters: list[int]) -> int:
        return self._counts[len(letters)][tuple(letters)]

    def _entropy(self, k: int) -> float:
        shares = [n / len(self.numbers) for n in self._counts[k].values()]
        return -sum(share * math.log(share) for share in shares)
