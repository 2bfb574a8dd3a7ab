"""What all checks share: an end to what never ends, fresh cases, no luck, points for graders."""

import _thread
import contextlib
import math
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module

import numpy as np
import pytest
import torch
from torch import Generator

from book.kit import exercises as shared
from book.kit import trying
from book.kit.exercises import SECONDS, TRIES, Outcome, Score, check, need
from book.kit.trying import LateError, at_most

from . import exercises
from .exercises import CHAPTERS, EVIDENCE, ROOT

EXERCISES = [
    pytest.param(page, name, id=f"{page.parent.name}-{page.stem}-{name}")
    for page in (*CHAPTERS, *EVIDENCE)
    for name in exercises.names(page)
]


@check(seconds=0.01)
def double(answer: Callable[[int], int], draw: Generator) -> str:
    need(answer(2) == 4, "twice two is four.")
    for n in torch.randint(10**6, (2,), generator=draw).tolist():
        need(answer(n) == 2 * n, f"not for {n}.", share=0.25)
    return "n + n."


def for_ever(*_: object) -> int:
    while True:
        pass


def stubborn(*_: object) -> int:
    while True:
        with contextlib.suppress(Exception):
            for_ever()


def clock(then: float) -> Callable[[], float]:
    return partial(next, iter([0.0]), then)


def test_an_outcome_says_how_much_is_right(capsys):
    """To graders on stdout: nbgrader gives nothing where a cell has written to stderr."""
    right, part, wrong = double(lambda n: 2 * n), double(lambda n: n * n), double(lambda n: n)
    assert [outcome.passed for outcome in (right, part, wrong)] == [True, False, False]
    assert right.require() == 1 and right.require(points=8) == 8
    assert repr(right) == "Right: n + n." and capsys.readouterr() == ("", "")
    assert part.require(points=8) == 2 and capsys.readouterr() == (f"{part}\n", "")
    assert repr(part).startswith("Not yet (25% of the points): not for ")
    assert repr(wrong) == "Not yet: twice two is four."
    with pytest.raises(AssertionError, match="twice two is four"):
        wrong.require(points=8)
    assert "stopped with SystemExit" in double(lambda n: sys.exit(0)).message


def test_cases_are_drawn_anew_or_as_a_seed_has_it():
    seen: list[int] = []
    for seed in (None, None, 7, 7, 8):
        double(lambda n: seen.append(n) or 2 * n, seed=seed)
    first, second, seven, again, eight = (tuple(seen[i : i + 3]) for i in range(0, 15, 3))
    assert seven == again and len({first, second, seven, eight}) == 4


@pytest.mark.parametrize("answer", [for_ever, stubborn])
def test_what_never_ends_is_stopped(answer, monkeypatch):
    """Its own work ends it, however little of the processor it gets: no other clock goes on."""
    monkeypatch.setattr(shared, "at_most", partial(at_most, wall=lambda: 0.0))
    said = "your code used 0.01 seconds of the processor. Does it ever end?"
    assert double(answer) == Outcome(0.0, said)
    assert double(lambda n: 2 * n).passed  # nothing is left of it


LIMITS = (1.0, 0.0, "used 1 seconds of the processor"), (0.9, 10.0, "waited for most of 10 seconds")


@pytest.mark.parametrize(("worked", "passed", "said"), LIMITS)
def test_what_sleeps_is_woken_at_a_limit(worked, passed, said):
    with pytest.raises(LateError, match=said), at_most(1.0, clock(worked), clock(passed)):
        time.sleep(60)


def test_a_slow_machine_costs_nobody_points():
    """Nine times the limit has passed, but the processor has worked for others."""
    looked, wall = threading.Event(), clock(9.9)

    def watched() -> float:
        if threading.current_thread() is not threading.main_thread():
            looked.set()
        return wall()

    with at_most(1.0, clock(0.9), watched):
        looked.wait()


