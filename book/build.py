"""Make the book: execute its chapters, render the site, serve it.

    python book/build.py book           execute what is stale, then render
    python book/build.py execute        only execute
    python book/build.py site           only render
    python book/build.py editions       the notebooks for other places: see editions.py
    python book/build.py decks          slides of each lesson: see decks.py
    python book/build.py print          the whole book as one PDF: see printing.py
    python book/build.py course FOLDER  a course in a folder of a teacher's own: see course.py
    python book/build.py grade FOLDER   what was handed in for a week of it: see grading.py
    python book/build.py clean          remove what was made, and nothing that somebody has begun
    python book/build.py page LESSON    look at one lesson, rendered anew on each change of a file
    python book/build.py serve          look at the site on http://localhost:8000
    python book/build.py strip          remove the outputs from the notebooks and fold them again,
                                        before a commit

The Makefile calls these; where there is no make, call them yourself. `execution.py` says when a
chapter is executed. The site is rendered from a copy of the sources, in which each notebook has the
outputs of its executed copy.
"""

import argparse
import contextlib
import copy
import functools
import http.server
import inspect
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from book.course import course, grading, sandbox
from book.course.homework import Week
from book.editions import editions, manifest, version
from book.paper import deck_pages, decks, printing
from book.site import dependencies, execution, files, folding, micropython, running
from book.site.dependencies import BookError, Chapter

ROOT = Path(__file__).resolve().parents[1]
SITE = ("html", ".doctrees")  # in `_build`: what Jupyter Book writes there
STAMP = "made_of"
ASIDE = ("build.py", "course", "editions", "experiments", "paper")
"""Of `book` what no page reads: nothing of the site, of lessons and below imports these."""
DECKS, PRINT, PAGE = "decks", "print", "page"  # in `_build`
COMMANDS = (
    *("book", "execute", "site", "editions", "decks", "print", "course", "grade"),
    *("page", "clean", "serve", "strip"),
)
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"


# Outputs


def with_outputs(root: Path, chapter: Chapter) -> NotebookNode:
    """Today's notebook, prose and all, with the outputs of its executed copy.

    Raises:
        BookError: the chapter has not been executed as it stands.
    """
    executed = execution.executed_copy(root, chapter)
    if executed is None:
        raise BookError(f"{chapter.path} has changed since it was executed: execute it first.")
    notebook = copy.deepcopy(chapter.notebook)
    sources = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, done in zip(sources, executed.cells, strict=True):
        cell.outputs = done.outputs
        cell.execution_count = done.execution_count
    for name in ("widgets", "language_info"):
        if name in executed.metadata:
            notebook.metadata[name] = executed.metadata[name]
    return notebook


# The site


def site_sources(
    root: Path, only: Collection[Path] | None = None, made_of: str = ""
) -> dict[str, bytes]:
    """Everything that the site is rendered from, by path from the root.

    The package's version is the one that tells commits from another: it stands below each page.

    Args:
        root: of the project.
        only: the notebooks that have their outputs; the others stay as they were written.
        made_of: a version, if not today's.
    """
    chapters = dependencies.read_chapters(root)
    notebooks = {c.path: c for c in chapters if only is None or c.path in only}
    sources = {}
    for path in (root / "_config.yml", root / "_toc.yml", *visible_files(root)):
        name = path.relative_to(root)
        if name in notebooks:
            content = nbformat.writes(with_outputs(root, notebooks[name])).encode()
        else:
            content = path.read_bytes()
        sources[name.as_posix()] = content
    for first in ("attn_notes/__init__.py", "book/__init__.py"):
        sources[first] = version.stamped(sources[first], made_of or version.version(root))
    return sources | micropython.files(root)


def visible_files(root: Path) -> list[Path]:
    """The files of the book, and of the package that its pages quote and document.

    Neither what makes courses, decks and editions, nor a lesson's questions, slides and methods: a
    site is not rendered anew for what it does not show.
    """

    def visible(path: Path) -> bool:
        parts = path.relative_to(root).parts
        if parts[1] in ASIDE or (parts[1] == "lessons" and path.suffix == ".yml"):
            return False
        return not any(part[0] == "." or part in ("__pycache__", "tests") for part in parts)

    paths = [path for folder in ("book", "attn_notes") for path in (root / folder).rglob("*")]
    return sorted(path for path in paths if path.is_file() and visible(path))


