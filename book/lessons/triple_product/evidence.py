"""What the chapter has found, live and recorded, as values: no sentence, no drawing.

Live results are made from trained runs as `measure.train_comparison` returns them, by kind. Tensors
have the seeds, m of them, as their last dimension, unless something else is said. What trained
models do is in `learnt`, what the scores make of vectors in `geometry`, simple rules in `rules`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from attn_notes.analysis.statistics import Verdict
from attn_notes.models.triple_product import AttentionOnly
from attn_notes.tasks import prediction
from attn_notes.tasks.copying import Copying
from attn_notes.training import comparison
from book.kit import results
from book.kit.predictions import Choice, Number, Part
from book.lessons.triple_product import geometry, learnt, recipe
from book.lessons.triple_product.learnt import Circuits, Loudness, Runs, Transfer
from book.lessons.triple_product.rules import Reach

# --- The task


class Floor(NamedTuple):
    """The floor of a task and the best predictor's mean loss, ± two standard errors, in nats."""

    task: str
    floor: float
    mean: float
    margin: float
    ignorance: float


def floors(n: int = 4000) -> list[Floor]:
    """The formula against the best predictor on n sequences, for both tasks."""
    found = []
    for name, task in (("period 12", recipe.FIXED), ("period 6 to 12", recipe.RANDOM)):
        x = task.sample(n, Generator().manual_seed(2))
        losses = prediction.token_losses(task.ideal(x[:, :-1]), x).mean(1)
        margin = 2 * losses.std().item() / n**0.5
        knowing_nothing = math.log(task.vocabulary)
        found.append(Floor(name, task.floor, losses.mean().item(), margin, knowing_nothing))
    return found


def best_losses() -> dict[str, float]:
    """The best predictor's loss on the very sequences that each comparison was probed on."""

    def best(task: Copying) -> float:
        return task.probe(task.ideal, task.sample(256, comparison.held_out()))["loss"].item()

    return {name: best(task) for name, task in recipe.TASKS.items()}


def reach(task: str) -> Reach:
    """What rules get, "fixed" or "random": recorded."""
    return Reach(**results.load("triple_product_rules")["runs"][task])


# --- What each form of the determinant costs


@dataclass(frozen=True)
class Costs:
    """Seconds and peak bytes of one forward and backward pass, by dimension, length and form."""

    lengths: Sequence[int]
    dimensions: Sequence[int]
    runs: Mapping[str, Mapping[str, Mapping[str, float]]]

    def of(self, d: int, form: str, what: str) -> list[float]:
        """`seconds` or `bytes` at every length; no number where the form was not measured."""
        nothing = {what: math.nan}
        return [float(self.runs[f"{d} {n}"].get(form, nothing)[what]) for n in self.lengths]

    def gain(self, d: int, form: str) -> float:
        """How many times as fast as the published expansion, at the longest."""
        return self.of(d, "expanded", "seconds")[-1] / self.of(d, form, "seconds")[-1]


def costs() -> Costs:
    """The recorded costs."""
    record = results.load("triple_product_cost")
    settings = record["settings"]
    return Costs(settings["lengths"], settings["dimensions"], record["runs"])


# --- How the kinds learn


@dataclass(frozen=True)
class Learning:
    """How one kind learns: mean loss in nats, and share of copies right, at n probed steps.

    Args:
        floor: the best mean loss of its task.
        steps: the steps [n] at which it was probed.
        loss: [n, m].
        accuracy: [n, m].
        parameters: of one model.
        seconds: of the whole training, all seeds together.
    """

    floor: float
    steps: Int[Tensor, " n"]
    loss: Float[Tensor, "n m"]
    accuracy: Float[Tensor, "n m"]
    parameters: int = 0
    seconds: float = math.nan

    @property
    def above_floor(self) -> Float[Tensor, "n m"]:
        """The loss above the floor, in nats."""
        return self.loss - self.floor

    @property
    def seconds_a_step(self) -> float:
        """Of one seed."""
        return self.seconds / int(self.steps[-1]) / self.loss.shape[1]


Learnings = Mapping[str, Learning]
"""Kind → how it learns."""


def learning(runs: Runs, task: Copying) -> dict[str, Learning]:
    """Of live runs on a task."""
    return {
        kind: Learning(
            task.floor,
            run.steps,
            run.history["loss"],
            run.history["accuracy"],
            sum(p[0].numel() for p in run.parameters.values()),
            run.seconds,
        )
        for kind, run in runs.items()
    }


