"""Marks as platforms and spreadsheets take them back.

A table that a platform gave is filled and otherwise left as it is, in its language, with its
separators and in its encoding. Moodle's grading worksheet: its first column ends in the
participant's number, and the grade stands left of the maximum, a number that is the same in every
row (mod/assign/gradingtable.php adds the one after the other). Canvas's gradebook: a column `ID`,
and one `Name (number)` for each assignment, with rows of its own above the students. Where a column
has students' own numbers, what they typed as theirs is held against it.
"""

import csv
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Font

from book.course import reports
from book.course.homework import Week
from book.course.reports import Graded
from book.site.dependencies import BookError

NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
OWN = re.compile(r"\bid\b|identi|matr", re.IGNORECASE)
"""What a column of students' own numbers is called, right of the platform's own and the name."""
ASSIGNMENT = re.compile(r"(.+) \((\d+)\)")

MORE = "more.csv"
"""Beside the weeks: what a teacher adds to the table of the course, by student."""


class Table(NamedTuple):
    """A table that a platform gave, and where in it what stands."""

    rows: list[list[str]]
    dialect: type[csv.Dialect]
    encoding: str
    who: int
    """The column that names a student."""
    grade: int
    most: float | None
    """What the platform takes for all points; none where it does not say."""
    comma: bool
    """Whether numbers have one."""


def read(path: Path, week: Week) -> Table:
    """A platform's table.

    Raises:
        BookError: it is none that can be filled.
    """
    content = path.read_bytes()
    encoding = next(way for way in encodings(content) if decodes(content, way))
    text = content.decode(encoding)
    first = text.splitlines()[0] if text else ""
    delimiter = max(",;\t", key=first.count)

    class Dialect(csv.excel):
        lineterminator = "\r\n" if "\r\n" in text else "\n"

    Dialect.delimiter = delimiter
    head, *rows = list(csv.reader(io.StringIO(text, newline=""), Dialect)) or [[]]
    if "ID" in head and "Section" in head:
        column, most = of_canvas(path, head, rows, week)
        comma = any(re.fullmatch(r"\d+,\d+", cell) for row in rows for cell in row)
        return Table([head, *rows], Dialect, encoding, head.index("ID"), column, most, comma)
    for i in range(len(head) - 1, 1, -1):
        (said, *others) = {row[i] for row in rows if len(row) == len(head)} or {""}
        if not others and NUMBER.fullmatch(said):
            worth = float(said.replace(",", "."))
            return Table([head, *rows], Dialect, encoding, 0, i - 1, worth, "," in said)
    raise BookError(
        f"{path} is neither Moodle's grading worksheet, which has a column with the maximum grade, "
        "nor Canvas's gradebook."
    )


def encodings(content: bytes) -> tuple[str, ...]:
    """In which ways a table may be written."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ("utf-16",)
    return ("utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else "utf-8", "cp1252", "latin-1")


def decodes(content: bytes, encoding: str) -> bool:
    """Whether it may be written so."""
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def of_canvas(
    path: Path, head: list[str], rows: list[list[str]], week: Week
) -> tuple[int, float | None]:
    """The column of a week in Canvas's gradebook, and its points."""
    named = {i: found[1] for i, name in enumerate(head) if (found := ASSIGNMENT.fullmatch(name))}
    asked = (f"week {week.number}:", week.title.lower(), f"week {week.number}", week.name)
    for words in asked:
        fits = [
            i for i, name in named.items() if re.search(rf"{re.escape(words)}(?!\d)", name.lower())
        ]
        if len(fits) == 1 or len(named) == 1:
            column = fits[0] if fits else next(iter(named))
            above = [row[column] for row in rows if not row[head.index("ID")].strip()]
            points = [cell.replace(",", ".") for cell in above if NUMBER.fullmatch(cell.strip())]
            return column, float(points[-1]) if points else None
    listed = ", ".join(named.values()) or "none"
    raise BookError(
        f"Which assignment of {path} is week {week.number}? Let its name have “Week {week.number}” "
        f"or the lesson's title; there are: {listed}."
    )


