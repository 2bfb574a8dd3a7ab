"""The chapter's recorded runs."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from itertools import permutations

import torch
from torch import Generator, Tensor

from attn_notes.models.trm import TRM
from attn_notes.tasks.sudoku import Batch
from book.kit import results
from book.kit.experiments import experiment
from book.lessons.trm import evidence, measure, recipe
from book.lessons.trm.measure import Solving
from book.lessons.trm.recipe import KINDS, LIVE, TASK, Recipe
from book.lessons.trm.supervision import History, Supervision


def tests(size: int) -> dict[str, Batch]:
    """Puzzles of classes held out, and mixed ones of those that the bank is drawn from."""
    sets = recipe.VALIDATION | {"seen": recipe.SEEN}
    return {kind: drawn.sample(size) for kind, drawn in sets.items()}


def solving(seen: Solving) -> results.Record:
    """What a model makes of a test set at every step, and of stopping at its own word."""
    stopped = measure.stop(seen, 0.5)
    return {
        "right": [results.rounded(x) for x in seen.right.float().mean(1).tolist()],
        "cells": [results.rounded(x) for x in seen.cells.mean(1).tolist()],
        "stopped": [results.rounded(x.item()) for x in stopped],  # after steps, share right
        "lost": int((measure.lost(seen.right) > 0).sum()),
    }


def certainty(seen: Solving, steps: int) -> list[list[int]]:
    """Puzzles wrong and right after so many steps, where q says wrong and where it says right."""
    pairs = 2 * (seen.halt[steps - 1] > 0).long() + seen.right[steps - 1]
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


def learned(recipes: Mapping[str, Recipe], seeds: Iterable[int]) -> results.Record:
    """Train every recipe from each of these seeds, and look at what it has learned."""
    bank, judged = recipe.BANK.sample(), tests(recipe.SIZES["tests"])
    fresh = {on: drawn.sample() for on, drawn in recipe.FRESH.items()}
    runs: results.Record = {}
    for name, kind in recipes.items():
        runs[name] = described(kind) | {"members": []}
        for seed in seeds:
            run, history = trained(kind, bank, judged, seed)
            # Without recursion every step gives the same answer.
            think, steps = (recipe.THINK, kind.settings.steps) if kind.recursive else (1, 1)
            seen = {on: measure.solve(run.judged, judged[on], think) for on in KINDS}
            runs[name]["steps"] = history.steps.tolist()
            runs[name]["members"].append(
                course(history)
                | {on: solving(found) for on, found in seen.items()}
                | {
                    "seen": solving(measure.solve(run.judged, judged["seen"], steps)),
                    "certainty": {on: certainty(found, steps) for on, found in seen.items()},
                    "without EMA": {
                        on: solving(measure.solve(run.model, judged[on], steps)) for on in KINDS
                    },
                    "fresh": {
                        on: solving(measure.solve(run.judged, batch, think))
                        for on, batch in fresh.items()
                    },
                }
            )
            ends = {on: found.right[-1].float().mean().item() for on, found in seen.items()}
            print(f"{name}, seed {seed}: {ends}", flush=True)
    return runs


def trained(
    kind: Recipe, bank: Batch, judged: Mapping[str, Batch], seed: int
) -> tuple[Supervision, History]:
    """One seed of a recipe, probed nine times along the way."""
    probed = {on: recipe.probed(judged[on]) for on in KINDS}
    steps = recipe.TRAINED if kind.recursive else 1  # which gives the same answer at every step
    return measure.learn(
        kind,
        TASK,
        bank,
        seed=seed,
        probe=partial(measure.probe, tests=probed, steps=steps),
        probe_every=max(kind.steps // 9, 1),
    )


def course(history: History) -> results.Record:
    """How long training took, and what was solved along it."""
    return {"seconds": round(history.seconds[-1].item(), 1)} | {
        f"{on} by step": [results.rounded(x) for x in found.tolist()]
        for on, found in history.seen.items()
    }


JUDGED_ON = "puzzles of held-out classes up to names, on some of which settings were chosen"
JUDGED_ON_FRESH = f"{JUDGED_ON}; 'fresh': others, drawn after that"


def record(name: str, seeds: Iterable[int] = range(recipe.SEEDS)) -> None:
    """Train what belongs in a record, and write it down."""
    seeds = [*seeds]
    settings = recipe.SIZES | {"seeds": len(seeds), "lr": LIVE.lr, "judged on": JUDGED_ON_FRESH}
    results.save(name, settings, learned(recipe.RECORDS[name](), seeds))


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
    record("trm_rates", seeds=range(1))


@experiment
def trm_rereading() -> None:
    """The straight network that is given the puzzle at every layer."""
    record("trm_rereading", range(recipe.REREADING_SEEDS))


@experiment
def trm_sharing() -> None:
    """The one that is given the puzzle at every layer, with one set of weights."""
    record("trm_sharing")


@experiment
def trm_symmetries() -> None:
    """The live recipe where whole classes up to all symmetries are held out."""
    # Training disguises puzzles as ever, by other names, so that the split is all that changes.
    task = recipe.STRICTER
    bank = recipe.BANK.sample(task=task)
    judged = {on: drawn.sample(task=task) for on, drawn in recipe.VALIDATION.items()}
    sets = {
        "fresh": {on: drawn.sample(task=task) for on, drawn in recipe.FRESH.items()},
        "seen": {
            "mixed": recipe.SEEN.sample(task=task),
            "minimal": recipe.FAMILIAR.sample(task=task),
        },
    }
    keys = {part: task.class_key(batches["minimal"][1]) for part, batches in sets.items()}
    entry: results.Record = described(LIVE) | {"members": []}
    for seed in range(recipe.SEEDS):
        run, history = trained(LIVE, bank, judged, seed)
        more = {
            part: {on: measure.solve(run.judged, b, recipe.THINK) for on, b in batches.items()}
            for part, batches in sets.items()
        }
        entry["steps"] = history.steps.tolist()
        entry["members"].append(
            course(history)
            | {part: {on: solving(found) for on, found in of.items()} for part, of in more.items()}
            | {"by class": {part: by_class(keys[part], of["minimal"]) for part, of in more.items()}}
        )
        ends = {part: of["minimal"].right[-1].float().mean().item() for part, of in more.items()}
        print(f"seed {seed}: {ends}", flush=True)
    settings = recipe.SIZES | {
        "seeds": recipe.SEEDS,
        "lr": LIVE.lr,
        "split": "whole classes up to all symmetries held out",
        "guises in training": TASK.symmetries,
        "judged on": "'fresh': of the classes held out; 'seen': of those of the bank; no setting "
        "was chosen on either",
    }
    results.save("trm_symmetries", settings, {recipe.TRM_LIVE: entry})


def by_class(keys: Tensor, seen: Solving) -> list[list[float | None]]:
    """How many puzzles there are of each class, and the share solved after `TRAINED` steps."""
    right = seen.right[recipe.TRAINED - 1].float()
    return [
        [int((keys == key).sum()), results.rounded(right[keys == key].mean().item())]
        for key in keys.unique()
    ]


@experiment
def trm_elsewhere() -> None:
    """Grids and puzzles that are drawn otherwise than the chapter's, and boards left open."""
    model = evidence.network()
    runs = {"grids": grids_of_all(), "dug": dug(model), "open": left_open(model)}
    results.save("trm_elsewhere", dict(recipe.ELSEWHERE), runs)


