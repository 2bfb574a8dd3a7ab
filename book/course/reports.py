"""What came of a week: for the teacher, for each student, and as tables."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from book.course.course import zipped
from book.course.course_page import render
from book.course.deadlines import Late
from book.course.homework import Exercise, Week
from book.course.submissions import RECEIPT, Student

WAITS = "Your teacher will look at this answer, and until then it has no points. The check says: "
"""Before the symptom of one that may be right and was held back."""

LATER = "Your teacher will look at this answer: "
"""Before that of one of which nothing is known yet."""


class Grade(NamedTuple):
    """What came of an answer to an exercise.

    Args:
        share: of the points, from 0 to 1; none where a person has to say.
        symptom: for the student, in words.
        held: for the teacher, why it gets no points though it may be right; empty if it is not odd.
        score: of an open exercise, if it has one.
        lower: whether a lower score is a better one.
        published: whether it is as published, but so short that many would write it.
        look: for the teacher, what is odd and has its points.
        right: whether all of it is right, whatever an open exercise pays for it.
        differs: for the teacher, what the notebook says where it says less.
    """

    share: float | None
    symptom: str
    held: str = ""
    score: float | None = None
    lower: bool = False
    published: bool = False
    look: str = ""
    right: bool = False
    differs: str = ""

    def paid(self, points: float) -> float | None:
        """Of so many points."""
        return None if self.share is None else self.share * points


class Graded(NamedTuple):
    """What came of what a student handed in."""

    student: Student
    files: tuple[str, ...]
    grades: dict[str, Grade]
    points: dict[str, float | None]
    alike: dict[str, tuple[str, ...]]
    """Exercise → the others whose answer is the same."""
    notes: tuple[str, ...] = ()
    late: Late = Late()
    receipt: dict[str, str] = {}
    """nbgrader's own files beside it, by their names."""
    numbers: dict[str, tuple[str, ...]] = {}
    """The digits that were typed as the student's own → the others who typed the same."""

    @property
    def odd(self) -> tuple[str, ...]:
        """All that is to be said of it, as sentences without their ends."""
        return self.notes + ((self.late.words,) if self.late.words else ())


