"""What was handed in gets the points that it earned, whatever it does to get others."""

import copy
import csv
import json
import os
import re
import signal
import socket
import subprocess
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import answers
import build
import course
import grading
import homework
import nbformat
import pytest
import reports
import submissions
import torch
import worker
from dependencies import BookError, lesson_stems
from homework import Exercise, Week
from reports import Grade

from .test_course import ROOT, WEEKS, pretend_site

SOLVED = [(week, one) for week in WEEKS for one in week.exercises]
NAMES = [f"{week.stem}-{one.name}" for week, one in SOLVED]

# What an answer may be


@pytest.mark.parametrize(("week", "one"), SOLVED, ids=NAMES)
def test_a_published_solution_and_a_stub_may_be_run(week: Week, one: Exercise) -> None:
    words = " ".join((one.question, one.hint, one.stub, one.solution))
    for source in (one.solution, one.stub):
        assert answers.misspelt(source) == "" and answers.refused(source) == []
        assert answers.ready(source, words, grading.package_names(one.setup)) == []
        assert answers.gives(source, answers.given(one.stub))
    called = grading.question(grading.Trial(one, one.stub), week, 7, [one.setup])
    assert answers.given(one.stub) in called["answer"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import importlib", "imports importlib"),
        ("import attn_notes.os", "imports attn_notes.os"),
        ("from torch import sys", "imports torch.sys"),
        ("from math import *", "imports math.*"),
        ("from attn_notes.exercises import _x", "imports attn_notes.exercises._x"),
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
    ],
)
def test_what_could_reach_the_check_is_refused_by_its_name(source: str, said: str) -> None:
    assert said in answers.refused(source)


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nfrom torch.nn import functional as F\nx = F.relu(torch.ones(2))",
        "import numpy as np\nrows = np.zeros(3)\nrows[0] = 1",
        "def f(model):\n    model.eval()\n    model.weight.requires_grad = False\n    return model",
        "open = {'('}\ndepth = len(open)",
        "print('{} of {:.2f}'.format(type(1), 2.0))",
        "class A(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self._kept = 0\n    def forward(self, x):\n        return self._kept",
    ],
)
def test_what_an_answer_may_need_is_not_refused(source: str) -> None:
    assert answers.refused(source) == []


def test_lines_for_a_notebook_are_no_python_and_no_matter() -> None:
    source = answers.code("%time\n!pip install x\nx = 1\n  ?x")
    assert source == "\n\nx = 1\n" and answers.misspelt(source) == ""
    assert answers.misspelt("def f(:\n    pass").startswith("the cell is no Python in line 1")
    assert answers.misspelt("x = '\0'") != ""


def test_answers_are_the_same_whatever_their_names_comments_and_types() -> None:
    one = next(one for _, one in SOLVED if one.name == "leak")
    other = re.sub(r"\baltered\b", "b", re.sub(r"\blargest\b", "a", one.solution))
    other = other.replace("(model, tokens)", "(f, x: torch.Tensor) -> float")
    other = re.sub(r"\bmodel\b", "f", re.sub(r"\btokens\b", "x", other))
    other = f"import math\n'mine'\n{other}  # mine"
    assert other != one.solution and answers.print_of(other) == answers.print_of(one.solution) != ""
    assert answers.print_of(one.solution.replace("1, tokens", "2, tokens")) not in (
        "",
        answers.print_of(one.solution),
    )
    assert answers.print_of("def f(decay, steps):\n    return decay**steps") == ""  # too short