@dataclass(frozen=True)
class Sweep:
    """Every score at every learning rate: nats above the floor at the end [rates, m].

    Args:
        rates: the learning rates.
        seeds: at each.
        steps: "one layer" and "two layers" → how many.
        ends: likewise → score → nats above the floor [rates, m].
    """

    rates: Sequence[float]
    seeds: int
    steps: Mapping[str, int]
    ends: Mapping[str, Mapping[str, Tensor]]

    def best(self, layers: str, score: str) -> float:
        """The rate at which the mean over seeds is lowest; what is no number is never best.

        Raises:
            ValueError: no rate ends in a number.
        """
        means = self.ends[layers][score].mean(1).nan_to_num(math.inf)
        if means.isinf().all():
            raise ValueError(f"no rate of {score} with {layers} ends in a number")
        return self.rates[int(means.argmin())]


def sweep() -> Sweep:
    """The recorded sweep."""
    record = results.load("triple_product_rates")
    settings, runs = record["settings"], record["runs"]
    rates = settings["rates"]
    return Sweep(
        rates,
        settings["one"]["seeds"],
        {"one layer": settings["one"]["steps"], "two layers": settings["two"]["steps"]},
        {
            layers: {
                score: torch.tensor([runs[f"{layers} {rate}"][score]["loss"][-1] for rate in rates])
                - recipe.TASKS[layers].floor
                for score in (*recipe.KINDS, "line")
            }
            for layers in ("one layer", "two layers")
        },
    )


# --- All that the claims rest on, one body of evidence at a time


@dataclass(frozen=True)
class Body:
    """What one lot of trained models shows: those of a live run, or of a record.

    Args:
        learnings: one of `recipe.TASKS` → kind → how it learns.
        moved: likewise → at other periods, where that was tried.
        loud: one layer with a loud token, where that was tried.
        follows: one of `recipe.TASKS` → kind → what it predicts on random letters, where that was
            tried: see `learnt.follows`.
    """

    learnings: Mapping[str, Learnings]
    moved: Mapping[str, Transfer] = field(default_factory=dict)
    loud: Loudness | None = None
    follows: Mapping[str, Mapping[str, Float[Tensor, "2 d m"]]] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        """Of each kind."""
        return seeds(next(iter(self.learnings.values())))

    def steps(self, name: str) -> int:
        """Of training, one of `recipe.TASKS`."""
        return int(next(iter(self.learnings[name].values())).steps[-1])

    def copies(self, name: str, kind: str) -> Float[Tensor, " m"]:
        """The share of copies right at the end, over the periods of training.

        Of models that were not tried at each period by itself, what was counted in training: the
        last half of the letters.
        """
        if name in self.moved:
            return self.moved[name].copies(kind)
        return self.learnings[name][kind].accuracy[-1]


Bodies = Mapping[str, Body]
"""Evidence by name, as "recorded, 8 seeds"."""


def seeds(learnings: Learnings) -> int:
    """How many were trained of each kind."""
    return next(iter(learnings.values())).loss.shape[1]


def live(trained: Mapping[str, Runs]) -> Body:
    """Of models trained here: one of `recipe.TASKS` → their runs."""
    return Body(
        {name: learning(runs, recipe.TASKS[name]) for name, runs in trained.items()},
        {name: learnt.transfer(runs, recipe.TASKS[name]) for name, runs in trained.items()},
    )


def recorded() -> Body:
    """Of models trained as the lesson's are, with more seeds."""
    record, found = _lesson(), _lesson()["found"]
    return Body(
        _read({name: kinds for name, kinds in record.items() if name != "found"}),
        {
            name: Transfer(recipe.TESTED, recipe.TASKS[name].periods, _tensors(accuracy))
            for name, accuracy in found["transfer"].items()
        },
        Loudness(recipe.FACTORS, _tensors(found["others"]), _tensors(found["own"])),
        {name: _tensors(kinds) for name, kinds in found["follows"].items()},
    )


def longer() -> Body:
    """Of models trained for more steps."""
    return Body(_read(results.load("triple_product_copying")["runs"]))


def on_record() -> dict[str, Body]:
    """Both records, by their names."""
    at_once, long = recorded(), longer()
    return {
        f"recorded, {at_once.seeds} seeds": at_once,
        f"longer, {long.seeds} seeds": long,
    }


def offsets() -> dict[str, Float[Tensor, "t m"]]:
    """Where heads look on random letters, recorded."""
    return _tensors(_lesson()["found"]["offsets"])


