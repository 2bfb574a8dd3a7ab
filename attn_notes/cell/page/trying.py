"""How an answer is tried in a page: `attn_notes.trying`, without threads and signals.

What does not end is ended by the page, with the Worker.
"""

import random

from attn_notes.cell.page import functions
from attn_notes.cell.page.modules import Module
from attn_notes.cell.page.running import told


class Drew:
    """Whether an answer has drawn from the global generators."""

    ever = False


class LateError(Exception):
    """Never raised here."""


class Stopped:
    """In which lines of the reader's code it stopped, when it was last tried."""

    lines = []


class at_most:
    """Notes where what runs here stops by an error; how long it takes, the page looks after."""

    def __init__(self, seconds):
        Stopped.lines = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            Stopped.lines = told(error)["lines"]
        return False


class generators_kept:
    """A reader's cell starts anew with each run, so there is nothing to keep."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def seeded(answer, seed, drew):
    """An answer that finds the global generators at this seed whenever it is called."""
    if isinstance(answer, tuple):
        return tuple([seeded(part, seed, drew) for part in answer])
    if not callable(answer) or isinstance(answer, Module):
        return answer

    start(seed)
    untouched = following()

    def asked(*given):
        start(seed)
        found = answer(*given)
        if following() != untouched:
            drew.ever = True
        return found

    return asked


def start(seed):
    random.seed(seed)
    functions.manual_seed(seed)


def following():
    return random.random(), functions.rand(()).item()