def test_a_course_has_a_case_of_its_own_and_a_published_solution_does_not_fit() -> None:
    for week in WEEKS:
        book = homework.week(ROOT, week.stem, week.number)
        (own,) = (one for one in week.exercises if one.case)
        (published,) = (one for one in book.exercises if one.name == own.name)
        assert own.stub != published.stub and f"case = {own.case}\n" in own.stub
        assert homework.week(ROOT, week.stem, week.number, seed=7) == week
        asked = grading.question(grading.Trial(own, own.solution), week, 7, [own.setup])
        scope: dict[str, Any] = {"checks": import_module(f"attn_notes.chapters.{week.stem}.checks")}
        assert worker.tried(dict(scope), asked, {})["share"] == 1.0
        for source in (published.solution, own.stub, "x = 1"):
            assert worker.tried(dict(scope), {**asked, "source": source}, {})["share"] == 0.0
        taken = f"answer = checks.{asked['check']}.solved(case)"
        words = " ".join((own.question, own.hint, own.stub, own.solution))
        names = grading.package_names(own.setup)
        assert answers.ready(taken, words, names) == [f"checks.{asked['check']}.solved"]
        assert answers.refused(taken.replace("solved", "_case")) == ["uses ._case"]


def test_what_the_package_has_by_the_very_name_that_is_asked_for_is_told() -> None:
    """The exercise speaks of it, and yet it is no help that was meant."""
    (one,) = (e for e in WEEKS[0].exercises if e.name == "leak")
    source = "from attn_notes.analysis.leaks import future_leak as ready\n"
    source += "def future_leak(model, tokens):\n    return ready(model, tokens, 4)"
    grade = grading.of_a_trial(one, source, {"share": 1.0, "message": "right", "changed": []})
    assert grade.held == "takes attn_notes.analysis.leaks.future_leak from the package"


def test_a_short_answer_that_is_as_published_is_named_and_paid() -> None:
    (one,) = (e for e in WEEKS[0].exercises if e.name == "rank")
    came = {"share": 1.0, "message": "right", "changed": []}
    grade = grading.of_a_trial(one, f"# mine\n{one.solution}", came)
    assert grade.published and grade.share == 1.0 and not grade.held
    other = grading.of_a_trial(one, one.solution.replace("-1.0", "-2.0"), came)
    assert not other.published
    handed = submissions.Submission(submissions.Student("a", "Ada", "", ""), "x", {}, ())
    grades = {e.name: Grade(0.0, "") for e in WEEKS[0].exercises}
    for given, named in ((grade, True), (other, False)):
        graded = reports.Graded(handed, grades | {"rank": given}, dict.fromkeys(grades, 0.0), {})
        page = reports.report(WEEKS[0], [graded], "")
        assert ("As published, which may be chance in so short an answer: Ada." in page) == named


# Who handed in what

MINE = "def floor(letters, length):\n    return 1.0"


def sheet(change: dict[str, str], week: Week = WEEKS[0]) -> dict[str, Any]:
    """A week's sheet with other code in some cells."""
    found = homework.sheet(week, "0.2.0")
    for cell in found.cells:
        cell.source = change.get(cell.id, cell.source)
    return json.loads(nbformat.writes(found))