def site(root: Path) -> None:
    """Render the site into `_build/html`, unless it is there and nothing has changed.

    All of it, every time: Sphinx can render only the pages that changed, but then a new title is
    missing from the contents beside the others, and a page that was removed stays.

    Raises:
        BookError: Sphinx warned or failed. What it said has been printed.
        OSError: something could not be written, as on a full disk.
    """
    with execution.only_build(root) as folder:
        sources = site_sources(root)
        stamp, html = root / "_build" / STAMP, root / "_build" / "html"
        if stamp.is_file() and stamp.read_bytes() == made_of(root, sources, html):
            print("Site: nothing has changed.")
            return
        print("Rendering the site ...", flush=True)
        files.remove(stamp)  # first: until the end nothing says that what is there is whole
        for name in SITE:
            files.empty(root / "_build" / name)
        write_sources(folder, sources)
        render(folder, root)
        files.write_whole(stamp, made_of(root, sources, html))


def page(root: Path, stem: str) -> Path:
    """Render one lesson with recorded runs into `_build/page`; returns its page.

    The other lessons are there without outputs, so that only this one is executed. What Sphinx has
    read before is kept there, so that a changed sentence takes seconds.

    Raises:
        BookError: its notebook failed, or Sphinx warned.
    """
    pages = dependencies.pages_of(root, stem)
    os.environ["FAST"] = os.environ.get("FAST") or "1"
    execution.execute(root, pages)
    with execution.only_build(root):
        sources = site_sources(root, pages)
        # Its widget needs the outputs of its lesson.
        first = sources["book/index.md"].decode()
        sources["book/index.md"] = re.sub(
            r"```\{live-widget\}.*?```", "", first, flags=re.S
        ).encode()
        folder = root / "_build" / PAGE
        write_sources(folder, sources)
        render(folder, folder)
    return folder / "_build" / "html" / pages[0].with_suffix(".html")


def course_site(root: Path, new: Path, old: Path, changed: course.Changed) -> bool:
    """Render the site for the students of a course into `new`, unless `old` is made of the same.

    It is made of what `site_sources` gives, as the course has it, with the versions of the packages
    and of what is installed, and of how pages are run and rendered. Nothing on it leads to the
    notebooks of the repository, which have solutions.

    Returns:
        Whether it did.

    Raises:
        BookError: Sphinx warned or failed. What it said has been printed.
    """
    with execution.only_build(root) as folder:
        sources = changed(site_sources(root, made_of=version.version(root, pages=False)))
        # Not which pages are there: that a teacher has changed some, the manifest of a course says.
        made = made_of(root, sources, folder / "none")
        if (old / STAMP).is_file() and (old / STAMP).read_bytes() == made:
            return False
        print("Rendering the site for students ...", flush=True)
        write_sources(folder, sources)
        render(folder, folder / "out", {"SITE_URL": "", "SITE_REPOSITORY": ""})
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(folder / "out" / "_build" / "html", new)
        (new / STAMP).write_bytes(made)
        return True


def lessons(root: Path) -> dict[str, NotebookNode]:
    """The lessons that have slides, as they were executed, by their stems, in their order."""
    stems = dependencies.stems_with(root, "deck.yml")
    chapters = {chapter.path: chapter for chapter in dependencies.read_chapters(root)}
    paths = {stem: dependencies.lesson_page(stem) for stem in stems}
    return {stem: with_outputs(root, chapters[path]) for stem, path in paths.items()}


def slides(root: Path) -> Path:
    """Write the decks of all lessons into `_build/decks`, where nobody works; returns the folder.

    Raises:
        BookError: a deck asks for what there is not, or what it needs cannot be had.
    """
    folder = root / "_build" / DECKS
    made = version.told(version.version(root))
    files.empty(folder)
    deck_pages.write(root, root / "_build" / "html", lessons(root), folder, made, decks.SEED)
    printing.decks(folder, folder)
    return folder


def course_slides(
    root: Path, site: Path, new: Path, old: Path, seed: int, weeks: Sequence[Week]
) -> None:
    """Write a course's decks; what cannot be had is said, and the course goes on without."""
    if not (root / decks.DECKS).is_dir():
        return
    try:
        made, all_ = version.told(version.version(root, pages=False)), lessons(root)
        taught = {w.stem: course.as_chosen(all_[w.stem], w) for w in weeks if w.stem in all_}
        deck_pages.write(root, site, taught, new, made, seed)
        printing.decks(new, old)
    except BookError as error:
        print(f"The course has no slides. {error}")
        files.remove(new)


def paper(root: Path) -> Path:
    """Print the book into `_build/print`, where nobody works; returns the PDF.

    Raises:
        BookError: there is no Chromium to print with.
    """
    folder = root / "_build" / PRINT
    files.empty(folder)
    made = version.told(version.version(root))
    return printing.book(root, root / "_build" / "html", folder, made)


