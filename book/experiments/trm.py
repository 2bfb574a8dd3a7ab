"""Chapter 5's recorded runs."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor

from attn_notes.analysis import results
from attn_notes.chapters.trm import measure
from attn_notes.chapters.trm.supervision import Settings
from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Batch, Sudoku
from experiments import experiment

TASK = Sudoku(rows=2, columns=3)
CONFIG = Config(
    norm="tokens",
    vocabulary=TASK.vocabulary,
    cells=TASK.cells,
    width=64,
    multiple=64,
    heads=4,
    latent_steps=3,
    cycles=1,
)
LIVE = measure.Recipe(
    CONFIG, Settings(seats=64, steps=8, loss="softmax", ema=0.99), steps=900, lr=3e-3
)
SIZES: dict[str, Any] = dict(bank=20_000, tests=1000, probed=200, think=16)
SEEDS = 4
INSIDE: dict[str, Any] = dict(
    thoughts=4,  # supervision steps, in which is read what is in mind and how sure it is
    fewest=20,  # answers in a bin that is shown
    edges=[0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0],  # of bins of the estimate
    levels=[0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98, 0.99],  # at which to stop
)


def as_long(recipe: measure.Recipe) -> measure.Recipe:
    """As many steps as make about as many operations as the live run's."""
    share = measure.operations(LIVE) / measure.operations(recipe)
    return replace(recipe, steps=round(LIVE.steps * share))


def with_config(**change: Any) -> measure.Recipe:
    """The live recipe with another network."""
    return as_long(replace(LIVE, config=replace(LIVE.config, **change)))


def with_settings(**change: Any) -> measure.Recipe:
    """The live recipe with another supervision."""
    return replace(LIVE, settings=replace(LIVE.settings, **change))


def straight(layers: int) -> measure.Recipe:
    """No recursion: as many layers as given, gone through once."""
    config = replace(LIVE.config, layers=layers)
    settings = replace(LIVE.settings, steps=1)
    return as_long(replace(LIVE, config=config, settings=settings, recursive=False))


def bank_of_puzzles() -> Batch:
    """What there is to learn from."""
    return TASK.sample(SIZES["bank"], Generator().manual_seed(1), held_out=False)


def tests(size: int) -> dict[str, Batch]:
    """Puzzles of classes held out, and mixed ones of those that the bank is drawn from.

    About half of the latter are of a class that is in a bank of this size.
    """
    return {
        "mixed": TASK.sample(size, Generator().manual_seed(2), "mixed", held_out=True),
        "minimal": TASK.sample(size, Generator().manual_seed(3), "minimal", held_out=True),
        "seen": TASK.sample(size, Generator().manual_seed(4), "mixed", held_out=False),
    }


def solving(model: TRM, batch: Batch, steps: int) -> results.Record:
    """What a model makes of a test set at every step, and of stopping at its own word."""
    seen = measure.solve(model, batch, steps)
    stopped = measure.stop(seen, 0.5)
    return {
        "right": [results.rounded(x) for x in seen.right.float().mean(1).tolist()],
        "cells": [results.rounded(x) for x in seen.cells.mean(1).tolist()],
        "stopped": [results.rounded(x.item()) for x in stopped],  # after steps, share right
        "lost": int((measure.lost(seen.right) > 0).sum()),
    }


def certainty(model: TRM, batch: Batch, steps: int) -> list[list[int]]:
    """Puzzles wrong and right after so many steps, where q says wrong and where it says right."""
    seen = measure.solve(model, batch, steps)
    pairs = 2 * (seen.halt[-1] > 0).long() + seen.right[-1]
    return torch.bincount(pairs, minlength=4).view(2, 2).tolist()


def inside(model: TRM, judged: Mapping[str, Batch]) -> results.Record:
    """Where a model fails, what it keeps in mind and how sure it is; rounded as on the page."""
    model = measure.half_precision(model)
    seen = {on: measure.solve(model, judged[on], SIZES["think"]) for on in ("mixed", "minimal")}
    right = torch.cat([found.right for found in seen.values()], 1)
    groups = measure.difficulties(torch.cat([TASK.rounds(judged[on][0]) for on in seen]))
    puzzles, solutions = (part[: SIZES["probed"]] for part in judged["minimal"])
    thoughts = measure.thoughts(model, puzzles, INSIDE["thoughts"])
    read = measure.legible(thoughts, (puzzles, solutions))
    first = {on: found.halt[: INSIDE["thoughts"]].sigmoid() for on, found in seen.items()}
    sure = measure.reliability(
        torch.cat([said.flatten() for said in first.values()]),
        torch.cat([found.right[: INSIDE["thoughts"]].flatten() for found in seen.values()]),
        INSIDE["edges"],
    )

    def row(numbers: Tensor) -> list[float | None]:
        return [results.rounded(x) for x in numbers.tolist()]

    return {
        "by rounds": {
            name: row(right[:, chosen].float().mean(1)) for name, chosen in groups.items()
        },
        "legible": {name: row(share) for name, share in read._asdict().items()},
        "reliability": [
            row(torch.stack([said, share]))
            for said, share, answers in zip(*sure, strict=True)
            if answers >= INSIDE["fewest"]
        ],
        "right": {on: row(found.right.float().mean(1)) for on, found in seen.items()},
        "stops": {
            on: [row(torch.stack(measure.stop(found, level))) for level in INSIDE["levels"]]
            for on, found in seen.items()
        },
    }


