"""What a model was asked and what came of it: answers, and the report that holds them."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

VERDICTS = ("ok", "leak", "wrong", "warning", "not asked")
"""What an answer may be; a report is not ok with one that is a leak, or wrong."""

REFUSED = "could not be asked"
ALONE = "only once its parameters are moved a little"

WIDTH = 84
"""Characters of a printed line: what a page has room for."""


class LeakError(AssertionError):
    """A report is not ok."""


class RefusedError(Exception):
    """A model cannot be asked in this way; its own error, if there is one, is the cause."""


@dataclass(frozen=True)
class Answer:
    """What one check in one mode has found.

    Attributes:
        check: what was asked.
        verdict: one of `VERDICTS`.
        mode: in which mode and precision, if that matters.
        size: how large the largest thing found is; NaN where nothing was measured.
        above: what would have counted: nothing smaller than this can be found.
        found: what was found, or why it was not asked, in words.
        module: the first module that does it, if it was asked for.
        left_out: what was not tried.
        rows: sequences that the model read for it.
        seconds: how long that took.
        needed: that what was not asked or not tried is needed: without it a report is not ok.
        rest: seconds that what there was no time for would take, about.
    """

    check: str
    verdict: str
    mode: str = ""
    size: float = float("nan")
    above: float = float("nan")
    found: str = ""
    module: str = ""
    left_out: str = ""
    rows: int = 0
    seconds: float = 0.0
    needed: bool = False
    rest: float = 0.0

    @property
    def bad(self) -> bool:
        """Whether it is a leak, or wrong."""
        return self.verdict in ("leak", "wrong")

    def __str__(self) -> str:
        return self.line()

    def said(self) -> str:
        """What was found, where, how large it is, and what was not tried."""
        said = [self.found]
        if self.module:
            said.append(f"first in {self.module}")
        if self.verdict == "ok" and self.above == self.above:
            said.append(f"nothing above {self.above:.0e}")
        elif self.verdict in ("leak", "warning") and self.size == self.size:
            said.append(f"by {self.size:.1e}")
        if self.left_out:
            said.append(f"not tried: {self.left_out}")
        return "; ".join(filter(None, said))

    def line(self, check: int = 11, mode: int = 16) -> str:
        """One line; check and mode in columns so wide."""
        cost = f"{self.rows:,} rows, {self.seconds:.1f} s" if self.rows else ""
        line = f"{self.verdict:<10}{self.check:<{check}}{self.mode:<{mode}}{self.said()}"
        return f"{line}  ({cost})" if cost else line


@dataclass(frozen=True)
class Report:
    """All answers about a model.

    Attributes:
        about: what was asked, and of what.
        answers: in the order in which they were asked.
        notes: what holds for all of them.
    """

    about: str
    answers: Sequence[Answer]
    notes: Sequence[str] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether all that is needed was asked, and nothing bad found. A warning is not bad."""
        asked = any(answer.verdict != "not asked" for answer in self.answers)
        return asked and not self.bad and not any(answer.needed for answer in self.answers)

    @property
    def bad(self) -> list[Answer]:
        """The answers that are a leak, or wrong."""
        return [answer for answer in self.answers if answer.bad]

    @property
    def rest(self) -> float:
        """Seconds that what the budget has cut would take, about; 0 if it has cut nothing."""
        return sum(answer.rest for answer in self.answers)

    @property
    def warnings(self) -> list[Answer]:
        """The answers that are a warning."""
        return [answer for answer in self.answers if answer.verdict == "warning"]

    def raise_for_leak(self) -> None:
        """Raise `LeakError`, an AssertionError, with the whole report, if it is not ok."""
        if not self.ok:
            raise LeakError(str(self))

    def told(self) -> dict[str, Any]:
        """All of it as JSON has it: what is no number, or infinite, is null."""
        answers = [
            {k: None if v in (math.inf, -math.inf) or v != v else v for k, v in vars(a).items()}
            for a in self.answers
        ]
        return {"about": self.about, "ok": self.ok, "answers": answers, "notes": [*self.notes]}

    def __repr__(self) -> str:
        return f"Report({str(self).splitlines()[0]}; {len(self.answers)} answers)"

    def head(self) -> str:
        """What was asked, whether it is ok, and how much is not."""
        bad, warned = len(self.bad), len(self.warnings)
        skipped = sum(answer.verdict == "not asked" for answer in self.answers)
        counted = [(bad, "bad"), (warned, "warned of"), (skipped, "not asked")]
        said = ", ".join(f"{n} {what}" for n, what in counted if n)
        return f"{self.about}: {'ok' if self.ok else 'not ok'}" + (f" ({said})" if said else "")

    def __str__(self) -> str:
        check = max([9, *(len(answer.check) for answer in self.answers)]) + 2
        mode = max((len(answer.mode) + 2 for answer in self.answers if answer.mode), default=0)
        lines = [answer.line(check, mode) for answer in self.answers]
        cut = f"cut by its budget; the rest would take {about(self.rest)} more"
        lines += [f"note: {note}" for note in (*self.notes, *[cut] * (self.rest > 0))]
        return "\n".join([self.head(), *map(wrapped, lines)])


def about(seconds: float) -> str:
    """A time in words, rounded up."""
    for unit, size in (("s", 1), ("min", 60)):
        if seconds <= 60 * size:
            return f"about {math.ceil(seconds / size)} {unit}"
    return f"about {math.ceil(seconds / 3600)} h"


def refusal(error: BaseException) -> str:
    """What was raised, in a line."""
    said = str(error).strip().partition("\n")[0][:160]
    if isinstance(error, RefusedError):
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def unasked(check: str, error: Exception) -> Answer:
    """That it could not be asked, and why: a report is not ok then."""
    return Answer(check, "not asked", found=f"{REFUSED}: {refusal(error)}", needed=True)


def wrapped(line: str) -> str:
    """A line in as many as it needs; what follows stands below what was found."""
    return textwrap.fill(line, WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False)
