"""What the chapter trains, on which puzzles and how it is judged: the one home of its settings.

The notebook trains `LIVE`; `experiments.py` trains it again from other seeds, and recipes that
differ from it in one part, for as many operations in all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Generator, Tensor
from torch.utils.flop_counter import FlopCounterMode

from attn_notes.models.trm import TRM, Config, Rereading, Straight
from attn_notes.tasks.sudoku import Batch, Sudoku
from book.kit import recorded
from book.lessons.trm.controls import Sharing
from book.lessons.trm.supervision import Settings, step_loss

WARM_UP = 50  # steps of the optimiser
WEIGHT_DECAY = 0.1
BETAS = (0.9, 0.95)


@dataclass(frozen=True)
class Recipe:
    """A model and how it is trained: AdamW with a warm-up and a cosine."""

    config: Config
    settings: Settings
    steps: int  # of the optimiser
    lr: float
    recursive: bool = True  # or `Straight`, which goes through its layers once
    rereads: bool = False  # without recursion: whether every layer is given the puzzle
    shares: bool = False  # and whether a few layers are gone through again and again

    def model(self, seed: int) -> TRM:
        """The model, untrained."""
        once = Sharing if self.shares else Rereading if self.rereads else Straight
        kind = TRM if self.recursive else once
        return kind(self.config, Generator().manual_seed(seed))


def parameters(config: Config) -> int:
    """How many numbers a network of this config learns, with recursion or without."""
    return sum(p.numel() for p in TRM(config, Generator()).parameters())


@cache
def operations(recipe: Recipe) -> int:
    """Multiplications and additions of one step of the optimiser, for one puzzle."""
    model = recipe.model(0)
    with FlopCounterMode(display=False) as counter:
        out = model(torch.zeros(1, recipe.config.cells, dtype=torch.long))
        (out.logits.sum() + out.halt.sum()).backward()
    return counter.get_total_flops()


# --- What is trained live

TASK = Sudoku(rows=2, columns=3)
STRICTER = Sudoku(rows=2, columns=3, symmetries="all")
"""The same boards, split up to all symmetries: what trains on `TASK` has seen every class of it."""
LIVE = Recipe(
    Config(
        norm="tokens",
        vocabulary=TASK.vocabulary,
        cells=TASK.cells,
        width=64,
        multiple=64,
        heads=4,
        latent_steps=3,
        cycles=1,
    ),
    Settings(seats=64, steps=8, loss="softmax", ema=0.99),
    steps=900,
    lr=3e-3,
)
SEED = 0
PROBE_EVERY = 150  # steps of the optimiser
USES = LIVE.config.cycles * (LIVE.config.latent_steps + 1)
"""Of the network in a supervision step."""

TRAINED = LIVE.settings.steps
"""Supervision steps that a puzzle has in training, at most."""

# --- What a reader trains in the page

PAGE = {32: 1000, 16: 1800, 64: LIVE.steps}
"""Seats → steps of the optimiser; the first is offered first, the fewest seats on a phone."""
JUDGED = dict(along=60, last=300, steps=TRAINED, probes=12)
GOAL = dict(solved=0.9, steps=1000)
"""The challenge: which share of the puzzles judged last, within so many steps."""

LOOK = 0.0047
"""Seconds of training for one look of one seat, by the record of the lesson's own run."""


def lesson(task: Sudoku = TASK) -> dict[str, Any]:
    """What `SudokuExplorer.teach` takes."""
    settings = LIVE.settings
    return {
        "config": LIVE.config,
        "task": task,
        "loss": partial(step_loss, settings=settings),
        "sizes": PAGE,
        "supervision": {
            "steps": settings.steps,
            "exploration": settings.exploration,
            "ema": settings.ema,
        },
        "optimizer": {
            "rate": LIVE.lr,
            "warmup": WARM_UP,
            "decay": WEIGHT_DECAY,
            "beta1": BETAS[0],
            "beta2": BETAS[1],
        },
        "judged": JUDGED,
        "goal": GOAL,
        "look": LOOK,
    }


# --- Which puzzles


class Drawn(NamedTuple):
    """A set of puzzles: how many, of which kind, from which seed, of classes held out or not."""

    size: int
    kind: str
    seed: int
    held_out: bool

    def sample(self, size: int | None = None, task: Sudoku = TASK) -> Batch:
        """The puzzles and their solutions, or another number of them, by the task's split."""
        size = size or self.size

        def draw() -> Batch:
            generator = Generator().manual_seed(self.seed)
            return task.sample(size, generator, self.kind, held_out=self.held_out)

        if not recorded.wanted():
            return draw()
        puzzles, solutions = recorded.tensors(recorded.key((), self, size, task), draw)
        return puzzles, solutions

    def grids(self) -> Int[Tensor, "n c"]:
        """The solutions alone, without digging the puzzles out of them."""
        generator = Generator().manual_seed(self.seed)
        return TASK.grids(self.size, generator, held_out=self.held_out)


SIZES: dict[str, Any] = dict(bank=20_000, tests=1000, probed=200, think=16)
THINK: int = SIZES["think"]
"""Supervision steps at test time, at most."""

