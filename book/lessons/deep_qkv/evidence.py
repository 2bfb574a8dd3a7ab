"""What the chapter's runs found, live and recorded, as values: no sentences."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, NewType

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import functional_call, vmap

from attn_notes.analysis import statistics
from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run
from book.kit import results
from book.kit.predictions import Order, Part
from book.lessons.deep_qkv import measure, pull, recipe

NEVER = math.inf
NEVER_AT = 1.07
"""Where a figure has them that never do, in trainings; as _sorter.js has it."""
NAMES = {
    "gated": "gated",
    "strict": "strict",
    "plain": "plain",
    "plain_third": "plain started at a third",
    "fixed_gate": "divided by three",
    "plain, knowable": "plain, two letters out of the loss",
    "plain, answer": "plain, loss on the answer only",
    "gated, knowable": "gated, two letters out of the loss",
    "gated, answer": "gated, loss on the answer only",
}
"""The kinds of `recipe.KINDS`, as a reader knows them."""

NTH = ("1st", "2nd", "3rd")


def step_or_never(step: float) -> str:
    """A step as it is printed."""
    return f"{step:,.0f}" if step < NEVER else "never"


@dataclass(frozen=True, eq=False)  # so that `compare` can keep what it found of two
class Crowd:
    """The seeds of one kind: when each sorted all 27 inputs for good, and what it lost.

    Args:
        steps: at which they were probed, the last one the end.
        arrivals: for each seed the first probe from which on it sorts all 27; infinite if never.
        solved: inputs that each seed sorts at the end.
        lowest: mean loss that any seed had at any probe, in nats.
        seconds: that training all of them took.
        quartiles: of the mean loss over the seeds, at every probe, in nats, where it was kept.
        moments: probes at which `losses` were kept.
        losses: of each prediction then, in nats.
    """

    steps: Int[Tensor, " n"]
    arrivals: Float[Tensor, " m"]
    solved: Int[Tensor, " m"]
    lowest: float
    seconds: float
    quartiles: Float[Tensor, "n 3"] | None = None
    moments: tuple[int, ...] = ()
    losses: Float[Tensor, "k m 6"] | None = None

    @property
    def curves(self) -> Float[Tensor, "n 3"]:
        """The quartiles, where they were kept."""
        assert self.quartiles is not None
        return self.quartiles

    @property
    def last_losses(self) -> Float[Tensor, "m 6"]:
        """Each seed's loss of each prediction at the end, where they were kept."""
        assert self.losses is not None
        return self.losses[-1]

    @property
    def arrived(self) -> int:
        """How many seeds sort all 27 at the end."""
        return int(self.arrivals.isfinite().sum())

    @property
    def median(self) -> float:
        """The median seed's step; infinite where half of them never do."""
        return float(self.arrivals.quantile(0.5, interpolation="lower"))

    @property
    def delay(self) -> float:
        """The mean step of arrival, a seed that never arrives counted as one at the end.

        The area under the survival curve (the restricted mean): lower for a kind that is faster,
        and for one more of whose seeds arrive.
        """
        return float(self.arrivals.clamp(max=float(self.steps[-1])).mean())


Crowds = Mapping[str, Crowd]
"""Kind → its seeds."""

Bodies = Mapping[str, Crowds]
"""Evidence by name, as "live, 16 seeds", and in it each kind's seeds."""


Live = NewType("Live", Mapping[str, Crowd])
"""What the lesson has just trained: kind → its seeds."""


def live(runs: Mapping[str, Run]) -> Live:
    """The runs that have just been trained."""
    return Live({kind: _trained(run) for kind, run in runs.items()})


def _trained(run: Run) -> Crowd:
    solved, losses = run.history["solved"], run.history["losses"].mean(-1)
    return Crowd(
        run.steps,
        statistics.stable_from(solved, run.steps, recipe.SOLVED),
        solved[-1],
        float(losses.min()),
        run.seconds,
        losses.quantile(losses.new_tensor([0.25, 0.5, 0.75]), dim=1).T,
    )


ASKED = {
    "plain": "plain",
    "gated": "gated",
    "fixed_gate": "divided by three",
    "plain, knowable": "two letters left out",
}
"""Kind → what the lesson calls it where it asks for a prediction."""


ORDER = Order(
    "order",
    "Your order, soonest first: drag them, or use the arrows",
    tuple(ASKED.values()),
)


