"""What was handed in gets the points that it earned, whatever it does to get others."""

import contextlib
import copy
import csv
import ctypes
import hashlib
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import nbformat
import pytest
import torch
from hypothesis import HealthCheck
from hypothesis import strategies as st

from book import build
from book.course import answers, course, grading, homework, reports, submissions, worker
from book.course.homework import Exercise, Week
from book.course.reports import Grade
from book.site.dependencies import BookError, lesson_stems

from .test_course import ROOT, WEEKS, pretend_site

SORTERS = next(week for week in WEEKS if week.stem == "deep_qkv")
SOLVED = [(week, one) for week in WEEKS for one in week.exercises]

RIGHT = {"share": 1.0, "message": "right", "changed": []}
"""What comes of an answer that is right."""
NOTHING = Grade(0.0, "")


def exercise(name: str, stem: str = SORTERS.stem) -> Exercise:
    return next(one for week, one in SOLVED if (week.stem, one.name) == (stem, name))


def packed(path: Path, files: dict[str, object]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return path


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[submissions.Submission]]:
    """What was handed in of a zip with these files."""

    def call(files: dict[str, object], week: Week = SORTERS) -> list[submissions.Submission]:
        return submissions.read(packed(tmp_path / "all.zip", files), week)

    return call


Read = Callable[..., list[submissions.Submission]]


def handed(name: str = "Ada", cells: dict[str, str] | None = None) -> submissions.Submission:
    student = submissions.Student(name, name, "", "")
    return submissions.Submission(student, "x.ipynb", cells or {}, ())


def graded(
    of: submissions.Submission, week: Week = SORTERS, given: Grade = NOTHING, **grades: Grade
) -> reports.Graded:
    """With these grades, and that given for all else."""
    found = {one.name: grades.get(one.name, given) for one in week.exercises}
    points = {name: None if one.share is None else one.share * 4 for name, one in found.items()}
    return reports.Graded(of, found, points, {})


# What an answer may be


def test_a_published_solution_and_a_stub_may_be_run() -> None:
    for week, one in SOLVED:
        words = " ".join((one.question, one.hint, one.stub, one.solution))
        for source in (one.solution, one.stub):
            assert answers.misspelt(source) == "" and answers.refused(source) == [], one.name
            assert answers.ready(source, words, grading.package_names(one.setup)) == [], one.name
            assert answers.given(one.stub) in answers.given_at_top(source), one.name
        called = grading.question(grading.Trial(one, one.stub), week, 7, [one.setup])
        assert answers.given(one.stub) in called["answer"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import importlib", "imports importlib"),
        ("import attn_notes.os", "imports attn_notes.os"),
        ("from torch import sys", "imports torch.sys"),
        ("from math import *", "imports math.*"),
        ("from book.kit.exercises import _x", "imports book.kit.exercises._x"),
        ("exercises.need = print", "changes exercises"),
        ("exercises.need.x[0] += 1", "changes exercises"),
        ("del checks.floor", "changes checks"),
        ("torch.linalg.svdvals = lambda x: x", "changes torch"),
        ("for recipe.RATE in (1, 2): pass", "changes recipe"),
        ("with x as checks.floor: pass", "changes checks"),
        ("torch.os.system('ls')", "uses .os"),
        ("torch.sys.modules", "uses .modules"),
        ("f.__globals__", "uses .__globals__"),
        ("().__class__.__subclasses__()", "uses .__class__"),
        ("random._os", "uses ._os"),
        ("exec('1')", "uses exec"),
        ("getattr(torch, 'o' + 's')", "uses getattr"),
        ("open('seed.txt')", "uses open"),
        ("__import__('os')", "uses __import__"),
        ("__builtins__", "uses __builtins__"),
        ("get_ipython()", "uses get_ipython"),
        ("class A:\n    def __eq__(self, other):\n        return True", "defines __eq__"),
        ("def f():\n    g = (g.gi_frame.f_back for _ in [1])\n    next(g)", "uses .gi_frame"),
        ("import operator\noperator.attrgetter('f_globals')", "uses .attrgetter"),
        ("'{0.gi_frame}'.format(x)", "uses .format, where an f-string would do"),
        ("('{0' + '.x}').format(x)", "uses .format, where an f-string would do"),
        ("match torch:\n    case object(from_file=f): pass", "uses .from_file"),
        ("torch.from_file('x', shared=True, size=4)", "uses .from_file"),
        ("torch.save(1, 'x')", "uses .save"),
        ("torch.library.Library('aten', 'IMPL')", "uses .library"),
        ("x = type('X', (torch.Tensor,), {'__' + 'eq__': print})", "makes a class by type"),
        ("x.as_subclass(X)", "uses .as_subclass"),
        # what an answer may need
        ("import torch\nfrom torch.nn import functional as F\nx = F.relu(torch.ones(2))", ""),
        ("import numpy as np\nrows = np.zeros(3)\nrows[0] = 1", ""),
        ("def f(model):\n    model.eval()\n    model.weight.requires_grad = False", ""),
        ("open = {'('}\ndepth = len(open)", ""),
        ("print('{} of {:.2f}'.format(type(1), 2.0))", ""),
        ("class A(torch.nn.Module):\n    def __init__(self):\n        self._kept = 0", ""),
    ],
)
def test_what_could_reach_the_check_is_refused_by_its_name(source: str, said: str) -> None:
    assert answers.refused(source) == [] if not said else said in answers.refused(source)


def test_lines_for_a_notebook_are_no_python_and_no_matter() -> None:
    source = answers.code("%time\n!pip install x\nx = 1\n  ?x")
    assert source == "\n\nx = 1\n" and answers.misspelt(source) == ""
    assert answers.misspelt("def f(:\n    pass").startswith("the cell is no Python in line 1")
    assert "None" not in answers.misspelt("x = '\0'") != ""
    assert answers.misspelt(f"x = 0x{'f' * 5000}").startswith("the cell is no Python: ")
    for own in ("x = (7\n     % 4)", "x = '''\n! note\n'''", "x = 'a\x0b%b'"):
        assert answers.code(own) == own
    fenced = answers.code(f"```python\n{MINE}\n```")
    assert answers.misspelt(fenced) == "" and answers.given(fenced) == "floor"


def test_answers_are_the_same_whatever_their_names_comments_and_types() -> None:
    mine = exercise("leak").solution
    other = re.sub(r"\baltered\b", "b", re.sub(r"\blargest\b", "a", mine))
    other = other.replace("(model, tokens)", "(f, x: torch.Tensor) -> float")
    other = re.sub(r"\bmodel\b", "f", re.sub(r"\btokens\b", "x", other))
    other = f"import math\n'mine'\n{other}  # mine"
    assert other != mine and answers.print_of(other) == answers.print_of(mine) != ""
    unlike = answers.print_of(mine.replace("1, tokens", "2, tokens"))
    assert unlike not in ("", answers.print_of(mine))
    assert answers.print_of("def f(decay, steps):\n    return decay**steps") == ""  # too short


