"""The notebooks for other places: one source, and an edition for each kind of reader.

    python book/build.py editions      all of them into _build/editions/, a folder and a zip each

student     as the book's, without solutions; hints stay. For JupyterLab with jupyterlab-myst
instructor  with every solution in its exercise's cell, so that all checks pass; the teaching notes
plain       as student, in Markdown that Colab, VS Code, Kaggle and Notebook show as it is meant;
            its first cell of code installs the package where it is not there, or another is
grading     the exercises as nbgrader's assignments, a chapter each; a course's own seed, which
            stands in its `seed.txt`, draws the hidden cases

Each holds the package's wheel, and needs nothing from elsewhere but pip's other packages. The last
cell of each notebook has its version. What the cells of an exercise are, CONTRIBUTING.md says.
Where somebody has begun to work nothing is made: see manifest.py.
"""

import copy
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import manifest
import nbformat
from dependencies import BookError, notebook_paths
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from nbformat import NotebookNode
from version import commit, told, version, wheel

FOLDER = Path("_build") / "editions"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
ASIDE = re.compile(rf" \({LINK.pattern}\)")  # a link in brackets of its own
SEED = Path("attention-notes-grading") / "seed.txt"
BEGUN = (
    "Move the folder to a place of your own and go on there, or make the editions somewhere else: "
    "python book/build.py editions --into FOLDER."
)

INSTALL = """\
# Installs the package of this edition in the place of none or another. Your torch stays.
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

wanted, source = {version!r}, {source!r}
beside = (*Path().glob("attn_notes-*.whl"), *Path("..").glob("attn_notes-*.whl"))
# The newest by its day; of one day's, by when the file was written.
for wheel in sorted(beside, key=lambda path: (path.name.split(".g")[0], path.stat().st_mtime))[-1:]:
    wanted, source = wheel.name.split("-")[1], wheel.resolve().as_uri()
try:
    package = importlib.metadata.distribution("attn-notes")
    there = package.version
    told = json.loads(package.read_text("direct_url.json") or "{{}}")
    editable = told.get("dir_info", {{}}).get("editable", False)
except importlib.metadata.PackageNotFoundError:
    there, editable = None, False
if there != wanted and source and not editable:
    package = f"attn-notes[book] @ {{source}}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", package], check=True)
    importlib.invalidate_caches()
    if "attn_notes" in sys.modules:
        print("The package is another now: restart the kernel, and begin anew.")
elif there is None:
    raise FileNotFoundError("Put this edition's file attn_notes-….whl beside this notebook.")
elif there != wanted:
    print(f"This wants version {{wanted}} of the package. {{there}} is installed, and stays.")
"""


# Cells


EDITIONS = ("student", "instructor", "plain", "grading")
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

    Where the link is all that stands in brackets, these go with it.

    Args:
        source: the text.
        here: its notebook's path in the edition.
        there: the paths of all of the edition's files.
    """

    def leads(target: str) -> bool:
        path = Path(os.path.normpath(here.parent / target.partition("#")[0]))
        return path in there or re.match(r"[a-z]+:|#", target) is not None

    source = ASIDE.sub(lambda link: link[0] if leads(link[2]) else "", source)
    return LINK.sub(lambda link: link[0] if leads(link[2]) else link[1], source)


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


def in_plain(notebook: NotebookNode, version: str, repository: str = "") -> NotebookNode:
    """A student's notebook in plain Markdown, which installs the package itself.

    From the wheel beside it; where there is none, from the repository, if the commit is known.
    """
    found = for_students(notebook)
    for cell in found.cells:
        if cell.cell_type == "markdown":
            cell.source = replaced(cell.source, in_plain_markdown)
        elif cell.metadata.get("jupyter", {}).get("source_hidden"):
            cell.metadata["cellView"] = "form"  # Colab's word for it
    known = repository and commit(version)
    source = f"git+{repository}@{commit(version)}" if known else ""
    code = INSTALL.format(version=version, source=source)
    install = nbformat.v4.new_code_cell(code, id="install")
    install.metadata = {"jupyter": {"source_hidden": True}, "cellView": "form"}
    found.cells.insert(1, install)
    return found


# Grading

ANEW = """\
import importlib
import sys

