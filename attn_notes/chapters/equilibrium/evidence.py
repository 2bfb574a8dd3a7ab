"""What chapter 4 rests on, recorded and live, as values: no sentence stands here."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from attn_notes.analysis import cost, results
from attn_notes.chapters.equilibrium import estimators, measure, plane, recipe
from attn_notes.chapters.equilibrium.estimators import Implicit, Nudged
from attn_notes.models.equilibrium import CORRECTIONS, TOLERANCE, LanguageModel, Relaxation
from attn_notes.tasks.text import FallbackWarning, Text, tiny_shakespeare
from attn_notes.training.ensemble import Run


def read_text() -> tuple[Text, bool]:
    """The text, and whether it is only the excerpt, since the whole could not be had."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        text = tiny_shakespeare()
    return text, any(issubclass(warning.category, FallbackWarning) for warning in said)


def numbers(rows: Any) -> Tensor:
    """Nested lists of a record as a tensor; what was no number there (None) is NaN."""

    def mended(value: Any) -> Any:
        if isinstance(value, list):
            return [mended(each) for each in value]
        return math.nan if value is None else value

    return torch.tensor(mended(rows), dtype=torch.float64)


# --- Recorded


@dataclass(frozen=True)
class Training:
    """Every kind of estimator, from the same seeds, all under the governor.

    Attributes:
        steps: at which was probed.
        curves: kind → nats a character [n, m] at each step, of each seed.
        ends: kind → nats [m] on more pieces, when all was done.
        cosines: kind → cosine [m] of its gradient to the exact one, in its own trained models.
    """

    steps: Sequence[int]
    curves: Mapping[str, Float[Tensor, "n m"]]
    ends: Mapping[str, Float[Tensor, " m"]]
    cosines: Mapping[str, Float[Tensor, " m"]]

    @property
    def seeds(self) -> int:
        """How many of each kind."""
        return len(self.ends["AEP"])

    @property
    def apart(self) -> Float[Tensor, " m"]:
        """How much higher each seed ends by AEP than by BPTT, in nats."""
        return self.ends["AEP"] - self.ends["BPTT"]


def training() -> Training:
    """The record of it."""
    runs = results.load("equilibrium_training")["runs"]

    def members(what: str) -> dict[str, Tensor]:
        return {k: numbers([each[what] for each in run["members"]]) for k, run in runs.items()}

    return Training(
        runs["AEP"]["steps"],
        {kind: numbers(run["loss"]) for kind, run in runs.items()},
        members("loss"),
        members("cosine"),
    )


@dataclass(frozen=True)
class Ungoverned:
    """Training with nothing that keeps the state at rest.

    Attributes:
        steps: at which was probed.
        curves: kind and damping → nats a character [n, m]; NaN is a run that came to no number.
    """

    steps: Sequence[int]
    curves: Mapping[tuple[str, int], Float[Tensor, "n m"]]

    @property
    def seeds(self) -> int:
        """How many of each kind."""
        return next(iter(self.curves.values())).shape[1]

    def ends(self, kind: str, damping: int) -> Float[Tensor, " m"]:
        """The last losses."""
        return self.curves[kind, damping][-1]

    def ran_away(self, kind: str, damping: int) -> int:
        """How many seeds ever lost more than `recipe.RUN_AWAY`, or were no number."""
        return int((~(self.curves[kind, damping] < recipe.RUN_AWAY)).any(0).sum())


def ungoverned() -> Ungoverned:
    """The record of it."""
    runs = results.load("equilibrium_ungoverned")["runs"]
    names = {(k, c): f"{k}, c = {c}" for c in recipe.DAMPINGS for k in recipe.UNGOVERNED}
    return Ungoverned(
        next(iter(runs.values()))["steps"],
        {of: numbers(runs[name]["loss"]) for of, name in names.items()},
    )