def test_a_course_has_a_case_of_its_own_and_a_published_solution_does_not_fit() -> None:
    for week in WEEKS:
        book = homework.week(ROOT, week.stem, week.number)
        (own,) = (one for one in week.exercises if one.case)
        (published,) = (one for one in book.exercises if one.name == own.name)
        assert own.stub != published.stub and f"case = {own.case}\n" in own.stub
        assert homework.week(ROOT, week.stem, week.number, seed=7) == week
        asked = grading.question(grading.Trial(own, own.solution), week, 7, [own.setup])
        scope: dict[str, Any] = {"checks": import_module(f"book.lessons.{week.stem}.checks")}
        assert worker.tried(dict(scope), asked, {})["share"] == 1.0
        for source in (published.solution, own.stub, "x = 1"):
            assert worker.tried(dict(scope), {**asked, "source": source}, {})["share"] == 0.0
        taken = f"answer = checks.{asked['check']}.solved(case)"
        words = " ".join((own.question, own.hint, own.stub, own.solution))
        names = grading.package_names(own.setup)
        assert answers.ready(taken, words, names) == [f"checks.{asked['check']}.solved"]
        assert answers.refused(taken.replace("solved", "_case")) == ["uses ._case"]


@pytest.mark.parametrize(
    ("name", "stem", "source", "held", "published"),
    [
        (  # the exercise speaks of it, and yet it is no help that was meant
            *("leak", SORTERS.stem),
            "from attn_notes.analysis.leaks import future_leak as ready\n"
            "def future_leak(model, tokens):\n    return ready(model, tokens, 4)",
            *("takes attn_notes.analysis.leaks.future_leak from the package", False),
        ),
        (
            *("floor", "dialectical"),
            "def floor(p):\n    from attn_notes.tasks.brackets import Brackets\n"
            "    return Brackets(pairs=1, filler=p).floor",
            *("takes attn_notes.tasks.brackets.Brackets from the package", False),
        ),
        (
            *("leak", SORTERS.stem, "# mine\n{}"),
            *("is the published solution, but for names and comments", False),
        ),
        ("rescue", SORTERS.stem, "{}", "", False),  # open
        ("rank", SORTERS.stem, "# mine\n{}", "", True),  # too short to be held
        ("rank", SORTERS.stem, "{}\nother = -2", "", False),
    ],
)
def test_what_comes_ready_is_held_or_named(
    name: str, stem: str, source: str, held: str, published: bool
) -> None:
    one = exercise(name, stem)
    source = source.replace("{}", one.solution)
    grade = grading.of_a_trial(one, source, RIGHT)
    assert (grade.held, grade.share, grade.published) == (held, 1.0, published)
    assert reports.sentence(grade) == f"{reports.WAITS if held else 'Right: '}right"
    if name == "rank":
        page = reports.report(SORTERS, [graded(handed(), rank=grade)], "")
        named = "As published, which may be chance in so short an answer: Ada."
        assert (named in page) == published


# Who handed in what

LEAK = next(one for one in SORTERS.exercises if one.name == "leak").solution
MINE = "def floor(letters, length):\n    return 1.0"


def sheet(change: dict[str, str], week: Week = SORTERS) -> dict[str, Any]:
    """A week's sheet with other code in some cells."""
    found = homework.sheet(week, "0.2.0")
    for cell in found.cells:
        cell.source = change.get(cell.id, cell.source)
    return json.loads(nbformat.writes(found))


MOODLE = "Ada L_12_assignsubmission_file_"
LAYOUTS = {
    f"{MOODLE}/Kopie von week-1 (2).ipynb": (MOODLE, "Ada L", "12", "moodle"),
    "Ada O'Brien-Ng_12_assignsubmission_file_x_y.ipynb": (
        *("Ada O'Brien-Ng_12_assignsubmission_file_", "Ada O'Brien-Ng", "12", "moodle"),
    ),
    "lovelaceada_LATE_47_11_week-1-homework-2.ipynb": (
        *("lovelaceada_47", "lovelaceada", "47", "canvas"),
    ),
    "lovelaceada_47_11_week_1.ipynb": ("lovelaceada_47", "lovelaceada", "47", "canvas"),
    f"All of week 1/{MOODLE}/x.ipynb": (MOODLE, "Ada L", "12", "moodle"),
    "submissions/lovelaceada_47_11_x.ipynb": ("lovelaceada_47", "lovelaceada", "47", "canvas"),
    f"ada/{SORTERS.name}/renamed.ipynb": ("ada", "ada", "", "nbgrader"),
    "ada/mine.ipynb": ("ada", "ada", "", ""),
    "ada.ipynb": ("ada", "ada", "", ""),
}


def test_every_layout_is_read(read: Read, tmp_path: Path) -> None:
    book = sheet({"floor": MINE})
    for name, student in LAYOUTS.items():
        (found,) = read({name: book, "__MACOSX/._x.ipynb": b"", ".DS": b""})
        assert found.student == student and found.cells["floor"] == MINE and found.notes == ()
    path = tmp_path / "submitted" / "ada" / SORTERS.name / "week.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(book), "utf-8")
    inner = packed(tmp_path / "inner.zip", {"deep/Copy of x.ipynb": book}).read_bytes()
    both = submissions.read(tmp_path / "submitted", SORTERS) + read({"ada/x.zip": inner})
    assert [(one.student.name, one.cells["floor"]) for one in both] == [("ada", MINE)] * 2


def test_of_what_one_hands_in_one_file_counts_and_what_is_odd_is_told(read: Read) -> None:
    """What a page saves has the names that `test_what_was_reached_can_be_saved` sees."""
    other = WEEKS[1]
    saved = [{"name": "floor", "of": 2, "points": 2, "answer": MINE}]
    lesson = "fay_1_assignsubmission_file_/week-1-lesson.ipynb"
    files = {
        "ada/answers-one (1).json": {"lesson": SORTERS.stem, "exercises": saved},
        "ada/answers-two.json": {"lesson": other.stem, "exercises": saved},
        "ada/predictions.json": [{"part": "plain", "guess": 1}],
        "bob/answers.json": {"lesson": SORTERS.stem, "exercises": [{"name": "floor"}]},
        "cy/old.ipynb": sheet({}),  # of two the one with more answers
        "cy/new.ipynb": sheet({"floor": MINE}),
        "cy/notes.txt": b"mine",
        "cy/other.ipynb": sheet({}, other),
        "dan/x.ipynb": {"cells": [], "metadata": {}},
        "eve/x.ipynb": b"{",
        **{lesson: b"{}", "README.txt": b"", "__MACOSX/README.txt": b""},  # as handed out
    }
    none = "no homework of this week was found"
    told = {one.student.name: (one.file, {**one.cells}, *one.notes) for one in read(files)}
    assert told == {
        "ada": (
            *("answers-one (1).json", {"floor": MINE}),
            f"answers-two.json is the homework of {other.stem}",
            "predictions.json is no notebook",
        ),
        "bob": ("", {}, "answers.json is no notebook", none),
        "cy": (
            *("new.ipynb", told["cy"][1] | {"floor": MINE}, "notes.txt is no notebook"),
            f"other.ipynb is the homework of {other.name}",
            "old.ipynb is another; new.ipynb counts",
        ),
        "dan": ("", {}, "x.ipynb has none of this week's exercises", none),
        "eve": ("", {}, "x.ipynb is no notebook", none),
        "fay": ("", {}, none),
    }


