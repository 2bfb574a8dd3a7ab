"""Concept questions, written once in `lessons/STEM/questions.yml`, for platforms and for paper.

An entry asks for one of several options or for a number. A number is computed by the package, and
what varies in a question is drawn by a course's seed, so that no course has another's key. Moodle
gets XML, made by moodle-tools; Canvas gets QTI 1.2, made by text2qti; a page is for self-test and
needs no script. That of `deep_qkv` shows what an entry says.
"""

import html
import importlib
import io
import math
import random
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from book.course.course_page import page
from book.site.dependencies import BookError, from_yaml

NEEDED = {"id", "outcome", "minutes", "ask", "why"}
KINDS = ({"right", "wrong"}, {"number", "within"})
OPTIONAL = {"draw", "let", "from"}


class Option(NamedTuple):
    """One of the answers to choose from, and what is told to whoever chooses it."""

    text: str
    told: str
    right: bool


class Question(NamedTuple):
    """A question as a course has it.

    Args:
        name: of its lesson and its own: `deep_qkv-floor`.
        outcome: what one is able to do who answers it.
        minutes: that it takes.
        ask: the question.
        why: the answer, explained.
        options: in their order on a page; none where a number is asked for.
        number: the answer, where it is one.
        within: by how much a number may be off.
    """

    name: str
    outcome: str
    minutes: int
    ask: str
    why: str
    options: tuple[Option, ...]
    number: float
    within: float

    @property
    def key(self) -> str:
        """The answer in words.

        >>> Question("x", "", 1, "", "", (), 0.36621, 0.002).key
        '0.3662'
        """
        right = [option.text for option in self.options if option.right]
        return right[0] if right else f"{self.number:.4g}".replace("-", "−")


def read(path: Path, seed: int) -> list[Question]:
    """The questions of a file, as the course of a seed has them.

    Raises:
        BookError: an entry is not as it should be; names it.
    """
    of = path.parent.name if path.stem == "questions" else path.stem
    found = []
    for entry in from_yaml(path.read_text("utf-8")):
        name = f"{of}-{entry.get('id', '?')}"
        found.append(asked(entry, name, random.Random(f"{seed} {name}")))
    return found


def amiss(entry: dict[str, Any]) -> str:
    """What is not right with an entry; empty if all is."""
    there = {*entry} - OPTIONAL
    kinds = [kind for kind in KINDS if there == NEEDED | kind]
    if not kinds:
        return f"it has {', '.join(sorted(there))}"
    if "wrong" not in entry:
        return ""
    if len(entry["wrong"]) < 2 or any({*each} != {"option", "because"} for each in entry["wrong"]):
        return "it wants two wrong options or more, each with `option` and `because`"
    options = [entry["right"], *(each["option"] for each in entry["wrong"])]
    return "two options are the same" if len({*options}) < len(options) else ""


def asked(entry: dict[str, Any], name: str, draw: random.Random) -> Question:
    """An entry with what varies drawn, its number computed, its options in an order.

    Raises:
        BookError: the entry is not as it should be.
    """
    if problem := amiss(entry):
        raise BookError(f"Question {name}: {problem}.")
    names = drawn(entry, draw)

    def filled(text: str) -> str:
        return printed(text.format(**names) if names else text)

    right = [Option(entry["right"], entry["why"], True)] if "right" in entry else []
    wrong = [Option(each["option"], each["because"], False) for each in entry.get("wrong", [])]
    options = [Option(filled(o.text), filled(o.told), o.right) for o in (*right, *wrong)]
    draw.shuffle(options)
    return Question(
        name,
        entry["outcome"],
        entry["minutes"],
        filled(entry["ask"]),
        filled(entry["why"]),
        tuple(options),
        computed(entry, names),
        float(entry.get("within", 0)),
    )


