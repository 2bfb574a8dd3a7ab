"""Grade what was handed in for a week of a course.

    make grade COURSE=~/seminar WEEK=3 IN=handed-in.zip

writes into `grades/week-3-…/` of the course:

report.html          for the teacher: points, what to decide, symptoms counted, answers alike
grades.csv           a row for each student; for Moodle and Canvas, beside it, in their own form
feedback/, a zip     a page for each student, in a folder of the name that the platform gave;
                     what nbgrader collected has it in the course's `feedback/` as well, from where
                     `nbgrader release_feedback` hands it back
results.jsonl        what came of each answer that was tried: a call that is stopped goes on there

An answer is read before it is run (`answers.py`), and run in a process of its own that reaches
nothing (`worker.py`), with the course's own copy of the package and cases drawn by its seed. What
comes ready from the package or is the published solution gets no points and is named; what is
refused there or lacks a name is not graded, and named, too. A teacher's file `decisions.csv` in
that folder, with the columns student, exercise, points, has the last word; a row of it that is
wrong is said. Where somebody has changed a file of a folder, it is left: see manifest.py.
"""

import ast
import codecs
import contextlib
import csv
import functools
import hashlib
import io
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unicodedata
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from book.course import answers, course, homework, reports, submissions
from book.course.homework import Exercise, Week
from book.course.reports import Grade, Graded
from book.course.submissions import Submission
from book.editions import manifest
from book.site import files
from book.site.dependencies import BookError

AT_ONCE = 2
"""Processes side by side."""

WORKER = Path(__file__).with_name("worker.py")
ALONE = ("unshare", "--user", "--map-root-user", "--net", "--ipc")
"""Before a command: it has a network of its own, and nothing is on it. Root needs not be made root,
and an answer could not be made anybody else then."""

BLIND = """
for each in "$0" /dev/shm; do
    test ! -d "$each" || mount -t tmpfs -o ro none "$each" || exit
done
exec "$@"
"""
"""What a shell does first, given a folder: for the command and what it starts it is empty, as is
what processes share."""

READY = "what you give is a function of the package. Write your own."
CHANGED = "your code changes a part of the package or of Python, which no exercise needs."
MEMORY = "your code wanted more memory than there is: two gigabytes."

AGAIN = ("waited", "server")
"""How an answer ended that is tried again."""

SYMPTOM = 500
"""Characters of a symptom: an answer may raise whatever it likes."""

RESULTS = "results.jsonl"
DECISIONS = "decisions.csv"
COLUMNS = ("student", "exercise", "points")


def grade(folder: Path, number: int, source: Path) -> Path:
    """Grade a week; prints what was done, returns the folder of the results.

    Raises:
        BookError: there is no such week, or nothing was handed in.
    """
    if not hasattr(os, "fork"):
        raise BookError("Answers are run in processes that are forked: on Linux, macOS or in WSL.")
    of, week = course.settings(folder, {}), read_week(folder, number)
    handed_in = submissions.read(source, week)
    there = folder / "grades" / week.name
    there.mkdir(parents=True, exist_ok=True)
    decided, wrong = decisions(there, week, handed_in)
    trials, where = tried(folder, week, of.seed, handed_in, there / RESULTS)
    graded = list(settled(week, handed_in, trials, decided))
    with tempfile.TemporaryDirectory() as name:
        new = Path(name)
        reports.write(new, week, graded, where, wrong)
        said = manifest.merge(new, there)
    said += release(folder, week, graded)
    left = [line for line in said if line.startswith("left")]
    print(*wrong, *left, f"The report is {there / 'report.html'}.", sep="\n")
    return there


def release(folder: Path, week: Week, graded: list[Graded]) -> list[str]:
    """Put what came from nbgrader where it hands feedback back from; says what was done."""
    with tempfile.TemporaryDirectory() as name:
        new, there = Path(name), folder / "feedback"
        reports.for_nbgrader(new, week, graded)
        if not any(new.iterdir()):
            return []
        known = manifest.parts(manifest.written(there))
        said = manifest.merge(new, there, (part for part in known if Path(part).name != week.name))
    print(f"To hand back what nbgrader collected: nbgrader release_feedback {week.name}")
    return said


def read_week(folder: Path, number: int) -> Week:
    """A week as it was handed out.

    Raises:
        BookError: the course has none of this number.
    """
    found = list((folder / "private").glob(f"week-{number}-*/{course.EXERCISES}"))
    if len(found) != 1:
        raise BookError(f"{folder} has no week {number}: is it a course, and made to its end?")
    return homework.from_json(found[0].read_text("utf-8"))