def test_an_answer_is_found_whatever_a_program_has_made_of_its_cell() -> None:
    book = sheet({"floor": MINE})
    for taken in ((), ("nbgrader",), ("id",), ("nbgrader", "id")):
        found = copy.deepcopy(book)
        for cell in found["cells"]:
            cell["source"] = cell["source"] if "id" in taken else "".join(cell["source"])
            for name in taken:
                (cell if name == "id" else cell["metadata"]).pop(name, None)
        read = submissions.read_sheet("x", json.dumps(found).encode(), SORTERS)
        assert read.answers["floor"].source == MINE and read.changed == 1
        assert {*read.answers} == {e.name for e in SORTERS.exercises}


# What one student hands in stops nothing but that student's row


def zipped_with(name: str, content: bytes, change: Callable[[bytearray], None]) -> bytes:
    """A zip of one file, with something changed in its bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    found = bytearray(made.getvalue())
    change(found)
    return bytes(found)


def both_heads(offset: int, value: bytes) -> Callable[[bytearray], None]:
    """Set what a zip says of its file, before it and at the end: offset in the first."""

    def change(found: bytearray) -> None:
        for there in (offset, found.index(b"PK\1\2") + offset + 2):
            found[there : there + len(value)] = value

    return change


def changed_cells(change: Callable[[list[Any]], None]) -> dict[str, Any]:
    book = sheet({"floor": MINE})
    change(book["cells"])
    return book


def code_cell(source: object, **more: object) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, **more}


BOOK = json.dumps(sheet({"floor": MINE})).encode()
DEEP = b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b', "metadata": {}}'
DEEP_CODE = f"def floor(letters, length):\n    return {'-' * 5000}1"
NESTED = BOOK
for _ in range(9):
    NESTED = zipped_with("x.zip", NESTED, len)
HEADS = {  # a byte of a zip's heads → what is said
    (6, b"\1"): "is locked by a password",
    (8, b"\x09"): "is packed in a way",
    (14, b"\7"): "is damaged",
}
ODD: dict[str, tuple[object, str]] = {
    **{
        f"head {at[0]}.zip": (zipped_with("x.ipynb", BOOK, both_heads(*at)), said)
        for at, said in HEADS.items()
    },
    "short.zip": (zipped_with("x.ipynb", BOOK, len)[:2000], "is damaged"),
    "bomb.zip": (zipped_with("x.ipynb", bytes(2**26), len), "of a file 50 MB are read"),
    "lying.zip": (zipped_with("x.ipynb", bytes(2**26), both_heads(22, b"\n\0\0\0")), "x.ipynb is"),
    "nested.zip": (NESTED, "is a zip in too many others"),
    "null.ipynb": (b"null", "is no notebook"),
    "number.ipynb": ({"cells": 3, "metadata": {}}, "is no notebook"),
    "empty.ipynb": (b"", "is no notebook"),
    "latin.ipynb": (b'{"cells": ["\xfc"]}', "is no notebook"),
    "deep.ipynb": (DEEP, "nested too deep"),
    "texts.ipynb": ({"cells": ["a", None, 3, []], "metadata": None}, "has none of this week's"),
    "long.ipynb": (sheet({"floor": "x = 1\n" * 60_000}), "more than 3,000 lines of code"),
    "cells.ipynb": ({"cells": [{}] * 2000, "metadata": {}}, "more than 1,000 cells"),
    "week.ipynb": ({**sheet({}), "metadata": {homework.SHEET: {"week": "\ud800\n"}}}, "%D800"),
    "saved.json": ({"lesson": 3, "exercises": [None, 1]}, "is no notebook"),
}
"""What students handed in, and what is said of it."""

READ: dict[str, object] = {
    "bom.ipynb": b"\xef\xbb\xbf" + BOOK,
    "utf-16.ipynb": BOOK.decode().encode("utf-16"),
    "metadata.ipynb": changed_cells(lambda cells: [c.update(metadata=None) for c in cells]),
    "nbgrader.ipynb": changed_cells(lambda cells: cells[3]["metadata"].update(nbgrader=[1])),
    "ids.ipynb": changed_cells(lambda cells: [c.update(id={}) for c in cells]),
    "extra.ipynb": changed_cells(lambda cells: cells.extend(["text", None, {}, {"source": None}])),
    "types.ipynb": changed_cells(lambda cells: cells[0].update(cell_type=[], source=[1, None])),
    "bare.ipynb": {"cells": sheet({"floor": MINE})["cells"]},
    "huge.ipynb": changed_cells(lambda cells: cells.insert(0, code_cell(f"N = 0x{'f' * 5000}"))),
}
"""What is odd, and yet tells what the answer is."""

NAMES_OF = {  # what it is called → which student's it is, as a folder is called
    "../../../etc/x.ipynb": "etc",
    "/x.ipynb": "x",
    "a\nb/x.ipynb": "a%0Ab",
    "back\\x.ipynb": "back",
    f"{'n' * 300}/x.ipynb": f"{'n' * 191}-{hashlib.sha256(b'n' * 300).hexdigest()[:8]}",
}


def test_an_odd_file_costs_one_row_and_the_row_says_why(tmp_path: Path) -> None:
    """Also in a folder, with links and folders that are called as notebooks."""
    files = {f"{name}/{name}": content for name, (content, _) in ODD.items()}
    files |= {f"{name}/{name}": content for name, content in READ.items()}
    files |= {**dict.fromkeys(NAMES_OF, BOOK), "deep code/x.ipynb": sheet({"floor": DEEP_CODE})}
    folder = tmp_path / "folder"
    for name, content in files.items():
        if name not in NAMES_OF:
            (folder / name).parent.mkdir(parents=True)
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            (folder / name).write_bytes(text)
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
        found = {one.student.key: one for one in submissions.read(source, SORTERS)}
        said = {name: sentence for name, (_, sentence) in ODD.items()} | besides
        assert {*found} == {*said, *READ, "deep code"}
        for name, sentence in said.items():
            assert sentence in "; ".join(found[name].notes), name
        for name in (*READ, *NAMES_OF.values()):
            if name in found:
                assert found[name].cells["floor"] == MINE, name
        rows = list(grading.settled(SORTERS, [*found.values()], {}, {}))
        new = tmp_path / f"new {source.name}"
        new.mkdir()
        reports.write(new, SORTERS, [*rows, rows[0]], "")  # as if a name were two people's
        assert len([*new.glob("feedback/*/feedback.html")]) == len(found) + 1
        with (new / "grades.csv").open(encoding="utf-8") as file:
            notes = {row["student"]: row["notes"] for row in csv.DictReader(file)}
        assert "is locked" in notes["head 6.zip"] and notes["bom.ipynb"] == ""
    assert found["deep code"].cells["floor"] == DEEP_CODE
    for code in (DEEP_CODE, f"x = {'-' * 300}1"):  # Python reads the second, and others cannot
        assert answers.misspelt(code) == "the cell is nested too deep to be read."


@pytest.mark.parametrize("at", HEADS)
def test_a_file_that_the_zip_of_the_class_itself_cannot_give_costs_one_row(
    at: tuple[int, bytes], tmp_path: Path
) -> None:
    """The first of three, whose heads are changed in the zip that the platform made."""
    source = packed(tmp_path / "all.zip", {f"{n}/x.ipynb": BOOK for n in ("ada", "eve", "zoe")})
    content = bytearray(source.read_bytes())
    both_heads(*at)(content)
    source.write_bytes(content)
    ada, *others = submissions.read(source, SORTERS)
    assert f"x.ipynb {HEADS[at]}" in ada.notes[0] and [one.notes for one in others] == [(), ()]


def test_the_files_of_one_student_have_limits_together(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = packed(tmp_path / "in.zip", {f"{i}.ipynb": BOOK for i in range(9)}).read_bytes()
    monkeypatch.setattr(submissions, "ROOM", len(inner) + 3 * len(BOOK))
    monkeypatch.setattr(submissions, "MOST", 5)
    ada, bob = read({"ada/x.zip": inner, "bob/x.ipynb": BOOK})
    assert "3.ipynb is too large" in "; ".join(ada.notes)
    assert "only the first 5 files are read" in ada.notes and bob.notes == ()


@pytest.mark.parametrize("names", [("Mu\u0308ller", "M\xfcller"), ("M\xfcller", "M\xfcller")])
def test_a_name_of_two_spellings_is_one_person(names: tuple[str, str], tmp_path: Path) -> None:
    """A zip of some systems says nowhere that its names are in UTF-8."""
    source = tmp_path / "all.zip"
    paths = [f"{name}/{i}.ipynb".encode() for i, name in enumerate(names)]
    plain = [path.replace(b"\xc3", b"c").replace(b"\xbc", b"u").replace(b"\xcc\x88", b"uu")
             for path in paths]  # fmt: skip
    content = packed(source, dict.fromkeys([p.decode() for p in plain], BOOK)).read_bytes()
    for there, path in zip(plain, paths, strict=True):
        content = content.replace(there, path)
    source.write_bytes(content)
    (found,) = submissions.read(source, SORTERS)
    assert found.student.key == "M\xfcller" and found.cells["floor"] == MINE


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just(MINE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["cells", "metadata", "source", "id", "exercises", "name"]), inner),
    max_leaves=5,
)  # fmt: skip


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """All that can be replaced in what JSON says, but lines: a container, and where in it."""
    for key in [*node] if isinstance(node, dict) else range(len(node)):
        if isinstance(node, dict) or not isinstance(node[key], str):
            yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A notebook in which something stands where something else should be, or zipped and broken."""
    book: Any = json.loads(BOOK)
    for _ in range(draw(st.integers(1, 4))):
        node, key = draw(st.sampled_from([*places(book)]))
        node[key] = draw(VALUES)
    content = json.dumps(book).encode()
    broken = bytearray(zipped_with("x.ipynb", content, len) if draw(st.booleans()) else content)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, min(len(broken), 120) - 1)) - draw(st.sampled_from([0, 100]))
        broken[at % len(broken)] = draw(st.integers(0, 255))
    return bytes(broken)


