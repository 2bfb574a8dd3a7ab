"""Chapter 1's recorded runs."""

from functools import partial
from typing import Any

import torch
from torch import Generator

from attn_notes.analysis import results
from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run, train
from attn_notes.training.schedules import warmup_cosine
from experiments import experiment


def train_sorters(
    config: Config,
    *,
    seeds: int,
    steps: int,
    lr: float,
    warmup: int,
    batch: int | None,
    probe_every: int,
    predictions: slice = sorting.ALL,
) -> Run:
    """Train sorters of one kind from seeds 0, 1, ...; `batch` None follows the exact gradient."""
    data = partial(sorting.sample_weights, batch) if batch else sorting.population()
    return train(
        [Sorter(config, Generator().manual_seed(seed)) for seed in range(seeds)],
        partial(sorting.loss, predictions=predictions),
        data,
        generators=[Generator().manual_seed(10_000 + s) for s in range(seeds)] if batch else None,
        steps=steps,
        optimizer=partial(torch.optim.AdamW, lr=lr, fused=True),
        schedule=warmup_cosine(steps, warmup),
        clip=1.0,
        probe=sorting.probe,
        probe_every=probe_every,
    )


def summary(run: Run) -> results.Record:
    """What the chapter draws: solved [n, m] at each probed step, the last losses [m, 6]."""
    solved = run.history["solved"]
    return {
        "seconds": round(run.seconds, 1),
        "steps": run.steps.tolist(),
        "solved": solved.tolist(),
        "mean_loss": [
            [round(x, 5) for x in row] for row in run.history["losses"].mean(-1).tolist()
        ],
        "last_losses": [[round(x, 5) for x in row] for row in run.history["losses"][-1].tolist()],
    }


@experiment
def deep_qkv_published() -> None:
    """The sorter at the published settings, 32 seeds, five ways of making the weights."""
    settings: dict[str, Any] = dict(
        seeds=32, steps=15_001, lr=1e-3, warmup=500, batch=128, probe_every=250
    )
    runs = {}
    for variant in VARIANTS:
        runs[variant] = summary(train_sorters(Config(variant), **settings))
    for name, part in (("knowable", sorting.KNOWABLE), ("outputs", sorting.OUTPUTS)):
        runs[f"gated, {name} only"] = summary(
            train_sorters(Config("gated"), predictions=part, **settings)
        )
    results.save("deep_qkv_published", settings, runs)


@experiment
def deep_qkv_rank_temperature() -> None:
    """Gated and strict sorters of rank 1 to 3 at temperatures 0.1, 1 and 10."""
    settings: dict[str, Any] = dict(
        seeds=16, steps=1000, lr=1e-2, warmup=50, batch=None, probe_every=10
    )
    runs = {}
    for variant in ("gated", "strict"):
        for rank in (1, 2, 3):
            for temperature in (0.1, 1.0, 10.0):
                config = Config(variant, rank=rank, temperature=temperature)
                runs[f"{variant} {rank} {temperature}"] = summary(train_sorters(config, **settings))
    results.save("deep_qkv_rank_temperature", settings, runs)
