"""Cells of a lesson that a reader may change in the page, where the notebook has plain torch.

A lesson names them in `book.lessons.STEM.editable`. Below each, the page gets a place for an
editor; what it runs on is a file of the lesson's, fetched when it is first asked for. The engine
comes from `book.page.code`, and MicroPython from the folder `micropython` of the sources, where
`book/site/micropython.py` puts it; without it the pages stay as they are, with a sentence.
"""

import importlib
import importlib.util
import json
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from book.site.dependencies import all_stems, lesson_page

FOLDER = "cell"  # in `_static`
AWAY = "This code can be changed and run where the page comes from a server, with JavaScript."
WITHOUT = (
    "This code can be changed where the lesson runs as a notebook; this site was made without the "
    "part that lets the page run it."
)


def setup(app: Sphinx) -> None:
    """Put the engine beside the pages, and a place into each page that has such cells."""
    app.connect("builder-inited", _write)
    app.connect("doctree-resolved", _add_places)


def cells_of(stem: str) -> list[Any]:
    """A lesson's cells, as its chapter names them; none where it names none."""
    if not has(stem, "editable"):
        return []
    found: list[Any] = importlib.import_module(module_of(stem, "editable")).cells()
    return found


def module_of(stem: str, room: str) -> str:
    """A module of a lesson's: `cell` names its cells, `checks` has those of its exercises."""
    return f"book.lessons.{stem}.{room}"


def has(stem: str, room: str) -> bool:
    """Whether a page is a lesson of the package that has such a module."""
    try:
        return importlib.util.find_spec(module_of(stem, room)) is not None
    except ModuleNotFoundError:  # no chapter has this name
        return False


def sources_of(path: Path) -> dict[str, str]:
    """The text of a notebook's cells, by their ids."""
    notebook = json.loads(path.read_text("utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


def place(stem: str, cell: Any, code: str, static: str) -> str:
    """The HTML of a place; `code` is the id of the book's own, `static` the way to `_static`."""
    trains = " data-trains" if cell.training else ""
    return (
        f'<div class="attn-cell-place" data-lesson="{escape(stem)}" data-cell="{escape(cell.name)}"'
        f' data-of="{escape(code)}"{trains}>{AWAY}</div>{hosted(static)}'
    )


def hosted(static: str) -> str:
    """What puts an editor into a place, and how it looks."""
    return (
        f'<link rel="stylesheet" href="{static}/{FOLDER}/editor.css">'
        f'<script defer src="{static}/{FOLDER}/host.js"></script>'
    )


def _lessons(app: Sphinx) -> Iterator[str]:
    for stem in all_stems(Path(app.srcdir)):
        if has(stem, "editable"):
            yield stem


def micropython(app: Sphinx) -> Path | None:
    """The folder that lets a page run Python, where this site is made with it."""
    folder = Path(app.srcdir) / "micropython"
    return folder if folder.is_dir() else None


def beside_the_engine(app: Sphinx) -> Path | None:
    """The folder for what pages fetch to run code; None where no page of this build runs any."""
    if app.builder.format != "html" or micropython(app) is None:
        return None
    folder = Path(app.outdir) / "_static" / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def way_to_static(app: Sphinx, page: str) -> str:
    """How a page names the folder `_static`."""
    return app.builder.get_relative_uri(page, "_static").removesuffix(".html").rstrip("/")


def _write(app: Sphinx) -> None:
    source, folder = micropython(app), beside_the_engine(app)
    if source is None or folder is None:
        return
    from book.page.code import engine  # only where it is asked for

    for name, text in engine.files().items():
        (folder / name).write_text(text, "utf-8")
    for path in source.iterdir():
        shutil.copyfile(path, folder / path.name)
    for stem in _lessons(app):
        sources = sources_of(Path(app.srcdir) / lesson_page(stem))
        told = {
            cell.name: cell.told(sources[cell.of], sources[cell.needs] if cell.needs else "")
            for cell in cells_of(stem)
        }
        text = json.dumps(told, separators=(",", ":"))
        (folder / f"{stem}.json").write_text(text, "utf-8")


def _add_places(app: Sphinx, doctree: nodes.document, page: str) -> None:
    stem = PurePosixPath(page).name
    if app.builder.format != "html" or stem not in set(_lessons(app)):
        return
    sources = sources_of(Path(app.env.doc2path(page)))
    static = way_to_static(app, page)
    for cell in cells_of(stem):
        shown = [
            block.parent
            for block in doctree.findall(nodes.literal_block)
            if block.astext().strip() == sources.get(cell.of, "").strip()
        ]
        if len(shown) != 1:
            raise ExtensionError(f"{page} shows the code of the cell {cell.of} {len(shown)} times")
        if micropython(app) is None:
            html = f'<p class="attn-cell-without">{WITHOUT}</p>'
        else:
            shown[0]["ids"].append(f"code-{cell.name}")
            html = place(stem, cell, f"code-{cell.name}", static)
        at = shown[0].parent
        at.insert(at.index(shown[0]) + 1, nodes.raw(text=html, format="html"))
