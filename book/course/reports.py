"""What came of a week: for the teacher, for each student, and as the platforms read it."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from book.course.course import zipped
from book.course.course_page import page
from book.course.homework import Exercise, Week
from book.course.submissions import RECEIPT, Submission

WAITS = "Your teacher will look at this answer, and until then it has no points. The check says: "
"""Before the symptom of one that may be right and was held back."""

LATER = "Your teacher will look at this answer: "
"""Before that of one of which nothing is known yet."""


class Grade(NamedTuple):
    """What came of an answer to an exercise.

    Args:
        share: of the points, from 0 to 1; none where it could not be tried.
        symptom: for the student, in words.
        held: for the teacher, why it gets no points though it may be right; empty if it is not odd.
        score: of an open exercise, if it has one.
        lower: whether a lower score is a better one.
        published: whether it is as published, but so short that many would write it.
    """

    share: float | None
    symptom: str
    held: str = ""
    score: float | None = None
    lower: bool = False
    published: bool = False


class Graded(NamedTuple):
    """What came of what a student handed in."""

    submission: Submission
    grades: dict[str, Grade]
    points: dict[str, float | None]
    alike: dict[str, tuple[str, ...]]
    """Exercise → the others whose answer is the same."""


def write(
    folder: Path, week: Week, graded: Sequence[Graded], where: str, wrong: Sequence[str] = ()
) -> None:
    """All files of a week's results, into an empty folder; `wrong` is what to mend in decisions."""
    (folder / "report.html").write_text(report(week, graded, where, wrong), "utf-8")
    table(folder / "grades.csv", *plain(week, graded))
    for platform, rows in (("moodle", moodle), ("canvas", canvas)):
        theirs = [one for one in graded if one.submission.student.platform == platform]
        if theirs:
            table(folder / f"grades-{platform}.csv", *rows(week, theirs))
    for one in graded:
        there = folder / "feedback" / one.submission.student.key
        while there.exists():  # of another, where a system takes Ada and ada for the same
            there = there.with_name(f"{there.name}-2")
        there.mkdir(parents=True)
        (there / "feedback.html").write_text(feedback(week, one), "utf-8")
    zipped(folder / "feedback", inside=True)


def for_nbgrader(folder: Path, week: Week, graded: Sequence[Graded]) -> None:
    """The pages for students where `nbgrader release_feedback` looks for them: its `feedback`.

    It wants each under the name of the sheet, with what it noted when the sheet was handed in.
    """
    for one in graded:
        handed = one.submission
        if {*handed.receipt} == {*RECEIPT} and handed.file:
            there = folder / handed.student.key / week.name
            there.mkdir(parents=True)
            page = there / Path(handed.file).with_suffix(".html").name
            page.write_text(feedback(week, one), "utf-8")
            for name, content in handed.receipt.items():
                (there / name).write_bytes(content)


# Tables


def total(one: Graded) -> float | None:
    """A student's points; none where something could not be graded."""
    found = [points for points in one.points.values() if points is not None]
    return sum(found) if len(found) == len(one.points) else None


def shown(points: float | None) -> str:
    """Points as one writes them.

    >>> shown(2.0), shown(1.5), shown(None)
    ('2', '1.5', '')
    """
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


