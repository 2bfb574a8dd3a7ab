"""What was handed in is read, whatever it is, and gets the points that it earned."""

import csv
import hashlib
import io
import json
import os
import re
import tarfile
import tempfile
import zipfile
from datetime import date
from pathlib import Path

import hypothesis
import nbformat
import openpyxl
import pytest
from hypothesis import strategies as st

from book import build
from book.course import grading, homework, inspection, judge, reading, reports, submissions
from book.course.course import Settings
from book.course.platforms import MORE, fill, write_course
from book.course.reports import Grade
from book.course.submissions import Student
from book.site.dependencies import BookError

from .exercises import written
from .test_course import ROOT, WEEKS

SORTERS = next(week for week in WEEKS if week.stem == "deep_qkv")
NOTHING = Grade(0.0, "")
OF = Settings(7, date(2027, 2, 1), "tuesday")


def exercise(name):
    return next(one for one in SORTERS.exercises if one.name == name)


def zipped(files, kind=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", kind) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return made.getvalue()


def packed(path, files):
    path.write_bytes(zipped(files))
    return path


def read(folder, files, week=SORTERS):
    return submissions.read(packed(folder / "all.zip", files), week)


def opened(handed, week=SORTERS):
    box = reading.Box(week)
    for place in handed.places:
        try:
            box.fetch(place)
        except Exception as error:  # as `judge.row` goes on
            box.notes.append(f"{place.file} {reading.why(error)}")
    return box


def sources(box, name):
    cells = [cell for sheet in box.sheets for cell in sheet.cells]
    return [c.source for c in cells if exercise(name) in reading.exercises_of(c, SORTERS)]


def graded(name="Ada", week=SORTERS, given=NOTHING, **grades):
    found = {one.name: grades.get(one.name, given) for one in week.exercises}
    points = {name: one.paid(4) for name, one in found.items()}
    return reports.Graded(Student(name, name, "", ""), ("x.ipynb",), found, points, {})


# Who handed in what

MINE = "def floor(letters, length):\n    return 1.0"


def sheet(change, week=SORTERS):
    found = homework.sheet(week, "0.2.0")
    for cell in found.cells:
        cell.source = change.get(cell.id, cell.source)
    return json.loads(nbformat.writes(found))


MOODLE = "Ada L_12_assignsubmission_file_"
BRIEN = MOODLE.replace("Ada L", "Ada O'Brien-Ng")
CANVAS = ("lovelaceada_47", "lovelaceada", "47", "canvas")
LAYOUTS = {
    f"{MOODLE}/Kopie von week-1 (2).ipynb": (MOODLE, "Ada L", "12", "moodle"),
    f"{BRIEN}x_y.ipynb": (BRIEN, "Ada O'Brien-Ng", "12", "moodle"),
    "lovelaceada_LATE_47_11_week-1-homework-2.ipynb": CANVAS,
    "lovelaceada_47_11_week_1.ipynb": CANVAS,
    f"All of week 1/{MOODLE}/x.ipynb": (MOODLE, "Ada L", "12", "moodle"),
    "submissions/lovelaceada_47_11_x.ipynb": CANVAS,
    f"ada/{SORTERS.name}/renamed.ipynb": ("ada", "ada", "", "nbgrader"),
    f"ada/{SORTERS.name}/{SORTERS.name[:6]}-homework.ipynb": ("ada", "ada", "", "nbgrader"),
    "ada/mine.ipynb": ("ada", "ada", "", ""),
    "ada.ipynb": ("ada", "ada", "", ""),
}


def test_every_layout_is_read(tmp_path):
    book = sheet({"floor": MINE})
    for name, student in LAYOUTS.items():
        (found,) = read(tmp_path, {name: book, "__MACOSX/._x.ipynb": b"", ".DS": b""})
        box = opened(found)
        assert found.student == student and sources(box, "floor") == [MINE] and box.notes == []
        assert found.places[0].late == ("LATE" in name)


BESIDE = ("week-1-lesson.ipynb", "week-1-evidence.ipynb", "README.txt", "LICENSE", "x.whl")


def test_files_of_one_student_are_all_read_and_what_is_odd_is_told(tmp_path):
    """What a page saves has the names that `test_what_was_reached_can_be_saved` sees."""
    other = WEEKS[1]
    saved = [{"name": "floor", "of": 2, "points": 2, "answer": MINE}]
    # As it was handed out: its lesson has cells of names like an exercise's.
    fay = [f"fay_1_assignsubmission_file_/{name}" for name in BESIDE]
    of_another = f"is the homework of {other.stem}"
    files = {
        "ada/answers-one (1).json": {"lesson": SORTERS.stem, "exercises": saved},
        "ada/answers-two.json": {"lesson": other.stem, "exercises": saved},
        "ada/mine.ipynb": sheet({}),
        "ada/predictions.json": [{"part": "plain", "guess": 1}],
        "bob/answers.json": {"lesson": SORTERS.stem, "exercises": [{"name": "floor"}]},
        "cy/notes.txt": b"mine",
        "cy/other.ipynb": sheet({}, other),
        "dan/x.ipynb": {"cells": [], "metadata": {}},
        "eve/x.ipynb": b"{",
        **dict.fromkeys((*fay, "README.txt", "__MACOSX/README.txt"), b"{}"),
    }
    told = {one.student.name: opened(one) for one in read(tmp_path, files)}
    one, mine = told["ada"].sheets
    assert (one.file, mine.file) == ("answers-one (1).json", "mine.ipynb")
    assert one.says["floor"].share == 1.0
    assert not [name for name, box in told.items() if name != "ada" and box.sheets]
    assert {name: box.notes for name, box in told.items()} == {
        "ada": [f"answers-two.json {of_another}", "predictions.json is no notebook"],
        "bob": ["answers.json is no notebook"],
        "cy": ["notes.txt is no notebook", f"other.ipynb is the homework of {other.name}"],
        "dan": ["x.ipynb has none of this week's exercises"],
        "eve": ["x.ipynb is no notebook"],
        "fay": [],
    }  # fmt: skip
    (place,) = read(tmp_path, {fay[0]: b"", f"{MOODLE}/x.ipynb": BOOK})[0].places
    assert place.when.startswith("20")


# What one student hands in stops nothing but that student's row


def both_heads(content, offset, value):
    """Set what a zip says of its first file, before it and at the end: offset in the first."""
    for there in (offset, content.index(b"PK\1\2") + offset + 2):
        content = content[:there] + value + content[there + len(value) :]
    return content


def changed_cells(change):
    book = sheet({"floor": MINE})
    change(book["cells"])
    return book


def each_cell(**more):
    return changed_cells(lambda cells: [cell.update(more) for cell in cells])


BOOK = json.dumps(sheet({"floor": MINE})).encode()
HUGE = {"cell_type": "code", "source": f"N = 0x{'f' * 5000}"}
DEEP = b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b', "metadata": {}}'
_made = io.BytesIO()
with tarfile.open(fileobj=_made, mode="w:gz") as _archive:
    for _name in ("../x.ipynb", "/etc/y"):
        _entry = tarfile.TarInfo(_name)
        _entry.size = len(BOOK)
        _archive.addfile(_entry, io.BytesIO(BOOK))
    _entry.type, _entry.linkname, _entry.size = tarfile.SYMTYPE, "/etc/passwd", 0
    _archive.addfile(_entry)
TAR = _made.getvalue()
NESTED = BOOK
for _ in range(9):
    NESTED = zipped({"x.zip": NESTED})
BOMB = zipped({"x.ipynb": bytes(2**26)})
NOTHING_READ = {
    "null.ipynb": b"null", "number.ipynb": {"cells": 3, "metadata": {}}, "nul.ipynb": bytes(1000),
    "list.json": b"[[1]]", "cut.ipynb": BOOK[: len(BOOK) // 2], "number.json": b"1" * 5000,
    "saved.json": {"lesson": 3, "exercises": [None, 1]}, "text.ipynb": b"my homework",
    "empty.ipynb": b"", "conflict.ipynb": b"<<<<<<< HEAD\n" + BOOK,
    "many.ipynb": b'{"cells": ' + b'[{"a":1},' * 30_000, "link.url": b"[InternetShortcut]\nURL=x",
}  # fmt: skip
OTHERS = {
    "pdf": b"%PDF-1.4", "html": b"<!DOCTYPE html><p>x", "rar": b"Rar!\x1a\7\0",
    "7z": b"7z\xbc\xaf\x27\x1c", "jpg": b"\xff\xd8\xff\xe0", "doc": b"\xd0\xcf\x11\xe0",
}  # fmt: skip
ODD = {
    "short.zip": (zipped({"x.ipynb": BOOK})[:2000], "is damaged"),
    "bomb.zip": (BOMB, "of a file 50 MB are read"),
    "lying.zip": (both_heads(BOMB, 22, b"\n\0\0\0"), "x.ipynb is"),
    "nested.zip": (NESTED, "is a zip in too many others"),
    **{name: (content, "is no notebook") for name, content in NOTHING_READ.items()},
    **{f"x.{kind}": (content, f"is no notebook, but {kind}") for kind, content in OTHERS.items()},
    "latin.ipynb": (b'{"cells": ["\xfc"]}', "has none of this week's"),
    "deep.ipynb": (DEEP, "nested too deep"),
    "texts.ipynb": ({"cells": ["a", None, 3, []], "metadata": None}, "has none of this week's"),
    "long.ipynb": (sheet({"floor": "x = 1\n" * 400_000}), "more than 2,000,000 characters"),
    "cells.ipynb": ({"cells": [{}] * 2000, "metadata": {}}, "more than 1,000 cells"),
    "week.ipynb": ({**sheet({}), "metadata": {homework.SHEET: {"week": "\ud800\n"}}}, "%D800"),
    "word.docx": (zipped({"[Content_Types].xml": b"<x/>"}), "is a document"),
    "other.py": (b"print(1)", ""),
    "cut.tar.gz": (TAR[:300], "is damaged"),
    "none.tar": (b"mine", "is damaged"),
    "empty.zip": (zipped({"x.ipynb": b""})[-22:], "is damaged"),
}
"""What students handed in, and what is said of it."""

READ = {
    "bom.ipynb": b"\xef\xbb\xbf" + BOOK,
    "utf-16.ipynb": BOOK.decode().encode("utf-16"),
    "metadata.ipynb": each_cell(metadata=None),
    "nbgrader.ipynb": changed_cells(lambda cells: cells[3]["metadata"].update(nbgrader=[1])),
    "ids.ipynb": each_cell(id={}),
    "extra.ipynb": changed_cells(lambda cells: cells.extend(["text", None, {}, {"source": None}])),
    "types.ipynb": changed_cells(lambda cells: cells[0].update(cell_type=[], source=[1, None])),
    "bare.ipynb": {"cells": sheet({"floor": MINE})["cells"]},
    "latin-1.ipynb": BOOK.replace(b"return 1.0", b"return 1.0").replace(b"Homework", b"\xfcbung"),
    "outputs.ipynb": each_cell(outputs=[None, {"text": 3}]),
    "all.tar.gz": TAR,
    "with spaces .IPYNB": BOOK,
    "named.txt": BOOK,
    "utf-32.ipynb": BOOK.decode().encode("utf-32"),
    "extensionless": BOOK,
    "twice.zip": zipped({"x.ipynb": zipped({"deep/Copy of y.ipynb": BOOK})}),
    "bzip2.zip": zipped({"x.ipynb": BOOK}, zipfile.ZIP_BZIP2),
    "dos.ipynb": json.dumps(json.loads(BOOK), indent=1).replace("\n", "\r\n").encode(),
    "huge.ipynb": changed_cells(lambda cells: cells.insert(0, HUGE)),
}
"""What is odd, and yet tells what the answer is."""

NAMES_OF = {  # what it is called → which student's it is, as a folder is called
    "../../../etc/x.ipynb": "etc",
    "/x.ipynb": "x",
    "a\nb/x.ipynb": "a%0Ab",
    "back\\x.ipynb": "back",
    f"{'n' * 300}/x.ipynb": f"{'n' * 191}-{hashlib.sha256(b'n' * 300).hexdigest()[:8]}",
}


def rows_of(boxes):
    notes = {key: tuple(map(submissions.printable, box.notes)) for key, box in boxes.items()}
    return [graded(key)._replace(notes=notes[key]) for key in boxes]


def test_an_odd_file_costs_one_row_and_the_row_says_why(tmp_path):
    given = {name: content for name, (content, _) in ODD.items()} | READ
    some = {f"{name}/{name}": content for name, content in given.items()}
    files = some | dict.fromkeys(NAMES_OF, BOOK)
    folder = written(tmp_path / "folder", some)
    (folder / "a folder" / "x.ipynb").mkdir(parents=True)
    (folder / "a link").symlink_to(tmp_path)
    (folder / "eve").mkdir()
    (folder / "eve" / "x.ipynb").symlink_to(folder / "bom.ipynb" / "bom.ipynb")
    (folder / "eve" / "gone").symlink_to(folder / "none")
    os.mkfifo(folder / "eve" / "pipe")
    ways = {
        packed(tmp_path / "all.zip", files): dict.fromkeys(NAMES_OF.values(), ""),
        folder: {"a folder": "is a folder", "a link": "is a link", "eve": "pipe is no file"},
    }
    for source, besides in ways.items():
        handed_in = submissions.read(source, SORTERS)
        assert len({one.mark for one in handed_in}) >= len(handed_in) - len(NAMES_OF)
        found = {one.student.key: opened(one) for one in handed_in}
        said = {name: sentence for name, (_, sentence) in ODD.items()} | besides
        assert {*found} == {*said, *READ}
        for name, sentence in said.items():
            assert sentence in submissions.printable("; ".join(found[name].notes)), name
        for name in (*READ, *NAMES_OF.values()):
            if name in found:
                assert {*sources(found[name], "floor")} == {MINE}, name
        new, rows = tmp_path / f"new {source.name}", rows_of(found)
        new.mkdir()
        reports.write(new, SORTERS, [*rows, rows[0]], "")  # as if a name were two people's
        assert len([*new.glob("feedback/*/feedback.html")]) == len(found) + 1
        with (new / "grades.csv").open(encoding="utf-8") as file:
            told = {row["student"]: row["notes"] for row in csv.DictReader(file)}
        assert "but rar" in told["x.rar"] and told["bom.ipynb"] == ""


HEADS = [(6, 1, "locked by a password"), (8, 9, "packed in a way"), (14, 7, "damaged")]


@pytest.mark.parametrize(("offset", "value", "said"), HEADS)
def test_a_file_that_the_classes_zip_cannot_give_costs_one_row(offset, value, said, tmp_path):
    """The first of three, whose heads are changed in the zip that the platform made."""
    source = packed(tmp_path / "all.zip", {f"{n}/x.ipynb": BOOK for n in ("ada", "eve", "zoe")})
    source.write_bytes(both_heads(source.read_bytes(), offset, bytes([value])))
    ada, *others = map(opened, submissions.read(source, SORTERS))
    assert f"x.ipynb is {said}" in ada.notes[0] and [one.notes for one in others] == [[], []]


def test_the_files_of_one_student_have_limits_together(tmp_path, monkeypatch):
    inner = zipped({f"{i}.ipynb": BOOK for i in range(9)})
    monkeypatch.setattr(reading, "ROOM", len(inner) + 3 * len(BOOK))
    monkeypatch.setattr(reading, "MOST", 5)
    ada, bob = map(opened, read(tmp_path, {"ada/x.zip": inner, "bob/x.ipynb": BOOK}))
    assert "3.ipynb is too large" in "; ".join(ada.notes)
    assert "only the first 5 files are read" in ada.notes and bob.notes == []


@pytest.mark.parametrize("names", [("Mu\u0308ller", "M\xfcller"), ("M\xfcller", "M\xfcller")])
def test_a_name_of_two_spellings_is_one_person(names, tmp_path):
    """A zip of some systems says nowhere that its names are in UTF-8."""
    paths = [f"{name}/{i}.ipynb".encode() for i, name in enumerate(names)]
    plain = {f"{i}{'x' * (len(path) - 1)}": path for i, path in enumerate(paths)}
    source = packed(tmp_path / "all.zip", dict.fromkeys(plain, BOOK))
    for there, path in plain.items():
        source.write_bytes(source.read_bytes().replace(there.encode(), path))
    (found,) = submissions.read(source, SORTERS)
    assert found.student.key == "M\xfcller" and sources(opened(found), "floor")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just(MINE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["cells", "metadata", "source", "id", "exercises", "name"]), inner),
    max_leaves=5,
)  # fmt: skip


