"""A week of a course: its lesson's exercises as one notebook to hand in, numbered through.

A sheet has the exercises of a lesson and of the evidence below it, each with its points and its
minutes, and a setup before those that need another. Who grades knows a sheet by its metadata and
an answer by its cell's, whatever the file is called now: the names are nbgrader's, whose extensions
then leave students the answers to change and nothing else.
"""

import ast
import copy
import json
import random
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import nbformat
from nbformat import NotebookNode

from book.course import inspection
from book.editions.editions import folds, solutions
from book.site.dependencies import LESSONS, BookError, from_yaml, pages_of

TITLE = re.compile(r"Exercise \d+(?P<open>, open)?: (?P<title>.+) \(\d+ points, \d+ minutes\)$")
"""Of a question in the book; points and minutes the metadata say, too."""

CASE = re.compile(r"^case = 0$", re.MULTILINE)
"""In a stub: which numbers are to be judged."""

OWN_CASE = 'case = {}, "{}"  # the last three digits of your student number'
"""The same in a course's sheet: they differ from student to student."""

YOURS = """

Type the last three digits of your student number into the first line of your answer, and run it: it
prints the numbers that are yours. They count, in the place of any that stand above."""

PRACTICE = """

These numbers are for practice. Your sheet of the week has others, your own: answer it there."""
"""On the site of a course, which is the same for all."""

SHEET = "attention-notes"
"""A sheet's own metadata: which week's it is, and the version it was made from."""


class Exercise(NamedTuple):
    """An exercise of a week, by what its cells hold."""

    name: str
    number: int
    title: str
    points: int
    minutes: int
    outcome: str
    question: str
    hint: str
    stub: str
    check: str
    solution: str
    setup: str
    open: bool = False
    """Whether it asks for the best that one can find, and not for the one right answer."""
    case: int = 0
    """Which numbers are to be judged, where a course has its own; 0 is the book's."""
    numbered: bool = False
    """Whether each student has some, as in any course but those that were made before."""
    module: str = ""
    """The source of a teacher's own check, a file beside the sheet; empty if it is a lesson's."""

    @property
    def words(self) -> str:
        """All that it says, with its solution."""
        return " ".join(
            (self.title, self.question, self.hint, self.stub, self.check, self.solution)
        )

    def head(self) -> str:
        """What stands above the question.

        >>> one = Exercise("sum", 2, "add", 3, 10, "", "", "", "", "", "", "")
        >>> one.head()
        'Exercise 2: add (3 points, 10 minutes)'
        """
        return (
            f"Exercise {self.number}: {self.title} ({self.points} points, {self.minutes} minutes)"
        )


class Week(NamedTuple):
    """A lesson of a course."""

    number: int
    stem: str
    title: str
    question: str
    exercises: tuple[Exercise, ...]

    @property
    def name(self) -> str:
        """What its folder is called, so that weeks sort and say what they are.

        >>> Week(1, "deep_qkv", "Was it the new part?", "", ()).name
        'week-1-was-it-the-new-part'
        """
        words = re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")
        return f"week-{self.number}-{words}"

    @property
    def points(self) -> int:
        """Of all exercises."""
        return sum(one.points for one in self.exercises)

    @property
    def minutes(self) -> int:
        """Of all exercises."""
        return sum(one.minutes for one in self.exercises)


def week(root: Path, stem: str, number: int, seed: int | None = None) -> Week:
    """A lesson as a week of a course, with the cases of its seed; with the book's if none is given.

    Raises:
        BookError: an exercise's title is not one, or one of judgement has no method.
    """
    exercises: list[Exercise] = []
    notebooks = [nbformat.read(root / path, as_version=4) for path in pages_of(root, stem)]
    for notebook in notebooks:
        cells = {cell.id: cell.source for cell in notebook.cells}
        codes = solutions(notebook)
        for cell in notebook.cells:
            told = cell.metadata.get("exercise")
            if not told:
                continue
            name = told["name"]
            title, question, is_open = asked(cell.source)
            one = Exercise(
                name=name,
                number=len(exercises) + 1,
                title=title,
                points=told["points"],
                minutes=told["minutes"],
                outcome=told["outcome"],
                question=question,
                hint=cells.get(f"exercise-{name}-hint", ""),
                stub=cells[f"exercise-{name}-answer"],
                check=cells[f"exercise-{name}-check"],
                solution=codes[name],
                setup="\n\n".join(cells[need] for need in told["needs"]),
                open=is_open,
            )
            exercises.append(one if seed is None else with_case(root, one, stem, seed))
    exercises = [each._replace(setup=needed(each.setup, exercises)) for each in exercises]
    question = notebooks[0].metadata.get("question", "")
    return Week(number, stem, headline(notebooks[0]) or stem, question, tuple(exercises))


