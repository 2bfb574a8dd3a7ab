"""A Markdown link leads to a word of the glossary: `[nat](reference/glossary.md#term-nat)`.

MyST knows the headings of a page as what a link may lead to. Sphinx gives each word of a glossary
an anchor too, so these are added; a word that is not there is still a warning, and stops the build.
"""

from docutils import nodes
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Add the words of each page when it has been read."""
    app.connect("doctree-read", _add)


def anchors(doctree: nodes.document) -> dict[str, tuple[int, str, str]]:
    """What MyST keeps of a heading, for each word of the glossaries on a page."""
    return {
        name: (term.line or 0, name, term.astext())
        for term in doctree.findall(nodes.term)
        for name in term["ids"]
    }


def _add(app: Sphinx, doctree: nodes.document) -> None:
    page = app.env.metadata[app.env.docname]
    page["myst_slugs"] = {**page.get("myst_slugs", {}), **anchors(doctree)}
