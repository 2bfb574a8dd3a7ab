"""Execute the chapters, each once for everything that its outputs depend on.

A chapter's outputs are kept in `.cache/executed/` under its key, which `dependencies.py` makes.
While the key stays the same nothing runs. `running.py` says how a chapter is run.
"""

import contextlib
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Generator, Iterator
from pathlib import Path

import nbformat
from filelock import FileLock, Timeout
from nbformat import NotebookNode

from book.site import files
from book.site.dependencies import (
    DOWNLOADS,
    BookError,
    Chapter,
    data_at_hand,
    read_chapters,
    read_notebook,
)
from book.site.running import Run, environment

AT_ONCE = 2  # chapters running side by side, each on one thread
SECONDS = "seconds_to_execute"  # a notebook's metadata: about how long it takes
FETCH = """
import warnings
from attn_notes.tasks.text import tiny_shakespeare

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tiny_shakespeare()
for warning in caught:
    print(warning.message)
"""


@contextlib.contextmanager
def only_build(root: Path) -> Iterator[Path]:
    """Hold off every other build of this book; yields a folder for this one, removed at the end."""
    cache = root / ".cache"
    cache.mkdir(exist_ok=True)
    lock = FileLock(cache / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("Waiting for another build of this book to end ...", flush=True)
        lock.acquire()
    try:
        # What a build that was killed had started may write for another second. So what it left is
        # removed as far as it can be, and this one's folder has a name of its own.
        running = cache / "running"
        shutil.rmtree(running, ignore_errors=True)
        running.mkdir(exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=running))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        lock.release()


def fetch_data(root: Path, home: Path) -> None:
    """Download what chapters read, before their keys are made: without it they use a fallback.

    Raises:
        BookError: the module that downloads does not run. Offline it does, and says what it reads.
    """
    if data_at_hand() or not (root / DOWNLOADS).exists():
        return
    command = [sys.executable, "-c", FETCH]
    if subprocess.run(command, cwd=root, env=environment(root, home)).returncode:
        raise BookError(f"{DOWNLOADS} does not run; see the lines above.")


# What is kept


def executed_copies(root: Path) -> Path:
    """The folder of executed notebooks."""
    return root / ".cache" / "executed"


def executed_copy(root: Path, chapter: Chapter) -> NotebookNode | None:
    """The chapter as it was executed; None if it has not been, or something else is kept there."""
    try:
        executed = read_notebook(executed_copies(root) / chapter.executed_name)
    except (OSError, ValueError):
        return None
    sources = [source for source, _ in chapter.cells]
    return executed if [cell.source for cell in executed.cells] == sources else None


def all_copies(root: Path, chapter: Chapter) -> list[Path]:
    """What is kept of a chapter, under whatever key."""
    return list(executed_copies(root).glob(f"{chapter.name}-{'?' * len(chapter.key)}.ipynb"))


def keep(root: Path, run: Run) -> None:
    """Keep what a run made, with the time that it took, in place of what was kept before."""
    executed = read_notebook(run.notebook)
    executed.metadata[SECONDS] = run.seconds
    for old in all_copies(root, run.chapter):
        files.remove(old)
    copy = executed_copies(root) / run.chapter.executed_name
    files.write_whole(copy, nbformat.writes(executed).encode())


# Running


def seconds_it_says(notebook: NotebookNode) -> float:
    """How long a notebook says that it takes; infinity if it does not, which starts it first."""
    seconds = notebook.metadata.get(SECONDS)
    return seconds if isinstance(seconds, int | float) else math.inf


def expected_seconds(root: Path, chapter: Chapter) -> float:
    """How long a chapter will take: as long as the last time, or else as its notebook says."""
    for copy in all_copies(root, chapter):
        with contextlib.suppress(OSError, ValueError):
            return seconds_it_says(read_notebook(copy))
    return seconds_it_says(chapter.notebook)


def longest_first(root: Path, chapters: list[Chapter]) -> list[Chapter]:
    """Chapters in the order to start them in, so that none runs alone at the end for long."""
    return sorted(chapters, key=lambda chapter: -expected_seconds(root, chapter))


def execute(root: Path, only: Collection[Path] | None = None) -> None:
    """Execute the chapters whose outputs are not kept yet; keep the outputs of those that succeed.

    Args:
        root: of the project.
        only: these of its notebooks, or all.

    Raises:
        BookError: a chapter failed. Its report, with the failing cell, has been printed.
        OSError: something could not be written, as on a full disk.
    """
    with only_build(root) as folder:
        fetch_data(root, folder)
        chapters = [c for c in read_chapters(root) if only is None or c.path in only]
        stale = [chapter for chapter in chapters if executed_copy(root, chapter) is None]
        if not stale:
            print("Chapters: nothing to execute.")
            return
        executed_copies(root).mkdir(parents=True, exist_ok=True)
        print(f"Executing {', '.join(chapter.path.name for chapter in stale)} ...", flush=True)
        failed = []
        with contextlib.closing(ended_runs(longest_first(root, stale), folder)) as runs:
            for run in runs:
                name = run.chapter.path.name
                if run.returncode:
                    files.require_room(folder)
                    failed.append(name)
                    print(run.report, file=sys.stderr)
                else:
                    keep(root, run)
                    print(f"Executed {name} in {run.seconds:.0f} s.", flush=True)
        if failed:
            raise BookError(f"{' and '.join(failed)} failed; see the cell above.")


def ended_runs(chapters: list[Chapter], folder: Path) -> Generator[Run]:
    """Run chapters, started in this order, a few at a time; yields each run when it has ended.

    None of them outlives the iterator.
    """
    waiting = list(chapters)
    running: list[Run] = []
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                chapter = waiting.pop(0)
                running.append(Run(chapter, folder / chapter.name))
            time.sleep(0.1)
            for run in [run for run in running if run.returncode is not None]:
                yield run
                running.remove(run)
                run.close()
    finally:
        for run in running:
            run.close()
