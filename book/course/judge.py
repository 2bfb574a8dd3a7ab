"""Judges what students handed in, each in a process of its own: `grading.py` starts this.

    python judge.py WEEK.json PACKAGE SEED

PACKAGE is the course's own copy of the package, whose checks are asked. A line that is read has the
files of a student, as JSON, and a line that is written what they are worth. To begin anew for each
takes no time: this process has everything loaded, and forks. In the fork files are read, and each
notebook is run, cell by cell, in a sandbox; the checks run here, and call the student's functions
there. So whatever a notebook does, it does it to itself, and whatever a file is, it costs one row.
"""

import ast
import contextlib
import importlib
import json
import os
import re
import resource
import signal
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":  # lessons and their kit are the course's, all else is of this book
    sys.path[0] = sys.argv[2]
    import book

    book.__path__.append(str(Path(__file__).parents[1]))

from book.course import homework, inspection, reading, sandbox
from book.course.homework import Exercise, Week
from book.course.reading import Box, Sheet
from book.course.submissions import Place, printable
from book.course.wire import DeadError
from book.kit import exercises, judgement
from book.kit.trying import LateError

CELL = 120.0
"""Seconds that a cell may take."""
WALL = 6 * 3600
"""Seconds by the clock after which nobody waits for a student."""
MEMORY = 8 * 2**30
TRIES = 12
"""Answers to one exercise that are judged, by other cases each: none learns from another."""
KEPT = 3
"""Values that cells gave to an answer, from the last, which are tried where it is not checked."""
WATCHED = 3
"""Calls of an answer in which it is seen what of the package it enters."""
ENDS = 4
"""How often a notebook that ends what runs it is run again, without the cell that did."""
SYMPTOM = 500
"""Characters of a symptom: an answer may raise whatever it likes."""
NOTES = 12
"""Sentences on what a student handed in."""

MEMORY_SAID = "your code wanted more memory than there is."
LACKS = re.compile(r"\b(NameError|ModuleNotFoundError|ImportError)\b")
"""What may be no fault of the answer: in the notebook it may have been there."""


class Came(NamedTuple):
    """What came of an answer."""

    share: float
    """Of the answer, as its check says it."""
    symptom: str
    paid: float = 0.0
    """Of the points: what an open exercise's score is worth."""
    score: float | None = None
    lower: bool = False

    @property
    def rank(self) -> tuple[float, float, bool]:
        """Larger for what counts rather."""
        return self.share, self.paid, not self.symptom.startswith("there is no")