def packed(path: Path, files: dict[str, object]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            archive.writestr(name, text)
    return path


def test_every_layout_is_read(tmp_path: Path) -> None:
    book, week = sheet({"floor": MINE}), WEEKS[0]
    inner = packed(tmp_path / "inner.zip", {"deep/Copy of x.ipynb": book}).read_bytes()
    for name, student in {
        "Ada Lovelace_12_assignsubmission_file_/Kopie von week-1 (2).ipynb": (
            "Ada Lovelace_12_assignsubmission_file_", "Ada Lovelace", "12", "moodle",
        ),
        "Ada O'Brien-Ng_12_assignsubmission_file_x_y.ipynb": (
            "Ada O'Brien-Ng_12_assignsubmission_file_", "Ada O'Brien-Ng", "12", "moodle",
        ),
        "lovelaceada_LATE_47_11_week-1-homework-2.ipynb": (
            "lovelaceada_47", "lovelaceada", "47", "canvas",
        ),
        "lovelaceada_47_11_week_1.ipynb": ("lovelaceada_47", "lovelaceada", "47", "canvas"),
        f"ada/{week.name}/renamed.ipynb": ("ada", "ada", "", "nbgrader"),
        "ada/mine.ipynb": ("ada", "ada", "", ""),
        "ada.ipynb": ("ada", "ada", "", ""),
    }.items():  # fmt: skip
        source = packed(tmp_path / "all.zip", {name: book, "__MACOSX/._x.ipynb": b"", ".DS": b""})
        (found,) = submissions.read(source, week)
        assert found.student == student and found.cells["floor"] == MINE and found.notes == ()
    path = tmp_path / "submitted" / "ada" / week.name / "week.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(book), "utf-8")
    (found,) = submissions.read(tmp_path / "submitted", week)
    assert found.student.name == "ada" and found.cells["floor"] == MINE
    (found,) = submissions.read(packed(tmp_path / "all.zip", {"ada/x.zip": inner}), week)
    assert found.student.name == "ada" and found.cells["floor"] == MINE


def test_what_a_page_saves_counts_as_a_sheet(tmp_path: Path) -> None:
    """The names of its parts are those that `test_what_was_reached_can_be_saved` sees."""
    mine, other = (week.stem for week in WEEKS[:2])
    answers = [{"name": "floor", "of": 2, "points": 2, "answer": MINE}]
    files = {
        "ada/answers-one (1).json": {"lesson": mine, "exercises": answers},
        "ada/answers-two.json": {"lesson": other, "exercises": answers},
        "ada/predictions.json": [{"part": "plain", "guess": 1}],
        "bob/answers.json": {"lesson": mine, "exercises": [{"name": "floor"}]},
    }
    ada, bob = submissions.read(packed(tmp_path / "all.zip", files), WEEKS[0])
    assert ada.file == "answers-one (1).json" and ada.cells == {"floor": MINE}
    assert ada.notes == (
        f"answers-two.json is the homework of {other}",
        "predictions.json is no notebook",
    )
    assert bob.cells == {} and "answers.json is no notebook" in bob.notes


def test_an_answer_is_found_whatever_a_program_has_made_of_its_cell() -> None:
    book = sheet({"floor": MINE})
    for taken in ((), ("nbgrader",), ("id",), ("nbgrader", "id")):
        found = copy.deepcopy(book)
        for cell in found["cells"]:
            cell["source"] = cell["source"] if "id" in taken else "".join(cell["source"])
            for name in taken:
                (cell if name == "id" else cell["metadata"]).pop(name, None)
        assert submissions.sources(found, WEEKS[0])["floor"] == MINE
        assert set(submissions.sources(found, WEEKS[0])) == {e.name for e in WEEKS[0].exercises}


def test_of_two_sheets_the_one_with_more_answers_counts_and_what_is_odd_is_told(
    tmp_path: Path,
) -> None:
    files = {
        "ada/old.ipynb": sheet({}),
        "ada/new.ipynb": sheet({"floor": MINE}),
        "ada/notes.txt": b"mine",
        "ada/other.ipynb": sheet({}, WEEKS[1]),
        "bob/x.ipynb": {"cells": [], "metadata": {}},
        "eve/x.ipynb": b"{",
    }
    ada, bob, eve = submissions.read(packed(tmp_path / "all.zip", files), WEEKS[0])
    assert ada.file == "new.ipynb" and ada.cells["floor"] == MINE
    assert ada.notes == (
        "notes.txt is no notebook",
        f"other.ipynb is the homework of {WEEKS[1].name}",
        "old.ipynb is another; new.ipynb counts",
    )
    assert bob.cells == {} and "x.ipynb has none of this week's exercises" in bob.notes
    assert eve.notes == ("x.ipynb is no notebook", "no homework of this week was found")


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
    (handed,) = submissions.read(root / "submitted", week)  # not of the week before
    assert handed.student.key == "ada" and handed.notes == ()
    nothing = {one.name: Grade(0.0, "there is no answer yet.") for one in week.exercises}
    graded = reports.Graded(handed, nothing, dict.fromkeys(nothing, 0.0), {})
    other = handed._replace(student=submissions.Student("bob", "bob", "", ""), receipt={})
    assert grading.release(root, week, [graded._replace(submission=other)]) == []
    assert not (root / "feedback").exists()
    assert grading.release(root, week, [graded]) == [f"new      ada/{week.name}"]

    from nbgrader.coursedir import CourseDirectory
    from nbgrader.exchange.default import ExchangeReleaseFeedback
    from nbgrader.utils import notebook_hash

    of = CourseDirectory(root=str(root), course_id="c", assignment_id=week.name)
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    ExchangeReleaseFeedback(coursedir=of, root=str(exchange)).start()
    (given,) = (exchange / "c" / "feedback").iterdir()
    assert given.stem == notebook_hash(secret="submission_secret.txt 2", notebook_id="Mine")
    assert given.read_text("utf-8") == reports.feedback(week, graded)
    # A week before it stays where it is, and what a teacher wrote there too.
    first = graded._replace(submission=submissions.read(root / "submitted", WEEKS[0])[0])
    first = first._replace(grades={one.name: Grade(0.0, "") for one in WEEKS[0].exercises})
    first = first._replace(points=dict.fromkeys(first.grades, 0.0))
    assert grading.release(root, WEEKS[0], [first]) == [f"new      ada/{WEEKS[0].name}"]
    page = root / "feedback" / "ada" / week.name / "Mine.html"
    page.write_text("a teacher's", "utf-8")
    assert "somebody has worked there" in grading.release(root, week, [graded])[0]
    assert page.read_text("utf-8") == "a teacher's"


@pytest.mark.parametrize("week", WEEKS, ids=lambda week: week.stem)
def test_what_was_handed_out_beside_a_sheet_is_no_answer(week: Week, tmp_path: Path) -> None:
    """A whole folder, as nbgrader collects it: a lesson has cells of names like an exercise's."""
    path, answer = f"ada/{week.name}", week.exercises[0]
    lesson, evidence = homework.pages(ROOT, week.stem)
    wheel = packed(tmp_path / "x.whl", {"attn_notes/__init__.py": b""}).read_bytes()
    files = {
        f"{path}/week-{week.number}-homework.ipynb": sheet({answer.name: answer.solution}, week),
        f"{path}/week-{week.number}-lesson.ipynb": lesson.read_bytes(),
        f"{path}/week-{week.number}-evidence.ipynb": evidence.read_bytes(),
        f"{path}/README.txt": b"",
        f"{path}/attn_notes-1-py3-none-any.whl": wheel,
    }
    (ada,) = submissions.read(packed(tmp_path / "all.zip", files), week)
    assert ada.file == f"week-{week.number}-homework.ipynb" and ada.notes == ()
    assert ada.cells[answer.name] == answers.code(answer.solution)
    files[f"{path}/mine.ipynb"] = lesson.read_bytes()  # renamed
    (ada,) = submissions.read(packed(tmp_path / "all.zip", files), week)
    assert ada.file == f"week-{week.number}-homework.ipynb"


def test_nothing_handed_in_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BookError, match="There is no"):
        submissions.read(tmp_path / "none.zip", WEEKS[0])
    with pytest.raises(BookError, match="nothing that a student"):
        submissions.read(packed(tmp_path / "all.zip", {}), WEEKS[0])