def places(node):
    """All that can be replaced in what JSON says, but lines: a container, and where in it."""
    for key in [*node] if isinstance(node, dict) else range(len(node)):
        if isinstance(node, dict) or not isinstance(node[key], str):
            yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


@st.composite
def mutated(draw):
    """A notebook in which something stands where something else should be, or zipped and broken."""
    book = json.loads(BOOK)
    for _ in range(draw(st.integers(1, 4))):
        node, key = draw(st.sampled_from([*places(book)]))
        node[key] = draw(VALUES)
    content = json.dumps(book).encode()
    broken = bytearray(zipped({"x.ipynb": content}) if draw(st.booleans()) else content)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, min(len(broken), 120) - 1)) - draw(st.sampled_from([0, 100]))
        broken[at % len(broken)] = draw(st.integers(0, 255))
    return bytes(broken)


@pytest.mark.slow
@hypothesis.settings(suppress_health_check=[*hypothesis.HealthCheck])
@hypothesis.given(odd=mutated(), name=st.text(min_size=1, max_size=30))
def test_whatever_one_hands_in_others_keep_their_points(odd, name, tmp_path):
    files = {"ada/x.ipynb": BOOK, f"eve{name}/{name}": odd, "zoe/x.ipynb": BOOK}
    handed_in = submissions.read(packed(tmp_path / "all.zip", files), SORTERS)
    boxes = {one.student.key: opened(one) for one in handed_in}
    with tempfile.TemporaryDirectory() as folder:
        reports.write(Path(folder), SORTERS, rows_of(boxes), "")
    assert MINE in sources(boxes["ada"], "floor") and boxes["zoe"].notes == []