def test_the_processor_is_asked_for_this_thread(monkeypatch):
    mine = threading.get_ident()
    monkeypatch.setattr(time, "pthread_getcpuclockid", lambda thread: thread, raising=False)
    monkeypatch.setattr(time, "clock_gettime", lambda number: {mine: 0.25}[number], raising=False)
    assert trying.processor_clock()() == 0.25
    monkeypatch.delattr(time, "pthread_getcpuclockid")  # as on macOS and Windows
    assert trying.processor_clock() is time.process_time


DRAWS: dict[str, Callable[[], float]] = {
    "random": random.random,
    "numpy": lambda: np.random.random(),
    "torch": lambda: torch.rand(()).item(),
    "default_rng": lambda: np.random.default_rng().random(),
}


@pytest.mark.parametrize("library", DRAWS)
def test_what_an_answer_draws_is_the_same_each_time_it_is_checked(library):
    """And for each question, in whichever order they come; another in each try."""
    seen: list[float] = []
    answer = lambda n: seen.append(DRAWS[library]()) or 2 * n  # noqa: E731
    assert double(answer).message == "n + n. (It draws at random: the least of its tries counts.)"
    assert double(answer).passed
    first, second = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert first == second and len(first) == 3 * TRIES
    assert [len({*first[i : i + 3]}) for i in (0, 3, 6)] == [1, 1, 1] and len({*first}) == TRIES


@pytest.mark.parametrize("library", [*DRAWS][:3])
@pytest.mark.parametrize("ends", ["right", "wrong", "failing", "never"])
def test_a_readers_generators_stay_as_they_are(library, ends, monkeypatch):
    monkeypatch.setattr(shared, "at_most", partial(at_most, wall=lambda: 0.0))
    draw, come = DRAWS[library], {"right": lambda n: 2 * n, "wrong": lambda n: n, "never": for_ever}
    trying.start(2026)
    expected = [draw(), draw()]
    trying.start(2026)
    assert draw() == expected[0]
    double(lambda n: (draw(), come[ends](n))[1])  # one fails, as nothing comes of it
    assert draw() == expected[1]


def test_of_an_answer_that_draws_the_least_try_counts():
    for last, share in ((2, 0.25), (1, 0.0)):
        tries: list[int] = []

        def answer(n: int, last: int = last, tries: list[int] = tries) -> int:
            random.random()
            tries.append(torch.initial_seed())
            return 2 * n if tries[-1] < last else n**last  # half wrong, or all

        outcome = double(answer)
        assert outcome.share == share and max(tries) == last  # nothing is less than nothing
        assert outcome.message.endswith("the least of its tries counts.)")


def test_a_generator_of_its_own_keeps_the_seed_that_it_is_given():
    seen, new = [], np.random.default_rng
    outcome = double(lambda n: seen.append(np.random.default_rng(7).random()) or 2 * n)
    assert seen == [new(7).random()] * 3 and np.random.default_rng is new
    assert outcome.message == "n + n."  # no luck in it: it is tried once


def test_a_function_given_with_something_else_finds_the_seed_too():
    first = check(lambda answer, _: f"{answer[0]()} {answer[1]}")
    told = [first((random.random, "beside")).message for _ in range(2)]
    assert told[0] == told[1] and told[0].count("beside") == TRIES


def test_the_stop_button_still_stops():
    def pressed(n: int) -> int:
        _thread.interrupt_main()
        time.sleep(0.1)
        return 2 * n

    with pytest.raises(KeyboardInterrupt):
        double(pressed)


def test_a_check_runs_in_any_thread():
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(double, lambda n: 2 * n).result().passed


def test_what_ends_is_not_interrupted_on_its_way_out(monkeypatch):
    """Else the watcher would go on, and interrupt whatever runs later."""

    class Interrupted(threading.Event):
        def __init__(self) -> None:
            monkeypatch.undo()
            super().__init__()

        def set(self) -> None:
            signal.raise_signal(signal.SIGINT)
            super().set()

    before, worked = signal.getsignal(signal.SIGINT), [0.0]
    monkeypatch.setattr(threading, "Event", Interrupted)
    with at_most(1.0, lambda: worked[0]):
        worked[0] = 2.0
    assert signal.getsignal(signal.SIGINT) is before


