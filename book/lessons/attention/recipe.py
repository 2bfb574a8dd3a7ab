"""The lesson's settings: what is trained, how long, at which rate and from which seeds."""

from collections.abc import Iterable
from functools import partial

import torch
from torch import Generator, Tensor

from attn_notes.models.deep_qkv import Config
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Model, Run, train
from attn_notes.training.schedules import warmup_cosine
from book.lessons.attention.whole import WholeSorter, causal

CONFIG = Config("plain")  # 318 weights
READ = sorting.LENGTH - 1  # places: training reads all tokens but the last
STEPS, WARMUP, RATE, CLIP = 1000, 50, 2e-2, 1.0
TAUGHT = {"rate": RATE, "steps": STEPS, "warmup": WARMUP, "clip": CLIP}  # in the page
EVERY = 10  # steps between two losses that are kept
SEEDS = tuple(range(16))  # in the notebook
RECORDED = tuple(range(32))
SHOWN = 9  # the seed in the pictures
MASKS = {"mask": causal(READ), "no mask": torch.ones(READ, READ)}
"""What each place may read, in the two ways to train."""


def sorter(seed: int) -> WholeSorter:
    """An untrained sorter."""
    return WholeSorter(CONFIG, Generator().manual_seed(seed))


def loss(model: Model, may_read: Tensor) -> Tensor:
    """The mean loss in nats a token over all 27 texts."""
    return sorting.loss(lambda tokens: model(tokens, may_read), sorting.population())


def train_sorters(mask: str, seeds: Iterable[int] = SEEDS, device: str = "cpu") -> Run:
    """Train sorters with the mask or without, all seeds at once."""
    return train(
        [sorter(seed) for seed in seeds],
        loss,
        MASKS[mask],
        steps=STEPS,
        optimizer=partial(torch.optim.AdamW, lr=RATE, fused=True),
        schedule=warmup_cosine(STEPS, WARMUP),
        clip=CLIP,
        probe=lambda model: {"loss": loss(model, MASKS[mask].to(device))},
        probe_every=EVERY,
        device=device,
    )
