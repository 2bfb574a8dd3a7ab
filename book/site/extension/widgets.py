"""Widgets that live on a static page: the host script, a place for each, and a directive.

myst-nb writes a chapter's widgets as ipywidgets does: one script element with the state of all
models, one for each view. `book/page/_host.js` mounts them. Here every view gets a place
as high as its widget opens, so that the page does not jump, what is long in its state, programs and
weights, goes into a file beside the page, and

    ```{live-widget} deep_qkv
    :tag: sorter
    :set: {"seed": 3}
    ```

puts a lesson's own widget, the first, or that of its first cell with a tag, on another page as
well, with the weights that the lesson has trained. `set` overrides traits on this page. Fields that
a lesson asks its reader to fill in are nobody's own.
"""

import copy
import functools
import hashlib
import importlib
import json
import operator
import os
import re
from collections.abc import Iterator
from importlib.resources import as_file
from importlib.resources import files as resources
from pathlib import Path
from shutil import copyfile
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import OptionSpec

from book.page.bundle import LESSONS
from book.site.dependencies import lesson_of, lesson_page
from book.site.extension.cells import way_to_static

HOST = "widget-host.js"
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
BESIDE = "widgets"  # in `_static`
LONG = 500  # characters
NO_SCRIPT = "<noscript><p>This is a live model. It needs JavaScript, which is off.</p></noscript>"


def setup(app: Sphinx) -> None:
    """Register the directive and serve the host script."""
    app.add_directive("live-widget", LiveWidget)
    app.connect("builder-inited", _copy_host)
    app.connect("doctree-resolved", _reserve_places)


class LiveWidget(SphinxDirective):
    """Place the widget of a chapter on this page; the argument is the chapter's stem."""

    required_arguments = 1
    option_spec: OptionSpec = {"tag": directives.unchanged_required, "set": json.loads}

    def run(self) -> list[nodes.Node]:
        """The widget's state and view, as myst-nb writes them on the chapter's own page."""
        name = lesson_page(self.arguments[0]).as_posix()
        path = Path(self.env.srcdir, name)
        if not path.is_file():
            raise self.error(f"there is no notebook {name} to take a widget from")
        self.env.note_dependency(name)
        try:
            notebook = json.loads(path.read_text("utf-8"))
            model, state = first_widget(notebook, self.arguments[0], self.options.get("tag"))
        except LookupError as error:
            raise self.error(f"{name}: {error.args[0]}") from error
        state["state"][model]["state"] |= self.options.get("set", {})
        NbMetadataCollector.add_js_file(  # as myst-nb does for the chapter's page
            self.env, self.env.docname, "widget_host", HOST, {}
        )
        view = {"version_major": 2, "version_minor": 0, "model_id": model}
        place = _place(_script(VIEW, view), self.arguments[0], state["state"][model])
        return [nodes.raw(text=html, format="html") for html in (_script(STATE, state), place)]


def first_widget(
    notebook: dict[str, Any], stem: str, tag: str | None = None
) -> tuple[str, dict[str, Any]]:
    """The model id of the first view of a lesson's own widget, and the state reduced to that model.

    Args:
        notebook: an executed notebook, read as JSON.
        stem: of the lesson.
        tag: look only at cells with this tag.

    Raises:
        LookupError: no such view, or its state was not saved.
    """
    saved = notebook["metadata"].get("widgets", {}).get(STATE, {"state": {}})
    views = [
        output["data"][VIEW]["model_id"]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and (tag is None or tag in cell["metadata"].get("tags", []))
        for output in cell["outputs"]
        if VIEW in output.get("data", {})
    ]
    if not views:
        raise LookupError("no output is a widget" + (f" in a cell tagged {tag!r}" if tag else ""))
    own = [view for view in views if _module(saved["state"].get(view)) in (stem, "")]
    if not own:
        raise LookupError(f"no output is a widget of {stem}")
    if own[0] not in saved["state"]:
        raise LookupError("the state of its widget was not saved with it")
    return own[0], {**saved, "state": {own[0]: saved["state"][own[0]]}}


def _module(model: dict[str, Any] | None) -> str:
    """What a saved model is of, if it is known: a lesson, or a module of `book.page`."""
    name: str = (model or {"state": {}})["state"].get("_anywidget_id", "")
    return re.sub(r"^book\.(?:page|lessons)\.(\w+)\..*", r"\1", name)


def _opens(module: str) -> Any:
    """How high the widgets of a module are as they open."""
    of = f"lessons.{module}.widget" if (LESSONS / module).is_dir() else f"page.{module}"
    return importlib.import_module(f"book.{of}").OPENS