def table(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table that spreadsheets and platforms open."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(head)
        out.writerows(rows)


def plain(week: Week, graded: Sequence[Graded]) -> tuple[list[str], Iterator[list[str]]]:
    """Points and scores by exercise."""
    names = [one.name for one in week.exercises]
    scored = [name for name in names if any(one.grades[name].score is not None for one in graded)]
    head = ["student", "name", *names, "points", "of", "notes"]
    head += (f"score of {name}" for name in scored)

    def rows() -> Iterator[list[str]]:
        for one in graded:
            student = one.submission.student
            points = [shown(one.points[name]) for name in names]
            scores = [one.grades[name].score for name in scored]
            yield [
                student.key, student.name, *points, shown(total(one)), str(week.points),
                "; ".join(one.submission.notes),
                *("" if score is None else f"{score:g}" for score in scores),
            ]  # fmt: skip

    return head, rows()


def moodle(week: Week, graded: Sequence[Graded]) -> tuple[list[str], Iterator[list[str]]]:
    """What Moodle's page of an assignment takes back as its grading worksheet."""
    head = ["Identifier", "Full name", "Grade", "Maximum grade"]
    return head, (
        [f"Participant {s.number}", s.name, shown(total(one)), str(week.points)]
        for one in graded
        for s in [one.submission.student]
    )


def canvas(week: Week, graded: Sequence[Graded]) -> tuple[list[str], Iterator[list[str]]]:
    """What Canvas takes back as a gradebook."""
    assignment = f"Week {week.number}: {week.title}"
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment]
    return head, (
        [s.name, s.number, "", "", "", shown(total(one))]
        for one in graded
        for s in [one.submission.student]
    )


# Pages


def feedback(week: Week, one: Graded) -> str:
    """What a student reads: of each exercise the points and, where some are missing, why."""
    return page(f"Week {week.number}: {week.title}", "\n".join(feedback_body(week, one)))


def feedback_body(week: Week, one: Graded) -> Iterator[str]:
    """Its elements, in their order."""
    yield f"<h1>Week {week.number}: {escape(week.title)}</h1>"
    points = total(one)
    yield f"<p>{points_of(points, week.points)} in all.</p>"
    if one.submission.file:
        yield f"<p>Read from {escape(Path(one.submission.file).name)}.</p>"
    if one.submission.notes:
        yield f"<ul>{''.join(f'<li>{escape(note)}.</li>' for note in one.submission.notes)}</ul>"
    for exercise in week.exercises:
        came, worth = one.grades[exercise.name], one.points[exercise.name]
        yield f"<h2>Exercise {exercise.number}: {escape(exercise.title)}</h2>"
        yield f"<p>{points_of(worth, exercise.points)}.</p>"
        yield f"<p>{escape(sentence(came))}</p>"


def points_of(points: float | None, most: int) -> str:
    """Points out of the most that there are.

    >>> points_of(1.5, 4), points_of(None, 4)
    ('1.5 of 4 points', 'Not graded yet; 4 points')
    """
    return (
        f"{shown(points)} of {most} points"
        if points is not None
        else (f"Not graded yet; {most} points")
    )


def sentence(came: Grade) -> str:
    """What came of an answer, as a sentence for whoever wrote it."""
    if came.held and came.share is None:
        return f"{LATER}{came.symptom}"
    if came.held and came.share:
        return f"{WAITS}{came.symptom}"
    right = came.share == 1 or came.score is not None
    start = "Right: " if right else "Partly right: " if came.share else "Not yet: "
    return start + came.symptom


def report(week: Week, graded: Sequence[Graded], where: str, wrong: Sequence[str] = ()) -> str:
    """What a teacher reads."""
    elements = body(week, graded, where, wrong)
    return page(f"Week {week.number}: {week.title}, graded", "\n".join(elements))


def body(week: Week, graded: Sequence[Graded], where: str, wrong: Sequence[str]) -> Iterator[str]:
    """Its elements, in their order."""
    yield f"<h1>Week {week.number}: {escape(week.title)}</h1>"
    yield f"<p>{len(graded)} students. {escape(where)}</p>"
    yield from to_decide(week, graded, wrong)
    yield "<h2>Points</h2>"
    yield "<table><thead><tr><th>student</th>"
    for one in week.exercises:
        yield f'<th class="number" title="{escape(one.title)}">{one.number}</th>'
    yield '<th class="number">in all</th></tr></thead><tbody>'
    for student in graded:
        yield f"<tr><td>{escape(student.submission.student.name)}</td>"
        for one in week.exercises:
            why = escape(student.grades[one.name].symptom)
            points = shown(student.points[one.name]) or "?"
            yield f'<td class="number" title="{why}">{points}</td>'
        yield f'<td class="number">{shown(total(student)) or "?"}</td></tr>'
    most = "".join(f'<td class="number">{one.points}</td>' for one in week.exercises)
    yield f'<tr><td>of</td>{most}<td class="number">{week.points}</td></tr></tbody></table>'
    for exercise in week.exercises:
        yield from of_exercise(exercise, graded)