class Judge:
    """Runs a notebook, and judges each answer where it is checked, as its student saw it."""

    def __init__(self, week: Week, package: Path, seed: int, box: Box) -> None:
        checked = tuple(one for one in week.exercises if one.check)
        self.week, self.package = week._replace(exercises=checked), package
        self.seed, self.box = seed, box
        lesson = importlib.import_module(f"book.lessons.{week.stem}.checks")
        self.checks = {one.name: homework.loaded(one) if one.module else lesson for one in checked}
        self.named = {reading.name_of_check(one): one for one in checked}
        self.came: dict[str, Came] = {}
        self.notes: list[str] = []
        self.odd: dict[str, dict[str, None]] = {one.name: {} for one in checked}
        """Exercise → what a teacher may want to look at."""
        self.numbers: dict[str, dict[str, None]] = {one.name: {} for one in checked}
        """Exercise → the digits that were typed as a student's own."""
        self.tries = dict.fromkeys(self.odd, 0)
        self.ended: set[str] = set()
        self.left_out: set[int] = set()
        self.absent: set[str] = set()

    def notebook(self, sheet: Sheet) -> None:
        """Run a notebook; again, if it ends what runs it, without the cell that did."""
        setups = dict.fromkeys(one.setup for one in self.week.exercises)
        present = {tuple(cell.source.split()) for cell in sheet.cells}
        missing = [setup for setup in setups if tuple(setup.split()) not in present]
        first = [reading.Cell(frozenset(), setup, True) for setup in missing]
        cells = [*first, *filter(self.is_run, sheet.cells)]
        for _ in range(ENDS):
            self.running, self.asked = -1, ""
            shell = sandbox.Sandbox(self.package, self.week.stem)
            self.shell = shell
            vars(exercises)["at_most"] = shell.at_most  # a check's time is a notebook's
            try:
                return self.once(cells)
            except DeadError as error:
                why = shell.why or str(error)
                if self.asked:
                    self.ended.add(self.asked)
                    self.keep(self.asked, Came(0.0, f"your code ended what ran it: {why}."))
                else:
                    self.left_out.add(self.running)
                    self.notes.append(f"a cell was left out, since it ended what runs it: {why}")
            finally:
                shell.close()
        self.notes.append("the notebook ends what runs it, again and again")
        return None

    def is_run(self, cell: reading.Cell) -> bool:
        """Whether a cell is run: as code, or as an answer that was turned into text."""
        if cell.is_code:
            return True
        parses = inspection.parsed(inspection.code(cell.source)) is not None
        for one in reading.exercises_of(cell, self.week):
            if parses and not reading.untouched(cell.source, one):
                said = f"the answer to exercise {one.number} stands in a cell of text, and is read"
                self.notes.append(said)
                return True
        return False

    def once(self, cells: Sequence[reading.Cell]) -> None:
        """Run all cells in their order, and judge what is checked."""
        for name, content in self.box.beside.items():
            self.shell.wire.ask("write", name, content.hex())
        for one in self.week.exercises:
            if one.module:
                self.shell.wire.ask("load", one.check.partition(".")[0], one.module)
        failed = []
        kept: dict[str, list[Any]] = {one.name: [] for one in self.week.exercises}
        self.errors: dict[str, str] = {}
        for i, cell in enumerate(cells):
            if i in self.left_out:
                continue
            self.running = i
            error, given = self.run(
                inspection.code(cell.source) if not cell.is_code else cell.source
            )
            if error.startswith("NameError"):
                failed.append(cell.source)
            for one in reading.exercises_of(cell, self.week):
                self.errors[one.name] = error
                with contextlib.suppress(Exception):
                    kept[one.name].append(self.take(one))
            for check, answer in given:
                self.judge(self.named[check], answer)
        for source in failed:  # what was defined below, as by somebody who went back and forth
            self.run(source)
        for one in self.week.exercises:
            for given in kept[one.name][-KEPT:]:
                self.judge(one, given, late=True)
            try:
                self.judge(one, self.take(one), late=True)
            except Exception as error:  # there is nothing of that name, or it is odd
                said = self.errors.get(one.name) or f"{type(error).__name__}: {error}"
                self.keep(one.name, Came(0.0, f"there is no `{reading.given_to(one)}`: {said}"))

    def run(self, source: str) -> tuple[str, list[tuple[str, Any]]]:
        """Run a cell: how it failed, and what it gave to which checks."""
        try:
            with self.shell.at_most(CELL):
                told = self.shell.wire.ask("run", source)
            said = str(told["error"])
            self.absent |= {*map(str, told["absent"])}
            self.look_at(map(str, told["touched"]))
            given = [(check, answer) for check, answer in told["answers"] if check in self.named]
        except LateError:
            said, given = "KeyboardInterrupt", []
        except Exception as error:  # a notebook may have said it
            return str(error), []
        if said.startswith("KeyboardInterrupt"):
            said = f"its cell was stopped after {CELL:g} seconds"
        return said, given

    def look_at(self, touched: Iterable[str]) -> None:
        """Note what a cell has asked of the checks that no answer needs."""
        for each in touched:
            check, _, part = each.removeprefix("checks.").partition(".")
            if check in self.named and not part.startswith("__"):
                self.odd[self.named[check].name][f"asks for {each}"] = None

    def take(self, one: Exercise) -> Any:
        """What an exercise's answer stands for now."""
        with self.shell.at_most(CELL):
            return self.shell.wire.ask("take", reading.given_to(one))

    def judge(self, one: Exercise, given: Any, late: bool = False) -> None:
        """Judge an answer, unless another was right already; a late one only counts if better."""
        before = self.came.get(one.name)
        if one.name in self.ended or (before and before.share == 1 and not one.open):
            return
        if self.tries[one.name] >= TRIES or (late and one.open and before and before.share == 1):
            return
        if one.case:
            given = self.with_case(one, given)
        seed = self.seed + self.tries[one.name]
        self.tries[one.name] += 1
        self.asked, calls = one.name, 0
        wire = self.shell.wire
        wire.watched = not one.open

        def heard(reply: dict[str, Any]) -> None:
            nonlocal calls
            for entered in reply.get("entered", ()):
                self.enters(one, str(entered))
            calls += 1
            wire.watched = wire.watched and calls < WATCHED

        wire.heard = heard
        try:
            found = getattr(self.checks[one.name], reading.name_of_check(one))(given, seed=seed)
        except Exception as error:
            found = exercises.Outcome(0.0, f"it cannot be tried: {type(error).__name__}: {error}")
        self.asked, wire.heard = "", lambda reply: None
        came = came_of(found)
        if not late or before is None or came.rank > before.rank:
            self.keep(one.name, came)

    def with_case(self, one: Exercise, given: Any) -> tuple[object, Any]:
        """An answer with the course's case and the digits that were typed, whatever else was."""
        typed, answer = given if isinstance(given, tuple) and len(given) == 2 else (None, given)
        if not one.numbered:
            return one.case, answer
        if type(typed) is int and typed == one.case:
            self.odd[one.name]["is of the numbers that an earlier sheet gave to all"] = None
            return typed, answer
        own = one.case, typed[-1] if isinstance(typed, tuple | list) and typed else None
        with contextlib.suppress(Exception):
            self.numbers[one.name][f"{judgement.numbered(own) % 1000:03}"] = None
        return own, answer

    def enters(self, one: Exercise, name: str) -> None:
        """Note what an answer calls of the package that its exercise does not speak of."""
        last = name.rpartition(".")[2]
        known = {*re.findall(r"\w+", one.words)} - {inspection.given(one.stub)}
        if not last.startswith("__") and last not in known:
            self.odd[one.name][f"takes {name} from the package"] = None

    def keep(self, name: str, came: Came) -> None:
        """Keep what counts rather; of two that are worth the same the later."""
        before = self.came.get(name)
        if before is None or came.rank >= before.rank:
            self.came[name] = came


