"""Claims and what was found of them: values, which a table shows and a test turns round."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from IPython.display import HTML

from attn_notes import notebook
from attn_notes.analysis.statistics import LEVEL, Finding, holm


@dataclass(frozen=True)
class Claim:
    """What somebody says, and what each body of evidence has found of it.

    Args:
        text: the claim, or a question as the statement that it asks about.
        findings: evidence, as "live" or "recorded, 8 seeds" → what it found.
        whose: `source` for what the author says, `ours` for a question of this book.
        family: the name of those it is corrected together with, for one who asks many questions
            gets some answers by chance; none for a claim that no test decides.
    """

    text: str
    findings: Mapping[str, Finding] = field(default_factory=dict)
    whose: str = "ours"
    family: str = ""


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


def table(claims: Sequence[Claim], heading: str = "claim or question") -> HTML:
    """The claims as rows, and a column for each body of evidence, as they first appear.

    A claim that is not ours has whose it is in brackets behind it.
    """
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
    )
