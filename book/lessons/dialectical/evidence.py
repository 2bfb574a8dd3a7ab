"""What the chapter's claims and figures rest on: the reader's own runs, and the recorded ones."""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor

from attn_notes.models.dialectical import LanguageModel
from attn_notes.tasks.brackets import VOCABULARY
from attn_notes.training.ensemble import Run, Tensors
from book.kit import results, verdicts
from book.kit.predictions import Choice, Part
from book.lessons.dialectical import decoding, measure, recipe
from book.lessons.dialectical.measure import Stopping, Tradeoff


def lowest(excess: Tensor) -> tuple[bool, float]:
    """Whether no seed's loss lies below the best predictor's on the same strings, and the least."""
    return verdicts.never_below((e, 0.0) for e in excess.tolist())


def falls_below(excess: Tensor) -> bool:
    """Whether some seed's loss does; one that is no number lies nowhere."""
    above, gap = lowest(excess)
    return not above and not math.isnan(gap)


@dataclass(frozen=True)
class Live:
    """The reader's own models, by what each kind is called; seeds along the last dimension.

    Attributes:
        steps: the probed steps.
        curves: nats above the best predictor's loss, at each of them, on `recipe.PROBED` strings.
    """

    steps: Tensor
    curves: Mapping[str, Float[Tensor, "n m"]]


def live(runs: Mapping[str, Run]) -> Live:
    """How trained models fell."""
    curves = {kind: run.history["excess"] for kind, run in runs.items()}
    return Live(next(iter(runs.values())).steps, curves)


def unpacked(kind: str, record: results.Record) -> Tensors:
    """The recorded parameters of one model of a kind, by name."""
    model = LanguageModel(recipe.KINDS[kind], Generator().manual_seed(0))
    raw = np.frombuffer(base64.b64decode(record["float32"]), np.float32)
    shapes = {name: p.shape for name, p in sorted(model.named_parameters())}
    parts = torch.from_numpy(raw.copy()).split([math.prod(s) for s in shapes.values()])
    return {name: p.view(shapes[name]) for name, p in zip(shapes, parts, strict=True)}


def weights(kind: str) -> Tensors:
    """The first recorded seed of a kind of `recipe.INSIDE`, as parameters by name."""
    return unpacked(kind, results.load("dialectical_inside")["runs"][kind]["weights"])


def model(kind: str) -> LanguageModel:
    """The same as a model."""
    found = LanguageModel(recipe.KINDS[kind], Generator().manual_seed(0))
    found.load_state_dict(weights(kind))
    return found


@dataclass(frozen=True)
class Recorded:
    """The recorded runs, as they were written."""

    parts: results.Record
    inside: results.Record
    rates: results.Record
    published: results.Record

    @property
    def kinds(self) -> list[str]:
        """The kinds that were recorded."""
        return list(self.parts["runs"])

    def members(self, kind: str, what: str) -> list[Any]:
        """What the seeds of a kind show."""
        return [member[what] for member in self.parts["runs"][kind]["members"]]

    @cached_property
    def ends(self) -> dict[str, Float[Tensor, " m"]]:
        """Nats above the best predictor's loss on held-out strings, of every seed of a kind."""
        return {kind: torch.tensor(self.members(kind, "excess")) for kind in self.kinds}

    def steps(self, kind: str) -> Float[Tensor, " m"]:
        """Steps that a token takes."""
        return torch.tensor(self.members(kind, "mean steps"))

    def tension(self, kind: str) -> Float[Tensor, "m s"]:
        """Mean tension at each step, over the tokens that had not halted."""
        return torch.tensor(self.members(kind, "tension"))

    def doubt(self) -> Float[Tensor, " m"]:
        """Correlation of tension and of what cannot be known."""
        return torch.tensor(self.members("corrected", "tension and entropy"))

    def saw(self, kind: str, what: str) -> Float[Tensor, " m"]:
        """What the watched kinds show, each seed: see `book/lessons/dialectical/experiments.py`."""
        return results.numbers([m[what] for m in self.inside["runs"][kind]["members"]])

    def at_work(self, kind: str) -> tuple[Tensor, Float[Tensor, "n m 3"]]:
        """Probed training steps; steps taken, tension at the first of them and at the last."""
        run = self.inside["runs"][kind]
        return torch.tensor(run["steps"]), torch.tensor(run["at work"])

    @cached_property
    def tradeoffs(self) -> list[Tradeoff]:
        """What halting saves, each seed of the corrected kind."""
        return [
            {rule: [Stopping(*row) for row in rows] for rule, rows in found.items()}
            for found in self.inside["runs"]["corrected"]["halting"]
        ]

    def against_depth(self, tau: float, equal: str = "moves") -> Float[Tensor, " m"]:
        """Loss with this threshold less that of stopping every token after as many moves."""
        return torch.tensor([measure.against_depth(t, tau, equal) for t in self.tradeoffs])

    def faults(self, kind: str, logits: str, decoder: str, budget: int) -> dict[str, int]:
        """How many texts of all writing seeds have which fault."""
        found = [w[logits][str(budget)][decoder] for w in self.inside["runs"][kind]["written"]]
        return {fault: sum(f[fault] for f in found) for fault in found[0]}

    @cached_property
    def texts(self) -> int:
        """How many texts `faults` counts."""
        prompts = measure.open_prompts(recipe.LONGEST_PROMPT)
        return len(prompts) * len(self.inside["runs"]["corrected"]["written"])


