"""Reads what a student handed in, file by file, within limits; whatever goes wrong is a sentence.

This runs in the process of one student. A notebook is read for its cells and for what it says of
them itself; what a page of the site saves of its answers counts as one, and so does a program of
Python that was made of a notebook.
"""

import functools
import html
import io
import json
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import IO, NamedTuple

from book.course import inspection
from book.course.homework import SHEET, Exercise, Week
from book.course.submissions import RECEIPT, Place, is_left, leaves, name_of, parts

TYPED = "was typed into the learning platform, and is shown and not read: “{}”"
SHOWN = 300
"""Characters of it."""

LARGEST = 50 * 2**20
"""Bytes of a file; nobody writes a larger notebook by hand."""
ROOM = 4 * LARGEST
"""Bytes of all files of a student, as they are read and not as a zip says that they are."""
BESIDE = 2**20
"""Bytes of a file that a notebook may find beside it."""
MOST = 300
"""Files of a student."""
DEEPEST = 4
"""Zips in one another."""
CELLS, MUCH = 1000, 2_000_000
"""Cells of a notebook, and characters of its code."""

KINDS = {
    "pdf": b"%PDF", "rar": b"Rar!", "7z": b"7z\xbc\xaf", "png": b"\x89PNG", "jpg": b"\xff\xd8\xff",
    "html": b"<", "doc": b"\xd0\xcf\x11\xe0",
}  # fmt: skip
"""How files begin that are handed in for a notebook."""

VERDICT = re.compile(r"^(Right|Not yet)(?: \((\d+)% of the points\))?: .*", re.MULTILINE)
"""What a check says."""


class Cell(NamedTuple):
    """A cell of a notebook, by what it can be known by."""

    names: frozenset[str]
    source: str
    is_code: bool
    shown: str = ""
    """What it has printed and shown, as text."""


class Says(NamedTuple):
    """What a notebook says itself of an answer."""

    share: float
    words: str


class Sheet(NamedTuple):
    """A notebook that was read."""

    file: str
    cells: tuple[Cell, ...]
    says: dict[str, Says]
    """By the check that says it."""


class UnreadError(Exception):
    """What is wrong with a file, as the end of a sentence that begins with its name."""