TYPED = [
    ("Ada L_12_assignsubmission_onlinetext_/onlinetext.html", f"{MOODLE}/x.ipynb"),
    ("Ada L_12_assignsubmission_onlinetext_onlinetext.html", f"{MOODLE}x.ipynb"),
    ("lovelaceada_47_text.html", "lovelaceada_LATE_47_11_x.ipynb"),
    ("lovelaceada_LATE_47_link.html", "lovelaceada_47_11_x.ipynb"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "file"), TYPED)
def test_what_was_typed_into_a_platform_is_its_students(typed, file, tmp_path):
    page = b"<title>T</title><p>see <a href='https://x.org/a'>mine</a> &amp; yours</p>"
    (other,) = read(tmp_path, {file: BOOK})
    for files in ({typed: page}, {typed: page, file: BOOK}, {file: BOOK, typed: page}):
        (found,) = read(tmp_path, files)
        box = opened(found)
        (note,) = box.notes
        assert "typed into the learning platform" in note and "see https://x.org/a mine & y" in note
        assert found.student == other.student and bool(box.sheets) == (file in files)


@pytest.mark.slow
# Its exchange leaves a file to the garbage, its gradebook a warning of its own making.
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_nbgrader_collected_is_handed_back_where_it_looks(tmp_path):
    root, week = tmp_path / "seminar", WEEKS[1]
    for each in (WEEKS[0], week):
        receipt = {name: f"{name} {each.number}" for name in submissions.RECEIPT}
        there = root / "submitted" / "ada" / each.name
        written(there, {"Mine.ipynb": sheet({}, each), **receipt})
    (handed_in,) = submissions.read(root / "submitted", week)  # not of the week before
    box = opened(handed_in, week)
    assert handed_in.student.key == "ada" and box.notes == []
    ada = {"student": handed_in.student, "files": ("Mine.ipynb",), "receipt": box.receipt}
    nothing = graded("ada", week, Grade(0.0, "there is no answer yet."))._replace(**ada)
    assert grading.release(root, week, [nothing._replace(receipt={})]) == []
    assert not (root / "feedback").exists()
    assert grading.release(root, week, [nothing]) == [f"new      ada/{week.name}"]

    from nbgrader.api import Gradebook
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.exchange.default import ExchangeReleaseFeedback
    from nbgrader.utils import notebook_hash

    of = CourseDirectory(root=str(root), course_id="c", assignment_id=week.name)
    ExchangeReleaseFeedback(coursedir=of, root=str(tmp_path)).start()
    (given,) = (tmp_path / "c" / "feedback").iterdir()
    assert given.stem == notebook_hash(secret="submission_secret.txt 2", notebook_id="Mine")
    assert given.read_text("utf-8") == reports.feedback(week, nothing)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as book:
        assert book.find_submission(week.name, "ada").score == 0.0
        assert book.find_assignment(week.name).max_score == week.points
    # A week before it stays where it is, and what a teacher wrote there too.
    first = graded("ada", WEEKS[0])._replace(**ada)
    assert grading.release(root, WEEKS[0], [first]) == [f"new      ada/{WEEKS[0].name}"]
    page = root / "feedback" / "ada" / week.name / "Mine.html"
    page.write_text("a teacher's", "utf-8")
    assert "somebody has worked there" in grading.release(root, week, [nothing])[0]
    assert page.read_text("utf-8") == "a teacher's"


