"""Chapter 2's recorded runs."""

from typing import Any

from torch import Generator

from attn_notes.analysis import results
from attn_notes.chapters.triple_product import measure
from attn_notes.models.triple_product import SCORES, Config
from attn_notes.tasks.copying import Copying
from attn_notes.training.ensemble import Run
from experiments import experiment

HALF = 12
FIXED = Copying(vocabulary=16, length=2 * HALF, periods=(HALF,))
RANDOM = Copying(vocabulary=16, length=2 * HALF, periods=tuple(range(HALF // 2, HALF + 1)))

ONE_LAYER = {score: Config(score=score) for score in SCORES}
TWO_LAYERS = {score: Config(score=score, layers=2, residual=True) for score in SCORES}

# Dot product and volume learn best at these of five rates (triple_product_rates). The angle and the
# line do at 0.1 with one layer and at 0.01 with two, in the few steps of that sweep.
ONE_RATES = {"dot": 3e-2, "volume": 1e-2, "angle": 3e-2, "line": 3e-2}
TWO_RATES = {"dot": 3e-2, "volume": 3e-3, "angle": 3e-2, "line": 3e-2}


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


def with_wider_dot(configs: dict[str, Config]) -> dict[str, Config]:
    """And the dot product with as many parameters as the volume has."""
    return configs | {"dot, wider": measure.with_parameters_of(configs["dot"], configs["volume"])}


def compare(configs: dict[str, Config], task: Copying, settings: dict[str, Any]) -> results.Record:
    """Train these kinds and keep what the chapter draws."""
    runs = measure.train_comparison(configs, task, **settings)
    return {kind: summary(run) for kind, run in runs.items()}


@experiment
def triple_product_rates() -> None:
    """Every score at five learning rates, one layer and two: at which does it learn best?"""
    rates = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
    one: dict[str, Any] = dict(seeds=4, steps=400, batch=32, probe_every=50)
    two: dict[str, Any] = dict(seeds=4, steps=800, batch=32, probe_every=100)
    runs = {}
    for rate in rates:
        runs[f"one layer {rate}"] = compare(ONE_LAYER, FIXED, one | {"lr": rate})
        runs[f"two layers {rate}"] = compare(TWO_LAYERS, RANDOM, two | {"lr": rate})
    results.save("triple_product_rates", {"rates": rates, "one": one, "two": two}, runs)


@experiment
def triple_product_copying() -> None:
    """The chapter's comparisons with eight seeds and more steps."""
    one: dict[str, Any] = dict(seeds=8, steps=1200, batch=32, probe_every=50)
    two: dict[str, Any] = dict(seeds=8, steps=3000, batch=32, probe_every=100)
    one["lr"] = ONE_RATES | {"dot, wider": ONE_RATES["dot"]}
    two["lr"] = TWO_RATES | {"dot, wider": TWO_RATES["dot"]}
    runs = {
        "one layer": compare(with_wider_dot(ONE_LAYER), FIXED, one),
        "one layer, random period": compare(ONE_LAYER, RANDOM, one),
        "two layers": compare(with_wider_dot(TWO_LAYERS), RANDOM, two),
    }
    results.save("triple_product_copying", {"one": one, "two": two}, runs)


@experiment
def triple_product_cost() -> None:
    """Time and peak memory of each form of the volume, at lengths from 24 to 2048."""
    generator = Generator().manual_seed(0)
    lengths, dimensions = (24, 64, 128, 256, 512, 1024, 2048), (8, 16)
    runs = {}
    for d in dimensions:
        for length in lengths:
            batch = max(1, 256 // length)
            found = measure.cost_of_forms(batch, 2, length, d, generator)
            runs[f"{d} {length}"] = {
                form: {"seconds": round(seconds, 6), "bytes": peak}
                for form, (seconds, peak) in found.items()
            }
    settings = {"heads": 2, "lengths": lengths, "dimensions": dimensions, "tokens a batch": 256}
    results.save("triple_product_cost", settings, runs)