def decisions(
    there: Path, week: Week, handed_in: list[Submission]
) -> tuple[dict[tuple[str, str], float], list[str]]:
    """A teacher's own points, by student and exercise; and each row that is wrong, and why.

    Raises:
        BookError: the file is not as it should be.
    """
    path = there / DECISIONS
    if not path.exists():
        return {}, []
    try:
        rows = list(table(path.read_bytes()))
    except (csv.Error, UnicodeError) as error:
        raise BookError(f"{path} cannot be read as a table: {error}") from error
    head, found, wrong = [name.strip().lower() for name in rows[0][1]] if rows else [], {}, []
    if missing := [name for name in COLUMNS if name not in head]:
        raise BookError(f"{path} wants the columns {', '.join(COLUMNS)}: no {', '.join(missing)}.")
    students = {handed.student.key for handed in handed_in}
    most = {one.name: one.points for one in week.exercises}
    for line, row in rows[1:]:
        told = dict(zip(head, row, strict=False))
        student, exercise, points = (told.get(name, "").strip() for name in COLUMNS)
        student = unicodedata.normalize("NFC", student)
        worth = number(points)
        if student not in students:
            why = f"nobody is called {student!r} in the column student of grades.csv"
        elif exercise not in most:
            why = f"this week has no exercise {exercise!r}, but {', '.join(most)}"
        elif worth is None or not 0 <= worth <= most[exercise]:
            why = f"{points!r} is no number of points from 0 to {most[exercise]}"
        elif (student, exercise) in found:
            why = f"of {student}, {exercise} another row has decided"
        else:
            found[student, exercise] = worth
            continue
        wrong.append(f"{DECISIONS}, line {line}, does not count: {why}.")
    return found, wrong