# A process of its own

ASKED = {"chapter": "deep_qkv", "check": "floor", "answer": "floor", "case": 0, "seed": 7}


@pytest.fixture
def guard() -> worker.Guard:
    return worker.Guard([ROOT, Path(os.__file__).parent])


def in_a_fork(
    run: Any, monkeypatch: pytest.MonkeyPatch, guard: worker.Guard, limit: float = 1.0
) -> dict[str, Any]:
    monkeypatch.setattr(worker, "seconds", lambda asked: limit)
    return worker.outcome(run, ASKED, guard)


def test_what_heeds_no_stop_is_ended(monkeypatch: pytest.MonkeyPatch, guard: worker.Guard) -> None:
    """In one call that no signal interrupts."""
    found = in_a_fork(lambda: {"sum": sum(range(10**12))}, monkeypatch, guard)
    assert found["ended"] == "endless"
    assert grading.of_a_trial(WEEKS[0].exercises[0], "", found).share == 0.0


def test_what_waits_is_no_failure_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, guard: worker.Guard
) -> None:
    monkeypatch.setattr(worker, "PATIENCE", -60)  # it is over at once
    found = in_a_fork(signal.pause, monkeypatch, guard)
    assert found["ended"] == "waited"
    assert grading.of_a_trial(WEEKS[0].exercises[0], "", found).share is None


