"""What each chapter's outputs depend on, and the key that stands for all of it.

The key is a hash of the chapter's code cells, of the files that the code can reach, of the versions
installed and of `running.py` and `settings.py`, which say how a chapter is run. While it stays the
same, so do the outputs; prose is not part of it. Imports are followed statically, through the
chapter and through the package.
"""

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pooch
import yaml
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

PACKAGES = ("attn_notes", "book")
LESSONS = Path("book", "lessons")  # from the root: a folder a lesson
DOWNLOADS = "attn_notes/tasks/text.py"  # the module that downloads, and what it keeps
DOWNLOADED = "tinyshakespeare.txt"
CACHE = "ATTN_NOTES_DATA"  # and the environment variable that names the folder
SHOWN = re.compile(r"(hide|remove)-")  # how tags begin that say what a page shows of a cell
RUNNING = [Path(__file__).with_name(name) for name in ("running.py", "settings.py")]


class BookError(Exception):
    """Something a reader of the message can mend; shown without a traceback."""


@dataclass(frozen=True)
class Chapter:
    """One notebook of the table of contents, and all that its outputs depend on."""

    path: Path  # from the root, as book/lessons/deep_qkv/deep_qkv.ipynb
    notebook: NotebookNode  # as it was read, prose and all
    cells: tuple[tuple[str, tuple[str, ...]], ...]  # of each code cell its source, and how it runs
    files: dict[str, bytes]  # what the code can reach, by path from the root
    key: str

    @property
    def executed_name(self) -> str:
        """File name of the executed copy."""
        return f"{self.name}-{self.key}.ipynb"

    @property
    def name(self) -> str:
        """What its files are called here, and it anywhere: `deep_qkv`, `deep_qkv_evidence`."""
        return self.path.stem


# The chapters


