"""Keep on one line a formula and the punctuation that touches it, a number and its percent sign."""

import re

from docutils import nodes
from sphinx.application import Sphinx

AFTER = re.compile(r"[.,;:!?)\]”’%…—–-]+")
BEFORE = re.compile(r"[(\[“‘]+$")
PERCENT = re.compile(r"(?<=\d) (?=%)")
NO_BREAK = "\N{NO-BREAK SPACE}"


def setup(app: Sphinx) -> None:
    """Look at every page before it is written."""
    app.connect("doctree-resolved", lambda app, doctree, page: keep_together(doctree))
    app.connect("doctree-resolved", lambda app, doctree, page: keep_percents(doctree))


def keep_together(doctree: nodes.Node) -> None:
    """Put each formula in a line of text, with the punctuation that touches it, into one span.

    A line may end at the edge of a formula, which is a box to the browser, so that a full stop
    could begin the next one.
    """
    for math in list(doctree.findall(nodes.math)):
        keep(math)


def keep(node: nodes.Element) -> None:
    """The same for one formula, or whatever else is a box."""
    parent = node.parent
    place = parent.index(node)
    before = _text(parent, place - 1)
    after = _text(parent, place + 1)
    opening, closing = BEFORE.search(before), AFTER.match(after)
    if not opening and not closing:
        return
    together = nodes.inline(classes=["together"])
    parent[place] = together
    if opening:
        together += nodes.Text(opening[0])
        parent[place - 1] = nodes.Text(before[: opening.start()])
    together += node
    if closing:
        together += nodes.Text(closing[0])
        parent[place + 1] = nodes.Text(after[closing.end() :])


def keep_percents(doctree: nodes.Node) -> None:
    """Put a space that does not break between a number and its percent sign, save in code."""
    for text in list(doctree.findall(nodes.Text)):
        kept = PERCENT.sub(NO_BREAK, text)
        if kept != text and not isinstance(text.parent, nodes.literal | nodes.FixedTextElement):
            text.parent.replace(text, nodes.Text(kept))


def _text(parent: nodes.Element, place: int) -> str:
    """The text at a place, empty if there is none."""
    node = parent[place] if 0 <= place < len(parent) else None
    return str(node) if isinstance(node, nodes.Text) else ""
