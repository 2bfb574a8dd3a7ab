"""Claims as values: what a table says of them, and how a family of them is corrected."""

import html
import json
import math
import re

import pytest

from attn_notes.analysis.statistics import Finding
from book.kit.claims import Claim, Mine, corrected, table


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


def test_the_table_has_a_column_for_each_body_of_evidence_and_says_whose_a_claim_is() -> None:
    claims = [
        Claim("first <b>", {"live": Finding(True)}),
        Claim("second", {"recorded": Finding(False, "0 of 3"), "live": Finding(None)}, "source"),
    ]
    text = table(claims, "question").data
    assert text.index("live") < text.index("recorded")
    assert '<th scope="col">question</th>' in text
    assert "first &lt;b&gt;</th><td>held</td><td></td>" in text
    row = "second (source)</th><td>could not be told</td><td>did not hold: 0 of 3</td>"
    assert row in text


def test_a_lesson_tells_the_page_how_its_reader_is_judged() -> None:
    """Row by row; a claim that a reader's runs cannot tell has none."""
    mine = Mine("every", ("plain",), ("above", 7.0), high=0.5, needs=2)
    claims = [
        Claim("first", {"live": Finding(True)}, mine=mine),
        Claim("second", {"live": Finding(None)}),
    ]
    text = table(claims, lesson="trm").data
    assert 'data-listens="trm"' in text
    (told,) = re.findall(r'data-claims="([^"]*)"', text)
    first, second = json.loads(html.unescape(told))
    assert second is None
    assert (first["form"], first["kinds"], first["needs"]) == ("every", ["plain"], 2)
    assert first["value"] == {"series": "above", "x": 7.0}
    assert first["low"] < -1e9 and first["high"] == 0.5
    assert "data-listens" not in table(claims).data