def toc_entries(root: Path) -> list[str]:
    """The pages that `_toc.yml` lists, as it spells them."""

    def walk(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            for name, value in node.items():
                if name in ("root", "file"):
                    yield value
                else:
                    yield from walk(value)
        elif isinstance(node, list):
            for value in node:
                yield from walk(value)

    return list(walk(_parsed((root / "_toc.yml").read_text("utf-8"))))


@cache
def _parsed(text: str) -> Any:
    return from_yaml(text)


def from_yaml(text: str) -> Any:
    """What a text of YAML says, read by the C library where there is one: ten times as fast."""
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def notebook_paths(root: Path) -> list[Path]:
    """The notebooks that `_toc.yml` lists, as paths from the root."""
    paths = [Path(entry.removesuffix(".ipynb") + ".ipynb") for entry in toc_entries(root)]
    return [path for path in paths if (root / path).is_file()]


def all_stems(root: Path) -> list[str]:
    """The lessons of `_toc.yml` and the pages of the book's own among them, in their order."""
    return [path.stem for path in notebook_paths(root) if path == lesson_page(path.stem)]


def lesson_stems(root: Path) -> list[str]:
    """The lessons of `_toc.yml` in their order, each by the stem that names all that is its own.

    A lesson is the notebook `lessons/STEM/STEM.ipynb`; its other pages lie beside it. One that
    says in its metadata that it is the book's own is about no source, and none of them.
    """
    own = own_stems(root)
    return [stem for stem in all_stems(root) if stem not in own]


def full_stems(root: Path) -> list[str]:
    """Those of the lessons that are whole: a draft, as its metadata say, may lack any part."""
    drafts = _marked(root, "draft")
    return [stem for stem in lesson_stems(root) if stem not in drafts]


def stems_with(root: Path, name: str) -> list[str]:
    """Those of all lessons that have a file of this name, as `deck.yml`, in their folder."""
    return [stem for stem in all_stems(root) if (root / LESSONS / stem / name).is_file()]


def evidence_stems(root: Path) -> list[str]:
    """Those of the lessons that have a page of evidence: about a source, with claims on it."""
    return [stem for stem in lesson_stems(root) if evidence_page(stem) in pages_of(root, stem)]


def own_stems(root: Path) -> list[str]:
    """The pages among the lessons that are the book's own: about no source, without evidence."""
    return _marked(root, "own")


def _marked(root: Path, what: str) -> list[str]:
    """The pages among the lessons of which the notebook's metadata say this."""
    paths = {stem: root / lesson_page(stem) for stem in all_stems(root)}
    notebooks = {stem: json.loads(path.read_text("utf-8")) for stem, path in paths.items()}
    return [stem for stem, notebook in notebooks.items() if notebook["metadata"].get(what)]


def lesson_page(stem: str) -> Path:
    """A lesson's notebook, from the root."""
    return LESSONS / stem / f"{stem}.ipynb"


def evidence_page(stem: str) -> Path:
    """The page of evidence of a lesson that has one, from the root."""
    return LESSONS / stem / f"{stem}_evidence.ipynb"


def lesson_of(page: str | Path) -> str:
    """Whose notebook a page is; empty if it is none of a lesson's.

    >>> lesson_of("book/lessons/trm/trm_evidence"), lesson_of("book/lessons/trm/teaching")
    ('trm', '')
    """
    folder, name = Path(page).parent, Path(page).stem
    return folder.name if folder.parent == LESSONS and name.startswith(folder.name) else ""


def pages_of(root: Path, stem: str) -> list[Path]:
    """A lesson's notebooks that `_toc.yml` lists: itself, and what stands below it there."""
    return [path for path in notebook_paths(root) if path.parent == LESSONS / stem]


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook, whatever may be under that name.

    Raises:
        OSError: nothing can be read there.
        ValueError: what is there is not a notebook.
    """
    content = path.read_bytes()
    try:
        notebook = nbformat.reads(content.decode(), as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # nbformat has errors of its own, and raises any other as well
        raise ValueError(f"{path.name} is not a notebook") from error
    return notebook


# What they depend on


def python_code(cell: str) -> str:
    """A cell's code as Python, with IPython's magics turned into calls; empty if it has none.

    Under a cell magic as `%%time` the rest of the cell is taken for code if it parses as such.
    """
    if cell.lstrip().startswith("%%"):
        cell = cell.lstrip().partition("\n")[2]
    code = TransformerManager().transform_cell(cell)
    try:
        ast.parse(code)
    except SyntaxError:
        return ""  # running it will say so, and imports nothing
    return code


def imported_names(code: str, package: str = "") -> set[str]:
    """Dotted names that `code` may import, also inside functions.

    `package` is the one that its relative imports are relative to. Some of the names may be
    functions or classes: `from a import b` gives both `a` and `a.b`.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue  # beyond the top: running it will say so
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


def module_file(root: Path, name: str) -> Path | None:
    """The file of one of the packages' modules; None if `name` is no such module."""
    path = root.joinpath(*name.split("."))
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def reachable_modules(root: Path, code: str) -> dict[str, Path]:
    """The packages' modules that `code` may load, directly or through others, and their files."""
    modules: dict[str, Path] = {}
    waiting = imported_names(code)
    while waiting:
        name = waiting.pop()
        if name.split(".")[0] not in PACKAGES or name in modules:
            continue
        waiting.add(name.rpartition(".")[0])  # a module's package is loaded before it
        file = module_file(root, name)
        if file is None:
            continue
        modules[name] = file
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        waiting |= imported_names(file.read_text("utf-8"), package)
    return modules


def data_files(module: Path) -> list[Path]:
    """Files beside a module that belong to it.

    All but Python, notebooks and prose: scripts and styles of a widget, and what it shares.
    """
    aside = {".ipynb", ".md", ".py", ".pyi", ".yml"}
    return [path for path in module.parent.iterdir() if path.is_file() and path.suffix not in aside]


def data_folder() -> Path:
    """Where chapters find what they download, as `attn_notes.tasks.text` has it."""
    return Path(os.environ.get(CACHE) or pooch.os_cache("attn-notes")).resolve()


def data_at_hand() -> dict[str, int]:
    """The download, if it is there, and its size. What else its folder holds nobody reads."""
    path = data_folder() / DOWNLOADED
    try:
        return {DOWNLOADED: path.stat().st_size} if path.is_file() else {}
    except OSError:
        return {}  # a folder that cannot be looked into


def installed_versions(root: Path) -> dict[str, str]:
    """Each pin of requirements.txt with the version that is installed."""
    versions = {}
    for line in (root / "requirements.txt").read_text("utf-8").splitlines():
        pin = line.partition("#")[0].strip()
        if pin:
            try:
                versions[pin] = importlib.metadata.version(re.split(r"[^\w.-]", pin)[0])
            except importlib.metadata.PackageNotFoundError:
                versions[pin] = "not installed"
    return versions


def digest(value: Any) -> str:
    """A short hash of anything JSON can write; bytes are hashed first."""

    def hash_bytes(data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()

    text = json.dumps(value, sort_keys=True, default=hash_bytes)
    return hash_bytes(text.encode())[:16]


def how_it_runs() -> list[bytes]:
    """The files that say how a chapter is run."""
    return [path.read_bytes() for path in RUNNING]


def read_chapter(root: Path, path: Path) -> Chapter:
    """Read a notebook and what it depends on.

    Raises:
        BookError: it is not a notebook, or a module of the package does not parse.
    """
    try:
        notebook = read_notebook(root / path)
    except ValueError as error:
        raise BookError(f"{path} is not a notebook.") from error
    cells = tuple(
        (cell.source, tuple(tag for tag in cell.metadata.get("tags", []) if not SHOWN.match(tag)))
        for cell in notebook.cells
        if cell.cell_type == "code"
    )
    code = "\n".join(python_code(source) for source, _ in cells)
    try:
        modules = reachable_modules(root, code).values()
    except SyntaxError as error:
        raise BookError(f"{path} imports a module that does not parse: {error}") from error
    used = {*modules, *(file for module in modules for file in data_files(module))}
    records = (root / path.parent / "records").glob("*")
    used.update((root / "attn_notes" / "weights").glob(f"{path.parent.name}[_.-]*"))
    fast = os.environ.get("FAST", "")
    # Kept runs take the place of training only where FAST is set.
    used.update(file for file in records if fast or "_runs." not in file.name)
    files = {file.relative_to(root).as_posix(): file.read_bytes() for file in used}
    key = digest(
        {
            "cells": cells,
            "files": files,
            "environment": installed_versions(root),
            "fast": fast,
            "data": data_at_hand() if DOWNLOADS in files else None,
            "python": sys.version_info[:2],
            "running": how_it_runs(),
        }
    )
    return Chapter(path, notebook, cells, files, key)


def read_chapters(root: Path) -> list[Chapter]:
    """The chapters, in the order of the table of contents.

    Raises:
        BookError: one cannot be read, or two have one name.
    """
    first: dict[str, Path] = {}
    for path in notebook_paths(root):
        if (other := first.setdefault(path.name, path)) != path:
            raise BookError(f"{path} has the name of {other}: give it another.")
    return [read_chapter(root, path) for path in notebook_paths(root)]
