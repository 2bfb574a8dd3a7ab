"""Grade what was handed in for a week of a course.

    make grade COURSE=~/seminar WEEK=3 IN=handed-in.zip [TABLE=worksheet.csv]

writes into `grades/week-3-…/` of the course:

report.html          for the teacher: points, what to decide, symptoms counted, answers alike
grades.csv           a row for each student
filled-…             the table that a platform gave, Moodle's worksheet or Canvas's gradebook, with
                     the points in it: platforms.py
feedback/, a zip     a page for each student, in a folder of the name that the platform gave;
                     what nbgrader collected has it in the course's `feedback/` as well, from where
                     `nbgrader release_feedback` hands it back
results.jsonl        what came of each hand-in: a call that is stopped goes on there, and one with
                     latecomers adds to it; whose row is there twice has both attempts

and `grades/course.xlsx`, all weeks beside one another with what `grades/more.csv` adds.

Each student's notebooks are run whole, in a sandbox (`sandbox.py`), and judged from outside
(`judge.py`) by the course's own copy of the package and cases drawn by its seed. What comes ready
from the package or is the published solution gets no points and is named; where a notebook says
“Right” and here it is not, nothing is given and both are named. A teacher's file `decisions.csv`
in that folder, with the columns student, exercise, points, has the last word; a row of it that is
wrong is said. Where somebody has changed a file of a folder, it is left: see manifest.py.
"""

import codecs
import contextlib
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unicodedata
import zipfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from book.course import (
    course,
    deadlines,
    homework,
    platforms,
    reports,
    sandbox,
    submissions,
)
from book.course.course import Settings
from book.course.homework import Exercise, Week
from book.course.reports import Grade, Graded
from book.course.submissions import Handed, Student
from book.editions import manifest
from book.site.dependencies import BookError

AT_ONCE = 2
"""Processes side by side."""

JUDGE = Path(__file__).with_name("judge.py")
RESULTS = "results.jsonl"
DECISIONS = "decisions.csv"
COLUMNS = ("student", "exercise", "points")
FAILED = "what was handed in could not be judged: {}; it will be tried again"

Known = dict[str, dict[str, Any]]
"""What came of hand-ins, a line of `RESULTS` each, by its key, in the order of the file."""


def grade(folder: Path, number: int, source: Path, table: Path | None = None) -> Path:
    """Grade a week; prints what was done, returns the folder of the results.

    Raises:
        BookError: there is no such week, nothing was handed in, or there is no sandbox.
    """
    sandbox.needed()
    of, week = course.settings(folder, {}), read_week(folder, number)
    handed_in = submissions.read(source, week)
    there = folder / "grades" / week.name
    there.mkdir(parents=True, exist_ok=True)
    known = judged(folder, week, of.seed, handed_in, there / RESULTS)
    students = {line["student"][0]: Student(*line["student"]) for line in known.values()}
    decided, wrong = decisions(there, week, [*students.values()])
    graded = list(settled(week, of, known, decided))
    where = f"Notebooks ran in bubblewrap, with {' and '.join(map(str, wheels(folder, week)))}."
    with tempfile.TemporaryDirectory() as name:
        new = Path(name)
        reports.write(new, week, graded, where, wrong)
        if table:
            wrong += platforms.fill(table, new / f"filled-{table.name}", week, graded)
            (new / "report.html").write_text(reports.report(week, graded, where, wrong), "utf-8")
        said = manifest.merge(new, there)
    platforms.write_course(folder / "grades")
    said += release(folder, week, graded)
    left = [line for line in said if line.startswith("left")]
    print(*wrong, *left, f"The report is {there / 'report.html'}.", sep="\n")
    return there


def release(folder: Path, week: Week, graded: list[Graded]) -> list[str]:
    """Put what came from nbgrader where it hands feedback back from; says what was done."""
    with tempfile.TemporaryDirectory() as name:
        new, there = Path(name), folder / "feedback"
        reports.for_nbgrader(new, week, graded)
        if not any(new.iterdir()):
            return []
        known = manifest.parts(manifest.written(there))
        said = manifest.merge(new, there, (part for part in known if Path(part).name != week.name))
    platforms.into_gradebook(folder, week, graded)
    print(f"To hand back what nbgrader collected: nbgrader release_feedback {week.name}")
    return said


