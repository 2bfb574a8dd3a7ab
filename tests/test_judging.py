"""Notebooks are run in a sandbox that nothing leaves, and judged as a teacher would."""

import contextlib
import csv
import functools
import html
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
import yaml

from book import build
from book.course import course, grading, homework, sandbox
from book.lessons.attention import checks
from book.site.dependencies import BookError

from . import habits, hostile
from .exercises import ROOT, answer_of, written
from .test_course import WEEKS, pretend_site
from .test_grading import packed, sheet

OWN = 7654321
"""A seed that nobody has by chance."""

IS_ROOT, PATH = os.geteuid() == 0, os.environ["PATH"]
try:
    sandbox.needed()
    REFUSES = ""
except BookError as error:
    REFUSES = str(error)


def runs(test):
    """A test that runs notebooks; where there is no sandbox, that this is refused is all of it."""

    @functools.wraps(test)
    def refuses(**given):
        with pytest.raises(BookError, match="apt install bubblewrap"):
            sandbox.needed()

    return pytest.mark.slow(refuses if REFUSES else test)


@pytest.fixture(scope="session")
def seminar(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grading") / "seminar"
    course.make(ROOT, folder, {"seed": OWN}, pretend_site)
    return folder


@pytest.fixture(scope="session")
def package(seminar):
    with anybodys() as there:
        for wheel in (seminar / "students" / WEEKS[0].name).glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(there)
        yield there


@contextlib.contextmanager
def anybodys():
    """A folder that anybody may write to; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.slow
def test_without_a_sandbox_nothing_runs_and_it_says_what_to_install(seminar, tmp_path, monkeypatch):
    source = packed(tmp_path / "all.zip", {"ada/x.ipynb": b"{}"})
    refuses = "#!/bin/sh\necho 'No permissions to create it' >&2\nexit 1"
    (written(tmp_path, {"bin/bwrap": refuses}) / "bin/bwrap").chmod(0o755)
    for path, said in ((tmp_path / "bin", "No permissions to create"), (tmp_path, "no comman")):
        monkeypatch.setenv("PATH", f"{path}:/nowhere")
        with pytest.raises(BookError, match=f"bubblewrap.*{said}.*apt install bubblewrap.*WSL"):
            grading.grade(seminar, 1, source)
    assert not (seminar / "grades").exists()


ENGINE = """#!/bin/sh
printf '%s\\n' "$@" >> "$0.said"
case "$1 $0" in "build "*/broken/*) exit 1;; run*) exit 7;; esac
"""


@pytest.mark.parametrize("name", sandbox.ENGINES)
@pytest.mark.slow
def test_without_a_sandbox_a_container_that_has_one_grades(name, tmp_path, monkeypatch, capfd):
    made = written(tmp_path, {f"{bin}/{name}": ENGINE for bin in ("whole", "broken")})
    for bin in ("whole", "broken"):
        (made / bin / name).chmod(0o755)
    seminar, source = tmp_path / "my seminar", packed(tmp_path / "all.zip", {"ada/x": b""})
    seminar.mkdir()
    table = tmp_path / "none.csv"  # which is said by whoever looks for it
    grades = ["grade", str(seminar), "--week=2", f"--in={source}", f"--table={table}"]
    monkeypatch.setenv("PATH", str(made / "whole"))
    assert build.main(grades) == 7
    built, ran = (made / f"whole/{name}.said").read_text("utf-8").split("run\n")
    assert built.splitlines()[-2:] == [str(ROOT / "book" / "course" / "Dockerfile"), str(ROOT)]
    before, after = ran.split(f"\n{sandbox.IMAGE}\n-m\nbook.build\n")
    assert after.splitlines() == grades
    mounts = [line for line in before.splitlines() if "mount" in line]
    bound = [f"--mount=type=bind,source={at},target={at}" for at in (ROOT, seminar, source)]
    assert mounts == [f"{bound[0]},readonly", bound[1], f"{bound[2]},readonly"]
    assert "--network=none" in before
    monkeypatch.setenv("PATH", str(made / "broken"))
    assert build.main(grades) == 1
    assert f"{name} makes no container" in capfd.readouterr().err
    monkeypatch.setenv("PATH", f"{made / 'whole'}:{PATH}")
    assert REFUSES or sandbox.elsewhere(ROOT, grades, [seminar]) is None


# What gets out


def another_user(package):
    """Before a command: who runs it is not root, and may read Python, wherever that is."""
    shown = [str(Path(sys.base_prefix).resolve())]
    closed = [p for p in Path(shown[0]).parents if p.stat().st_mode & 0o005 != 0o005]
    over = [each for path in closed[-1:] for each in ("--perms", "0755", "--tmpfs", str(path))]
    inner = [path for path in Path(shown[0]).parents[::-1] if closed and path > closed[-1]]
    over += [each for path in inner for each in ("--dir", str(path))]
    return [
        *("bwrap", "--dev-bind", "/", "/", *over, "--ro-bind", shown[0], shown[0]),
        *("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "--bounding-set=-all"),
        *("--inh-caps=-all", "env", "HOME=/tmp"),
    ]


TRIED = """
import contextlib, pathlib, sys
from book.course import sandbox
shell, found = sandbox.Sandbox(pathlib.Path(sys.argv[1]), "attention"), None
with contextlib.suppress(BaseException):
    with shell.at_most(30):
        shell.wire.ask("run", sys.stdin.read())
    found = shell.wire.ask("take", "found")
shell.close()
print(found if isinstance(found, list) else [])
"""


@pytest.fixture
def teacher():
    abstract = f"teachers-{os.getpid()}"
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process,
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as own,
    ):
        own.bind(f"\0{abstract}")
        own.listen()
        yield {"TEACHER": process.pid, "PORT": server.getsockname()[1], "ABSTRACT": abstract}
        assert process.poll() is None
        process.kill()


@runs
@pytest.mark.parametrize("root", [True, False] if IS_ROOT else [False])
@pytest.mark.parametrize("name", hostile.ESCAPES)
def test_nothing_gets_out(name, root, package, teacher):
    with anybodys() as private:
        secret = private / "course.yml"
        secret.write_text("seed: 7", "utf-8")
        secret.chmod(0o666)
        code = hostile.escape(name, SECRET=str(secret), **teacher)
        user = another_user(package) if IS_ROOT and not root else []
        command = [*user, sys.executable, "-c", TRIED, str(package)]
        done = subprocess.run(command, input=code, capture_output=True, text=True, cwd=ROOT)
        assert done.stdout.strip() == "[]", done.stderr[-2000:]
        assert secret.read_text("utf-8") == "seed: 7" and [*private.iterdir()] == [secret]
    assert not Path("/tmp/left").exists() and not Path("/dev/shm/left").exists()
    there = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert "sleep 7654321" not in there


# What is worth how much


def rows_of(there):
    with (there / "grades.csv").open(encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def graded(seminar, folder, week, given, **beside):
    """What comes of sheets with these answers, by student, and of files beside them."""
    if not folder.exists():
        shutil.copytree(seminar, folder)
    files = {f"{name}/x.ipynb": sheet(answers, week) for name, answers in given.items()} | beside
    there = grading.grade(folder, week.number, packed(folder.with_suffix(".zip"), files))
    return there, html.unescape((there / "report.html").read_text("utf-8"))


def decides(there, *rows):
    """What a teacher writes there."""
    (there / grading.DECISIONS).write_text("\n".join(("student,exercise,points", *rows)), "utf-8")


@runs
@pytest.mark.long
def test_a_class_gets_what_a_teacher_gave_it(seminar, tmp_path):
    week = grading.read_week(seminar, 5)
    there, report = graded(seminar, tmp_path / "seminar", week, {}, **habits.handed_in(week))
    rows = rows_of(there)
    earned = {name: " ".join(rows[name][e.name] or "?" for e in week.exercises) for name in rows}
    assert earned == {name: points for name, (_, points) in habits.HABITS.items()}
    decide = report.split("To decide")[1].split("To look at")[0]
    for name, (_, points) in habits.HABITS.items():
        for number, worth in enumerate(points.split(), 1):
            assert worth != "?" or f"<li>{name}, exercise {number}, " in decide


@runs
@pytest.mark.long
def test_no_cheat_is_paid(seminar, tmp_path):
    """What is not worth nothing has no points before somebody has looked at it."""
    week = grading.read_week(seminar, 5)
    book = homework.week(ROOT, week.stem, week.number)
    given = {name: hostile.cheat(name, week, book) for name in hostile.CHEATS}
    there, report = graded(seminar, tmp_path / "seminar", week, given)
    for name, row in rows_of(there).items():
        points = [row[one.name] or "?" for one in week.exercises]
        assert {*points} <= {"0", "?"}, (name, points)
    decide = report.split("To decide")[1].split("<h2>")[0]
    for said, names in hostile.HELD.items():
        for name in names:
            assert re.search(f"<li>{re.escape(name)}, exercise .*{said}", decide), name


@runs
@pytest.mark.long
@pytest.mark.parametrize("week", [pytest.param(w, id=w.stem) for w in WEEKS])
def test_solutions_get_all_points_and_stubs_none(week, seminar, tmp_path):
    """The solutions of closed exercises are held, since they are published."""
    week = grading.read_week(seminar, week.number)
    given = {"able": {one.name: one.solution for one in week.exercises}, "idle": {}}
    there, _ = graded(seminar, tmp_path / "seminar", week, given)
    kept = grading.results(there / grading.RESULTS).values()
    able, idle = sorted(kept, key=lambda line: line["student"][0])
    for one in week.exercises:
        came = able["row"]["sheets"][0][one.name]
        assert came["share"] == 1.0 and 0.25 <= came["paid"] <= 1.0 and not came["unsure"], one.name
        assert idle["row"]["sheets"][0][one.name]["share"] == 0.0
    assert rows_of(there)["idle"]["points"] == "0"


@runs
def test_each_student_is_judged_by_numbers_of_their_own(seminar, tmp_path):
    """Also where the sheet was handed out before numbers were, or the site was answered."""
    week = grading.read_week(seminar, 1)
    (one,) = (one for one in week.exercises if one.numbered)

    def answered(first, case=1000 * one.case + 42):
        return f"{first}\nanswer = {answer_of(checks.softmax, case)}"

    given = {
        "Ada": answered(one.stub.replace("...", "042", 1)),
        "Bob": answered(f'case = {one.case}, "043"'),  # Ada's
        "Cy": answered(f"case = {one.case}, 42"),
        "Dan": answered(f'case = {one.case}, "my number"'),
        "Eve": one.stub.replace("...", "117", 1),
        "Fay": one.solution.replace("000", "500"),
        "Guy": answered(f"case = {one.case}", one.case),
        "Hal": f"{one.stub}\nguess = {answer_of(checks.softmax, 0)}\n"
        f"for typed in ('001', '002'): checks.softmax((({one.case}, typed), guess))",
    }
    files = {name: {one.name: source} for name, source in given.items()}
    saved = [{"name": one.name, "answer": answered("case = 0", 0), "points": 3, "of": 3}]
    page = {"Ida/answers.json": {"lesson": week.stem, "exercises": saved}}
    there, report = graded(seminar, tmp_path / "seminar", week, files, **page)
    earned = {name: row[one.name] or "?" for name, row in rows_of(there).items()}
    assert earned["Ada"] == earned["Cy"] == "3" and earned["Bob"] in ("0", "0.5", "0.75", "1.5")
    assert [earned[name] for name in ("Dan", "Ida", "Eve", "Fay", "Guy")] == [*"??000"]
    decide, look = report.split("To decide")[1].split("To look at")
    for name, said in (
        ("Dan", "has no number that it could be judged by; here: put"),
        ("Ida", "has no number that it could be judged by; here: put"),
        ("Fay", "is the published solution"),
        ("Guy", "is of the numbers that an earlier sheet gave to all"),
    ):
        assert f"<li>{name}, exercise 1, a softmax by hand: {said}" in decide
    assert "<li>Ada, Cy: typed the same number, 042. Of 9 students 0.0 pairs end in" in look
    assert "<li>Hal: typed several numbers, 001, 002." in look
    assert "Bob" not in look.split("<h2>")[0]
    decides(there, f"Dan,{one.name},2")
    graded(seminar, tmp_path / "seminar", week, files, **page)
    assert rows_of(there)["Dan"][one.name] == "2"


@runs
def test_a_course_that_was_made_before_is_graded_as_it_was_handed_out(seminar, tmp_path):
    """One case for all, in a sheet without numbers of students."""
    folder = shutil.copytree(seminar, tmp_path / "seminar")
    week = grading.read_week(folder, 1)
    (one,) = (one for one in week.exercises if one.numbered)
    first, rest = f"case = {one.case}", one.stub.partition("\n")[2]
    right = f"{first}\nanswer = {answer_of(checks.softmax, one.case)}"
    old = one._replace(stub=f"{first}\n{rest}", solution=right, numbered=False)
    week = week._replace(exercises=tuple(old if e == one else e for e in week.exercises))
    (there,) = folder.glob("private/week-1-*")
    told = json.loads(homework.as_json(week))
    for each in told["exercises"]:
        del each["numbered"]
    written(there, {course.EXERCISES: told})
    given = {one.name: right.replace("answer = ", "answer =  ")}
    assert rows_of(graded(folder, folder, week, {"Ada": given})[0])["Ada"][one.name] == "3"


def course_with(folder, own, **more):
    """A course of one week with an exercise of a teacher's own, and that week."""
    told = {"seed": OWN, "weeks": ["attention"], "own": {1: [own]}, **more}
    written(folder, {"course.yml": yaml.safe_dump(told)})
    course.make(ROOT, folder, {}, pretend_site)
    return grading.read_week(folder, 1)


@runs
def test_an_exercise_of_a_teachers_own_is_theirs_to_decide(tmp_path):
    """With points for the others by their checks, and none for it until somebody has read it."""
    folder = tmp_path / "seminar"
    own = {"title": "Your words", "points": 3, "minutes": 9, "question": "Why?", "solution": "1"}
    week = course_with(folder, own, points={1: {"softmax": 0}})
    given = {"disagree": 'answer = "cab", 1', "own-1": 'own_1 = "It keeps the future out."'}
    there, report = graded(folder, folder, week, {"Ada": given, "Bob": {}})
    decide = report.split("To decide")[1].split("<h2>")[0]
    assert "Ada, exercise 3" in decide and "It keeps the future out." in decide
    assert "Bob" not in decide
    rows = rows_of(there)
    assert (rows["Ada"]["own-1"], rows["Bob"]["own-1"]) == ("", "0")
    decides(there, "Ada,own-1,2.5")
    graded(folder, folder, week, {"Ada": given, "Bob": {}})
    assert rows_of(there)["Ada"]["own-1"] == "2.5"


HALVES = """
from book.kit.exercises import check, need, number

@check
def half(answer, draw):
    "A half of a number."
    need(number(answer(8)) == 4, "half of 8 is 4.")
    need(number(answer(7)) == 3.5, "right for 8, but not for 7.", 0.5)
    return "a half."
"""


@runs
def test_an_exercise_of_a_teachers_own_may_bring_its_own_check(tmp_path):
    """It is judged as the others are: the answer in the sandbox, and the check outside."""
    folder = written(tmp_path / "seminar", {"halves.py": HALVES})
    own = {"title": "Halves", "points": 4, "minutes": 9, "question": "Half of x?"}
    own |= {"stub": "def half(x):\n    return ...", "solution": "def half(x):\n    return x / 2"}
    week = course_with(folder, own | {"check": "halves.py"})
    written(folder, {"halves.py": "it is as it was handed out"})
    (handed_out,) = folder.glob("students/week-1-*/halves.py")
    assert handed_out.read_text("utf-8") == HALVES
    assert homework.sheet(week, "0.2.0").cells[-1].source == "halves.half(half)"
    answers = {
        "Ada": "def half(x):\n    return x / 2.0",
        "Bob": "def half(x):\n    return x // 2",
        "Cy": "def half(x):\n    return x // 2\nhalves.half = lambda answer: 'Right'",
        "Dan": own["stub"],
        "Eve": "import os\ndef half(x):\n    os._exit(1)",
        "Fay": "def half(x):\n    return 0.0",
    }
    given = {name: {"own-1": source} for name, source in answers.items()}
    theirs = {"Fay/halves.py": b"def half(answer): return 'Right'"}
    there, report = graded(folder, folder, week, given, **theirs)
    earned = {name: row["own-1"] for name, row in rows_of(there).items()}
    assert earned == dict(zip(answers, "422000", strict=True))
    assert "right for 8, but not for 7." in report and "half of 8 is 4." in report


@runs
def test_latecomers_add_to_a_class_and_a_teacher_has_the_last_word(seminar, tmp_path, capsys):
    week, folder, name = grading.read_week(seminar, 1), tmp_path / "seminar", "disagree"
    zoe, ada = ({name: f"answer = ('{word}', 2)"} for word in ("abc", "baa"))
    there, _ = graded(seminar, folder, week, {"ada": ada})
    assert "1 students, 1 of them anew" in capsys.readouterr().out
    decides(there, f"ada,{name},1", f"bob,{name},9")
    (there / "report.html").write_text("a teacher's", "utf-8")
    graded(seminar, folder, week, {"zoe": zoe, "ada": ada})
    said = capsys.readouterr().out
    assert "2 students, 1 of them anew" in said and "nobody is called 'bob'" in said
    graded(seminar, folder, week, {"zoe": zoe})
    assert "1 students, 0 of them anew" in capsys.readouterr().out
    assert {who: row[name] for who, row in rows_of(there).items()} == {"ada": "1", "zoe": "0"}
    assert (there / "report.html").read_text("utf-8") == "a teacher's"
    for path in there.rglob("feedback.html"):
        assert not re.search(rf"Traceback|{OWN}|site-packages|/tmp|\.py\b", path.read_text("utf-8"))
    with zipfile.ZipFile(there / "feedback.zip") as archive:
        assert "ada/feedback.html" in archive.namelist()
