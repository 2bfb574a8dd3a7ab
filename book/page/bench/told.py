"""What a page is given of the workbench, as JSON has it."""

from inspect import getsource
from typing import Any

from torch import Generator

from book.kit import results
from book.page.bench import model, tasks
from book.page.bench.starts import STARTS
from book.page.code import dialect
from book.page.code.lesson import numbers

RECORD = "workbench_layers"


def told() -> dict[str, Any]:
    """The layers to begin with, the tasks, and what the recorded layers came to."""
    runs = results.load(RECORD)["runs"]
    return {
        "model": dialect.translated(getsource(model)),
        "factors": model.FACTORS,
        "starts": STARTS,
        "rates": tasks.RATES,
        "swept": tasks.SWEPT,
        "seeds": tasks.SEEDS,
        "warmup": tasks.WARMUP,
        "clip": tasks.CLIP,
        "tasks": {name: _task(task, runs[name]) for name, task in tasks.TASKS.items()},
    }


def _task(task: tasks.Task, recorded: dict[str, Any]) -> dict[str, Any]:
    batch = task.sample(tasks.BATCH, Generator().manual_seed(0))
    return {
        "title": task.title,
        "says": task.says,
        "asked": task.asked,
        "sizes": task.sizes,
        "tokens": task.tokens,
        "floor": task.floor,
        "steps": task.steps,
        "drawn": task.drawn,
        "batch": [{"name": name, **numbers(x)} for name, x in batch.items()],
        "recorded": recorded,
    }
