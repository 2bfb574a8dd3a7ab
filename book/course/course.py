"""A course in a folder of the teacher's own: dated, frozen, and without answers for students.

    make course COURSE=~/seminar SEED=7 START=2027-02-01 DAY=tuesday HINTS=no

students/       to hand out, all of it or a week at a time
    index.html      where to start: weeks, days, exercises with points and minutes
    site/           the book without solutions and without notes for teachers
    week-1-…/       a week's lesson, evidence and homework, and the package; a zip of it beside
    project/        the notebook that a project begins with; a zip of it beside
    calendar.ics    the days, for calendars and as a table
private/        not for students
    week-1-…/       the homework with its answers, the notes for the session, concept questions
                    for Moodle and Canvas and as a page for self-test
    teaching/       syllabus, readings, boards, announcements, grading, the project's rubric
    decks/          the slides of each week, as pages with live models and as PDF: decks.py
    exams/          two of sixty minutes, each in three versions, with their keys
course.yml      what was chosen, the seed that draws hidden cases among it

Nothing there needs the book any more; a week is graded with its own copy of the package, so that
what is mended in the book reaches a course only when this is called again. Then what is new is
added, what has changed is replaced and named, and a part of the folder in which somebody has
changed or added a file is left whole, and named as well. `course.yml` is written once.
"""

import copy
import csv
import functools
import io
import itertools
import os
import re
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import icalendar
import nbformat
import yaml
from nbformat import NotebookNode

from book.course import exams, homework, papers, questions, reading
from book.course.course_page import render
from book.course.homework import Week
from book.course.questions import Question
from book.editions import manifest
from book.editions.editions import (
    LINK,
    exercise,
    for_students,
    in_plain,
    solutions,
    wheels_of,
    without_dead_links,
    write,
)
from book.editions.version import told, version, wheels
from book.page.code import answers
from book.site import files
from book.site.dependencies import (
    BookError,
    all_stems,
    full_stems,
    lesson_of,
    lesson_page,
    lesson_stems,
    pages_of,
    read_notebook,
)

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SITE = Path("students") / "site"
DECKS = Path("private") / "decks"
EXERCISES = "exercises.json"
"""A week's exercises as `grading.py` reads them: a course is graded as it was handed out."""

NEEDED = "before-the-course.html"
"""A self-test, beside the students' index."""

PROJECT = "audit-a-claim"
"""A notebook for those who audit a claim of their own choice."""

