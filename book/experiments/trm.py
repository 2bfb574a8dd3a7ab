"""Chapter 5's recorded runs."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial

import torch
from torch import Tensor

from attn_notes.analysis import results
from attn_notes.chapters.trm import measure, recipe
from attn_notes.chapters.trm.recipe import KINDS, LIVE, TASK, Recipe
from attn_notes.models.trm import TRM
from attn_notes.tasks.sudoku import Batch
from experiments import experiment


def tests(size: int) -> dict[str, Batch]:
    """Puzzles of classes held out, and mixed ones of those that the bank is drawn from."""
    return {
        kind: drawn.sample(size) for kind, drawn in (recipe.TESTS | {"seen": recipe.SEEN}).items()
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
    seen = {on: measure.solve(model, judged[on], recipe.THINK) for on in KINDS}
    right = torch.cat([found.right for found in seen.values()], 1)
    groups = measure.difficulties(torch.cat([TASK.rounds(judged[on][0]) for on in seen]))
    puzzles, solutions = recipe.probed(judged["minimal"])
    thoughts = measure.thoughts(model, puzzles, recipe.INSIDE["thoughts"])
    read = measure.legible(thoughts, (puzzles, solutions))
    first = {on: found.halt[: recipe.INSIDE["thoughts"]].sigmoid() for on, found in seen.items()}
    sure = measure.reliability(
        torch.cat([said.flatten() for said in first.values()]),
        torch.cat([found.right[: recipe.INSIDE["thoughts"]].flatten() for found in seen.values()]),
        recipe.INSIDE["edges"],
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
            if answers >= recipe.INSIDE["fewest"]
        ],
        "right": {on: row(found.right.float().mean(1)) for on, found in seen.items()},
        "stops": {
            on: [row(torch.stack(measure.stop(found, level))) for level in recipe.INSIDE["levels"]]
            for on, found in seen.items()
        },
    }


def described(kind: Recipe) -> results.Record:
    """What a recipe comes to."""
    return {
        "parameters": recipe.parameters(kind.config),
        "operations": recipe.operations(kind),
        "recipe": asdict(kind),
    }


def learned(recipes: Mapping[str, Recipe], seeds: int) -> results.Record:
    """Train every recipe from each of so many seeds, and look at what it has learned."""
    bank, judged = recipe.BANK.sample(), tests(recipe.SIZES["tests"])
    probed = {on: recipe.probed(judged[on]) for on in KINDS}
    runs: results.Record = {}
    for name, kind in recipes.items():
        for seed in range(seeds):
            run, history = measure.learn(
                kind,
                TASK,
                bank,
                seed=seed,
                probe=partial(measure.probe, tests=probed, steps=recipe.TRAINED),
                probe_every=max(kind.steps // 9, 1),
            )
            # Without recursion every step gives the same answer.
            think, trained = (recipe.THINK, kind.settings.steps) if kind.recursive else (1, 1)
            entry = runs.setdefault(name, described(kind) | {"members": []})
            entry["steps"] = history.steps.tolist()
            entry["members"].append(
                {
                    "seconds": round(history.seconds[-1].item(), 1),
                    **{
                        f"{on} by step": [results.rounded(x) for x in found.tolist()]
                        for on, found in history.seen.items()
                    },
                    **{on: solving(run.judged, judged[on], think) for on in probed},
                    "seen": solving(run.judged, judged["seen"], trained),
                    "certainty": {on: certainty(run.judged, judged[on], trained) for on in probed},
                    "without EMA": {on: solving(run.model, judged[on], trained) for on in probed},
                }
            )
            ends = {on: entry["members"][-1][on]["right"][-1] for on in probed}
            print(f"{name}, seed {seed}: {ends}", flush=True)
    return runs


def record(name: str, seeds: int = recipe.SEEDS) -> None:
    """Train what belongs in a record, and write it down."""
    results.save(
        name,
        recipe.SIZES | {"seeds": seeds, "lr": LIVE.lr},
        learned(recipe.RECORDS[name](), seeds),
    )


@experiment
def trm_baselines() -> None:
    """Recursion against none, at equal operations."""
    record("trm_baselines")


@experiment
def trm_supervision() -> None:
    """One part of the supervision changed at a time."""
    record("trm_supervision")


@experiment
def trm_networks() -> None:
    """One part of the network changed at a time, at equal operations."""
    record("trm_networks")


@experiment
def trm_rates() -> None:
    """Whether another rate would do better by the networks without recursion; one seed each."""
    record("trm_rates", seeds=1)


@experiment
def trm_inside() -> None:
    """Seeds of the live recipe: where they fail, what they keep in mind, how sure they are."""
    bank, judged = recipe.BANK.sample(), tests(recipe.SIZES["tests"])
    members = []
    for seed in range(recipe.SEEDS):
        run, _ = measure.learn(
            LIVE, TASK, bank, seed=seed, probe=lambda model: {}, probe_every=LIVE.steps
        )
        members.append(inside(run.judged, judged))
        print(f"seed {seed}: {members[-1]['right']['minimal'][-1]} of the minimal ones", flush=True)
    runs = {recipe.TRM_LIVE: described(LIVE) | {"members": members}}
    results.save(
        "trm_inside", recipe.SIZES | recipe.INSIDE | {"seeds": recipe.SEEDS, "lr": LIVE.lr}, runs
    )
