"""The notebooks for other places: one source, and an edition for each kind of reader.

    python book/build.py editions      all of them into _build/editions/, a folder and a zip each

student     as the book's, without solutions; hints stay. For JupyterLab with jupyterlab-myst
instructor  with every solution in its exercise's cell, so that all checks pass; the teaching notes
plain       as student, in Markdown that Colab, VS Code, Kaggle and Notebook show as it is meant;
            its first cell of code installs the package where it is not there
grading     the exercises as nbgrader's assignments, a chapter each; a course's own seed draws the
            hidden cases

Each holds the package's wheel, and needs nothing from elsewhere but pip's other packages. What the
cells of an exercise are, CONTRIBUTING.md says.
"""

import copy
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import files
import nbformat
from dependencies import BookError
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from nbformat import NotebookNode

FOLDER = Path("_build") / "editions"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")

INSTALL = """\
# Installs the book's package where it is not there. The torch that is there stays.
import importlib.util
import subprocess
import sys
from pathlib import Path

if importlib.util.find_spec("attn_notes") is None:
    wheels = sorted((*Path().glob("attn_notes-*.whl"), *Path("..").glob("attn_notes-*.whl")))
    sources = [wheel.resolve().as_uri() for wheel in wheels[-1:]] or {repository!r}
    if not sources:
        raise FileNotFoundError("Put this edition's file attn_notes-….whl beside this notebook.")
    package = f"attn-notes[book] @ {{sources[0]}}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", package], check=True)
"""


# Cells


PARTS = ("answer", "check", "hint", "solution")
"""Of an exercise NAME, by the ids of its cells: `exercise-NAME` asks, `exercise-NAME-answer` …"""


def exercise(cell: NotebookNode, part: str) -> str:
    """The name of the exercise that a cell is a part of, one of `PARTS`; empty if of none.

    >>> exercise(NotebookNode(id="exercise-floor-check"), "check")
    'floor'
    >>> exercise(NotebookNode(id="floor-check"), "check")
    ''
    """
    found = re.fullmatch(rf"exercise-(.+)-{part}", cell.id)
    return found[1] if found else ""


def solution(source: str) -> str:
    """The code of a cell that folds a solution away.

    Raises:
        ValueError: it has no block of Python, or more than one.
    """
    (code,) = PYTHON.findall(source)
    return code


class Fold(NamedTuple):
    """A directive in a text, from its first line to the one behind its last."""

    first: int
    last: int
    kind: str
    title: str
    body: str


def folds(source: str) -> list[Fold]:
    r"""The directives of a cell of text.

    >>> folds("Try.\n\n:::{dropdown} Hint\nCount.\n:::\n")
    [Fold(first=2, last=5, kind='dropdown', title='Hint', body='Count.')]
    """
    found = []
    for token in MarkdownIt().use(colon_fence_plugin).parse(source):
        head = re.match(r"\{(\w+)\}\s*(.*)", token.info) if token.type == "colon_fence" else None
        if head and token.map:
            body = re.sub(r"\A(:\w+:.*\n)+\n*", "", token.content)
            first, last = token.map
            found.append(Fold(first, last, head[1], head[2].strip(), body.strip()))
    return found


def replaced(source: str, become: Callable[[Fold], str | None]) -> str:
    """A text whose directives have become what `become` says of each, or stay."""
    lines = source.splitlines()
    for fold in reversed(folds(source)):
        text = become(fold)
        if text is not None:
            lines[fold.first : fold.last] = text.splitlines()
    return "\n".join(lines).strip()


def in_plain_markdown(fold: Fold) -> str:
    """A directive in what every reader of Markdown knows.

    >>> print(in_plain_markdown(Fold(0, 3, "admonition", "Exercise 1", "How many?")))
    > **Exercise 1**
    >
    > How many?
    """
    if fold.kind == "dropdown":
        return f"<details>\n<summary>{fold.title}</summary>\n\n{fold.body}\n\n</details>"
    body = re.sub(r"^(\S[^\n]*)\n: ", r"**\1:** ", fold.body, flags=re.MULTILINE)
    lines = (f"**{fold.title}**", "", *body.splitlines())
    return "\n".join(f"> {line}".rstrip() for line in lines)


def without_dead_links(source: str, here: Path, there: set[Path]) -> str:
    """A text that links to no page which the edition does not have; the words stay.

    Args:
        source: the text.
        here: its notebook's path in the edition.
        there: the paths of all of the edition's files.
    """

    def lead(link: re.Match[str]) -> str:
        words, target = link.groups()
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        path = Path(os.path.normpath(here.parent / target.partition("#")[0]))
        return link[0] if path in there else words

    return LINK.sub(lead, source)


