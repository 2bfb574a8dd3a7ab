"""What many seeds say: when each arrived, and whether one crowd arrives before another."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor


def stable_from(
    solved: Int[Tensor, "n m"], steps: Int[Tensor, " n"], target: int
) -> Float[Tensor, " m"]:
    """The first probed step from which a member solves `target` inputs and never fewer again.

    Infinite for a member that ends below the target; one that touches it and falls back is
    counted from its last return.
    """
    probes = torch.arange(len(steps))[:, None]
    last_below = torch.where(solved < target, probes, -1).amax(0)
    arrivals = torch.cat([steps.float(), torch.tensor([math.inf])])
    return arrivals[last_below + 1]


def not_yet(arrivals: Float[Tensor, " m"], steps: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The share of members that have not arrived by each step: the survival curve."""
    return (arrivals > steps[:, None]).float().mean(1)


FEWEST = 4  # seeds a side for an interval


class Comparison(NamedTuple):
    """How often a random member of one crowd arrives before one of another, with its interval."""

    first: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """`earlier`, `later`, or `cannot be told` where the interval holds one half."""
        if self.low > 0.5:
            return "earlier"
        return "later" if self.high < 0.5 else "cannot be told"


def compare(
    ours: Float[Tensor, " m"],
    theirs: Float[Tensor, " k"],
    generator: Generator,
    draws: int = 2000,
) -> Comparison:
    """P(ours < theirs) + ½ P(ours = theirs), with a 95 % bootstrap interval over seeds.

    The probability of superiority (Mann and Whitney, 1947). It needs no mean, so a member that
    never arrives (∞) counts as what it is: later than all that do, level with others like it.
    With fewer than `FEWEST` a side the interval is everything: three of a kind come before three of
    the same kind one time in twenty by chance alone, and resampling cannot see that.
    """
    before = (ours[:, None] < theirs).float() + 0.5 * (ours[:, None] == theirs).float()
    rows = torch.randint(len(ours), (draws, len(ours)), generator=generator)
    columns = torch.randint(len(theirs), (draws, len(theirs)), generator=generator)
    resampled = before[rows[:, :, None], columns[:, None, :]].mean((1, 2))
    low, high = torch.quantile(resampled, torch.tensor([0.025, 0.975])).tolist()
    if min(len(ours), len(theirs)) < FEWEST:
        low, high = 0.0, 1.0
    return Comparison(before.mean().item(), low, high)
