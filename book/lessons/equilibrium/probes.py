"""What the chapter looks into, beyond training: values, and how each is measured.

Rates and credit are those of a trained model, the rest of the published block. `book/experiments`
records them all; `book.lessons.equilibrium.evidence` reads the records back.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from attn_notes.models.equilibrium import TOLERANCE, LanguageModel, Relaxation
from attn_notes.tasks.text import Text
from book.kit import cost
from book.lessons.equilibrium import estimators, measure, recipe
from book.lessons.equilibrium.estimators import Implicit, Nudged

# --- Two neurons


def two_neurons(correction: str, steps: int = 600) -> Float[Tensor, "2"]:
    """The credits of two neurons by so many nudged steps of a tenth.

    The first is pulled to 1, and the second to twice the first; the error grows as the second does,
    so the credits are 2 and 1. All is linear, so that a nudge of 1 is as good as a weak one.
    """
    hears, pull = torch.tensor([[0.0, 0.0], [2.0, 0.0]]), torch.tensor([[1.0], [0.0]])
    rest = pull + hears @ pull
    estimator = Nudged(correction, beta=1.0, relaxation=Relaxation(steps, 0.1), symmetric=False)
    return estimator.last_credit(lambda z: pull + hears @ z - z, lambda z: z[1, 0], rest)[:, 0]


# --- A trained model


@dataclass(frozen=True)
class Rates:
    """How the error of a gradient falls: with β, and with nudged steps.

    Attributes:
        betas: nudges.
        by_beta: `one side` and `both sides` → relative error at each.
        steps: numbers of nudged steps.
        by_steps: `AEP`, `AEP, clipped` and `naive EP` → relative error after each.
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


def rates(model: LanguageModel, batch: Int[Tensor, "2 n"]) -> Rates:
    """Of a trained model on two pieces, by steps on the first, in double precision."""
    enough = recipe.ENOUGH
    double = measure.with_relaxation(model, enough).double()
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
        {
            "AEP": errors_by_steps("full"),
            "AEP, clipped": errors_by_steps("clipped"),
            "naive EP": errors_by_steps("none"),
        },
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


def credit(model: LanguageModel, piece: Int[Tensor, " n"], characters: str) -> Credit:
    """Of a trained model on one short piece, its vocabulary given in order."""
    read = "".join(characters[i] for i in piece[:-1].tolist())
    letters = [{"\n": "↵", " ": "␣"}.get(c, c) for c in read]
    settled = recipe.CREDIT_REST
    short = measure.with_relaxation(model, settled)
    ways: dict[str, estimators.CreditRelaxation] = {
        "exact": Implicit(settled),
        "AEP": Nudged("full", 0.02, settled),
        "naive EP": Nudged("none", 0.02, settled),
    }
    return Credit(letters, {k: measure.credit_map(short, piece, way) for k, way in ways.items()})


# --- The published block


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


def memory(text: Text) -> Memory:
    """Of a gradient of the corrected block, untrained, on four pieces.

    What is held depends on sizes alone, and not on what the weights have learned.
    """
    model = LanguageModel(recipe.corrected(text), Generator().manual_seed(0))
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
