"""What chapter 2 has found, live and recorded, as values: no sentence, no drawing.

Live results are made from trained runs as `measure.train_comparison` returns them, by kind. Tensors
have the seeds, m of them, as their last dimension, unless something else is said.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from attn_notes import allowed
from attn_notes.analysis import cost, results
from attn_notes.chapters.triple_product import measure, recipe
from attn_notes.models.triple_product import (
    VOLUMES,
    AttentionOnly,
    TripleProductAttention,
    cos2_to_plane,
    expanded_volume,
    quadratic_features,
    stable_volume,
)
from attn_notes.tasks import prediction
from attn_notes.tasks.copying import Copying
from attn_notes.training import comparison
from attn_notes.training.ensemble import Run

Runs = Mapping[str, Run]
"""Kind → its trained models."""


def members(run: Run) -> list[AttentionOnly]:
    """Every trained model of a kind."""
    return [cast(AttentionOnly, run.member(s)) for s in range(run.history["loss"].shape[1])]


# --- The task


class Example(NamedTuple):
    """A sequence of a task, its letters with a gap before each repetition."""

    task: str
    period: int
    letters: str


def examples() -> list[Example]:
    """Two sequences of the fixed period and three of the random one."""

    def spell(task: Copying, name: str, row: Tensor) -> Example:
        period = next(p for p in task.periods if torch.equal(row[p:], row[:-p]))
        parts = ("".join("abcdefghijklmnop"[i] for i in part) for part in row.split(period))
        return Example(name, period, " ".join(parts))

    draw = Generator().manual_seed(1)
    rows = [spell(recipe.FIXED, "always 12", row) for row in recipe.FIXED.sample(2, draw)]
    return rows + [spell(recipe.RANDOM, "6 to 12", row) for row in recipe.RANDOM.sample(3, draw)]


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


# --- One determinant, several ways


class Rounding(NamedTuple):
    """What a form makes of keys in the plane: share of negative volumes, lowest, highest score."""

    negative: float
    lowest: float
    highest: float


LOUD = (1.0, 1000.0)  # what the keys are multiplied by


def rounding() -> dict[str, dict[float, Rounding]]:
    """Form → loudness of the keys → what rounding makes of 4,000 keys in the plane."""
    return {
        form: {
            loudness: Rounding(
                *measure.wrong_signs(form, 16, loudness, 4000, Generator().manual_seed(3))
            )
            for loudness in LOUD
        }
        for form in VOLUMES
    }


def features_error() -> float:
    """How far features and determinant differ in double precision, of the largest score."""
    q, k, r = torch.randn(3, 64, 16, generator=Generator().manual_seed(4), dtype=torch.float64)
    phi, psi = quadratic_features(q, k, r)
    volume = expanded_volume(q, k, r)
    return ((phi @ psi.mT + volume).abs().max() / volume.max()).item()


def fastest_from(
    lengths: Iterable[int], ours: Iterable[float], others: Iterable[Iterable[float]]
) -> int | None:
    """The shortest length from which on ours is faster than all others, up to the longest.

    Raises:
        ValueError: no length, no others, or not a time for every length.
    """
    lengths, ours, rivals = list(lengths), list(ours), [list(times) for times in others]
    allowed.some(lengths=lengths, others=rivals)
    if {len(times) for times in (ours, *rivals)} != {len(lengths)}:
        raise ValueError(f"each must have {len(lengths)} times, one for every length")
    first = None
    for length, mine, theirs in zip(lengths, ours, zip(*rivals, strict=True), strict=True):
        first = (first or length) if all(mine < time for time in theirs) else None
    return first


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

    def memory(self, d: int, form: str) -> float:
        """The share of the published expansion's memory that it needs, at the longest."""
        return self.of(d, form, "bytes")[-1] / self.of(d, "expanded", "bytes")[-1]

    def features_pay_from(self, d: int) -> int | None:
        """The shortest length from which on the features are the fastest exact form."""
        others = [self.of(d, form, "seconds") for form in ("expanded", "projected", "stable")]
        return fastest_from(self.lengths, self.of(d, "features", "seconds"), others)