HOURS = re.compile(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d")
OWN = ("title", "points", "minutes", "question", "solution")

HANDS_OVER = re.compile(
    r"^(?:(Back to .*, or on to )|(?:\*\*)?Next\b).*\]\(\.\./(\w+)/\2\.ipynb\).*$", re.MULTILINE
)
"""Of a page's end, what leads to the next lesson."""

SPOKEN = re.compile(r"\b(?:our|the) (first|next) lesson\b", re.IGNORECASE)
"""What is only true in the book's order."""

Changed = Callable[[Mapping[str, bytes]], dict[str, bytes]]
"""What makes a site's sources those of a course's."""

TEACHING = "book/teaching/"
"""What of the book no student's site has, from the root."""

SETTINGS = """\
# Chosen when the course was made, and yours to change: `make course` reads this and never writes
# it again. Keep it to yourself: the seed draws the numbers and the hidden cases of the exercises.
seed: {seed}
start: {start}  # the first day of the course, as 2027-02-01, or null for a course without dates
day: {day}  # of the session, each week; homework is due a week later
hints: {hints}  # whether students get them

# The course, where you want another:
# weeks: []          # lessons by the names of their files, in your order: [trm, deep_qkv]
# holidays: []       # without a session, a day or from one to another, as
#                    # [2027-02-16, [2027-03-22, 2027-04-02]]
# dates: {{}}          # of sessions that are on another day: {{2: 2027-02-18}}
# hours: ""          # of a session, as "14:15-15:45", in the zone below
# room: ""           # where; rooms: {{2: Lab 3}} where a week's is another
# points: {{}}         # of exercises, by week: {{1: {{softmax: 4, disagree: 0}}}}; 0 leaves one out
# own: {{}}            # exercises of yours, which you read yourself, by week:
#                    # {{1: [{{title: Your words, points: 3, minutes: 15, question: "Say …",
#                    # solution: "…"}}]}}; with check: mine.py, a file in this folder, it is judged
# exams: ""          # a file in this folder with exams of yours, as book/teaching/exams.yml is

# For grading, where you want others than these:
# attempts: best     # of several files of a student, best or last
# due: "23:59"       # the hour at which homework is due
# zone: UTC          # in which zone, as Europe/Berlin
# penalty: 0         # the share of the points that each day takes that it is late, as 0.1
# extensions: {{}}     # by student: {{Ada Lovelace: {{2: 2027-02-20}}}} for week 2
# groups: {{}}         # {{Team 1: [Ada Lovelace, Grace Hopper]}}: what one hands in is everybody's
"""
NBGRADER = """\
# For a hub: nbgrader hands out and collects, `make grade` gives the points.
c = get_config()
c.CourseDirectory.course_id = "attention-notes"
c.CourseDirectory.release_directory = "students"
"""
READ_ME = """\
A course from Attention Notes. Begin with students/index.html: it is what your students see.

students/   to hand out: put it on a web server or the learning platform, all of it or week by week.
            It has no solutions. Each week has a zip.
private/    for you: each week's answers, the notes for its session, and ten concept questions: for
            Moodle (import XML), for Canvas (import QTI zip), and as a page with their answers,
            which you may hand out if you do not ask them; two exams in three versions, to be
            printed, with keys and rubrics;
            teaching/: syllabus, readings, boards, announcements, grading, a rubric for projects,
            and AGENTS.md, to put beside the notebooks if you like;
            slides in private/decks, a page a lesson, to be opened in a browser (S: your notes).
course.yml  what was chosen. The seed draws hidden cases; keep it to yourself.

An hour for a week: read the lesson on the site and guess at its top (20 minutes); notes.html of the
week has the plan, what to leave out in a hall stands in the syllabus (15); choose two of the ten
questions to ask in the session (10); solve the exercise of judgement yourself (10); send the
announcement, and copy the board of the week (5). Once, before week 1: put students/ where they
reach it, try site/ on a phone and the week's zip on one laptop of the room.

A week is graded, in a copy of the book's source, by

    make grade COURSE=… WEEK=1 IN=handed-in.zip TABLE=worksheet.csv

on Linux or in WSL 2 (apt install bubblewrap), with the zip that Moodle or Canvas gives, or
nbgrader's folder `submitted`; the table, which the platform gave, is filled. On a hub, nbgrader
hands out, collects and gives back, from this folder: `nbgrader release_assignment {week}`, then
`collect`, then, when graded, `release_feedback`.

To take over what was mended in the book since, and to see what it was: `make course COURSE=…` once
more. What you have changed is left as it is. To get a part anew, move yours away first.

{told}
"""


# What is chosen


class Settings(NamedTuple):
    """What a teacher has chosen; `course.yml`."""

    seed: int
    start: date | None = None
    day: str = DAYS[0]
    hints: bool = True
    weeks: list[str] = []
    holidays: list[date | list[date]] = []
    dates: Mapping[int, date] = {}
    hours: str = ""
    room: str = ""
    rooms: Mapping[int, str] = {}
    points: Mapping[int, Mapping[str, int]] = {}
    own: Mapping[int, list[Mapping[str, Any]]] = {}
    exams: str = ""
    attempts: str = "best"
    due: str = "23:59"
    zone: str = "UTC"
    penalty: float = 0.0
    extensions: Mapping[str, Mapping[int, date]] = {}
    groups: Mapping[str, list[str]] = {}


def settings(folder: Path, chosen: Mapping[str, Any]) -> Settings:
    """What a course's file says, or, for a new course, what was chosen.

    Raises:
        BookError: something is not what it should be, or the file says otherwise than was chosen.
    """
    path = folder / "course.yml"
    if not path.exists():
        return checked({"seed": secrets.randbelow(2**31), **chosen}, "")
    try:
        said = yaml.safe_load(path.read_text("utf-8"))
    except yaml.YAMLError as error:
        raise BookError(f"{path} cannot be read: {error}") from error
    if not isinstance(said, dict) or "seed" not in said:
        raise BookError(f"{path} has no seed. It is the file of a course.")
    found = checked(said, f"{path}: ")
    wanted = checked({**said, **chosen}, "")
    for name in Settings._fields:
        if getattr(wanted, name) != getattr(found, name):
            raise BookError(
                f"{path} says {name}: {getattr(found, name)}. It is yours, so no command changes "
                f"it: write {getattr(wanted, name)} there, and call again."
            )
    return found


def checked(said: Mapping[str, Any], where: str) -> Settings:
    """Settings as they may be.

    Raises:
        BookError: one is not; says which, and where it was said.
    """
    if unknown := {*said} - {*Settings._fields}:
        raise BookError(f"{where}there is no setting {sorted(unknown)[0]!r}.")
    found = Settings(**said)
    start = found.start
    if isinstance(start, str):
        try:
            start = date.fromisoformat(start)
        except ValueError:
            raise BookError(f"{where}start is a day as 2027-02-01, not {start}.") from None
    if not isinstance(found.seed, int) or found.seed not in range(2**63):
        raise BookError(
            f"{where}the seed is a whole number from 0 to {2**63 - 1}, not {found.seed}."
        )
    if str(found.day).lower() not in DAYS:
        raise BookError(f"{where}day is one of {', '.join(DAYS)}, not {found.day}.")
    if not isinstance(found.hints, bool):
        raise BookError(f"{where}hints is true or false, not {found.hints}.")
    if not isinstance(found.weeks, list) or len({*map(str, found.weeks)}) < len(found.weeks):
        raise BookError(f"{where}weeks are lessons, each once, as [trm, deep_qkv].")
    if not all(type(day) is date for day in values(found.dates)) or not all(
        isinstance(week, int) for week in found.dates
    ):
        raise BookError(f"{where}dates are as {{2: 2027-02-18}}: a week, and the session's day.")
    ranges = [day if isinstance(day, list) else [day, day] for day in listed(found.holidays)]
    if not all([*map(type, two)] == [date, date] and two[0] <= two[1] for two in ranges):
        raise BookError(f"{where}holidays are as [2027-02-16, [2027-03-22, 2027-04-02]].")
    if found.hours and not HOURS.fullmatch(str(found.hours)):
        raise BookError(f'{where}hours are as "14:15-15:45", in quotes, not {found.hours}.')
    if found.hours and found.zone == Settings(0).zone:
        raise BookError(f"{where}hours want a zone, as Europe/Berlin, or Etc/UTC.")
    if not all(isinstance(week, int) for week in keys(found.rooms)):
        raise BookError(f"{where}rooms are as {{2: Lab 3}}: a week, and its room.")
    if not all(
        isinstance(each, dict) and all(type(worth) is int and worth >= 0 for worth in values(each))
        for each in values(found.points)
    ):
        shape = "{1: {softmax: 4}}"
        raise BookError(f"{where}points are as {shape}: a week, an exercise, a whole number.")
    for one in [one for each in values(found.own) for one in listed(each)]:
        if not isinstance(one, dict) or not {*OWN} <= {*one} <= {*OWN, "stub", "check"} or not all(
            isinstance(one[name], int) and one[name] > 0 for name in ("points", "minutes")
        ):  # fmt: skip
            raise BookError(
                f"{where}an exercise of your own has {', '.join(OWN)}; stub and check may be."
            )
    if found.attempts not in ("best", "last"):
        raise BookError(f"{where}attempts is best or last, not {found.attempts}.")
    if found.zone not in available_timezones():
        raise BookError(f"{where}zone is one as Europe/Berlin, not {found.zone}.")
    try:
        time.fromisoformat(found.due)
    except (TypeError, ValueError):
        raise BookError(f'{where}due is an hour in quotes, as "18:00", not {found.due}.') from None
    if not isinstance(found.penalty, int | float) or not 0 <= found.penalty <= 1:
        raise BookError(f"{where}penalty is a share from 0 to 1, not {found.penalty}.")
    given = values(found.extensions)
    weeks = [week for each in given for week in (each if isinstance(each, dict) else [each])]
    if not all(isinstance(week, int) for week in weeks) or not all(
        isinstance(day, date) for each in given for day in values(each)
    ):
        shape = "{Ada Lovelace: {2: 2027-02-20}}"
        raise BookError(f"{where}extensions are as {shape}: a student, a week, a day.")
    if not all(isinstance(mates, list) for mates in values(found.groups)):
        raise BookError(f"{where}groups are as {{Team 1: [Ada Lovelace, Grace Hopper]}}.")
    return found._replace(start=start, day=found.day.lower())


def values(said: object) -> list[Any]:
    """The values of a mapping; of what is none, that as the one wrong value."""
    return list(said.values()) if isinstance(said, dict) else [said]


def keys(said: object) -> list[Any]:
    """The keys of a mapping; of what is none, that as the one wrong key."""
    return list(said) if isinstance(said, dict) else [said]


def listed(said: object) -> list[Any]:
    """A list; of what is none, that as its one wrong entry."""
    return said if isinstance(said, list) else [said]


# The course


def make(
    root: Path,
    folder: Path,
    chosen: Mapping[str, Any],
    make_site: Callable[[Path, Path, Changed], bool],
    present: Callable[[Path, Path, Path, int, list[Week]], None] | None = None,
) -> None:
    """Make a course, or bring one up to date; prints what that did.

    Args:
        root: of the project.
        folder: the teacher's own.
        chosen: settings, by name; what is not chosen stays, or is as it is where nothing is said.
        make_site: writes the site for students into a folder, of sources that it changes by what it
            is given, unless the other folder is made of the same. Says whether it did.
        present: writes the slides, given the site, a folder for them, the one that they may have
            been written to before, the seed and the weeks; none where nothing is given.

    Raises:
        BookError: a setting is none, or `folder` is something else's. Nothing has been changed.
    """
    begun = folder / "course.yml"
    if folder.exists() and not begun.exists() and any(folder.iterdir()):
        raise BookError(f"{folder} is not empty, and no course: name a folder of its own.")
    of = settings(folder, chosen)
    weeks = weeks_of(root, folder, of)
    asked = exams_of(root, folder, weeks, of)
    for said in out_of_order(root, weeks):
        print(said)
    leads = following(root, weeks)
    with tempfile.TemporaryDirectory() as name:
        new, made_of = Path(name), version(root, pages=False)
        packages = wheels(root, new, made_of)
        for week in weeks:
            write_week(root, new, week, of, made_of, packages, leads)
        papers.write(root / TEACHING, new / "private", weeks)
        write_project(root, new / "students", made_of, packages)
        for path in packages:
            path.unlink()
        changed = functools.partial(for_site, hints=of.hints, weeks=weeks, leads=leads)
        fresh = make_site(new / SITE, folder / SITE, changed)
        if present:
            site = (new if fresh else folder) / SITE
            present(site, new / DECKS, folder / DECKS, of.seed, weeks)
        students = new / "students"
        write_exams(root, new, of, asked)
        (students / "index.html").write_text(index(weeks, of, made_of, students), "utf-8")
        if of.start:
            (students / "calendar.csv").write_bytes(as_table(weeks, of).encode())
            (students / "calendar.ics").write_bytes(as_calendar(weeks, of, made_of))
        shutil.copy(root / "LICENSE", students)
        (new / "nbgrader_config.py").write_text(NBGRADER, "utf-8")
        text = READ_ME.format(week=weeks[0].name, told=told(made_of))
        (new / "README.txt").write_text(text, "utf-8")
        if not begun.exists():
            folder.mkdir(parents=True, exist_ok=True)
            files.write_whole(begun, in_words(of).encode())
        for each in [path.with_suffix("") for path in students.glob("*.zip")]:
            if manifest.worked(folder, each.relative_to(new).as_posix()):
                zipped(folder / each.relative_to(new), into=Path(f"{each}.zip"))
        merged = manifest.merge(new, folder, () if fresh else (SITE.as_posix(),))
        print(*merged, sep="\n")


def weeks_of(root: Path, folder: Path, of: Settings) -> list[Week]:
    """The weeks of a course, with the exercises and the points that were chosen.

    Raises:
        BookError: what was chosen does not fit the book, or one thing not the other.
    """
    known, stems = lesson_stems(root), of.weeks or full_stems(root)
    if unknown := [stem for stem in stems if stem not in known]:
        raise BookError(
            f"course.yml: weeks has {unknown[0]}, which is no lesson. There are {', '.join(known)}."
        )
    numbers = range(1, len(stems) + 1)
    for name in ("dates", "rooms", "points", "own"):
        if other := [week for week in getattr(of, name) if week not in numbers]:
            raise BookError(f"course.yml: {name} has week {other[0]}; there are {len(stems)}.")
    found = []
    for number, stem in enumerate(stems, 1):
        week = homework.week(root, stem, number, of.seed)
        points, all_ = of.points.get(number, {}), {one.name: one for one in week.exercises}
        if unknown := [name for name in points if name not in all_]:
            said = f"week {number} has no exercise {unknown[0]}, but {', '.join(all_)}"
            raise BookError(f"course.yml: points: {said}.")
        kept = [one._replace(points=points.get(one.name, one.points)) for one in week.exercises]
        kept = [one for one in kept if one.points]
        kept += [homework.own(i, folder, **one) for i, one in enumerate(of.own.get(number, []), 1)]
        checks = [reading.name_of_check(one) for one in kept if one.check]
        if twice := [name for name in checks if checks.count(name) > 1]:
            raise BookError(f"course.yml: own: week {number} has two checks called {twice[0]}.")
        if not kept:
            raise BookError(f"course.yml: points: week {number} is left without an exercise.")
        kept = [one._replace(number=i) for i, one in enumerate(kept, 1)]
        found.append(week._replace(exercises=tuple(kept)))
    if of.start:
        sessions = [days(week, of)[0] for week in found]
        for before, now in itertools.pairwise(sessions):
            if now <= before:
                said = f"{in_full(now)} is not after {in_full(before)}"
                raise BookError(f"course.yml: dates: {said}, but the week's number is.")
        for day in sessions:
            if is_holiday(day, of):
                raise BookError(f"course.yml: dates: {in_full(day)} is one of the holidays.")
    return found


def exams_of(root: Path, folder: Path, weeks: list[Week], of: Settings) -> list[exams.Exam]:
    """The exams of a course: the teacher's own, or of the book's what its lessons answer.

    Raises:
        BookError: there is no such file, or it is not as it should be.
    """
    path = folder / of.exams if of.exams else root / TEACHING / "exams.yml"
    if not path.is_file():
        if of.exams:
            raise BookError(f"course.yml: exams: there is no {path}.")
        return []
    return exams.read(path, of.seed, [week.stem for week in weeks])


def following(root: Path, weeks: Sequence[Week]) -> dict[str, str]:
    """Which lesson follows a lesson, as a link, where that is another than in the book.

    First come the course's in its order, and then all others.
    """
    book, taught = all_stems(root), [week.stem for week in weeks]
    order = sorted(book, key=lambda stem: taught.index(stem) if stem in taught else len(taught))
    found = {}
    for one, other in {*itertools.pairwise(order)} - {*itertools.pairwise(book)}:
        title = title_in(root, other)
        found[one] = f"[{title}](../{other}/{other}.ipynb){'' if title.endswith('?') else '.'}"
    return found


def title_in(root: Path, stem: str) -> str:
    """A lesson's title in the book."""
    return homework.headline(read_notebook(root / lesson_page(stem))) or stem


def out_of_order(root: Path, weeks: Sequence[Week]) -> Iterator[str]:
    """What a course's order leaves without its ground, and what cannot follow it, as sentences."""
    taught, book = [week.stem for week in weeks], all_stems(root)
    moved = {"next": following(root, weeks), "first": taught if taught[0] != book[0] else ()}
    for i, week in enumerate(weeks):
        lesson = read_notebook(root / lesson_page(week.stem))
        for need in lesson.metadata.get("needs", ()):
            if need in book and need not in taught[:i]:
                where = "comes later" if need in taught else "is not in the course"
                needed = title_in(root, need)
                yield f"Week {week.number}, {week.title}, builds on {needed}, which {where}."
        notes = root / lesson_page(week.stem).with_name("teaching.md")
        texts = [
            ("lesson", cell.source)
            for path in pages_of(root, week.stem)
            for cell in read_notebook(root / path).cells
            if cell.cell_type == "markdown"
        ]
        texts += [("page of notes", notes.read_text("utf-8"))] if notes.is_file() else []
        yield from dict.fromkeys(
            f"Week {week.number}'s {what} says “{found[0]}”, as in the book's order."
            for what, text in texts
            for found in SPOKEN.finditer(HANDS_OVER.sub("", text))
            if week.stem in moved[found[1].lower()]
        )
    if moved["first"]:
        yield "The first page of the site begins with the book's first lesson."


def handed_over(notebook: NotebookNode, link: str) -> NotebookNode:
    """A page of a lesson that leads to another lesson than in the book, if one is given."""
    for cell in notebook.cells if link else ():
        if cell.id == "retell":
            cell.source = HANDS_OVER.sub(lambda m: f"{m[1] or 'Next: '}{link}", cell.source)
    return notebook


def in_words(of: Settings) -> str:
    """The file `course.yml`."""
    start = of.start.isoformat() if of.start else "null"
    return SETTINGS.format(seed=of.seed, start=start, day=of.day, hints=str(of.hints).lower())


def write_week(
    root: Path,
    new: Path,
    week: Week,
    of: Settings,
    made_of: str,
    packages: list[Path],
    leads: Mapping[str, str],
) -> None:
    """A week's folders, for students and private, and the students' zip."""
    students, private = new / "students" / week.name, new / "private" / week.name
    sheet = f"week-{week.number}-homework.ipynb"
    names = {
        path.relative_to("book"): f"week-{week.number}-{title_of(path)}.ipynb"
        for path in pages_of(root, week.stem)
    }
    instead = f"## Exercises\n\nThe exercises of this week stand in `{sheet}`."
    for path, name in names.items():
        lesson = nbformat.read(root / "book" / path, as_version=4)
        lesson = handed_over(lesson, leads.get(week.stem, ""))
        lesson = homework.without_exercises(lesson, instead)
        hand_out(relinked(lesson, path, names), students / name, made_of)
    asked = homework.sheet(week, made_of, hints=of.hints)
    hand_out(relinked(asked, Path(), {}), students / sheet, made_of)
    for path in (*packages, root / "LICENSE"):
        shutil.copy(path, students)
    for one in week.exercises:
        if one.module:
            (students / f"{one.check.partition('.')[0]}.py").write_text(one.module, "utf-8")
    (students / "README.txt").write_text(read_me(week, of, made_of), "utf-8")
    zipped(students)
    answers = homework.sheet(week, made_of, solved=True)
    hand_out(relinked(answers, Path(), {}), private / "answers.ipynb", made_of)
    (private / EXERCISES).write_text(homework.as_json(week), "utf-8")
    asked_of = root / "book" / "lessons" / week.stem / "questions.yml"
    if asked_of.is_file():
        write_questions(questions.read(asked_of, of.seed), week, private, made_of)


def title_of(page: Path) -> str:
    """What a notebook is called in its week's folder.

    >>> title_of(Path("cats/cats.ipynb")), title_of(Path("cats/cats_evidence.ipynb"))
    ('lesson', 'evidence')
    """
    return page.stem.removeprefix(page.parent.name).removeprefix("_") or "lesson"


def write_project(root: Path, students: Path, made_of: str, packages: list[Path]) -> None:
    """What a project begins with: a notebook that runs, and its packages beside it."""
    source = root / TEACHING / f"{papers.TEMPLATE}.md"
    if not source.is_file():
        return
    hand_out(papers.template(source), students / "project" / f"{PROJECT}.ipynb", made_of)
    for path in (*packages, root / "LICENSE"):
        shutil.copy(path, students / "project")
    zipped(students / "project")


def write_questions(found: list[Question], week: Week, private: Path, made_of: str) -> None:
    """A week's concept questions, for platforms and as a page."""
    title = f"Week {week.number}: {week.title}"
    (private / "questions-moodle.xml").write_text(questions.moodle_xml(found, title), "utf-8")
    made = questions.canvas_qti(found, title, day_of(made_of).isoformat())
    (private / "questions-canvas.zip").write_bytes(made)
    (private / "self-test.html").write_text(questions.self_test(found, title), "utf-8")


def write_exams(root: Path, new: Path, of: Settings, asked: list[exams.Exam]) -> None:
    """The exams with their keys, and what students can try before the course."""
    there = new / "private" / "exams"
    for exam in asked:
        there.mkdir(parents=True, exist_ok=True)
        (there / f"{exam.name}.html").write_text(exams.paper(exam), "utf-8")
        (there / f"{exam.name}-key.html").write_text(exams.key(exam), "utf-8")
        if exam.version == 1 and exam.minutes < exams.MINUTES:
            print(f"{exam.title} asks of these lessons only: it takes {exam.minutes} minutes.")
    if not (root / TEACHING / "needed.yml").is_file():
        return
    needed = questions.read(root / TEACHING / "needed.yml", of.seed)
    text = questions.self_test(needed, "Before the course")
    (new / "students" / NEEDED).write_text(text, "utf-8")


def hand_out(notebook: NotebookNode, path: Path, made_of: str) -> None:
    """Write a notebook that runs anywhere, with its package beside it."""
    write(in_plain(notebook, made_of), path, made_of)


def relinked(notebook: NotebookNode, here: Path, names: Mapping[Path, str]) -> NotebookNode:
    """A page of the book whose links lead to the files of its week, and to no other page."""

    def renamed(link: re.Match[str]) -> str:
        target, mark, place = link[2].partition("#")
        path = Path(os.path.normpath(here.parent / target))
        return f"[{link[1]}]({names[path]}{mark}{place})" if path in names else link[0]

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = without_dead_links(cell.source, here, names.__contains__)
            cell.source = LINK.sub(renamed, text)
    return notebook


def read_me(week: Week, of: Settings, made_of: str) -> str:
    """What stands in a week's folder."""
    due = f" It is due on {in_full(days(week, of)[1])}, {at_the_hour(of)}." if of.start else ""
    return f"""\
Week {week.number}: {week.title}

week-{week.number}-lesson.ipynb     to read and run
week-{week.number}-homework.ipynb   {week.points} points, about {week.minutes} minutes.{due}

In this folder, with Python 3.11 to 3.14, on Linux or macOS

    python3 -m venv .venv
    source .venv/bin/activate

or on Windows, in PowerShell

    py -m venv .venv
    .venv\\Scripts\\activate

and then (the first line gets the small torch; leave it out if you have one)

    pip install torch --index-url https://download.pytorch.org/whl/cpu
    pip install {wheels_of(made_of)} jupyterlab
    jupyter lab

With uv it is `uv venv --python 3.12`, and `uv pip` for `pip`. In Colab or elsewhere, put both
wheels beside the notebooks, and run their first cell.

An answer may import whatever you have installed. Your notebook is run as you hand it in, from its
first cell to its last; where it wants a package that is not there, a person looks at it.

{told(made_of)}
"""


def zipped(folder: Path, inside: bool = False, into: Path | None = None) -> None:
    """A zip of a folder beside it, the same as long as the folder is; or of what is inside only."""
    start = folder if inside else folder.parent
    with zipfile.ZipFile(into or f"{folder}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
            if path.is_file() and not hidden and path.name not in manifest.LITTER:
                entry = zipfile.ZipInfo(path.relative_to(start).as_posix())
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(entry, path.read_bytes())


# The site


def for_site(
    sources: Mapping[str, bytes],
    hints: bool,
    weeks: Sequence[Week] = (),
    leads: Mapping[str, str] = {},
) -> dict[str, bytes]:
    """The sources of a site for students, by path from the root.

    Without the notes for teachers and what leads to them, without solutions, and without hints
    where the teacher wants none; exercises with the points of the course's weeks, whose lessons
    come first and in its order.
    """
    found, of_stem = {}, {week.stem: week for week in weeks}
    for name, content in sources.items():
        path = PurePosixPath(name)
        if not is_no_note(path):
            continue
        if name == "_toc.yml":
            content = without_teaching(content, [*of_stem])
        elif path.suffix == ".ipynb":
            notebook = for_students(with_uses(nbformat.reads(content.decode(), as_version=4)))
            notebook = handed_over(notebook, leads.get(path.parent.name, ""))
            if week := of_stem.get(path.parent.name):
                notebook = as_chosen(notebook, week)
            if not hints:
                notebook.cells = [c for c in notebook.cells if not exercise(c, "hint")]
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = without_dead_links(cell.source, Path(name), is_no_note)
            content = nbformat.writes(notebook).encode()
        elif path.suffix == ".md":
            content = without_sections(content.decode(), "](teaching/").encode()
        found[name] = content
    return found


def as_chosen(notebook: NotebookNode, week: Week) -> NotebookNode:
    """A page of a lesson with the exercises of a course, and the points that it gives."""
    notebook = copy.deepcopy(notebook)
    points = {one.name: one.points for one in week.exercises}
    own = [one.name for one in week.exercises if one.numbered]
    told = [cell.metadata["exercise"] for cell in notebook.cells if "exercise" in cell.metadata]
    out = {f"exercise-{one['name']}" for one in told} - {f"exercise-{name}" for name in points}
    out |= {f"{name}-{part}" for name in out for part in ("hint", "answer", "check", "solution")}
    notebook.cells = [cell for cell in notebook.cells if cell.id not in out]
    for cell in notebook.cells:
        if one := cell.metadata.get("exercise"):
            one["points"] = points[one["name"]]
            worth = f"({one['points']} points, "
            cell.source = re.sub(r"\(\d+ points, ", worth, cell.source, count=1)
            if one["name"] in own:
                cell.source = re.sub(r"(?=\n:::\s*$)", homework.PRACTICE, cell.source)
    return notebook


def with_uses(notebook: NotebookNode) -> NotebookNode:
    """A page that says of each exercise what its solution takes of the package.

    The page lets an answer use that, which can no longer be seen where there is no solution.
    """
    setup = "".join(cell.source for cell in notebook.cells if cell.id == "setup")
    codes = solutions(notebook)
    for cell in notebook.cells:
        if told := cell.metadata.get("exercise"):
            told["uses"] = list(answers.uses(codes[told["name"]], setup))
    return notebook


def is_no_note(path: PurePath) -> bool:
    """Whether a page stays where teachers' notes go."""
    return not (path.as_posix().startswith(TEACHING) or path.name == "teaching.md")


def without_sections(source: str, telling: str) -> str:
    r"""A page without the sections that say something.

    >>> without_sections("# Book\n\n## One\n\nA.\n\n## Two\n\nB.\n", "B.")
    '# Book\n\n## One\n\nA.\n\n'
    """
    parts = re.split(r"^(?=## )", source, flags=re.MULTILINE)
    return "".join(part for part in parts if telling not in part)


def without_teaching(contents: bytes, taught: Sequence[str] = ()) -> bytes:
    """A table of contents without the notes for teachers, the lessons that are taught first."""

    def when(page: Mapping[str, Any]) -> int:
        stem = lesson_of(page["file"])
        return taught.index(stem) if stem in taught else len(taught)

    def kept(node: Any) -> Any:
        if isinstance(node, list):
            return [kept(each) for each in node if not is_note(each)]
        return {name: kept(value) for name, value in node.items()} if is_dict(node) else node

    def is_note(node: Any) -> bool:
        return is_dict(node) and not is_no_note(PurePosixPath(f"{node.get('file')}.md"))

    def is_dict(node: Any) -> bool:
        return isinstance(node, dict)

    toc = kept(yaml.safe_load(contents))
    if "parts" in toc:
        toc["parts"] = [part for part in toc["parts"] if part.get("chapters")]
    for part in [part for part in (toc, *toc.get("parts", ())) if "chapters" in part]:
        part["chapters"].sort(key=when)
    return yaml.safe_dump(toc, sort_keys=False).encode()


# Days


def days(week: Week, of: Settings) -> tuple[date, date]:
    """When a week's session is and when its homework is due, in a course that has a start.

    >>> one = Week(2, "", "", "", ())
    >>> [day.isoformat() for day in days(one, Settings(7, date(2027, 2, 3), "tuesday"))]
    ['2027-02-16', '2027-02-23']
    """
    assert of.start
    first = of.start + timedelta((DAYS.index(of.day) - of.start.weekday()) % 7)
    free = (day for day in weekly(first) if not is_holiday(day, of))
    usual = next(itertools.islice(free, week.number - 1, None))
    session = of.dates.get(week.number, usual)
    later = weekly(session + timedelta(weeks=1))
    return session, next(day for day in later if not is_holiday(day, of))


def weekly(first: date) -> Iterator[date]:
    """This day, and that of each week after it."""
    return (first + timedelta(weeks=i) for i in itertools.count())


def is_holiday(day: date, of: Settings) -> bool:
    """Whether there is no session on a day."""
    ranges = (each if isinstance(each, list) else [each, each] for each in of.holidays)
    return any(first <= day <= last for first, last in ranges)


def place(week: Week, of: Settings) -> str:
    """At what hours and where a week's session is, to be said after its day.

    >>> one = Week(2, "", "", "", ())
    >>> place(one, Settings(7, hours="14:15-15:45", room="Hall", rooms={2: "Lab 3"}))
    ', 14:15 to 15:45, Lab 3'
    """
    said = (of.hours.replace("-", " to "), str(of.rooms.get(week.number, of.room)))
    return "".join(f", {each}" for each in said if each)


def at_the_hour(of: Settings) -> str:
    """Until when homework counts on its day."""
    return f"{of.due} ({of.zone})"


def in_full(day: date) -> str:
    """A day as one says it.

    >>> in_full(date(2027, 2, 2))
    'Tuesday, 2 February 2027'
    """
    return f"{day:%A}, {day.day} {day:%B %Y}"


def as_table(weeks: list[Week], of: Settings) -> str:
    """The days as a table that spreadsheets open."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    head = ("week", "title", "session", "homework due", "points", "minutes", "hours", "room")
    table.writerow(head)
    for week in weeks:
        session, due = days(week, of)
        row = (week.title, session.isoformat(), due.isoformat(), week.points, week.minutes)
        table.writerow((week.number, *row, of.hours, of.rooms.get(week.number, of.room)))
    return out.getvalue()


def as_calendar(weeks: list[Week], of: Settings, made_of: str) -> bytes:
    """The days as a calendar: of each week the session, and when its homework is due.

    A session has its hours by the clock of the course's zone, also where the clock is changed.
    """
    found = icalendar.Calendar()
    found.add("prodid", f"-//Attention Notes//{made_of}//EN")
    found.add("version", "2.0")
    for week in weeks:
        session, due = days(week, of)
        for what, day in ((f"Week {week.number}: {week.title}", session), (due_title(week), due)):
            event = icalendar.Event()
            event.add("uid", f"{week.name}-{'due' if day == due else 'session'}@attention-notes")
            event.add("dtstamp", datetime.combine(session, time(), UTC))
            event.add("summary", what)
            if day == session and of.hours:
                begins, ends = map(time.fromisoformat, of.hours.split("-"))
                event.add("dtstart", datetime.combine(day, begins, ZoneInfo(of.zone)))
                event.add("dtend", datetime.combine(day, ends, ZoneInfo(of.zone)))
            else:
                event.add("dtstart", day)
            if day == session and (room := of.rooms.get(week.number, of.room)):
                event.add("location", str(room))
            found.add_component(event)
    if weeks:  # of these years, and not of all
        first, last = days(weeks[0], of)[0], days(weeks[-1], of)[1]
        found.add_missing_timezones(first, last + timedelta(weeks=52))
    return found.to_ical()


def due_title(week: Week) -> str:
    """What a calendar says on the day on which a week's homework is due."""
    return f"Due: homework of week {week.number} ({week.points} points)"


def day_of(made_of: str) -> date:
    """The day of a version; that of the oldest zip where it says none.

    >>> day_of("0.2.0+20261124.g1234567").isoformat(), day_of("0.2.0+d89abcde").year
    ('2026-11-24', 1980)
    """
    found = re.search(r"\+(\d{8})\.", made_of)
    return date.fromisoformat(found[1]) if found else date(1980, 1, 1)


# Where to start


def index(weeks: list[Week], of: Settings, made_of: str, students: Path) -> str:
    """Where students start: the weeks, with what is to be read, done and handed in."""

    def told_of(week: Week) -> tuple[Week, str, str, str, str]:
        lesson = lesson_page(week.stem).with_suffix(".html").as_posix()
        session, due = map(in_full, days(week, of)) if of.start else ("", "")
        return week, lesson, session, place(week, of), f"{due}, {at_the_hour(of)}"

    return render(
        "index.html",
        weeks=map(told_of, weeks),
        of=of,
        needed=NEEDED if (students / NEEDED).is_file() else "",
        project=(students / "project").is_dir(),
        told=told(made_of),
    )
