"""Execute the chapters, each once for everything that its outputs depend on.

A chapter's outputs are kept in `.cache/executed/` under a key: a hash of its code cells, of the
files that the code can reach, of the versions installed and of this file. While the key stays the
same nothing runs; prose is not part of it.

Three things keep a kept output from being stale:

- Imports are followed statically, through the chapter and through the package.
- A chapter runs in a folder that holds copies of just the files its key covers. If it needs
  another one it fails, instead of depending on a file that nobody watches.
- The copies are the very bytes that were hashed, so that editing during a run does no harm.
"""

import ast
import concurrent.futures
import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pooch
import yaml
from filelock import FileLock, Timeout
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

PACKAGE = "attn_notes"
DOWNLOADS = "attn_notes/tasks/text.py"  # the module that downloads, and what it keeps
DOWNLOADED = "tinyshakespeare.txt"
CACHE = "ATTN_NOTES_DATA"  # and the environment variable that names the folder
FETCH = """
import warnings
from attn_notes.tasks.text import tiny_shakespeare

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tiny_shakespeare()
for warning in caught:
    print(warning.message)
"""
AT_ONCE = 2  # chapters running side by side, each on one thread
CELL_TIMEOUT = 1800  # seconds; only a cell that hangs takes so long
KERNELSPEC = {"name": "python3", "display_name": "Python 3", "language": "python"}


class BookError(Exception):
    """Something a reader of the message can mend; shown without a traceback."""


@dataclass(frozen=True)
class Chapter:
    """One notebook of the table of contents, and all that its outputs depend on."""

    path: Path  # from the root, as book/deep_qkv.ipynb
    cells: tuple[tuple[str, tuple[str, ...]], ...]  # source and tags of each code cell
    files: dict[str, bytes]  # what the code can reach, by path from the root
    key: str

    @property
    def executed_name(self) -> str:
        """File name of the executed copy."""
        return f"{self.path.stem}-{self.key}.ipynb"


# What a chapter depends on


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

    return list(walk(yaml.safe_load((root / "_toc.yml").read_text("utf-8"))))


def notebook_paths(root: Path) -> list[Path]:
    """The notebooks that `_toc.yml` lists, as paths from the root.

    Raises:
        BookError: two of them have the same file name, by which outputs are kept.
    """
    paths = [Path(entry.removesuffix(".ipynb") + ".ipynb") for entry in toc_entries(root)]
    paths = [path for path in paths if (root / path).is_file()]
    if len({path.stem for path in paths}) < len(paths):
        raise BookError("two chapters in _toc.yml have the same file name")
    return paths


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
    """The file of one of the package's modules; None if `name` is no such module."""
    path = root.joinpath(*name.split("."))
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def reachable_modules(root: Path, code: str) -> dict[str, Path]:
    """The package's modules that `code` may load, directly or through others, and their files."""
    modules: dict[str, Path] = {}
    waiting = imported_names(code)
    while waiting:
        name = waiting.pop()
        if name.split(".")[0] != PACKAGE or name in modules:
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
    """Files beside a module that belong to it: those of its name, and those shared as `_name`."""
    return [
        path
        for path in module.parent.iterdir()
        if path.is_file()
        and path.suffix != ".py"
        and (path.name.startswith("_") or path.name.partition(".")[0] == module.stem)
    ]


def data_folder() -> Path:
    """Where chapters find what they download, as `attn_notes.tasks.text` has it."""
    return Path(os.environ.get(CACHE) or pooch.os_cache("attn-notes")).resolve()


def data_at_hand() -> dict[str, int]:
    """The download, if it is there, and its size. What else its folder holds nobody reads."""
    path = data_folder() / DOWNLOADED
    return {DOWNLOADED: path.stat().st_size} if path.is_file() else {}


def fetch_data(root: Path) -> None:
    """Download what chapters read, before their keys are made: without it they use a fallback.

    Raises:
        BookError: the module that downloads does not run. Offline it does, and says what it reads.
    """
    if data_at_hand() or not (root / DOWNLOADS).exists():
        return
    if subprocess.run([sys.executable, "-c", FETCH], cwd=root).returncode:
        raise BookError(f"{DOWNLOADS} does not run; see the lines above.")


def environment(root: Path) -> dict[str, str]:
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


