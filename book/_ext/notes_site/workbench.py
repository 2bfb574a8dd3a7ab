"""The workbench, where a reader writes an attention: its place on a page, and what it is given.

    ```{workbench}
    ```

Its engine is that of the lessons' cells (`cells`); without MicroPython the page says so.
"""

import json
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from notes_site import cells

AWAY = "The workbench works where the page comes from a server, with JavaScript."
WITHOUT = "The workbench needs what lets a page run Python, and this site was made without it."


def setup(app: Sphinx) -> None:
    """Register the directive, and put what the workbench is given beside the engine."""
    app.add_directive("workbench", Workbench)
    app.connect("builder-inited", _write)


class Workbench(SphinxDirective):
    """The place of the workbench."""

    def run(self) -> list[nodes.Node]:
        """One element, in whose place it comes."""
        if not _can_run(self.env.app):
            return [nodes.raw(text=f'<p class="attn-cell-without">{WITHOUT}</p>', format="html")]
        here = self.env.app.builder.get_relative_uri
        static = here(self.env.docname, "_static").removesuffix(".html").rstrip("/")
        html = f'<div class="attn-bench-place">{AWAY}</div>{cells.hosted(static)}'
        return [nodes.raw(text=html, format="html")]


def _can_run(app: Sphinx) -> bool:
    return (Path(app.srcdir) / "micropython").is_dir()


def _write(app: Sphinx) -> None:
    if app.builder.format != "html" or not _can_run(app):
        return
    from attn_notes.cell.bench import told  # only where it is asked for

    folder = Path(app.outdir) / "_static" / cells.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(told.told(), separators=(",", ":"))
    (folder / "workbench.json").write_text(text, "utf-8")