def test_nothing_handed_in_or_a_broken_zip_is_a_sentence(tmp_path):
    cut = packed(tmp_path / "cut.zip", {"ada/x.ipynb": BOOK})
    cut.write_bytes(cut.read_bytes()[:-30])
    for source, said in (
        (tmp_path / "none.zip", "There is no"),
        (cut, "is no whole zip"),
        (packed(tmp_path / "empty.zip", {}), "nothing that a student"),
    ):
        with pytest.raises(BookError, match=said):
            submissions.read(source, SORTERS)


# What stands in an answer


def test_answers_are_the_same_whatever_their_names_comments_and_types():
    mine = exercise("leak").solution
    other = mine.replace("(model, tokens)", "(model, tokens: torch.Tensor) -> float")
    for name, mark in {"altered": "b", "largest": "a", "model": "f", "tokens": "x"}.items():
        other = re.sub(rf"\b{name}\b", mark, other)
    other = f"import math\n'mine'\n{other}  # mine"
    assert other != mine and inspection.print_of(other) == inspection.print_of(mine) != ""
    unlike = inspection.print_of(mine.replace("1, tokens", "2, tokens"))
    assert unlike not in ("", inspection.print_of(mine))
    assert inspection.print_of("def f(decay, steps):\n    return decay**steps") == ""  # too short