def read_chapter(root: Path, path: Path) -> Chapter:
    """Read a notebook and what it depends on.

    Raises:
        BookError: a module of the package does not parse.
    """
    notebook = nbformat.read(root / path, as_version=4)
    cells = tuple(
        (cell.source, tuple(cell.metadata.get("tags", [])))
        for cell in notebook.cells
        if cell.cell_type == "code"
    )
    code = "\n".join(python_code(source) for source, _ in cells)
    try:
        modules = reachable_modules(root, code).values()
    except SyntaxError as error:
        raise BookError(f"{path} imports a module that does not parse: {error}") from error
    used = {*modules, *(file for module in modules for file in data_files(module))}
    used.update((root / path.parent / "results").glob(f"{path.stem}*.json"))
    files = {file.relative_to(root).as_posix(): file.read_bytes() for file in used}
    key = digest(
        {
            "cells": cells,
            "files": files,
            "environment": environment(root),
            "data": data_at_hand() if DOWNLOADS in files else None,
            "python": sys.version_info[:2],
            "execution": Path(__file__).read_bytes(),
        }
    )
    return Chapter(path, cells, files, key)


def read_chapters(root: Path) -> list[Chapter]:
    """The chapters, in the order of the table of contents."""
    return [read_chapter(root, path) for path in notebook_paths(root)]


# Running them


@contextlib.contextmanager
def only_build(root: Path) -> Iterator[None]:
    """Wait until no other process builds this book, and hold off the others meanwhile."""
    cache = root / ".cache"
    cache.mkdir(exist_ok=True)
    lock = FileLock(cache / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("Waiting for another build of this book to end ...", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def executed_copies(root: Path) -> Path:
    """The folder of executed notebooks."""
    return root / ".cache" / "executed"


def execute(root: Path) -> None:
    """Execute the chapters whose outputs are not kept yet; keep the outputs of those that succeed.

    Raises:
        BookError: a chapter failed. Its report, with the failing cell, has been printed.
    """
    with only_build(root):
        fetch_data(root)
        kept = executed_copies(root)
        stale = [c for c in read_chapters(root) if not (kept / c.executed_name).exists()]
        if not stale:
            print("Chapters: nothing to execute.")
            return
        running = root / ".cache" / "running"
        shutil.rmtree(running, ignore_errors=True)
        kept.mkdir(parents=True, exist_ok=True)
        print(f"Executing {', '.join(chapter.path.name for chapter in stale)} ...", flush=True)
        failed = []
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            runs = {pool.submit(run, c, running / c.path.stem): c for c in stale}
            for future in concurrent.futures.as_completed(runs):
                chapter, result = runs[future], future.result()
                if result.returncode:
                    failed.append(chapter.path.name)
                    print(result.report, file=sys.stderr)
                else:
                    for old in kept.glob(f"{chapter.path.stem}-{'?' * len(chapter.key)}.ipynb"):
                        old.unlink()
                    result.notebook.replace(kept / chapter.executed_name)
                    print(f"Executed {chapter.path.name} in {result.seconds:.0f} s.", flush=True)
        shutil.rmtree(running, ignore_errors=True)
        if failed:
            raise BookError(f"{' and '.join(failed)} failed; see the cell above.")


@dataclass(frozen=True)
class Run:
    """How executing a chapter ended."""

    notebook: Path
    returncode: int
    report: str
    seconds: float


def run(chapter: Chapter, folder: Path) -> Run:
    """Execute a chapter in `folder`, in copies of the files that it depends on and nothing else."""
    for name, content in chapter.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    notebook = folder / chapter.path
    notebook.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(code_only(chapter), notebook)
    (folder / "pytest.ini").write_text("[pytest]\n")  # not the one for the tests of the book
    options = ["-q", "-p", "no:cacheprovider", "--show-capture=no", "-c", folder / "pytest.ini"]
    options += ["--nbmake", "--overwrite", f"--nbmake-timeout={CELL_TIMEOUT}"]
    start = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *map(str, options), notebook],
        cwd=folder,
        env=kernel_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    # A mistake is to be mended in the file that was copied, not in the copy.
    report = process.stdout.replace(f"{folder}{os.sep}", "")
    return Run(notebook, process.returncode, report, time.perf_counter() - start)


def code_only(chapter: Chapter) -> NotebookNode:
    """The notebook that is executed: only what the chapter's key covers, no prose, no metadata."""
    cells = [
        nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})
        for source, tags in chapter.cells
    ]
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC})


def kernel_environment(folder: Path) -> dict[str, str]:
    """Environment variables of a run: one thread, this Python, nothing of the user's settings."""
    personal = ("PYTHON", "PYTEST_", "JUPYTER_", "IPYTHON", "MPLBACKEND", "ATTN_NOTES_")
    own = {name: value for name, value in os.environ.items() if not name.startswith(personal)}
    return own | {
        CACHE: str(data_folder()),
        "PYTHONPATH": str(folder),  # the copies, before the package that is installed
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8",
        "OMP_NUM_THREADS": "1",  # one thread is reproducible to the bit, and two chapters fit
        "MKL_NUM_THREADS": "1",
        "IPYTHONDIR": str(folder / ".ipython"),
        "JUPYTER_NO_CONFIG": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's python3, not one the user registered
    }
