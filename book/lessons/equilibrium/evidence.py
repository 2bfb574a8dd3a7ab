"""What the chapter rests on, recorded and live, as values: no sentence stands here.

Recorded runs read the whole text, a live one what it could get; no value mixes the two.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from attn_notes.models.equilibrium import CORRECTIONS, LanguageModel
from attn_notes.tasks.text import FallbackWarning, Text, tiny_shakespeare
from attn_notes.training.ensemble import Run
from book.kit import results
from book.kit.predictions import Choice, Part
from book.kit.results import numbers
from book.kit.words import signed
from book.lessons.equilibrium import measure, probes, recipe
from book.lessons.equilibrium.probes import (
    Costs,
    Credit,
    Memory,
    Rates,
    Rest,
    Scaled,
    Settling,
    Spectrum,
)


def at_most(bound: float, digits: int = 2) -> str:
    """A bound in so many digits, and so rounded up; nothing is less than the records' rounding."""
    bound = max(bound, 1e-10)
    unit = 10.0 ** (math.floor(math.log10(bound)) - digits + 1)
    up = math.ceil(round(bound / unit, 6)) * unit  # 20.000000000000004 units are 20
    return signed(f"{up:.{digits - 1}e}" if up < 1e-4 else f"{up:.{digits}g}")


def read_text() -> tuple[Text, bool]:
    """The text, and whether it is only the excerpt, since the whole could not be had."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        text = tiny_shakespeare()
    return text, any(issubclass(warning.category, FallbackWarning) for warning in said)


# --- Recorded


@dataclass(frozen=True)
class Training:
    """Every kind of estimator, from the same seeds, all under the governor.

    Attributes:
        steps: at which was probed.
        curves: kind → nats a character [n, m] at each step, of each seed.
        ends: kind → nats [m] on more pieces, when all was done.
        cosines: kind → cosine [m] of its gradient to the exact one, in its own trained models: the
            mean of four, one for each of Q, K, V and O.
        counted: how many characters in a row are counted, `recipe.ORDERS` → nats on the pieces
            that the ends are judged by.
        texts: kind → how its first seed goes on from `recipe.PROMPT`.
        parameters: of each model.
    """

    steps: Sequence[int]
    curves: Mapping[str, Float[Tensor, "n m"]]
    ends: Mapping[str, Float[Tensor, " m"]]
    cosines: Mapping[str, Float[Tensor, " m"]]
    counted: Mapping[str, float]
    texts: Mapping[str, str]
    parameters: int

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
    record = results.load("equilibrium_training")
    runs = record["runs"]

    def members(what: str) -> dict[str, Tensor]:
        return {k: numbers([each[what] for each in run["members"]]) for k, run in runs.items()}

    return Training(
        runs["AEP"]["steps"],
        {kind: numbers(run["loss"]) for kind, run in runs.items()},
        members("loss"),
        members("cosine"),
        record["settings"]["counted"]["judged"],
        {kind: run["text"] for kind, run in runs.items()},
        runs["AEP"]["parameters"],
    )


class Page(NamedTuple):
    """What trains in the page, recorded.

    Attributes:
        ends: way → nats a character [m] on the page's own held-out pieces, of each seed.
        yardsticks: name → nats there.
    """

    ends: Mapping[str, Float[Tensor, " m"]]
    yardsticks: Mapping[str, float]


def in_page() -> Page:
    """The record of it."""
    record = results.load("equilibrium_page")
    ends = {way: numbers(losses) for way, losses in record["runs"].items()}
    return Page(ends, record["settings"]["yardsticks"])


def trained() -> tuple[LanguageModel, str]:
    """The recorded model that AEP trained first, and its vocabulary in order."""
    record = results.load("equilibrium_rates")
    characters = record["settings"]["characters"]
    model = LanguageModel(recipe.corrected_for(characters), Generator().manual_seed(0))
    with np.load(results.path("equilibrium_trained.npz")) as packed:
        weights = {name: torch.from_numpy(packed[name]).float() for name in packed.files}
    model.load_state_dict(weights, strict=False)  # the embedding is the seed's own
    return model, characters


def pieces() -> Int[Tensor, "n l"]:
    """What the trained model was looked into on: two pieces of the validation part."""
    return torch.tensor(results.load("equilibrium_rates")["settings"]["pieces"])


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
        cosines: correction → cosine [m, n] to the exact gradient, the mean of four: one for each
            of Q, K, V and O, as the source has it.
        wholes: correction → cosine [m, n] of the whole gradient, the four being one vector.
        lengths: correction → length [m, n] of the credit, the exact one's 1.
        betas: nudges [b].
        double: relative errors [m, b] in double precision.
        single: and in single precision.
    """

    batch: int
    length: int
    steps: Sequence[int]
    cosines: Mapping[str, Float[Tensor, "m n"]]
    wholes: Mapping[str, Float[Tensor, "m n"]]
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

    def whole(self, correction: str, steps: int) -> Float[Tensor, " m"]:
        """The same of the whole gradient."""
        return self.wholes[correction][:, list(self.steps).index(steps)]


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
        of("whole"),
        of("length"),
        settings["betas"],
        numbers(runs["beta"]),
        numbers(runs["precision"]),
    )