def drawn(entry: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
    """What varies in an entry, drawn, and what is computed from it under `let`."""
    names = {each: draw.choice(values) for each, values in entry.get("draw", {}).items()}
    for name, expression in entry.get("let", {}).items():
        names[name] = eval(expression, {"math": math, **names})
    return names


def printed(text: str) -> str:
    """A text as it is printed: with apostrophes that are."""
    return text.replace("'", "’")


def computed(entry: Mapping[str, Any], names: Mapping[str, Any]) -> float:
    """The answer that is a number, with the names of the module `from`; nan if there is none."""
    if "number" not in entry:
        return math.nan
    module = importlib.import_module(entry["from"]) if "from" in entry else ModuleType("none")
    return float(eval(str(entry["number"]), {"math": math, **vars(module), **names}))


# Moodle


def moodle_xml(questions: Sequence[Question], category: str) -> str:
    """Questions as Moodle imports them, into a category of this name."""
    # Heavy, and noisy unless told not to be.
    from jinja2 import Environment, PackageLoader, select_autoescape
    from loguru import logger
    from moodle_tools.questions import create_question

    logger.disable("moodle_tools")
    templates = Environment(
        loader=PackageLoader("moodle_tools.questions"),
        lstrip_blocks=True,
        trim_blocks=True,
        autoescape=select_autoescape(),
    )
    made = [create_question(**for_moodle(one, category)) for one in questions]
    xml: str = templates.get_template("quiz.xml.j2").render(
        questions=[one.to_xml(templates) for one in made]
    )
    return xml


def for_moodle(one: Question, category: str) -> dict[str, Any]:
    """A question in moodle-tools' words; what it is told is HTML."""
    told = {
        "title": one.name,
        "category": category,
        "question": html.escape(one.ask),
        "general_feedback": html.escape(one.why),
        "markdown": False,
        "table_styling": False,
    }
    if not one.options:
        answer = {"answer": one.number, "tolerance": one.within, "points": 100, "feedback": ""}
        return {"question_type": "numerical", "answers": [answer], **told}
    answers = [
        {
            "answer": html.escape(option.text),
            "feedback": html.escape(option.told),
            "points": 100 if option.right else 0,
        }
        for option in one.options
    ]
    return {"question_type": "multiple_choice", "answers": answers, **told}


# Canvas


def canvas_qti(questions: Sequence[Question], title: str, day: str) -> bytes:
    """Questions as Canvas imports them: a zip of QTI 1.2, the same as long as they are.

    Args:
        questions: these.
        title: of the quiz.
        day: of the version, as 2026-11-24.
    """
    from text2qti.config import Config
    from text2qti.qti import QTI
    from text2qti.quiz import Quiz

    config = Config()
    text = "\n".join(for_canvas(title, questions))
    made, found = io.BytesIO(), io.BytesIO()
    QTI(Quiz(text, config=config, source_name=title, resource_path=None)).write(made)
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(found, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename == "imsmanifest.xml":  # which has the day on which it is made
                content = re.sub(rb"(?<=dateTime>)[\d-]+", day.encode(), content)
            fixed = zipfile.ZipInfo(entry.filename)
            fixed.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(fixed, content)
    return found.getvalue()


def for_canvas(title: str, questions: Sequence[Question]) -> Iterator[str]:
    """The lines of a quiz in text2qti's words, which are Markdown."""
    yield f"Quiz title: {title}\nshuffle answers: true\n"
    for number, one in enumerate(questions, 1):
        yield f"Title: {one.name}\nPoints: 1\n{number}.  {markdown(one.ask)}"
        yield f"... {markdown(one.why)}"
        for letter, option in zip("abcdefgh", one.options, strict=False):
            yield f"{'*' if option.right else ''}{letter})  {markdown(option.text)}"
            yield f"... {markdown(option.told)}"
        if not one.options:
            whole = one.within == 0 and one.number == int(one.number)
            yield f"=   {int(one.number)}" if whole else f"=   {one.number:.6g} +- {one.within:g}"
        yield ""


def markdown(text: str) -> str:
    r"""A text in Markdown that shows it as it is.

    >>> markdown("z* < [8, 5] of x_y")
    'z\\* &lt; \\[8, 5\\] of x\\_y'
    """
    return re.sub(r"([\\`*_\[\]#$~^{}])", r"\\\1", html.escape(text, quote=False))


# A page


def self_test(questions: Sequence[Question], title: str) -> str:
    """A page on which each option, opened, says whether it is right and why; without a script."""
    return page(title, "\n".join(body(questions, title)))


def body(questions: Sequence[Question], title: str) -> Iterator[str]:
    """Its elements, in their order."""
    minutes = sum(one.minutes for one in questions)
    yield f"<h1>{html.escape(title)}</h1>"
    yield f"<p>About {minutes} minutes. Answer first, then open what you have chosen.</p>"
    for number, one in enumerate(questions, 1):
        yield f"<h2>{number}.</h2><p>{html.escape(one.ask)}</p>"
        for option in one.options:
            told = f"{'Right' if option.right else 'Not so'}. {option.told}"
            yield folded(option.text, told)
        if not one.options:
            yield folded("The number", f"{one.key}. {one.why}")


def folded(shown: str, hidden: str) -> str:
    """A line that opens another."""
    summary = f"<summary>{html.escape(shown)}</summary>"
    return f"<details>{summary}<p>{html.escape(hidden)}</p></details>"