class Box:
    """What one student has handed in, read file by file."""

    def __init__(self, week: Week) -> None:
        self.week = week
        self.sheets: list[Sheet] = []
        self.notes: list[str] = []
        self.receipt: dict[str, str] = {}
        self.beside: dict[str, bytes] = {}
        self.room, self.files = ROOM, 0

    def fetch(self, place: Place) -> None:
        """Read a file where it is."""
        if place.entry is None:
            self.take(place.file, functools.partial(of_disk, Path(place.source)), place.typed)
            return
        with zipfile.ZipFile(place.source) as archive:
            entry = archive.infolist()[place.entry]
            self.take(place.file, lambda: of_zip(archive, entry, LARGEST), place.typed)

    def take(
        self, file: str, opened: Callable[[], bytes], typed: bool = False, depth: int = 0
    ) -> None:
        """Read a file, or those in it if it is a zip. Whatever goes wrong is noted."""
        self.files += 1
        if self.files > MOST:
            if self.files == MOST + 1:
                self.notes.append(f"only the first {MOST} files are read")
            return
        try:
            content = opened()
            self.room -= len(content)
            if typed:
                self.notes.append(f"{file} {TYPED.format(plain(content))}")
            elif file in RECEIPT:
                self.receipt[file] = content.decode()
            elif content[:2] == b"PK" or zipfile.is_zipfile(io.BytesIO(content)):
                self.unpack(file, content, depth + 1)
            elif file.endswith((".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")):
                self.untar(file, content, depth + 1)
            else:
                self.sort(file, content)
        except Exception as error:  # whatever it is: the others are read
            self.notes.append(f"{file} {why(error)}")

    def unpack(self, file: str, content: bytes, depth: int) -> None:
        """Take what is in a zip."""
        if depth > DEEPEST:
            raise UnreadError("is a zip in too many others")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {entry: PurePath(entry.filename) for entry in archive.infolist()}
            if {"[Content_Types].xml"} & {entry.filename for entry in entries}:
                raise UnreadError("is a document, and no notebook. Hand in the notebook itself")
            for entry in leaves(entries):
                opened = functools.partial(of_zip, archive, entry, self.room)
                self.unpacked(name_of(entry), opened, depth)

    def untar(self, file: str, content: bytes, depth: int) -> None:
        """Take what is in a tape archive, of which only the files are looked at."""
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for entry in archive:
                if entry.isfile() and (found := archive.extractfile(entry)):
                    opened = functools.partial(whole, found, max(0, min(LARGEST, self.room)))
                    self.unpacked(entry.name, opened, depth)

    def unpacked(self, name: str, opened: Callable[[], bytes], depth: int) -> None:
        """Take a file of an archive."""
        path = parts(name)
        if not is_left(path):
            self.take("/".join(path), opened, depth=depth)

    def sort(self, file: str, content: bytes) -> None:
        """Keep a notebook that has answers of the week, and what may be wanted beside one."""
        if not file.endswith((".ipynb", ".json")) and not is_json(content):
            self.beside_one(file, content)
            return
        told, sheet = read_sheet(file, content, self.week)
        if told not in (None, self.week.name):
            self.notes.append(f"{file} is the homework of {told}")
        elif not has_answers(sheet, self.week):
            self.notes.append(f"{file} has none of this week's exercises")
        else:
            self.sheets.append(sheet)

    def beside_one(self, file: str, content: bytes) -> None:
        """Keep a file that is no notebook; say what it is, if it stands for one."""
        for kind, start in KINDS.items():
            if content.lstrip().startswith(start) and kind != "png":
                raise UnreadError(f"is no notebook, but {kind}. Hand in the notebook itself")
        if file.endswith(".py"):
            sources = re.split(
                r"^# (?:%%|In ?\[[\d ]*\]:?).*$", text_of(content), flags=re.MULTILINE
            )
            cells = tuple(Cell(frozenset(), source, True) for source in sources)
            if has_answers(Sheet(file, cells, {}), self.week):
                self.sheets.append(Sheet(file, cells, {}))
        if len(content) <= BESIDE:
            self.beside |= dict.fromkeys((file, file.rpartition("/")[2]), content)
        if not self.sheets and not file.endswith(".py"):
            self.notes.append(f"{file} is no notebook")


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
        case zipfile.BadZipFile() | tarfile.TarError() | zlib.error() | EOFError():
            return "is damaged. Save it once more, and hand that in"
        case NotImplementedError():  # so zipfile calls a way of packing that it does not know
            return "is packed in a way that is not read here. Pack it as an ordinary zip"
        case RecursionError() | MemoryError():
            return "is no notebook: what is in it is nested too deep, or too much"
        case ValueError():
            return "is no notebook"
        case OSError(strerror=said):
            return f"cannot be read: {said}"
    return f"cannot be read ({type(error).__name__})"


def is_json(content: bytes) -> bool:
    """Whether a file may be a notebook by another name."""
    return content.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"{" and b'"cells"' in content


def text_of(content: bytes) -> str:
    """A text, in whatever way it is written."""
    for way in (json.detect_encoding(content), "cp1252"):
        try:
            return content.decode(way)
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1")


def plain(content: bytes) -> str:
    """The beginning of a page's text, with what its links lead to."""
    found = re.sub(r"<a [^>]*href=[\"']([^\"']*)[\"'][^>]*>", r"\1 ", text_of(content[:100_000]))
    found = re.sub(r"<(style|script|title).*?</\1>", "", found, flags=re.DOTALL)
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", found).split()))[:SHOWN]


# Notebooks


