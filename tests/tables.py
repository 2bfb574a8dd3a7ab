"""A table of the book, read as a reader reads it."""

import re
from html import unescape
from typing import Any


def rows(table: Any) -> list[list[str]]:
    lines = re.findall(r"<tr>(.*?)</tr>", table.data, re.S)
    return [[*map(words, re.findall(r"<t[hd].*?>(.*?)</t[hd]>", x, re.S))] for x in lines]


def words(cell: str) -> str:
    return unescape(re.sub("<[^>]+>", "", cell)).replace("\u00a0", " ")