def test_an_answer_is_made_of_what_it_needs_and_of_no_other_exercises():
    cells = [
        exercise("floor").setup, "import math\ny = 1\ndef g(): return math.e", "print(y)",
        "def floor(a, b): return g()", "checks.floor(floor)", "answer = 1, 2",
        "checks.rank_one_gate(answer)", "answer = {'p': y}", "checks.part((case, answer))", "y = 3",
    ]  # fmt: skip
    setups = inspection.statements([exercise("floor").setup])
    asked = map(exercise, ("floor", "rank", "verdict"))
    floor, rank, verdict = (judge.made_of(one, SORTERS, cells, setups) for one in asked)
    assert floor.splitlines()[0] == "import math" and "print" not in floor
    assert rank == "answer = (1, 2)" and "(1, 2)" not in verdict


TAKEN = """from attn_notes.analysis.leaks import future_leak as ready
def future_leak(model, tokens):
    return ready(model, tokens, 4)"""


def test_what_comes_ready_is_held():
    leak, rank = exercise("leak"), exercise("rank")
    for one, source, said in (
        (leak, TAKEN, "takes attn_notes.analysis.leaks.future_leak from the package"),
        (leak, f"# mine\n{leak.solution}", "is the published solution, but for names and comments"),
        (rank, f"# mine\n{rank.solution}", ""),  # too short to be held
    ):
        assert judge.held(one, judge.made_of(one, SORTERS, [source], set())) == said
    for each in SORTERS.exercises:
        ready = judge.solved(each), each.words, judge.package_names(each.setup)
        assert inspection.odd(each.solution) == [] and not inspection.ready(*ready)


def test_a_symptom_has_no_path_and_one_line():
    stopped = "your code stopped with OSError: {} and {}"
    for said, plain in (
        (stopped.format("/root/x/y.py", "C:\\a\\b.py\nTraceback"), stopped.format("…", "…")),
        ("a / b and 1/2", "a / b and 1/2"),
        ("RuntimeError: DefaultCPUAllocator: can't allocate memory", judge.MEMORY_SAID),
    ):
        assert judge.said_plainly(said) == plain


def test_a_course_has_a_case_of_its_own_and_its_setups_are_imports():
    """By no name that students have is there a right answer."""
    for week in WEEKS:
        book = homework.week(ROOT, week.stem, week.number)
        judged = [one for one in week.exercises if one.case]
        assert judged
        for own in judged:
            (published,) = (one for one in book.exercises if one.name == own.name)
            first = f'case = {own.case}, "..."  # the last three digits of your student number\n'
            assert own.stub == published.stub.replace("case = 0\n", first)
            assert own.numbered and own.solution != published.solution
            assert own.question == published.question + homework.YOURS
            copied = sheet({own.name: own.solution.replace("000", "042", 1) + "\n# mine"}, week)
            cells = ["".join(c["source"]) for c in copied["cells"] if c["cell_type"] == "code"]
            shared = inspection.statements([one.setup for one in week.exercises])
            assert "is the published" in judge.held(own, judge.made_of(own, week, cells, shared))
        assert homework.week(ROOT, week.stem, week.number, seed=7) == week
        for one in week.exercises:
            assert "widget" not in one.setup and "import torch" in one.setup
            body = inspection.parsed(one.setup).body
            assert body and all(type(node).__name__.startswith("Import") for node in body)


# What it comes to


def answer(**told):
    """What is known of an answer, as a judge says it; right, where nothing else is said."""
    empty = dict.fromkeys(("unsure", "differs", "mark"), "") | {"held": [], "look": []}
    known = {"symptom": "it is.", "score": None, "lower": False, "published": False}
    return empty | known | {"share": 1.0, "paid": told.get("share", 1.0)} | told


def line(key, *sheets, **more):
    """A hand-in as it is kept; what a sheet says nothing of has no answer."""
    nothing = answer(share=0.0, symptom="there is no answer yet.")
    empty = {one.name: nothing for one in SORTERS.exercises}
    row = {"files": ["x"] * len(sheets), "sheets": [empty | each for each in sheets], "notes": []}
    student = Student(key, key.partition("_")[0], key.partition("_")[2], "")
    return {"key": key, "student": student, "when": "", "late": False, "row": row} | more


def settled(of, *lines, decided=()):
    known = {f"{i}": each for i, each in enumerate(lines)}
    return [*grading.settled(SORTERS, of, known, dict(decided))]


def test_the_best_attempt_counts_or_the_last():
    part, right = answer(share=0.5), answer()
    first, second = {"floor": right, "leak": part}, ({"floor": part}, {"leak": right})
    lines = line("ada", first), line("ada", *second)
    assert [*settled(OF, *lines)[0].points.values()] == [2.0, 4.0, 0.0, 0.0, 0.0]
    assert settled(OF._replace(attempts="last"), *lines)[0].points["floor"] == 1.0
    unsure, held = answer(share=0.0, unsure="the notebook says “Right”"), answer(held=["takes x"])
    pairs = {None: (unsure, part), 2.0: (unsure, right), 1.0: (held, part)}
    for worth, (one, other) in {**pairs, 0.0: (held, answer(share=0.0))}.items():
        (ada,) = settled(OF, line("ada", {"floor": one}, {"floor": other}))
        assert ada.points["floor"] == worth


