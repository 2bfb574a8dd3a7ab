"""Exams on paper: concept questions and tasks to write, with a key and a rubric.

`teaching/exams.yml` says what is in them. A course's seed draws what varies, so that the exam of
one course is no help for another.
"""

import math
import random
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from book.course import questions
from book.course.course_page import page
from book.course.questions import Question
from book.site.dependencies import BookError, from_yaml

MINUTES = 60


class Task(NamedTuple):
    """Something to write; a minute is a point."""

    title: str
    minutes: int
    ask: str
    key: str
    rubric: tuple[tuple[int, str], ...]


class Exam(NamedTuple):
    """What a course has of one."""

    title: str
    questions: tuple[Question, ...]
    tasks: tuple[Task, ...]

    @property
    def minutes(self) -> int:
        """Of all of it, and so its points."""
        return sum(q.minutes for q in self.questions) + sum(task.minutes for task in self.tasks)


def read(folder: Path, seed: int) -> list[Exam]:
    """The exams of a book's `teaching` folder, as the course of a seed has them.

    The numbers in its questions are others than in the questions of the course.

    Raises:
        BookError: an exam has another length, a question that is none, or a rubric that does not
            add up.
    """
    asked = [*sorted(folder.parent.glob("lessons/*/questions.yml")), folder / "needed.yml"]
    found = []
    for entry in from_yaml((folder / "exams.yml").read_text("utf-8")):
        title = entry["title"]
        known = {
            one.name: one for path in asked for one in questions.read(path, hash_of(seed, title))
        }
        if missing := {*entry["questions"]} - {*known}:
            raise BookError(f"{title} has no question {sorted(missing)[0]}.")
        tasks = tuple(task(each, random.Random(f"{seed} {title}")) for each in entry["tasks"])
        exam = Exam(title, tuple(known[name] for name in entry["questions"]), tasks)
        if exam.minutes != MINUTES:
            raise BookError(f"{title} takes {exam.minutes} minutes.")
        found.append(exam)
    return found


def hash_of(seed: int, title: str) -> int:
    """Another seed, the same each time."""
    return random.Random(f"{seed} {title}").randrange(2**31)


def task(entry: Mapping[str, Any], draw: random.Random) -> Task:
    """An entry with what varies drawn, and the rest computed from it.

    Raises:
        BookError: the points of its rubric are not its minutes.
    """
    names = {each: draw.choice(values) for each, values in entry.get("draw", {}).items()}
    for name, expression in entry.get("let", {}).items():
        names[name] = eval(expression, {"math": math}, names)
    rubric = tuple((points, text) for points, text in entry["rubric"])
    if sum(points for points, _ in rubric) != entry["minutes"]:
        raise BookError(f"The rubric of “{entry['title']}” does not add up to its minutes.")
    ask, key = (entry[part].format(**names) if names else entry[part] for part in ("ask", "key"))
    return Task(entry["title"], entry["minutes"], ask, key, rubric)


def paper(exam: Exam) -> str:
    """What is handed out."""
    return page(exam.title, "\n".join(asks(exam)))


def asks(exam: Exam) -> Iterator[str]:
    """Its elements, in their order."""
    yield f"<h1>{escape(exam.title)}</h1>"
    yield f"<p>{exam.minutes} minutes, {exam.minutes} points. Name: ______________________</p>"
    for number, one in enumerate(exam.questions, 1):
        yield f"<h2>{number}. ({one.minutes} points)</h2><p>{escape(one.ask)}</p>"
        letters = zip("ABCDEFGH", one.options, strict=False)
        options = "".join(f"<p>{letter}. {escape(option.text)}</p>" for letter, option in letters)
        yield options or "<p>Answer: ______________</p>"
    for number, each in enumerate(exam.tasks, len(exam.questions) + 1):
        yield f"<h2>{number}. {escape(each.title)} ({each.minutes} points)</h2>"
        yield f'<p class="as-written">{escape(in_parts(each.ask))}</p>'


def in_parts(ask: str) -> str:
    r"""A task with a line for each of its parts.

    >>> in_parts("It is so. (a) Why? (b) Is the answer of (a)? (c) True?")
    'It is so.\n(a) Why?\n(b) Is the answer of (a)?\n(c) True?'
    """
    return re.sub(r"\s+(\([a-e]\) (?=[A-Z]))", r"\n\1", ask)


def key(exam: Exam) -> str:
    """What whoever grades it reads."""
    return page(f"{exam.title}, key", "\n".join(answers(exam)))


def answers(exam: Exam) -> Iterator[str]:
    """Its elements, in their order."""
    yield f"<h1>{escape(exam.title)}: key and rubric</h1>"
    for number, one in enumerate(exam.questions, 1):
        letters = zip("ABCDEFGH", one.options, strict=False)
        right = "".join(letter for letter, option in letters if option.right)
        told = f"{right}. {one.why}" if right else f"{one.key} (± {one.within:g}). {one.why}"
        yield f"<h2>{number}. ({one.minutes} points)</h2><p>{escape(told)}</p>"
    for number, each in enumerate(exam.tasks, len(exam.questions) + 1):
        yield f"<h2>{number}. {escape(each.title)} ({each.minutes} points)</h2>"
        yield f"<p>{escape(each.key)}</p><table>"
        for points, said in each.rubric:
            yield f'<tr><td class="number">{points}</td><td>{escape(said)}</td></tr>'
        yield "</table>"