# Notebooks


def for_students(notebook: NotebookNode) -> NotebookNode:
    """A notebook without its solutions; hints stay."""
    found = copy.deepcopy(notebook)
    found.cells = [cell for cell in found.cells if not exercise(cell, "solution")]
    return found


def solutions(notebook: NotebookNode) -> dict[str, str]:
    """The code of each exercise's solution, by the exercise's name."""
    return {
        name: solution(cell.source).strip()
        for cell in notebook.cells
        if (name := exercise(cell, "solution"))
    }


def for_instructors(notebook: NotebookNode) -> NotebookNode:
    """A notebook with each solution in its exercise's cell, so that its check passes."""
    found, codes = copy.deepcopy(notebook), solutions(notebook)
    for cell in found.cells:
        if name := exercise(cell, "answer"):
            cell.source = codes[name]
    return found


def in_plain(notebook: NotebookNode, repository: str = "") -> NotebookNode:
    """A student's notebook in plain Markdown, which installs the package itself."""
    found = for_students(notebook)
    for cell in found.cells:
        if cell.cell_type == "markdown":
            cell.source = replaced(cell.source, in_plain_markdown)
        elif cell.metadata.get("jupyter", {}).get("source_hidden"):
            cell.metadata["cellView"] = "form"  # Colab's word for it
    sources = [f"git+{repository}"] if repository else []
    install = nbformat.v4.new_code_cell(INSTALL.format(repository=sources), id="install")
    install.metadata = {"jupyter": {"source_hidden": True}, "cellView": "form"}
    found.cells.insert(1, install)
    return found


# Grading

ANEW = """\
import importlib
import sys

for name in [n for n in sys.modules if n == "attn_notes.exercises" or n.endswith(".checks")]:
    del sys.modules[name]  # whatever this notebook has put in their place
checks = importlib.import_module("attn_notes.chapters.{chapter}.checks")
"""
HIDDEN = """\
### BEGIN HIDDEN TESTS
{hidden}
### END HIDDEN TESTS"""
SETTINGS = """\
# nbgrader's settings: see README.txt.
c = get_config()
c.CourseDirectory.course_id = "attention-notes"
c.ClearSolutions.code_stub = {"python": "# Your answer goes above."}
c.ExecutePreprocessor.timeout = 600  # seconds a cell
c.IncludeHeaderFooter.header = ""
"""


def for_graders(notebook: NotebookNode, chapter: str, seed: int) -> NotebookNode:
    """The exercises of a chapter as nbgrader's source of an assignment: setup, and what is asked.

    An answer's cell holds the stub and, between nbgrader's marks, the solution. Its check is
    imported anew, tries fresh cases, and then those that the course's seed draws: hidden, and the
    same for everybody. What it returns is the points that nbgrader gives.
    """
    codes, found, points = solutions(notebook), copy.deepcopy(notebook), {}
    found.cells = []
    for cell in copy.deepcopy(notebook.cells):
        told = cell.metadata.pop("exercise", None)
        if told:
            points[told["name"]] = told["points"]
            cell.source = replaced(cell.source, in_plain_markdown)
            mark(cell, f"{told['name']}-ask", locked=True)
        elif name := exercise(cell, "hint"):
            cell.source = replaced(cell.source, in_plain_markdown)
            mark(cell, f"{name}-hint", locked=True)
        elif name := exercise(cell, "answer"):
            cell.source += f"\n\n\n### BEGIN SOLUTION\n{codes[name]}\n### END SOLUTION"
            mark(cell, name, solution=True)
        elif name := exercise(cell, "check"):
            check = cell.source.strip()
            worth = f".require(points={points[name]})"
            hidden = f"{check[:-1]}, seed={seed}){worth}"
            cell.source = f"{ANEW.format(chapter=chapter)}\n{check}{worth}\n"
            cell.source += HIDDEN.format(hidden=hidden)
            mark(cell, f"{name}-check", grade=True, locked=True, points=points[name])
        elif cell.id != "setup":
            continue
        found.cells.append(cell)
    return found


def mark(
    cell: NotebookNode,
    name: str,
    *,
    grade: bool = False,
    solution: bool = False,
    locked: bool = False,
    points: float | None = None,
) -> None:
    """What nbgrader has to know of a cell, in its third format."""
    told = {"grade_id": name, "schema_version": 3, "task": False}
    told |= {"grade": grade, "solution": solution, "locked": locked}
    cell.metadata["nbgrader"] = told if points is None else told | {"points": points}