def described(recipe: measure.Recipe) -> results.Record:
    """What a recipe comes to."""
    return {
        "parameters": sum(p.numel() for p in recipe.model(0).parameters()),
        "operations": measure.operations(recipe),
        "recipe": asdict(recipe),
    }


def learned(recipes: Mapping[str, measure.Recipe], seeds: int) -> results.Record:
    """Train every recipe from each of so many seeds, and look at what it has learned."""
    bank = bank_of_puzzles()
    judged = tests(SIZES["tests"])
    few = SIZES["probed"]
    probed = {
        kind: (puzzles[:few], solutions[:few])
        for kind, (puzzles, solutions) in judged.items()
        if kind != "seen"
    }
    runs: results.Record = {}
    for name, recipe in recipes.items():
        for seed in range(seeds):
            run, history = measure.learn(
                recipe,
                TASK,
                bank,
                seed=seed,
                probe=partial(measure.probe, tests=probed, steps=LIVE.settings.steps),
                probe_every=max(recipe.steps // 9, 1),
            )
            # Without recursion every step gives the same answer.
            think, trained = (SIZES["think"], recipe.settings.steps) if recipe.recursive else (1, 1)
            entry = runs.setdefault(name, described(recipe) | {"members": []})
            entry["steps"] = history.steps.tolist()
            entry["members"].append(
                {
                    "seconds": round(history.seconds[-1].item(), 1),
                    **{
                        f"{kind} by step": [results.rounded(x) for x in found.tolist()]
                        for kind, found in history.seen.items()
                    },
                    **{kind: solving(run.judged, judged[kind], think) for kind in probed},
                    "seen": solving(run.judged, judged["seen"], trained),
                    "certainty": {
                        kind: certainty(run.judged, judged[kind], trained) for kind in probed
                    },
                    "without EMA": {
                        kind: solving(run.model, judged[kind], trained) for kind in probed
                    },
                }
            )
            ends = {kind: entry["members"][-1][kind]["right"][-1] for kind in probed}
            print(f"{name}, seed {seed}: {ends}", flush=True)
    return runs


def baselines() -> dict[str, measure.Recipe]:
    """The live run's recipe, and networks without recursion, at equal operations."""
    depth = LIVE.config.layers * (LIVE.config.latent_steps + 1)
    return {
        "TRM": LIVE,
        "straight, equal parameters": straight(LIVE.config.layers),
        "straight, equal depth": straight(depth),
    }


def supervisions() -> dict[str, measure.Recipe]:
    """The same network, one part of how it is supervised changed at a time."""
    return {
        "one supervision step": with_settings(steps=1),
        "no early halting": with_settings(halt_early=False),
        "stablemax": with_settings(loss="stablemax"),
    }


def networks() -> dict[str, measure.Recipe]:
    """The same supervision, one part of the network changed at a time, at equal operations."""
    return {"norm as published": with_config(norm="channels"), "T = 2": with_config(cycles=2)}


def other_rates() -> dict[str, measure.Recipe]:
    """The networks without recursion at a third of the live run's rate, and at three times it."""
    return {
        f"{kind}, lr {lr:g}": replace(recipe, lr=lr)
        for kind, recipe in baselines().items()
        if not recipe.recursive
        for lr in (1e-3, 1e-2)
    }


def record(name: str, recipes: Mapping[str, measure.Recipe], seeds: int = SEEDS) -> None:
    """Train and write down."""
    results.save(name, SIZES | {"seeds": seeds, "lr": LIVE.lr}, learned(recipes, seeds))


@experiment
def trm_baselines() -> None:
    """Recursion against none, at equal operations."""
    record("trm_baselines", baselines())


@experiment
def trm_supervision() -> None:
    """One part of the supervision changed at a time."""
    record("trm_supervision", supervisions())


@experiment
def trm_networks() -> None:
    """One part of the network changed at a time, at equal operations."""
    record("trm_networks", networks())


@experiment
def trm_rates() -> None:
    """Whether another rate would do better by the networks without recursion; one seed each."""
    record("trm_rates", other_rates(), seeds=1)


@experiment
def trm_inside() -> None:
    """Seeds of the live recipe: where they fail, what they keep in mind, how sure they are."""
    bank, judged = bank_of_puzzles(), tests(SIZES["tests"])
    members = []
    for seed in range(SEEDS):
        run, _ = measure.learn(
            LIVE, TASK, bank, seed=seed, probe=lambda model: {}, probe_every=LIVE.steps
        )
        members.append(inside(run.judged, judged))
        print(f"seed {seed}: {members[-1]['right']['minimal'][-1]} of the minimal ones", flush=True)
    runs = {"TRM": described(LIVE) | {"members": members}}
    results.save("trm_inside", SIZES | INSIDE | {"seeds": SEEDS, "lr": LIVE.lr}, runs)
