"""A figure is on a page once: as SVG, without the picture of it that is for other places.

`book.kit.figures.Picture` gives each figure as a picture too, for where SVG is not let in. Here
it always is, and the picture would be half a page's weight.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

LIVE = re.compile(
    r'<div class="attn-live" hidden style="display: none">(<svg\b.*?</svg>\s*)</div>'
    r'<style>@scope [^<]*</style><img class="attn-still" [^>]*>',
    re.S,
)


def setup(app: Sphinx) -> None:
    """Take pictures out of a page as it has been read, before Sphinx collects its images."""
    app.connect("doctree-read", _only_svg, priority=100)


def without_still(html: str) -> str:
    """A figure's HTML without its picture.

    >>> without_still(
    ...     '<figure><div class="attn-live" hidden style="display: none"><svg></svg></div>'
    ...     '<style>@scope { }</style><img class="attn-still" alt="A line" src="data:"></figure>'
    ... )
    '<figure><svg></svg></figure>'
    """
    return LIVE.sub(r"\1", html)


def _only_svg(app: Sphinx, doctree: nodes.document) -> None:
    for raw in list(doctree.findall(nodes.raw)):
        before = raw.astext()
        if (after := without_still(before)) == before:
            continue
        for other in list(raw.parent.parent.children):  # the forms of one output
            if other.get("mime_type", "").startswith("image/"):
                raw.parent.parent.remove(other)
        raw.replace_self(nodes.raw(text=after, format="html"))