@dataclass(frozen=True)
class Gradients:
    """At the published sizes: the gradient by nudged steps, by β and by precision.

    Attributes:
        batch: pieces.
        length: of each, in characters.
        steps: numbers of nudged steps [n].
        cosines: correction → cosine [m, n] to the exact gradient.
        lengths: correction → length [m, n] of the credit, the exact one's 1.
        betas: nudges [b].
        double: relative errors [m, b] in double precision.
        single: and in single precision.
    """

    batch: int
    length: int
    steps: Sequence[int]
    cosines: Mapping[str, Float[Tensor, "m n"]]
    lengths: Mapping[str, Float[Tensor, "m n"]]
    betas: Sequence[float]
    double: Float[Tensor, "m b"]
    single: Float[Tensor, "m b"]

    @property
    def seeds(self) -> int:
        """How many untrained blocks."""
        return len(self.double)

    def at(self, correction: str, steps: int) -> Float[Tensor, " m"]:
        """The cosine of each seed after so many nudged steps."""
        return self.cosines[correction][:, list(self.steps).index(steps)]


def gradients() -> Gradients:
    """The record of it."""
    record = results.load("equilibrium_gradients")
    settings, runs = record["settings"], record["runs"]

    def of(what: str) -> dict[str, Tensor]:
        return {c: numbers([run[what] for run in runs[c]]) for c in CORRECTIONS}

    return Gradients(
        settings["batch"],
        settings["length"],
        settings["steps"],
        of("cosine"),
        of("length"),
        settings["betas"],
        numbers(runs["beta"]),
        numbers(runs["precision"]),
    )


# --- Live: two numbers on a plane


@dataclass(frozen=True)
class Scene:
    """A force on two numbers, where they rest, and which way each method would move the input.

    Attributes:
        flow: the force on a square grid [n, n, 2] over `axis`, first number first.
        rest: the state at rest.
        target: where it should be.
        arrows: `true`, `AEP` and `naive` → minus the gradient.
    """

    axis: Float[Tensor, " n"]
    flow: Float[Tensor, "n n 2"]
    rest: Float[Tensor, " 2"]
    target: Float[Tensor, " 2"]
    arrows: Mapping[str, Float[Tensor, " 2"]]

    @property
    def off(self) -> float:
        """The angle between the naive arrow and the true one, in degrees."""
        turn = torch.cosine_similarity(self.arrows["naive"], self.arrows["true"], dim=0)
        return math.degrees(turn.clamp(-1, 1).acos())


def scenes() -> dict[str, Scene]:
    """With mutual forces, and with one that goes one way."""
    target, x = torch.tensor([0.4, -0.3]).double(), torch.tensor([[-1.1, 0.9]]).double()
    settle = Relaxation(steps=60, step=0.4)
    ways = {
        "true": Implicit(settle),
        "AEP": Nudged("full", 1e-3, settle),
        "naive": Nudged("none", 1e-3, settle),
    }
    axis = torch.linspace(-2, 2, 25).double()
    grid = torch.cartesian_prod(axis, axis)[:, None]

    def scene(coupling: float, rotation: float) -> Scene:
        field = plane.force(x, coupling, rotation)
        arrows = {}
        for name, estimator in ways.items():
            knob = x.clone().requires_grad_()
            value = estimator(
                plane.force(knob, coupling, rotation), plane.cost(target), knob, settle
            )
            arrows[name] = -torch.autograd.grad(value, knob)[0][0]
        return Scene(axis, field(grid).view(25, 25, 2), settle(field, x)[0], target, arrows)

    return {"mutual": scene(0.5, 0.0), "one way": scene(0.9, 0.9)}


# --- Live: the text and the model that was trained on it


def yardsticks(text: Text) -> dict[str, float]:
    """What a predictor knows → its loss on the whole validation part, in nats a character."""
    return {
        "knowing nothing": math.log(len(text.characters)),
        "how frequent each character is": text.count_losses(1).mean().item(),
        "and the one before": text.count_losses(2).mean().item(),
        "and the two before": text.count_losses(3).mean().item(),
        "and the four before": text.count_losses(5).mean().item(),
    }