@pytest.mark.slow
@hypothesis.settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@hypothesis.given(odd=mutated(), name=st.text(min_size=1, max_size=30))
def test_whatever_one_hands_in_others_keep_their_points(
    odd: bytes, name: str, tmp_path: Path
) -> None:
    files = {"ada/x.ipynb": BOOK, f"eve{name}/{name}": odd, "zoe/x.ipynb": BOOK}
    handed_in = submissions.read(packed(tmp_path / "all.zip", files), SORTERS)
    trials = [grading.trial_of(one, e) for one in handed_in for e in SORTERS.exercises]
    came = {trial: RIGHT for trial in trials if grading.is_to_run(trial)}
    rows = list(grading.settled(SORTERS, handed_in, came, {}))
    with tempfile.TemporaryDirectory() as folder:
        reports.write(Path(folder), SORTERS, rows, "")
    points = {one.submission.student.key: one.points for one in rows}
    expected = {one.name: 0.0 for one in SORTERS.exercises} | {"floor": 2.0}
    assert points["ada"] == points["zoe"] == expected and len(points) <= 3


# Where an answer stands


def test_an_answer_is_read_where_it_stands_and_that_is_said(read: Read) -> None:
    """Turned into text, above an empty copy, or in a cell of its own below an untouched stub."""
    plain = sheet({"floor": MINE})
    stub, own = {"source": SORTERS.exercises[0].stub}, code_cell(MINE, metadata={}, outputs=[])
    place = [cell.get("id") for cell in plain["cells"]].index("floor")
    of = plain["cells"][place]
    for cells, said in (
        ([{**of, "cell_type": "markdown"}], "stands in a cell of text"),
        ([of, {**of, **stub}], "an empty copy, which is left out"),
        ([{**of, **stub}, {**own, "id": "mine"}], "from another cell than its own"),
        ([{**of, "source": [stub["source"]]}, {**own, "id": None}], "from another cell than"),
    ):
        book = copy.deepcopy(plain)
        book["cells"][place : place + 1] = cells
        (ada,) = read({"ada/x.ipynb": book})
        (note,) = ada.notes
        assert ada.cells["floor"] == MINE and said in note
        one = next(grading.settled(SORTERS, [ada], {}, {}))
        for page in (reports.feedback(SORTERS, one), reports.report(SORTERS, [one], "")):
            assert note in page
    # Two exercises of the week ask for `answer`: the one counts below which the cell stands.
    book = sheet({})
    place = [cell.get("id") for cell in book["cells"]].index("rank")
    book["cells"].insert(place + 1, code_cell("answer = 1, 2"))
    found = submissions.read_sheet("x", json.dumps(book).encode(), SORTERS)
    assert found.answers["rank"].source == "answer = 1, 2" and found.changed == 1


@pytest.mark.parametrize(
    ("typed", "file"),
    [
        ("Ada L_12_assignsubmission_onlinetext_/onlinetext.html",
         "Ada L_12_assignsubmission_file_/x.ipynb"),
        ("Ada L_12_assignsubmission_onlinetext_onlinetext.html",
         "Ada L_12_assignsubmission_file_x.ipynb"),
        ("lovelaceada_47_text.html", "lovelaceada_LATE_47_11_x.ipynb"),
        ("lovelaceada_LATE_47_link.html", "lovelaceada_47_11_x.ipynb"),
    ],
)  # fmt: skip
def test_what_was_typed_into_a_platform_is_its_students(typed: str, file: str, read: Read) -> None:
    (other,) = read({file: BOOK})
    for files in ({typed: b"<p>x"}, {typed: b"<p>x", file: BOOK}, {file: BOOK, typed: b"<p>x"}):
        (found,) = read(files)
        assert "was typed into the learning platform" in found.notes[0]
        assert found.student.number in ("12", "47") and bool(found.cells) == (file in files)
        assert found.student == other.student


def test_what_a_right_notebook_has_counts(read: Read) -> None:
    """Imports of its first cell, helpers in cells above, a list that another cell has filled."""
    one, own = (
        SORTERS.exercises[0],
        "def floor(letters, length):\n    return twice(letters, length)",
    )
    book = sheet({"floor": own})
    book["cells"][1]["source"] += "\nimport math as m, statistics"
    place = [cell.get("id") for cell in book["cells"]].index("floor")
    solution = one.solution.replace("def floor", "def whole")
    book["cells"][place:place] = map(code_cell, (
        "PARTS = [2]\nprint(PARTS)\nlost = m.pi",
        "PARTS.append(m.floor(2.5))",
        "1 / 0\nx = (",
        f"{solution}\ndef twice(*given):\n    return whole(*given) * PARTS[1] / PARTS[0]",
    ))  # fmt: skip
    (ada,) = read({"ada/x.ipynb": book})
    above = "\n".join(ada.above["floor"])
    assert "statistics" in above and "print" not in above and "lost" not in above
    assert not {*ada.above["floor"]} & answers.statements([one.setup])
    trial = grading.trial_of(ada, one)
    assert grading.is_to_run(trial)
    asked = grading.question(trial, SORTERS, 7, [one.setup])
    scope = worker.ready("import torch")
    assert worker.tried(dict(scope), asked, {})["share"] == 1.0
    grade = grading.of_a_trial(one, own, worker.tried(dict(scope), {**asked, "above": ()}, {}))
    assert grade.share is None and "NameError: name 'twice' is not defined" in grade.held
    page = reports.report(SORTERS, [graded(ada, given=grade)], "")
    assert "stops with NameError" in page.split("<h2>Points")[0]
    assert reports.sentence(grade).startswith(reports.LATER)


