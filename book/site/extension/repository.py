"""Where the book's source can be had and run: said where it is known, and nowhere where it is not.

SITE_REPOSITORY is the address of the repository, as in `https://github.com/owner/name`. What a page
says of it stands in

    ```{repository}
    [The source](REPOSITORY) has every notebook.
    ```

Below the card of each chapter stand links that open its notebook elsewhere. Colab and hubs take it
from the branch `editions`, which .github/workflows/book.yml fills with what `make editions` makes.
At the foot of each page is a link to its source. Without the setting all of this is left out, so
that no link is dead.
"""

import os
from typing import Any
from urllib.parse import quote, urlencode

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PLACE = "REPOSITORY"
GITHUB = "https://github.com/"
BRANCH = "editions"


def setup(app: Sphinx) -> None:
    """Register the directive and the links."""
    app.add_directive("repository", Repository)
    app.connect("doctree-read", _add_launches)
    app.connect("html-page-context", _add_source)


class Repository(SphinxDirective):
    """Its content with the repository's address, if there is one."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """The content's nodes, or none."""
        try:
            lines = filled(list(self.content), os.environ.get("SITE_REPOSITORY", ""))
        except ValueError as error:
            raise self.error(str(error)) from error
        found = nodes.Element()
        self.state.nested_parse(StringList(lines, source=""), self.content_offset, found)
        return found.children


def filled(lines: list[str], address: str) -> list[str]:
    """The lines with the address in each place, or none if there is no address.

    >>> filled(["See [the source](REPOSITORY)."], "https://github.com/owner/name/")
    ['See [the source](https://github.com/owner/name).']
    >>> filled(["See [the source](REPOSITORY)."], "")
    []

    Raises:
        ValueError: that is no address of a web page.
    """
    if address and not address.startswith(("https://", "http://")):
        raise ValueError(f"SITE_REPOSITORY is {address!r}; it begins with https://, or is not set")
    return [line.replace(PLACE, address.rstrip("/")) for line in lines] if address else []


def launches(address: str, chapter: str) -> dict[str, str]:
    """The links that open a notebook of `book` elsewhere, by name; none without an address.

    Colab, Binder and Codespaces know repositories of GitHub; a hub pulls from any.

    >>> launches("https://github.com/owner/name", "pets/cats")["Colab"]
    'https://colab.research.google.com/github/owner/name/blob/editions/plain/pets/cats.ipynb'
    >>> list(launches("https://example.org/name", "pets/cats"))
    ['a JupyterHub']
    >>> launches("", "pets/cats")
    {}
    """
    address = _without_ending(address)  # a hub's folder would end so, too
    if not address:
        return {}
    name = address.rpartition("/")[2]
    pulled = {
        "repo": address,
        "branch": BRANCH,
        "urlpath": f"lab/tree/{name}/student/{chapter}.ipynb",
    }
    # A form in which the reader fills in the address of the hub; all else is filled in.
    hub = f"https://nbgitpuller.readthedocs.io/en/latest/link.html?{urlencode(pulled)}"
    if not address.startswith(GITHUB):
        return {"a JupyterHub": hub}
    owned = address.removeprefix(GITHUB)
    plain = f"{BRANCH}/plain/{chapter}.ipynb"
    opened = urlencode({"urlpath": f"lab/tree/book/{chapter}.ipynb"})
    return {
        "Colab": f"https://colab.research.google.com/github/{owned}/blob/{plain}",
        "Binder": f"https://mybinder.org/v2/gh/{owned}/HEAD?{opened}",
        "Codespaces": f"https://codespaces.new/{owned}",
        "a JupyterHub": hub,
        "download all": f"{GITHUB}{owned}/archive/refs/heads/{BRANCH}.zip",
    }


def source(address: str, file: str) -> dict[str, str]:
    """What a page's link to its source says, and where it leads; nothing without an address.

    Where a file stands is known of GitHub alone.

    >>> source("https://github.com/owner/name", "book/pets/cats.ipynb")["link"]
    'https://github.com/owner/name/blob/HEAD/book/pets/cats.ipynb'
    >>> source("https://example.org/name", "book/pets/cats.ipynb")
    {'words': 'Source of this book', 'link': 'https://example.org/name'}
    >>> source("", "book/pets/cats.ipynb")
    {}
    """
    address = _without_ending(address)
    if not address.startswith(GITHUB):
        return {"words": "Source of this book", "link": address} if address else {}
    return {"words": "Source of this page", "link": f"{address}/blob/HEAD/{quote(file)}"}


def _without_ending(address: str) -> str:
    return address.rstrip("/").removesuffix(".git")


def _add_source(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: Any) -> None:
    if doctree:  # the search has none
        file = app.env.doc2path(page, base=False)
        context["source"] = source(os.environ.get("SITE_REPOSITORY", ""), str(file))


def _add_launches(app: Sphinx, doctree: nodes.document) -> None:
    chapter = app.env.docname.removeprefix("book/")
    found = launches(os.environ.get("SITE_REPOSITORY", ""), chapter)
    if not found:
        return
    for card in list(doctree.findall(nodes.Admonition)):
        if "chapter-card" in card.get("classes", []):
            line = nodes.paragraph(classes=["launches"])
            line += nodes.Text("Run it yourself: ")
            for i, (name, address) in enumerate(found.items()):
                line += nodes.Text(" · " if i else "")
                line += nodes.reference("", name, refuri=address, internal=False)
            card.parent.insert(card.parent.index(card) + 1, line)