def predicted(crowds: Live) -> list[Part]:
    """What became of what the lesson asks: who is first.

    Two next to each other share their ranks where it cannot be told who is sooner.
    """
    order = sorted(ASKED, key=lambda kind: (crowds[kind].median, crowds[kind].delay))
    alike = [[order[0]]]
    for sooner, later in pairwise(order):
        if compare(crowds[sooner], crowds[later]).verdict is None:
            alike[-1].append(later)
        else:
            alike.append([later])
    return ORDER.came([[ASKED[kind] for kind in kinds] for kinds in alike])


def crowd(run: results.Record) -> Crowd:
    """A recorded run, in full or in outline."""
    steps = torch.tensor(run["steps"])
    if "arrivals" in run:
        arrivals = torch.tensor([NEVER if x is None else x for x in run["arrivals"]])
        return Crowd(
            steps,
            arrivals,
            torch.tensor(run["solved"]),
            run["lowest"],
            run["seconds"],
            torch.tensor(run["quartiles"]) if "quartiles" in run else None,
            tuple(run.get("moments", ())),
            torch.tensor(run["losses"]) if "losses" in run else None,
        )
    solved, losses = torch.tensor(run["solved"]), torch.tensor(run["mean_loss"])
    return Crowd(
        steps,
        statistics.stable_from(solved, steps, recipe.SOLVED),
        solved[-1],
        float(losses.min()),
        run["seconds"],
        losses.quantile(losses.new_tensor([0.25, 0.5, 0.75]), dim=1).T,
    )


@cache
def recorded(name: str) -> dict[str, Crowd]:
    """A record's runs: `published`, `rank_temperature`, `rates`, `chosen` or `positions`."""
    return {kind: crowd(run) for kind, run in results.load(f"deep_qkv_{name}")["runs"].items()}


def on_record() -> dict[str, Crowds]:
    """What both pages rest on: each kind at its own rate, and as published."""
    return {
        f"own rate, {len(recipe.CHOSEN.seeds)} seeds": recorded("chosen"),
        f"published settings, {len(recipe.PUBLISHED.seeds)} seeds": recorded("published"),
    }


def sweep() -> dict[str, dict[float, Crowd]]:
    """Each kind at each rate of the sweep."""
    runs = recorded("rates")
    return {kind: {r: runs[f"{kind} {r}"] for r in recipe.RATES} for kind in recipe.KINDS}


def best_rate(crowds: Mapping[float, Crowd]) -> float:
    """The rate with the smallest `delay`."""
    return min(crowds, key=lambda rate: crowds[rate].delay)


@lru_cache(maxsize=1024)
def compare(ours: Crowd, theirs: Crowd) -> statistics.Comparison:
    """How often a random seed of ours converges before a random one of theirs."""
    return statistics.compare(ours.arrivals, theirs.arrivals)


def by_seed(crowds: Iterable[Crowd]) -> Float[Tensor, " m"]:
    """Each seed's step, never counted as the end, averaged over the crowds that it is in."""
    return torch.stack([c.arrivals.clamp(max=float(c.steps[-1])) for c in crowds]).mean(0)


# What the two letters pull at


@dataclass(frozen=True, eq=False)
class Along:
    """Plain sorters on all six predictions, from step to step.

    Args:
        steps: at which they were probed.
        products: of any two of the six predictions' gradients.
        noise: of one input's gradient: of the two letters, of the four others.
    """

    steps: Int[Tensor, " n"]
    products: Float[Tensor, "n m 6 6"]
    noise: Float[Tensor, "n m 2"]

    def cosines(self, two: tuple[int, ...] = pull.PAIRS[0]) -> Float[Tensor, "n m"]:
        """Of the gradient of two predictions and that of the other four, of each seed."""
        return pull.cosine(self.products, two)

    def middle(self, two: tuple[int, ...], first: int, last: int) -> float:
        """The median cosine of all seeds and probes from one step to another, both included."""
        inside = (self.steps >= first) & (self.steps <= last)
        return float(self.cosines(two)[inside].median())


@cache
def along() -> Along:
    """The recorded training along which gradients were taken."""
    record = results.load("deep_qkv_gradients")["runs"]["along"]
    steps, upper, noise = (torch.tensor(record[name]) for name in ("steps", "products", "noise"))
    return Along(steps, pull.whole(upper), noise)