def test_a_setup_has_the_names_of_the_others() -> None:
    first, second = worker.all_ready(["import math\nx = 1", "import cmath\nx = 2"])
    assert "cmath" in first and "math" in second and (first["x"], second["x"]) == (1, 2)


@pytest.mark.parametrize("name", ["time", "warnings", "enum"])
def test_an_answer_that_is_refused_unread_is_to_be_decided(name: str) -> None:
    one = SORTERS.exercises[0]
    refused = grading.Trial(one, f"import {name}\n{MINE}")
    helped = grading.Trial(one, MINE, (f"import {name}",))
    assert not grading.is_to_run(refused) and not grading.is_to_run(helped)
    grade = grading.judged(refused, None, True)
    assert grade.share is None and grade.held == f"refused: imports {name}"


# Its exchange leaves a file to the garbage.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_nbgrader_collected_is_handed_back_where_it_looks(tmp_path: Path) -> None:
    """Its exchange copies what stands there, and names it by the secret beside it."""
    root, week = tmp_path / "seminar", WEEKS[1]
    for each in (WEEKS[0], week):
        there = root / "submitted" / "ada" / each.name
        there.mkdir(parents=True)
        (there / "Mine.ipynb").write_text(json.dumps(sheet({}, each)), "utf-8")
        for name in submissions.RECEIPT:
            (there / name).write_text(f"{name} {each.number}", "utf-8")
    (handed_in,) = submissions.read(root / "submitted", week)  # not of the week before
    assert handed_in.student.key == "ada" and handed_in.notes == ()
    nothing = graded(handed_in, week, Grade(0.0, "there is no answer yet."))
    other = handed_in._replace(student=submissions.Student("bob", "bob", "", ""), receipt={})
    assert grading.release(root, week, [nothing._replace(submission=other)]) == []
    assert not (root / "feedback").exists()
    assert grading.release(root, week, [nothing]) == [f"new      ada/{week.name}"]

    from nbgrader.coursedir import CourseDirectory
    from nbgrader.exchange.default import ExchangeReleaseFeedback
    from nbgrader.utils import notebook_hash

    of = CourseDirectory(root=str(root), course_id="c", assignment_id=week.name)
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    ExchangeReleaseFeedback(coursedir=of, root=str(exchange)).start()
    (given,) = (exchange / "c" / "feedback").iterdir()
    assert given.stem == notebook_hash(secret="submission_secret.txt 2", notebook_id="Mine")
    assert given.read_text("utf-8") == reports.feedback(week, nothing)
    # A week before it stays where it is, and what a teacher wrote there too.
    first = graded(submissions.read(root / "submitted", WEEKS[0])[0], WEEKS[0])
    assert grading.release(root, WEEKS[0], [first]) == [f"new      ada/{WEEKS[0].name}"]
    page = root / "feedback" / "ada" / week.name / "Mine.html"
    page.write_text("a teacher's", "utf-8")
    assert "somebody has worked there" in grading.release(root, week, [nothing])[0]
    assert page.read_text("utf-8") == "a teacher's"


def test_what_was_handed_out_beside_a_sheet_is_no_answer(read: Read, tmp_path: Path) -> None:
    """A whole folder, as nbgrader collects it: a lesson has cells of names like an exercise's."""
    wheel = packed(tmp_path / "x.whl", {"attn_notes/__init__.py": b""}).read_bytes()
    for week in WEEKS:
        answer, begin = week.exercises[0], f"ada/{week.name}/week-{week.number}"
        lesson, *evidence = (page.read_bytes() for page in homework.pages(ROOT, week.stem))
        files: dict[str, object] = {
            f"{begin}-homework.ipynb": sheet({answer.name: answer.solution}, week),
            f"{begin}-lesson.ipynb": lesson,
            **{f"{begin}-evidence.ipynb": page for page in evidence},
            f"ada/{week.name}/README.txt": b"",
            f"ada/{week.name}/attn_notes-1-py3-none-any.whl": wheel,
        }
        (ada,) = read(files, week)
        assert ada.file == f"week-{week.number}-homework.ipynb" and ada.notes == ()
        assert ada.cells[answer.name] == answers.code(answer.solution)
        (ada,) = read(files | {f"ada/{week.name}/mine.ipynb": lesson}, week)  # renamed
        assert ada.file == f"week-{week.number}-homework.ipynb"


def test_nothing_handed_in_or_a_broken_zip_is_a_sentence(read: Read, tmp_path: Path) -> None:
    cut = packed(tmp_path / "cut.zip", {"ada/x.ipynb": BOOK})
    cut.write_bytes(cut.read_bytes()[:-30])
    for call, said in (
        (lambda: submissions.read(tmp_path / "none.zip", SORTERS), "There is no"),
        (lambda: submissions.read(cut, SORTERS), "is no whole zip"),
        (lambda: read({}), "nothing that a student"),
    ):
        with pytest.raises(BookError, match=said):
            call()


# A process of its own

ROOT_GRADES = os.geteuid() == 0
ASKED = {"chapter": "deep_qkv", "check": "floor", "answer": "floor", "case": 0, "seed": 7}

Fork = Callable[..., dict[str, Any]]


@pytest.fixture
def guard() -> worker.Guard:
    return worker.Guard([ROOT, Path(os.__file__).parent])


@pytest.fixture
def fork(monkeypatch: pytest.MonkeyPatch, guard: worker.Guard) -> Fork:
    """What came of something that was run in a fork, for so many seconds at most."""

    def call(run: Any, limit: float = 1.0) -> dict[str, Any]:
        monkeypatch.setattr(worker, "seconds", lambda asked: limit)
        return worker.outcome(run, ASKED, guard)

    return call


WAITED = "class waited(BaseException): pass\nraise waited"


def flood() -> None:
    while True:
        for each in range(3, 99):
            with contextlib.suppress(OSError):
                os.write(each, bytes(2**16))


@pytest.mark.parametrize(
    ("run", "ended", "share", "said"),
    [
        (lambda: {"sum": sum(range(10**12))}, "endless", 0.0, "does not end"),  # in one call
        (signal.pause, "waited", None, "it will be tried again"),
        (lambda: {"n": len(bytearray(2**34))}, "MemoryError", 0.0, "two gigabytes"),
        (lambda: os._exit(3), "quit", 0.0, "ended the program"),
        (lambda: (os.closerange(0, 99), signal.pause()), "waited", None, "tried again"),
        (flood, "garbled", 0.0, "ended the program"),
        # an error of the answer's own has no say: as if it waited, it would be tried for ever
        (partial(exec, WAITED, {"__name__": "__main__"}), "garbled", 0.0, "ended the program"),
    ],
    ids=["endless", "waits", "memory", "quits", "closes", "floods", "own-error"],
)
def test_how_an_answer_ends_is_told(
    run: Any, ended: str, share: float | None, said: str, fork: Fork, monkeypatch: Any
) -> None:
    if ended == "waited":
        monkeypatch.setattr(worker, "PATIENCE", -60)  # it is over at once
    found = fork(run, 20.0 if run is flood else 1.0)
    assert found["ended"] == ended
    grade = grading.of_a_trial(SORTERS.exercises[0], "", found)
    assert grade.share == share and said in grade.symptom


