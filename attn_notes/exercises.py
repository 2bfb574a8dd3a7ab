"""The checks behind the exercises: each tries an answer and says by symptom what is amiss.

A check never raises on a wrong answer, an unfinished one, one that fails or one that never ends: it
returns an `Outcome`, which a notebook shows as a sentence. Part of its cases are drawn anew each
time it runs, so that an answer has to be right and not only right where it was tried. What every
check shares stands here; a chapter's own checks stand in the module of its name, which only that
chapter imports.

For graders: `checks.floor(floor, seed=7).require(points=2)` draws the same cases for everybody, is
worth the points that the answer earned, and raises where it earned none.
"""

import _thread
import inspect
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from types import FrameType
from typing import Any, overload

from torch import Generator

SECONDS = 8.0
"""How long an answer may take, unless its check says otherwise."""


@dataclass(frozen=True)
class Outcome:
    """What came of an answer: the share of it that is right, from 0 to 1, and what to know."""

    share: float
    message: str

    @property
    def passed(self) -> bool:
        """Whether all of it is right."""
        return self.share == 1

    def __repr__(self) -> str:
        part = f" ({self.share:.0%} of the points)" if 0 < self.share < 1 else ""
        return f"{'Right' if self.passed else 'Not yet'}{part}: {self.message}"

    def require(self, points: int = 1) -> float:
        """The share of these points that the answer earned.

        Raises:
            AssertionError: it earned none; says why.
        """
        assert self.share > 0, self.message
        return self.share * points


class WrongError(Exception):
    """A symptom, in words for the reader, and the share of the points that stays."""

    def __init__(self, symptom: str, share: float = 0.0) -> None:
        super().__init__(symptom)
        self.share = share


Check = Callable[..., Outcome]
"""`check(answer, seed=None)`: what came of an answer. With a seed its cases are always the same."""


@overload
def check(run: Callable[..., str]) -> Check: ...


@overload
def check(*, seconds: float) -> Callable[[Callable[..., str]], Check]: ...


def check(run: Callable[..., str] | None = None, seconds: float = SECONDS) -> Any:
    """Turn a function that returns praise or raises `WrongError` into a `Check`.

    The function takes the answer and, if it draws cases, a generator.

    Args:
        run: the function; none if what is wanted is a decorator with another limit.
        seconds: how long the answer may take, all cases together.
    """
    if run is None:
        return partial(check, seconds=seconds)
    draws = len(inspect.signature(run).parameters) > 1

    @wraps(run)
    def checked(answer: object, *, seed: int | None = None) -> Outcome:
        draw = Generator()
        draw.manual_seed(draw.seed() if seed is None else seed)
        try:
            with at_most(seconds):
                return Outcome(1.0, run(answered(answer), *[draw][:draws]))
        except WrongError as wrong:
            return Outcome(wrong.share, str(wrong))
        except LateError:
            said = f"your code was stopped after {seconds:g} seconds. Does it ever end?"
            return Outcome(0.0, said)
        except (Exception, SystemExit) as error:  # whatever a reader's code does, the page goes on
            return Outcome(0.0, f"your code stopped with {type(error).__name__}: {error}")

    return checked


class LateError(BaseException):
    """Time is up. Not an `Exception`, so that an answer does not catch it by accident."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupt what runs here when the time is up, again and again until it ends.

    As the stop button of a notebook does, on every system; what one call of torch takes is waited
    for. In another thread than the main one nothing can be interrupted, and nothing is.

    Raises:
        LateError: the time was up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    until, ended = time.monotonic() + seconds, threading.Event()

    def interrupt() -> None:
        wait = seconds
        while not ended.wait(wait):
            _thread.interrupt_main()
            wait = 0.5

    def interrupted(number: int, frame: FrameType | None) -> None:
        if ended.is_set():
            return
        raise LateError if time.monotonic() >= until else KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    watch = threading.Thread(target=interrupt, daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()
        signal.signal(signal.SIGINT, before)


def answered(answer: Any) -> Any:
    """What was given, unless that is nothing: None or the `...` of the stub.

    A check has this of its answer already. It is for what the reader's function returns.
    """
    need(answer is not None and answer is not ..., "there is no answer yet.")
    return answer


def need(condition: bool, symptom: str, share: float = 0.0) -> None:
    """Go on if the condition holds; else the answer is wrong, and this is the symptom.

    The share is of the exercise's points, for what the answer has right by then.
    """
    if not condition:
        raise WrongError(symptom, share)


def number(answer: Any) -> float:
    """What the reader's function returned, as a number."""
    value = answered(answer)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise WrongError(f"return a number, not {type(value).__name__}.") from error


def yes_or_no(answer: Any) -> bool:
    """What the reader's function returned, as True or False."""
    value = answered(answer)
    if hasattr(value, "item"):  # a bool of torch or of NumPy
        value = value.item()
    if not isinstance(value, bool):
        raise WrongError(f"return True or False, not {type(value).__name__}.")
    return value


def same(one: float, other: float) -> bool:
    """Whether two numbers agree to what a reader may round away."""
    return math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-12)
