"""The slides of each lesson: what they are made of, how long they take, what is in none of them."""

import re
from pathlib import Path

import browser
import deck_pages
import decks
import homework
import nbformat
import packages
import printing
import pytest
import questions
import slides
import yaml
from bs4 import BeautifulSoup
from dependencies import BookError, evidence_stems, lesson_stems
from nbformat import NotebookNode

from . import exercises

ROOT = Path(__file__).parents[1]
STEMS = lesson_stems(ROOT)
FIGURE = (
    '<figure class="attn-figure" data-axes="[]"><p class="attn-figure-title">It falls</p>'
    '<div class="attn-live" hidden style="display: none"><svg viewBox="0 0 9 9"></svg></div>'
    "<style>@scope { }</style>"
    '<img class="attn-still" alt="A line" src="data:"><figcaption>As read.</figcaption></figure>'
)
TABLE = (
    '<table class="claims"><thead><tr><th>claim</th><th>live</th></tr></thead><tbody>'
    "<tr><th>It sorts</th><td>held</td></tr><tr><th>It adds</th><td>did not hold</td></tr>"
    "</tbody></table>"
)


def executed(stem: str) -> NotebookNode:
    """A lesson whose cells have shown what they would, in small."""
    notebook = nbformat.read(ROOT / "book" / f"{stem}.ipynb", as_version=4)
    for slide in decks.read(ROOT, stem).slides:
        if shown := {"figure": FIGURE, "verdict": TABLE}.get(slide.kind):
            data = {"text/html": shown}
            cell = slides.found(notebook, slide.content)
            cell.outputs = [nbformat.v4.new_output("display_data", data)]
    return notebook


def questions_of(stem: str, seed: int = decks.SEED) -> dict[str, questions.Question]:
    path = ROOT / decks.TEACHING / "questions" / f"{stem}.yml"
    return {one.name: one for one in questions.read(path, seed)}


def sections_of(stem: str) -> list[BeautifulSoup]:
    made = deck_pages.sections(decks.read(ROOT, stem), executed(stem), questions_of(stem), "1.0")
    return [BeautifulSoup(each, "html.parser") for each in made]


@pytest.mark.parametrize("stem", STEMS)
def test_a_deck_has_what_a_lecture_needs_in_twelve_to_fifteen_slides(stem: str) -> None:
    deck = decks.read(ROOT, stem)
    assert 12 <= len(deck.slides) <= 15
    spared = {"steps"} if stem in evidence_stems(ROOT) else {"steps", "verdict"}
    assert {slide.kind for slide in deck.slides} >= {*decks.KINDS} - spared
    assert deck.slides[0].kind == "question" and deck.slides[-1].kind == "homework"
    assert deck.slides[0].title == deck.title
    titles = [slide.title for slide in deck.slides]
    assert len({*titles}) == len(titles)


@pytest.mark.parametrize("stem", STEMS)
def test_a_first_slide_does_not_say_what_is_wrong(stem: str) -> None:
    """It asks for a guess; what is the matter, and where, the hall finds on the slides after it."""
    first = decks.read(ROOT, stem).slides[0].content
    assert not re.search(r"\b(?:wrong|slip|mistake|bug|fault|because|the reason)\b", first)


def test_an_idea_comes_in_steps_somewhere() -> None:
    kinds = [slide.kind for stem in STEMS for slide in decks.read(ROOT, stem).slides]
    assert "steps" in kinds


@pytest.mark.parametrize("stem", STEMS)
def test_its_minutes_are_those_of_the_plan(stem: str) -> None:
    """Each step of the plan has slides, in the plan's order, and they share its minutes."""
    deck = decks.read(ROOT, stem)
    steps = [slide.plan for slide in deck.slides]
    assert steps == sorted(steps) and {*steps} == {*range(1, len(deck.plan) + 1)}
    times = decks.seconds(deck)
    for number, step in enumerate(deck.plan, 1):
        mine = [
            time for slide, time in zip(deck.slides, times, strict=True) if slide.plan == number
        ]
        assert 60 * step.minutes - len(mine) < sum(mine) <= 60 * step.minutes
    told = [str(each.select_one("aside.notes")) for each in sections_of(stem)]
    clock = [
        tuple(map(int, m)) for note in told for m in re.findall(r"Minutes (\d+) to (\d+)", note)
    ]
    assert [end - start for start, end in clock] == [step.minutes for step in deck.plan]
    assert clock[-1][1] == sum(step.minutes for step in deck.plan)


