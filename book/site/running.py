"""How a chapter is run: what its kernel is given and what it is kept from.

This file is part of every chapter's key: a change here executes all of them again. It has only what
outputs may depend on, and three things that keep them from being stale or personal:

- A chapter runs in a folder that holds copies of just the files its key covers. If it needs
  another one it fails, instead of depending on a file that nobody watches.
- The copies are the very bytes that were hashed, so that editing during a run does no harm.
- The folder is its home as well, so that nobody's settings are there.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from book.site.dependencies import CACHE, Chapter, data_folder
from book.site.settings import impersonal

CELL_TIMEOUT = 1800  # seconds; only a cell that hangs takes so long
KERNELSPEC = {"name": "python3", "display_name": "Python 3", "language": "python"}

# What starts here ends with this process, however that ends: the system closes its side of the
# pipe. A kernel looks every second whether what started it is still there.
GUARD = """
import os, sys, threading

def end_with(pipe):
    os.read(pipe, 1)
    os._exit(1)

threading.Thread(target=end_with, args=(os.dup(0),), daemon=True).start()
"""
PYTEST = "import pytest; sys.exit(pytest.main())"


def start(
    code: str, arguments: list[str], cwd: Path, env: dict[str, str], log: Path, quiet: bool = False
) -> subprocess.Popen[bytes]:
    """Start a Python program beside this one; what it says goes to `log`.

    If `quiet`, only what it complains about (stderr).
    """
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-c", GUARD + code, *arguments],
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if quiet else file,
            stderr=file,
        )


class Run:
    """One chapter being executed in `folder`, in copies of what it depends on and nothing else."""

    def __init__(self, chapter: Chapter, folder: Path) -> None:
        for name, content in chapter.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        self.chapter = chapter
        self.folder = folder
        self.notebook = folder / chapter.path
        self.notebook.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(code_only(chapter), self.notebook)
        settings = folder / "pytest.ini"
        settings.write_text("[pytest]\n")  # not the one for the tests of the book
        options = ["-q", "-p", "no:cacheprovider", "--show-capture=no", "-c", str(settings)]
        options += ["-p", "no:attn_notes_doubt"]  # the package's own, of which no chapter has all
        options += ["--nbmake", "--overwrite", f"--nbmake-timeout={CELL_TIMEOUT}"]
        arguments = [*options, str(self.notebook)]
        self._start = time.monotonic()
        self._process = start(
            PYTEST, arguments, folder, environment(folder, folder), folder / "log.txt"
        )

    @property
    def returncode(self) -> int | None:
        """How it ended, 0 if all went well; None if it still runs."""
        return self._process.poll()

    @property
    def seconds(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self._start

    @property
    def report(self) -> str:
        """What it said."""
        said = (self.folder / "log.txt").read_text("utf-8", errors="replace")
        # A mistake is to be mended in the file that was copied, not in the copy.
        return said.replace(f"{self.folder}{os.sep}", "")

    def close(self) -> None:
        """End it, if it still runs."""
        with self._process:
            self._process.kill()


def code_only(chapter: Chapter) -> NotebookNode:
    """The notebook that is executed: only what the chapter's key covers, no prose, no metadata."""
    cells = [
        nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})
        for source, tags in chapter.cells
    ]
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNELSPEC})


def environment(package: Path, home: Path) -> dict[str, str]:
    """Environment variables of a program of the build: one thread, and nothing of the user's.

    `package` is the folder whose copy of the package it imports, `home` one that stands in for the
    user's own, with nobody's settings in it.
    """
    besides = ("PYTHON", "PYTEST_", "XDG_", "ATTN_NOTES_")
    return impersonal(home / ".settings", besides) | {
        CACHE: str(data_folder()),
        "PYTHONPATH": str(package),  # before the one that is installed
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUTF8": "1",
        "MKL_NUM_THREADS": "1",
        "HOME": str(home),  # Windows has another name for it, so what looks there is told as well
    }