def let_through() -> Float[Tensor, "m n"]:
    """The share of AEP's force that the limit leaves, in each of `recipe.GRADIENT_STEPS`."""
    return numbers(results.load("equilibrium_limit")["runs"]["shares"])


# --- Recorded: what `book.lessons.equilibrium.probes` has measured


def rates() -> Rates:
    """How the trained model's gradient errs."""
    found = results.load("equilibrium_rates")["runs"]["rates"]
    return Rates(**found)


def credit() -> Credit:
    """Where its credit goes."""
    found = results.load("equilibrium_rates")["runs"]["credit"]
    return Credit(found["letters"], {name: numbers(rows) for name, rows in found["maps"].items()})


def spectrum() -> Spectrum:
    """The published block's."""
    found = results.load("equilibrium_rest")["runs"]["spectrum"]
    free = torch.complex(numbers(found["free"][0]), numbers(found["free"][1]))
    return Spectrum(free, numbers(found["symmetric"]), numbers(found["antisymmetric"]))


def rests() -> list[Rest]:
    """Where it ends up with louder embeddings."""
    return [Rest(**each) for each in results.load("equilibrium_rest")["runs"]["rests"]]


def scaled() -> Scaled:
    """Where the corrected one does with larger weights."""
    found = results.load("equilibrium_rest")["runs"]["scaled"]
    left = {float(c): numbers(values).tolist() for c, values in found["left"].items()}
    return Scaled(found["scales"], left)


def settling() -> Settling:
    """How soon the published block rests."""
    found = results.load("equilibrium_rest")["runs"]["settling"]
    return Settling({way: numbers(values) for way, values in found.items()})


def costs() -> Costs:
    """What one gradient took."""
    return Costs(**results.load("equilibrium_costs")["runs"]["costs"])


def memory() -> Memory:
    """And what it held."""
    return Memory(**results.load("equilibrium_costs")["runs"]["memory"])


# --- Live: the text, and the model that was trained on it


@dataclass(frozen=True)
class Live:
    """The training of the page: AEP, seed 0.

    Attributes:
        end: the last loss, in nats a character.
        pairs: what counting pairs loses on the same pieces of the same text.
        text: how the model goes on from `recipe.PROMPT`.
    """

    end: float
    pairs: float
    text: str


def live(run: Run, text: Text) -> Live:
    """What a run has come to, beside counting."""
    model = run.member(0).cpu()
    assert isinstance(model, LanguageModel)
    pairs = measure.count_loss(text, recipe.ORDERS["pairs"], recipe.LENGTH, recipe.PROBED)
    return Live(run.history["loss"][-1, 0].item(), pairs, measure.written(model, text))


LIMITED = Choice(
    "credit of A",
    "With the limit, A’s credit comes out",
    {"too small": -1.0, "right": 0.0, "too large": 1.0},
)


def predicted() -> list[Part]:
    """What became of what the lesson asks: what the first of two neurons gets under the limit."""
    got, truth = (probes.two_neurons(way)[0].item() for way in ("clipped", "full"))
    return [LIMITED.came(float(got > 1.01 * truth) - float(got < 0.99 * truth))]
