"""Exercises that are answered in the page: the notebook's checks say there what they say here."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from book.page.code import answers
from book.site.dependencies import evidence_stems, lesson_stems, pages_of

from .. import exercises
from . import cell_page, engine_page
from .conftest import ROOT, address

STEMS = lesson_stems(ROOT)


def pages(stem: str) -> list[Path]:
    return [ROOT / page for page in pages_of(ROOT, stem)]


def here(stem: str) -> list[answers.Exercise]:
    """The exercises of a lesson that are answered in a page."""
    return [x for x in answers.of_lesson(pages(stem), stem)[0] if not x.why_not]


ALL = [pytest.param(stem, x, id=f"{stem}-{x.name}") for stem in STEMS for x in here(stem)]


def test_most_are_answered_in_a_page_and_the_others_say_why():
    found = [x for stem in STEMS for x in answers.of_lesson(pages(stem), stem)[0]]
    away = [x.name for x in found if x.why_not]
    assert len(ALL) == len(found) - len(away) >= 18
    # Of the verdicts one has numbers that a page draws as well.
    verdicts = ["verdict"] * (len(evidence_stems(ROOT)) - 1)
    assert sorted(away) == ["budget", "fewest", "rescue", *verdicts]


@pytest.fixture(scope="module")
def started(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with engine_page.engine_page(browser, tmp_path_factory.mktemp("answers")) as page:
        yield page


@pytest.fixture(scope="module")
def ask(started: Page) -> Callable[[str, answers.Exercise, str], dict[str, Any]]:
    """What a page says of an answer; each lesson has a Worker of its own, as on the site."""
    made: dict[str, Any] = {}

    def asked(stem: str, exercise: answers.Exercise, source: str) -> dict[str, Any]:
        if stem not in made:
            made.clear()
            made[stem] = json.loads(answers.of_lesson(pages(stem), stem)[1]())
            started.evaluate("import('./_engine.js').then(({ engine }) => engine().end('next'))")
        told = made[stem]
        given = {
            "source": source,
            "setup": exercise.setup,
            "line": exercise.line,
            "asks": exercise.asks,
        }
        files = {"checks": told["checks"], "files": told["files"]}
        return engine_page.ask(started, "check", **given, **files)

    return asked


def said(stem: str, name: str, source: str) -> str:
    """What the notebook says of an answer."""
    page = next(page for page in pages(stem) if name in exercises.names(page))
    return repr(exercises.outcome(page, name, source))


DRAWN = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?|\[[^\]]*\]")
"""What hangs on the cases that are drawn anew: numbers, and lists of them."""
LUCK = " (It draws at random: the least of its tries counts.)"
"""In tests the checks of shapes draw."""


def words(text: str) -> str:
    return DRAWN.sub("#", text.removesuffix(LUCK))


@pytest.mark.by_day(5)
@pytest.mark.parametrize(("stem", "exercise"), ALL)
def test_a_stub_fails_and_the_solution_passes(ask, stem, exercise):
    stub = ask(stem, exercise, exercise.stub)["outcome"]
    assert not stub["passed"] and stub["says"] == said(stem, exercise.name, exercise.stub)
    found = ask(stem, exercise, exercise.solution)
    assert found["error"] is None, found["error"]
    assert found["outcome"]["passed"], found["outcome"]["says"]
    assert words(found["outcome"]["says"]) == words(said(stem, exercise.name, exercise.solution))


@pytest.mark.by_day(5)
@pytest.mark.parametrize(("stem", "exercise"), ALL)
def test_a_wrong_answer_is_told_in_the_words_of_the_notebook(ask, stem, exercise):
    tried = exercises.wrong(stem)[exercise.name]
    assert len(tried) >= 6
    for source, _ in tried:
        found = ask(stem, exercise, source)
        assert found["error"] is None, (source, found["error"])
        outcome, true = found["outcome"], said(stem, exercise.name, source)
        assert not outcome["passed"], source
        assert words(outcome["says"]) == words(true), source


MANY = """
def reads_ahead(model) -> bool:
    for i in range(7):
        x = torch.randint(0, 7, (128, 8))
        y = x.clone()
        y[:, i + 1 :] = torch.randint(0, 7, (128, 7 - i))
        if (model(x)[:, : i + 1] != model(y)[:, : i + 1]).any():
            return True
    return False
"""


def test_an_answer_that_tries_hundreds_of_strings_at_once_is_judged(ask):
    """With 64 of them its tensors were more than a cell's, though few are needed at a time."""
    (ahead,) = (x for x in here("dialectical") if x.name == "ahead")
    assert "Right: " in ask("dialectical", ahead, MANY)["outcome"]["says"]


# --- On the site


def exercise_of(page: Page, name: str) -> Locator:
    found = page.locator(f"[data-exercise={name}]")
    expect(found).to_have_count(1)
    return found


def tried(node: Locator, code: str) -> str:
    node.locator("details").evaluate_all("folds => folds.forEach((fold) => { fold.open = true; })")
    node.locator("textarea").fill(code)
    cell_page.run(node)
    return node.locator(".attn-cell-said").inner_text()


@pytest.mark.by_day
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("stem", STEMS)
def test_a_reader_answers_in_the_page(open_page, axe, stem, width):
    page = open_page(address(stem), width=width, fresh=True).page
    found = here(stem)[0]
    node = exercise_of(page, found.name)
    assert "Right: " in tried(node, found.solution)
    expect(node).to_have_attribute("data-passed", "true")
    expect(node).to_contain_text(f"Reached: {found.points} points of {found.points} here")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert axe(page, f"[data-exercise={found.name}]") == []
    page.reload()
    node = exercise_of(page, found.name)
    assert node.locator("textarea").input_value() == found.solution
    expect(node).to_contain_text(f"Reached: {found.points} points of {found.points} here")


@pytest.mark.by_day
@pytest.mark.parametrize("stem", STEMS)
def test_every_exercise_has_an_editor_or_a_reason(open_page, stem):
    found = answers.of_lesson(pages(stem), stem)[0]
    shown, why = [], 0
    for path in filter(Path.is_file, pages(stem)):
        page = open_page(path.relative_to(ROOT).with_suffix(".html").as_posix()).page
        nodes = page.locator("[data-exercise]").all()
        shown += [node.get_attribute("data-exercise") for node in nodes]
        reasons = page.locator("p", has_text="The page cannot try this one: ")
        why += reasons.count()
        for reason in reasons.all():
            expect(reason.get_by_role("link", name="A notebook")).to_be_visible()
        expect(page.get_by_text("there is no answer yet").filter(visible=True)).to_have_count(0)
    assert shown == [x.name for x in found if not x.why_not]
    assert why == len([x for x in found if x.why_not])