def to_decide(week: Week, graded: Sequence[Graded], wrong: Sequence[str]) -> Iterator[str]:
    """What a person has to look at."""
    titles = {one.name: f"exercise {one.number}, {one.title}" for one in week.exercises}
    found = [*wrong]
    for one in graded:
        name = one.submission.student.name
        found += [f"{name}: {note}." for note in one.submission.notes]
        for exercise, came in one.grades.items():
            if came.held:
                most = shown((came.share or 0) * dict(points(week))[exercise])
                worth = f" It would have {most} points." if came.share else ""
                found.append(f"{name}, {titles[exercise]}: {came.held}.{worth}")
            elif came.share is None and one.submission.cells:
                found.append(f"{name}, {titles[exercise]}: {came.symptom}")
    for exercise, names in alike(graded):
        found.append(f"{', '.join(names)}: the same answer to {titles[exercise]}.")
    if found:
        yield "<h2>To decide</h2>"
        yield (
            "<p>What is said to be taken or published has no points; what was refused unread or "
            "stops with a NameError is not graded, and its total stays open. To give points, write "
            "them into <code>decisions.csv</code> beside this page, with the columns student "
            "(as in grades.csv), exercise, points, and call once more.</p>"
        )
        yield f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in found)}</ul>"


def points(week: Week) -> list[tuple[str, int]]:
    """Each exercise's name and points."""
    return [(one.name, one.points) for one in week.exercises]


def alike(graded: Sequence[Graded]) -> list[tuple[str, tuple[str, ...]]]:
    """Exercises and the students who gave the same answer to it, but for names and comments."""
    found = {
        (exercise, tuple(sorted((one.submission.student.name, *others))))
        for one in graded
        for exercise, others in one.alike.items()
        if others
    }
    return sorted(found)


def of_exercise(exercise: Exercise, graded: Sequence[Graded]) -> Iterator[str]:
    """The symptoms of an exercise, counted, and the scores, if it has some."""
    yield f"<h2>{exercise.number}. {escape(exercise.title)}</h2>"
    said = Counter(kind(one.grades[exercise.name]) for one in graded)
    yield '<table><thead><tr><th class="number">students</th><th>what came</th></tr></thead><tbody>'
    for symptom, count in said.most_common():
        yield f'<tr><td class="number">{count}</td><td>{escape(symptom)}</td></tr>'
    yield "</tbody></table>"
    as_published = [one for one in graded if one.grades[exercise.name].published]
    if as_published:
        names = ", ".join(one.submission.student.name for one in as_published)
        yield f"<p>As published, which may be chance in so short an answer: {escape(names)}.</p>"
    scores = [
        (-score if came.lower else score, one.submission.student.name)
        for one in graded
        if (score := (came := one.grades[exercise.name]).score) is not None
    ]
    if scores:
        ordered = sorted(scores, key=lambda entry: (-entry[0], entry[1]))
        listed = "".join(f"<li>{escape(name)}: {abs(score):g}</li>" for score, name in ordered)
        yield f"<p>Scores, best first:</p><ol>{listed}</ol>"


def kind(came: Grade) -> str:
    """A symptom without its numbers, so that equal ones are counted together.

    >>> kind(Grade(0.0, "for 7 letters it should be 0.41."))
    'Not yet: for … letters it should be ….'
    >>> kind(Grade(1.0, "whatever is praised"))
    'Right'
    """
    right = came.share == 1 or came.score is not None
    return "Right" if right else re.sub(r"\d+(?:\.\d+)?", "…", sentence(came))
