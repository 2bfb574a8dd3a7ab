"""The workbench, where a reader writes an attention: its place on a page, and what it is given.

    ```{workbench}
    ```

Its engine is that of the lessons' cells (`cells`); without MicroPython the page says so.
"""

import json

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.site.extension import cells

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
        if cells.micropython(self.env.app) is None:
            return [nodes.raw(text=f'<p class="attn-cell-without">{WITHOUT}</p>', format="html")]
        static = cells.way_to_static(self.env.app, self.env.docname)
        style = f'<link rel="stylesheet" href="{static}/{cells.FOLDER}/workbench.css">'
        html = f'{style}<div class="attn-bench-place">{AWAY}</div>{cells.hosted(static)}'
        return [nodes.raw(text=html, format="html")]


def _write(app: Sphinx) -> None:
    folder = cells.beside_the_engine(app)
    if folder is None:
        return
    from book.page.bench import told  # only where it is asked for

    text = json.dumps(told.told(), separators=(",", ":"))
    (folder / "workbench.json").write_text(text, "utf-8")
