"""What a lesson records: its experiments register here, by the decorator `experiment`."""

from collections.abc import Callable

Experiment = Callable[[], None]

EXPERIMENTS: dict[str, Experiment] = {}


def experiment(run: Experiment) -> Experiment:
    """Register an experiment under its function's name, which is also its file's."""
    EXPERIMENTS[run.__name__] = run
    return run
