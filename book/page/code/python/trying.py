"""How an answer is tried in a page: `book.kit.trying`, without threads and signals.

What does not end is ended by the page, with the Worker.
"""

import random

from book.page.code.python import functions
from book.page.code.python.running import told


class LateError(Exception):
    """Never raised here."""


class Stopped:
    """By what error, and in which lines of the reader's code, it stopped when it was last tried."""

    error = {}
    lines = []


class at_most:
    """Notes where what runs here stops by an error; how long it takes, the page looks after."""

    def __init__(self, seconds):
        Stopped.error, Stopped.lines = {}, []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            Stopped.error = told(error)
            Stopped.lines = Stopped.error["lines"]
        return False


class generators_kept:
    """A reader's cell starts anew with each run, so there is nothing to keep."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def start(seed):
    random.seed(seed)
    functions.manual_seed(seed)


def following():
    return random.random(), functions.rand(()).item()
