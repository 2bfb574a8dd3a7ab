"""The lesson's recorded runs."""

from experiments import _lessons, experiment


@experiment
def your_model_runs() -> None:
    """What the lesson trains, kept for FAST=1; and what the lesson costs."""
    _lessons.keep("your_model")