def read_week(folder: Path, number: int) -> Week:
    """A week as it was handed out.

    Raises:
        BookError: the course has none of this number.
    """
    found = list((folder / "private").glob(f"week-{number}-*/{course.EXERCISES}"))
    if len(found) != 1:
        raise BookError(f"{folder} has no week {number}: is it a course, and made to its end?")
    return homework.from_json(found[0].read_text("utf-8"))


def decisions(
    there: Path, week: Week, students: Sequence[Student]
) -> tuple[dict[tuple[str, str], float], list[str]]:
    """A teacher's own points, by student and exercise; and each row that is wrong, and why.

    A student is named as in grades.csv, or by the platform's number, which stays when a name does
    not, or by a name that nobody else has.

    Raises:
        BookError: the file is not as it should be.
    """
    path = there / DECISIONS
    if not path.exists():
        return {}, []
    try:
        rows = list(table(path.read_bytes()))
    except (csv.Error, UnicodeError) as error:
        raise BookError(f"{path} cannot be read as a table: {error}") from error
    head, found, wrong = [name.strip().lower() for name in rows[0][1]] if rows else [], {}, []
    if missing := [name for name in COLUMNS if name not in head]:
        raise BookError(f"{path} wants the columns {', '.join(COLUMNS)}: no {', '.join(missing)}.")
    most = {one.name: one.points for one in week.exercises}
    for line, row in rows[1:]:
        told = dict(zip(head, row, strict=False))
        said, exercise, points = (told.get(name, "").strip() for name in COLUMNS)
        known = meant(said, students)
        worth = number(points)
        if len(known) != 1:
            who = "two are" if known else "nobody is"
            why = f"{who} called {said!r}: take what grades.csv has in the column student"
        elif exercise not in most:
            why = f"this week has no exercise {exercise!r}, but {', '.join(most)}"
        elif worth is None or not 0 <= worth <= most[exercise]:
            why = f"{points!r} is no number of points from 0 to {most[exercise]}"
        elif (known[0].key, exercise) in found:
            why = f"of {said}, {exercise} another row has decided"
        else:
            found[known[0].key, exercise] = worth
            continue
        wrong.append(f"{DECISIONS}, line {line}, does not count: {why}.")
    return found, wrong


def meant(said: str, students: Sequence[Student]) -> list[Student]:
    """The students who may be meant by a key, a number or a name."""
    said = unicodedata.normalize("NFC", said)
    if exact := [one for one in students if one.key == said]:
        return exact
    moodle = submissions.MOODLE.fullmatch(said)
    number = moodle["number"] if moodle else re.sub(r"\A\D* (?=\d+\Z)", "", said)
    numbered = [one for one in students if one.number and one.number == number]
    return numbered or [one for one in students if one.name == said]