def came_of(found: exercises.Outcome) -> Came:
    """What a check says, for a row."""
    symptom = said_plainly(found.message)
    score = found.score if found.share else None
    if score is None:
        return Came(found.share, symptom, found.share)
    symptom += f" (Of the points, a score of {score.half:g} earns half, {score.best:g} all.)"
    paid = found.share * score.paid
    return Came(found.share, symptom, paid, float(score.value), score.best < score.half)


def said_plainly(message: str) -> str:
    """A symptom without what only the machine that ran it knows: paths, places in C++."""
    if re.search("allocate|out of memory|MemoryError", message):
        return MEMORY_SAID
    short = printable("".join(message.splitlines()[:1]))[:SYMPTOM]
    return re.sub(r"(?:[A-Za-z]:)?(?:[\\/][\w.+@~-]+){2,}[\\/]?", "…", short)


# What an answer is made of


def made_of(one: Exercise, week: Week, cells: Sequence[str], setups: set[str]) -> str:
    """The statements of a notebook that an answer needs, but for those that were handed out.

    Where another exercise asks for the same name, it is given between that one's check and this.
    """
    check, name = reading.name_of_check(one), inspection.given(one.stub)
    named = {reading.name_of_check(e): inspection.given(e.stub) for e in week.exercises}
    calls = [inspection.calls(cell, named) for cell in cells]
    own = [i for i, found in enumerate(calls) if check in dict(found)]
    last = own[-1] if own else len(cells)
    others = [
        i for i, found in enumerate(calls[:last])
        if any(named[other] == name and other != check for other, _ in found)
    ]  # fmt: skip
    first = others[-1] + 1 if others else 0
    shared = list(named.values()).count(name) > 1
    steps = [
        step for i, cell in enumerate(cells) for step in inspection.steps(cell)
        if not (one.case and step.gives == {"case"})  # two with the same method have other numbers
        and (not shared or first <= i <= last or name not in step.gives)
    ]  # fmt: skip
    given = [expression for i in own for other, expression in calls[i] if other == check]
    asked = "\n".join(dict.fromkeys([*given, reading.given_to(one)]))
    return "\n".join(step for step in inspection.helpers(asked, steps) if step not in setups)