def headline(notebook: NotebookNode) -> str:
    """A lesson's title, from the top of its notebook; empty if it has none."""
    top = re.match(r"# (.+)", notebook.cells[0].source)
    return top[1].strip() if top else ""


def own(number: int, folder: Path, stub: str = "", check: str = "", **told: Any) -> Exercise:
    """An exercise of a teacher's own, with a check from a file of the folder if one is named.

    Without one a person reads what is answered. The check is called as the answer is.

    Raises:
        BookError: the file is not there, or has no such check.
    """
    name = f"own_{number}"
    stub = stub or f"{name} = ...  # your answer, code or a text in quotes"
    one = Exercise(
        name.replace("_", "-"), 0, outcome="", hint="", stub=stub, check="", setup="", **told
    )
    if not check:
        return one
    path, asked = folder / check, inspection.given(stub)
    if path.suffix != ".py" or not path.stem.isidentifier() or find_spec(path.stem):
        raise BookError(f"course.yml: own: {check} is no name for a file of Python of your own.")
    if not path.is_file():
        raise BookError(f"course.yml: own: there is no {path}.")
    one = one._replace(
        check=f"{path.stem}.{asked}({asked})",
        setup=f"import {path.stem}",
        module=path.read_text("utf-8"),
    )
    try:
        there = loaded(one)
    except Exception as error:
        raise BookError(f"course.yml: own: {check} stops: {error}.") from error
    if not hasattr(getattr(there, asked, None), "seconds"):
        raise BookError(
            f"course.yml: own: {check} has no check {asked}, called as the answer is: a function "
            "below `@check` of `book.kit.exercises`."
        )
    return one


def loaded(one: Exercise) -> ModuleType:
    """The module of a teacher's own check."""
    found = ModuleType(one.check.partition(".")[0])
    exec(compile(one.module, f"{found.__name__}.py", "exec"), vars(found))
    return found


def needed(setup: str, exercises: Sequence[Exercise]) -> str:
    r"""Of a lesson's setup what its exercises need: no widgets, no records.

    Imports of other packages stay, and of this one what the exercises speak of.

    >>> setup = "import math\nfrom book import kept, other\nshown = other(1)"
    >>> one = Exercise("a", 1, "", 1, 1, "", "", "", "x = kept(2)", "checks.a(x)", "", setup)
    >>> print(needed(setup, [one]))
    import math
    from book import kept
    """
    theirs = [one for one in exercises if one.setup == setup]
    sources = [text for one in theirs for text in (one.stub, one.check, one.solution)]
    code = [word for one in theirs for word in re.findall("`[^`]+`", one.question + one.hint)]
    words = {*re.findall(r"\w+", " ".join(sources + code))}
    steps = inspection.steps(setup)
    kept = {step for text in sources for step in inspection.helpers(text, steps)}
    found = []
    for step in steps:
        node = ast.parse(step.source).body[0]
        ours = isinstance(node, ast.ImportFrom) and f"{node.module}".startswith(inspection.PACKAGES)
        if isinstance(node, ast.ImportFrom) and ours:
            node.names = [each for each in node.names if (each.asname or each.name) in words]
            found += [ast.unparse(node)] if node.names else []
        elif step.source in kept or isinstance(node, ast.Import | ast.ImportFrom):
            found.append(step.source)
    return "\n".join(found)


def with_case(root: Path, one: Exercise, stem: str, seed: int) -> Exercise:
    """An exercise whose numbers are a student's own, if there are any to be judged.

    Its solution is a method, which is right whatever they are; students install none.
    """
    if not CASE.search(one.stub):
        return one
    path = root / LESSONS / stem / "methods.yml"
    methods = from_yaml(path.read_text("utf-8")) if path.is_file() else {}
    if one.name not in methods:
        raise BookError(f"{path} has no method for the exercise {one.name}.")
    case = random.Random(f"{seed} {stem} {one.name}").randrange(1, 10**6)
    return one._replace(
        question=one.question + YOURS,
        stub=CASE.sub(OWN_CASE.format(case, "..."), one.stub),
        solution=f"{OWN_CASE.format(case, '000')}\n{methods[one.name]}".strip(),
        case=case,
        numbered=True,
    )