def test_an_answer_writes_into_nothing_that_is_open(fork: Fork) -> None:
    """`os.write` is told to no hook, so what is open in a fork is all its own."""
    reading, writing = os.pipe()
    assert fork(lambda: {"n": os.write(writing, b"mine")})["ended"] == "OSError"
    os.close(writing)
    assert os.read(reading, 9) == b""
    os.close(reading)


def test_an_armed_guard_lets_nothing_out(guard: worker.Guard, tmp_path: Path) -> None:
    write, read, readme = os.O_WRONLY | os.O_CREAT, os.O_RDONLY, str(ROOT / "README.md")
    events = [
        ("socket.connect", (socket.socket, ("127.0.0.1", 80))),
        ("subprocess.Popen", ("ls", [], None, None)),
        ("os.system", (b"ls",)),
        ("os.remove", ("x", -1)),
        ("ctypes.dlopen", ("libc.so.6",)),
        ("open", (str(tmp_path / "course.yml"), "r", read)),
        ("open", (readme, "w", write)),
        ("os.listdir", (str(tmp_path),)),
    ]
    for event, given in events:
        guard(event, given)  # not armed
    guard.armed = True
    for event, given in events:
        with pytest.raises(PermissionError, match="no answer may"):
            guard(event, given)
    guard("open", (readme, "r", read))
    guard("os.listdir", (str(ROOT),))  # in which a module is looked for
    guard("import", ("json", None, None, None, None))