def recorded() -> Recorded:
    """Read the records."""
    names = ("parts", "inside", "rates", "published")
    return Recorded(*(results.load(f"dialectical_{name}") for name in names))


def stacked(name: str) -> Tensors:
    """The recorded seed of one of the lesson's kinds, as a widget takes it: m = 1 in front."""
    kind = next(k for k, config in recipe.KINDS.items() if config == recipe.LESSON[name])
    return {key: p[None] for key, p in weights(kind).items()}


def untrained() -> Tensors:
    """A model with its mask mended that has learnt nothing, likewise."""
    fresh = LanguageModel(recipe.MENDED, Generator().manual_seed(0))
    return {key: p.detach()[None] for key, p in fresh.named_parameters()}


def removals(trained: LanguageModel, prompt: str, budget: int = 14) -> dict[str, list[float]]:
    """What the grammar takes away at each choice, for a trained model and an untrained one."""
    fresh = LanguageModel(recipe.MENDED, Generator().manual_seed(0))
    return {
        name: [step.removed for step in decoding.generate(writer, prompt, budget).steps]
        for name, writer in {"trained": trained, "untrained": fresh}.items()
    }


KNOWING_NOTHING = math.log(len(VOCABULARY))
"""Nats that it costs to find all characters as likely."""
ALONE = Choice(
    "beginnings only",
    "It pays, a character,",
    {
        "less than 1.1 again": 1.0,
        "about 1.3, like the best predictor": 1.3,
        "about 1.95, like one who knows nothing": 1.95,
        "much more": 12.0,
    },
)
ASKED = (ALONE,)
TAKEN = Choice(
    "taken away",
    "They take away",
    {"nearly nothing": 0.0, "about a tenth": 0.1, "about a third": 0.33, "more than half": 0.6},
)


def predicted(recorded: Recorded) -> list[Part]:
    """What became of what the lesson asks: what a model that reads ahead pays on beginnings."""
    paid = recorded.saw("published", "loss on prefixes")
    if bool((paid > 2 * KNOWING_NOTHING).all()):
        return [ALONE.came(ALONE.options["much more"])]
    typical = float(paid.median())
    return [ALONE.came(min(ALONE.options.values(), key=lambda nats: abs(nats - typical)))]


def taken(removed: Mapping[str, Sequence[float]]) -> Part:
    """What became of what the page on writing asks: how much a trained model loses, on average."""
    mean = sum(removed["trained"]) / len(removed["trained"])
    return TAKEN.came(min(TAKEN.options.values(), key=lambda share: abs(share - mean)))