def asked(source: str) -> tuple[str, str, bool]:
    r"""The title and the text of a question, from the directive that holds both; is it open?

    >>> title = "Exercise 3, open: hide a leak (4 points, 60 minutes)"
    >>> asked(f":::{{admonition}} {title}\n:class: exercise\n\nWrite.\n:::")
    ('hide a leak', 'Write.', True)

    Raises:
        BookError: the title is not one of an exercise.
    """
    found = folds(source)
    head = TITLE.match(found[0].title) if found else None
    if head is None:
        raise BookError(f"This is no exercise's title: {found[0].title if found else source!r}")
    return head["title"], found[0].body, bool(head["open"])


def as_json(week: Week) -> str:
    """A week as a file, from which it can be graded when the book is another."""
    told = week._asdict() | {"exercises": [one._asdict() for one in week.exercises]}
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> Week:
    """The week of such a file."""
    told = json.loads(text)
    return Week(**told | {"exercises": tuple(Exercise(**one) for one in told["exercises"])})


def sheet(week: Week, version: str, *, hints: bool = True, solved: bool = False) -> NotebookNode:
    """A week's exercises as a notebook: for students or, solved, for those who teach."""
    cells, ready = [text(overview(week), "overview")], ""
    for one in week.exercises:
        if one.setup and one.setup != ready:
            cells.append(code(one.setup, f"{one.name}-setup"))
            cells[-1].metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
            ready = one.setup
        cells.append(text(f"## {one.head()}\n\n{one.question}", f"{one.name}-question"))
        if hints and one.hint:
            cells.append(text(one.hint, f"{one.name}-hint"))
        cells.append(code(one.solution if solved else one.stub, one.name))
        cells[-1].metadata["nbgrader"] |= {"solution": True, "locked": False}
        if one.check:
            cells.append(code(one.check, f"{one.name}-check"))
    found = nbformat.v4.new_notebook(cells=cells)
    found.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    found.metadata[SHEET] = {"week": week.name, "version": version}
    return found


def overview(week: Week) -> str:
    """What stands on top of a sheet."""
    rows = [f"| {e.number} | {e.title} | {e.points} | {e.minutes} |" for e in week.exercises]
    table = "\n".join(["| | exercise | points | minutes |", "|---:|---|---:|---:|", *rows])
    read = [str(one.number) for one in week.exercises if not one.check]
    by_person = f" What has no such cell, as {read[0]}, a person reads." if read else ""
    own = [str(one.number) for one in week.exercises if one.numbered]
    site = f", but for {' and '.join(own)}, whose numbers are your own here" if own else ""
    return (
        f"# Week {week.number}: {week.title}\n\n"
        "Homework. Write each answer into its cell and run the cell below it, which says whether "
        f"it is right and, if not, by which symptom.{by_person} Hand in this notebook, under "
        "whatever name; or, where you have answered on the site, the file that *Save* gives under "
        f"an exercise{site}."
        "\n\n"
        f"{table}\n\n{week.points} points and about {week.minutes} minutes in all."
    )


def text(source: str, name: str) -> NotebookNode:
    """A cell of text that students leave as it is."""
    return marked(nbformat.v4.new_markdown_cell(source), name)


def code(source: str, name: str) -> NotebookNode:
    """A cell of code that students leave as it is."""
    return marked(nbformat.v4.new_code_cell(source), name)


def marked(cell: NotebookNode, name: str) -> NotebookNode:
    """A cell with a name by which a sheet that comes back is read; in nbgrader's third format."""
    cell["id"] = re.sub(r"\W", "-", name)[:64]
    cell.metadata["nbgrader"] = {
        "grade_id": name,
        "schema_version": 3,
        "grade": False,
        "solution": False,
        "locked": True,
        "task": False,
    }
    return cell


def without_exercises(notebook: NotebookNode, instead: str) -> NotebookNode:
    """A lesson whose exercises stand elsewhere: where the first stood, what is said instead."""
    found, said = copy.deepcopy(notebook), False
    found.cells = []
    for cell in copy.deepcopy(notebook.cells):
        if not cell.id.startswith("exercise"):
            found.cells.append(cell)
        elif not said:
            said = True
            found.cells.append(nbformat.v4.new_markdown_cell(instead, id="exercises"))
    return found