def test_what_is_held_or_unsure_is_to_be_decided_and_what_is_odd_to_be_looked_at():
    unsure = answer(share=0.0, symptom="No.", unsure="the notebook says “Right”")
    rows = settled(
        OF,
        line("Ada_1", {"floor": unsure}),
        line("Bob_2", {"leak": answer(held=["is the published solution"], mark="m")}),
        line("Cy_3", {"leak": answer(look=["uses sys"], mark="m")}),
        line("Dan_4", row={"failed": "SIGKILL"}),
        line("Eve_5", row={"files": [], "sheets": [], "notes": ["no homework"]}),
        decided={("Bob_2", "leak"): 3.5},
    )
    assert [reports.total(one) for one in rows] == [None, 3.5, 4.0, None, None]
    page = reports.report(SORTERS, rows, "here").replace("&#39;", "'")
    decide, look = page.split("To decide")[1].split("To look at")
    for said in (
        "Ada, exercise 1, another floor: the notebook says “Right”; here: No.",
        "Bob, exercise 2, build a leak detector: is the published solution. It would have 4 p",
        "Dan: what was handed in could not be judged: SIGKILL",
        "Eve: no homework",
    ):
        assert said in decide
    assert "Cy, exercise 2, build a leak detector: uses sys." in look
    assert "Bob, Cy: the same answer to exercise 2" in look
    assert "Your teacher will look at this answer" in reports.feedback(SORTERS, rows[0])


def test_a_group_gets_what_one_of_it_hands_in_and_is_not_told_to_be_alike():
    of = OF._replace(groups={"One": ["Ada", "2"]})
    ada, cy = (line(key, {"leak": answer(mark="m")}) for key in ("Ada_1", "Cy_3"))
    rows = settled(of, ada, line("Bob_2", {"floor": answer()}), cy)
    assert [*map(reports.total, rows)] == [6.0, 6.0, 4.0]


