"""The notebooks for other places: one source, and an edition for each kind of reader.

    python book/build.py editions      all of them into _build/editions/, a folder and a zip each

student     as the book's, without solutions; hints stay. For JupyterLab with jupyterlab-myst
instructor  with every solution in its exercise's cell, so that all checks pass; the teaching notes
plain       as student, in Markdown that Colab, VS Code, Kaggle and Notebook show as it is meant;
            its first cell of code installs the packages where they are not there, or others are

A course with dates, homework, grades: course.py, which changes notebooks by what stands here.

Each holds the wheels of both packages, and needs nothing from elsewhere but pip's other packages.
The last cell of each notebook has its version. What the cells of an exercise are, CONTRIBUTING.md
says. Where somebody has begun to work nothing is made: see manifest.py.
"""

import copy
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from nbformat import NotebookNode

from book.editions import manifest
from book.editions.version import commit, told, version, wheels
from book.site.dependencies import notebook_paths

FOLDER = Path("_build") / "editions"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
ASIDE = re.compile(rf" \({LINK.pattern}\)")  # a link in brackets of its own
BEGUN = (
    "Move the folder to a place of your own and go on there, or make the editions somewhere else: "
    "python book/build.py editions --into FOLDER."
)

INSTALL = """\
# Installs the packages of this edition in the place of none or others. Your torch stays.
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

wanted, sources = {version!r}, {sources!r}
here = Path.cwd()
beside = [path for at in (here, *here.parents[:2]) for path in at.glob("attn_notes_book-*.whl")]
# The newest by its day; of one day's, by when the file was written.
for wheel in sorted(beside, key=lambda path: (path.name.split(".g")[0], path.stat().st_mtime))[-1:]:
    wanted, beside = wheel.name.split("-")[1], wheel.resolve()
    sources = [beside.with_name(beside.name.replace("_book", "")).as_uri(), beside.as_uri()]
there, editable = {{}}, False
for name in ("attn-notes", "attn-notes-book"):
    try:
        package = importlib.metadata.distribution(name)
        there[name] = package.version
        told = json.loads(package.read_text("direct_url.json") or "{{}}")
        editable |= told.get("dir_info", {{}}).get("editable", False)
    except importlib.metadata.PackageNotFoundError:
        there[name] = None
if {{*there.values()}} != {{wanted}} and sources and not editable:
    packages = [f"{{name}} @ {{source}}" for name, source in zip(there, sources)]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *packages], check=True)
    importlib.invalidate_caches()
    if "attn_notes" in sys.modules:
        print("The package is another now: restart the kernel, and begin anew.")
elif there["attn-notes"] is None:
    raise FileNotFoundError("Put this edition's two files attn_notes….whl beside this notebook.")
elif there["attn-notes"] != wanted:
    print(f"This wants version {{wanted}}. {{there['attn-notes']}} is installed, and stays.")
"""


# Cells


EDITIONS = ("student", "instructor", "plain")
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


def without_dead_links(source: str, here: Path, there: Callable[[Path], bool]) -> str:
    """A text that links to no page which is not there; the words stay.

    Where the link is all that stands in brackets, these go with it.

    Args:
        source: the text.
        here: its own path.
        there: whether a path is one to which a link may lead.
    """

    def leads(target: str) -> bool:
        path = Path(os.path.normpath(here.parent / target.partition("#")[0]))
        return re.match(r"[a-z]+:|#", target) is not None or there(path)

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

    From the wheels beside it; where there are none, from the repository, if the commit is known.
    """
    found = for_students(notebook)
    for cell in found.cells:
        if cell.cell_type == "markdown":
            cell.source = replaced(cell.source, in_plain_markdown)
        elif cell.metadata.get("jupyter", {}).get("source_hidden"):
            cell.metadata["cellView"] = "form"  # Colab's word for it
    known = repository and commit(version)
    source = f"git+{repository}@{commit(version)}"
    sources = [source, f"{source}#subdirectory=book"] if known else []
    code = INSTALL.format(version=version, sources=sources)
    install = nbformat.v4.new_code_cell(code, id="install")
    install.metadata = {"jupyter": {"source_hidden": True}, "cellView": "form"}
    found.cells.insert(1, install)
    return found


# Editions


def editions(root: Path, folder: Path | None = None) -> list[Path]:
    """Make all editions anew, in the build's folder or another; returns the zips.

    Args:
        root: of the project.
        folder: where they go.

    Raises:
        BookError: somebody has begun to work in the folder. Nothing has been changed.
    """
    repository = os.environ.get("SITE_REPOSITORY", "").rstrip("/")
    folder = folder or root / FOLDER
    manifest.refuse(manifest.begun(folder), folder, BEGUN)
    with tempfile.TemporaryDirectory() as name:
        new, made_of = Path(name), version(root)
        packages = wheels(root, new)
        teaching = sorted(
            [*(root / "book").glob("teaching/*.md"), *(root / "book").glob("lessons/*/teaching.md")]
        )
        for edition in EDITIONS:
            there = new / f"attention-notes-{edition}"
            if edition == "student":
                write_pages(root, there, made_of, for_students)
            elif edition == "instructor":
                write_pages(root, there, made_of, for_instructors, teaching)
            else:
                change = partial(in_plain, version=made_of, repository=repository)
                write_pages(root, there, made_of, change)
            for path in (*packages, root / "LICENSE"):
                shutil.copy(path, there)
            text = read_me(edition, made_of)
            (there / "README.txt").write_text(text, "utf-8")
            shutil.make_archive(str(there), "zip", new, there.name)
        for path in packages:
            path.unlink()
        manifest.replace(new, folder)
    return [folder / f"attention-notes-{edition}.zip" for edition in EDITIONS]


def lessons(root: Path) -> list[Path]:
    """The notebooks of the lessons, in the order of the table of contents."""
    found = [root / path for path in notebook_paths(root)]
    return [path for path in found if path.stem == path.parent.name]


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
                cell.source = without_dead_links(cell.source, here, texts.__contains__)
        write(notebook, edition / here, version)
    for path in others:
        there = edition / path.relative_to(root / "book")
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(path.read_text("utf-8"), "utf-8")


def write(notebook: NotebookNode, path: Path, version: str) -> None:
    """A notebook that is one, its version at the end, into a folder that may not be there yet."""
    notebook.cells.append(nbformat.v4.new_markdown_cell(told(version), id="version"))
    nbformat.validate(notebook)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def read_me(edition: str, version: str) -> str:
    """What stands beside the notebooks."""
    begin = f"""\
In an environment of Python 3.11 to 3.14:

    pip install {wheels_of(version)} jupyterlab jupyterlab-myst
    jupyter lab
"""
    how = {
        "plain": """\
Put the two wheels beside a notebook, and run that: its first cell installs them, also in the place
of another version.
""",
        "student": begin,
        "instructor": f"With all solutions: not for publication.\n\n{begin}",
    }
    return f"Attention Notes, {edition} edition\n\n{how[edition]}\n{told(version)}\n"


def wheels_of(version: str) -> str:
    """The files of both packages, for a command."""
    return f"attn_notes-{version}-py3-none-any.whl attn_notes_book-{version}-py3-none-any.whl"
