"""What the chapters' tables of claims say on the built page, line by line: the live columns too."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from attn_notes.analysis.statistics import word

from ..verdicts import PAGES, SIGNS, Row, differences


def text_of(markup: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", markup)).strip()


def sign_of(cell: str) -> str:
    """The sign of a verdict in words; a cell with other words is quoted as it stands."""
    if not cell:
        return "."
    found = (sign for sign, told in SIGNS.items() if re.match(rf"{word(told)}(:|$)", cell))
    return next(found, cell)


def claims_of(page: str) -> Iterator[Row]:
    """The lines of all tables of claims on a page."""
    for table in re.findall(r'<table class="notes-table claims"[^>]*>(.*?)</table>', page, re.S):
        header, *lines = re.findall(r"<tr>(.*?)</tr>", table, re.S)
        _, *names = map(text_of, re.findall(r"<th .*?>(.*?)</th>", header))
        for line in lines:
            claim, *cells = map(text_of, re.findall(r"<t[hd].*?>(.*?)</t[hd]>", line, re.S))
            yield claim, dict(zip(names, map(sign_of, cells), strict=True))


@pytest.mark.parametrize("page", PAGES)
def test_every_verdict_is_the_one_that_was_read(page: str, site: Path) -> None:
    wrong = differences(page, claims_of((site / f"{page}.html").read_text("utf-8")))
    assert not wrong, "\n".join(wrong)