def costs() -> Costs:
    """The recorded costs."""
    record = results.load("triple_product_cost")
    settings = record["settings"]
    return Costs(settings["lengths"], settings["dimensions"], record["runs"])


def timings() -> dict[str, float]:
    """Seconds of each form of the volume at the size of this chapter, timed now."""
    batch = recipe.ONE["seeds"] * recipe.ONE["batch"]
    length, generator = recipe.FIXED.length - 1, Generator().manual_seed(5)
    passes = measure.forward_backward(batch, recipe.HEADS, length, 16, generator)
    return cost.seconds({form: passes[form] for form in (*VOLUMES, "features")})


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


def recorded() -> dict[str, dict[str, Learning]]:
    """Of the recorded comparison: one of `recipe.TASKS` → kind → how it learns."""
    runs = results.load("triple_product_copying")["runs"]
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
        """The rate at which the mean over seeds is lowest; what is no number is never best."""
        means = self.ends[layers][score].mean(1).nan_to_num(math.inf)
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


# --- Where the loss is, and where they look


@dataclass(frozen=True)
class ByToken:
    """The loss of each predicted token, with one layer and one period.

    Args:
        losses: kind → [t, m].
        best: the best predictor's [t].
        known: the first prediction that can be known.
    """

    losses: Mapping[str, Tensor]
    best: Float[Tensor, " t"]
    known: int

    def surplus(self, kind: str) -> Float[Tensor, " t"]:
        """The mean loss above the best possible."""
        return self.losses[kind].mean(1) - self.best

    def on_copies(self, kind: str) -> float:
        """The share of the surplus that is on the copies."""
        surplus = self.surplus(kind)
        return (surplus[self.known :].sum() / surplus.sum()).item()

    def early(self, kind: str, first: int = 4) -> float:
        """Of the surplus on what cannot be known, the share on the first few predictions."""
        surplus = self.surplus(kind)[: self.known]
        return (surplus[:first].sum() / surplus.sum()).item()

    def means(self, kind: str) -> tuple[float, float]:
        """The mean loss of what cannot be known, and of the copies."""
        losses = self.losses[kind]
        return losses[: self.known].mean().item(), losses[self.known :].mean().item()


@torch.no_grad()
def by_token(one: Runs) -> ByToken:
    """Of trained one-layer models, on 512 sequences of the fixed period."""
    task = recipe.FIXED
    x = task.sample(512, Generator().manual_seed(6))
    losses = {
        kind: torch.stack(
            [prediction.token_losses(m(x[:, :-1]), x).mean(0) for m in members(one[kind])], 1
        )
        for kind in recipe.KINDS
    }
    best = prediction.token_losses(task.ideal(x[:, :-1]), x).mean(0)
    return ByToken(losses, best, task.settled.start)


def _noise() -> Int[Tensor, "n t"]:
    """Random sequences, in which there is nothing to find."""
    generator = Generator().manual_seed(7)
    return torch.randint(
        recipe.FIXED.vocabulary, (256, recipe.FIXED.length - 1), generator=generator
    )


@torch.no_grad()
def offsets(one: Runs) -> dict[str, Float[Tensor, "m h t"]]:
    """Kind → mean attention at each distance back on random sequences, of each seed and head."""
    rows, noise = slice(recipe.HALF, None), _noise()
    return {
        kind: torch.stack(
            [measure.by_offset(m.observe(noise)[1][:, 0].mean(0), rows) for m in members(one[kind])]
        )
        for kind in recipe.KINDS
    }


def looking_back(profile: Float[Tensor, "m h t"]) -> Float[Tensor, "m t"]:
    """Of each seed the head that looks most to where the source of a copy is: 11 places back."""
    source = recipe.HALF - 1
    return torch.stack([heads[heads[:, source].argmax()] for heads in profile])