def read_sheet(file: str, content: bytes, week: Week) -> tuple[str | None, Sheet]:
    """A notebook, or what a page of the site has saved, and the week that it says it is of.

    Raises:
        Exception: it is neither; see `why`.
    """
    found = json.loads(text_of(content))
    if at(found, "exercises"):
        return read_saved(file, found, week)
    told = at(found, "metadata", SHEET, "week")
    cells = tuple(read_cells(found))
    if sum(len(cell.source) for cell in cells) > MUCH:
        raise UnreadError(f"has more than {MUCH:,} characters of code. Hand in the homework alone")
    names = {name_of_check(one): one.name for one in week.exercises}
    says: dict[str, Says] = {}
    for cell in cells:
        said = [*VERDICT.finditer(cell.shown)]
        called = inspection.calls(inspection.code(cell.source), names) if said else []
        for (check, _), verdict in zip(reversed(called), reversed(said), strict=False):
            share = 1.0 if verdict[1] == "Right" else int(verdict[2] or 0) / 100
            says[names[check]] = Says(share, verdict[0][:SHOWN])
    return told if isinstance(told, str) else None, Sheet(file, cells, says)


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


def read_cells(found: object) -> Iterator[Cell]:
    """The cells of a notebook, of the format before, too; what is no cell has no answer."""
    if isinstance(sheets := at(found, "worksheets"), list):
        these = [cell for sheet in sheets for cell in listing(sheet, "cells")]
    else:
        these = listing(found, "cells")
    if len(these) > CELLS:
        raise UnreadError(f"has more than {CELLS:,} cells. Hand in the homework alone")
    for each in these:
        source = at(each, "source") or at(each, "input")
        names = at(each, "metadata", "nbgrader", "grade_id"), at(each, "id")
        outputs = at(each, "outputs")
        shown = [
            text_in(at(output, *way))
            for output in (outputs if isinstance(outputs, list) else [])
            for way in (("text",), ("data", "text/plain"))
        ]
        yield Cell(
            frozenset(name for name in names if isinstance(name, str)),
            text_in(source),
            at(each, "cell_type") == "code",
            "\n".join(filter(None, shown)),
        )


def text_in(source: object) -> str:
    """A text that may be a list of lines, or anything else."""
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def read_saved(file: str, found: object, week: Week) -> tuple[str, Sheet]:
    """The answers that a page of the site has saved, each in the cell of its exercise."""
    cells, says, lesson = [], {}, at(found, "lesson")
    for each in listing(found, "exercises"):
        name, source = at(each, "name"), at(each, "answer")
        if isinstance(name, str) and isinstance(source, str):
            cells.append(Cell(frozenset({name}), source, True))
            points, most = at(each, "points"), at(each, "of")
            if isinstance(points, int | float) and isinstance(most, int | float) and most > 0:
                says[name] = Says(points / most, f"{points:g} of {most:g} points")
    if not cells or not isinstance(lesson, str):
        raise UnreadError("is no notebook")
    return week.name if lesson == week.stem else lesson, Sheet(file, tuple(cells), says)


def name_of_check(one: Exercise) -> str:
    """What an exercise's check is called."""
    return one.check.strip().partition("(")[0].rpartition(".")[2]


def given_to(one: Exercise) -> str:
    """What an exercise gives to its check."""
    if not one.check:  # a person reads it
        return inspection.given(one.stub)
    (found,) = inspection.calls(one.check.strip(), [name_of_check(one)])
    return found[1]


def exercises_of(cell: Cell, week: Week) -> list[Exercise]:
    """Whose answer a cell is: by its name or, where it has none, by what it defines."""
    named = [
        one for one in week.exercises if {one.name, f"exercise-{one.name}-answer"} & cell.names
    ]
    if named:
        return named
    gives = inspection.given_at_top(inspection.code(cell.source))
    return [one for one in week.exercises if inspection.given(one.stub) in gives]


def is_check(cell: Cell, one: Exercise) -> bool:
    """Whether a cell tries an exercise's answer."""
    return cell.is_code and f"{one.check.strip().partition('(')[0]}(" in cell.source


def has_answers(sheet: Sheet, week: Week) -> bool:
    """Whether a notebook has something of the week's exercises."""
    named = {name for cell in sheet.cells for name in cell.names}
    return any(
        {one.name, f"exercise-{one.name}-answer"} & named
        or any(is_check(cell, one) or one.head() in cell.source for cell in sheet.cells)
        for one in week.exercises
    )


def untouched(source: str, exercise: Exercise) -> bool:
    """Whether a cell is still as it was handed out, or empty."""
    return not source.strip() or source.split() == exercise.stub.split()
