"""Exams on paper: concept questions and tasks to write, with a key and a rubric.

`teaching/exams.yml`, or a file of a teacher's own, says what is in them. Each comes in versions, so
that neighbours have different ones: the same questions for the same points, in another order, with
other numbers where any are drawn, and the right option at another letter. The course's seed draws
them all, so that the exam of one course is no help for another.
"""

import itertools
import random
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from book.course import questions
from book.course.course_page import render
from book.course.questions import Question
from book.site.dependencies import BookError, from_yaml

MINUTES = 60
VERSIONS = 3
LETTERS = "ABCDEFGH"


class Part(NamedTuple):
    """Of a task what is answered by itself: "(a) Why?", and its points."""

    ask: str
    points: int


class Task(NamedTuple):
    """Something to write; a minute is a point."""

    title: str
    minutes: int
    told: str
    parts: tuple[Part, ...]
    key: str
    rubric: tuple[tuple[int, str], ...]


class Exam(NamedTuple):
    """A version of one, as a course has it."""

    title: str
    version: int
    questions: tuple[Question, ...]
    tasks: tuple[Task, ...]

    @property
    def minutes(self) -> int:
        """Of all of it, and so its points."""
        return sum(q.minutes for q in self.questions) + sum(task.minutes for task in self.tasks)

    @property
    def name(self) -> str:
        """What its file is called.

        >>> Exam("Exam A", 2, (), ()).name
        'exam-a-2'
        """
        return f"{self.title} {self.version}".lower().replace(" ", "-")


def read(path: Path, seed: int, stems: Collection[str]) -> list[Exam]:
    """All versions of the exams of a file, as the course of a seed and of these lessons has them.

    Raises:
        BookError: an exam has another length, a question that is none, or a rubric that does not
            add up.
    """
    found = []
    for entry in from_yaml(path.read_text("utf-8")):
        title, asked = entry["title"], [*entry["questions"], *entry["tasks"]]
        if (minutes := sum(each["minutes"] for each in asked)) != MINUTES:
            raise BookError(f"{title} takes {minutes} minutes, not {MINUTES}.")
        here = [each for each in asked if {*each.get("of", ())} <= {*stems}]
        for version in range(VERSIONS if here else 0):
            made = [asked_for(each, f"{seed} {title}", version) for each in here]
            random.Random(f"{seed} {title} {version}").shuffle(made)
            concepts = tuple(each for each in made if isinstance(each, Question))
            tasks = tuple(each for each in made if isinstance(each, Task))
            found.append(Exam(title, version + 1, concepts, tasks))
    return found


def asked_for(entry: Mapping[str, Any], seed: str, version: int) -> Question | Task:
    """An entry as a version has it, whatever it may be.

    Raises:
        BookError: it is not as it should be.
    """
    name = entry.get("id", entry.get("title", "?"))
    try:
        return of_version(entry, name, seed, version)
    except BookError:
        raise
    except Exception as error:  # of an expression, or of what is missing
        raise BookError(f"“{name}” of an exam cannot be made: {error}") from error


def of_version(entry: Mapping[str, Any], name: str, seed: str, version: int) -> Question | Task:
    """An entry with another case than in the other versions, as long as there are cases."""
    draw = random.Random(f"{seed} {name}")
    varies = entry.get("draw", {})
    cases = [*itertools.product(*varies.values())]
    draw.shuffle(cases)
    case = zip(varies, cases[version % len(cases)], strict=True)
    said = {what: value for what, value in entry.items() if what != "of"}
    said["draw"] = {what: [value] for what, value in case}
    if "rubric" in entry:
        return task(said, draw)
    asked = questions.asked(said, name, draw)
    return asked._replace(options=asked.options[version:] + asked.options[:version])


def task(entry: Mapping[str, Any], draw: random.Random) -> Task:
    """A task with what varies drawn, and the rest computed from it.

    Raises:
        BookError: the points of its rubric are not its minutes.
    """
    names = questions.drawn(entry, draw)
    rubric = tuple((points, text) for points, text in entry["rubric"])
    if sum(points for points, _ in rubric) != entry["minutes"]:
        raise BookError(f"The rubric of “{entry['title']}” does not add up to its minutes.")
    ask, key = (entry[part].format(**names) if names else entry[part] for part in ("ask", "key"))
    told, *asked = re.split(r"\s+(?=\([a-e]\) [A-Z])", ask)
    worth = [sum(n for n, said in rubric if said[:3] == each[:3]) for each in asked]
    parts = tuple(map(Part, asked, worth))
    return Task(entry["title"], entry["minutes"], told, parts, key, rubric)


def paper(exam: Exam) -> str:
    """What is handed out, to be printed: room to write below each question."""
    return render("exam.html", exam=exam, letters=LETTERS)


def key(exam: Exam) -> str:
    """What whoever grades it reads."""
    return render("exam-key.html", exam=exam, letters=LETTERS)
