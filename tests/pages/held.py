"""Text of what is shown, held to a file that a person has read: the difference, and taking it over.

A line that stands further in belongs to the line above it, as a figure does to its cell. A number
with a decimal point has been computed and may differ by one in its third digit, since another
processor rounds otherwise; all else is exact.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from math import floor, log10
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
NUMBER = re.compile(
    r"#[0-9a-f]{6}\b|(?<![\w.#])[-−]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?"
)
"""Numbers, and colours, each as one."""
WRITTEN = ">"
"""How a line begins that somebody wrote, and nothing computed: it is exact to its last digit."""
NOISE = 1e-6
"""What is smaller is a zero that was rounded."""
EDGE, BRIEF = 30, 50
"""Letters of a line that are told around what differs in it; of a line that it belongs to."""
TOLD = 30
"""Differences of a file that are told one by one."""


@dataclass(frozen=True)
class Difference:
    """Lines `start` to `stop` of what was read, what stands there now, and how one says that."""

    start: int
    stop: int
    now: list[str]
    said: str


def differences(was: Sequence[str], now: Sequence[str]) -> Iterator[Difference]:
    """Where two texts differ, line by line, in their order."""
    for i, j in aligned(was, now, masked):
        if i[0] == i[1]:
            yield Difference(*i, [now[j[0]]], f"{place(now, j[0])}new: {now[j[0]].strip()}")
        elif j[0] == j[1]:
            yield Difference(*i, [], f"{place(was, i[0])}gone: {was[i[0]].strip()}")
        elif not close(old := was[i[0]].strip(), new := now[j[0]].strip()):
            before, after = cut(old, new)
            yield Difference(*i, [now[j[0]]], f"{place(was, i[0])}was {before}, is {after}")


def masked(line: str) -> str:
    """A line without what its numbers are."""
    return NUMBER.sub("#", line)


def aligned(
    was: Sequence[T], now: Sequence[T], key: Callable[[T], str]
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Lines that differ, each beside its counterpart if it has one: where in `was`, in `now`.

    What is not the same is set side by side by its key first, then by its place.
    """
    whole = [list(map(str, lines)) for lines in (was, now)]
    for exact, a, b, c, d in SequenceMatcher(None, *whole, False).get_opcodes():
        if exact == "equal":
            continue
        keys = [[key(line) for line in part] for part in (was[a:b], now[c:d])]
        for _, p, q, r, s in SequenceMatcher(None, *keys, False).get_opcodes():
            for i, j in zip_longest(range(a + p, a + q), range(c + r, c + s)):
                before = (a + q, a + q) if i is None else (i, i + 1)
                yield before, (c + s, c + s) if j is None else (j, j + 1)


def close(one: str, other: str) -> bool:
    """Whether two lines say the same, up to rounding."""
    if masked(one) != masked(other) or one.startswith(WRITTEN):
        return one == other
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(a == b or near(a, b) for a, b in pairs)


def near(one: str, other: str) -> bool:
    """Whether two numbers are one computed number, rounded, or two colours as good as one.

    >>> near("0.366", "0.367"), near("0.366", "0.368"), near("27", "28"), near("−0.5", "-0.5")
    (True, False, False, False)
    >>> near("#d55e00", "#d45e01"), near("#d55e00", "#0072b2")
    (True, False)
    """
    if one[0] == other[0] == "#":
        channels = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
        return all(abs(a - b) <= 2 for a, b in channels)
    if {one[0], other[0]} == {"-", "−"}:
        return False  # a minus as one writes it, and a hyphen
    if "#" in one + other or not {".", "e"} & {*one, *other}:
        return False
    a, b = number(one), number(other)
    largest = max(abs(a), abs(b), NOISE)
    return abs(a - b) <= 1.001 * 10 ** (floor(log10(largest)) - 2) or largest == NOISE


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def place(lines: Sequence[str], at: int) -> str:
    """The lines that a line belongs to, the outermost and the nearest, as a sentence begins."""
    above, depth = [], indent(lines[at])
    for line in reversed(lines[:at]):
        if indent(line) < depth:
            above.insert(0, re.split(r" \S+=", line.strip())[0][:BRIEF])
            depth = indent(line)
    return "".join(f"{line}: " for line in above[:2] + above[2:][-2:])


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def cut(one: str, other: str) -> tuple[str, str]:
    """Two lines without most of what they have in common at both ends."""
    ahead = max(common(one, other) - EDGE, 0)
    behind = common(one[:ahead:-1], other[:ahead:-1]) - EDGE
    ahead, behind = (n if n > 3 else 0 for n in (ahead, behind))
    first, second = (
        ("…" if ahead else "") + line[ahead : len(line) - behind] + ("…" if behind else "")
        for line in (one, other)
    )
    return first, second


def common(one: str, other: str) -> int:
    """How many letters two texts begin with that are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def hold(file: Path, now: Sequence[str], take: str | None) -> list[str]:
    """What is shown now and was not read, as sentences; what one wants of it is taken over.

    That is what has the words to `take`, or `all`. Nothing was read of a file that is not there.
    """
    was = file.read_text("utf-8").splitlines() if file.exists() else []
    found = list(differences(was, now))
    wanted = [each for each in found if take and (take == "all" or take in each.said)]
    for each in reversed(wanted):
        was[each.start : each.stop] = each.now
    if wanted:
        file.write_text("\n".join(was) + "\n", "utf-8")
    left = Counter(each.said for each in found if each not in wanted)
    if not left:
        return []
    told = [said if n == 1 else f"{said} ({n} times)" for said, n in left.items()]
    more = [f"and {len(told) - TOLD} more"] if len(told) > TOLD else []
    name = "/".join(file.parts[-2:])
    head = f"{name}: what is shown now differs from what was read ({left.total()}):"
    foot = "What is meant is taken over by `make pages TAKE=all`, or words of a line above."
    return [head, *told[:TOLD], *more, foot]
