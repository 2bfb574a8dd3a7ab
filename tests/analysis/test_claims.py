"""A family of claims is corrected together; what their table has, the pages of lessons hold."""

import math

import pytest

from book.kit.claims import Claim, corrected
from book.kit.verdicts import Finding


def claim(text: str, p: float | None, family: str = "f", where: str = "live") -> Claim:
    return Claim(text, {where: Finding(True, "3 of 4", p)}, family=family)


def test_a_family_is_corrected_together_and_no_other() -> None:
    """Two questions double the smaller p; another family, other evidence and no p do not count."""
    claims = [
        claim("a", 0.02),
        claim("b", 0.04),
        claim("c", 0.04, family="g"),
        claim("d", 0.04, where="recorded"),
        claim("e", None),
        claim("f", 0.04, family=""),
        claim("n", math.nan, family="h"),
    ]
    found = [next(iter(c.findings.values())) for c in corrected(claims)]
    assert [f.p for f in found] == pytest.approx([0.04, 0.04, 0.04, 0.04, None, 0.04, 1.0])
    assert [f.verdict for f in found] == [True] * 6 + [None]
    found = [c.findings["live"] for c in corrected([claim("a", 0.03), claim("b", 0.03)])]
    assert [(f.verdict, f.p) for f in found] == [(None, 0.06)] * 2
    (lost,) = corrected([Claim("a", {"live": Finding(False, "", 0.01)}, family="f")])
    assert lost.findings["live"].verdict is False
    assert str(found[0]).replace("\u00a0", " ") == "could not be told: 3 of 4, p = 0.060"