def grids_of_all() -> results.Record:
    """Which part of all grids the stricter split holds out, and which of those that are drawn."""
    every = grids_from_one_row()
    drawn = TASK.grids(recipe.ELSEWHERE["drawn"], Generator().manual_seed(41))
    return {
        "one in 720": len(every),
        "classes": len(recipe.STRICTER.class_key(every).unique()),
        "held out": int(recipe.STRICTER.held_out(every).sum()),
        "held out of drawn": int(recipe.STRICTER.held_out(drawn).sum()),
    }


def grids_from_one_row() -> Tensor:
    """Every grid whose first row is 1 to 6: one of 720 under other names for the digits."""
    rows = torch.tensor([*permutations(range(1, 7))])
    whole = 2**7 - 2  # a bit for each digit

    def bits(cells: Tensor) -> Tensor:
        return (2**cells).sum(-1)

    def fits(board: Tensor, row: Tensor) -> Tensor:
        """Whether no digit of a row stands in its column, nor in its box of this band."""
        apart = (board != row).all(-1).all(-1)
        if board.shape[-2] % 2:
            apart &= bits(board[..., -1, :3]) + bits(row[..., :3]) == whole
        return apart

    boards = torch.arange(1, 7)[None, None]
    for _ in range(TASK.side - 1):
        boards = torch.cat(
            [
                torch.cat([boards[ok], row.expand(int(ok.sum()), 1, -1)], 1)
                for row in rows
                for ok in [fits(boards, row)]
            ]
        )
    return boards.flatten(1)


def dug(model: TRM) -> results.Record:
    """Minimal puzzles dug by the solver alone: rounds had no say in which clues are left."""
    generator = Generator().manual_seed(42)
    solutions = TASK.grids(recipe.ELSEWHERE["dug"], generator, held_out=True)
    puzzles = TASK.minimise(solutions, generator)
    rounds = TASK.rounds(puzzles)
    right = measure.solve(model, (puzzles, solutions), recipe.THINK).right
    return {
        "rounds": rounds.clamp(min=0).bincount().tolist(),  # the first: never
        "solved": [results.rounded(x) for x in right.float().mean(1).tolist()],
        "never solved by rounds": [
            results.rounded(x) for x in right[:, rounds < 0].float().mean(1).tolist()
        ],
    }


def left_open(model: TRM) -> results.Record:
    """Boards with few clues and more than one solution: whether it makes a grid of them."""
    found: results.Record = {}
    for clues in recipe.ELSEWHERE["clues"]:
        generator = Generator().manual_seed(50 + clues)
        grids = TASK.grids(recipe.ELSEWHERE["open"], generator)
        kept = torch.rand(grids.shape, generator=generator).argsort(1).argsort(1) < clues
        boards = grids * kept
        boards = boards[TASK.solve(boards)[0] == 2]
        logits, halt = model.trace(boards, recipe.THINK)
        digits, sure = logits[-1].argmax(-1), halt[-1] > 0
        whole = TASK.rounds(digits) == 0  # nothing to fill, and nothing against the rules
        legal = whole & ((digits == boards) | (boards == 0)).all(1)
        found[f"{clues}"] = {
            "boards": len(boards),
            "grids": int(legal.sum()),
            "sure": int(sure.sum()),
            "sure and grids": int((sure & legal).sum()),
        }
    return found


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