def test_an_answer_can_do_nothing_to_others(fork: Fork, tmp_path: Path) -> None:
    """Whatever it has got past: it mounts, writes, makes, runs and ends by the system's own calls.

    Where root grades all of it fails for want of rights; another user keeps those to its own files
    and processes, unless the kernel has Landlock.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    calls = libc.mount, libc.open, libc.mkdir, libc.kill, libc.unlink, libc.setuid
    mount, make, folder, kill, unlink, setuid = calls
    private, shared = tmp_path / "private", Path("/dev/shm", f"attention-notes-{os.getpid()}")
    private.mkdir()
    (private / "answers").write_text("mine", "utf-8")
    private.chmod(0o777)
    teacher = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    new, old = bytes(private / "new"), bytes(private / "answers")
    write, to = os.O_WRONLY | os.O_CREAT, os.O_RDONLY

    def attack() -> dict[str, Any]:
        found = {
            "mounts": mount(b"none", bytes(private), b"tmpfs", 0, None),
            "remounts": mount(None, b"/", None, 32 | 4096, None),
            "root": setuid(0) if ROOT_GRADES else -1,
            "makes": make(new, write, 0o600),
            "folder": folder(new, 0o700),
            "changes": make(old, os.O_WRONLY),
            "removes": unlink(old),
            "shares": make(bytes(shared), write, 0o600),
            "kills": kill(teacher.pid, signal.SIGKILL),
        }
        late = make(os.fsencode(torch.__file__), to)  # a module that is loaded late
        return {
            "share": float(late > 0),
            "message": " ".join(k for k, v in found.items() if v >= 0),
        }

    try:
        found = fork(attack)
    finally:
        alive = teacher.poll() is None
        teacher.kill()
        teacher.communicate()
        left = shared.exists()
        shared.unlink(missing_ok=True)
    may: set[str] = set()
    if worker.landlock() < 1:
        may |= {"shares"} if ROOT_GRADES else {"makes", "folder", "changes", "removes", "shares"}
    if worker.landlock() < 6 and not ROOT_GRADES:
        may |= {"kills"}
    assert {*found["message"].split()} <= may and found["share"] == 1.0
    assert (alive or "kills" in may) and (not left or "shares" in may)


@pytest.mark.parametrize(
    "said",
    [b"[", b"[1]", b"3", b'{"share": 7, "message": ""}', b'{"share": 1}', b'{"ended": 3}',
     b'{"share": 1, "message": "", "changed": 5}', b'{"share": NaN, "message": ""}', b"\xff",
     b"[" * 100_000],
)  # fmt: skip
def test_what_an_answer_may_have_said_itself_is_not_believed(said: bytes) -> None:
    assert worker.understood(said) == {"ended": "garbled"}
    right = {"share": 0.5, "message": "x", "score": None, "lower": False, "changed": []}
    assert worker.understood(json.dumps(right).encode()) == right


def test_an_answer_that_ends_what_runs_it_costs_its_own_row_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    class Fragile:
        def __init__(self, *given: object) -> None: ...

        def ask(self, question: dict[str, Any]) -> dict[str, Any]:
            asked.append(question["source"])
            if question["source"] == "answer = 1":
                raise BookError("What runs the answers has stopped")
            return {"share": 1.0, "message": ""}

        def close(self) -> None: ...

    monkeypatch.setattr(grading, "Server", Fragile)
    (tmp_path / "students" / SORTERS.name).mkdir(parents=True)
    packed(tmp_path / "students" / SORTERS.name / "x.whl", {"x": b""})
    class_ = [handed(f"{i}", {"rank": f"answer = {i}"}) for i in range(3)]
    for wanted in (["answer = 0", "answer = 1", "answer = 2"], ["answer = 1"]):
        came, _ = grading.tried(tmp_path, SORTERS, 7, class_, tmp_path / grading.RESULTS)
        ended = [came[grading.trial_of(one, exercise("rank"))].get("ended") for one in class_]
        assert ended == [None, "server", None] and sorted(asked) == wanted
        asked.clear()
    grade = grading.of_a_trial(exercise("rank"), "answer = 1", {"ended": "server"})
    assert grade.share is None and "ended what runs" in grade.held


def test_what_has_changed_in_a_module_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from book.kit import exercises

    before = worker.standing()
    assert worker.changed(before) == [] and len(before) > 1000
    monkeypatch.setattr(exercises, "need", print)
    monkeypatch.setattr(torch.linalg, "svdvals", print)
    monkeypatch.setattr(torch.Tensor, "abs", print)
    assert worker.changed(before) == [
        "book.kit.exercises.need", "torch.abs", "torch.linalg.svdvals",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "share", "said"),
    [
        (SORTERS.exercises[0].solution, 1.0, "of 2n predictions"),
        ("def floor(letters, length): return 1 / 0", 0.0, "ZeroDivisionError"),
        ("1 / 0", 0.0, "your code stopped with ZeroDivisionError"),
        ("x = 1", 0.0, "there is no answer yet"),
    ],
)
def test_what_comes_of_an_answer(source: str, share: float, said: str) -> None:
    found = worker.tried({}, {**ASKED, "source": source}, {})
    assert found["share"] == share and said in found["message"] and found["changed"] == []


def test_what_is_no_answer() -> None:
    """One that leaves, and a function of the package."""
    with pytest.raises(SystemExit):
        worker.tried({}, {**ASKED, "source": "raise SystemExit"}, {})
    source = "future_leak = leaks.future_leak"
    asked = {**ASKED, "check": "future_leak", "answer": "future_leak", "source": source}
    found = worker.tried({"leaks": import_module("attn_notes.analysis.leaks")}, asked, {})
    assert found["taken"] == "attn_notes.analysis.leaks.future_leak"
    grade = grading.of_a_trial(SORTERS.exercises[1], source, found)
    assert grade.share == 0.0 and "package's own" in grade.held


# What it comes to


def test_a_name_that_an_answer_has_chosen_stops_no_report(tmp_path: Path) -> None:
    """Of no class of the package, which cannot be written as UTF-8."""
    one = SORTERS.exercises[0]
    source = "import collections\nn = collections.namedtuple\n"
    source += r"floor = n('floor', [], module='attn_notes\ud800' + 'x' * 9999)"
    assert answers.refused(source) == []
    came = {grading.Trial(one, source): worker.tried({}, {**ASKED, "source": source}, {})}
    rows = list(grading.settled(SORTERS, [handed(cells={one.name: source})], came, {}))
    reports.write(tmp_path, SORTERS, rows, "")
    assert "attn_notes%D800xx" in rows[0].grades[one.name].held
    assert len((tmp_path / "report.html").read_text("utf-8")) < 20_000


def test_a_symptom_has_no_path_and_one_line() -> None:
    stopped = "your code stopped with OSError: {} and {}"
    for said, plain in (
        (stopped.format("/root/x/y.py", "C:\\a\\b.py\nTraceback"), stopped.format("…", "…")),
        ("a / b and 1/2", "a / b and 1/2"),
        ("RuntimeError: DefaultCPUAllocator: can't allocate memory", grading.MEMORY),
    ):
        assert grading.said_plainly(said) == plain


def test_an_answer_that_is_held_has_no_points_until_a_teacher_decides() -> None:
    """Whose nought counts, too, where an answer has earned more."""
    leak, floor = exercise("leak"), exercise("floor")
    ada = handed(cells={"leak": leak.solution, "floor": floor.solution})
    came = {grading.trial_of(ada, one): RIGHT for one in (leak, floor)}
    for decided, points, all_ in (
        ({}, (0.0, 2.0), 2.0),
        ({("Ada", "leak"): 3.5}, (3.5, 2.0), 5.5),
        ({("Ada", "floor"): 0.0}, (0.0, 0.0), 0.0),
    ):
        (one,) = grading.settled(SORTERS, [ada], came, decided)
        assert one.grades["leak"].held.startswith("is the published solution")
        assert (one.points["leak"], one.points["floor"]) == points and reports.total(one) == all_
    page = reports.report(SORTERS, [one], "here")
    assert "is the published solution" in page and "It would have 4 points" in page
    (one,) = grading.settled(SORTERS, [ada], {}, {})
    assert one.grades["leak"].share is None and reports.total(one) is None


def test_answers_alike_are_told_of_others_and_what_is_kept_is_of_its_package_and_seed() -> None:
    leak = exercise("leak")
    class_ = [handed(name, {"leak": leak.solution}) for name in ("Ada", "Bob")]
    ada, bob = grading.settled(SORTERS, class_, {}, {})
    assert (ada.alike["leak"], bob.alike["leak"]) == (("Bob",), ("Ada",))
    trial = grading.trial_of(class_[0], leak)
    keys = [trial.key(package, seed) for package in ("a.whl", "b.whl") for seed in (7, 8)]
    assert len({*keys}) == 4 and trial.key("a.whl", 7) == keys[0]


def test_a_folder_is_read_as_it_was_left(tmp_path: Path) -> None:
    """A week by its whole number; of results that were cut short what there is."""
    for number in (1, 10):
        there = tmp_path / "private" / f"week-{number}-x"
        there.mkdir(parents=True)
        week = SORTERS._replace(number=number)
        (there / course.EXERCISES).write_text(homework.as_json(week), "utf-8")
    assert grading.read_week(tmp_path, 1).number == 1
    (tmp_path / grading.DECISIONS).write_text("student,points\nada,1\n", "utf-8")
    with pytest.raises(BookError, match="columns student, exercise, points"):
        grading.decisions(tmp_path, SORTERS, [])
    path = tmp_path / grading.RESULTS
    assert grading.results(path) == {}
    path.write_text('{"key": "a", "share": 1.0}\n{"key": "b", "sha', "utf-8")
    assert grading.results(path) == {"a": {"share": 1.0}}


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
def test_decisions_are_read_as_spreadsheets_save_them_and_wrong_rows_are_said(
    mark: str, how: str, tmp_path: Path
) -> None:
    """With a semicolon, and a comma in numbers, by Excel in much of Europe."""
    decided = "1,5" if mark != "," else "1.5"
    rows = ["Student|Exercise | points", f"Mu\u0308ller|leak|{decided}", *DECIDED]
    if how == "cp1252":
        rows = [row.replace("u\u0308", "\xfc") for row in rows]
    start = "sep=;\r\n" if mark == ";" else ""
    text = start + "\r\n".join(rows).replace("|", mark)
    (tmp_path / grading.DECISIONS).write_bytes(text.encode(how))
    ada = [handed("M\xfcller")]
    found, wrong = grading.decisions(tmp_path, SORTERS, ada)
    assert found == {("M\xfcller", "leak"): 1.5, ("M\xfcller", "floor"): 2.0}
    said = [*filter(None, DECIDED.values())]
    assert len(wrong) == len(said) and all(a in b for a, b in zip(said, wrong, strict=True))
    assert wrong[0].startswith(f"decisions.csv, line {4 + bool(start)}, does not count: ")
    page = reports.report(SORTERS, [graded(ada[0])], "", wrong)
    assert "line 4" in page.split("<h2>Points")[0] or start


def test_open_exercises_pay_by_score_and_their_scores_are_kept_for_a_contest() -> None:
    rescue = next(one for one in SORTERS.exercises if one.open)
    rows = []
    for name, score, share in (("slow", 400, 0.5), ("quick", 250, 0.875)):
        came = {"share": share, "message": "sorted", "changed": [], "score": score, "lower": True}
        grade = grading.of_a_trial(rescue, "x = 1", came | {"paid": "400 earns half, 200 all"})
        rows.append(graded(handed(name), **{rescue.name: grade}))
    page = reports.report(SORTERS, rows, "")
    assert page.index("<li>quick: 250</li>") < page.index("<li>slow: 400</li>")
    feedback = reports.feedback(SORTERS, rows[1])
    assert "Right: sorted (Of the points, a score of 400 earns half, 200 all.)" in feedback
    assert "3.5 of 4 points" in feedback
    head, told = reports.plain(SORTERS, rows)
    assert head[-1] == "score of rescue" and [row[-1] for row in told] == ["400", "250"]


def test_a_page_shows_what_was_typed_and_runs_nothing() -> None:
    odd = handed("<script>alert(1)</script>")._replace(file="<b>.ipynb", notes=("<i>",))
    one = graded(odd, given=Grade(0.0, "<img src=x>"))
    for page in (reports.feedback(SORTERS, one), reports.report(SORTERS, [one], "")):
        assert not re.search("<script|<img|<i>|<b>", page) and "&lt;img" in page


def test_what_the_command_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "course.yml").write_text("seed: 7\n", "utf-8")
    for options, said in (
        ([], "Name one of your own"),
        ([str(tmp_path)], "WEEK=3 IN=the.zip"),
        ([str(tmp_path), "--week", "9", "--in", str(tmp_path)], "has no week 9"),
    ):
        assert build.main(["grade", *options]) == 1
        assert said in capsys.readouterr().err


# All of it

HANDED_IN = {
    "Right": {e.name: e.solution for e in SORTERS.exercises if e.name not in ("leak", "verdict")}
    | {"leak": LEAK.replace("1, tokens.shape[1]", "tokens.shape[1] - 1, 0, -1")},
    "Part": {"floor": MINE.replace("1.0", "2 * torch.tensor(letters).log() / 6")},
    "Wrong": {"floor": "def floor(letters, length):\n    return letters", "rank": "answer = 1, 2"},
    "Patched": {
        "floor": "from book.kit import exercises\nexercises.need = lambda *_: None\n" + MINE,
        "rank": "answer = (torch.ones(6, 1), torch.ones(1, 3))\n"
        "ours = torch.linalg\nours.svdvals = lambda gate: torch.ones(2)",
        "leak": "from attn_notes.analysis.leaks import future_leak",
    },
    "Copied": {"leak": f"# mine\n{LEAK.replace('altered', 'changed')}"},
    "Endless": {"floor": MINE.replace("return 1.0", "while True: pass")},
    "Renamed": {"floor": SORTERS.exercises[0].solution},
    "Helped": {
        "floor-setup": SORTERS.exercises[0].setup + "\nimport math as m\nhalf = lambda x: x / 2",
        "floor": "def floor(n, length):\n    return (length - 1) * m.log(n) / (4 * half(length))",
        "rank": "import time\nanswer = None",
        "leak": "def future_leak(model, tokens):\n    return differences(model, tokens)",
    },
}  # fmt: skip
EARNED = {
    "Right": ["2", "4", "2", "3", "0", "11"],
    "Part": ["1", "0", "0", "0", "0", "1"],
    "Wrong": ["0", "0", "0", "0", "0", "0"],
    "Patched": ["", "0", "0", "0", "0", ""],
    "Copied": ["0", "0", "0", "0", "0", "0"],
    "Endless": ["0", "0", "0", "0", "0", "0"],
    "Renamed": ["2", "0", "0", "0", "0", "2"],
    "Helped": ["2", "", "0", "", "0", ""],
}


OWN = 7654321
"""A seed that nobody has by chance."""


@pytest.fixture(scope="session")
def seminar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grading") / "seminar"
    course.make(ROOT, folder, {"seed": OWN}, pretend_site)
    return folder


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


@pytest.mark.long
@pytest.mark.slow
def test_a_class_gets_what_they_earned(
    seminar: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when it is stopped half way, and when a teacher has worked on what came."""
    folder = tmp_path / "seminar"
    shutil.copytree(seminar, folder)
    week = homework.week(ROOT, SORTERS.stem, SORTERS.number, OWN)
    file = dict.fromkeys(HANDED_IN, "week-1-homework.ipynb")
    file["Renamed"] = "Kopie von Blatt (3).ipynb"
    zip_of_all = packed(
        tmp_path / "handed-in.zip",
        {
            f"{name} Student_{i}_assignsubmission_file_/{file[name]}": sheet(change, week)
            for i, (name, change) in enumerate(HANDED_IN.items())
        },
    )
    there = grading.grade(folder, week.number, zip_of_all)
    assert "8 students, 13 answers to run, 13 of them anew" in capsys.readouterr().out

    def earned() -> dict[str, list[str]]:
        columns = [*(one.name for one in week.exercises), "points"]
        rows = table(there / "grades.csv")
        return {row["name"].split()[0]: [row[name] for name in columns] for row in rows}

    assert earned() == EARNED
    report = (there / "report.html").read_text("utf-8")
    for said in (
        "Patched Student, exercise 1, another floor: refused: changes exercises.",
        "Patched Student, exercise 4, a gate of rank 1: has changed torch.linalg.svdvals.",
        "Patched Student, exercise 2, build a leak detector: is the package&#x27;s own",
        "Copied Student, exercise 2, build a leak detector: is the published solution",
        "Does it ever end?",
        "Helped Student, exercise 2, build a leak detector: stops with NameError: name &#x27;diff",
        "Helped Student, exercise 4, a gate of rank 1: refused: imports time",
    ):
        assert said in report
    alone, by = grading.apart(folder)
    assert by in report and bool(alone) == ("a network with nothing on it" in by)
    grades = {row["Identifier"]: row["Grade"] for row in table(there / "grades-moodle.csv")}
    assert grades["Participant 0"] == "11" and len(grades) == 8

    pages = {path.parent.name.split()[0]: path for path in there.rglob("feedback.html")}
    read = {name: path.read_text("utf-8") for name, path in pages.items()}
    assert "Partly right: right for three of three" in read["Part"]
    assert "1 of 2 points" in read["Part"]
    assert "Right: only letters 2 to n" in read["Renamed"] and "Kopie von Blatt" in read["Renamed"]
    for text in read.values():
        assert not re.search(r"Traceback|7654321|site-packages|/tmp|\.py\b|File \"", text)
    with zipfile.ZipFile(there / "feedback.zip") as archive:
        assert "Part Student_1_assignsubmission_file_/feedback.html" in archive.namelist()

    lines = (there / grading.RESULTS).read_text("utf-8").splitlines(keepends=True)
    (there / grading.RESULTS).write_text("".join(lines[:-2]) + lines[-2][:20], "utf-8")
    (there / grading.DECISIONS).write_text(
        "student,exercise,points\nCopied Student_4_assignsubmission_file_,leak,2\n", "utf-8"
    )
    (there / "report.html").write_text("a teacher's", "utf-8")
    grading.grade(folder, week.number, zip_of_all)
    said = capsys.readouterr().out
    assert "13 answers to run, 2 of them anew" in said
    assert "left     report.html: somebody has worked there" in said
    assert (there / "report.html").read_text("utf-8") == "a teacher's"
    assert earned() == EARNED | {"Copied": ["0", "2", "0", "0", "0", "2"]}


