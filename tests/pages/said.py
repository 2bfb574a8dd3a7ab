"""What pages say of recordings, held against the records: what a lesson's `said.py` is made with.

The words stand in the notebooks, written by hand, and in titles of figures. A lesson's table says
them again with the numbers as the record has them, and names the verdicts that they rest on:

    def said(page: Reading) -> None:
        evidence = page("trm_evidence")
        evidence(f"it solves {share} of a hundred", held=[told(claims.AGAIN)])
        evidence("Harder puzzles need more steps", where=hard > easy)

Where the record bears the words out no longer, the lesson's test fails with the page, the cell,
what stands there, and the words with the new numbers, to be pasted.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property

from attn_notes.analysis.statistics import Verdict
from book.kit.claims import Claim
from book.kit.verdicts import Finding

COUNT = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
"""Small numbers as the pages say them, each at its place."""
NUMBER = re.compile(rf"[-−+]?\d[\d,]*(?:\.\d+)?|\b(?:none|{'|'.join(COUNT)})\b")
FEWEST = 3  # words of a passage, lest another place of the page has them too


@dataclass
class Says:
    """A page as it is now, and what it says that no longer holds."""

    name: str  # the file, as `book/lessons/trm/trm.ipynb`
    cells: dict[str, str]  # its text by cell, or by heading
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cells = {name: plain(text) for name, text in self.cells.items()}

    def __call__(
        self,
        *words: str,
        held: Iterable[Finding] = (),
        failed: Iterable[Finding] = (),
        untold: Iterable[Finding] = (),
        where: bool = True,
    ) -> None:
        """The page has these words: what has to hold for them has, what has to be refuted is.

        What is `untold` the record cannot decide; `where` is any other condition.
        """
        if missing := [*filter(None, map(self.missing, words))]:
            self.wrong += missing
            return
        place = f"{self.place(words[0])} says “{words[0]}”"
        wanted: dict[Verdict, Iterable[Finding]] = {True: held, False: failed, None: untold}
        self.wrong += [
            f"{place}, and the record: {finding}"
            for verdict, findings in wanted.items()
            for finding in findings
            if finding.verdict is not verdict
        ]
        if not where:
            self.wrong.append(f"{place}, which the record bears out no longer")

    def place(self, words: str) -> str:
        """The page and the cell that has the words."""
        cell = next(name for name, text in self.cells.items() if stands(plain(words), text))
        return f"{self.name}, cell {cell},"

    def missing(self, words: str) -> str:
        """What to change if the page does not say that; nothing if it does."""
        words = plain(words)
        assert len(words.split()) >= FEWEST, f"“{words}” is too short a passage to be found again"
        if any(stands(words, text) for text in self.cells.values()):
            return ""
        cell, there = self.nearest(words)
        return f"{self.name}, cell {cell}, says\n    {there}\nand the records\n    {words}"

    def nearest(self, words: str) -> tuple[str, str]:
        """The cell that has these words with other numbers, or most of them, and what it says."""
        pieces = [re.escape(piece) for piece in NUMBER.split(words)]
        for cell, text in self.cells.items():
            found = re.search(f"(?:{NUMBER.pattern})".join(pieces), text)
            if found:
                return cell, found[0]

        def shared(text: str) -> float:
            blocks = SequenceMatcher(None, words, text, autojunk=False).get_matching_blocks()
            return sum(block.size for block in blocks if block.size > 4)

        cell = max(self.cells, key=lambda name: shared(self.cells[name]))
        return cell, max(re.split(r"(?<=[.!?:]) ", self.cells[cell]), key=shared)


Reading = Callable[[str], Says]
"""Gives a page by its name: `trm`, `trm_evidence`, `teaching` or `index`."""


@dataclass(frozen=True)
class Told:
    """What the records have found of a claim, by how the claim begins: `told("It knows")`."""

    claims: Callable[[], Sequence[Claim]]  # all of the chapter, corrected; asked once
    column: str  # whose finding is meant where none is named

    def __call__(self, begins: str, column: str = "") -> Finding:
        return self.claim(begins).findings[column or self.column]

    def claim(self, begins: str) -> Claim:
        """The one claim that begins so, or says just that."""
        whole = [claim for claim in self.every if claim.text == begins]
        (claim,) = whole or [claim for claim in self.every if claim.text.startswith(begins)]
        return claim

    @cached_property
    def every(self) -> Sequence[Claim]:
        return self.claims()


def stands(words: str, text: str) -> bool:
    """Whether a text has the words, and no longer number or word begins or ends them."""
    whole = rf"(?<![\w−+-])(?<!\d[.,]){re.escape(words)}(?!\w|[.,]\d)"
    return re.search(whole, text) is not None


def plain(text: str) -> str:
    """A text in which each run of spaces and line ends is one space."""
    return " ".join(text.split())