def held(one: Exercise, made: str) -> str:
    """Why an answer that may be right gets no points until a teacher has looked; empty if none."""
    package, own = package_names(one.setup), f"checks.{reading.name_of_check(one)}"
    taken = inspection.ready(made, one.words, package, inspection.given(one.stub))
    if taken := [each for each in taken if each != own]:
        return f"takes {', '.join(taken)} from the package"
    if (mark := inspection.print_of(made)) and mark == inspection.print_of(solved(one)):
        return "is the published solution, but for names and comments"
    return ""


def solved(one: Exercise) -> str:
    """The published solution's statements, as those of an answer."""
    return made_of(one, Week(0, "", "", "", (one,)), [inspection.code(one.solution)], set())


def stub_of(one: Exercise) -> str:
    """The statements of an answer that has not been begun."""
    return solved(one._replace(solution=one.stub))


def package_names(setup: str) -> set[str]:
    r"""Names of a setup that stand for modules, functions and classes of the package.

    >>> sorted(package_names("import torch\nfrom attn_notes.tasks import sorting, text as t"))
    ['sorting', 't']
    """
    tree = inspection.parsed(setup)
    return {
        alias.asname or alias.name
        for node in (tree.body if tree else ())
        if isinstance(node, ast.ImportFrom)
        and f"{node.module}".split(".")[0] in inspection.PACKAGES
        for alias in node.names
    }


# A row


def row(week: Week, package: Path, seed: int, places: Sequence[Place]) -> dict[str, Any]:
    """What a student's files are worth: exercise → what is known of the answer; and notes."""
    box = Box(week)
    for place in places:
        try:
            box.fetch(place)
        except Exception as error:  # of the class's own zip
            box.notes.append(f"{place.file} {reading.why(error)}")
    found = [of_sheet(week, package, seed, box, sheet) for sheet in box.sheets]
    notes = box.notes + [note for each in found for note in each.pop("notes")]
    if not found:
        notes.append("no homework of this week was found")
    said = list(dict.fromkeys(printable(note)[:600] for note in notes))
    if len(said) > NOTES:
        said = [*said[:NOTES], f"and {len(said) - NOTES} things more"]
    files = [printable(sheet.file) for sheet in box.sheets]
    return {"files": files, "sheets": found, "notes": said, "receipt": box.receipt}


def of_sheet(week: Week, package: Path, seed: int, box: Box, sheet: Sheet) -> dict[str, Any]:
    """What came of each answer of a notebook."""
    judge = Judge(week, package, seed, box)
    codes = [
        inspection.code(cell.source) for cell in sheet.cells if cell.is_code or judge.is_run(cell)
    ]
    setups = inspection.statements([one.setup for one in week.exercises])
    made = {one.name: made_of(one, week, codes, setups) for one in week.exercises}
    touched = {
        one.name for cell in sheet.cells for one in reading.exercises_of(cell, week)
        if not reading.untouched(cell.source, one)
    }  # fmt: skip
    begun = [
        one.name for one in week.exercises
        if one.name in touched or made[one.name] not in ("", stub_of(one))
    ]  # fmt: skip
    if begun:
        judge.notebook(sheet)
    return {"notes": judge.notes} | {
        one.name: of_answer(one, judge, made[one.name], one.name in begun, sheet)
        for one in week.exercises
    }


