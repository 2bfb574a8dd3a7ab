"""The chapter's recorded runs."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from attn_notes.analysis import statistics
from attn_notes.models.deep_qkv import Config
from attn_notes.training.ensemble import Run, Tensors
from book.kit import results
from book.kit.experiments import experiment
from book.lessons.deep_qkv import pull, recipe


def settings(setting: recipe.Setting, **more: Any) -> results.Record:
    """The settings of a record, with how many seeds there are and which comes first."""
    seeds = setting.seeds
    return asdict(setting) | {"seeds": len(seeds), "first_seed": seeds[0]} | more


def summary(run: Run) -> results.Record:
    """Every probe: solved [n, m] and the mean loss [n, m]; and the last losses [m, 6]."""
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


def outline(run: Run, curves: bool = True) -> results.Record:
    """In a tenth of the room: when each seed was there for good, and the loss in outline.

    `arrivals` [m], none for a seed that never was; `solved` [m] at the end; `quartiles` [n, 3] of
    the mean loss over the seeds, and the `lowest` of all; `moments`, three of the probes, and
    `losses` [3, m, 6] at them. Without curves neither quartiles nor losses at moments.
    """
    solved, losses = run.history["solved"], run.history["losses"]
    arrivals = statistics.stable_from(solved, run.steps, recipe.SOLVED).tolist()
    mean = losses.mean(-1)
    quartiles = mean.quantile(mean.new_tensor([0.25, 0.5, 0.75]), dim=1).T
    moments = [0, len(losses) // 20, len(losses) - 1]
    record = {
        "seconds": round(run.seconds, 1),
        "steps": run.steps.tolist(),
        "arrivals": [results.rounded(x) for x in arrivals],
        "solved": solved[-1].tolist(),
        "lowest": round(float(mean.min()), 5),
    }
    if not curves:
        return record
    return record | {
        "quartiles": [[round(x, 5) for x in row] for row in quartiles.tolist()],
        "moments": [int(run.steps[i]) for i in moments],
        "losses": [[[round(x, 5) for x in seed] for seed in losses[i].tolist()] for i in moments],
    }


def significant(values: Tensor) -> Any:
    """Nested lists of numbers of three digits each."""
    if values.ndim:
        return [significant(each) for each in values]
    return float(f"{float(values):.3g}")


@experiment
def deep_qkv_published() -> None:
    """The sorter at the published settings, 32 seeds, five ways of making the weights."""
    runs = {}
    for name, kind in recipe.KINDS.items():
        if kind.part == "all" or kind.variant == "gated":
            run = recipe.train_sorters(kind.config, recipe.PUBLISHED, kind.predictions)
            runs[name] = summary(run)
    results.save("deep_qkv_published", settings(recipe.PUBLISHED), runs)


@experiment
def deep_qkv_rank_temperature() -> None:
    """Gated and strict sorters of rank 1 to 3 at temperatures 0.1, 1 and 10."""
    runs = {}
    for variant in ("gated", "strict"):
        for rank in recipe.RANKS:
            for temperature in recipe.TEMPERATURES:
                config = Config(variant, rank=rank, temperature=temperature)
                run = recipe.train_sorters(config, recipe.LIVE)
                runs[f"{variant} {rank} {temperature}"] = summary(run)
    results.save("deep_qkv_rank_temperature", settings(recipe.LIVE), runs)


@experiment
def deep_qkv_rates() -> None:
    """Six learning rates for each kind, on seeds that are used for nothing else."""
    runs = {}
    for rate in recipe.RATES:
        for name, kind in recipe.KINDS.items():
            run = recipe.train_sorters(kind.config, recipe.SWEEP.at(rate), kind.predictions)
            runs[f"{name} {rate}"] = outline(run, curves=False)
    results.save("deep_qkv_rates", settings(recipe.SWEEP, lr=list(recipe.RATES)), runs)


@experiment
def deep_qkv_chosen() -> None:
    """Each kind at the rate chosen for it, 32 seeds; of the first 16 the weights as well."""
    runs, weights = {}, {}
    for name, kind in recipe.KINDS.items():
        run = recipe.train_kind(name, recipe.CHOSEN)
        runs[name] = outline(run)
        if kind.part == "all":
            for parameter, values in run.parameters.items():
                weights[f"{name}:{parameter}"] = values[: recipe.KEPT].numpy()
    results.save("deep_qkv_chosen", settings(recipe.CHOSEN, lr=recipe.RATE), runs)
    np.savez_compressed(results.path("deep_qkv_chosen.npz"), **weights)  # type: ignore[arg-type]


@experiment
def deep_qkv_positions() -> None:
    """Sorters without position embeddings, plain and gated."""
    runs = {}
    for variant in ("plain", "gated"):
        kind = recipe.Kind(variant, positions=False)
        setting = recipe.LIVE.at(recipe.RATE[variant])
        runs[variant] = outline(recipe.train_sorters(kind.config, setting))
    results.save("deep_qkv_positions", settings(recipe.LIVE, lr=recipe.RATE), runs)


@experiment
def deep_qkv_gradients() -> None:
    """Gradients of the six predictions along a training, and trainings without their pull."""
    plain, every = recipe.LIVE.at(recipe.RATE["plain"]), recipe.LIVE.probe_every
    template = recipe.sorters(Config("plain"), [0])[0]
    found: list[pull.Pulls] = []

    def watch(step: int, _: object, parameters: Tensors) -> None:
        if step % every == 0:
            found.append(vmap(lambda p: pull.pulls(template, p))(parameters))

    run = recipe.train_sorters(Config("plain"), replace(plain, probe_every=1), watch=watch)
    losses = run.history["losses"]
    opposed = [pull.opposed(losses, two).view(len(found) - 1, -1).mean(1) for two in pull.PAIRS]
    along = {
        "seconds": round(run.seconds, 1),
        "steps": run.steps[::every].tolist(),
        "products": significant(pull.half(torch.stack([each.products for each in found]))),
        "noise": significant(torch.stack([each.noise for each in found])),
        "opposed": significant(torch.stack(opposed, 1)),
    }
    trained = {
        f"{way} {rate}": outline(run)
        for rate in pull.RATES
        for way, run in pull.train(pull.WAYS, recipe.LIVE.at(rate)).items()
    }
    lr = list(pull.RATES)
    results.save("deep_qkv_gradients", settings(recipe.LIVE, lr=lr), {"along": along, **trained})