def test_what_wants_all_memory_gets_none(
    monkeypatch: pytest.MonkeyPatch, guard: worker.Guard
) -> None:
    found = in_a_fork(lambda: {"n": len(bytearray(2**34))}, monkeypatch, guard)
    assert found["ended"] == "MemoryError"
    assert "two gigabytes" in grading.of_a_trial(WEEKS[0].exercises[0], "", found).symptom
    said = "your code stopped with RuntimeError: DefaultCPUAllocator: can't allocate memory"
    assert grading.said_plainly(said) == grading.MEMORY


def test_what_ends_the_process_is_told(
    monkeypatch: pytest.MonkeyPatch, guard: worker.Guard
) -> None:
    found = in_a_fork(lambda: os._exit(3), monkeypatch, guard)
    assert found["ended"] == "quit"
    grade = grading.of_a_trial(WEEKS[0].exercises[0], "", found)
    assert grade.share == 0.0 and "ended the program" in grade.symptom


def test_an_armed_guard_lets_nothing_out(guard: worker.Guard, tmp_path: Path) -> None:
    write, read = os.O_WRONLY | os.O_CREAT, os.O_RDONLY
    events = [
        ("socket.connect", (socket.socket, ("127.0.0.1", 80))),
        ("subprocess.Popen", ("ls", [], None, None)),
        ("os.system", (b"ls",)),
        ("os.remove", ("x", -1)),
        ("ctypes.dlopen", ("libc.so.6",)),
        ("open", (str(tmp_path / "course.yml"), "r", read)),
        ("open", (str(ROOT / "README.md"), "w", write)),
    ]
    for event, given in events:
        guard(event, given)  # not armed
    guard.armed = True
    for event, given in events:
        with pytest.raises(PermissionError, match="no answer may"):
            guard(event, given)
    guard("open", (str(ROOT / "README.md"), "r", read))
    guard("os.listdir", (str(ROOT),))  # in which a module is looked for
    with pytest.raises(PermissionError, match="no answer may"):
        guard("os.listdir", (str(tmp_path),))
    guard("import", ("json", None, None, None, None))


def test_what_has_changed_in_a_module_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from attn_notes import exercises

    before = worker.standing()
    assert worker.changed(before) == [] and len(before) > 1000
    monkeypatch.setattr(exercises, "need", print)
    monkeypatch.setattr(torch.linalg, "svdvals", print)
    monkeypatch.setattr(torch.Tensor, "abs", print)
    assert worker.changed(before) == [
        "attn_notes.exercises.need", "torch.abs", "torch.linalg.svdvals",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "share", "said"),
    [
        (WEEKS[0].exercises[0].solution, 1.0, "of 2n predictions"),
        ("def floor(letters, length): return 1 / 0", 0.0, "ZeroDivisionError"),
        ("1 / 0", 0.0, "your code stopped with ZeroDivisionError"),
        ("raise SystemExit", None, "SystemExit"),
        ("x = 1", 0.0, "there is no answer yet"),
    ],
)
def test_what_comes_of_an_answer(source: str, share: float | None, said: str) -> None:
    if share is None:
        with pytest.raises(SystemExit):
            worker.tried({}, {**ASKED, "source": source}, {})
        return
    found = worker.tried({}, {**ASKED, "source": source}, {})
    assert found["share"] == share and said in found["message"] and found["changed"] == []


