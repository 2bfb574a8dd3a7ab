"""The recorded runs: what is too long for a reader's patience, made again by one command.

    python book/experiments              every experiment
    python book/experiments NAME ...     some of them
    python book/experiments --list       their names

Each writes one JSON file into the `records` of its lesson: the settings, the versions of what ran,
and per seed what a page draws. Nothing else writes there. A lesson's experiments stand in its
module `experiments`, and their own names begin with the lesson's.
"""

import importlib
from pathlib import Path

from book.experiments import lesson_runs
from book.kit.experiments import EXPERIMENTS, Experiment

BOOK = Path(__file__).parents[1]


def every_experiment() -> dict[str, Experiment]:
    """All experiments by name: those of the lessons, and of this folder.

    Of each lesson there is `STEM_runs`: what it trains, kept for FAST=1, and what it costs.
    """
    for module in (*BOOK.glob("lessons/*/experiments.py"), *BOOK.glob("experiments/[!_]*.py")):
        importlib.import_module(".".join(module.relative_to(BOOK.parent).with_suffix("").parts))
    lessons = (folder.name for folder in BOOK.glob("lessons/[!_]*/"))
    return dict(sorted((EXPERIMENTS | {f"{stem}_runs": runs(stem) for stem in lessons}).items()))


def runs(stem: str) -> Experiment:
    """The experiment that keeps what a lesson trains."""

    def run() -> None:
        """What the lesson trains, kept for FAST=1; and what the lesson costs."""
        lesson_runs.keep(stem)

    return run
