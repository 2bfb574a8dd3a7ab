"""The slides of each lesson: what they are made of, how long they take, what is in none of them."""

import json
import re
from collections import namedtuple
from functools import cache
from itertools import accumulate, pairwise
from unittest.mock import Mock

import nbformat
import pytest
from bs4 import BeautifulSoup

from book.course import homework, questions
from book.paper import browser, deck_pages, decks, printing, slides
from book.site import packages
from book.site.dependencies import BookError, evidence_stems, lesson_page, stems_with

from . import exercises
from .exercises import ROOT

STEMS = stems_with(ROOT, "deck.yml")
Lecture = namedtuple("Lecture", "deck notebook asked")
every = pytest.mark.parametrize("stem", STEMS)
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


def questions_of(stem):
    path = ROOT / decks.LESSONS / stem / "questions.yml"
    return {one.name: one for one in questions.read(path, decks.SEED)}


@cache
def lecture(stem):
    deck = decks.read(ROOT, stem)
    notebook = nbformat.read(ROOT / lesson_page(stem), as_version=4)
    for slide in deck.slides:
        if shown := {"figure": FIGURE, "verdict": TABLE}.get(slide.kind):
            output = nbformat.v4.new_output("display_data", {"text/html": shown})
            slides.found(notebook, slide.content).outputs = [output]
    return Lecture(deck, notebook, questions_of(stem))


@cache
def sections_of(stem):
    made = deck_pages.sections(*lecture(stem), "1.0")
    return [BeautifulSoup(each, "html.parser") for each in made]


@every
def test_a_deck_has_what_a_lecture_needs_in_twelve_to_fifteen_slides(stem):
    """The first asks for a guess; what is the matter, and where, the hall finds on those after."""
    deck = lecture(stem).deck
    assert 12 <= len(deck.slides) <= 15
    spared = {"steps"} if stem in evidence_stems(ROOT) else {"steps", "verdict"}
    assert {slide.kind for slide in deck.slides} >= {*decks.KINDS} - spared
    first, last, titles = deck.slides[0], deck.slides[-1], {slide.title for slide in deck.slides}
    assert (first.kind, first.title, last.kind) == ("question", deck.title, "homework")
    assert len(titles) == len(deck.slides)
    assert not re.search(r"\b(?:wrong|slip|mistake|bug|fault|because|the reason)\b", first.content)
    # An idea comes in steps somewhere.
    assert "steps" in {slide.kind for each in STEMS for slide in lecture(each).deck.slides}


@every
def test_its_minutes_are_those_of_the_plan(stem):
    deck = lecture(stem).deck
    steps = [slide.plan for slide in deck.slides]
    assert steps == sorted(steps) and {*steps} == {*range(1, len(deck.plan) + 1)}
    times = decks.seconds(deck)
    for number, step in enumerate(deck.plan, 1):
        mine = [time for plan, time in zip(steps, times, strict=True) if plan == number]
        assert 60 * step.minutes - len(mine) < sum(mine) <= 60 * step.minutes
    told = " ".join(str(each.select_one("aside.notes")) for each in sections_of(stem))
    ends = accumulate((step.minutes for step in deck.plan), initial=0)
    clock = [(str(begin), str(end)) for begin, end in pairwise(ends)]
    assert re.findall(r"Minutes (\d+) to (\d+)", told) == clock


@every
def test_what_it_shows_is_in_the_lesson(stem):
    (deck, _, asked), made = lecture(stem), sections_of(stem)
    assert [each.section["class"] for each in made] == [[f"kind-{s.kind}"] for s in deck.slides]
    for slide, each in zip(deck.slides, made, strict=True):
        aside = each.select_one("aside").get_text()
        match slide.kind:
            case "figure":
                assert each.select_one(".cover.fragment.fade-out").get_text(strip=True)
                assert each.select_one("figure svg") and not each.select("img, figure style")
                assert "As read." in aside
            case "verdict":
                covered = [cell.get_text() for cell in each.select("td .fragment")]
                assert covered == ["held", "did not hold"]
            case "poll":
                one = asked[f"{stem}-{slide.content}"]
                wrong = each.select("aside.notes em")
                assert one.key in aside and len(each.select("li.right")) == bool(one.options)
                assert len(wrong) >= sum(not option.right for option in one.options)
            case "code":
                assert 3 <= len(each.select_one("pre").get_text().strip().splitlines()) <= 10
    names = exercises.names(ROOT / lesson_page(stem))
    own = [one for one in homework.week(ROOT, stem, 1).exercises if one.name in names]
    assert own and all(f"{one.points}{one.minutes}" in made[-1].get_text() for one in own)


