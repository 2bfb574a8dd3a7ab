"""The recorded runs: what is too long for a reader's patience, made again by one command.

    python book/experiments              every experiment
    python book/experiments NAME ...     some of them
    python book/experiments --list       their names

Each writes one JSON file into attn_notes/results/: the settings, the versions of what ran, and per
seed what a chapter draws. Nothing else writes there. A chapter's experiments stand in the module of
its name, and their own names begin with it.
"""

import importlib
from collections.abc import Callable
from pathlib import Path

Experiment = Callable[[], None]

EXPERIMENTS: dict[str, Experiment] = {}


def experiment(run: Experiment) -> Experiment:
    """Register an experiment under its function's name, which is also its file's."""
    EXPERIMENTS[run.__name__] = run
    return run


def every_experiment() -> dict[str, Experiment]:
    """The experiments of all chapters, by name, after importing the modules of this folder."""
    for module in sorted(Path(__file__).parent.glob("[!_]*.py")):
        importlib.import_module(f"{__name__}.{module.stem}")
    return dict(sorted(EXPERIMENTS.items()))
