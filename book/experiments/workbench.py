"""The recorded layers of the workbench: what a reader's own is compared with."""

import math

from torch import Generator

from attn_notes.analysis import leaks
from book.kit import results
from book.kit.experiments import experiment
from book.page.bench import starts, tasks

AHEAD = 1e-5  # an earlier prediction that moves by more is no rounding


def ended(task: tasks.Task, source: str, rate: float, seeds: tuple[int, ...]) -> list[float]:
    """How far above the best predictor each seed ends, in nats; infinite for one that is lost."""
    last = task.trained(source, rate, seeds).history["above"][-1].tolist()
    return [round(x, 5) if math.isfinite(x) else math.inf for x in last]


def layer(task: tasks.Task, source: str) -> results.Record:
    """A layer on a task: its own rate, what eight seeds come to at it, and if it reads ahead."""
    swept = {rate: sum(ended(task, source, rate, tasks.SWEPT)) for rate in tasks.RATES}
    rate = min(swept, key=lambda rate: swept[rate])
    above = ended(task, source, rate, tuple(range(tasks.SEEDS)))
    (model,) = task.models(source, (0,))
    tokens = task.sample(4, Generator().manual_seed(1))[task.tokens]
    moved = leaks.influence(model, tokens, task.sizes["vocabulary"])
    return {
        "rate": rate,
        "above": [results.rounded(x, 5) for x in above],
        "ahead": bool((moved.triu(1) > AHEAD).any()),
        "weights": sum(p.numel() for p in model.parameters()),
    }


@experiment
def workbench_layers() -> None:
    """Each layer to begin with on each task: eight seeds, at the rate that two others did best."""
    runs = {
        name: {kind: layer(task, source) for kind, source in starts.STARTS.items()}
        for name, task in tasks.TASKS.items()
    }
    settings = {"rates": tasks.RATES, "swept": tasks.SWEPT, "seeds": tasks.SEEDS}
    results.save("workbench_layers", settings, runs)
