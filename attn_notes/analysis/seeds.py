"""What many seeds say: when each arrived, and whether one crowd arrives before another."""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import stats
from torch import Generator, Tensor

from attn_notes import allowed


def stable_from(
    solved: Int[Tensor, "n m"], steps: Int[Tensor, " n"], target: int
) -> Float[Tensor, " m"]:
    """The first probed step from which a member solves `target` inputs and never fewer again.

    Infinite for a member that ends below the target; one that touches it and falls back is
    counted from its last return.

    Raises:
        ValueError: no probe.
    """
    if not len(steps):
        raise ValueError("nothing was probed, so nobody can be said to have arrived")
    probes = torch.arange(len(steps))[:, None]
    last_below = torch.where(solved < target, probes, -1).amax(0)
    arrivals = torch.cat([steps.float(), torch.tensor([math.inf])])
    return arrivals[last_below + 1]


def not_yet(arrivals: Float[Tensor, " m"], steps: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """The share of members that have not arrived by each step: the survival curve.

    A member without an arrival (NaN) has not arrived.

    Raises:
        ValueError: no members.
    """
    allowed.some(members=arrivals)
    return 1 - (arrivals <= steps[:, None]).float().mean(1)


FEWEST = 4  # seeds a side for an interval
AT_ONCE = 1 << 20  # numbers that are resampled at once


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
    never arrives (∞) counts as what it is: later than all that do, level with others like it, and
    with those that came to no number (NaN). With fewer than `FEWEST` a side the interval is
    everything: three of a kind come before three of the same kind one time in twenty by chance
    alone, and resampling cannot see that.

    Raises:
        ValueError: nobody on a side, or fewer than two draws.
    """
    allowed.some(ours=ours, theirs=theirs)
    allowed.whole(2, draws=draws)
    m, k = len(ours), len(theirs)
    ranked = ranks(ours, theirs)  # in the same order, level where they are, and finite
    crowds = ranked[:m], ranked[m:]

    def first(mine: np.ndarray, other: np.ndarray, axis: int = -1) -> Any:
        total = stats.rankdata(np.concatenate([mine, other], axis), axis=axis)
        return 1 - (total[..., :m].sum(axis) - m * (m + 1) / 2) / (m * k)

    if min(m, k) < FEWEST:
        return Comparison(float(first(*crowds)), 0.0, 1.0)
    seed = int(torch.randint(2**62, (), generator=generator))
    interval = stats.bootstrap(
        crowds,
        first,
        n_resamples=draws,
        batch=max(1, AT_ONCE // (m + k)),
        vectorized=True,
        paired=False,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Comparison(float(first(*crowds)), float(interval.low), float(interval.high))


def ranks(ours: Float[Tensor, " m"], theirs: Float[Tensor, " k"]) -> np.ndarray:
    """Everyone's rank among all, the lowest 1, ours first; who is level shares the mean rank.

    What is no number (NaN) ranks as infinity.
    """
    every = torch.cat([ours, theirs]).detach().cpu().double()
    return stats.rankdata(every.where(~every.isnan(), math.inf).numpy())