@every
def test_no_line_of_a_solution_is_in_it_and_no_key_on_its_handout(stem):
    handout = exercises.shown(deck_pages.handout(*lecture(stem), "1.0"))
    pages = {"deck": exercises.shown("\n".join(map(str, sections_of(stem)))), "handout": handout}
    assert all("points" in page for page in pages.values())
    assert exercises.leaks(pages.items()) == []
    asked = lecture(stem).asked.values()
    told = [text for one in asked for text in (one.why, *(option.told for option in one.options))]
    assert told and not [text for text in told if text in handout]


def test_notes_quote_one_entry_of_the_teaching_page_and_answer_wrong_options():
    slide = decks.Slide("A", 1, "board", "x", {"stumble": "Why"})
    deck = decks.Deck("one", "One", (slide,), (decks.Step(5, "Go"),), {"“Why not?”": "So."})
    assert decks.notes(deck, 0, {}) == ["**Minutes 0 to 5.** Go", "*“Why not?”* So."]
    for told in ({"How?": "So."}, {**deck.told, "Why else?": "No."}):
        with pytest.raises(BookError, match="slide 1: no single stumble begins so"):
            decks.notes(deck._replace(told=told), 0, {})
    (one, *_) = (q for q in questions_of("deep_qkv").values() if q.options)
    poll = slide._replace(kind="poll", content=one.name.removeprefix("one-"), more={})
    said = decks.notes(deck._replace(slides=(poll,)), 0, {f"one-{poll.content}": one})[1:]
    wrong = [f"*{option.text}* {option.told}" for option in one.options if not option.right]
    assert said[1:] == [decks.LINK.sub(r"\1", text) for text in wrong]


def test_a_slides_state_has_what_its_widget_needs_and_no_more():
    ways = ("../_static", "../parts/widgets")
    here, there = ({"beside": {"file": f"{way}/cats-1.js"}} for way in ways)
    saved = json.dumps({"state": {"m1": here, "m2": here}})
    place = '<div class="live-widget cats cats" ><x>"model_id": "m1"<noscript></noscript></div>'
    kind = "application/vnd.jupyter.widget-state+json"
    page = deck_pages.widgets(f'<script type="{kind}">{saved}</script>{place}', "cats", "Cats")
    kept = json.loads(re.search(rf'"{re.escape(kind)}">(.*?)</script>', page)[1])
    assert kept == {"state": {"m1": there}}
    with pytest.raises(BookError, match="no widget of its own"):
        deck_pages.widgets(place, "dogs", "Dogs")


def test_what_is_wrong_with_an_entry_is_said(tmp_path):
    there = tmp_path / decks.LESSONS / "one"
    for entry, problem in (
        ({"title": "A", "plan": 2, "board": "x"}, "its step is one of 1 to 1, not 2"),
        ({"plan": 1, "board": "x"}, "it needs a title"),
        ({"title": "A", "plan": 1, "board": "x", "ask": "y"}, "it says ask"),
    ):
        files = {"teaching.md": "| 90 | All of it | here |\n", "deck.yml": [entry]}
        exercises.written(there, files)
        with pytest.raises(BookError, match=rf"The deck of one, slide 1: {problem}"):
            decks.read(tmp_path, "one")
    notebook = lecture("deep_qkv").notebook  # and what the lesson has not
    for call, given, problem in (
        (slides.found, ["nowhere"], "no cell nowhere"),
        (slides.lines, ["model-cell", "no such line", 5], "No single line"),
        (slides.output, ["model-cell"], "neither a figure nor a table"),
    ):
        with pytest.raises(BookError, match=problem):
            call(notebook, *given)


def test_a_deck_that_is_the_same_is_not_printed_again(tmp_path, monkeypatch, capsys):
    """And where there is no browser it says what to install."""
    old, new = (exercises.written(tmp_path / x, {"one.html": "a deck"}) for x in ("old", "new"))
    monkeypatch.setattr(browser, "find_browser", lambda: None)
    printing.decks(old, old)
    assert "not printed: no Chromium" in capsys.readouterr().out
    (old / "one.pdf").write_text("printed", "utf-8")
    monkeypatch.setattr(browser, "find_browser", lambda: pytest.fail("a browser was looked for"))
    printing.decks(new, old)
    assert (new / "one.pdf").read_text("utf-8") == "printed"


def test_without_revealjs_there_are_no_slides(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "folder", Mock(side_effect=OSError("getaddrinfo ENOTFOUND")))
    with pytest.raises(BookError, match=r"No slides without reveal\.js: getaddrinfo ENOTFOUND"):
        deck_pages.write(ROOT, tmp_path, {}, tmp_path / "decks", "1.0", decks.SEED)
    assert not list(tmp_path.iterdir())