def _inline(content: Any) -> str:
    # "</script>" inside the JSON would end the element; "<\/" means the same to a JSON parser.
    return json.dumps(content).replace("</", r"<\/")


def _script(kind: str, content: Any) -> str:
    return f'<script type="{kind}">{_inline(content)}</script>'


def _place(view: str, page: str, model: dict[str, Any] | None) -> str:
    stem, module = lesson_of(page) or page.rpartition("/")[2], _module(model)
    heights = _opens(module or stem)
    if isinstance(heights, dict):  # by which picture, view or mode it is
        state = (model or {"state": {}})["state"]
        named = [state[name] for name in ("picture", "view", "mode") if name in state]
        heights = heights[[*named, *heights][0]]
    wide, usual, narrow = heights
    # book.css keeps as much free
    style = f"--opens-wide: {wide}rem; --opens: {usual}rem; --opens-narrow: {narrow}rem"
    site = os.environ.get("SITE_URL", "").rstrip("/")
    at = f"{site}/{page}.html".lstrip("/")  # where it lives, for paper
    kinds = f"live-widget {stem} {module}"
    return f'<div class="{kinds}" data-at="{at}" style="{style}">{view}{NO_SCRIPT}</div>'


def _copy_host(app: Sphinx) -> None:
    static = Path(app.outdir) / "_static"
    static.mkdir(parents=True, exist_ok=True)
    with as_file(resources("book.page") / "_host.js") as source:
        copyfile(source, static / HOST)


def apart(saved: dict[str, Any], way: str = "") -> tuple[dict[str, Any], dict[str, str]]:
    """A page's saved models without their long texts, and files of those, by their names.

    A page is read before its models are: each kind of widget has one file, loaded when the first
    of that kind is near, in which a text of several places stands once. A model says `beside` which
    file that is and, for each of its texts, the number it has there and where it belongs. What a
    page read from a disk can load is a script, and it gives its texts to its own element.

    Args:
        saved: what the page has saved.
        way: how the page names the folder of the files.
    """
    state = copy.deepcopy(saved["state"])
    kinds: dict[str, list[dict[str, Any]]] = {}
    for entry in state.values():
        kinds.setdefault(_module(entry), []).append(entry)
    files = {}
    for kind, entries in kinds.items():
        found = [[*_long(entry)] for entry in entries]
        texts = sorted({text for each in found for text, _ in each})
        content = f"document.currentScript.texts = {json.dumps(texts)};\n"
        name = f"{kind}-{hashlib.sha256(content.encode()).hexdigest()[:12]}.js"
        for entry, each in zip(entries, found, strict=True):
            if each:
                files[name] = content
                at = [(texts.index(text), path) for text, path in each]
                entry["beside"] = {"file": way + name, "at": at}
            for _, (*ahead, last) in each:
                functools.reduce(operator.getitem, ahead, entry)[last] = None
    return {**saved, "state": state}, files


def _long(node: Any, *path: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The long texts in a saved model, each with the way to it."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from _long(value, *path, key)
    elif isinstance(node, str) and len(node) >= LONG:
        yield node, path


def _reserve_places(app: Sphinx, doctree: nodes.document, page: str) -> None:
    models: dict[str, Any] = {}
    begun = ""

    def written(state: dict[str, Any]) -> dict[str, Any]:
        kept, files = apart(state, f"{way_to_static(app, page)}/{BESIDE}/")
        for name, text in files.items():
            path = Path(app.outdir, "_static", BESIDE, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        models.update(kept["state"])
        return kept

    for _, script in NbMetadataCollector.get_js_files(app.env, page).values():
        if script.get("type") == STATE:
            script["body"] = _inline(written(json.loads(script["body"])))
    for raw in list(doctree.findall(nodes.raw)):
        text = raw.astext()
        kind = re.match(r'<script type="([^"]*)">', text)
        if kind is None or kind[1] not in (STATE, VIEW):
            continue
        content, _ = json.JSONDecoder().raw_decode(text, kind.end())
        if kind[1] == STATE:
            html = _script(STATE, written(content))
        else:
            model = models.get(content["model_id"], {"state": {}})
            html = _place(text, page, model)
            if "beside" in model and not begun:  # the first that a reader meets, after the text
                begun = f'<link rel="preload" as="script" href="{model["beside"]["file"]}"'
                html = f'{begun} fetchpriority="low">{html}'
        raw.replace_self(nodes.raw(text=html, format="html"))