@dataclass(frozen=True)
class Transfer:
    """Share of copies right at several periods, of models trained at one of them.

    Args:
        periods: at test.
        home: the one they were trained on.
        accuracy: kind → [periods, m].
    """

    periods: Sequence[int]
    home: int
    accuracy: Mapping[str, Tensor]

    def at_home(self, kind: str) -> Tensor:
        """[m]."""
        return self.accuracy[kind][self.periods.index(self.home)]

    def elsewhere(self, kind: str) -> Tensor:
        """[periods − 1, m]."""
        i = self.periods.index(self.home)
        return torch.cat([self.accuracy[kind][:i], self.accuracy[kind][i + 1 :]])


def transfer(one: Runs) -> Transfer:
    """Of trained one-layer models."""
    half, vocabulary = recipe.HALF, recipe.FIXED.vocabulary
    periods = sorted({6, 8, 10, half - 1, half, half + 1, 14, 16})
    accuracy = {
        kind: measure.transfer(members(one[kind]), vocabulary, periods, Generator().manual_seed(8))
        for kind in recipe.KINDS
    }
    return Transfer(periods, half, accuracy)


# --- Two layers


@dataclass(frozen=True)
class Circuits:
    """How far two layers are an induction circuit.

    Args:
        previous: score → mean attention one place back of the best head of layer 1, [m].
        source: score → mean attention at the right source of the best head of layer 2, [m].
        even: what a head would give either if it attended evenly.
        rules: how often the textbook rule is right after the last one letter, and the last two.
    """

    previous: Mapping[str, Tensor]
    source: Mapping[str, Tensor]
    even: float
    rules: tuple[float, float]


def circuits(two: Runs) -> Circuits:
    """Of trained two-layer models."""
    task = recipe.RANDOM
    found = {
        kind: torch.stack(
            [
                measure.induction(m.observe, task, Generator().manual_seed(9))
                for m in members(two[kind])
            ]
        )
        for kind in recipe.KINDS
    }
    one, more = (measure.last_occurrence(task, n, Generator().manual_seed(13)) for n in (1, 2))
    return Circuits(
        {kind: heads[:, 0, :, 0].amax(1) for kind, heads in found.items()},
        {kind: heads[:, 1, :, 1].amax(1) for kind, heads in found.items()},
        (1 / torch.arange(task.periods[0] + 1, task.length)).mean().item(),
        (one, more),
    )


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


def against_stranger(leak_scales: bool, n: int = 41) -> Shares:
    """Over length and leak of the stranger; the leak is a length, or a share of the stranger."""
    magnitudes, leaks = torch.logspace(0, 2, n), torch.linspace(0, 0.5, n)

    def share(score: str, magnitude: float, leak: float) -> float:
        scene = measure.scene(magnitude, leak, leak_scales=leak_scales)
        return measure.share_of_friend(score, scene)

    return Shares(
        magnitudes,
        leaks,
        {
            score: torch.tensor(
                [[share(score, m, leak) for m in magnitudes.tolist()] for leak in leaks.tolist()]
            )
            for score in recipe.KINDS
        },
    )


def off_the_plane(n: int = 41) -> Shares:
    """Over length and tilt of the friend, in degrees, against a short stranger."""
    lengths, tilts = torch.logspace(-1, 1, n), torch.linspace(0, 0.5, n)

    def share(score: str, tilt: float, length: float) -> float:
        return measure.share_of_friend(score, measure.scene(0.5, 0.0, tilt=tilt), length)

    return Shares(
        lengths,
        torch.rad2deg(tilts),
        {
            score: torch.tensor(
                [[share(score, tilt, x) for x in lengths.tolist()] for tilt in tilts.tolist()]
            )
            for score in recipe.KINDS
        },
    )


