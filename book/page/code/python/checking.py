"""Runs an exercise: what the reader wrote, then the notebook's own check of it."""

import json
import sys

from book.page.code.python import running
from book.page.code.python.running import SPACE, Cell, Names, told
from book.page.code.python.trying import Stopped


def imported(checks):
    """Import the module of a lesson's checks, before a reader's code runs."""
    __import__(checks)
    return json.dumps({"error": None})


def checked(source, setup, line, checks, asks):
    """What comes of an answer: JSON, an error or its outcome.

    Args:
        source: the reader's.
        setup: imports that the notebook has made before.
        line: the notebook's own, `checks.NAME(ANSWER)`.
        checks: the module of the checks.
        asks: the names that the line asks of the answer.
    """
    running.begin()
    try:
        exec(setup, SPACE)
        SPACE["checks"] = sys.modules[checks]
        before = set(SPACE)
        Cell.runs = True
        exec(compile(source, "cell", "exec"), SPACE)
        new = [name for name in SPACE if name not in before]
        own = [name for name in new if not isinstance(SPACE[name], (type(sys), Names))]
        misnamed = sys.modules["book.kit.exercises"].misnamed
        outcome = misnamed(asks, own) or eval(line, SPACE)
        if Stopped.error.get("page") and not outcome.passed:  # no fault of the answer
            return json.dumps({"error": Stopped.error})
        found = {"share": outcome.share, "passed": outcome.passed, "says": repr(outcome)}
        return json.dumps({"error": None, "outcome": dict(found, lines=Stopped.lines)})
    except BaseException as error:
        return json.dumps({"error": told(error)})
    finally:
        Cell.runs = False