def table(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table that are not empty, by their lines, as spreadsheets save it.

    With commas, semicolons or tabs; in UTF-8, in UTF-16 or as Windows writes in Europe.

    Raises:
        csv.Error: it is none.
    """
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    text = re.sub(r"\Asep=.\r?\n", "\n", text)  # a line for Excel alone
    first = text.lstrip().partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
    for row in rows:
        if any(cell.strip() for cell in row):
            yield rows.line_num, row


def number(text: str) -> float | None:
    """Points as somebody has written them, with a comma, too; none if it is no number.

    >>> number("1,5"), number("two")
    (1.5, None)
    """
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


# Judging


def wheels(folder: Path, week: Week) -> list[str]:
    """The names of the course's own copies of the package."""
    return sorted(path.name for path in (folder / "students" / week.name).glob("*.whl"))


def judged(folder: Path, week: Week, seed: int, handed_in: Sequence[Handed], kept: Path) -> Known:
    """What came of all that was handed in, now and before; what is new is judged, and kept."""
    known = results(kept)
    with tempfile.TemporaryDirectory() as name, kept.open("a", encoding="utf-8") as file:
        package = Path(name)
        package.chmod(0o755)  # whoever a notebook is run by may be nobody
        for wheel in wheels(folder, week):
            zipfile.ZipFile(folder / "students" / week.name / wheel).extractall(package)
        checks = mark_of(package, week, seed)
        marked = {one: f"{checks} {mark(one)}" for one in handed_in}
        todo = [one for one in handed_in if marked[one] not in known]
        print(f"{len(handed_in)} students, {len(todo)} of them anew.")
        written = package / "week.json"
        written.write_text(homework.as_json(week), "utf-8")
        own = threading.local()
        judges: list[Judge] = []

        def one(handed: Handed) -> dict[str, Any]:
            for _ in range(2):
                if not hasattr(own, "judge"):
                    own.judge = Judge(written, package, seed)
                    judges.append(own.judge)
                try:
                    return own.judge.ask(handed)
                except (OSError, ValueError):
                    del own.judge  # the others go on with another
            return {"failed": "what judges it has ended"}

        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                running = {pool.submit(one, handed): handed for handed in todo}
                for done in as_completed(running):
                    handed, row = running[done], done.result()
                    line: dict[str, Any] = {"key": marked[handed], "student": handed.student}
                    late = any(place.late for place in handed.places)
                    line |= {"when": when(handed), "late": late, "row": row}
                    known[marked[handed]] = line
                    if "failed" not in row:  # that may be another the next time
                        print(json.dumps(line), file=file, flush=True)
        finally:
            for judge in judges:
                judge.close()
    current = {mark(one): checks for one in handed_in}
    return {  # what was judged by other checks is, where it was handed in once more, judged again
        key: line for key, line in known.items()
        if current.get(key.partition(" ")[2], key.partition(" ")[0]) == key.partition(" ")[0]
    }  # fmt: skip


def mark(handed: Handed) -> str:
    """What tells a hand-in from another, as a part of its key."""
    return hashlib.sha256(f"{handed.student.key} {handed.mark}".encode()).hexdigest()[:16]


def mark_of(package: Path, week: Week, seed: int) -> str:
    """Another where answers may be judged otherwise: not where a sentence is another."""
    found = hashlib.sha256(f"{seed} {JUDGE.read_text('utf-8')}".encode())
    for one in week.exercises:
        told = (
            one.name,
            one.points,
            one.stub,
            one.check,
            one.setup,
            one.case,
            one.open,
            one.module,
        )
        found.update(repr(told).encode())
    for there in ("attn_notes", "book/kit", f"book/lessons/{week.stem}"):
        for path in sorted((package / there).rglob("*.py")):
            if path != package / "attn_notes" / "__init__.py":  # which has the version
                found.update(path.read_bytes())
    return found.hexdigest()[:16]


def when(handed: Handed) -> str:
    """When the last of a student's files was handed in, as far as that is told."""
    return max((place.when for place in handed.places), default="")


def results(kept: Path) -> Known:
    """What earlier calls have found; a last line that was cut short is nothing."""
    found: Known = {}
    if kept.exists():
        for line in kept.read_text("utf-8").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError, AssertionError):
                told = json.loads(line)
                assert {"student", "row"} <= {*told}
                found[told["key"]] = told
    return found


class Judge:
    """A process that judges students, each in a fork."""

    def __init__(self, week: Path, package: Path, seed: int) -> None:
        command = [sys.executable, str(JUDGE), str(week), str(package), str(seed)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONPATH": ""},
            text=True,
            encoding="utf-8",
        )

    def ask(self, handed: Handed) -> dict[str, Any]:
        """What comes of a student's files."""
        assert self.process.stdin and self.process.stdout
        print(json.dumps(handed.places), file=self.process.stdin, flush=True)
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError), self.process:
            self.process.kill()


# What it comes to


