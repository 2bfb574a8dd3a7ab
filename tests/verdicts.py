"""What the tables of claims say, as it was read off the records and the pages by hand.

`tests/chapters/STEM/verdicts.py` has the lines of a chapter's two pages, LESSON and EVIDENCE, and
computes the same tables by the functions that the notebooks call. A line is a sign for each column
of verdicts, then how the claim begins.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import zip_longest
from pathlib import Path

from dependencies import evidence_stems, notebook_paths

from attn_notes.analysis import statistics
from attn_notes.analysis.claims import Claim

ROOT = Path(__file__).parents[1]
PAGES = [
    path.with_suffix("").as_posix()
    for path in notebook_paths(ROOT)
    if path.stem in evidence_stems(ROOT)
]
"""Those of `_toc.yml` that are about a source, as `book/trm` and `book/evidence/trm`."""

SIGNS = {"+": True, "-": False, "?": None}
"""Besides, "." is an empty cell and "*" what may differ from machine to machine."""

LIVE = ("live", "here")
"""How a column begins that only the page has: here its verdicts are made up, and signed "*"."""

Row = tuple[str, Mapping[str, str]]
"""A claim, and by column the sign of its verdict."""


def sign_of(verdict: statistics.Verdict) -> str:
    return next(sign for sign, told in SIGNS.items() if told is verdict)


def expected(page: str) -> list[str]:
    """The lines that were read of a page."""
    module = import_module(f".chapters.{Path(page).name}.verdicts", __package__)
    text: str = module.EVIDENCE if "evidence" in Path(page).parts else module.LESSON
    return [line.strip() for line in text.strip().splitlines()]


@cache
def computed(page: str) -> list[Row]:
    """The claims of a page, from the records."""
    module = import_module(f".chapters.{Path(page).name}.verdicts", __package__)
    tables: Iterable[Sequence[Claim]]
    tables = module.evidence_tables() if "evidence" in Path(page).parts else module.lesson_tables()
    rows = []
    for claims in tables:
        for claim in claims:
            columns = dict.fromkeys((name for c in claims for name in c.findings), ".")
            for name, finding in claim.findings.items():
                columns[name] = "*" if name.startswith(LIVE) else sign_of(finding.verdict)
            rows.append((claim.text, columns))
    return rows


def agrees(read: str, column: str, sign: str) -> bool:
    """Whether a sign is the one that was read; of a live one all that may differ is the verdict."""
    loose = column.startswith(LIVE) and "*" in (read, sign)
    return (read == ".") == (sign == ".") if loose else read == sign


def differences(page: str, rows: Iterable[Row]) -> list[str]:
    """What these claims of a page say otherwise than was read, claim by claim."""
    wrong = []
    for line, row in zip_longest(expected(page), rows):
        claim, found = row or ("", {})
        words = (line or "").split()
        read, begins = words[: len(found)], " ".join(words[len(found) :])
        agree = len(read) == len(found) and all(map(agrees, read, found, found.values()))
        if not (line and row and agree and claim.startswith(begins)):
            signs = ", ".join(f"{sign} ({column})" for column, sign in found.items())
            told = f"“{claim}” is {signs}" if row else "a claim is not there"
            wrong.append(f"{page}: {told}; read was “{line or 'nothing'}”")
    return wrong