def circuits() -> Circuits:
    """The parts of an induction circuit, recorded."""
    found = _lesson()["found"]
    return Circuits(_tensors(found["previous"]), _tensors(found["source"]))


@cache
def _lesson() -> results.Record:
    runs: results.Record = results.load("triple_product_lesson")["runs"]
    return runs


def _tensors(found: Mapping[str, Any]) -> dict[str, Tensor]:
    return {kind: torch.tensor(values) for kind, values in found.items()}


def _read(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Learning]]:
    return {
        name: {
            kind: Learning(
                recipe.TASKS[name].floor,
                torch.tensor(run["steps"]),
                torch.tensor(run["loss"]),
                torch.tensor(run["accuracy"]),
                run["parameters"],
                run["seconds"],
            )
            for kind, run in kinds.items()
        }
        for name, kinds in runs.items()
    }


def weights(layers: str, kind: str) -> dict[str, Tensor]:
    """The recorded weights of the first seed, of "one layer" or "two layers", stacked [1, …]."""
    prefix = f"{layers}:{kind}:"
    with np.load(results.path("triple_product_lesson.npz")) as kept:
        return {
            name.removeprefix(prefix): torch.from_numpy(kept[name])
            for name in kept.files
            if name.startswith(prefix)
        }


def trained(layers: str, kind: str) -> AttentionOnly:
    """The recorded model of the first seed."""
    configs = {"one layer": recipe.ONE_LAYER, "two layers": recipe.TWO_LAYERS}
    model = AttentionOnly(configs[layers][kind], Generator())
    model.load_state_dict({name: p[0] for name, p in weights(layers, kind).items()})
    return model


class How(NamedTuple):
    """How a record was made."""

    seeds: int
    steps: str
    rates: str
    took: str


def settings() -> dict[str, How]:
    """The last part of a record's name → how it was made."""
    found = {}
    for name in ("rates", "lesson", "copying"):
        record = results.load(f"triple_product_{name}")
        how, runs = record["settings"], record["runs"]
        each = [how["one"], how["two"]]
        took = sum(
            run["seconds"]
            for group, kinds in runs.items()
            if group != "found"
            for run in kinds.values()
        )
        rates = "five for each score" if name == "rates" else "each score's own"
        steps = " and ".join(f"{one['steps']:,}" for one in each)
        found[name] = How(each[0]["seeds"], steps, rates, f"{took:,.0f} s")
    return found


COPIED = 0.9  # a share of copies right that counts as copying
NAMES = {
    "expanded": "expanded, as published",
    "projected": "stopped at 0",
    "residual": "k − projection",
    "stable": "double precision",
    "features": "quadratic features, fused",
    "dot": "dot product",
    "fused dot": "dot product, fused",
}
"""The forms of the volume, and the dot product beside them."""


def home_and_elsewhere(moved: Transfer) -> tuple[float, float]:
    """What every seed copies right where it was trained, and the median one at best elsewhere."""
    home = torch.cat([moved.at_home(kind) for kind in moved.accuracy]).min().item()
    away = [moved.elsewhere(kind).quantile(0.5, 1).max() for kind in moved.accuracy]
    return home, torch.stack(away).max().item()


def strictly_tests_induction(at_home: float, elsewhere: float) -> Verdict:
    """Whether copying well (at home) shows that a model goes by content.

    It does if whoever copies at one period copies at others too. Where nobody copies at home, or an
    accuracy is no number, nothing can be told.
    """
    return elsewhere > 0.5 if at_home > COPIED and not math.isnan(elsewhere) else None


ELEVEN = Number(
    "copied right at eleven",
    0,
    100,
    "It begins again after eleven: how many letters are copied right",
    unit="%",
    best=100.0,
)


def predicted(moved: Transfer, kind: str = "dot") -> list[Part]:
    """What became of what the lesson asks: letters copied right one letter off, in percent.

    Whoever knows the period, or reads, has all of them right.
    """
    return [ELEVEN.came(100 * moved.at(kind, recipe.HALF - 1).mean().item())]


WHISPER = Choice(
    "most attention",
    "By volume, most attention goes to",
    {"k₁, the friend": 0.0, "k₂, the whisper": 1.0},
)


def heard() -> list[Part]:
    """What became of what the second page asks: on whom a place looks where the second whispers."""
    return [WHISPER.came(float(geometry.by_hand(1, 0.1)["volume"].argmax()))]