ours = ("attn_notes.exercises", "attn_notes.trying")
for name in [n for n in sys.modules if n in ours or n.endswith(".checks")]:
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
    """Make all editions anew, in the build's folder or another; prints the seed, returns the zips.

    Args:
        root: of the project.
        folder: where they go.
        seed: the course's, which draws hidden cases; if none is given, the one that the course in
            the folder has, and if there is none, any.

    Raises:
        BookError: somebody has begun to work in the folder, or the seed is none. Nothing has been
            changed.
    """
    if seed is not None and seed not in range(2**63):
        raise BookError(
            f"The seed of a course is a whole number from 0 to {2**63 - 1}, not {seed}."
        )
    repository = os.environ.get("SITE_REPOSITORY", "").rstrip("/")
    folder = folder or root / FOLDER
    manifest.refuse(manifest.begun(folder), folder, BEGUN)
    kept = int((folder / SEED).read_text("utf-8")) if (folder / SEED).exists() else None
    if seed is None:
        seed = secrets.randbelow(2**31) if kept is None else kept
    with tempfile.TemporaryDirectory() as name:
        new, made_of = Path(name), version(root)
        package = wheel(root, new)
        teaching = sorted((root / "book" / "teaching").glob("*.md"))
        for edition in EDITIONS:
            there = new / f"attention-notes-{edition}"
            if edition == "student":
                write_pages(root, there, made_of, for_students)
            elif edition == "instructor":
                write_pages(root, there, made_of, for_instructors, teaching)
            elif edition == "plain":
                change = partial(in_plain, version=made_of, repository=repository)
                write_pages(root, there, made_of, change)
            else:
                write_assignments(root, there, made_of, seed)
            for path in (package, root / "LICENSE"):
                shutil.copy(path, there)
            text = read_me(edition, package.name, lessons(root)[0].stem)
            (there / "README.txt").write_text(text, "utf-8")
            shutil.make_archive(str(there), "zip", new, there.name)
        package.unlink()
        manifest.replace(new, folder)
    instead = f", no longer {kept}" if kept not in (None, seed) else ""
    print(f"The seed of the course is {seed}{instead}. It stands in {folder / SEED}.")
    return [folder / f"attention-notes-{edition}.zip" for edition in EDITIONS]


def lessons(root: Path) -> list[Path]:
    """The notebooks of the lessons, in the order of the table of contents."""
    found = [root / path for path in notebook_paths(root)]
    return [path for path in found if path.parent == root / "book"]


def pages(root: Path) -> list[Path]:
    """The book's notebooks."""
    return sorted((root / "book").rglob("[!.]*.ipynb"))


def write_pages(
    root: Path,
    edition: Path,
    version: str,
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
        write(notebook, edition / here, version)
    for path in others:
        there = edition / path.relative_to(root / "book")
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(path.read_text("utf-8"), "utf-8")


def write_assignments(root: Path, edition: Path, version: str, seed: int) -> None:
    """A course of nbgrader's: each chapter an assignment, with the exercises of both its pages."""
    for path in pages(root):
        evidence = "-evidence" if path.parent.name == "evidence" else ""
        notebook = for_graders(nbformat.read(path, as_version=4), path.stem, seed)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = without_dead_links(cell.source, Path(), set())
        there = edition / "source" / path.stem / f"{path.stem}{evidence}.ipynb"
        write(notebook, there, version)
    (edition / "nbgrader_config.py").write_text(SETTINGS, "utf-8")
    (edition / SEED.name).write_text(f"{seed}\n", "utf-8")


def write(notebook: NotebookNode, path: Path, version: str) -> None:
    """A notebook that is one, its version at the end, into a folder that may not be there yet."""
    notebook.cells.append(nbformat.v4.new_markdown_cell(told(version), id="version"))
    nbformat.validate(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def read_me(edition: str, wheel: str, chapter: str) -> str:
    """What stands beside the notebooks; the chapter is the one in its examples."""
    begin = f"""\
In an environment of Python 3.11 to 3.13:

    pip install "{wheel}[book]" jupyterlab jupyterlab-myst
    jupyter lab
"""
    how = {
        "plain": """\
Put the wheel beside a notebook, and run that: its first cell installs it, also in the place of
another version.
""",
        "student": begin,
        "instructor": f"With all solutions: not for publication.\n\n{begin}",
        "grading": f"""\
A course for nbgrader: solutions and hidden cases, not for publication. Copy this folder to a place
of your own before you begin: there no command of the book's comes near it. Then, in an environment
of Python 3.11 to 3.13, and in that copy:

    pip install "{wheel}[book]" nbgrader
    nbgrader generate_assignment {chapter}     # into release/: this is for students
    nbgrader autograde {chapter}               # what is in submitted/NAME/{chapter}/
    nbgrader generate_feedback {chapter}
    nbgrader export                           # grades.csv

Each folder of source/ is a chapter, and its name stands in such a command. A part of the points is
given for a part of an answer. The hidden cases are drawn by the number in {SEED.name}.
""",
    }
    return f"Attention Notes, {edition} edition\n\n{how[edition]}\n{told(wheel.split('-')[1])}\n"