@pytest.mark.parametrize(
    "week", [pytest.param(w, id=w.stem, marks=pytest.mark.long) for w in WEEKS]
)
def test_solutions_get_all_points_and_stubs_none(week: Week, seminar: Path, tmp_path: Path) -> None:
    """The solutions of closed exercises are held, since they are published."""
    week = homework.week(ROOT, week.stem, week.number, OWN)
    solved = {one.name: one.solution for one in week.exercises}
    files: dict[str, object] = {
        "able/x.ipynb": sheet(solved, week),
        "idle/x.ipynb": sheet({}, week),
    }
    there = grading.grade(seminar, week.number, packed(tmp_path / "all.zip", files))
    kept = grading.results(there / grading.RESULTS)
    # Open ones pay half for the published solution, but where none can be better.
    open_ones = [one for one in week.exercises if one.open]
    shares = sorted(came["share"] for came in kept.values())
    assert shares[len(open_ones) :] == [1.0] * (len(week.exercises) - len(open_ones))
    assert all(0.25 <= share <= 1 for share in shares) and len(shares) == len(week.exercises)
    assert [came["changed"] for came in kept.values()] == [[]] * len(week.exercises)
    able, idle = table(there / "grades.csv")
    assert idle["points"] == "0" and float(able["points"]) > 0
    assert lesson_stems(ROOT)[week.number - 1] == week.stem
