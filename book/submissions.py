"""What was handed in, whatever a learning platform made of it.

Moodle      a zip, in which each student has a folder, or each file the student's name before it:
            Ada Lovelace_1234567_assignsubmission_file_/homework.ipynb
Canvas      a zip of files: lovelaceada_LATE_4711_815_homework-1.ipynb
nbgrader    the folder `submitted`: ada/week-1-…/week-1-homework.ipynb
anything    a folder or a zip in which each student has a folder, or a file

A sheet is known by what stands in it: its file may have any name, and a student may hand in others
beside it, or a zip. What a page of the site saves of its answers counts as one.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import answers
from dependencies import BookError
from homework import SHEET, Exercise, Week

MOODLE = re.compile(r"(?P<name>[^/]+?)_(?P<number>\d+)_assignsubmission_file_?(?P<file>.*)")
CANVAS = re.compile(r"(?P<name>[^/_]+)_(?:LATE_)?(?P<number>\d+)_\d+_(?P<file>[^/]+)")
RECEIPT = ("timestamp.txt", "submission_secret.txt")
"""What nbgrader puts beside a sheet that was handed in, and wants beside the feedback."""

HANDED_OUT = re.compile(r"week-\d+-(lesson|evidence)\.ipynb|README\.txt|LICENSE|.+\.whl")
"""What stands beside a sheet from the beginning: nbgrader collects the whole folder."""

LARGEST = 50 * 2**20
"""Bytes of a file; nobody writes a larger notebook by hand."""


class Student(NamedTuple):
    """Who handed in, as the platform tells it."""

    key: str
    """What a folder for the student is called: as the platform's own, so that it takes it back."""
    name: str
    number: str
    platform: str


class Submission(NamedTuple):
    """What a student handed in: the source of each exercise's cell, and what is odd about it."""

    student: Student
    file: str
    cells: dict[str, str]
    notes: tuple[str, ...]
    receipt: dict[str, bytes] = {}
    """nbgrader's own files beside it, by their names."""


def read(source: Path, week: Week) -> list[Submission]:
    """What each student handed in for a week, in the order of their names.

    Raises:
        BookError: there is nothing to read.
    """
    if not source.exists():
        raise BookError(f"There is no {source}.")
    found: dict[Student, list[tuple[str, bytes]]] = {}
    for name, content in entries(source):
        path = PurePosixPath(name)
        if of_another_week(path, week):
            continue
        student, file = whose(path, week)
        found.setdefault(student, []).append((file, content))
    if not found:
        raise BookError(f"In {source} is nothing that a student could have handed in.")
    return [chosen(student, found[student], week) for student in sorted(found)]


def entries(source: Path) -> Iterator[tuple[str, bytes]]:
    """Path and content of each file in a folder or a zip, and in the zips that are in it."""
    if source.is_dir():
        for path in sorted(source.rglob("*")):
            if path.is_file() and path.stat().st_size <= LARGEST:
                yield from unpacked(path.relative_to(source).as_posix(), path.read_bytes())
    else:
        yield from unpacked("", source.read_bytes())


