"""Cases of which every run asks some, and the night asks all: `make test-all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], now: Collection[Any]) -> list[Any]:
    """These cases, the ones that are not among `now` marked `long`.

    Raises:
        ValueError: there is no such case, as after a name has changed.
    """
    listed = list(cases)
    if missing := [case for case in now if case not in listed]:
        raise ValueError(f"no such case: {missing}")
    return [case if case in now else pytest.param(case, marks=pytest.mark.long) for case in listed]
