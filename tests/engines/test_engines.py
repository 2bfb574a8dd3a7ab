"""Every page in every engine that is installed; in `make test` a little of it, in Firefox."""

from collections.abc import Callable
from typing import Any

import pytest

from ..browser.conftest import TRAINING
from .asking import PAGES, PRINTED, QUESTIONS, Site, acts, loads, trained
from .conftest import ENGINES
from .driven import Tab

CASES = [
    (page, name, question)
    for page in PAGES
    for name in ENGINES
    for question, (_, pages) in QUESTIONS.items()
    if page in pages and (name, question) != ("WebKit", PRINTED)  # its driver cannot print
]


@pytest.mark.long
@pytest.mark.parametrize(("page", "name", "question"), CASES)
def test_it_holds(
    page: str,
    name: str,
    question: str,
    engine: Callable[[str], Tab],
    book: Site,
    by_chromium: Callable[[str], list[str]],
    record_property: Callable[[str, Any], None],
) -> None:
    tab, (asks, _) = engine(name), QUESTIONS[question]
    told = {"page": page, "engine": name, "version": tab.version, "question": question}
    for each in told.items():
        record_property(*each)
    if asks is trained and name == "Chromium":
        assert by_chromium(page)
    elif asks is trained:
        assert trained(tab, book, page) == by_chromium(page)
    else:
        asks(tab, book, page)


@pytest.mark.by_day
@pytest.mark.parametrize("page", TRAINING)
def test_firefox_loads_acts_and_trains(
    page: str,
    engine: Callable[[str], Tab],
    book: Site,
    by_chromium: Callable[[str], list[str]],
) -> None:
    tab = engine("Firefox")
    loads(tab, book, page)
    acts(tab, book, page)
    assert trained(tab, book, page) == by_chromium(page)