def of_answer(one: Exercise, judge: Judge, made: str, begun: bool, sheet: Sheet) -> dict[str, Any]:
    """What is known of one answer: what came of it, what is odd, and what tells it from others."""
    came = judge.came.get(one.name, Came(0.0, "there is no answer yet."))
    if not begun and came.share == 0:
        came = Came(0.0, "there is no answer yet.")
    says = sheet.says.get(one.name)
    if not one.check:
        said = printable(" ".join(made.split()))[:SYMPTOM]
        return came._asdict() | {
            **dict.fromkeys(("differs", "mark"), ""), "held": [], "look": [], "published": False,
            "unsure": f"it is for you to read: {said}" if begun else "",
        }  # fmt: skip
    odd, unsure, differs = [*judge.odd[one.name]], "", ""
    if came.share > 0 and not one.open:
        odd = list(dict.fromkeys([*filter(None, [held(one, made)]), *odd]))
    look = [f"uses {name}" for name in inspection.odd(made)] if came.share > 0 else []
    if came.share > 0 and not begun:
        look.append("is given by no statement of the notebook")
    numbers = [*judge.numbers[one.name]]
    if one.numbered and not numbers and came.share == 0 and made != stub_of(one):
        unsure = "has no number that it could be judged by"
    elif says and says.share > came.share + 0.001:
        unsure = f"the notebook says “{says.words}”"
    elif says and says.share < came.share - 0.001:
        differs = f"is right here, in part at least, and the notebook says “{says.words}”"
    elif came.share < 1 and begun and (lacks := LACKS.search(came.symptom)):
        unsure = f"stops with {lacks[0]}"
    elif came.share < 1 and begun and judge.absent:
        unsure = f"the notebook imports {', '.join(sorted(judge.absent))}, not installed here"
    elif one.name not in judge.came and begun:
        unsure = "it was not judged"
    return came._asdict() | {
        "held": [printable(each)[:SYMPTOM] for each in odd],
        "look": [printable(each)[:SYMPTOM] for each in look],
        "numbers": numbers,
        "unsure": printable(unsure)[:SYMPTOM],
        "differs": printable(differs)[:SYMPTOM],
        "mark": inspection.print_of(made) if begun else "",
        "published": not odd and not one.open and not one.case and begun
        and inspection.print_of(made, 0) == inspection.print_of(solved(one), 0),
    }  # fmt: skip


def in_a_fork(asked: Sequence[Place], week: Week, package: Path, seed: int) -> str:
    """A student's row, as JSON, from a process of its own; why there is none, if there is none."""
    reading_end, writing_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading_end)
        try:
            signal.alarm(WALL)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            found = row(week, package, seed, asked)
            with os.fdopen(writing_end, "w") as out:
                json.dump(found, out)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing_end)
    with os.fdopen(reading_end) as said:
        text = said.read()
    _, status = os.waitpid(child, 0)
    ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "an error"
    return text or json.dumps({"failed": f"what reads it was ended by {ended}"})


def main() -> None:
    """Serve until there is nothing more to read."""
    week = homework.from_json(Path(sys.argv[1]).read_text("utf-8"))
    package, seed = Path(sys.argv[2]), int(sys.argv[3])
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    importlib.import_module(f"book.lessons.{week.stem}.checks")
    for line in sys.stdin:
        places = [Place(*each) for each in json.loads(line)]
        print(in_a_fork(places, week, package, seed), file=replies, flush=True)


if __name__ == "__main__":
    main()
