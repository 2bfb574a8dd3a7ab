"""Widgets that live on a static page: the host script, a place for each, and a directive.

myst-nb writes a chapter's widgets as ipywidgets does: one script element with the state of all
models, one for each view. `book/page/_host.js` mounts them. Here every view gets a place
as high as its widget opens, so that the page does not jump, and

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
import importlib
import itertools
import json
import operator
import os
import re
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

from book.page.bundle import FOLDERS, LESSONS, files
from book.site.dependencies import lesson_of, lesson_page

HOST = "widget-host.js"
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
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
        html = _script(STATE, share(state)) + place
        return [nodes.raw(text=html, format="html")]


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
    if isinstance(heights, dict):  # by which picture it is
        heights = heights[(model or {"state": {}})["state"].get("picture", next(iter(heights)))]
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


def share(saved: dict[str, Any]) -> dict[str, Any]:
    """A page's saved models, with each long text that stands in several places once.

    `shared` has these texts, each with the paths of where it belongs: files of modules, styles,
    programs, weights. Several widgets have them in common, and a page would weigh a third more.
    A module is then a list of its files.
    """
    places: dict[str, list[list[Any]]] = {}

    def note(node: Any, path: list[Any]) -> None:
        if isinstance(node, dict | list):
            for key, value in node.items() if isinstance(node, dict) else enumerate(node):
                note(value, [*path, key])
        elif isinstance(node, str) and len(node) >= LONG:
            places.setdefault(node, []).append(path)

    state = copy.deepcopy(saved["state"])
    for model in state.values():
        stem = _module(model)
        ours = any((folder / f"{stem}.js").is_file() for folder in FOLDERS)
        if ours and "".join(files(stem)) == model["state"].get("_esm"):
            model["state"]["_esm"] = files(stem)
    note(state, [])
    several = {text: at for text, at in places.items() if len(at) > 1}
    for *way, last in itertools.chain.from_iterable(several.values()):
        functools.reduce(operator.getitem, way, state)[last] = None
    return {**saved, "state": state, "shared": [{"text": t, "at": at} for t, at in several.items()]}


def _reserve_places(app: Sphinx, doctree: nodes.document, page: str) -> None:
    saved = [script for _, script in NbMetadataCollector.get_js_files(app.env, page).values()]
    models: dict[str, Any] = {}
    for script in saved:
        if script.get("type") == STATE:
            state = json.loads(script["body"])
            script["body"] = _inline(share(state))
            models |= state["state"]
    start = f'<script type="{VIEW}">'
    for raw in list(doctree.findall(nodes.raw)):
        text = raw.astext()
        if text.startswith(start):
            view, _ = json.JSONDecoder().raw_decode(text, len(start))
            place = _place(text, page, models.get(view["model_id"]))
            raw.replace_self(nodes.raw(text=place, format="html"))