def table(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table that are not empty, by their lines, as spreadsheets save it.

    With commas, semicolons or tabs; in UTF-8, in UTF-16 or as Windows writes in Europe.

    Raises:
        csv.Error: it is none.
    """
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    text = re.sub(r"\Asep=.\r?\n", "\n", text)  # a line for Excel alone
    first = text.lstrip().partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
    for row in rows:
        if any(cell.strip() for cell in row):
            yield rows.line_num, row


def number(text: str) -> float | None:
    """Points as somebody has written them, with a comma, too; none if it is no number.

    >>> number("1,5"), number("two")
    (1.5, None)
    """
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


# Trying


class Trial(NamedTuple):
    """An answer that is to be run."""

    exercise: Exercise
    source: str
    above: tuple[str, ...] = ()
    """What it needs of the notebook's other cells: statements, which are run first."""

    @property
    def all(self) -> str:
        """All that is run, as it is read."""
        return "\n".join((*self.above, self.source))

    def key(self, package: str, seed: int) -> str:
        """Under which its result is kept: equal answers are tried once."""
        told = json.dumps([self.exercise.name, self.exercise.check, self.all, package, seed])
        return hashlib.sha256(told.encode()).hexdigest()[:24]


def tried(
    folder: Path, week: Week, seed: int, handed_in: list[Submission], kept: Path
) -> tuple[dict[Trial, dict[str, Any]], str]:
    """What came of each answer that may be run, and what kept the answers from the network."""
    wheels = sorted((folder / "students" / week.name).glob("*.whl"))
    named = " and ".join(wheel.name for wheel in wheels)
    before = results(kept)
    wanted = {
        trial: None
        for handed in handed_in
        for exercise in week.exercises
        if is_to_run(trial := trial_of(handed, exercise))
    }
    found, todo = {}, []
    for trial in wanted:
        known = before.get(trial.key(named, seed))
        if known is None:
            todo.append(trial)
        else:
            found[trial] = known
    alone, by = apart(folder)
    print(f"{len(handed_in)} students, {len(wanted)} answers to run, {len(todo)} of them anew.")
    if todo:
        with tempfile.TemporaryDirectory() as name, kept.open("a", encoding="utf-8") as file:
            package = Path(name)
            package.chmod(0o755)  # whoever runs an answer may be nobody
            for wheel in wheels:
                zipfile.ZipFile(wheel).extractall(package)
            for trial, came in run(todo, week, seed, package, alone):
                found[trial] = came
                if came.get("ended") not in AGAIN:  # that may be another the next time
                    line = {"key": trial.key(named, seed), **came}
                    print(json.dumps(line), file=file, flush=True)
    return found, f"Answers ran in processes of their own{by}, with {named}."


def trial_of(handed: Submission, exercise: Exercise) -> Trial:
    """A student's answer to an exercise."""
    name = exercise.name
    return Trial(exercise, handed.cells.get(name, ""), handed.above.get(name, ()))


def is_to_run(trial: Trial) -> bool:
    """Whether there is an answer that may be run."""
    if submissions.untouched(trial.source, trial.exercise) or answers.misspelt(trial.source):
        return False
    return not answers.refused(trial.all)


def results(kept: Path) -> dict[str, dict[str, Any]]:
    """What earlier calls have found; a last line that was cut short is nothing."""
    found = {}
    if kept.exists():
        for line in kept.read_text("utf-8").splitlines():
            try:
                told = json.loads(line)
                found[told.pop("key")] = told
            except (ValueError, KeyError):
                continue
    return found


def apart(folder: Path) -> tuple[tuple[str, ...], str]:
    """What goes before a command that is to reach nothing, as far as it can be had; in words, too.

    A system that has not all of it leaves the rest to what `worker.py` refuses.
    """
    alone = ALONE if os.geteuid() else (ALONE[0], *ALONE[3:])
    blind = (*alone, "--mount", "sh", "-c", BLIND, str(folder.resolve()))
    network = ", in a network with nothing on it"
    for before, said in ((blind, f"{network}, without this folder"), (alone, network)):
        if shutil.which(before[0]):
            done = subprocess.run([*before, "true"], capture_output=True)
            if not done.returncode:
                return before, said
    return (), ", and sockets are refused"


def run(
    todo: list[Trial], week: Week, seed: int, package: Path, alone: tuple[str, ...]
) -> Iterator[tuple[Trial, dict[str, Any]]]:
    """Run answers, a few side by side; yields each as soon as it has ended."""
    setups = list(dict.fromkeys(one.setup for one in week.exercises))
    start = functools.partial(Server, setups, package, alone)
    ended: queue.Queue[tuple[Trial, dict[str, Any]]] = queue.Queue()
    own = threading.local()
    servers: list[Server] = []

    def one(trial: Trial) -> None:
        if not hasattr(own, "server"):
            own.server = start()
            servers.append(own.server)
        try:
            came = own.server.ask(question(trial, week, seed, setups))
        except (BookError, OSError, ValueError):  # an answer may have ended it: the others go on
            came = {"ended": "server"}
            del own.server
        ended.put((trial, came))

    try:
        with ThreadPoolExecutor(min(AT_ONCE, len(todo))) as pool:
            running = [pool.submit(one, trial) for trial in todo]
            for _ in todo:
                yield wait(ended, running)
    finally:
        for server in servers:
            server.close()


def wait(ended: "queue.Queue[Any]", running: list[Any]) -> tuple[Trial, dict[str, Any]]:
    """The next that has ended; raises what any of them raised."""
    while True:
        try:
            found: tuple[Trial, dict[str, Any]] = ended.get(timeout=0.5)
            return found
        except queue.Empty:
            for task in running:
                if task.done() and task.exception():
                    task.result()


def question(trial: Trial, week: Week, seed: int, setups: list[str]) -> dict[str, Any]:
    """An answer as `worker.py` wants it."""
    call = ast.parse(trial.exercise.check.strip(), mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    return {
        "setup": setups.index(trial.exercise.setup),
        "chapter": week.stem,
        "check": call.func.attr,
        "answer": ast.unparse(call.args[0]),
        "case": trial.exercise.case,
        "above": trial.above,
        "source": trial.source,
        "seed": seed,
    }


class Server:
    """A process that runs answers, each in a fork."""

    def __init__(self, setups: list[str], package: Path, alone: tuple[str, ...]) -> None:
        self.log = package.with_name(f"{package.name}-{threading.get_ident()}.log")
        kept = ("PATH", "HOME", "LANG", "TMPDIR", "ATTN_NOTES_DATA", "SYSTEMROOT")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        # Who runs an answer may have no name, and some libraries ask for it.
        environment |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "USER": "nobody"}
        own = ["own-mounts"] if "--mount" in alone else []
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*alone, sys.executable, "-I", "-B", str(WORKER), str(package), *own],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                text=True,
                encoding="utf-8",
            )
        self._write(setups)
        self._read()

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """What comes of an answer."""
        self._write(question)
        found: dict[str, Any] = json.loads(self._read())
        return found

    def _write(self, told: object) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{json.dumps(told)}\n")
        self.process.stdin.flush()

    def _read(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            said = self.log.read_text("utf-8", errors="replace")[-2000:]
            raise BookError(f"What runs the answers has stopped:\n{said}")
        return line

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError), self.process:  # it may be gone
            self.process.kill()
        files.remove(self.log)


# What it comes to


def settled(
    week: Week,
    handed_in: list[Submission],
    trials: dict[Trial, dict[str, Any]],
    decided: dict[tuple[str, str], float],
) -> Iterator[Graded]:
    """The grades and points of each student."""
    same = alike(week, handed_in)
    for handed in handed_in:
        grades, points, others = {}, {}, {}
        for one in week.exercises:
            source = handed.cells.get(one.name, "")
            trial = trial_of(handed, one)
            grade = judged(trial, trials.get(trial), bool(handed.cells))
            symptom, held = (
                submissions.printable(text)[: 2 * SYMPTOM] for text in (grade.symptom, grade.held)
            )  # an answer may have chosen its words
            grade = grade._replace(symptom=symptom, held=held)
            grades[one.name] = grade
            worth = None if grade.share is None else grade.share * one.points
            if grade.held and worth is not None:
                worth = 0.0
            points[one.name] = decided.get((handed.student.key, one.name), worth)
            others[one.name] = tuple(
                other for other in same.get((one.name, answers.print_of(source)), ())
                if other != handed.student.name
            )  # fmt: skip
        yield Graded(handed, grades, points, others)