def unpacked(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """A file, or the files in it if it is a zip; not what systems and notebooks put beside."""
    parts = PurePosixPath(name).parts
    if any(part.startswith((".", "__MACOSX")) for part in parts):
        return
    if parts and HANDED_OUT.fullmatch(parts[-1]):
        return
    if not zipfile.is_zipfile(io.BytesIO(content)):
        yield name, content
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            if not entry.is_dir() and entry.file_size <= LARGEST:
                inside = f"{name}/{entry.filename}" if name else entry.filename
                yield from unpacked(inside, archive.read(entry))


def of_another_week(path: PurePosixPath, week: Week) -> bool:
    """Whether a file stands where nbgrader collects the homework of another week."""
    found = re.match(r"week-(\d+)-", path.parts[1]) if len(path.parts) > 2 else None
    return found is not None and int(found[1]) != week.number


def whose(path: PurePosixPath, week: Week) -> tuple[Student, str]:
    """Who handed in a file, and what the student called it."""
    for platform, pattern in (("moodle", MOODLE), ("canvas", CANVAS)):
        if found := pattern.fullmatch(path.parts[0]):
            # Moodle takes feedback back from folders that are called as the ones that it gave.
            behind = "assignsubmission_file_" if platform == "moodle" else ""
            key = "_".join(part for part in (found["name"], found["number"], behind) if part)
            file = "/".join([found["file"], *path.parts[1:]]).strip("/")
            return Student(key, found["name"], found["number"], platform), file
    if len(path.parts) > 2 and path.parts[1] == week.name:
        return Student(path.parts[0], path.parts[0], "", "nbgrader"), path.name
    name = path.parts[0] if len(path.parts) > 1 else path.stem
    return Student(name, name, "", ""), path.name


def chosen(student: Student, files: list[tuple[str, bytes]], week: Week) -> Submission:
    """Of a student's files the one that says that it is the week's sheet, or else looks like it.

    Of two, the one with more answers.
    """
    sheets, notes, receipt = [], [], {}
    for file, content in files:
        if student.platform == "nbgrader" and file in RECEIPT:
            receipt[file] = content
            continue
        notebook = read_notebook(content) or read_saved(content, week)
        if notebook is None:
            notes.append(f"{file} is no notebook")
            continue
        told = notebook["metadata"].get(SHEET, {}).get("week")
        cells = sources(notebook, week)
        if told not in (None, week.name):
            notes.append(f"{file} is the homework of {told}")
        elif not cells:
            notes.append(f"{file} has none of this week's exercises")
        else:
            changed = sum(not untouched(cells.get(e.name, ""), e) for e in week.exercises)
            sheets.append((told is not None, changed, file, cells))
    if not sheets:
        return Submission(student, "", {}, (*notes, "no homework of this week was found"), receipt)
    *_, file, cells = max(sheets, key=lambda sheet: sheet[:3])
    notes += [f"{other} is another; {file} counts" for *_, other, _ in sheets if other != file]
    return Submission(student, file, cells, tuple(notes), receipt)


def read_notebook(content: bytes) -> dict[str, Any] | None:
    """A notebook, or none if it is something else."""
    try:
        found = json.loads(content)
        whole = isinstance(found["cells"], list) and isinstance(found["metadata"], dict)
    except (ValueError, KeyError, TypeError):
        return None
    return found if whole else None


def read_saved(content: bytes, week: Week) -> dict[str, Any] | None:
    """The answers that a page of the site has saved, as a notebook, or none."""
    try:
        found = json.loads(content)
        cells = [
            {"cell_type": "code", "id": str(each["name"]), "source": str(each["answer"])}
            for each in found["exercises"]
        ]
        lesson = found["lesson"]
    except (ValueError, KeyError, TypeError):
        return None
    told = week.name if lesson == week.stem else str(lesson)
    return {"metadata": {SHEET: {"week": told}}, "cells": cells}


def sources(notebook: dict[str, Any], week: Week) -> dict[str, str]:
    """The source of each exercise's cell, by the exercise's name.

    A cell is known by nbgrader's name for it or by its id; where a program has taken both, by the
    function that it defines, the last one that does.
    """
    cells = [cell for cell in notebook["cells"] if cell.get("cell_type") == "code"]
    found = {}
    for one in week.exercises:
        name = answers.given(one.stub)
        named = [cell for cell in cells if one.name in names_of(cell)]
        defines = [cell for cell in cells if answers.gives(answers.code(text(cell)), name)]
        if those := named or defines:
            found[one.name] = answers.code(text(those[-1]))
    return found


def names_of(cell: dict[str, Any]) -> set[str]:
    """By what a cell of a sheet can be known."""
    return {cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", ""), cell.get("id", "")}


def text(cell: dict[str, Any]) -> str:
    """A cell's source, which a file has as a string or as its lines."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def untouched(source: str, exercise: Exercise) -> bool:
    """Whether a cell is still as it was handed out, or empty."""
    return not source.strip() or source.split() == exercise.stub.split()
