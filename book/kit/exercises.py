"""The checks behind the exercises: each tries an answer and says by symptom what is amiss.

A check never raises on a wrong answer, an unfinished one, one that fails or one that never ends: it
returns an `Outcome`, which a notebook shows as a sentence. Part of its cases are drawn anew each
time it runs, so that an answer has to be right and not only right where it was tried. An answer
that draws at random itself earns the least of three tries, from seeds that are always the same, so
that its points are no matter of luck. What every check shares stands here; a lesson's own checks
stand in the module of its name, which only that lesson imports.

A page runs the same checks, in a smaller Python (`book.page.code.answers`), but for those of a
lesson's `NOTEBOOK_ONLY`.

For graders: `checks.floor(floor, seed=7).require(points=2)` draws the same cases for everybody, is
worth the points that the answer earned, and raises where it earned none.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, overload

from torch import Generator, Tensor
from torch.nn import Module, Parameter

from book.kit.trying import LateError, at_most, following, generators_kept, start

SECONDS = 8.0
"""How long an answer may keep the processor, unless its check says otherwise."""

TRIES = 3
"""How often an answer that draws at random is tried."""


@dataclass(frozen=True)
class Score:
    """What an open exercise measures, once an answer is right.

    Args:
        words: what to know.
        value: the score.
        half: a score that earns half of a course's points; the published answer's, where better
            ones are known.
        best: the best known, which earns all of them; below or above.
    """

    words: str
    value: float
    half: float
    best: float

    @property
    def paid(self) -> float:
        """The share of the points in a course, a quarter at the least.

        >>> good, late = Score("", 300.0, half=400.0, best=200.0), Score("", 900.0, 400.0, 200.0)
        >>> good.paid, late.paid
        (0.75, 0.25)
        """
        along = (self.value - self.half) / (self.best - self.half)
        return min(1.0, max(0.25, 0.5 + 0.5 * along))


@dataclass(frozen=True)
class Outcome:
    """What came of an answer: the share of it that is right, from 0 to 1, and what to know.

    In an open exercise an answer that is right has a score as well, by which a course pays.
    """

    share: float
    message: str
    score: Score | None = None

    @property
    def passed(self) -> bool:
        """Whether all of it is right."""
        return self.share == 1

    def __repr__(self) -> str:
        part = f" ({self.share:.0%} of the points)" if 0 < self.share < 1 else ""
        return f"{'Right' if self.passed else 'Not yet'}{part}: {self.message}"

    def require(self, points: int = 1) -> float:
        """The share of these points that the answer earned; prints why, if it is not all of them.

        Raises:
            AssertionError: it earned none; says why.
        """
        assert self.share > 0, self.message
        if not self.passed:
            print(self)
        return self.share * points


class WrongError(Exception):
    """A symptom, in words for the reader, and the share of the points that stays."""

    def __init__(self, symptom: str, share: float = 0.0) -> None:
        super().__init__(symptom)
        self.share = share


Check = Callable[..., Outcome]
"""`check(answer, seed=None)`: what came of an answer. With a seed its cases are always the same."""


class Drew:
    """Whether an answer has drawn from the global generators."""

    ever = False


def seeded(answer: Any, seed: int, drew: Drew) -> Any:
    """An answer that finds the global generators at this seed whenever it is called.

    A function, or a tuple with some in it; anything else is given back. What draws from them is
    noted. What draws from a generator of its own, unless NumPy makes it then, is not noticed.
    """
    if isinstance(answer, tuple):
        return tuple(seeded(part, seed, drew) for part in answer)
    if not callable(answer) or isinstance(answer, Module):
        return answer

    start(seed)
    untouched = following()

    def asked(*given: object) -> object:
        start(seed)
        found = answer(*given)
        if following() != untouched:
            drew.ever = True
        return found

    return asked


@overload
def check(run: Callable[..., str | Score]) -> Check: ...


@overload
def check(*, seconds: float) -> Callable[[Callable[..., str | Score]], Check]: ...


def check(run: Callable[..., str | Score] | None = None, seconds: float = SECONDS) -> Any:
    """Turn a function that returns praise, or a `Score`, or raises `WrongError` into a `Check`.

    The function takes the answer and a generator to draw cases from.

    Whenever an answer is called, the global generators of Python, NumPy and torch start at a seed,
    so that what it draws does not hang on what was drawn before; the reader finds them as they
    were. If it does draw, it is tried `TRIES` times, from other seeds, and the least share counts.

    Args:
        run: the function; none if what is wanted is a decorator with another limit.
        seconds: how long the answer may keep the processor, all cases of one try together.
    """
    if run is None:
        return partial(check, seconds=seconds)

    @wraps(run)
    def checked(answer: object, *, seed: int | None = None) -> Outcome:
        cases = Generator().seed() if seed is None else seed
        drew = Drew()

        def tried(number: int) -> Outcome:
            draw = Generator().manual_seed(cases)
            try:
                with at_most(seconds):
                    given = answered(seeded(answer, number, drew))
                    found = run(given, draw)
                    if isinstance(found, Score):
                        return Outcome(1.0, found.words, found)
                    return Outcome(1.0, found)
            except WrongError as wrong:
                return Outcome(wrong.share, str(wrong))
            except LateError as late:
                return Outcome(0.0, str(late))
            except (Exception, SystemExit) as error:  # whatever the code does, the page goes on
                return Outcome(0.0, f"your code stopped with {type(error).__name__}: {error}")

        with generators_kept():
            tries = [tried(0)]
            while drew.ever and tries[-1].share > 0 and len(tries) < TRIES:
                tries.append(tried(len(tries)))
        if len(tries) == 1:
            return tries[0]
        least = min(tries, key=lambda one: (one.share, one.score.paid if one.score else 1.0))
        # Where all is right each try may have a score of its own.
        said: list[str] = []
        for outcome in tries if least.passed else [least]:
            if outcome.message not in said:
                said.append(outcome.message)
        luck = "(It draws at random: the least of its tries counts.)"
        return Outcome(least.share, " ".join([*said, luck]), least.score)

    checked.seconds = seconds  # type: ignore[attr-defined]  # for whoever grades
    return checked


def misnamed(asked: Sequence[str], defined: Sequence[str]) -> Outcome | None:
    """What to say of an answer that defines other names than its check asks for, if it does.

    >>> misnamed(["floor"], ["counting"])
    Not yet: your answer defines `counting`, and the check asks for `floor`: give it that name.
    >>> misnamed(["floor"], ["counting", "floor"])
    """
    missing = [name for name in asked if name not in defined]
    if not missing:
        return None
    wanted, others = (
        " and ".join([f"`{name}`" for name in sorted(names)])
        for names in (missing, [name for name in defined if name not in asked])
    )
    does = f"defines {others}" if others else "defines nothing"
    return Outcome(0.0, f"your answer {does}, and the check asks for {wanted}: give it that name.")


def answered(answer: Any) -> Any:
    """What was given, unless that is nothing: None or the `...` of the stub; no odd tensor.

    A check has this of its answer already. It is for what the reader's function returns.
    """
    need(answer is not None and answer is not ..., "there is no answer yet.")
    need(_plain(answer), "a tensor of yours is of a class of its own. Give one of torch's.")
    return answer


def _plain(answer: Any) -> bool:
    """Whether tensors are torch's: one of another class may say of itself what it likes."""
    if isinstance(answer, tuple | list):
        return all(_plain(part) for part in answer)
    return not isinstance(answer, Tensor) or type(answer) in (Tensor, Parameter)


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
        what = "words" if isinstance(value, str) else type(value).__name__
        raise WrongError(f"give a number, not {what}.") from error


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
