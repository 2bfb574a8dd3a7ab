"""The checks behind the exercises: each tries an answer and says by symptom what is amiss.

A check never raises on a wrong answer, an unfinished one or one that fails: it returns an
`Outcome`, which a notebook shows as a sentence. What every check shares stands here; a chapter's
own checks stand in the module of its name, which only that chapter imports.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """Whether an answer passed, and what to know about it."""

    passed: bool
    message: str

    def __repr__(self) -> str:
        return f"{'Right' if self.passed else 'Not yet'}: {self.message}"


class WrongError(Exception):
    """A symptom, in words for the reader."""


def check(run: Callable[..., str]) -> Callable[..., Outcome]:
    """Turn a function that returns praise or raises `WrongError` into a check."""

    @wraps(run)
    def checked(answer: object) -> Outcome:
        try:
            return Outcome(True, run(answered(answer)))
        except WrongError as wrong:
            return Outcome(False, str(wrong))
        except Exception as error:  # whatever the reader's code does, the page goes on
            return Outcome(False, f"your code stopped with {type(error).__name__}: {error}")

    return checked


def answered(answer: Any) -> Any:
    """What was given, unless that is nothing: None or the `...` of the stub.

    A check has this of its answer already. It is for what the reader's function returns.
    """
    need(answer is not None and answer is not ..., "there is no answer yet.")
    return answer


def need(condition: bool, symptom: str) -> None:
    """Go on if the condition holds; else the answer is wrong, and this is the symptom."""
    if not condition:
        raise WrongError(symptom)


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
