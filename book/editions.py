"""The notebooks for other places: one source, and an edition for each kind of reader.

    python book/build.py editions      all of them into _build/editions/, a folder and a zip each

student     as the book's, without solutions; hints stay. For JupyterLab with jupyterlab-myst
instructor  with every solution in its exercise's cell, so that all checks pass; the teaching notes
plain       as student, in Markdown that Colab, VS Code, Kaggle and Notebook show as it is meant;
            its first cell of code installs the package where it is not there

Each holds the package's wheel, and needs nothing from elsewhere but pip's other packages. What the
three cells of an exercise are, CONTRIBUTING.md says.
"""

import copy
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
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
SOLUTION = ("Solution", "A solution", "A beginning")
"""How the title of a fold begins that holds a solution."""

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


def exercise(cell: NotebookNode, part: str) -> str:
    """The name of the exercise that a cell is a part of, `cell` or `solution`; empty if of none.

    >>> exercise(NotebookNode(id="exercise-floor-cell"), "cell")
    'floor'
    >>> exercise(NotebookNode(id="floor-cell"), "cell")
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


def without_solution(fold: Fold) -> str | None:
    """Nothing in a solution's place."""
    return "" if fold.kind == "dropdown" and fold.title.startswith(SOLUTION) else None


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
    for cell in found.cells:
        if exercise(cell, "solution"):
            cell.source = replaced(cell.source, without_solution)
    found.cells = [cell for cell in found.cells if cell.source]
    return found


def for_instructors(notebook: NotebookNode) -> NotebookNode:
    """A notebook with each solution in its exercise's cell, before the check."""
    found = copy.deepcopy(notebook)
    codes = {
        exercise(cell, "solution"): solution(cell.source)
        for cell in found.cells
        if exercise(cell, "solution")
    }
    for cell in found.cells:
        if name := exercise(cell, "cell"):
            check = cell.source.strip().rpartition("\n")[2]
            cell.source = f"{codes[name].strip()}\n\n\n{check}"
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


# Editions


def editions(root: Path, folder: Path | None = None) -> list[Path]:
    """Make all editions anew, in the build's folder or another; returns their zips.

    Raises:
        BookError: the wheel could not be built.
    """
    repository = os.environ.get("SITE_REPOSITORY", "").rstrip("/")
    make: dict[str, Callable[[NotebookNode], NotebookNode]] = {
        "student": for_students,
        "instructor": for_instructors,
        "plain": lambda notebook: in_plain(notebook, repository),
    }
    folder = folder or root / FOLDER
    files.empty(folder)
    wheel = build_wheel(root, folder)
    pages = sorted((root / "book").rglob("[!.]*.ipynb"))
    zips = []
    for name, change in make.items():
        edition = folder / f"attention-notes-{name}"
        teaching = sorted((root / "book" / "teaching").glob("*.md")) if name == "instructor" else []
        texts = {path.relative_to(root / "book") for path in (*pages, *teaching)}
        for path in pages:
            here = path.relative_to(root / "book")
            notebook = change(nbformat.read(path, as_version=4))
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = without_dead_links(cell.source, here, texts)
            nbformat.validate(notebook)
            (edition / here).parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, edition / here)
        for path in teaching:
            there = edition / path.relative_to(root / "book")
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_text(path.read_text("utf-8"), "utf-8")
        for path in (wheel, root / "LICENSE"):
            shutil.copy(path, edition)
        (edition / "README.txt").write_text(read_me(name, wheel.name), "utf-8")
        zips.append(Path(shutil.make_archive(str(edition), "zip", folder, edition.name)))
    wheel.unlink()
    return zips


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
    }
    return f"Attention Notes, {edition} edition\n\n{how[edition]}"
