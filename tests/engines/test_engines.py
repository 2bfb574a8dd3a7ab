"""Every page in every engine that is installed; in `make test` a little of it, in Firefox."""

from datetime import date

import pytest

from ..browser.conftest import TRAINING
from .__main__ import TABLE, UNPRINTED, table
from .asking import PAGES, PRINTED, QUESTIONS, acts, goes_on, loads, trained
from .driven import ENGINES

CASES = [
    (page, name, question)
    for page in PAGES
    for name in ENGINES
    for question, (_, pages) in QUESTIONS.items()
    if page in pages and (name, question) != ("WebKit", PRINTED)  # its driver cannot print
]


@pytest.mark.long
@pytest.mark.parametrize(("page", "name", "question"), CASES)
def test_it_holds(page, name, question, engine, book, by_chromium, record_property):
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


def test_a_table_is_of_a_whole_run(tmp_path):
    cases = {
        (question, engine): f"""<testcase><properties>
          <property name="question" value="{question}"/><property name="engine" value="{engine}"/>
          <property name="version" value="{engine} 7"/></properties>{{}}</testcase>"""
        for question in QUESTIONS
        for engine in ENGINES
    }
    results = tmp_path / "results.xml"

    def made(failing: str = "") -> str:
        ran = [case.format("<failure/>" * (of == failing)) for (_, of), case in cases.items()]
        results.write_text(f"<testsuite>{''.join(ran)}</testsuite>", "utf-8")
        return table(results, date(2026, 11, 27))

    assert "Tried on 27 November 2026" in made()
    assert made().count("1 of 1 pages") == 3 * len(QUESTIONS) - 1 and UNPRINTED in made()
    page = f"Which.\n\n{made()}## Access\n\n| its | own |\n"
    assert TABLE.sub(lambda _: made("Firefox"), page, count=1) == page.replace(
        made(), made("Firefox")
    )
    assert TABLE.sub(lambda _: made(), "Which.\n\n## Access\n", count=1) == page.removesuffix(
        "\n| its | own |\n"
    )
    assert f"| {next(iter(QUESTIONS))} | 1 of 1 pages | 0 of 1 pages |" in made("Firefox")
    del cases[next(iter(QUESTIONS)), "WebKit"]
    with pytest.raises(ValueError, match="WebKit was not asked: loads"):
        made()


@pytest.mark.by_day
@pytest.mark.parametrize("page", TRAINING)
def test_firefox_loads_acts_and_trains(page, engine, book, by_chromium):
    tab = engine("Firefox")
    loads(tab, book, page)
    acts(tab, book, page)
    assert trained(tab, book, page) == by_chromium(page)


@pytest.mark.by_day
@pytest.mark.parametrize("page", PAGES)
def test_an_opened_page_goes_on_without_a_network(page, engine, book):
    goes_on(engine("Chromium"), book, page)