# Editions


def editions(root: Path, folder: Path | None = None, seed: int | None = None) -> list[Path]:
    """Make all editions anew, in the build's folder or another; returns their zips.

    Args:
        root: of the project.
        folder: where they go.
        seed: the course's, which draws hidden cases; another each time if none is given.

    Raises:
        BookError: the wheel could not be built.
    """
    repository = os.environ.get("SITE_REPOSITORY", "").rstrip("/")
    folder = folder or root / FOLDER
    files.empty(folder)
    wheel = build_wheel(root, folder)
    zips = []
    for name in ("student", "instructor", "plain", "grading"):
        edition = folder / f"attention-notes-{name}"
        if name == "student":
            write_pages(root, edition, for_students)
        elif name == "instructor":
            teaching = sorted((root / "book" / "teaching").glob("*.md"))
            write_pages(root, edition, for_instructors, teaching)
        elif name == "plain":
            write_pages(root, edition, partial(in_plain, repository=repository))
        else:
            write_assignments(root, edition, secrets.randbelow(2**31) if seed is None else seed)
        for path in (wheel, root / "LICENSE"):
            shutil.copy(path, edition)
        (edition / "README.txt").write_text(read_me(name, wheel.name), "utf-8")
        zips.append(Path(shutil.make_archive(str(edition), "zip", folder, edition.name)))
    wheel.unlink()
    return zips


def pages(root: Path) -> list[Path]:
    """The book's notebooks."""
    return sorted((root / "book").rglob("[!.]*.ipynb"))


def write_pages(
    root: Path,
    edition: Path,
    change: Callable[[NotebookNode], NotebookNode],
    others: Sequence[Path] = (),
) -> None:
    """All notebooks, changed, and other pages of the book, where they stand in it."""
    texts = {path.relative_to(root / "book") for path in (*pages(root), *others)}
    for path in pages(root):
        here = path.relative_to(root / "book")
        notebook = change(nbformat.read(path, as_version=4))
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = without_dead_links(cell.source, here, texts)
        write(notebook, edition / here)
    for path in others:
        there = edition / path.relative_to(root / "book")
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(path.read_text("utf-8"), "utf-8")


def write_assignments(root: Path, edition: Path, seed: int) -> None:
    """A course of nbgrader's: each chapter an assignment, with the exercises of both its pages."""
    for path in pages(root):
        evidence = "-evidence" if path.parent.name == "evidence" else ""
        notebook = for_graders(nbformat.read(path, as_version=4), path.stem, seed)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = without_dead_links(cell.source, Path(), set())
        write(notebook, edition / "source" / path.stem / f"{path.stem}{evidence}.ipynb")
    (edition / "nbgrader_config.py").write_text(SETTINGS, "utf-8")


def write(notebook: NotebookNode, path: Path) -> None:
    """A notebook that is one, into a folder that may not be there yet."""
    nbformat.validate(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def build_wheel(root: Path, folder: Path) -> Path:
    """The package's wheel, built into a folder.

    Raises:
        BookError: pip could not; says what it said.
    """
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        *options,
        "--wheel-dir",
        str(folder),
        str(root),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BookError(f"The wheel could not be built:\n{done.stderr.strip()}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def read_me(edition: str, wheel: str) -> str:
    """What stands beside the notebooks."""
    begin = f"""\
In an environment of Python 3.11 to 3.13:

    pip install "{wheel}[book]" jupyterlab jupyterlab-myst
    jupyter lab
"""
    how = {
        "plain": "Put the wheel beside a notebook, and run that: its first cell installs it.\n",
        "student": begin,
        "instructor": f"With all solutions: not for publication.\n\n{begin}",
        "grading": f"""\
A course for nbgrader: solutions and hidden cases, not for publication. In an environment of Python
3.11 to 3.13, and in this folder:

    pip install "{wheel}[book]" nbgrader
    nbgrader generate_assignment deep_qkv     # into release/: this is for students
    nbgrader autograde deep_qkv               # what is in submitted/NAME/deep_qkv/
    nbgrader generate_feedback deep_qkv
    nbgrader export                           # grades.csv

Each folder of source/ is a chapter, and its name stands in such a command. A part of the points is
given for a part of an answer.
""",
    }
    return f"Attention Notes, {edition} edition\n\n{how[edition]}"