def write(
    folder: Path, week: Week, graded: Sequence[Graded], where: str, wrong: Sequence[str] = ()
) -> None:
    """All files of a week's results, into an empty folder; `wrong` is what to mend in decisions."""
    (folder / "report.html").write_text(report(week, graded, where, wrong), "utf-8")
    head, rows = plain(week, graded)
    with (folder / "grades.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    for one in graded:
        there = folder / "feedback" / one.student.key
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
        if {*one.receipt} == {*RECEIPT} and one.files:
            there = folder / one.student.key / week.name
            there.mkdir(parents=True)
            page = there / Path(one.files[-1]).with_suffix(".html").name
            page.write_text(feedback(week, one), "utf-8")
            for name, content in one.receipt.items():
                (there / name).write_text(content, "utf-8")


# Tables


def total(one: Graded) -> float | None:
    """A student's points, without what comes off as late; none where something is open."""
    found = [points for points in one.points.values() if points is not None]
    return sum(found) * one.late.stays if len(found) == len(one.points) else None


def shown(points: float | None) -> str:
    """Points as one writes them.

    >>> shown(2.0), shown(1.5), shown(None)
    ('2', '1.5', '')
    """
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


def plain(week: Week, graded: Sequence[Graded]) -> tuple[list[str], list[list[str]]]:
    """Points and scores by exercise."""
    names = [one.name for one in week.exercises]
    scored = [name for name in names if any(one.grades[name].score is not None for one in graded)]
    head = ["student", "name", *names, "points", "of", "notes"]
    head += (f"score of {name}" for name in scored)
    rows = []
    for one in graded:
        points = [shown(one.points[name]) for name in names]
        scores = [one.grades[name].score for name in scored]
        rows.append([
            one.student.key, one.student.name, *points, shown(total(one)), str(week.points),
            "; ".join(one.odd),
            *("" if score is None else f"{score:g}" for score in scores),
        ])  # fmt: skip
    return head, rows


# Pages


def feedback(week: Week, one: Graded) -> str:
    """What a student reads: of each exercise the points and, where some are missing, why."""
    return render(
        "feedback.html",
        title=f"Week {week.number}: {week.title}",
        points=points_of(total(one), week.points),
        files=", ".join(dict.fromkeys(Path(file).name for file in one.files)),
        notes=one.odd,
        exercises=[
            (each, points_of(one.points[each.name], each.points), sentence(one.grades[each.name]))
            for each in week.exercises
        ],
    )


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
    start = "Right: " if came.right else "Partly right: " if came.share else "Not yet: "
    return start + came.symptom


def report(week: Week, graded: Sequence[Graded], where: str, wrong: Sequence[str] = ()) -> str:
    """What a teacher reads."""
    return render(
        "report.html",
        title=f"Week {week.number}: {week.title}, graded",
        week=week,
        graded=graded,
        where=where,
        decide=list(to_decide(week, graded, wrong)),
        look=list(to_look_at(week, graded)),
        rows=[
            (
                one.student.name,
                [(shown(one.points[e.name]) or "?", one.grades[e.name].symptom)
                 for e in week.exercises],
                shown(total(one)) or "?",
            )
            for one in graded
        ],
        exercises=[
            (each, counted(each, graded), as_published(each, graded), scores(each, graded))
            for each in week.exercises
        ],
    )  # fmt: skip


def to_decide(week: Week, graded: Sequence[Graded], wrong: Sequence[str]) -> Iterator[str]:
    """What a person has to decide."""
    titles = {one.name: f"exercise {one.number}, {one.title}" for one in week.exercises}
    most = {one.name: one.points for one in week.exercises}
    yield from wrong
    for one in graded:
        name = one.student.name
        yield from (f"{name}: {note}." for note in one.odd)
        for exercise, came in one.grades.items():
            if came.held and came.share:
                worth = f" It would have {shown(came.paid(most[exercise]))} points."
                yield f"{name}, {titles[exercise]}: {came.held}.{worth}"
            elif came.held:
                yield f"{name}, {titles[exercise]}: {came.held}; here: {came.symptom}"
            elif came.differs:
                yield f"{name}, {titles[exercise]}: {came.differs}. It has its points."
            elif came.share is None and one.files:
                yield f"{name}, {titles[exercise]}: {came.symptom}"


def to_look_at(week: Week, graded: Sequence[Graded]) -> Iterator[str]:
    """What has its points, and may be worth a look."""
    titles = {one.name: f"exercise {one.number}, {one.title}" for one in week.exercises}
    for one in graded:
        for exercise, came in one.grades.items():
            if came.look:
                yield f"{one.student.name}, {titles[exercise]}: {came.look}."
        if len(one.numbers) > 1:
            yield f"{one.student.name}: typed several numbers, {', '.join(one.numbers)}."
    for exercise, names in alike(graded, [one.alike for one in graded]):
        yield f"{', '.join(names)}: the same answer to {titles[exercise]}."
    chance = f"{len(graded) * (len(graded) - 1) / 2000:.1f}"
    for number, names in alike(graded, [one.numbers for one in graded]):
        yield (
            f"{', '.join(names)}: typed the same number, {number}. Of {len(graded)} students "
            f"{chance} pairs end in the same three digits by chance, on average."
        )


def alike(
    graded: Sequence[Graded], told: Sequence[Mapping[str, tuple[str, ...]]]
) -> list[tuple[str, tuple[str, ...]]]:
    """What several students have in common, as exercises, and who they are."""
    found = {
        (what, tuple(sorted((one.student.name, *others))))
        for one, theirs in zip(graded, told, strict=True)
        for what, others in theirs.items()
        if others
    }
    return sorted(found)


def counted(exercise: Exercise, graded: Sequence[Graded]) -> list[tuple[str, int]]:
    """The symptoms of an exercise, the most common first."""
    return Counter(kind(one.grades[exercise.name]) for one in graded).most_common()


def as_published(exercise: Exercise, graded: Sequence[Graded]) -> list[str]:
    """Who gave the published answer, where it is so short that many would write it."""
    return [one.student.name for one in graded if one.grades[exercise.name].published]


def scores(exercise: Exercise, graded: Sequence[Graded]) -> list[tuple[str, str]]:
    """The scores of an open exercise, best first."""
    found = [
        (-score if came.lower else score, one.student.name)
        for one in graded
        if (score := (came := one.grades[exercise.name]).score) is not None
    ]
    return [(name, f"{abs(score):g}") for score, name in sorted(found, key=lambda x: (-x[0], x[1]))]


def kind(came: Grade) -> str:
    """A symptom without its numbers, so that equal ones are counted together.

    >>> kind(Grade(0.0, "for 7 letters it should be 0.41."))
    'Not yet: for … letters it should be ….'
    >>> kind(Grade(1.0, "whatever is praised", right=True))
    'Right'
    """
    return "Right" if came.right else re.sub(r"\d+(?:\.\d+)?", "…", sentence(came))