def test_of_the_tries_of_an_open_exercise_the_least_paid_counts():
    steps = check(lambda answer, _: Score("done.", answer(), half=400.0, best=200.0))
    drawn = iter([300.0, 200.0, 400.0])
    outcome = steps(lambda: next(drawn) + 0 * random.random())
    assert outcome.passed and outcome.score is not None
    assert (outcome.score.value, outcome.score.paid) == (400.0, 0.5)
    assert steps(lambda: 100.0).score == Score("done.", 100.0, 400.0, 200.0)
    paid = [Score("", float(value), 342.0, 398.0).paid for value in (1, 342, 370, 398, 500)]
    assert paid == [0.25, 0.5, 0.75, 1.0, 1.0]


@pytest.mark.parametrize(("page", "name"), EXERCISES)
def test_an_exercise_says_what_it_is(page, name):
    told = exercises.contract(page, name)
    assert told.keys() == {"name", "points", "minutes", "outcome", "needs"}
    assert told["name"] == name and 2 <= told["points"] <= 4
    stands = exercises.cells(page)
    assert told["needs"] and {*told["needs"]} <= stands.keys()
    first = stands[f"exercise-{name}"].splitlines()[0]
    assert first.endswith(f" ({told['points']} points, {told['minutes']} minutes)")
    # A student's, as CONTRIBUTING.md reckons: to read, a step at least, each line, a round or two.
    lines = [line for line in exercises.solution(page, name).splitlines() if line.strip()]
    least = 45 if ", open: " in first else 3 + 5 + len(lines) + 4
    assert least <= told["minutes"] <= 60 and told["minutes"] % 5 == 0, f"{name}: {least} or more"
    assert re.fullmatch(r"checks\.\w+\(.+\)", stands[f"exercise-{name}-check"])
    assert "# your answer" in stands[f"exercise-{name}-answer"]


@pytest.mark.in_short(3)
@pytest.mark.parametrize(("page", "name"), EXERCISES)
def test_an_endless_answer_ends(page, name, monkeypatch):
    cells, endless = exercises.cells(page), threading.Event()
    called = re.search(r"def (\w+)\(", cells[f"exercise-{name}-answer"])
    if called is None:  # a value, which is there when the check begins
        return
    limit = partial(at_most, processor=lambda: math.inf if endless.is_set() else 0.0)
    monkeypatch.setattr(shared, "at_most", limit)
    answer = f"def {called[1]}(*_):\n    endless.set()\n    while True:\n        pass"
    scope = {"checks": import_module(f"book.lessons.{page.parent.name}.checks"), "endless": endless}
    exec(answer, scope)
    outcome = eval(cells[f"exercise-{name}-check"], scope)
    assert outcome.share == 0 and "Does it ever end?" in outcome.message


def test_a_check_has_less_than_ten_seconds_unless_it_trains():
    """Or runs a network four hundred times, as that of `budget` does."""
    text = "".join(path.read_text("utf-8") for path in ROOT.glob("book/lessons/*/checks.py"))
    told = re.findall(r"^@(check\(.*)\ndef (\w+)", text, re.M)
    longer = {"rescue": "check(seconds=240.0)", "budget": "check(seconds=120.0)"}
    assert SECONDS < 10 and {name: text for text, name in told} == longer


@pytest.mark.page
@pytest.mark.in_short(2)
@pytest.mark.parametrize("page", [*CHAPTERS, *EVIDENCE], ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_a_wrong_answer_is_told_by_its_symptom(page):
    wrong = exercises.wrong(page.parent.name)
    for name in exercises.names(page):
        for answer, symptom in wrong.get(name, ()):
            outcome = exercises.outcome(page, name, answer)
            told = f"{name} is told “{outcome.message}” of\n{answer}"
            assert not outcome.passed and symptom in outcome.message, told
