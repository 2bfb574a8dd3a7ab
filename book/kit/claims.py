"""Claims and what was found of them: values, which a table shows and a test turns round."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from IPython.display import HTML

from attn_notes.analysis.statistics import LEVEL, holm
from book.kit import notebook
from book.kit.verdicts import Finding


class Mine(NamedTuple):
    """How a page judges a claim on its reader's own runs, by the test of the book's.

    Args:
        form: `before`: whether runs of the first kind arrive before those of the second, by the
            rank test; `above`: the same, whether they have a higher value than `against`; `pairs`:
            whether with every seed that both kinds have their values are less than `high` apart;
            `every`: whether each run has its value from `low` to `high`; `any`: whether one meets
            the lesson's criterion.
        kinds: of run, by the lesson's names.
        value: a series that a run keeps, and at which x; its last where that is none.
        against: recorded values, in the place of a second kind.
        low: of `every`.
        high: of `every` and `pairs`.
        needs: how many runs, or pairs, these three take; a rank test knows itself.
    """

    form: Literal["before", "above", "pairs", "every", "any"]
    kinds: tuple[str, ...]
    value: tuple[str, float | None] = ("", None)
    against: Sequence[float] = ()
    low: float = -math.inf
    high: float = math.inf
    needs: int = 3

    def told(self) -> dict[str, object]:
        """What `_mine.js` reads."""
        series, x = self.value
        bounds = {"low": self.low, "high": self.high}
        return {
            **self._asdict(),
            "value": {"series": series, "x": x},
            # JSON has no infinity
            **{name: max(-1e300, min(1e300, bound)) for name, bound in bounds.items()},
        }


@dataclass(frozen=True)
class Claim:
    """What somebody says, and what each body of evidence has found of it.

    Args:
        text: the claim, or a question as the statement that it asks about.
        findings: evidence, as "live" or "recorded, 8 seeds" → what it found.
        whose: `source` for what the author says, `ours` for a question of this book.
        family: the name of those it is corrected together with, for one who asks many questions
            gets some answers by chance; none for a claim that no test decides.
        mine: how the page judges it on its reader's runs, if these can tell.
    """

    text: str
    findings: Mapping[str, Finding] = field(default_factory=dict)
    whose: str = "ours"
    family: str = ""
    mine: Mine | None = None


def corrected(claims: Iterable[Claim]) -> list[Claim]:
    """The claims, with every p of a family corrected by Holm, and its verdict by the corrected one.

    A family is corrected within one body of evidence: live runs do not count against recorded ones.
    """
    claims = list(claims)
    families: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, claim in enumerate(claims):
        for evidence, finding in claim.findings.items():
            if claim.family and finding.p is not None:
                families[claim.family, evidence].append(i)
    found = [dict(claim.findings) for claim in claims]
    for (_, evidence), members in families.items():
        before = [found[i][evidence] for i in members]
        for i, old, p in zip(
            members, before, holm([f.p for f in before if f.p is not None]), strict=True
        ):
            found[i][evidence] = old._replace(verdict=old.verdict if p < LEVEL else None, p=p)
    return [replace(c, findings=f) for c, f in zip(claims, found, strict=True)]


def table(claims: Sequence[Claim], heading: str = "claim or question", *, lesson: str = "") -> HTML:
    """The claims as rows, and a column for each body of evidence, as they first appear.

    A claim that is not ours has whose it is in brackets behind it. Of a lesson, by its stem, the
    page adds a column for its reader's own runs.
    """
    listens = {}
    if lesson:
        asked = [claim.mine.told() if claim.mine else None for claim in claims]
        listens = {"data-listens": lesson, "data-claims": json.dumps(asked)}
    columns = list(dict.fromkeys(name for claim in claims for name in claim.findings))
    return notebook.table(
        [heading, *columns],
        [
            [
                claim.text if claim.whose == "ours" else f"{claim.text} ({claim.whose})",
                *(claim.findings.get(name, "") for name in columns),
            ]
            for claim in claims
        ],
        kind="claims",
        **listens,
    )
