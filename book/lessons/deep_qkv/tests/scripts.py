"""Pages with the sorter; what a reader does there, their transcripts say."""

from typing import Any

import pytest
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.deep_qkv import Config, Sorter
from book.lessons.deep_qkv import claims, evidence, figures, recipe
from book.lessons.deep_qkv.widget import ABCSorter
from book.page.guess import Guess
from tests.checked import recalled
from tests.transcripts.played import on_site

ALL = slice(None)


def opened(**seeds: Any) -> ABCSorter:
    """Recorded sorters, these seeds of each kind; it opens as in the lesson, on plain, seed 9."""
    made = ABCSorter(variant="plain", seed=9)
    for kind, chosen in seeds.items():
        stack = {name: values[chosen] for name, values in evidence.weights(kind).items()}
        made.load(kind, stack, Config(kind))
    return made


def beside_another() -> list[Any]:
    """Plain ones, and a gated one without positions that has learnt nothing."""
    made, config = opened(plain=ALL), Config(positions=False)
    made.load("gated", stack_module_state([Sorter(config, Generator().manual_seed(0))])[0], config)
    return [made]


def taught() -> list[Any]:
    made = opened(plain=[9, 2])
    for kind, rate in (("plain", 0.02), ("fixed_gate", 1e30)):
        made.teach(kind, Config(kind), rate=rate, steps=120, warmup=10)
    return [made]


def mine() -> list[Any]:
    chosen = evidence.recorded("chosen")
    live = evidence.Live({kind: chosen[kind] for kind in claims.LESSON})
    guess = Guess("deep_qkv", (evidence.ORDER,))
    return [guess, *taught(), figures.lesson_race(chosen), guess.score(evidence.predicted(live))]


def race() -> list[Any]:
    made = ABCSorter(picture="race")
    with pytest.MonkeyPatch.context() as patch:
        recalled(patch)
        made.enter({kind: recipe.train_kind(kind) for kind in evidence.ASKED}, evidence.ASKED)
    return on_site(made, "short")


PAGES = {
    "race": race,
    "word": lambda: on_site(opened(plain=ALL)),
    "weights": lambda: [opened(plain=ALL, gated=ALL)],
    "keys": lambda: [opened(plain=ALL)],
    "seeds": lambda: on_site(opened(plain=[9, 2, 10], gated=[2, 12], strict=[0]), "failed"),
    "runs": beside_another,
    "training": taught,
    "learning": taught,
    "mine": mine,
}