DAYS = [
    ("2027-03-09T23:59:30", "", {}, 1.0),  # the ninth is the day, and a minute is whole
    ("2027-03-30T00:01:00", "", {}, 0.0),
    ("2027-03-09T20:00:00", "", {"due": "18:00"}, 0.9),
    ("", "2027-03-09 23:30:00.123456 UTC", {}, 0.9),  # after midnight there
    ("", "2027-03-09 22:30:00.123456 UTC", {}, 1.0),
    # The clock is changed on 28 March: the day after the deadline has 23 hours, and is one day.
    ("2027-03-28T23:50:00", "", {"extensions": {"Ada": {5: date(2027, 3, 27)}}}, 0.9),
    ("", "2027-03-28 22:10:00.1 UTC", {"extensions": {"Ada": {5: date(2027, 3, 27)}}}, 0.8),
    ("2027-03-10T00:01:00", "", {"extensions": {"Ada": {5: date(2027, 3, 10)}}}, 1.0),
    ("2027-03-10T00:01:00", "", {"extensions": {"7": {5: date(2027, 3, 10)}}}, 1.0),
    ("2027-03-10T00:01:00", "", {"extensions": {"Ada": {4: date(2027, 3, 10)}}}, 0.9),
    ("2027-03-30T00:01:00", "", {"start": None}, 1.0),
    ("", "", {}, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("when", "receipt", "more", "stays"), DAYS)
def test_a_day_that_is_begun_costs_what_the_course_says(when, receipt, more, stays):
    of = OF._replace(zone="Europe/Berlin", penalty=0.1, **more)
    told = line("Ada_7", {"floor": answer()}, when=when)
    told["row"]["receipt"] = {"timestamp.txt": receipt} if receipt else {}
    (one,) = settled(of, told)
    assert one.late.stays == pytest.approx(stays) and reports.total(one) == pytest.approx(2 * stays)
    assert ("handed in late" in reports.feedback(SORTERS, one)) == (stays < 1)


def test_numbers_that_several_typed_are_named_but_not_those_of_a_group():
    of = OF._replace(groups={"One": ["Ada", "2"]})
    first, second = ({"verdict": answer(numbers=[typed])} for typed in ("042", "007"))
    given = {"Ada_1": [first], "Bob_2": [first], "Cy_3": [second], "Dan_4": [first, second]}
    given["Eve_5"] = [{"floor": answer()}]
    rows = settled(of, *(line(key, *sheets) for key, sheets in given.items()))
    chance = " Of 5 students 0.0 pairs end in the same three digits by chance, on average."
    assert [*reports.to_look_at(SORTERS, rows)] == [
        "Dan: typed several numbers, 042, 007.",
        f"Cy, Dan: typed the same number, 007.{chance}",
        f"Ada, Bob, Dan: typed the same number, 042.{chance}",
        f"Ada, Dan: typed the same number, 042.{chance}",
        f"Bob, Dan: typed the same number, 042.{chance}",
    ]


def test_a_platform_that_says_late_and_not_when_costs_a_day():
    for of, stays in ((OF._replace(penalty=0.5), 0.5), (OF, 1.0)):
        (one,) = settled(of, line("Ada_7", {"floor": answer()}, late=True))
        assert one.late.stays == stays


DECIDED = {  # rows → what is said of them
    "": "",
    "M\xfcller|leak|1": "another row",
    "nobody|leak|1": "nobody is called 'nobody'",
    "M\xfcller|lake|1": "no exercise 'lake', but floor, leak",
    "M\xfcller|floor|20": "'20' is no number of points from 0 to 2",
    "M\xfcller|floor|-1": "'-1'",
    "M\xfcller|floor|nan": "'nan'",
    "M\xfcller|floor|two": "'two'",
    "M\xfcller|floor": "''",
    "M\xfcller|floor|2|mine": "",
}


@pytest.mark.parametrize("how", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_decisions_are_read_as_spreadsheets_save_them_and_wrong_rows_are_said(mark, how, tmp_path):
    """With a semicolon, and a comma in numbers, by Excel in much of Europe."""
    decided = "1,5" if mark != "," else "1.5"
    rows = ["Student|Exercise | points", f"Mu\u0308ller|leak|{decided}", *DECIDED]
    if how == "cp1252":
        rows = [row.replace("u\u0308", "\xfc") for row in rows]
    start = "sep=;\r\n" if mark == ";" else ""
    text = start + "\r\n".join(rows).replace("|", mark)
    (tmp_path / grading.DECISIONS).write_bytes(text.encode(how))
    student = Student("M\xfcller", "M\xfcller", "", "")
    found, wrong = grading.decisions(tmp_path, SORTERS, [student])
    assert found == {("M\xfcller", "leak"): 1.5, ("M\xfcller", "floor"): 2.0}
    said = [*filter(None, DECIDED.values())]
    assert len(wrong) == len(said) and all(a in b for a, b in zip(said, wrong, strict=True))
    assert wrong[0].startswith(f"decisions.csv, line {4 + bool(start)}, does not count: ")
    page = reports.report(SORTERS, [graded()], "", wrong)
    assert "line 4" in page.split("<h2>Points")[0] or start


def test_a_student_is_meant_by_a_number_that_stays_and_by_a_name_that_is_one_persons():
    """Names change: the platform's number does not."""
    key = "Ada King_12_assignsubmission_file_"
    ada, two = Student(key, "Ada King", "12", "moodle"), Student("b", "Bo", "13", "moodle")
    all_ = [ada, two, Student("c", "Bo", "14", "moodle")]
    for said in (key, "12", "Participant 12", "Ada King", "Ada Lovelace_12_assignsubmission_file_"):
        assert grading.meant(said, all_) == [ada]
    assert len(grading.meant("Bo", all_)) == 2 and grading.meant("Participant 1", all_) == []


def test_what_is_kept_is_of_its_checks_and_not_of_a_sentence(tmp_path):
    marks = []
    for name, text in (("checks.py", "1"), ("checks.py", "2"), ("lesson.md", "a sentence")):
        written(tmp_path, {f"book/lessons/deep_qkv/{name}": text})
        marks.append(grading.mark_of(tmp_path, SORTERS, 7))
    assert marks[0] != marks[1] == marks[2] != grading.mark_of(tmp_path, SORTERS, 8)
    path = tmp_path / grading.RESULTS
    assert grading.results(path) == {}
    path.write_text('{"key": "a", "student": [], "row": {}}\n{"key": "c"}\n{"key": "b"', "utf-8")
    assert grading.results(path) == {"a": {"key": "a", "student": [], "row": {}}}


# As platforms take them back

WORKSHEETS = {
    "en": (
        ',', "utf-8", "Identifier|Full name|Email address|Status|Grade|Maximum grade|"
        "Grade can be changed|Last modified (submission)|Last modified (grade)|Feedback comments",
        "Participant 16.00 Yes Monday,_1_March_2027,_10:00_AM 13.50",
    ),
    "de": (
        ';', "utf-8-sig", "ID|Vollst\xe4ndiger Name|E-Mail-Adresse|Status|Bewertung|Bestwertung|"
        "Bewertung \xe4nderbar|Zuletzt ge\xe4ndert (Abgabe)|Zuletzt ge\xe4ndert|Kommentar",
        "Teilnehmer/in 16,00 Ja Montag,_1._M\xe4rz_2027,_10:00 13,50",
    ),
    "fr": (
        '\t', "cp1252", "Identifiant|Nom complet|Adresse de courriel|Statut|Note|Note maximale|"
        "Note modifiable|Derni\xe8re modification (remise)|Derni\xe8re modification|Commentaires",
        "Participant 16,00 Oui lundi_1_mars_2027 13,50",
    ),
}  # fmt: skip


def class_():
    students = (("a", "Ada", 13.5, "4711001"), ("b", "Bob", None, "4711002"), ("c", "Cy", 0.0, "9"))
    return [
        graded(name)._replace(
            student=Student(key, name, number, ""), points={**graded().points, "leak": points}
        )
        for key, name, points, number in students
    ]


def table(rows, mark=","):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=mark).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("language", WORKSHEETS)
def test_moodles_worksheet_is_filled_whatever_its_language(language, alone, tmp_path):
    mark, encoding, head, said = WORKSHEETS[language]
    word, most, yes, day, worth = said.split()
    end = [most, yes, day.replace("_", " "), "-", ""]
    name = f"{word}4711001" if mark == ";" else f"{word} 4711001"
    rows = [head.split("|"), [name, "Ada", "a@x.org", "", "", *end]]
    if not alone:
        rows.append([f"{word} 4711002", "Bob, B", "", "late", "3", *end[:-1], "\xe9"])
        rows.append([f"{word} 4711003", "Zo\xeb", "", "none", "", *end])
    path, there = tmp_path / "sheet.csv", tmp_path / "filled.csv"
    path.write_bytes(table(rows, mark).encode(encoding))
    said = fill(path, there, SORTERS, class_())
    rows[1][4] = worth
    assert there.read_bytes() == table(rows, mark).encode(encoding)
    assert "sheet.csv has no Cy" in said and len(said) == 2
    path.write_bytes(path.read_bytes().replace(most.encode(), most.encode().replace(b"16", b"32")))
    said = fill(path, there, SORTERS, class_())
    assert "32 points, the week 16: all are scaled" in said[0]
    assert worth.replace("13", "27").replace("50", "00").encode() in there.read_bytes()


@pytest.mark.parametrize("head", ["ID number", "ID-Nummer", "Num\xe9ro d’identification", "Matr."])
def test_a_number_that_is_not_a_students_own_is_said(head, tmp_path):
    """In Moodle's worksheet the column stands right of the name, where a teacher may see it."""
    path, there = tmp_path / "sheet.csv", tmp_path / "filled.csv"
    rows = [
        ["Identifier", "Full name", head, "Email address", "Grade", "Maximum grade", "Changed"],
        ["Participant 4711001", "Ada", "2040117", "a@x.org", "", "16.00", "-"],
        ["Participant 4711002", "Bob", "2040042", "b@x.org", "", "16.00", "-"],
    ]
    path.write_text(table(rows), "utf-8", newline="")
    typed = [one._replace(numbers={"042": ()}) for one in class_()[:2]]
    said = [each for each in fill(path, there, SORTERS, typed) if "typed" in each]
    assert said == ["Ada typed the number 042, and sheet.csv has one that ends in 117"]


def test_canvass_gradebook_is_filled_in_its_column(tmp_path):
    head = "Student,ID,SIS User ID,SIS Login ID,Section,Week 4 (814),Week 5: x (815),Final Score"
    text = (
        f"{head}\r\n,,,,,,Manual Posting,\r\n    Points Possible,,,,,9,32,(read only)\r\n"
        '"Lovelace, Ada",4711001,A1,ada,1,7,,50\r\n"Student, Test",4711002,,b,1,,,\r\n'
    )
    path, there = tmp_path / "gradebook.csv", tmp_path / "filled.csv"
    path.write_text(text, "utf-8", newline="")
    said = fill(path, there, SORTERS, class_())
    assert there.read_bytes().decode() == text.replace("1,7,,50", "1,7,27.00,50")
    assert "32 points, the week 16" in said[0]
    mine = [class_()[0]._replace(numbers={"042": (), "117": ()})]
    for own, ends, wrong in (
        ("A1", "", ()),
        ("1000117", "117", ["042"]),
        ("s-2042", "042", ["117"]),
        ("s123042x", "042", ["117"]),
    ):
        path.write_text(text.replace(",A1,", f",{own},"), "utf-8", newline="")
        said = [each for each in fill(path, there, SORTERS, mine) if "typed" in each]
        end = f"and gradebook.csv has one that ends in {ends}"
        assert said == [f"Ada typed the number {each}, {end}" for each in wrong]
    path.write_text(text.replace("Week 5: x", "Blatt"), "utf-8", newline="")
    with pytest.raises(BookError, match=r"Which assignment .* is week 5.*Week 4, Blatt"):
        fill(path, there, SORTERS, class_())
    path.write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(BookError, match="neither Moodle's grading worksheet"):
        fill(path, there, SORTERS, class_())


def test_a_spreadsheet_has_all_weeks_and_what_a_teacher_adds(tmp_path):
    rows = {1: "a_1,Ada,5\nb_2,=1+1,", 2: "a_9,Ada,2.5"}
    weeks = {f"week-{n}-x/grades.csv": f"student,name,points\n{row}" for n, row in rows.items()}
    written(tmp_path, weeks | {MORE: "student;project;exam\nAda;10;7,5\n"})
    write_course(tmp_path)
    sheet = openpyxl.load_workbook(tmp_path / "course.xlsx").active
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["student", "name", "week 1", "week 2", "project", "exam", "in all"],
        ["b_2", "=1+1", None, None, None, None, 0],
        ["a_1", "Ada", 5, 2.5, 10, "7,5", 25],
    ]
    assert sheet["B2"].data_type == "s"