KINDS = ("mixed", "minimal")
BANK = Drawn(SIZES["bank"], "mixed", 1, held_out=False)
VALIDATION = {
    kind: Drawn(SIZES["tests"], kind, 2 + i, held_out=True) for i, kind in enumerate(KINDS)
}
SEEN = Drawn(SIZES["tests"], "mixed", 4, held_out=False)
"""Puzzles of the classes that the bank is drawn from; about half are of one in the bank."""

FRESH = {kind: Drawn(SIZES["tests"], kind, 21 + i, held_out=True) for i, kind in enumerate(KINDS)}
"""Held-out puzzles on which no setting was chosen: `VALIDATION` have served for that."""

FAMILIAR = Drawn(SIZES["tests"], "minimal", 23, held_out=False)
"""Minimal puzzles of the classes that the bank is drawn from."""


def probed(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The first puzzles of a batch: those that are looked at along training."""
    puzzles, solutions = (part[: SIZES["probed"]] for part in batch)
    return puzzles, solutions


# --- What is recorded besides

SEEDS = 4
REREADING_SEEDS = 5
"""Of the control that reads again: against four others a rank test can tell one question of three,
Holm's correction included."""
INSIDE: dict[str, Any] = dict(
    thoughts=4,  # supervision steps, in which is read what is in mind and how sure it is
    fewest=20,  # answers in a bin that is shown
    edges=[0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0],  # of bins of the estimate
    levels=[0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, 0.99],  # at which to stop
)
ELSEWHERE: dict[str, Any] = dict(
    drawn=20_000,  # grids, of which is counted how many the stricter split holds out
    dug=4000,  # minimal puzzles, dug by the solver alone
    open=500,  # boards of each number of clues, and which
    clues=[0, 1, 2, 3, 4, 5, 6, 7, 8],
)
RATES = (1e-3, LIVE.lr, 1e-2)
"""Learning rates at which networks without recursion are tried."""

TRM_LIVE = "TRM"
WITHOUT_EMA = "without EMA"
ONE_STEP = "one supervision step"
NO_HALTING = "no early halting"
STABLEMAX = "stablemax"
CHANNELS = "norm as published"
TWO_CYCLES = "T = 2"
DEEP = "straight, equal depth"
EQUAL = "straight, equal parameters"
REREADING = "straight, rereading"
SHARING = "straight, rereading, one set of weights"


def as_long(recipe: Recipe) -> Recipe:
    """As many steps as make about as many operations as the live run's."""
    return replace(recipe, steps=round(LIVE.steps * operations(LIVE) / operations(recipe)))


def with_config(**change: Any) -> Recipe:
    """The live recipe with another network."""
    return as_long(replace(LIVE, config=replace(LIVE.config, **change)))


def with_settings(**change: Any) -> Recipe:
    """The live recipe with another supervision."""
    return replace(LIVE, settings=replace(LIVE.settings, **change))


def straight(layers: int, *, rereads: bool = False, shares: bool = False) -> Recipe:
    """No recursion: as many layers as given, gone through once, or as often as in a look."""
    config = replace(LIVE.config, layers=layers)
    settings = replace(LIVE.settings, steps=1)
    once = replace(
        LIVE, config=config, settings=settings, recursive=False, rereads=rereads, shares=shares
    )
    return as_long(once)


def baselines() -> dict[str, Recipe]:
    """The live run's recipe, and networks without recursion, at equal operations."""
    layers = LIVE.config.layers
    return {TRM_LIVE: LIVE, EQUAL: straight(layers), DEEP: straight(layers * USES)}


def supervisions() -> dict[str, Recipe]:
    """The same network, one part of how it is supervised changed at a time."""
    return {
        ONE_STEP: with_settings(steps=1),
        NO_HALTING: with_settings(halt_early=False),
        STABLEMAX: with_settings(loss="stablemax"),
    }


def networks() -> dict[str, Recipe]:
    """The same supervision, one part of the network changed at a time, at equal operations."""
    return {CHANNELS: with_config(norm="channels"), TWO_CYCLES: with_config(cycles=2)}


def other_rates() -> dict[str, Recipe]:
    """The networks without recursion at a third of the live run's rate, and at three times it."""
    return {
        at_rate(kind, lr): replace(recipe, lr=lr)
        for kind, recipe in baselines().items()
        if not recipe.recursive
        for lr in RATES
        if lr != LIVE.lr
    }


def at_rate(kind: str, lr: float) -> str:
    """What a kind is called that is trained at another rate."""
    return f"{kind}, lr {lr:g}"


def rereading() -> dict[str, Recipe]:
    """The deeper network without recursion, given the puzzle at every layer."""
    return {REREADING: straight(LIVE.config.layers * USES, rereads=True)}


def sharing() -> dict[str, Recipe]:
    """The same with one set of weights: as many layers, of which every second one is the same."""
    return {SHARING: straight(LIVE.config.layers, rereads=True, shares=True)}


RECORDS: dict[str, Callable[[], dict[str, Recipe]]] = {
    "trm_baselines": baselines,
    "trm_supervision": supervisions,
    "trm_networks": networks,
    "trm_rates": other_rates,
    "trm_rereading": rereading,
    "trm_sharing": sharing,
}
"""Record → what gives the recipes that it holds, by the names of their kinds."""