def write_sources(folder: Path, sources: dict[str, bytes]) -> None:
    """Put the sources of a site where `render` finds them, and leave what is there already."""
    there = folder / "site"
    for path in [path for path in there.rglob("*") if path.is_file()]:
        if path.relative_to(there).as_posix() not in sources:
            path.unlink()
    for name, content in sources.items():
        path = there / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)


def made_of(root: Path, sources: dict[str, bytes], html: Path) -> bytes:
    """A hash of what a site is made of and of which pages are there, each as long as it is."""
    pages = {
        path.relative_to(html).as_posix(): path.stat().st_size
        for path in html.rglob("*")
        if path.is_file()
    }
    renderer = [
        inspect.getsource(render).encode(),
        dependencies.how_it_runs(),
        *map(os.environ.get, ("SITE_URL", "SITE_REPOSITORY")),
    ]
    versions = dependencies.installed_versions(root)
    return dependencies.digest([sources, versions, renderer, pages]).encode()


def render(folder: Path, output: Path, besides: Mapping[str, str] | None = None) -> None:
    """Run Jupyter Book on the sources in `folder`/site; print only what it has to complain about.

    Args:
        folder: holds the sources, and what it writes besides.
        output: in whose `_build/html` the site will be.
        besides: variables of its environment.

    Raises:
        BookError: it did.
        OSError: the disk is full.
    """
    sources, log = folder / "site", folder / "log.txt"
    options = ["build", "-W", "--keep-going", "-q", "--path-output", str(output), str(sources)]
    # The package's pages are of this copy too.
    env = running.environment(package=sources, home=folder) | dict(besides or {})
    with running.start(JUPYTER_BOOK, options, folder, env, log, quiet=True) as process:
        try:
            process.wait()
        finally:
            process.kill()
    if process.returncode:
        files.require_room(output)
    said = log.read_text("utf-8", errors="replace")
    # A problem is to be mended in the source, not in the copy that Sphinx saw.
    print(said.replace(f"{sources}{os.sep}", ""), end="", file=sys.stderr)
    if process.returncode:
        raise BookError("The site has problems; see the lines above.")


# Commands


def clean(root: Path) -> None:
    """Remove `.cache` and `_build`, which `book` and `editions` make again.

    Raises:
        BookError: in `_build` is something that the build did not write. Nothing has been removed.
    """
    made = root / "_build"
    known = {*SITE, STAMP, DECKS, PRINT, PAGE, editions.FOLDER.name, *manifest.LITTER}
    there = sorted(made.iterdir()) if made.exists() else []
    others = [f"{path.name}{'/' * path.is_dir()}" for path in there if path.name not in known]
    manifest.refuse(others, made, "Move it to a place of your own.")
    folder = root / editions.FOLDER
    manifest.refuse(manifest.begun(folder), folder, "Move the folder to a place of your own.")
    for path in (root / ".cache", made):
        files.remove(path)


def serve(root: Path, port: int) -> None:
    """Serve the site on this machine until interrupted.

    Raises:
        BookError: there is no site yet, or the port is taken.
    """
    folder = root / "_build" / "html"
    if not folder.exists():
        raise BookError("There is no site yet. Make it first.")
    with server(folder, port) as serving:
        print(f"The book is at http://localhost:{port} (Ctrl-C ends it).", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            serving.serve_forever()


def watch(root: Path, stem: str, port: int) -> None:
    """Serve one lesson until interrupted, rendered anew whenever a file of the book has changed.

    Raises:
        BookError: there is no such lesson, or the port is taken.
    """
    stems = dependencies.all_stems(root)
    if stem not in stems:
        raise BookError(f"Which lesson? LESSON={' or '.join(stems)}")
    folder = root / "_build" / PAGE / "_build" / "html"
    with server(folder, port) as serving, contextlib.suppress(KeyboardInterrupt):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        seen: object = None
        while True:
            if (now := [path.stat().st_mtime_ns for path in visible_files(root)]) != seen:
                seen = now
                try:
                    at = page(root, stem).relative_to(folder).as_posix()
                    print(f"The lesson is at http://localhost:{port}/{at}", flush=True)
                except BookError as error:
                    print(error, file=sys.stderr)
            time.sleep(0.5)


def server(folder: Path, port: int) -> "Server":
    """What serves a folder on this machine.

    Raises:
        BookError: the port is taken.
    """
    try:
        return Server(("127.0.0.1", port), functools.partial(Handler, directory=folder))
    except OSError as error:
        raise BookError(f"Port {port} cannot be had ({error.strerror}): name another.") from error


class Server(http.server.ThreadingHTTPServer):
    """Says nothing when a browser goes away before it has all that it asked for."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, unless it is that."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files, never from a browser's cache, and says nothing about each one."""

    # Windows may have its own idea of what a .js file is, and browsers refuse that.
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript"
    }

    def end_headers(self) -> None:
        """Add one header to the usual ones."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Drop it."""


