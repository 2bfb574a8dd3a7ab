"""Exercises that ask for a judgement: numbers are seen, and one thing may be said of them.

A case is drawn by its number, so that each student of a course has another and a solution that is
published fits none of them. What is given is a dictionary of what was computed and a verdict. Half
of the points are for the numbers, each its part, and the verdict is looked at only where all are
right: it has to rest on them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Generator

from book.kit.exercises import Outcome, WrongError, check, need, number

OPEN = "put the last three digits of your student number into the first line, as “042”."

NEAR = 0.005
"""By which share of itself a number may be off, for what a reader may round away."""


@dataclass(frozen=True)
class Case:
    """What is seen, and what may be said of it.

    Args:
        seen: the numbers, by what they are.
        numbers: what is to be computed from them.
        verdict: the right one.
        verdicts: all, each with what is wrong with it where it is not the right one.
        mistakes: number → values that a typical mistake gives, with its symptom.
        digits: after the point, to which a number may be rounded.
    """

    seen: Mapping[str, Any]
    numbers: Mapping[str, float]
    verdict: str
    verdicts: Mapping[str, str]
    mistakes: Mapping[str, tuple[tuple[float, str], ...]]
    digits: int | None = None

    def amiss(self, name: str, value: float) -> str:
        """What is wrong with a number that was computed; nothing where it is right."""

        def means(other: float) -> bool:
            rounded = self.digits is not None and value == round(other, self.digits)
            return rounded or near(value, other)

        if means(self.numbers[name]):
            return ""
        for wrong, symptom in self.mistakes.get(name, ()):
            if means(wrong):
                return f"{name}: {symptom}"
        return f"{name} is not {value:.4g} in these numbers."


class Judged:
    """A check of `(case, answer)`, as `exercises.check` makes one; made by decorating `draw`."""

    def __init__(self, draw: Callable[[Generator], Case]) -> None:
        self._draw = draw
        self.__doc__ = getattr(draw, "__doc__", None)  # a page's Python keeps none
        self._check = check(self._judge)

    def __repr__(self) -> str:
        return f"{self._draw.__name__}((case, answer))"

    def __call__(self, given: object, *, seed: int | None = None) -> Outcome:
        return self._check(given, seed=seed)

    def _case(self, number: int) -> Case:
        """The case of a number, the same each time."""
        return self._draw(Generator().manual_seed(number))

    def seen(self, case: object) -> dict[str, Any]:
        """The numbers that are to be judged.

        Raises:
            WrongError: a student's own digits are still to be typed.
        """
        return dict(self._case(numbered(case)).seen)

    def show(self, case: object) -> None:
        """Print them, a line each; of a table a line each, in order."""
        try:
            seen = self.seen(case)
        except WrongError as still:
            print(f"Not yet: {still}")
            return
        for name, value in sorted(seen.items()):  # a page's dictionaries have no order
            if isinstance(value, dict):
                print(name, *(f"{key}: {value[key]:.2f}" for key in sorted(value)), sep="\n  ")
            else:
                print(f"{name}: {value}")

    def _judge(self, given: tuple[object, Any], _: Generator) -> str:
        which, answer = given
        case = self._case(numbered(which))
        wanted = [*sorted(case.numbers), "verdict"]  # a page's dictionaries have no order
        need(answer is not ... and answer is not None, "there is no answer yet.")
        if not isinstance(answer, dict) or {*answer} != {*wanted}:
            raise WrongError(f"give a dictionary with {', '.join(wanted)}.")
        open_yet = [name for name in wanted if answer[name] is ...]
        need(len(open_yet) < len(wanted), "there is no answer yet.")
        need(not open_yet, f"still open: {', '.join(open_yet)}.")
        amiss = [case.amiss(name, number(answer[name])) for name in wanted[:-1]]
        if any(amiss):
            right = [name for name, why in zip(wanted, amiss, strict=False) if not why]
            told = [*filter(None, amiss), *(f"{name} is right." for name in right)]
            raise WrongError(" ".join(told), 0.5 * len(right) / len(amiss))
        said = answer["verdict"]
        listed = ", ".join(f"“{each}”" for each in sorted(case.verdicts))
        need(said in case.verdicts, f"the numbers are right; the verdict is one of {listed}.", 0.5)
        if said != case.verdict:
            raise WrongError(
                f"the numbers are right, but not the verdict: {case.verdicts[said]}", 0.5
            )
        return "the numbers are right, and so is the verdict."


def numbered(case: Any) -> int:
    """The number of a case: itself or, in a course, its own and three digits of a student's.

    >>> numbered(0), numbered((7, "042")), numbered((7, 42))
    (0, 7042, 7042)

    Raises:
        WrongError: there are no such digits.
    """
    if isinstance(case, int):
        return case
    need(isinstance(case, tuple | list) and len(case) == 2, OPEN)
    own, typed = case
    digits = str(typed).strip()
    need(0 < len(digits) < 4 and all(digit in "0123456789" for digit in digits), OPEN)
    return 1000 * own + int(digits)


def near(one: float, other: float) -> bool:
    """Whether two numbers agree to what a reader may round away."""
    return math.isclose(one, other, rel_tol=NEAR, abs_tol=1e-9)