def fill(path: Path, there: Path, week: Week, graded: Sequence[Graded]) -> list[str]:
    """Write a platform's table with the points in it; says what could not be filled."""
    found = read(path, week)
    students = {one.student.number: one for one in graded if one.student.number}
    grades = {number: reports.total(one) for number, one in students.items()}
    own = next((i for i in range(2, found.grade) if OWN.search(found.rows[0][i])), None)
    scale = (found.most or week.points) / week.points
    said, known = [], set()
    for row in found.rows[1:]:
        number = re.search(r"(\d+)\s*$", row[found.who]) if len(row) > found.grade else None
        if number and number[1] in grades:
            known.add(number[1])
            points, one = grades[number[1]], students[number[1]]
            theirs = re.sub(r"\D", "", row[own])[-3:] if own else ""
            for typed in one.numbers if len(theirs) == 3 else ():
                if typed != theirs:
                    who = f"{one.student.name} typed the number {typed}"
                    said.append(f"{who}, and {path.name} has one that ends in {theirs}")
            if points is not None:
                worth = f"{points * scale:.2f}"
                row[found.grade] = worth.replace(".", ",") if found.comma else worth
    if scale != 1:
        said.append(
            f"{path.name} has {found.most:g} points, the week {week.points}: all are scaled"
        )
    for one in graded:
        if one.student.number not in known:
            said.append(f"{path.name} has no {one.student.name}")
        elif grades[one.student.number] is None:
            said.append(f"{path.name} is not filled for {one.student.name}: something is to decide")
    out = io.StringIO(newline="")
    csv.writer(out, found.dialect).writerows(found.rows)
    there.write_bytes(out.getvalue().encode(found.encoding))
    return said


# Spreadsheets


def workbook(sheets: Mapping[str, Sequence[Sequence[str]]], path: Path) -> None:
    """Write tables as a spreadsheet: what is a number as one, what looks like a formula as text."""
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(re.sub(r"[\[\]:*?/\\]", " ", title)[:31])
        for y, row in enumerate(rows, 1):
            for x, told in enumerate(row, 1):
                cell = sheet.cell(y, x)
                if y > 1 and x > 2 and re.fullmatch(r"-?\d+(\.\d+)?", told):
                    cell.value = float(told)
                else:
                    cell.value = ILLEGAL_CHARACTERS_RE.sub("", told)
                    cell.data_type = "s"
                cell.font = Font(bold=y == 1)
        sheet.freeze_panes = "C2"
    book.save(path)


def write_course(folder: Path) -> None:
    """The table of all weeks, with what a teacher has added: readings, a project, an exam."""
    from book.course.grading import table

    head, students = ["student", "name"], dict[str, dict[str, str]]()
    sources = sorted(
        folder.glob("week-*/grades.csv"), key=lambda path: int(path.parent.name.split("-")[1])
    )
    for path in (*sources, *filter(Path.is_file, [folder / MORE])):
        (_, names), *rows = table(path.read_bytes())
        week = path.parent.name.split("-")[1] if path.name != MORE else ""
        columns = {"points": f"week {week}"} if week else {n: n for n in names if n != "student"}
        head += [name for name in columns.values() if name not in head]
        for _, row in rows:
            told = dict(zip(names, row, strict=False))
            key = told.get("student", "")
            # A platform numbers the same person for each assignment anew: a name joins them.
            who = f"{told.get('name') or key}".casefold()
            mine = students.setdefault(who, {"student": key, "name": told.get("name", key)})
            mine |= {columns[name]: told.get(name, "") for name in columns}
    lines = [[*head, "in all"]]
    for _, mine in sorted(students.items()):
        cells = [mine.get(name, "") for name in head]
        numbers = [float(cell.replace(",", ".")) for cell in cells[2:] if NUMBER.fullmatch(cell)]
        lines.append([*cells, f"{sum(numbers):g}"])
    workbook({"Course": lines}, folder / "course.xlsx")


# nbgrader


def into_gradebook(folder: Path, week: Week, graded: Sequence[Graded]) -> None:
    """Enter the points into nbgrader's own gradebook, each exercise as a cell of the sheet."""
    from nbgrader.api import Gradebook

    # A new one is made by a command of the same environment, which is perhaps not activated.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    with Gradebook(f"sqlite:///{(folder / 'gradebook.db').resolve()}") as book:
        sheet = f"week-{week.number}-homework"
        book.update_or_create_assignment(week.name)
        book.update_or_create_notebook(sheet, week.name)
        for exercise in week.exercises:
            settings = {"max_score": exercise.points, "cell_type": "code"}
            book.update_or_create_grade_cell(exercise.name, sheet, week.name, **settings)
        for one in graded:
            if one.student.platform != "nbgrader":
                continue
            book.update_or_create_student(one.student.key)
            book.update_or_create_submission(week.name, one.student.key)
            for name, points in one.points.items():
                grade = book.find_grade(name, sheet, week.name, one.student.key)
                grade.manual_score = None if points is None else points * one.late.stays
                grade.needs_manual_grade = points is None
        book.db.commit()
