"""Slides for a lecture on each lesson, which live without a network.

    make decks                     into _build/decks, and as PDF where there is a Chromium
    python book/build.py decks

A deck is `lessons/STEM/deck.yml`: slides in their order, each with a `title`, the step of the
plan on the teaching page that it belongs to (`plan`), and one of

question    what is asked, to be answered before anything is shown
poll        a concept question of the lesson, by its id; its key comes with the next key press
steps       an idea, a step at a time
board       what the teacher writes on the blackboard
code        some lines of a cell: `cell`, what the first of them begins with (`from`), how many
            (`lines`)
widget      a model, live, by its name in the address of the lesson's page; `choose` sets what is
            chosen there
figure      that of a cell, first covered by what `ask` asks
verdict     the table of a cell, its verdicts covered, a row at a time
meet        where one meets this
homework    the lesson's exercises, with what they take: `true`

The notes of the teaching page are the speaker's: of a step what stands in the plan, with the
minutes; `stumble` quotes the beginning of what students say, and adds what is answered there;
`expect` the same of what to expect. A slide may have `notes` of its own.

Beside each deck is a handout, of four pages at most.

Here is what a deck's file says, slides.py makes HTML of a slide, and deck_pages.py the folder.
"""

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from book.course import homework, questions
from book.site.dependencies import BookError, from_yaml

DECKS = Path("book/teaching/decks")
LESSONS = Path("book/lessons")
SEED = 0
"""Draws what varies in a poll, where a deck is not a course's."""

KINDS = {
    "question": set(),
    "poll": set(),
    "steps": set(),
    "board": set(),
    "code": {"from", "lines"},
    "widget": {"choose"},
    "figure": {"ask"},
    "verdict": {"ask"},
    "meet": set(),
    "homework": set(),
}
"""Kinds of slides, and what else an entry of the kind says."""

OF_ALL = {"title", "plan", "notes", "stumble", "expect"}
ROW = re.compile(r"^\|\s*(\d+)\s*\|((?:\\\||[^|])+)\|((?:\\\||[^|])+)\|", re.MULTILINE)
TERM = re.compile(r"^(?P<term>\S.*)\n: (?P<told>.+(?:\n  .+)*)", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


class Step(NamedTuple):
    """A row of the plan on a teaching page."""

    minutes: int
    what: str


class Slide(NamedTuple):
    """A slide as its deck's file has it."""

    title: str
    plan: int
    kind: str
    content: Any
    more: Mapping[str, Any]
    """What else the entry says."""


class Deck(NamedTuple):
    """The slides of a lesson, with what their notes are made of."""

    stem: str
    title: str
    slides: tuple[Slide, ...]
    plan: tuple[Step, ...]
    told: Mapping[str, str]
    """What the teaching page says to what students say and to what is asked."""


def read(root: Path, stem: str) -> Deck:
    """A lesson's deck.

    Raises:
        BookError: an entry is not as it should be; names it.
    """
    path = root / LESSONS / stem / "deck.yml"
    page = (root / LESSONS / stem / "teaching.md").read_text("utf-8")
    plan = tuple(
        Step(int(minutes), what.strip().replace(r"\|", "|"))
        for minutes, what, _ in ROW.findall(page)
    )
    told = {match["term"]: " ".join(match["told"].split()) for match in TERM.finditer(page)}
    slides = []
    for number, entry in enumerate(from_yaml(path.read_text("utf-8")), 1):
        if problem := amiss(entry, len(plan)):
            raise BookError(f"The deck of {stem}, slide {number}: {problem}.")
        (kind,) = KINDS.keys() & entry.keys()
        more = {name: value for name, value in entry.items() if name not in ("title", "plan", kind)}
        slides.append(Slide(entry["title"], entry["plan"], kind, entry[kind], more))
    title = homework.week(root, stem, 1).title
    return Deck(stem, title, tuple(slides), plan, told)


def amiss(entry: Mapping[str, Any], steps: int) -> str:
    """What is not right with an entry of a deck whose plan has so many steps; empty if all is.

    >>> amiss({"title": "One", "plan": 1, "board": "x"}, 7)
    ''
    >>> amiss({"title": "One", "plan": 8, "board": "x"}, 7)
    'its step is one of 1 to 7, not 8'
    >>> amiss({"title": "One", "plan": 1, "board": "x", "poll": "y"}, 7)
    'it is one of question, poll, steps, board, code, widget, figure, verdict, meet, homework'
    """
    kinds = KINDS.keys() & entry.keys()
    if len(kinds) != 1:
        return f"it is one of {', '.join(KINDS)}"
    if not {"title", "plan"} <= entry.keys():
        return "it needs a title and a step of the plan"
    if unknown := entry.keys() - OF_ALL - kinds - KINDS[next(iter(kinds))]:
        return f"it says {sorted(unknown)[0]}"
    if entry["plan"] not in range(1, steps + 1):
        return f"its step is one of 1 to {steps}, not {entry['plan']}"
    return ""


def seconds(deck: Deck) -> list[int]:
    """How long each slide may stand: the minutes of its step, shared."""
    shares = [sum(each.plan == slide.plan for each in deck.slides) for slide in deck.slides]
    return [
        60 * deck.plan[slide.plan - 1].minutes // share
        for slide, share in zip(deck.slides, shares, strict=True)
    ]


def notes(
    deck: Deck, number: int, asked: Mapping[str, questions.Question], caption: str = ""
) -> list[str]:
    """What the speaker reads beside a slide, in Markdown; its number counts from 0.

    Args:
        deck: whose slide it is.
        number: of the slide.
        asked: the lesson's questions, by their names.
        caption: of the slide's figure.

    Raises:
        BookError: the teaching page has nothing of what a slide quotes.
    """
    slide, found = deck.slides[number], []
    if slide.plan not in [each.plan for each in deck.slides[:number]]:
        until = list(itertools.accumulate(step.minutes for step in deck.plan))
        step = deck.plan[slide.plan - 1]
        begins, ends = until[slide.plan - 1] - step.minutes, until[slide.plan - 1]
        found.append(f"**Minutes {begins} to {ends}.** {step.what}")
    if slide.kind == "poll":
        one = asked[f"{deck.stem}-{slide.content}"]
        found.append(f"**{one.key}** {one.why}")
        found += [f"*{option.text}* {option.told}" for option in one.options if not option.right]
    if "notes" in slide.more:
        found.append(slide.more["notes"])
    for name in ("stumble", "expect"):
        if name in slide.more:
            terms = [t for t in deck.told if t.lstrip("“\"'").startswith(slide.more[name])]
            if len(terms) != 1:
                raise BookError(
                    f"The deck of {deck.stem}, slide {number + 1}: no single {name} begins so."
                )
            found.append(f"*{terms[0]}* {deck.told[terms[0]]}")
    found += [caption] * bool(caption)
    return [LINK.sub(r"\1", note) for note in found]