def settled(
    week: Week, of: Settings, known: Known, decided: dict[tuple[str, str], float]
) -> Iterator[Graded]:
    """The grades and points of each student, or of each group, all of whom get the same."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for line in known.values():
        lines.setdefault(line["student"][0], []).append(line)
    own = {key: Student(*all_[-1]["student"]) for key, all_ in lines.items()}
    answers: dict[tuple[str, str], dict[str, None]] = {}
    for key, student in sorted(own.items()):
        for answer in (answer for line in lines[key] for answer in every_answer(line)):
            if answer[1]["mark"]:
                answers.setdefault((answer[0], answer[1]["mark"]), {})[student.name] = None
            for typed in answer[1].get("numbers", ()):
                answers.setdefault(("", typed), {})[student.name] = None
    for key, student in sorted(own.items()):
        with_it = [mate.key for mate in deadlines.group_of(student, own.values(), of)]
        theirs = [line for mate in with_it for line in lines[mate]]
        mates = {own[mate].name for mate in with_it}

        def same(exercise: str, mark: str, mates: Collection[str] = mates) -> tuple[str, ...]:
            return tuple(name for name in answers.get((exercise, mark), {}) if name not in mates)

        grades, points, others = {}, {}, {}
        for one in week.exercises:
            grade, mark = attempt(one, theirs, of)
            grades[one.name] = grade
            worth = 0.0 if grade.held and grade.share is not None else grade.paid(one.points)
            points[one.name] = decided.get((key, one.name), worth)
            others[one.name] = same(one.name, mark)
        told = [told for line in theirs for _, told in every_answer(line)]
        numbers = dict.fromkeys(typed for each in told for typed in each.get("numbers", ()))
        notes = dict.fromkeys(note for line in theirs for note in notes_of(line["row"]))
        late = deadlines.late(student, week, of, theirs[-1])
        yield Graded(
            student,
            tuple(file for line in theirs for file in line["row"].get("files", [])),
            grades,
            points,
            others,
            tuple(notes),
            late,
            theirs[-1]["row"].get("receipt", {}),
            {typed: same("", typed) for typed in numbers},
        )


def notes_of(row: dict[str, Any]) -> list[str]:
    """What is to be said of a hand-in, and why it has not been judged, if it has not."""
    return [FAILED.format(row["failed"])] if "failed" in row else row["notes"]


def every_answer(line: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The answers of a hand-in, by exercise, from its first notebook to its last."""
    for sheet in line["row"].get("sheets", []):
        yield from sheet.items()


def attempt(one: Exercise, lines: list[dict[str, Any]], of: Settings) -> tuple[Grade, str]:
    """The attempt that counts, the best or the last, and by what one knows one like it."""
    if not any(line["row"].get("sheets") for line in lines):
        failed = next((line["row"]["failed"] for line in lines if "failed" in line["row"]), "")
        said = "no homework of this week was found in what you handed in."
        return Grade(None, f"{FAILED.format(failed)}." if failed else said), ""
    found = [told for line in lines for name, told in every_answer(line) if name == one.name]
    begun = [told for told in found if told["symptom"] != "there is no answer yet."]
    if of.attempts == "last":
        best = (begun or found)[-1]
    else:
        best = max(found, key=lambda told: rank(grade_of(told)))
    return grade_of(best), best["mark"]


def grade_of(told: dict[str, Any]) -> Grade:
    """The grade of an answer, from what is known of it."""
    symptom, held = told["symptom"], "; ".join(told["held"])
    if told["unsure"]:
        return Grade(None, symptom, told["unsure"])
    return Grade(
        told["paid"],
        symptom,
        held if told["paid"] else "",
        told["score"],
        told["lower"],
        told["published"],
        "; ".join(told["look"]),
        told["share"] == 1,
        told.get("differs", ""),
    )


def rank(grade: Grade) -> tuple[float, float]:
    """Larger for what counts rather: right, what may be, in part, and what is held."""
    if grade.share is None:
        return 2.0, 0.0
    kind = 1.0 if grade.held else 3.0 if grade.right else 1.5 if grade.share else 0.0
    return kind, grade.share