def test_a_function_of_the_package_is_no_answer() -> None:
    from attn_notes.analysis import leaks

    asked = {**ASKED, "check": "future_leak", "answer": "future_leak"}
    source = "future_leak = leaks.future_leak"
    found = worker.tried({"leaks": leaks}, {**asked, "source": source}, {})
    assert found["taken"] == "attn_notes.analysis.leaks.future_leak"
    grade = grading.of_a_trial(WEEKS[0].exercises[1], source, found)
    assert grade.share == 0.0 and "package's own" in grade.held


# What it comes to


def test_a_symptom_has_no_path_and_one_line() -> None:
    said = "your code stopped with OSError: /root/x/y.py and C:\\a\\b.py\nTraceback"
    assert grading.said_plainly(said) == "your code stopped with OSError: … and …"
    assert grading.said_plainly("a / b and 1/2") == "a / b and 1/2"


def test_an_answer_that_is_held_has_no_points_until_a_teacher_decides() -> None:
    week = WEEKS[0]
    leak = next(one for one in week.exercises if one.name == "leak")
    came = {"share": 1.0, "message": "found", "changed": []}
    student = submissions.Student("ada_1", "Ada", "1", "canvas")
    handed = submissions.Submission(student, "x.ipynb", {"leak": leak.solution}, ())
    trials = {grading.Trial(leak, leak.solution): came}
    for decided, points in (({}, 0.0), ({("ada_1", "leak"): 3.5}, 3.5)):
        (one,) = grading.settled(week, [handed], trials, decided)
        assert one.grades["leak"].held.startswith("is the published solution")
        assert one.points["leak"] == points and one.points["floor"] == 0.0
        assert reports.total(one) == points
    page = reports.report(week, [one], "here")
    assert "is the published solution" in page and "It would have 4 points" in page
    (one,) = grading.settled(week, [handed], {}, {})
    assert one.grades["leak"].share is None and reports.total(one) is None


def test_a_floor_from_the_package_is_held() -> None:
    _, one = next((w, e) for w, e in SOLVED if w.stem == "dialectical" and e.name == "floor")
    source = "def floor(p):\n    from attn_notes.tasks.brackets import Brackets\n"
    source += "    return Brackets(pairs=1, filler=p).floor"
    grade = grading.of_a_trial(one, source, {"share": 1.0, "message": "right", "changed": []})
    assert grade.held == "takes attn_notes.tasks.brackets.Brackets from the package"
    assert reports.sentence(grade) == f"{reports.WAITS}right"


def test_decisions_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / grading.DECISIONS
    path.write_text("student,points\nada,1\n", "utf-8")
    with pytest.raises(BookError, match="columns student, exercise, points"):
        grading.decisions(tmp_path)
    path.write_text("student,exercise,points\nada,leak,1.5\n", "utf-8")
    assert grading.decisions(tmp_path) == {("ada", "leak"): 1.5}


def test_results_that_were_cut_short_are_nothing(tmp_path: Path) -> None:
    path = tmp_path / grading.RESULTS
    path.write_text('{"key": "a", "share": 1.0}\n{"key": "b", "sha', "utf-8")
    assert grading.results(path) == {"a": {"share": 1.0}}
    assert grading.results(tmp_path / "none") == {}


def test_open_exercises_pay_by_score_and_their_scores_are_kept_for_a_contest(
    tmp_path: Path,
) -> None:
    week = WEEKS[0]
    rescue = next(one for one in week.exercises if one.open)

    def one(name: str, score: float, share: float) -> reports.Graded:
        came = {"share": share, "message": "sorted", "changed": [], "score": score, "lower": True}
        came["paid"] = "400 earns half, 200 all"
        handed = submissions.Submission(submissions.Student(name, name, "", ""), "x", {}, ())
        grades = {e.name: Grade(0.0, "there is no answer yet.") for e in week.exercises}
        grades[rescue.name] = grading.of_a_trial(rescue, "x = 1", came)
        points = {name: (grade.share or 0) * 4 for name, grade in grades.items()}
        return reports.Graded(handed, grades, points, {})

    graded = [one("slow", 400, 0.5), one("quick", 250, 0.875)]
    page = reports.report(week, graded, "")
    assert page.index("<li>quick: 250</li>") < page.index("<li>slow: 400</li>")
    feedback = reports.feedback(week, graded[1])
    assert "Right: sorted (Of the points, a score of 400 earns half, 200 all.)" in feedback
    assert "3.5 of 4 points" in feedback
    head, rows = reports.plain(week, graded)
    assert head[-1] == "score of rescue" and [row[-1] for row in rows] == ["400", "250"]