@dataclass(frozen=True)
class Loudness:
    """Share of copies right when one token's embedding is multiplied.

    Args:
        factors: by which.
        others: kind → copies whose source is another token, [factors, m].
        own: kind → the copy whose source is the loud one, [factors, m].
    """

    factors: Sequence[float]
    others: Mapping[str, Tensor]
    own: Mapping[str, Tensor]

    def at(self, of: str, kind: str, factor: float) -> float:
        """The median over seeds at a factor, of the `others` or the token's `own` copy."""
        accuracy = {"others": self.others, "own": self.own}[of][kind]
        return accuracy[self.factors.index(factor)].median().item()


def loudness(one: Runs) -> Loudness:
    """Of trained one-layer models."""
    factors = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
    found = {
        kind: torch.tensor(
            [
                [
                    measure.accuracy_at_loudness(m, recipe.FIXED, c, Generator().manual_seed(10))
                    for m in members(one[kind])
                ]
                for c in factors
            ]
        )
        for kind in recipe.KINDS
    }
    return Loudness(
        factors,
        {kind: both[..., 0] for kind, both in found.items()},
        {kind: both[..., 1] for kind, both in found.items()},
    )


# --- Inside a head


class Places(NamedTuple):
    """Keys seen from their query's plane: length in it and height above it, [n, 2] each."""

    right: Float[Tensor, "n 2"]
    others: Float[Tensor, "k 2"]

    @property
    def ratio(self) -> float:
        """The right source's median height, as a multiple of the others'."""
        return (self.right[:, 1].median() / self.others[:, 1].median()).item()


def places(one: Runs, kind: str, profile: Float[Tensor, "m h t"], n: int = 40) -> Places:
    """For the first seed's head that looks most to the source, over n sequences.

    `profile` is what `offsets` found of this kind.
    """
    model = members(one[kind])[0]
    layer = cast(TripleProductAttention, model.layers[0])
    head = int(profile[0, :, recipe.HALF - 1].argmax())
    right, others = [], []
    for row in recipe.FIXED.sample(n, Generator().manual_seed(11)):
        embedded = model.embedding(row).detach()
        for query in range(recipe.HALF, 2 * recipe.HALF - 1, 4):
            keys, _ = measure.plane_coordinates(layer, embedded, head, query)
            place = torch.stack([keys[:, :2].norm(dim=1), keys[:, 2]], 1)
            source = query - recipe.HALF + 1
            right.append(place[source])
            others.append(torch.cat([place[:source], place[source + 1 :]])[::5])
    return Places(torch.stack(right), torch.cat(others))


class Spread(NamedTuple):
    """Standard deviation of each score as it stands in the softmax, over queries and keys."""

    d: int
    dot: float
    volume: float
    angle: float


def spreads() -> list[Spread]:
    """For vectors of independent standard normal numbers, at three dimensions."""
    found = []
    for d in (4, 16, 64):
        q, k, r = torch.randn(3, 512, d, generator=Generator().manual_seed(12))
        scores = (q @ k.T / d**0.5, stable_volume(q, k, r) / d**1.5, 8 * cos2_to_plane(q, k, r))
        found.append(Spread(d, *(score.std().item() for score in scores)))
    return found


def trained_scores(one: Runs) -> tuple[float, float]:
    """The trained volume's lowest score and mean largest weight of a row, on random letters."""
    found = [measure.score_spread(m, _noise()) for m in members(one["volume"])]
    return min(x["lowest"] for x in found), sum(x["sharpest"] for x in found) / len(found)


# --- All that the claims rest on


@dataclass(frozen=True)
class Evidence:
    """What the table of claims rests on.

    Args:
        live: one of `recipe.TASKS` → kind → how it learns here.
        recorded: likewise, from the record.
        best: likewise → the best predictor's loss on the same sequences.
        moved: one layer at other periods.
        loud: one layer with a loud token.
        rounding: form → loudness → what rounding makes of keys in the plane.
        resilience: the source's table.
    """

    live: Mapping[str, Learnings]
    recorded: Mapping[str, Learnings]
    best: Mapping[str, float]
    moved: Transfer
    loud: Loudness
    rounding: Mapping[str, Mapping[float, Rounding]]
    resilience: Resilience
