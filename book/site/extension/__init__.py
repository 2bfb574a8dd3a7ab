"""What Jupyter Book 1.x and its theme need to become this site.

The site must make no request to another host, stay light, and show its widgets without a kernel.
Each module mends one thing; `templates/layout.html` is the page they meet in.
"""

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from book.site.extension import (
    alt_text,
    answer_fields,
    cards,
    cells,
    citations,
    contents,
    docstrings,
    icons,
    joined,
    mathjax,
    numbers,
    offline,
    operations,
    punctuation,
    repository,
    stills,
    theme,
    widgets,
    words,
    workbench,
)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Set up every part; Jupyter Book calls this after its own extensions."""
    of_text, of_outputs = (
        (citations, docstrings, numbers, punctuation, repository),
        (widgets, cards, cells, answer_fields, workbench, operations, stills, alt_text),
    )
    for part in (theme, contents, icons, joined, mathjax, offline, words, *of_text, *of_outputs):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
