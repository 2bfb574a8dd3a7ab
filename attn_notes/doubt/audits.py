"""The report on a claim that somebody else made: what a project hands in."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from attn_notes import allowed
from attn_notes.doubt.comparing import Compared
from attn_notes.doubt.reports import Report

JUDGED = {True: "held", False: "failed", None: "could not be told"}


@dataclass(frozen=True)
class Audit:
    """A claim of the kind "with this part it ends lower", and what was done to doubt it.

    Printed, it is Markdown with a heading each: verdict, floor, control, rate, seeds, what else was
    asked, and what was not.

    Attributes:
        claim: in a sentence, as its source has it.
        source: where that stands.
        floor: what can be had at this task, and the loss beside it.
        control: what it was compared with, and what is alike in both.
        compared: each at its own best rate, on other seeds.
        others: further reports: whether anything reads ahead, has a wrong slope, has seen the test.
    """

    claim: str
    source: str
    floor: Report | None = None
    control: str = ""
    compared: Compared | None = None
    others: Sequence[Report] = ()

    def __post_init__(self) -> None:
        allowed.fit(vars(self), Audit)

    @property
    def reports(self) -> list[Report]:
        """All that was asked."""
        return [report for report in (self.floor, *self.others) if report]

    @property
    def open(self) -> list[str]:
        """Why there is no verdict: what is missing, and what makes the numbers void."""
        given = {"a floor": self.floor, "a control": self.control, "a comparison": self.compared}
        missing = [f"{name} is missing" for name, value in given.items() if not value]
        void = [report.about for report in self.reports if not report.ok]
        return missing + [f"not ok: {about}" for about in void]

    @property
    def verdict(self) -> str:
        """Whether the claim held, failed, or could not be told; or why nothing can be said."""
        if self.open or self.compared is None:
            return "no verdict; " + "; ".join(self.open)
        notes = "; ".join(self.compared.notes)
        return JUDGED[self.compared.verdict] + (f"; but {notes}" if notes else "")

    def __str__(self) -> str:
        compared = self.compared
        parts = {
            "Verdict": self.verdict,
            "Floor": _quoted(str(self.floor)) if self.floor else "None was worked out.",
            "Control": self.control or "None is named.",
            "Rate": _rates(compared) if compared else "None was chosen.",
            "Seeds": _quoted(f"{compared}\n{_ends(compared)}") if compared else "None were tried.",
            "What else was asked": "\n\n".join(_quoted(str(each)) for each in self.others)
            or "Nothing.",
            "What was not": "\n".join(f"- {each}" for each in self._left()) or "Nothing is left.",
        }
        head = f"# An audit\n\n**Claim.** {self.claim}\n\n**Source.** {self.source}"
        return "\n\n".join([head, *(f"## {name}\n\n{text}" for name, text in parts.items())])

    def _left(self) -> list[str]:
        """What no report has asked, each once."""
        found = [
            f"{answer.check}: {answer.found if answer.verdict == 'not asked' else answer.left_out}"
            for report in self.reports
            for answer in report.answers
            if answer.verdict == "not asked" or answer.left_out
        ]
        return [*dict.fromkeys(found)]


def _quoted(text: str) -> str:
    return f"```text\n{text}\n```"


def _rates(compared: Compared) -> str:
    """For each rate where the seeds for tuning ended, in the mean; the best in bold."""
    rows = ["| rate | ours | theirs |", "|---|---|---|"]
    for rate in compared.swept[0]:
        ends = (swept[rate] for swept in compared.swept)
        cells = (
            f"**{_number(end)}**" if rate == best else _number(end)
            for end, best in zip(ends, compared.rates, strict=True)
        )
        rows.append(f"| {rate:g} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "diverged"


def _ends(compared: Compared) -> str:
    """What each fresh seed ended with."""
    arms = (("ours", compared.ours), ("theirs", compared.theirs))
    return "\n".join(f"{name:8}{' '.join(map(_number, ends.tolist()))}" for name, ends in arms)
