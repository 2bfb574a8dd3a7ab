"""What all checks share: an end to what never ends, fresh cases, points for graders."""

import _thread
import ast
import contextlib
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Generator

from attn_notes import exercises as shared
from attn_notes.exercises import SECONDS, Outcome, at_most, check, need

from . import exercises
from .exercises import CHAPTERS, EVIDENCE, ROOT

EXERCISES = [
    pytest.param(page, name, id=f"{page.parent.name}-{page.stem}-{name}")
    for page in (*CHAPTERS, *EVIDENCE)
    for name in exercises.names(page)
]


@check(seconds=0.3)
def double(answer: Callable[[int], int], draw: Generator) -> str:
    """A function that doubles."""
    need(answer(2) == 4, "twice two is four.")
    for n in torch.randint(10**6, (2,), generator=draw).tolist():
        need(answer(n) == 2 * n, f"not for {n}.", share=0.25)
    return "n + n."


def for_ever(*_: object) -> int:
    while True:
        pass


def stubborn(*_: object) -> int:
    """Catches what it can."""
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.01)


def test_an_answer_cannot_leave() -> None:
    outcome = double(lambda n: sys.exit(0))
    assert outcome.share == 0 and "stopped with SystemExit" in outcome.message


def test_an_outcome_says_how_much_is_right() -> None:
    right, part, wrong = double(lambda n: 2 * n), double(lambda n: n * n), double(lambda n: n)
    assert [outcome.passed for outcome in (right, part, wrong)] == [True, False, False]
    assert repr(right) == "Right: n + n."
    assert repr(part).startswith("Not yet (25% of the points): not for ")
    assert repr(wrong) == "Not yet: twice two is four."
    assert right.require() == 1 and right.require(points=8) == 8 and part.require(points=8) == 2
    with pytest.raises(AssertionError, match="twice two is four"):
        wrong.require(points=8)


def test_cases_are_drawn_anew_or_as_a_seed_has_it() -> None:
    seen: list[int] = []

    def remember(n: int) -> int:
        seen.append(n)
        return 2 * n

    for seed in (None, None, 7, 7, 8):
        double(remember, seed=seed)
    first, second, seven, again, eight = (tuple(seen[i : i + 3]) for i in range(0, 15, 3))
    assert seven == again and len({first, second, seven, eight}) == 4


@pytest.mark.parametrize("answer", [for_ever, stubborn])
def test_what_never_ends_is_stopped(answer: Callable[[int], int]) -> None:
    begin = time.monotonic()
    outcome = double(answer)
    assert not outcome.passed and "stopped after 0.3 seconds. Does it ever end?" in outcome.message
    assert time.monotonic() - begin < 5 and SECONDS < 10
    assert double(lambda n: 2 * n).passed  # nothing is left of it


def test_the_stop_button_still_stops() -> None:
    def pressed(n: int) -> int:
        _thread.interrupt_main()
        time.sleep(0.1)
        return 2 * n

    with pytest.raises(KeyboardInterrupt):
        double(pressed)


def test_a_check_runs_in_any_thread() -> None:
    found: list[Outcome] = []
    thread = threading.Thread(target=lambda: found.append(double(lambda n: 2 * n)))
    thread.start()
    thread.join()
    assert found[0].passed
    with at_most(0.2):  # what ends in time goes on
        time.sleep(0.01)


@pytest.mark.parametrize(("page", "name"), EXERCISES)
def test_an_exercise_says_what_it_is(page: Path, name: str) -> None:
    told = exercises.contract(page, name)
    assert told.keys() == {"name", "points", "minutes", "outcome", "needs"}
    assert told["name"] == name and 2 <= told["points"] <= 4 and 5 <= told["minutes"] <= 45
    stands = exercises.cells(page)
    assert told["needs"] and {*told["needs"]} <= stands.keys()
    minutes = re.search(r"\((\d+) minutes", stands[f"exercise-{name}"])
    assert minutes is None or int(minutes[1]) == told["minutes"]
    assert "points" not in stands[f"exercise-{name}"]
    assert re.fullmatch(r"checks\.\w+\(.+\)", stands[f"exercise-{name}-check"])
    assert "# your answer" in stands[f"exercise-{name}-answer"]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "name"), EXERCISES)
def test_an_endless_answer_ends(page: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check has its seconds; here it is given one, whatever it has."""
    monkeypatch.setattr(shared, "at_most", lambda seconds: at_most(min(seconds, 1.0)))
    called = re.search(r"def (\w+)\(", exercises.cells(page)[f"exercise-{name}-answer"])
    if called is None:  # a value, which is there when the check begins
        return
    exercises.set_up(page)
    begin = time.monotonic()
    answer = f"def {called[1]}(*_, **__):\n    while True:\n        pass"
    outcome = exercises.outcome(page, name, answer)
    assert outcome.share == 0 and "Does it ever end?" in outcome.message
    assert time.monotonic() - begin < 10


def test_a_check_has_less_than_ten_seconds_unless_it_trains() -> None:
    assert SECONDS < 10
    limits = {
        node.name: ast.unparse(node.decorator_list[0])
        for path in (ROOT / "attn_notes" / "chapters").rglob("checks.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    }
    longer = {name: text for name, text in limits.items() if text != "check"}
    assert longer == {
        "rescue": "check(seconds=240.0)",  # trains
        "budget": "check(seconds=120.0)",  # runs a network four hundred times
    }