def test_open_exercises_pay_by_score_and_their_scores_are_kept_for_a_contest():
    rows = []
    for name, score, share in (("slow", 400, 0.5), ("quick", 250, 0.875)):
        told = answer(symptom="sorted", paid=share, score=score, lower=True)
        rows.append(graded(name, rescue=grading.grade_of(told)))
    page = reports.report(SORTERS, rows, "")
    assert page.index("<li>quick: 250</li>") < page.index("<li>slow: 400</li>")
    assert "Right: sorted" in (feedback := reports.feedback(SORTERS, rows[1]))
    assert "3.5 of 4 points" in feedback
    head, told_rows = reports.plain(SORTERS, rows)
    assert head[-1] == "score of rescue" and [row[-1] for row in told_rows] == ["400", "250"]


def test_a_page_shows_what_was_typed_and_runs_nothing():
    odd = graded("<script>alert(1)</script>", given=Grade(0.0, "<img src=x>"))
    odd = odd._replace(files=("<b>.ipynb",), notes=("<i>",))
    for page in (reports.feedback(SORTERS, odd), reports.report(SORTERS, [odd], "")):
        assert not re.search("<script|<img|<i>|<b>", page) and "&lt;img" in page


def test_what_the_command_lacks_is_said(tmp_path, capsys):
    (tmp_path / "course.yml").write_text("seed: 7\n", "utf-8")
    for options, said in (
        ([], "Name one of your own"),
        ([str(tmp_path)], "WEEK=3 IN=the.zip"),
        ([str(tmp_path), "--week", "9", "--in", str(tmp_path)], "has no week 9"),
    ):
        assert build.main(["grade", *options]) == 1
        assert said in capsys.readouterr().err