@cache
def ways() -> dict[float, dict[str, Crowd]]:
    """Rate → way of counting the two letters (`pull.WAYS`) → seeds trained so."""
    runs = results.load("deep_qkv_gradients")["runs"]
    return {rate: {way: crowd(runs[f"{way} {rate}"]) for way in pull.WAYS} for rate in pull.RATES}


# The trained weights


@cache
def trained(kind: str) -> list[Sorter]:
    """The recorded sorters of a variant, seeds 0, 1, ..., trained at its own rate."""
    return members(kind, weights(kind))


def members(variant: str, stack: Mapping[str, Tensor]) -> list[Sorter]:
    """The sorters of a variant from their stacked weights, name → [seeds, ...]."""
    models = recipe.sorters(Config(variant), range(len(next(iter(stack.values())))))
    for i, model in enumerate(models):
        model.load_state_dict({name: values[i] for name, values in stack.items()})
    return models


def weights(kind: str) -> dict[str, Tensor]:
    """A variant's recorded weights, stacked over the seeds: name → [16, ...]."""
    with np.load(results.path("deep_qkv_chosen.npz")) as packed:
        names = [name for name in packed.files if name.startswith(f"{kind}:")]
        return {name.partition(":")[2]: torch.from_numpy(packed[name]) for name in names}


def scores(kind: str) -> Int[Tensor, " m"]:
    """How many inputs each recorded sorter of a variant sorts."""
    template = trained(kind)[0]

    def of_one(parameters: dict[str, Tensor]) -> Tensor:
        return sorting.probe(lambda x: functional_call(template, parameters, (x,)))["solved"]

    with torch.no_grad():
        return vmap(of_one)(weights(kind))


class Finder(NamedTuple):
    """A head that, when the first letter is written, attends to one letter of the alphabet."""

    variant: str
    seed: int
    head: int  # counted from 0
    letter: str
    share: float  # of its attention, mean over the words that hold the letter
    words: int  # that hold it


def finder() -> Finder:
    """The clearest such head among the recorded plain and gated sorters that sort most inputs.

    The letter has to be the one that is written first wherever it occurs: `a`.
    """
    found = []
    for variant in ("plain", "gated"):
        for seed, model in enumerate(trained(variant)):
            share = measure.attention_by_letter(model)[:, 0, 0]  # [heads], writing the first, on a
            head = int(share.argmax())
            solved = int(sorting.probe(model)["solved"])
            found.append((solved, Finder(variant, seed, head, "a", float(share[head]), 19)))
    return max(found, key=lambda each: (each[0], each[1].share))[1]


class Reads(NamedTuple):
    """How many of the recorded sorters that sort everything read what, to write the first letter.

    Most of a head's attention is more than half of it, in the mean over words.
    """

    letter: int  # a head has most of its attention on the letter that is to be written
    place: int  # else one has it on one place of the word
    neither: int

    @property
    def all(self) -> int:
        """All of them."""
        return sum(self)


@cache
def reads() -> Reads:
    """What maps of attention say of the sorters that sort everything."""
    found = [0, 0, 0]
    for variant in VARIANTS:
        for model, solved in zip(trained(variant), scores(variant).tolist(), strict=True):
            if solved == recipe.SOLVED:
                letter = measure.attention_on_written_letter(model)[:, 0].max() > 0.5
                place = measure.attention_by_place(model)[:, 0].max() > 0.5
                found[0 if letter else 1 if place else 2] += 1
    return Reads(*found)


class Failure(NamedTuple):
    """A recorded sorter that does not sort everything."""

    variant: str
    seed: int
    score: int


def worst() -> Failure:
    """The recorded sorter that sorts fewest of the 27 inputs."""
    every = [
        Failure(variant, seed, int(score))
        for variant in VARIANTS
        for seed, score in enumerate(scores(variant))
    ]
    return min(every, key=lambda failure: failure.score)


BLIND = 0.1
"""A sorter is blind if a letter that it writes moves by less when one of the word is replaced."""


def settings(name: str) -> dict[str, Any]:
    """The settings of a record."""
    return dict(results.load(f"deep_qkv_{name}")["settings"])


def seconds(name: str) -> float:
    """What all runs of a record took."""
    return float(sum(run["seconds"] for run in results.load(f"deep_qkv_{name}")["runs"].values()))