@pytest.mark.parametrize("stem", STEMS)
def test_what_it_shows_is_in_the_lesson(stem: str) -> None:
    """Each cell, line, question and widget that a deck names is there, or making it fails."""
    made = sections_of(stem)
    assert [each.section["class"] for each in made] == [
        [f"kind-{slide.kind}"] for slide in decks.read(ROOT, stem).slides
    ]
    for slide, each in zip(decks.read(ROOT, stem).slides, made, strict=True):
        if slide.kind == "figure":
            assert each.select_one(".cover.fragment.fade-out").get_text(strip=True)
            assert each.select_one("figure svg") and not each.select("img, figure style")
            assert "As read." in each.select_one("aside").get_text()
        if slide.kind == "verdict":
            assert [cell.get_text() for cell in each.select("td .fragment")] == [
                "held",
                "did not hold",
            ]
        if slide.kind == "poll":
            one = questions_of(stem)[f"{stem}-{slide.content}"]
            assert one.key in each.select_one("aside").get_text()
            assert len(each.select("li.right")) == bool(one.options)
        if slide.kind == "code":
            assert 3 <= len(each.select_one("pre").get_text().strip().splitlines()) <= 10
    asked = homework.week(ROOT, stem, 1)
    last = made[-1].get_text()
    own = [
        one for one in asked.exercises if one.name in exercises.names(Path(f"book/{stem}.ipynb"))
    ]
    assert own and all(f"{one.points}{one.minutes}" in last for one in own)


@pytest.mark.parametrize("stem", STEMS)
def test_no_line_of_a_solution_is_in_it(stem: str) -> None:
    """Nor in its handout."""
    deck, notebook, asked = decks.read(ROOT, stem), executed(stem), questions_of(stem)
    slide = "\n".join(map(str, sections_of(stem)))
    sheet = deck_pages.handout(deck, notebook, asked, "1.0")
    pages = {"deck": exercises.shown(slide), "handout": exercises.shown(sheet)}
    assert all("points" in page for page in pages.values())
    assert exercises.leaks(pages.items()) == []


def test_polls_are_those_of_a_courses_seed() -> None:
    deck = decks.read(ROOT, STEMS[0])
    polls = [f"{deck.stem}-{slide.content}" for slide in deck.slides if slide.kind == "poll"]
    orders = {
        tuple(
            option.text for name in polls for option in questions_of(deck.stem, seed)[name].options
        )
        for seed in range(8)
    }
    assert len(orders) > 1


def test_what_is_wrong_with_an_entry_is_said(tmp_path: Path) -> None:
    there = tmp_path / decks.DECKS
    there.mkdir(parents=True)
    (tmp_path / decks.TEACHING / "one.md").write_text("| 90 | All of it | here |\n", "utf-8")
    for entry, problem in (
        ({"title": "A", "plan": 1}, "it is one of question"),
        ({"title": "A", "plan": 2, "board": "x"}, "its step is one of 1 to 1, not 2"),
        ({"plan": 1, "board": "x"}, "it needs a title"),
        ({"title": "A", "plan": 1, "board": "x", "ask": "y"}, "it says ask"),
    ):
        (there / "one.yml").write_text(yaml.safe_dump([entry]), "utf-8")
        with pytest.raises(BookError, match=rf"one\.yml, slide 1: {problem}"):
            decks.read(tmp_path, "one")


def test_what_the_lesson_has_not_is_named() -> None:
    notebook = executed("deep_qkv")
    with pytest.raises(BookError, match="no cell nowhere"):
        slides.found(notebook, "nowhere")
    with pytest.raises(BookError, match="No single line"):
        slides.lines(notebook, "model-cell", "no such line", 5)
    with pytest.raises(BookError, match="neither a figure nor a table"):
        slides.output(notebook, "model-cell")


def test_where_there_is_no_browser_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(browser, "find_browser", lambda: None)
    (tmp_path / "one.html").write_text("a deck", "utf-8")
    printing.decks(tmp_path, tmp_path)
    assert "not printed: no Chromium" in capsys.readouterr().out


def test_a_deck_that_is_the_same_is_not_printed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "find_browser", lambda: pytest.fail("a browser was looked for"))
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.html").write_text("a deck", "utf-8")
    (tmp_path / "old" / "one.pdf").write_text("printed", "utf-8")
    printing.decks(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "new" / "one.pdf").read_text("utf-8") == "printed"


def test_without_revealjs_no_slides_are_made_and_why_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(root: Path, package: str) -> Path:
        raise OSError("getaddrinfo ENOTFOUND")

    monkeypatch.setattr(packages, "folder", refused)
    with pytest.raises(BookError, match=r"No slides without reveal\.js: getaddrinfo ENOTFOUND"):
        deck_pages.write(ROOT, tmp_path, {}, tmp_path / "decks", "1.0", decks.SEED)
    assert not list(tmp_path.iterdir())