def strip(root: Path) -> None:
    """Remove from the notebooks what running them added, so that only what was written is kept.

    Cells that only call the package are folded, and those that a reader unfolded: folding.py.

    Raises:
        BookError: something under a notebook's name is not a notebook.
        OSError: one cannot be written, as on a full disk. It is as it was.
    """
    for path in (root / "book").rglob("*.ipynb"):
        if ".ipynb_checkpoints" in path.parts:
            continue
        try:
            notebook = dependencies.read_notebook(path)
        except ValueError as error:
            raise BookError(f"{path.relative_to(root)} is not a notebook.") from error
        for cell in notebook.cells:
            for name in ("execution", "collapsed", "scrolled"):
                cell.metadata.pop(name, None)
            if cell.cell_type == "code":
                cell.outputs = []
                cell.execution_count = None
        folding.fold(notebook)
        notebook.metadata.pop("widgets", None)
        notebook.metadata["kernelspec"] = running.KERNELSPEC
        notebook.metadata["language_info"] = {"name": "python"}
        stripped = f"{nbformat.writes(notebook)}\n".encode()
        if stripped != path.read_bytes():
            files.write_whole(path, stripped)
            print(f"Stripped {path.relative_to(root)}.")


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of a course that a command names."""
    said = {name: getattr(options, name) for name in ("seed", "start", "day")}
    said["hints"] = {"yes": True, "no": False}.get(options.hints)
    return {name: value for name, value in said.items() if value is not None}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("folder", type=Path, nargs="?", help="a course's; of `page` the lesson")
    parser.add_argument("--port", type=int, default=8000, help="where `serve` listens")
    parser.add_argument("--into", type=Path, help="the folder for `editions`")
    parser.add_argument("--seed", type=int, help="of a course: draws numbers and hidden cases")
    parser.add_argument("--start", help="of a course: its first day, as 2027-02-01")
    parser.add_argument("--day", help="of a course: the weekday of its session")
    parser.add_argument("--hints", choices=["yes", "no"], help="of a course: for students or not")
    parser.add_argument("--week", type=int, help="which `grade` is to grade")
    parser.add_argument("--in", type=Path, dest="source", help="what was handed in for it")
    parser.add_argument("--table", type=Path, help="of a platform, which `grade` is to fill")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        if options.command in ("course", "grade") and options.folder is None:
            raise BookError("Which folder is the course's? Name one of your own.")
        if options.command == "page":
            watch(options.root, str(options.folder or ""), options.port)
        if options.command in ("book", "execute", "decks", "print", "course"):
            execution.execute(options.root)
        if options.command in ("book", "site", "decks", "print"):
            site(options.root)
        if options.command in ("book", "site"):
            print("The book is in _build/html/index.html. To read it: make serve")
        if options.command == "editions":
            for path in editions.editions(options.root, options.into):
                print(path)
        if options.command == "decks":
            print(f"The slides are in {slides(options.root).relative_to(options.root)}")
        if options.command == "print":
            print(f"The book is in {paper(options.root).relative_to(options.root)}")
        if options.command == "course":
            site_of = functools.partial(course_site, options.root)
            slides_of = functools.partial(course_slides, options.root)
            course.make(options.root, options.folder, chosen(options), site_of, slides_of)
        if options.command == "grade":
            if options.week is None or options.source is None:
                raise BookError("Which week, and where is what was handed in? WEEK=3 IN=the.zip")
            given = [options.folder.resolve(), options.source.resolve()]
            there = ["grade", str(given[0]), f"--week={options.week}", f"--in={given[1]}"]
            if options.table:
                given.append(options.table.resolve())
                there.append(f"--table={given[2]}")
            code = sandbox.elsewhere(options.root, there, given)
            if code is not None:
                return code
            grading.grade(options.folder, options.week, options.source, options.table)
        if options.command == "clean":
            clean(options.root)
        if options.command == "serve":
            serve(options.root, options.port)
        if options.command == "strip":
            strip(options.root)
    except BookError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(f"The build stopped: {error.strerror or error}{where}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
