"""Runs an exercise: what the reader wrote, then the notebook's own check of it."""

import json
import sys

from attn_notes.cell.page import running
from attn_notes.cell.page.running import SPACE, Cell, told
from attn_notes.cell.page.trying import Stopped


def imported(checks):
    """Import the module of a lesson's checks, before a reader's code runs."""
    __import__(checks)
    return json.dumps({"error": None})


def checked(source, setup, line, checks):
    """What comes of an answer: JSON, an error or its outcome.

    Args:
        source: the reader's.
        setup: imports that the notebook has made before.
        line: the notebook's own, `checks.NAME(ANSWER)`.
        checks: the module of the checks.
    """
    running.begin()
    try:
        exec(setup, SPACE)
        SPACE["checks"] = sys.modules[checks]
        Cell.runs = True
        exec(compile(source, "cell", "exec"), SPACE)
        outcome = eval(line, SPACE)
        found = {"share": outcome.share, "passed": outcome.passed, "says": repr(outcome)}
        return json.dumps({"error": None, "outcome": dict(found, lines=Stopped.lines)})
    except BaseException as error:
        return json.dumps({"error": told(error)})
    finally:
        Cell.runs = False