@dataclass(frozen=True)
class Live:
    """The training of the page: AEP, seed 0.

    Attributes:
        steps: at which was probed [n].
        losses: nats a character [n] there.
        excerpt: whether it read the excerpt, which the records cannot be compared with.
        pairs_probed: what counting pairs loses on the pieces of the curves, in nats.
        pairs: and on the pieces that a trained model is judged by.
        fives: the same, knowing the four characters before.
    """

    steps: Sequence[int]
    losses: Float[Tensor, " n"]
    excerpt: bool
    pairs_probed: float
    pairs: float
    fives: float

    @property
    def end(self) -> float:
        """The last loss."""
        return self.losses[-1].item()


def live(run: Run, text: Text, excerpt: bool) -> Live:
    """What a run has come to, and counting on the same pieces."""

    def counted(order: int, most: int) -> float:
        return measure.count_loss(text, order, recipe.LENGTH, most)

    return Live(
        run.steps.tolist(),
        run.history["loss"][:, 0].cpu(),
        excerpt,
        counted(2, recipe.PROBED),
        counted(2, recipe.JUDGED),
        counted(5, recipe.JUDGED),
    )


@dataclass(frozen=True)
class Rates:
    """How the error of a gradient falls: with β, and with nudged steps.

    Attributes:
        betas: nudges.
        by_beta: `one side` and `both sides` → relative error at each.
        steps: numbers of nudged steps.
        by_steps: `AEP` and `naive EP` → relative error after each.
        radius: ρ(1 + ε J), by which theory lets it fall in a step.
    """

    betas: Sequence[float]
    by_beta: Mapping[str, Sequence[float]]
    steps: Sequence[int]
    by_steps: Mapping[str, Sequence[float]]
    radius: float

    @property
    def orders(self) -> dict[str, float]:
        """The power of β with which each error falls."""
        return {name: measure.order_in(self.betas, found) for name, found in self.by_beta.items()}

    @property
    def falling(self) -> list[tuple[int, float]]:
        """Steps and errors of AEP where it falls evenly, `recipe.FALLING`."""
        low, high = recipe.FALLING
        pairs = zip(self.steps, self.by_steps["AEP"], strict=True)
        return [(steps, error) for steps, error in pairs if low < error < high]

    @property
    def factor(self) -> float:
        """By which AEP's error falls in each of those steps; NaN where there are not two."""
        if len(self.falling) < 2:
            return math.nan
        steps, errors = zip(*self.falling, strict=True)
        return measure.factor_per_step(steps, errors)


def rates(model: LanguageModel, text: Text) -> Rates:
    """Of a trained model, in double precision."""
    enough = recipe.ENOUGH
    double = measure.with_relaxation(model, enough).double()
    batch = measure.spread(text.held_out(model.config.context), 2)
    true = measure.attention_gradient(double, batch, Implicit(enough))

    def error(beta: float, symmetric: bool) -> float:
        nudged = Nudged("full", beta, enough, symmetric)
        return measure.relative_error(measure.attention_gradient(double, batch, nudged), true)

    one = batch[:1]
    at_rest = measure.at_rest(double, one)
    j = measure.jacobian(at_rest.force, at_rest.z)
    steps = 1 + enough.step * measure.eigenvalues(j, model.config.width)
    true_one = measure.attention_gradient(double, one, Implicit(enough))

    def errors_by_steps(correction: str) -> list[float]:
        relaxation = Relaxation(max(recipe.RATE_STEPS), enough.step)
        nudged = Nudged(correction, recipe.RATE_BETA, relaxation)
        found = measure.gradients_by_steps(double, one, nudged, recipe.RATE_STEPS)
        return [measure.relative_error(gradient, true_one) for gradient, _ in found.values()]

    return Rates(
        recipe.BETAS,
        {
            "one side": [error(beta, symmetric=False) for beta in recipe.BETAS],
            "both sides": [error(beta, symmetric=True) for beta in recipe.BETAS],
        },
        recipe.RATE_STEPS,
        {"AEP": errors_by_steps("full"), "naive EP": errors_by_steps("none")},
        steps.abs().max().item(),
    )


