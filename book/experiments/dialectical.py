"""Chapter 3's recorded runs."""

from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch
from torch import Generator

from attn_notes.analysis import results
from attn_notes.chapters.dialectical import measure
from attn_notes.models.dialectical import CORRECTED, Config, LanguageModel
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import Batch, Brackets
from attn_notes.training.comparison import BATCHES, held_out
from attn_notes.training.ensemble import Run, train
from experiments import experiment

TASK = Brackets(max_length=33)
SIZES: dict[str, Any] = dict(width=32, head_dim=16, context=64)
PUBLISHED = Config(**SIZES)
KINDS = {
    "published": PUBLISHED,
    "published, masked": replace(PUBLISHED, mask="causal"),
    **measure.ablations(replace(CORRECTED, **SIZES), TASK.length),
}
# The best of three (dialectical_rates).
RATES = dict.fromkeys(KINDS, 1e-2) | {"no tension gate": 3e-3}
THRESHOLDS = [round(0.05 * i, 2) for i in range(21)]


def curve(run: Run) -> results.Record:
    """How far above the floor each seed is at each probed step [n, m]."""
    return {
        "seconds": round(run.seconds, 1),
        "parameters": sum(p.numel() for p in run.member(0).parameters()),
        "steps": run.steps.tolist(),
        "excess": [[round(x, 4) for x in row] for row in run.history["excess"].tolist()],
    }


@torch.no_grad()
def seen(model: LanguageModel, batch: Batch) -> results.Record:
    """What one trained member does on strings that it never saw."""
    logits, observed = model.observe(batch[0])
    best = brackets.loss(TASK.ideal, batch)
    depths = measure.excess_by_depth(lambda _: logits, TASK, batch)
    tension, entropy = measure.tension_and_entropy(model, TASK, batch[0])
    return {
        "excess": round((brackets.loss(lambda _: logits, batch) - best).item(), 5),
        "mean steps": results.rounded(measure.mean_steps(observed)),
        "tension": [results.rounded(t) for t in measure.tension_by_step(observed).tolist()],
        "depth": {
            d: [results.rounded(above), results.rounded(share)]
            for d, (above, share) in depths.items()
        },
        "tension and entropy": results.rounded(measure.correlation(tension, entropy)),
    }


@experiment
def dialectical_published() -> None:
    """The published sizes, steps, batch and rate; as published and as corrected."""
    task = Brackets(max_length=41)  # one string in 100,000 is longer
    strings = brackets.trim(task.sample(256, held_out()))
    best = brackets.loss(task.ideal, strings)
    seeds, steps, batch, lr = 3, 200, 64, 1e-3
    runs = {}
    for kind, config in {"published": Config(), "corrected": CORRECTED}.items():
        run = train(
            [LanguageModel(config, Generator().manual_seed(seed)) for seed in range(seeds)],
            brackets.loss,
            partial(task.sample, batch),
            generators=[Generator().manual_seed(BATCHES + seed) for seed in range(seeds)],
            steps=steps,
            optimizer=partial(torch.optim.AdamW, lr=lr, fused=True),
            clip=1.0,
            probe=lambda model: {"excess": brackets.loss(model, strings) - best},
            probe_every=20,
        )
        runs[kind] = curve(run)
    settings = {"seeds": seeds, "steps": steps, "batch": batch, "lr": lr}
    results.save("dialectical_published", settings, runs)


@experiment
def dialectical_rates() -> None:
    """Every kind at three learning rates, in fewer steps: at which does it learn best?"""
    rates = (3e-3, 1e-2, 3e-2)
    settings: dict[str, Any] = dict(seeds=4, steps=300, batch=32, probe_every=100)
    runs: results.Record = {}
    for rate in rates:
        found = measure.train_brackets(KINDS, TASK, lr=rate, **settings)
        runs |= {f"{kind} {rate}": curve(run) for kind, run in found.items()}
    results.save("dialectical_rates", {"rates": rates, **SIZES, **settings}, runs)


@experiment
def dialectical_parts() -> None:
    """As published, as corrected, and without one part at a time, at equal cost."""
    settings: dict[str, Any] = dict(seeds=8, steps=600, batch=32, probe_every=50, lr=RATES)
    batch = brackets.trim(TASK.sample(4096, held_out()))
    runs = {}
    for kind, run in measure.train_brackets(KINDS, TASK, **settings).items():
        members = [cast(LanguageModel, run.member(i)) for i in range(settings["seeds"])]
        runs[kind] = curve(run) | {
            "operations": measure.operations(KINDS[kind], TASK.length),
            "head_dim": KINDS[kind].head_dim,
            "members": [seen(member, batch) for member in members],
        }
        if kind == "corrected":
            tradeoffs = [measure.halting_tradeoff(m, TASK, batch, THRESHOLDS) for m in members]
            runs[kind]["halting"] = [
                {
                    rule: [[results.rounded(x) for x in row] for row in rows]
                    for rule, rows in found.items()
                }
                for found in tradeoffs
            ]
    results.save("dialectical_parts", {**SIZES, **settings, "held out": 4096}, runs)
