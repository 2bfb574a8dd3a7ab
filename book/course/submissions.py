"""What was handed in, whatever a learning platform made of it.

Moodle      a zip, in which each student has a folder, or each file the student's name before it:
            Ada Lovelace_1234567_assignsubmission_file_/homework.ipynb
Canvas      a zip of files: lovelaceada_LATE_4711_815_homework-1.ipynb
nbgrader    the folder `submitted`: ada/week-1-…/week-1-homework.ipynb
anything    a folder or a zip in which each student has a folder, or a file

A sheet is known by what stands in it: its file may have any name, and a student may hand in others
beside it, or a zip. What a page of the site saves of its answers counts as one.

What a student hands in can stop nothing but that student's own row: `Box` reads each file within
limits, and whatever goes wrong there, in whatever file, is a sentence of that row.
"""

import functools
import hashlib
import io
import json
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any, NamedTuple

from book.course import answers
from book.course.homework import SHEET, Exercise, Week
from book.site.dependencies import BookError

MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?P<kind>file|[a-z]+)_?(?P<file>.*)"
)
CANVAS = re.compile(
    r"(?P<name>[^_]+)_(?:LATE_)?(?P<number>\d+)_(?:\d+_(?P<file>.+)|(?P<typed>(?:text|link)\.html))"
)
TYPED = "was typed into the learning platform. It is not read: answers come in a notebook"
RECEIPT = ("timestamp.txt", "submission_secret.txt")
"""What nbgrader puts beside a sheet that was handed in, and wants beside the feedback."""

HANDED_OUT = re.compile(r"week-\d+-(?!homework)\w+\.ipynb|README\.txt|LICENSE|.+\.whl")
"""What stands beside a sheet from the beginning: nbgrader collects the whole folder."""

LARGEST = 50 * 2**20
"""Bytes of a file; nobody writes a larger notebook by hand."""

ROOM = 4 * LARGEST
"""Bytes of all files of a student, as they are read and not as a zip says that they are."""

MOST = 300
"""Files of a student."""

DEEPEST = 4
"""Zips in one another."""

NOTES = 12
"""Sentences on what a student handed in."""

LONGEST = 200
"""Bytes of a name, which is to be one of a folder: systems have 255."""

CELLS, LINES, MUCH = 1000, 3000, 300_000
"""Cells of a notebook, lines of its code, and characters of that."""

PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""How files of a zip may be packed. The others Python cannot read, or not in small pieces."""

OTHERWISE_PACKED = "is packed in a way that is not read here. Pack it as an ordinary zip"


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
    above: dict[str, tuple[str, ...]] = {}
    """Exercise → what its answer needs of the notebook's other cells."""


class Cell(NamedTuple):
    """A cell of a notebook, by what it can be known by."""

    names: frozenset[str]
    source: str
    is_code: bool


class Answer(NamedTuple):
    """An exercise's answer as it stands in a notebook, and what is odd about its place."""

    source: str
    above: tuple[str, ...]
    notes: tuple[str, ...]


class Sheet(NamedTuple):
    """A notebook that was read."""

    file: str
    told: str | None
    """Which week's it says that it is."""
    answers: dict[str, Answer]
    changed: int


class UnreadError(Exception):
    """What is wrong with a file, as the end of a sentence that begins with its name."""


def read(source: Path, week: Week) -> list[Submission]:
    """What each student handed in for a week, in the order of their names.

    Raises:
        BookError: there is nothing to read.
    """
    if not source.exists():
        raise BookError(f"There is no {source}.")
    found: dict[str, Box] = {}
    for name, opened in listed(source):
        path = parts(name)
        left = is_hidden(path) or (is_left(path) and len(path) < 2)
        if not left and not of_another_week(path, week):
            student, file, typed = whose(path, week)
            box = found.setdefault(student.key, Box(student, week))
            box.student = max(box.student, student, key=lambda one: one.platform)
            if typed:
                box.notes.append(f"{file} {TYPED}")
            elif not is_left(path):  # who has nothing but what was handed out has a row, too
                box.take(file, opened)
    if not found:
        raise BookError(f"In {source} is nothing that a student could have handed in.")
    return [found[key].chosen() for key in sorted(found)]