@dataclass(frozen=True)
class Credit:
    """How much credit each state gets for each prediction.

    Attributes:
        letters: the characters read, as they are shown [t].
        maps: `exact`, `AEP` and `naive EP` → credit [t, t], prediction by state.
    """

    letters: Sequence[str]
    maps: Mapping[str, Float[Tensor, "t t"]]

    @property
    def shares(self) -> dict[str, tuple[float, float, float]]:
        """Of all credit: to earlier characters, to the predicting one, to later ones."""
        return {name: measure.credit_shares(credit) for name, credit in self.maps.items()}


def credit(model: LanguageModel, text: Text) -> Credit:
    """Of a trained model on one short piece."""
    piece = text.held_out(recipe.SHORT)[recipe.CREDIT_PIECE]
    letters = [{"\n": "↵", " ": "␣"}.get(c, c) for c in text.decode(piece[:-1].tolist())]
    settled = recipe.CREDIT_REST
    short = measure.with_relaxation(model, settled)
    ways: dict[str, estimators.CreditRelaxation] = {
        "exact": Implicit(settled),
        "AEP": Nudged("full", 0.02, settled),
        "naive EP": Nudged("none", 0.02, settled),
    }
    return Credit(letters, {k: measure.credit_map(short, piece, way) for k, way in ways.items()})


# --- Live: the published block


def untrained(text: Text) -> LanguageModel:
    """The published block, seed 0."""
    return LanguageModel(recipe.published(text), Generator().manual_seed(0))


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the Jacobian at rest [n] and of its two parts."""

    free: Tensor
    symmetric: Float[Tensor, " n"]
    antisymmetric: Float[Tensor, " n"]


def spectrum(text: Text) -> Spectrum:
    """Of the published block, in double precision, on one short piece."""
    model = untrained(text).double()
    at_rest = measure.at_rest(model, text.held_out(recipe.SHORT)[:1])
    j = measure.jacobian(at_rest.force, at_rest.z)
    return Spectrum(
        measure.eigenvalues(j, model.config.width),
        measure.symmetric_eigenvalues(j),
        measure.antisymmetric_eigenvalues(j),
    )


@dataclass(frozen=True)
class Rest:
    """Where the published block ends up with embeddings of some spread.

    Attributes:
        spread: standard deviation of the embeddings.
        left: what is left of the force after the published relaxation.
        fine: and after many short steps.
        step: ε of the published relaxation.
    """

    spread: float
    left: float
    fine: float
    step: float

    @property
    def seems(self) -> bool:
        """Whether the published test, of the length of a step, calls it at rest."""
        return self.left * self.step < TOLERANCE["step"]

    @property
    def rests(self) -> bool:
        """Whether little is left of the force."""
        return self.left < TOLERANCE["force"]


def rests(text: Text) -> list[Rest]:
    """For each spread of `recipe.SPREADS`."""
    published = recipe.published(text)
    pieces = text.held_out(recipe.PUBLISHED_LENGTH)[:, :-1]

    def rest(spread: float) -> Rest:
        loud = LanguageModel(replace(published, embedding_std=spread), Generator().manual_seed(0))
        left = measure.residuals(loud, pieces[:16], published.relaxation)[-1].item()
        fine = measure.residuals(loud, pieces[:2], recipe.FINE)[-1].item()
        return Rest(spread, left, fine, published.relaxation.step)

    return [rest(spread) for spread in recipe.SPREADS]


@dataclass(frozen=True)
class Scaled:
    """What is left of the force where all weights of a block are so many times as large.

    Attributes:
        scales: how many times [n].
        left: damping → what is left [n].
    """

    scales: Sequence[float]
    left: Mapping[float, Sequence[float]]


def scaled(text: Text) -> Scaled:
    """Of the corrected block, untrained, at several dampings."""
    pieces = text.held_out(recipe.LENGTH)[:2, :-1]

    def left(c: float) -> list[float]:
        relaxation = Relaxation(150, 1 / (2 * (1 + c)))
        config = replace(recipe.corrected(text), damping=c, relaxation=relaxation)
        return measure.left_by_scale(config, recipe.SCALES, pieces, Generator().manual_seed(0))

    return Scaled(recipe.SCALES, {c: left(c) for c in recipe.SCALED_DAMPINGS})


SLOWEST = "step by step, as published"
QUICKEST = "AEP, longer steps, one side"
NOT_AEP = ("BPTT, 12 steps of 0.5", "adjoint relaxation")
"""What AEP's quickest has to be held against, for they take the same longer steps."""