def test_a_page_shows_what_was_typed_and_runs_nothing() -> None:
    week = WEEKS[0]
    student = submissions.Student("x", "<script>alert(1)</script>", "", "")
    handed = submissions.Submission(student, "<b>.ipynb", {}, ("<i>",))
    grades = {one.name: Grade(0.0, "<img src=x>") for one in week.exercises}
    graded = reports.Graded(handed, grades, {one.name: 0.0 for one in week.exercises}, {})
    for page in (reports.feedback(week, graded), reports.report(week, [graded], "")):
        assert not re.search("<script|<img|<i>|<b>", page) and "&lt;img" in page


def test_make_passes_on_the_week_and_what_was_handed_in(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["make", "--dry-run", "grade", "COURSE=my course", "WEEK=3", "IN=all of it.zip"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert 'build.py grade "my course" --week 3 --in "all of it.zip"\n' in done.stdout
    assert build.main(["grade", "my course"]) == 1
    assert "WEEK=3 IN=the.zip" in capsys.readouterr().err
    assert build.main(["grade"]) == 1


def test_a_week_that_a_course_has_not_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "course.yml").write_text("seed: 7\n", "utf-8")
    assert build.main(["grade", str(tmp_path), "--week", "9", "--in", str(tmp_path)]) == 1
    assert "has no week 9" in capsys.readouterr().err


# All of it

LEAK = next(one for one in WEEKS[0].exercises if one.name == "leak").solution
HANDED_IN = {
    "Right": {e.name: e.solution for e in WEEKS[0].exercises if e.name not in ("leak", "verdict")}
    | {"leak": LEAK.replace("1, tokens.shape[1]", "tokens.shape[1] - 1, 0, -1")},
    "Part": {"floor": MINE.replace("1.0", "2 * torch.tensor(letters).log() / 6")},
    "Wrong": {"floor": "def floor(letters, length):\n    return letters", "rank": "answer = 1, 2"},
    "Patched": {
        "floor": "from attn_notes import exercises\nexercises.need = lambda *_: None\n" + MINE,
        "rank": "answer = (torch.ones(6, 1), torch.ones(1, 3))\n"
        "ours = torch.linalg\nours.svdvals = lambda gate: torch.ones(2)",
        "leak": "from attn_notes.analysis.leaks import future_leak",
    },
    "Copied": {"leak": f"# mine\n{LEAK.replace('altered', 'changed')}"},
    "Endless": {"floor": MINE.replace("return 1.0", "while True: pass")},
    "Renamed": {"floor": WEEKS[0].exercises[0].solution},
}  # fmt: skip
EARNED = {
    "Right": ["2", "4", "2", "3", "0", "11"],
    "Part": ["1", "0", "0", "0", "0", "1"],
    "Wrong": ["0", "0", "0", "0", "0", "0"],
    "Patched": ["0", "0", "0", "0", "0", "0"],
    "Copied": ["0", "0", "0", "0", "0", "0"],
    "Endless": ["0", "0", "0", "0", "0", "0"],
    "Renamed": ["2", "0", "0", "0", "0", "2"],
}


@pytest.mark.long
@pytest.mark.slow
def test_six_submissions_and_a_renamed_one_get_what_they_earned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when it is stopped half way, and when a teacher has worked on what came."""
    folder, seed = tmp_path / "seminar", 7654321
    week = homework.week(ROOT, WEEKS[0].stem, 1, seed)
    course.make(ROOT, folder, {"seed": seed}, pretend_site)
    file = dict.fromkeys(HANDED_IN, "week-1-homework.ipynb")
    file["Renamed"] = "Kopie von Blatt (3).ipynb"
    zip_of_all = packed(
        tmp_path / "handed-in.zip",
        {
            f"{name} Student_{i}_assignsubmission_file_/{file[name]}": sheet(change, week)
            for i, (name, change) in enumerate(HANDED_IN.items())
        },
    )
    capsys.readouterr()
    there = grading.grade(folder, 1, zip_of_all)
    assert "7 students, 11 answers to run, 11 of them anew" in capsys.readouterr().out

    def earned() -> dict[str, list[str]]:
        with (there / "grades.csv").open(encoding="utf-8") as rows:
            found = list(csv.DictReader(rows))
        columns = [*(one.name for one in week.exercises), "points"]
        return {row["name"].split()[0]: [row[name] for name in columns] for row in found}

    assert earned() == EARNED
    report = (there / "report.html").read_text("utf-8")
    for said in (
        "Patched Student, exercise 1, another floor: refused: changes exercises.",
        "Patched Student, exercise 4, a gate of rank 1: has changed torch.linalg.svdvals.",
        "Patched Student, exercise 2, build a leak detector: is the package&#x27;s own",
        "Copied Student, exercise 2, build a leak detector: is the published solution",
        "Does it ever end?",
    ):
        assert said in report
    alone, by = grading.apart(folder)
    assert by in report and bool(alone) == ("a network with nothing on it" in by)
    with (there / "grades-moodle.csv").open(encoding="utf-8") as rows:
        grades = {row["Identifier"]: row["Grade"] for row in csv.DictReader(rows)}
    assert grades["Participant 0"] == "11" and len(grades) == 7

    pages = {path.parent.name.split()[0]: path for path in there.rglob("feedback.html")}
    read = {name: path.read_text("utf-8") for name, path in pages.items()}
    assert (
        "Partly right: right for three of three" in read["Part"] and "1 of 2 points" in read["Part"]
    )
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
    grading.grade(folder, 1, zip_of_all)
    said = capsys.readouterr().out
    assert "11 answers to run, 2 of them anew" in said
    assert "left     report.html: somebody has worked there" in said
    assert (there / "report.html").read_text("utf-8") == "a teacher's"
    assert earned() == EARNED | {"Copied": ["0", "2", "0", "0", "0", "2"]}


@pytest.mark.parametrize(
    "week", [pytest.param(w, id=w.stem, marks=pytest.mark.long) for w in WEEKS]
)
def test_solutions_get_all_points_and_stubs_none(week: Week, tmp_path: Path) -> None:
    """The solutions of closed exercises are held, since they are published."""
    folder = tmp_path / "seminar"
    course.make(ROOT, folder, {"seed": 7}, pretend_site)
    solved = {one.name: one.solution for one in week.exercises}
    files = {"able/x.ipynb": sheet(solved, week), "idle/x.ipynb": sheet({}, week)}
    there = grading.grade(folder, week.number, packed(tmp_path / "all.zip", files))
    kept = grading.results(there / grading.RESULTS)
    # Open ones pay half for the published solution, but where none can be better.
    open_ones = [one for one in week.exercises if one.open]
    shares = sorted(came["share"] for came in kept.values())
    assert shares[len(open_ones) :] == [1.0] * (len(week.exercises) - len(open_ones))
    assert all(0.25 <= share <= 1 for share in shares) and len(shares) == len(week.exercises)
    assert [came["changed"] for came in kept.values()] == [[]] * len(week.exercises)
    with (there / "grades.csv").open(encoding="utf-8") as rows:
        able, idle = csv.DictReader(rows)
    assert idle["points"] == "0" and float(able["points"]) > 0
    assert lesson_stems(ROOT)[week.number - 1] == week.stem