# Names


def listed(source: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The name of each file in a folder or a zip, and what reads it.

    Raises:
        BookError: a zip cannot be read at all.
    """
    if source.is_dir():
        for path in leaves({path: path.relative_to(source) for path in source.rglob("*")}):
            yield path.relative_to(source).as_posix(), functools.partial(of_disk, path)
    elif zipfile.is_zipfile(source) or source.suffix == ".zip":
        try:
            archive = zipfile.ZipFile(source)
        except Exception as error:
            raise BookError(f"{source} is no whole zip ({error}). Fetch it once more.") from error
        with archive:
            for entry in members(archive):
                yield name_of(entry), functools.partial(of_zip, archive, entry, LARGEST)
    else:
        yield source.name, functools.partial(of_disk, source)


def members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """What is in a zip."""
    return leaves({entry: PurePosixPath(entry.filename) for entry in archive.infolist()})


def leaves(paths: dict[Any, PurePath]) -> list[Any]:
    """The keys of paths, in their order, without folders that others are in."""
    above = {parent for path in paths.values() for parent in path.parents}
    return [
        key for key in sorted(paths, key=lambda key: str(paths[key])) if paths[key] not in above
    ]


def name_of(entry: zipfile.ZipInfo) -> str:
    """The name of a file in a zip; one that does not say so may be in UTF-8 as well."""
    if not entry.flag_bits & 0x800:
        try:
            return entry.filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return entry.filename


def parts(name: str) -> tuple[str, ...]:
    r"""A path's parts, none of which leads out of a folder; a name of two spellings in one.

    >>> parts("../../ada\\x.ipynb"), parts("/etc/Mu\u0308ller\n")
    (('ada', 'x.ipynb'), ('etc', 'M\xfcller%0A'))
    """
    split = re.split(r"[/\\]", unicodedata.normalize("NFC", name))
    return tuple(printable(part) for part in split if part not in ("", ".", ".."))


def printable(text: str) -> str:
    r"""A text without what cannot be shown or written to a file, which is told by its number.

    >>> printable("a\nb\ud800")
    'a%0Ab%D800'
    """
    return "".join(
        f"%{ord(c):02X}" if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in text
    )


def short(name: str) -> str:
    """A name that a folder can have; one that is cut ends in what tells it from others."""
    content = name.encode()
    if len(content) <= LONGEST:
        return name
    mark = hashlib.sha256(content).hexdigest()[:8]
    return f"{content[: LONGEST - 9].decode(errors='ignore')}-{mark}"


def is_left(path: tuple[str, ...]) -> bool:
    """Whether a file is one that systems, notebooks and the course put beside a sheet."""
    return not path or is_hidden(path) or HANDED_OUT.fullmatch(path[-1]) is not None


def is_hidden(path: tuple[str, ...]) -> bool:
    """Whether a file is one that nobody sees."""
    return any(part.startswith((".", "__MACOSX")) for part in path)


def of_another_week(path: tuple[str, ...], week: Week) -> bool:
    """Whether a file stands where nbgrader collects the homework of another week."""
    found = re.fullmatch(r"week-(\d+)-[a-z0-9-]+", path[1]) if len(path) > 1 else None
    return found is not None and int(found[1]) != week.number


def whose(path: tuple[str, ...], week: Week) -> tuple[Student, str, bool]:
    """Who handed in a file, what the student called it, and whether the platform made it.

    What was typed into a platform, a text or a link, it hands out as a page.
    """
    if len(path) > 1 and not is_platforms(path[0]) and is_platforms(path[1]):
        path = path[1:]  # somebody has packed it again, with a folder around all
    if found := MOODLE.fullmatch(path[0]):
        # It takes feedback back from folders that are called as the ones that it gave.
        key = short(f"{found['name']}_{found['number']}_assignsubmission_file_")
        student = Student(key, found["name"], found["number"], "moodle")
        file = "/".join([found["file"], *path[1:]]).strip("/") or path[0]
        return student, file, found["kind"] != "file"
    if found := CANVAS.fullmatch(path[0]):
        key = short(f"{found['name']}_{found['number']}")
        student = Student(key, found["name"], found["number"], "canvas")
        file = "/".join([found["file"] or found["typed"], *path[1:]])
        return student, file, found["typed"] is not None
    if len(path) > 2 and path[1] == week.name:
        return Student(short(path[0]), path[0], "", "nbgrader"), path[-1], False
    name = path[0] if len(path) > 1 else PurePosixPath(path[0]).stem
    return Student(short(name), name, "", ""), path[-1], False


def is_platforms(name: str) -> bool:
    """Whether a learning platform has given a name like this."""
    return any(pattern.fullmatch(name) for pattern in (MOODLE, CANVAS))


# Files


def of_disk(path: Path) -> bytes:
    """A file of a folder."""
    kind = path.lstat().st_mode
    if not stat.S_ISREG(kind):
        what = "a link" if stat.S_ISLNK(kind) else "a folder" if stat.S_ISDIR(kind) else "no file"
        raise UnreadError(f"is {what}, and not read")
    with path.open("rb") as file:
        return whole(file, LARGEST)


def of_zip(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes:
    """A file of a zip, of which the zip may say what it likes."""
    if entry.is_dir() or stat.S_ISLNK(entry.external_attr >> 16):
        raise UnreadError(f"is a {'folder' if entry.is_dir() else 'link'}, and not read")
    if entry.flag_bits & 0x1:
        raise UnreadError("is locked by a password. Hand it in without one")
    if entry.compress_type not in PACKED:
        raise UnreadError(OTHERWISE_PACKED)
    with archive.open(entry) as file:
        return whole(file, max(0, min(LARGEST, room)))


def whole(file: IO[bytes], most: int) -> bytes:
    """All of a file, if it has no more bytes than these."""
    content = file.read(most + 1)
    if len(content) > most:
        raise UnreadError(
            f"is too large: of a file {LARGEST >> 20} MB are read, of all {ROOM >> 20}"
        )
    return content


def why(error: Exception) -> str:
    """What is wrong with a file, from what happened when it was read."""
    match error:
        case UnreadError():
            return str(error)
        case zipfile.BadZipFile() | zlib.error() | EOFError():
            return "is damaged. Save it once more, and hand that in"
        case NotImplementedError():  # what zipfile says of a zip that it cannot read
            return OTHERWISE_PACKED
        case RecursionError() | MemoryError():
            return "is no notebook: what is in it is nested too deep, or too much"
        case ValueError():
            return "is no notebook"
        case OSError(strerror=said):
            return f"cannot be read: {said}"
    return f"cannot be read ({type(error).__name__})"


class Box:
    """What one student has handed in, read file by file."""

    def __init__(self, student: Student, week: Week) -> None:
        self.student, self.week = student, week
        self.sheets: list[Sheet] = []
        self.notes: list[str] = []
        self.receipt: dict[str, bytes] = {}
        self.room, self.files = ROOM, 0

    def take(self, file: str, opened: Callable[[], bytes], depth: int = 0) -> None:
        """Read a file, or those in it if it is a zip. Whatever goes wrong is noted."""
        self.files += 1
        if self.files > MOST:
            if self.files == MOST + 1:
                self.notes.append(f"only the first {MOST} files are read")
            return
        try:
            content = opened()
            self.room -= len(content)
            if content[:2] == b"PK" or zipfile.is_zipfile(io.BytesIO(content)):
                self.unpack(file, content, depth + 1)
            elif self.student.platform == "nbgrader" and file in RECEIPT:
                self.receipt[file] = content
            else:
                self.sort(read_sheet(file, content, self.week))
        except Exception as error:  # whatever it is: the others are read
            self.notes.append(f"{file} {why(error)}")

    def unpack(self, file: str, content: bytes, depth: int) -> None:
        """Take what is in a zip."""
        if depth > DEEPEST:
            raise UnreadError("is a zip in too many others")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in members(archive):
                path = parts(name_of(entry))
                if not is_left(path):
                    opened = functools.partial(of_zip, archive, entry, self.room)
                    self.take(path[-1], opened, depth)

    def sort(self, sheet: Sheet) -> None:
        """Keep a notebook, or say whose it is."""
        if sheet.told not in (None, self.week.name):
            self.notes.append(f"{sheet.file} is the homework of {sheet.told}")
        elif not sheet.answers:
            self.notes.append(f"{sheet.file} has none of this week's exercises")
        else:
            self.sheets.append(sheet)

    def chosen(self) -> Submission:
        """Of all notebooks the one that says that it is the week's, or else looks like it.

        Of two, the one with more answers.
        """
        if not self.sheets:
            return self.submission("", {}, "no homework of this week was found")
        best = max(self.sheets, key=lambda one: (one.told is not None, one.changed, one.file))
        others = [one.file for one in self.sheets if one is not best]
        said = [f"{other} is another; {best.file} counts" for other in others]
        odd = [note for answer in best.answers.values() for note in answer.notes]
        return self.submission(best.file, best.answers, *said, *odd)

    def submission(self, file: str, found: dict[str, Answer], *notes: str) -> Submission:
        """What is graded, with all that is to be said, if that is not too much."""
        said = list(dict.fromkeys(printable(note)[:300] for note in (*self.notes, *notes)))
        if len(said) > NOTES:
            said = [*said[:NOTES], f"and {len(said) - NOTES - 1} things more", said[-1]]
        cells = {name: answer.source for name, answer in found.items()}
        above = {name: answer.above for name, answer in found.items() if answer.above}
        return Submission(self.student, file, cells, tuple(said), self.receipt, above)


# Notebooks


def read_sheet(file: str, content: bytes, week: Week) -> Sheet:
    """A notebook, or what a page of the site has saved.

    Raises:
        Exception: it is neither; see `why`.
    """
    found = json.loads(content)
    told, cells = read_saved(found, week) if at(found, "exercises") else read_notebook(found)
    given = dict(found_answers(cells, week))
    changed = sum(not untouched(given[e.name].source, e) for e in week.exercises if e.name in given)
    return Sheet(file, told, given, changed)


def at(found: object, *names: str) -> object:
    """What stands in objects of objects under these names; none where there is no such thing."""
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def listing(found: object, name: str) -> list[object]:
    """A list that a notebook has to have."""
    these = at(found, name)
    if not isinstance(these, list):
        raise UnreadError("is no notebook")
    return these


def read_notebook(found: object) -> tuple[str | None, list[Cell]]:
    """The week that a notebook names, and its cells. What is no cell has no answer."""
    told = at(found, "metadata", SHEET, "week")
    cells, these = [], listing(found, "cells")
    if len(these) > CELLS:
        raise UnreadError(f"has more than {CELLS:,} cells. Hand in the homework alone")
    for each in these:
        source = at(each, "source")
        lines = source if isinstance(source, list) else [source]
        names = at(each, "metadata", "nbgrader", "grade_id"), at(each, "id")
        cells.append(
            Cell(
                frozenset(name for name in names if isinstance(name, str)),
                "".join(line for line in lines if isinstance(line, str)),
                at(each, "cell_type") == "code",
            )
        )
    return told if isinstance(told, str) else None, cells


def read_saved(found: object, week: Week) -> tuple[str, list[Cell]]:
    """The same of the answers that a page of the site has saved."""
    cells, lesson = [], at(found, "lesson")
    for each in listing(found, "exercises"):
        name, source = at(each, "name"), at(each, "answer")
        if isinstance(name, str) and isinstance(source, str):
            cells.append(Cell(frozenset({name}), source, True))
    if not cells or not isinstance(lesson, str):
        raise UnreadError("is no notebook")
    return week.name if lesson == week.stem else lesson, cells


def found_answers(cells: list[Cell], week: Week) -> Iterator[tuple[str, Answer]]:
    """Each exercise's name and answer.

    A cell is known by nbgrader's name for it or by its id; one that has neither, as after some
    programs or where a student has added it, by what it defines and the exercise below which it
    stands. What is as it was handed out counts least; then what the exercise's check finds there.
    """
    codes = [answers.code(cell.source) for cell in cells]
    code = "\n".join(codes[i] for i, cell in enumerate(cells) if cell.is_code)
    if len(code) > MUCH or len(re.findall("[;\n]", code)) > LINES:
        most = f"{LINES:,} lines of code, or {MUCH:,} characters"
        raise UnreadError(f"has more than {most}. Hand in the homework alone")
    places, here = [], ""
    for cell in cells:
        here = next((one.name for one in week.exercises if is_of(cell, one)), here)
        places.append(here)
    asked = {one.name: answers.given(one.stub) for one in week.exercises}
    setups = answers.statements(text for one in week.exercises for text in (one.setup, one.stub))
    steps = [
        answers.steps(code) if cell.is_code else [] for code, cell in zip(codes, cells, strict=True)
    ]
    for one in week.exercises:
        name = asked[one.name]
        gives = [any(name in step.gives for step in these) for these in steps]
        last = max((i for i, cell in enumerate(cells) if is_check(cell, one)), default=len(cells))
        named = [i for i, cell in enumerate(cells) if one.name in cell.names]
        alone = [*asked.values()].count(name) == 1
        free = [
            i for i, cell in enumerate(cells)
            if gives[i] and not cell.names & {*asked} and (alone or places[i] in ("", one.name))
        ]  # fmt: skip
        if not named and not free:
            continue
        best = max(
            (*named, *free),
            key=lambda i: (not untouched(codes[i], one), gives[i], cells[i].is_code, i <= last, i),
        )
        others = [
            step for i, these in enumerate(steps[: last + 1]) if i != best
            for step in these if step.source not in setups
        ]  # fmt: skip
        above = answers.helpers(codes[best], others)
        odd = tuple(oddities(one, codes, cells[best], best, named))
        yield one.name, Answer(codes[best], above, odd)


def is_of(cell: Cell, one: Exercise) -> bool:
    """Whether a cell is one of those that an exercise was handed out with."""
    known = any(name.startswith(f"{one.name}-") or name == one.name for name in cell.names)
    return known or is_check(cell, one) or (not cell.is_code and one.head() in cell.source)


def is_check(cell: Cell, one: Exercise) -> bool:
    """Whether a cell tries an exercise's answer."""
    return cell.is_code and (f"{one.name}-check" in cell.names or one.check.strip() in cell.source)


def oddities(
    one: Exercise, codes: list[str], cell: Cell, best: int, named: list[int]
) -> Iterator[str]:
    """What a teacher and the student may want to know of where an answer was found."""
    if untouched(codes[best], one):
        return
    if not cell.is_code:
        yield f"the answer to exercise {one.number} stands in a cell of text, and is read"
    if named and best not in named:
        yield f"the answer to exercise {one.number} is read from another cell than its own"
    if any(i > best and untouched(codes[i], one) for i in named):
        yield f"below the answer to exercise {one.number} stands an empty copy, which is left out"


def untouched(source: str, exercise: Exercise) -> bool:
    """Whether a cell is still as it was handed out, or empty."""
    return not source.strip() or source.split() == exercise.stub.split()
