"""Constants in a program's text: as short as they can be, exact, and never many.

What stands in evenly growing steps is a rule, what comes in long runs is a list of runs, and what
single precision can say is written with its few digits.
"""

import struct
from collections.abc import Sequence

MOST = 4096
"""So many numbers may a constant take; more are an input."""


def javascript(data: Sequence[float], start: int) -> str:
    """A statement that writes these numbers into H from `start` on."""
    if (step := _step(data)) is not None:
        first, count = number(data[0]), len(data)
        return f"for(let i=0;i<{count};i++)H[{start}+i]={first}+i*{number(step)};"
    if (runs := _runs(data)) is not None:
        flat = ",".join(f"{number(value)},{count}" for value, count in runs)
        return f"[{flat}].reduce((at,x,i,all)=>i%2?(H.fill(all[i-1],at,at+x),at+x):at,{start});"
    texts, rounded = _texts(data)
    return f"H.set([{','.join(texts)}]{'.map(Math.fround)' if rounded else ''},{start});"


def length(data: Sequence[float]) -> int:
    """How many numbers it takes to write these."""
    if not len(data) or _step(data) is not None:
        return 2
    runs = _runs(data)
    return len(data) if runs is None else 2 * len(runs)


def number(value: float) -> str:
    """A number as JavaScript reads it, the same to the bit."""
    if value != value:
        return "NaN"
    if value in (float("inf"), -float("inf")):
        return "Infinity" if value > 0 else "(-Infinity)"
    text = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if text == "0" and str(value)[0] == "-":
        text = "-0"
    return f"({text})" if text[0] == "-" else text


def _step(data: Sequence[float]) -> float | None:
    """By what whole number each is larger than the one before, if by the same."""
    if len(data) < 3 or any(str(x) == "-0.0" for x in data):  # a sum is never that
        return None
    step = data[1] - data[0]
    even = all(data[0] + i * step == x for i, x in enumerate(data))
    return step if even and step == round(step) else None


def _runs(data: Sequence[float]) -> list[tuple[float, int]] | None:
    """Values and how often each comes, one after another, if that is shorter."""
    if 0.0 in data and any(str(x) == "-0.0" for x in data):
        return None  # which are equal, and not the same
    runs: list[tuple[float, int]] = []
    for value in data:
        before, length = runs[-1] if runs else (value, 0)
        if length and before == value:
            runs[-1] = (value, length + 1)
        else:
            runs.append((value, 1))
    return runs if 2 * len(runs) < len(data) else None


def _texts(data: Sequence[float]) -> tuple[list[str], bool]:
    """The numbers, and whether they are to be rounded to single precision after they are read."""
    exact = [number(x).strip("()") for x in data]
    if any(single(x) != x for x in data):
        return exact, False
    short = [number(_shortest(x)).strip("()") for x in data]
    return (short, True) if short != exact else (exact, False)


def single(value: float) -> float:
    """The number of single precision that is next to this one."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else -float("inf")


def _shortest(value: float) -> float:
    """What fewest digits can say that single precision reads as this number."""
    for digits in range(1, 10):
        near = float(f"{value:.{digits}g}")
        if single(near) == value:
            return near
    return value
