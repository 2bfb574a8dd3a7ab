"""The chapter's recorded runs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Generator, Tensor

from attn_notes.models.triple_product import SCORES, Config
from attn_notes.tasks.copying import Copying
from attn_notes.training.ensemble import Run
from book.kit import results
from book.kit.experiments import experiment
from book.lessons.triple_product import learnt, measure, recipe, rules


def summary(run: Run) -> results.Record:
    """What the chapter draws: loss and accuracy [n, m] at each probed step."""
    model = run.member(0)
    return {
        "seconds": round(run.seconds, 1),
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": run.steps.tolist(),
        "loss": [[round(x, 4) for x in row] for row in run.history["loss"].tolist()],
        "accuracy": [[round(x, 4) for x in row] for row in run.history["accuracy"].tolist()],
    }


def kept(found: Mapping[str, Tensor]) -> dict[str, Any]:
    """What was found of each kind, to four digits."""

    def digits(part: Any) -> Any:
        return [digits(each) for each in part] if isinstance(part, list) else round(part, 4)

    return {kind: digits(values.tolist()) for kind, values in found.items()}


def compare(
    configs: Mapping[str, Config], task: Copying, settings: recipe.Settings
) -> results.Record:
    """Train these kinds and keep what the chapter draws."""
    runs = measure.train_comparison(configs, task, **settings)
    return {kind: summary(run) for kind, run in runs.items()}


def scores(configs: Mapping[str, Config]) -> dict[str, Config]:
    """Every score at the same width, without the wider dot product."""
    return {score: configs[score] for score in SCORES}


@experiment
def triple_product_rates() -> None:
    """Every score at five learning rates, one layer and two: at which does it learn best?"""
    one, two = recipe.SWEPT_ONE, recipe.SWEPT_TWO
    runs = {}
    for rate in recipe.RATES:
        for name, configs, task, settings in (
            ("one layer", recipe.ONE_LAYER, recipe.FIXED, one),
            ("two layers", recipe.TWO_LAYERS, recipe.RANDOM, two),
        ):
            runs[f"{name} {rate}"] = compare(scores(configs), task, settings | {"lr": rate})
    results.save("triple_product_rates", {"rates": recipe.RATES, "one": one, "two": two}, runs)


@experiment
def triple_product_lesson() -> None:
    """The lesson's training with eight seeds, what they do then, and the weights of the first."""
    seeds = {"seeds": recipe.RECORDED}
    one, two = recipe.ONE | seeds, recipe.TWO | seeds
    trained = {
        name: measure.train_comparison(configs, recipe.TASKS[name], **settings)
        for name, configs, settings in (
            ("one layer", recipe.ONE_LAYER, one),
            ("one layer, random period", recipe.ONE_OF_EACH, one),
            ("two layers", recipe.TWO_LAYERS, two),
            ("two layers, period 12", recipe.TWO_OF_EACH, two),
        )
    }
    single = trained["one layer"]
    loud, circuits = learnt.loudness(single), learnt.circuits(trained["two layers"])
    lowest, sharpest = learnt.trained_scores(single)
    runs = {name: {kind: summary(run) for kind, run in runs.items()}
            for name, runs in trained.items()}  # fmt: skip
    found = {
        "transfer": {
            name: kept(learnt.transfer(
                {kind: runs[kind] for kind in recipe.KINDS}, recipe.TASKS[name]
            ).accuracy)
            for name, runs in trained.items()
        },
        "follows": {
            name: kept(learnt.follows({kind: runs[kind] for kind in recipe.KINDS}, recipe.RANDOM))
            for name, runs in trained.items()
        },
        "offsets": kept(learnt.offsets(single)),
        "others": kept(loud.others),
        "own": kept(loud.own),
        "previous": kept(circuits.previous),
        "source": kept(circuits.source),
        "lowest": lowest,
        "sharpest": sharpest,
    }  # fmt: skip
    settings = {"one": one, "two": two}
    results.save("triple_product_lesson", settings, runs | {"found": found})
    weights = {
        f"{name}:{kind}:{parameter}": values[:1].numpy()
        for name in ("one layer", "two layers")
        for kind in recipe.KINDS
        for parameter, values in trained[name][kind].parameters.items()
    }
    np.savez_compressed(results.path("triple_product_lesson.npz"), **weights)  # type: ignore[arg-type]


@experiment
def triple_product_rules() -> None:
    """What simple rules get right, at one period and where it varies."""
    settings = {"sequences of a period": 2000, "fitted to": 1000}
    runs = {
        name: {
            rule: round(right, 4)
            for rule, right in rules.reach(task, Generator().manual_seed(13), 2000)
            ._asdict()
            .items()
        }
        for name, task in (("fixed", recipe.FIXED), ("random", recipe.RANDOM))
    }
    results.save("triple_product_rules", settings, runs)


@experiment
def triple_product_copying() -> None:
    """The chapter's comparisons with eight seeds and more steps."""
    one, two = recipe.LONG_ONE, recipe.LONG_TWO
    runs = {
        "one layer": compare(recipe.ONE_LAYER, recipe.FIXED, one),
        "one layer, random period": compare(scores(recipe.ONE_LAYER), recipe.RANDOM, one),
        "two layers": compare(recipe.TWO_LAYERS, recipe.RANDOM, two),
    }
    results.save("triple_product_copying", {"one": one, "two": two}, runs)


@experiment
def triple_product_longer_rate() -> None:
    """The two that the longer training holds against each other, at another rate, four seeds."""
    two = recipe.LONG_TWO | {"seeds": recipe.SWEPT_TWO["seeds"], "lr": recipe.OTHER_RATE}
    kinds = {kind: recipe.TWO_LAYERS[kind] for kind in (recipe.WIDER, "angle")}
    results.save("triple_product_longer_rate", two, compare(kinds, recipe.RANDOM, two))


@experiment
def triple_product_cost() -> None:
    """Time and peak memory of each form of the volume, at lengths from 24 to 2048."""
    generator = Generator().manual_seed(0)
    runs = {}
    for d in recipe.DIMENSIONS:
        for length in recipe.LENGTHS:
            batch = max(1, recipe.POSITIONS // length)
            found = measure.cost_of_forms(batch, recipe.HEADS, length, d, generator)
            runs[f"{d} {length}"] = {
                form: {"seconds": round(seconds, 6), "bytes": peak}
                for form, (seconds, peak) in found.items()
            }
    settings = {
        "heads": recipe.HEADS,
        "lengths": recipe.LENGTHS,
        "dimensions": recipe.DIMENSIONS,
        "tokens a batch": recipe.POSITIONS,
    }
    results.save("triple_product_cost", settings, runs)