@dataclass(frozen=True)
class Costs:
    """What one gradient takes, name by name.

    Attributes:
        seconds: way → time.
        cosines: way → cosine to the exact gradient.
    """

    seconds: Mapping[str, float]
    cosines: Mapping[str, float]

    def faster(self, way: str) -> float:
        """How many times faster than step by step, as published."""
        return self.seconds[SLOWEST] / self.seconds[way]


def published_batch(text: Text) -> Tensor:
    """As many characters as the source takes."""
    return text.sample(recipe.PUBLISHED_BATCH, recipe.PUBLISHED_LENGTH, Generator().manual_seed(0))


def costs(text: Text) -> Costs:
    """Each way timed in turn, in one run."""
    ways, exact = measure.ways_to_one_gradient(
        recipe.published(text), published_batch(text), Generator().manual_seed(0)
    )
    found: dict[str, Tensor] = {}

    def keeping(name: str) -> Callable[[], None]:
        def work() -> None:
            found[name] = ways[name]()

        return work

    times = cost.seconds({name: keeping(name) for name in ways}, repeats=1)
    return Costs(times, {name: measure.cosine(gradient, exact) for name, gradient in found.items()})


@dataclass(frozen=True)
class Memory:
    """The most that is held at once, by the steps of the relaxation.

    Attributes:
        counts: steps [n].
        peaks: `BPTT`, `AEP` and `adjoint` → MiB [n].
    """

    counts: Sequence[int]
    peaks: Mapping[str, Sequence[float]]


def memory(model: LanguageModel, text: Text) -> Memory:
    """Of a gradient of a trained model on four pieces."""
    small = text.sample(4, recipe.LENGTH, Generator().manual_seed(1))

    def peak(steps: int, way: Callable[[Relaxation], estimators.Estimator]) -> float:
        relaxation = Relaxation(steps, recipe.ENOUGH.step)
        stepped, estimator = measure.with_relaxation(model, relaxation), way(relaxation)
        work = partial(measure.attention_gradient, stepped, small, estimator)
        return cost.peak_bytes(work) / 2**20

    def peaks(way: Callable[[Relaxation], estimators.Estimator]) -> list[float]:
        return [peak(steps, way) for steps in recipe.COUNTS]

    return Memory(
        recipe.COUNTS,
        {
            "BPTT": peaks(lambda _: estimators.bptt),
            "AEP": peaks(lambda relaxation: Nudged("full", 2.0, relaxation)),
            "adjoint": peaks(Implicit),
        },
    )


@dataclass(frozen=True)
class Settling:
    """What is left of the force at the start and after each evaluation of it, by way to rest."""

    left: Mapping[str, Float[Tensor, " n"]]

    def needed(self, way: str) -> int:
        """Evaluations until less than a thousandth is left.

        Raises:
            ValueError: it is never that little.
        """
        below = self.left[way] < TOLERANCE["force"]
        if not below.any():
            raise ValueError(f"with {way} the force never falls to {TOLERANCE['force']}")
        return int(below.int().argmax())


def settling(text: Text) -> Settling:
    """Of the published block."""
    model, x = untrained(text), published_batch(text)[:, :-1]
    return Settling(
        {name: measure.residuals(model, x, way) for name, way in recipe.WAYS_TO_REST.items()}
    )
