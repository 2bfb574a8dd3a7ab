"""The chapter's settings: what is trained, how long, at which rate and from which seeds.

The notebook, the recorded runs and their tests read them here and have no others.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Generator

from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run, Tensors, train
from attn_notes.training.schedules import warmup_cosine

SOLVED = len(sorting.LETTERS) ** sorting.LETTERS_PER_WORD  # all 27 inputs sorted


PARTS = {"all": sorting.ALL, "knowable": sorting.KNOWABLE, "answer": sorting.OUTPUTS}


@dataclass(frozen=True)
class Kind:
    """What is trained: how the weights are made, and which predictions the loss counts."""

    variant: str
    part: str = "all"  # a key of `PARTS`
    positions: bool = True

    @property
    def config(self) -> Config:
        """The model's configuration."""
        return Config(self.variant, positions=self.positions)

    @property
    def predictions(self) -> slice:
        """Which of the six predictions the loss counts."""
        return PARTS[self.part]


KINDS = {
    **{variant: Kind(variant) for variant in VARIANTS},
    "plain, knowable": Kind("plain", "knowable"),
    "plain, answer": Kind("plain", "answer"),
    "gated, knowable": Kind("gated", "knowable"),
    "gated, answer": Kind("gated", "answer"),
}
"""The five ways to make weights, with the loss on all six predictions; plain and gated with the
loss on the four that can be known, and on the answer, the three sorted letters."""


@dataclass(frozen=True)
class Setting:
    """How a crowd of seeds is trained with AdamW.

    Args:
        seeds: of the untrained models.
        steps: updates.
        lr: highest learning rate.
        warmup: steps in which the rate rises; then it falls along a cosine to a tenth.
        batch: sequences drawn a step; none for all 27, which gives the exact gradient.
        probe_every: steps between two looks at what the models can do.
    """

    seeds: tuple[int, ...]
    steps: int
    lr: float
    warmup: int
    batch: int | None
    probe_every: int

    def at(self, lr: float) -> "Setting":
        """The same with another learning rate."""
        return replace(self, lr=lr)


LIVE = Setting(tuple(range(16)), steps=1000, lr=1e-2, warmup=50, batch=None, probe_every=10)
"""What the lesson trains while it is read."""

PUBLISHED = Setting(tuple(range(32)), steps=15_001, lr=1e-3, warmup=500, batch=128, probe_every=250)
"""The source's own settings, over more seeds."""

RATES = (5e-3, 1e-2, 2e-2, 4e-2, 8e-2, 0.16)
SWEEP = replace(LIVE, seeds=tuple(range(100, 116)))
"""Each kind's rate is chosen on seeds that no comparison uses."""

CHOSEN = replace(LIVE, seeds=tuple(range(32)))
"""And compared on these."""

RATE = {
    "gated": 8e-2,
    "strict": 4e-2,
    "plain": 2e-2,
    "plain_third": 4e-2,
    "fixed_gate": 4e-2,
    "plain, knowable": 4e-2,
    "plain, answer": 4e-2,
    "gated, knowable": 8e-2,
    "gated, answer": 8e-2,
}
"""Each kind's own: the one at which the seeds of the sweep are done soonest on average."""

KEPT = 16
"""Of so many seeds the trained weights are recorded."""

RANKS, TEMPERATURES = (1, 2, 3), (0.1, 1.0, 10.0)

Watch = Callable[[int, Tensors, Tensors], None]


def sorters(config: Config, seeds: Iterable[int]) -> list[Sorter]:
    """Untrained sorters, one a seed."""
    return [Sorter(config, Generator().manual_seed(seed)) for seed in seeds]


def train_sorters(
    config: Config,
    setting: Setting,
    predictions: slice = sorting.ALL,
    *,
    watch: Watch | None = None,
    device: torch.device | str = "cpu",
) -> Run:
    """Train sorters of one configuration, all seeds at once, and probe them on the way.

    Args:
        config: of the model.
        setting: how they are trained.
        predictions: which of the six the loss counts, as `sorting.loss` takes it.
        watch: as `train` takes it.
        device: where to train.
    """
    batch = setting.batch
    return train(
        sorters(config, setting.seeds),
        partial(sorting.loss, predictions=predictions),
        partial(sorting.sample_weights, batch) if batch else sorting.population(),
        generators=[Generator().manual_seed(10_000 + s) for s in setting.seeds] if batch else None,
        steps=setting.steps,
        optimizer=partial(torch.optim.AdamW, lr=setting.lr, fused=True),
        schedule=warmup_cosine(setting.steps, setting.warmup),
        clip=1.0,
        probe=sorting.probe,
        probe_every=setting.probe_every,
        watch=watch,
        device=device,
    )


def train_kind(
    name: str,
    setting: Setting = LIVE,
    *,
    watch: Watch | None = None,
    device: torch.device | str = "cpu",
) -> Run:
    """Train all seeds of one of `KINDS` at the learning rate chosen for it."""
    kind = KINDS[name]
    setting = setting.at(RATE[name])
    return train_sorters(kind.config, setting, kind.predictions, watch=watch, device=device)
