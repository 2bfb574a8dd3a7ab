"""Two ways to train, each at its own best rate, on fresh seeds: which is better, if any is."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Generator, Tensor, nn

from attn_notes import allowed
from attn_notes.analysis import statistics
from attn_notes.analysis.statistics import Effect, Verdict
from attn_notes.doubt.reports import wrapped
from attn_notes.training.comparison import train_kinds

Arm = Callable[[float, Sequence[int]], Tensor]
"""arm(rate, seeds) → for each seed what it ends with, lower is better."""

TUNING = 10_000  # the first seed of those that rates are chosen on
AGREE = 0.5  # so correlated, the difference of a pair varies less than one of the two alone
PAIRS = 6  # of fewer, however they fall, signed ranks show nothing, and ranks of all of them do
DOUBT = 0.01  # the chance with which a rate that is best is taken for one that is not


@dataclass(frozen=True)
class Compared:
    """What a comparison came to.

    Attributes:
        ours: what each fresh seed of ours ended with, at the best rate.
        theirs: the same of theirs.
        rates: the best of ours, and of theirs.
        swept: of ours and of theirs, for each rate the mean of the seeds for tuning.
        effect: by how much ours end above theirs, with the interval that agrees with the test.
        p: of that test, two-sided and exact.
        together: how far pairs agree, the correlation of the same seeds.
        paired: whether they were tested in pairs.
        could_show: the smallest difference that such seeds would have shown four times in five.
        notes: what makes it weak or void.
    """

    ours: Tensor
    theirs: Tensor
    rates: tuple[float, float]
    swept: tuple[dict[float, float], dict[float, float]]
    effect: Effect
    p: float
    together: float
    paired: bool
    could_show: float
    notes: Sequence[str]

    @property
    def verdict(self) -> Verdict:
        """Whether ours end lower (held) or higher; none where it cannot be told."""
        if self.p >= statistics.LEVEL:
            return None
        lower, pairs = (self.ours < self.theirs).sum(), (self.ours != self.theirs).sum()
        middle = self.effect.middle
        return middle < 0 if math.isfinite(middle) else bool(2 * lower > pairs)

    def __repr__(self) -> str:
        rates = f"{len(self.swept[0])} rates on other seeds"
        return f"Compared({str(self).splitlines()[0]}; {rates}; {len(self.notes)} notes)"

    def __str__(self) -> str:
        told = {True: "ours end lower", False: "ours end higher", None: "could not be told"}
        test = "signed ranks of pairs" if self.paired else "ranks, not in pairs"
        effect = "{:+.4g} [{:+.4g}, {:+.4g}]".format(*self.effect)
        least = f"{self.could_show:.2g}" if math.isfinite(self.could_show) else "none at all"
        few = f"; {len(self.ours)} are too few" if self.together >= AGREE else ""
        why = (few or f", which is below {AGREE:g}") + ": so they are not used"
        lines = [
            f"{told[self.verdict]}: {effect}, {statistics.said(self.p)} ({test}, {len(self.ours)} "
            f"seeds each)",
            f"ours − theirs; the least they would have shown four times in five: {least}",
            f"pairs of the same seed agree by r = {self.together:.2f}" + why * (not self.paired),
            "rates: {:g} for ours, {:g} for theirs".format(*self.rates),
        ]
        return "\n".join(map(wrapped, [*lines, *(f"note: {note}" for note in self.notes)]))


@allowed.typed
def compare(
    ours: Arm,
    theirs: Arm,
    rates: Sequence[float],
    *,
    seeds: int | Sequence[int] = 8,
    tuning: int | Sequence[int] = 3,
    tell: Callable[[str], object] | None = None,
) -> Compared:
    """Compare two ways: each at the best of the rates, which is chosen on other seeds.

    A seed should fix the start and the batches of both: a pair. Where pairs agree, or one side ends
    alike for all seeds, signed ranks are tested, else ranks of all. A seed that diverges is worst.

    A rate that few seeds have chosen may be another's by chance, and then two equal ways differ. So
    where they do, the worse one is trained at each other rate as well that the seeds for tuning
    cannot tell from its best, and the difference has to stand at all of them.

    Args:
        ours: trains ours; `arm` makes one of a model, any training loop will do.
        theirs: the same of what it is compared with.
        rates: a grid, wide enough that the best lies within.
        seeds: fresh ones, or how many: 0, 1, ...
        tuning: those that rates are chosen on, or how many.
        tell: gets a line before each call of an arm, as `print` would: on either side there are as
            many as rates, one more, and where they differ one for each rate that may be the best.

    Raises:
        ValueError: no rates or seeds, seeds that stand twice or are in both; an arm that does not
            return a number a seed, or none that is finite at any rate.
    """
    allowed.some(rates=rates)
    for rate in rates:
        allowed.number(rate=rate)
    for name, many in (("seeds", seeds), ("tuning", tuning)):
        if isinstance(many, int):
            allowed.whole(**{name: many})
    fresh = range(seeds) if isinstance(seeds, int) else seeds
    chosen = range(TUNING, TUNING + tuning) if isinstance(tuning, int) else tuning
    allowed.some(seeds=fresh, tuning=chosen)
    if len({*fresh}) < len(fresh) or len({*chosen}) < len(chosen):
        raise ValueError("seeds must differ: one that stands twice shows nothing more")
    if both := set(fresh) & set(chosen):
        raise ValueError(f"rates must be chosen on other seeds than {sorted(both)}")
    notes: list[str] = []
    ways, tuned, best = (ours, theirs), [], []

    def ends(side: int, rate: float, seeds: Sequence[int]) -> Tensor:
        if tell is not None:
            tell(f"{SIDES[side]}, {len(seeds)} seeds at rate {rate:g}")
        return _ends(ways[side], rate, seeds)

    for side, name in enumerate(SIDES):
        tuned.append({rate: ends(side, rate, chosen) for rate in rates})
        means = {rate: _mean(found) for rate, found in tuned[-1].items()}
        edges = (min(means), max(means))
        rate = min(means, key=lambda rate: (means[rate], rate in edges))
        if not math.isfinite(means[rate]):
            raise ValueError(f"{name} diverge at every rate")
        if len(means) > 1 and rate in edges:
            notes.append(f"the best rate of {name}, {rate:g}, lies at the edge of the grid")
        best.append(rate)
    sides = [ends(side, rate, fresh) for side, rate in enumerate(best)]
    for name, found in zip(SIDES, sides, strict=True):
        if len(found) > 1 and bool((found == found[0]).all()):
            notes.append(f"{name} end alike for every seed: does it reach the training?")
    swept = [{rate: _mean(found) for rate, found in each.items()} for each in tuned]

    def compared(a: Tensor, b: Tensor, notes: list[str]) -> Compared:
        found = _tested(a, b, notes)
        return Compared(a, b, (best[0], best[1]), (swept[0], swept[1]), *found, notes)

    told = compared(sides[0], sides[1], notes)
    if told.verdict is None:
        return told
    worse = int(told.verdict)  # where ours end lower it is theirs that may have a better rate
    for rate, enough in _rivals(tuned[worse], best[worse]).items():
        sides[worse] = ends(worse, rate, fresh)
        again = compared(sides[0], sides[1], [])
        low, high = min(told.effect.low, again.effect.low), max(told.effect.high, again.effect.high)
        effect = Effect(told.effect.middle, low, high)
        if again.verdict is not told.verdict:
            said = f"rates were chosen on too few seeds: at {rate:g}, which these cannot tell from "
            said += f"the best of {SIDES[worse]}, nothing is told; some {enough} would do"
            return replace(
                told, p=max(again.p, told.p, statistics.LEVEL), effect=effect, notes=[*notes, said]
            )
        told = replace(told, p=max(told.p, again.p), effect=effect)
    return told


SIDES = ("ours", "theirs")


def _rivals(tuned: dict[float, Tensor], best: float) -> dict[float, int]:
    """Rates that may be the best, and how many seeds would have told them from it.

    What seeds and rates do not explain of the ends is chance: Student's t of two rates, at `DOUBT`.
    """
    table = {rate: ends for rate, ends in tuned.items() if bool(ends.isfinite().all())}
    ends = torch.stack([*table.values()])
    n = ends.shape[1]
    free = (len(table) - 1) * (n - 1)
    if not free:
        return {rate: 2 * n for rate in table if rate != best}
    rest = ends - ends.mean(0) - ends.mean(1, keepdim=True) + ends.mean()
    spread = math.sqrt(2 * float(rest.square().sum()) / free)
    t = allowed.needed("scipy.stats", "doubt").t.ppf(1 - DOUBT, free)
    found = {}
    for rate, each in table.items():
        gap = float((each - table[best]).mean())
        if rate != best and gap <= t * spread / math.sqrt(n):
            found[rate] = max(n + 1, min(1000, math.ceil((t * spread / (gap + 1e-12)) ** 2)))
    return found


def _ends(way: Arm, rate: float, seeds: Sequence[int]) -> Tensor:
    made = way(rate, seeds)
    try:
        found = torch.as_tensor(math.nan if made is None else made).detach().cpu().double()
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"an arm returns a number a seed, not {made!r:.60}") from None
    if found.shape != (len(seeds),):
        raise ValueError(f"an arm returns a number a seed, not {tuple(found.shape)}")
    return found


def _mean(ends: Tensor) -> float:
    return float(ends.mean()) if bool(ends.isfinite().all()) else math.inf


def _tested(a: Tensor, b: Tensor, notes: list[str]) -> tuple[Effect, float, float, bool, float]:
    """The effect, p, how far pairs agree, whether they count, and what could have been shown."""
    finite = a.isfinite() & b.isfinite()
    together = _together(a[finite], b[finite])
    if bool((a == b).all()):
        notes.append("the same numbers twice: is the change in the model at all?")
    if not bool(finite.all()):
        notes.append(f"{int((~finite).sum())} of {len(a)} seeds diverged: look at them")
        nothing = Effect(math.nan, -math.inf, math.inf)
        return nothing, statistics.rank_p(a, b), together, False, math.nan
    still = len(a) > 1 and not float(a.std()) * float(b.std())  # ranks take a spread for a middle
    paired = still or (together >= AGREE and len(a) >= PAIRS)
    if paired:
        effect, p = statistics.shift(a - b), statistics.signed_rank_p(a - b)
        least = statistics.could_show_in_pairs(a - b)
    else:
        effect, p = statistics.difference(a, b), statistics.rank_p(a, b)
        least = statistics.could_show(a, b)
    if not math.isfinite(least):
        notes.append(f"{len(a)} seeds a side can show nothing at 5 %")
    return effect, p, together, paired, least


def _together(a: Tensor, b: Tensor) -> float:
    """The correlation of pairs; 0 where there are too few, or they do not vary."""
    if len(a) < 3 or not float(a.std()) or not float(b.std()):
        return float(len(a) > 0 and bool((a == b).all()))
    return float(torch.corrcoef(torch.stack([a, b]))[0, 1])


@allowed.typed
def arm(
    make: Callable[[Generator], nn.Module],
    loss: Callable[[Any, Any], Tensor],
    sample: Callable[[Generator], Any],
    score: Callable[[Any], Tensor],
    *,
    steps: int,
    **settings: Any,
) -> Arm:
    """A way to train for `compare`, of a model that `training.ensemble` trains.

    Args:
        make: an untrained model of a generator.
        loss: loss(model, batch).
        sample: draws a batch.
        score: what a trained member ends with, lower is better: its loss on held-out data.
        steps: updates.
        settings: others of `training.comparison.train_kinds`.
    """

    def way(rate: float, seeds: Sequence[int]) -> Tensor:
        runs = train_kinds(
            {"": make},
            loss,
            sample,
            seeds=seeds,
            steps=steps,
            lr=rate,
            probe=lambda model: {"score": score(model)},
            probe_every=max(1, steps),
            **settings,
        )
        return runs[""].history["score"][-1]

    return way
