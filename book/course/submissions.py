"""What was handed in, whatever a learning platform made of it.

Moodle      a zip, in which each student has a folder, or each file the student's name before it:
            Ada Lovelace_1234567_assignsubmission_file_/homework.ipynb
Canvas      a zip of files: lovelaceada_LATE_4711_815_homework-1.ipynb
nbgrader    the folder `submitted`: ada/week-1-…/week-1-homework.ipynb
anything    a folder or a zip in which each student has a folder, or a file

Here are only names: whose a file is, and where. What is in it `reading.py` reads, in the process of
its student.
"""

import hashlib
import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple

from book.course.homework import Week
from book.site.dependencies import BookError

MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?P<kind>file|[a-z]+)_?(?P<file>.*)"
)
CANVAS = re.compile(
    r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<number>\d+)_"
    r"(?:\d+_(?P<file>.+)|(?P<typed>(?:text|link)\.html))"
)
RECEIPT = ("timestamp.txt", "submission_secret.txt")
"""What nbgrader puts beside a sheet that was handed in, and wants beside the feedback."""

HANDED_OUT = re.compile(r"week-\d+-(?!homework)\w+\.ipynb|README\.txt|LICENSE|.+\.whl")
"""What stands beside a sheet from the beginning: nbgrader collects the whole folder."""

LONGEST = 200
"""Bytes of a name, which is to be one of a folder: systems have 255."""


class Student(NamedTuple):
    """Who handed in, as the platform tells it."""

    key: str
    """What a folder for the student is called: as the platform's own, so that it takes it back."""
    name: str
    number: str
    platform: str


class Place(NamedTuple):
    """Where a file of a student is, and what the student called it."""

    file: str
    source: str
    """A file; or a zip, in which it is the entry of this index, in its order."""
    entry: int | None = None
    typed: bool = False
    """Whether the platform made it, of a text or a link."""
    when: str = ""
    """When it was handed in, as far as that is told: in ISO's form, without a zone."""
    late: bool = False
    """Whether the platform says so."""


class Handed(NamedTuple):
    """What a student handed in."""

    student: Student
    places: tuple[Place, ...]

    @property
    def mark(self) -> str:
        """Another where a file is another, as far as one can tell without reading it."""
        found = hashlib.sha256()
        for place in self.places:
            found.update(repr((place.file, size_of(place))).encode())
        return found.hexdigest()[:16]


def size_of(place: Place) -> object:
    """What tells a file from another of its name."""
    path = Path(place.source)
    if place.entry is not None:
        with zipfile.ZipFile(path) as archive:
            entry = archive.infolist()[place.entry]
        return entry.file_size, entry.CRC
    kind = path.lstat()
    if not stat.S_ISREG(kind.st_mode):
        return kind.st_mode
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read(source: Path, week: Week) -> list[Handed]:
    """What each student handed in for a week, in the order of their names.

    Raises:
        BookError: there is nothing to read.
    """
    if not source.exists():
        raise BookError(f"There is no {source}.")
    found: dict[str, tuple[Student, list[Place]]] = {}
    for name, place in listed(source):
        path = parts(name)
        if is_hidden(path) or (is_left(path) and len(path) < 2) or of_another_week(path, week):
            continue
        student, told = whose(path, week, place)
        known, places = found.setdefault(student.key, (student, []))
        found[student.key] = max(known, student, key=lambda one: one.platform), places
        if not is_left(path):  # who has nothing but what was handed out has a row, too
            places.append(told)
    if not found:
        raise BookError(f"In {source} is nothing that a student could have handed in.")
    return [Handed(student, tuple(places)) for _, (student, places) in sorted(found.items())]


# Names


def listed(source: Path) -> Iterator[tuple[str, Place]]:
    """The name of each file in a folder or a zip, and where it is.

    Raises:
        BookError: a zip cannot be read at all.
    """
    if source.is_dir():
        for path in leaves({path: path.relative_to(source) for path in source.rglob("*")}):
            yield path.relative_to(source).as_posix(), Place("", str(path))
    elif zipfile.is_zipfile(source) or source.suffix == ".zip":
        try:
            with zipfile.ZipFile(source) as archive:
                entries = archive.infolist()
        except Exception as error:
            raise BookError(f"{source} is no whole zip ({error}). Fetch it once more.") from error
        indices = {entry: i for i, entry in enumerate(entries)}
        for entry in leaves({entry: PurePosixPath(entry.filename) for entry in entries}):
            yield name_of(entry), Place("", str(source), indices[entry], when=time_of(entry))
    else:
        yield source.name, Place("", str(source))


def time_of(entry: zipfile.ZipInfo) -> str:
    """When a file of a zip was written, if the zip says it."""
    try:
        return datetime(*entry.date_time).isoformat() if entry.date_time[0] > 1980 else ""
    except ValueError:
        return ""


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


def whose(path: tuple[str, ...], week: Week, place: Place) -> tuple[Student, Place]:
    """Who handed in a file, and what the student called it.

    What was typed into a platform, a text or a link, it hands out as a page.
    """
    if len(path) > 1 and not is_platforms(path[0]) and is_platforms(path[1]):
        path = path[1:]  # somebody has packed it again, with a folder around all
    if found := MOODLE.fullmatch(path[0]):
        # It takes feedback back from folders that are called as the ones that it gave.
        key = short(f"{found['name']}_{found['number']}_assignsubmission_file_")
        file = "/".join([found["file"], *path[1:]]).strip("/") or path[0]
        place = place._replace(file=file, typed=found["kind"] != "file")
        return Student(key, found["name"], found["number"], "moodle"), place
    place = place._replace(when="")  # of others it says when somebody has packed it
    if found := CANVAS.fullmatch(path[0]):
        key = short(f"{found['name']}_{found['number']}")
        file = "/".join([found["file"] or found["typed"], *path[1:]])
        told = place._replace(file=file, typed=bool(found["typed"]), late=bool(found["late"]))
        return Student(key, found["name"], found["number"], "canvas"), told
    if len(path) > 2 and path[1] == week.name:
        told = place._replace(file="/".join(path[2:]))
        return Student(short(path[0]), path[0], "", "nbgrader"), told
    name = path[0] if len(path) > 1 else PurePosixPath(path[0]).stem
    return Student(short(name), name, "", ""), place._replace(file="/".join(path[1:]) or path[0])


def is_platforms(name: str) -> bool:
    """Whether a learning platform has given a name like this."""
    return any(pattern.fullmatch(name) for pattern in (MOODLE, CANVAS))
