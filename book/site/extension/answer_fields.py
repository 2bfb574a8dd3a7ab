"""Exercises that are answered in the page, where a notebook has a stub and a cell that checks it.

Each gets a place for an editor, after its stub and its check, which the editor takes the place of;
what the check needs is a file of the lesson's, made by `book.page.code.answers` and fetched on the
first Run. An exercise that needs a notebook says so, and why, where its check would be: what that
said of the stub, it would say to everybody.
"""

import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from book.site.dependencies import all_stems, lesson_of, pages_of
from book.site.extension import cells

ONLY = 'The page cannot try this one: {why}. <a href="{index}">A notebook</a> tries it.'
AWAY = "Where this page comes from a server, with JavaScript, it is answered here."


def setup(app: Sphinx) -> None:
    """Put what checks need beside the engine, and a place below each exercise."""
    app.connect("builder-inited", _write)
    app.connect("doctree-resolved", _add_places)


def _lessons(app: Sphinx) -> list[str]:
    """Those whose chapter the package has, with its checks."""
    return [stem for stem in all_stems(Path(app.srcdir)) if cells.has(stem, "checks")]


def _lesson(app: Sphinx, stem: str) -> tuple[list[Any], Callable[[], str]]:
    from book.page.code import answers  # only where it is asked for

    root = Path(app.srcdir)
    return answers.of_lesson([root / path for path in pages_of(root, stem)], stem)


def _write(app: Sphinx) -> None:
    folder = cells.beside_the_engine(app)
    if folder is None:
        return
    for stem in _lessons(app):
        _, made = _lesson(app, stem)
        (folder / f"{stem}.answers.json").write_text(made(), "utf-8")


def _add_places(app: Sphinx, doctree: nodes.document, page: str) -> None:
    stem = lesson_of(page)
    if app.builder.format != "html" or stem not in set(_lessons(app)):
        return
    sources = cells.sources_of(Path(app.env.doc2path(page)))
    static = cells.way_to_static(app, page)
    found, _ = _lesson(app, stem)
    here = [x for x in found if not x.why_not]
    points = {x.name: x.points for x in here}
    for exercise in found:
        if f"exercise-{exercise.name}-answer" not in sources:
            continue  # on the lesson's other page
        answer = _cell(doctree, page, exercise.stub)
        check = _cell(doctree, page, exercise.line)
        if exercise.why_not:
            index = app.builder.get_relative_uri(page, "index")
            words = ONLY.format(why=escape(exercise.why_not), index=escape(index))
            html = f'<p class="attn-cell-without">{words}</p>'
        elif cells.micropython(app) is None:
            html = f'<p class="attn-cell-without">{cells.WITHOUT}</p>'
        else:
            answer["ids"].append(f"answer-{exercise.name}")
            check["ids"].append(f"check-{exercise.name}")
            title = _title(sources[f"exercise-{exercise.name}"])
            html = place(stem, exercise.name, title, points, static)
        put = nodes.raw(text=html, format="html")
        at = check.parent
        at.insert(at.index(check) + 1, put)
        if f"check-{exercise.name}" not in check["ids"]:
            at.remove(check)


def place(stem: str, name: str, title: str, points: dict[str, int], static: str) -> str:
    """The HTML of a place; `static` is the way to `_static`."""
    return (
        f'<div class="attn-answer-place" data-lesson="{escape(stem)}" data-name="{escape(name)}"'
        f' data-title="{escape(title)}" data-points="{escape(json.dumps(points))}">{AWAY}</div>'
        f"{cells.hosted(static)}"
    )


def _title(question: str) -> str:
    """`Exercise 1: another floor`, as the admonition has it."""
    return question.split("} ", 1)[1].splitlines()[0].rpartition(" (")[0]


def _cell(doctree: nodes.document, page: str, code: str) -> nodes.Element:
    """The container of the cell that has this code."""
    shown = [
        block
        for block in doctree.findall(nodes.literal_block)
        if block.astext().strip() == code.strip()
    ]
    if len(shown) != 1:
        raise ExtensionError(f"{page} shows {code!r} {len(shown)} times")
    at: nodes.Element = shown[0]
    while "cell" not in at.get("classes", []):
        at = at.parent
    return at