def alike(week: Week, handed_in: list[Submission]) -> dict[tuple[str, str], list[str]]:
    """Of each exercise the students whose answers are the same but for names and comments."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in week.exercises:
        for handed in handed_in:
            source = handed.cells.get(one.name, "")
            if (mark := answers.print_of(source)) and not submissions.untouched(source, one):
                found.setdefault((one.name, mark), []).append(handed.student.name)
    return found


def judged(trial: Trial, came: dict[str, Any] | None, handed: bool) -> Grade:
    """The grade of an answer, from what it is and what came of it."""
    one, source = trial.exercise, trial.source
    if not handed:
        return Grade(None, "no homework of this week was found in what you handed in.")
    if submissions.untouched(source, one):
        return Grade(0.0, "there is no answer yet.")
    if why := answers.misspelt(source):
        return Grade(0.0, why)
    if refused := answers.refused(trial.all):
        said = submissions.printable(", ".join(refused))[:SYMPTOM]
        symptom = f"it was not run: it {said}, which no exercise needs. Ask, if yours does."
        return Grade(None, symptom, f"refused: {said}")
    if came is None:
        return Grade(None, "it has not been graded yet.")
    return of_a_trial(one, source, came, trial.all)


def of_a_trial(one: Exercise, source: str, came: dict[str, Any], ran: str = "") -> Grade:
    """The grade of an answer that was run, of which other cells' code may be a part."""
    if taken := came.get("taken"):
        return Grade(0.0, READY, f"is the package's own {taken}")
    if changed := came.get("changed"):
        return Grade(0.0, CHANGED, f"has changed {', '.join(map(str, changed))}")
    ended = came.get("ended")
    if ended == "waited":
        return Grade(
            None, "the machine was too busy to try it, or it sleeps; it will be tried again."
        )
    if ended == "endless":
        return Grade(0.0, "your code does not end, and does not stop when it is told to.")
    if ended in ("MemoryError", "SIGKILL"):
        return Grade(0.0, MEMORY)
    if ended == "SystemExit":
        return Grade(0.0, "your code ends the program, as `exit()` does. Leave that out.")
    if ended == "server":
        said = (
            "your code, or the machine, ended what runs the answers. Your teacher will look at it."
        )
        return Grade(None, said, "has ended what runs the answers")
    if ended:
        return Grade(0.0, f"your code ended the program that ran it ({ended}).")
    share, symptom = came["share"], said_plainly(came["message"])
    words = " ".join((one.title, one.question, one.hint, one.stub, one.solution))
    if share < 1 and (lacks := re.search(r"\bNameError: (.+)", symptom)):
        return Grade(None, symptom, f"stops with NameError: {lacks[1]}")
    held = ""
    if not one.open and share > 0:
        asked = answers.given(one.stub)
        taken = answers.ready(ran or source, words, package_names(one.setup), asked)
        if taken:
            held = f"takes {', '.join(taken)} from the package"
        elif (mark := answers.print_of(source)) and mark == answers.print_of(one.solution):
            held = "is the published solution, but for names and comments"
    if held:
        return Grade(share, symptom, held)
    if came.get("score") is not None:
        symptom = f"{symptom} (Of the points, a score of {came['paid']}.)"
    as_published = not one.open and not one.case and same_as_published(one, source)
    return Grade(share, symptom, "", came.get("score"), came.get("lower", False), as_published)


def same_as_published(one: Exercise, source: str) -> bool:
    """Whether an answer is the published one but for names and comments, however short."""
    return answers.print_of(source, 0) == answers.print_of(one.solution, 0)


def said_plainly(message: str) -> str:
    """A symptom without what only the machine that ran it knows: paths, places in C++."""
    if re.search("allocate|out of memory|MemoryError", message):
        return MEMORY
    short = submissions.printable("".join(message.splitlines()[:1]))[:SYMPTOM]
    return re.sub(r"(?:[A-Za-z]:)?(?:[\\/][\w.+@~-]+){2,}[\\/]?", "…", short)


def package_names(setup: str) -> set[str]:
    r"""Names of a setup that stand for modules, functions and classes of the package.

    >>> sorted(package_names("import torch\nfrom attn_notes.tasks import sorting, text as t"))
    ['sorting', 't']
    """
    return {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(setup))
        if isinstance(node, ast.ImportFrom) and f"{node.module}".split(".")[0] in answers.PACKAGES
        for alias in node.names
    }
