"""Every image says in words what it shows; a build with one that does not fails."""

from html.parser import HTMLParser
from pathlib import PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Look at every page after outputs have been chosen and before it is written."""
    app.connect("doctree-resolved", _check)


def says_nothing(alt: str | None, source: str) -> bool:
    """Whether a text alternative is missing, or only the image's path or file name.

    >>> says_nothing("Loss falls to the floor.", "loss.svg"), says_nothing("loss", "a/loss.svg")
    (False, True)
    """
    path = PurePosixPath(source)
    return (alt or "").strip() in {"", source, path.name, path.stem}


class _Images(HTMLParser):
    """The images of a piece of HTML whose text alternative says nothing, by their sources."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.silent: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "svg" and given.get("aria-hidden") != "true":
            if given.get("role") != "img" or not (given.get("aria-label") or "").strip():
                self.silent.append("<svg>")
        elif tag == "img" and says_nothing(given.get("alt"), given.get("src") or ""):
            self.silent.append((given.get("src") or "")[:80])


def _check(app: Sphinx, doctree: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    # An output in SVG and in PNG is two nodes until one is chosen; the other is gone by now.
    silent = [
        (image, image["uri"])
        for image in doctree.findall(nodes.image)
        if says_nothing(image.get("alt"), image["uri"])
    ]
    for raw in doctree.findall(nodes.raw):
        silent += [(raw, source) for source in _Images(raw.astext()).silent]
    for node, source in silent:
        logger.warning(
            "%simage without alt text: %s. Show a figure with `book.kit.figures.show`, or give "
            'its cell the metadata {"mystnb": {"image": {"alt": "what it shows"}}}',
            _cell_of(node),
            source,
            location=node if node.source else page,
            type="attn_notes",
            subtype="alt_text",
        )


def _cell_of(node: nodes.Node) -> str:
    """Where in its notebook an output is, or nothing for what is not an output."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.Element) and "cell_index" in node:
            return f"cell {node['cell_index'] + 1}: "
    return ""
