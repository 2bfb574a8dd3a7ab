"""Where the book's source can be had: said where it is known, and nowhere where it is not.

SITE_REPOSITORY is the address of the repository, as in `https://github.com/owner/name`. What a page
says of it stands in

    ```{repository}
    [The source](REPOSITORY) has every notebook.
    ```

and is left out without that setting, so that no link is dead.
"""

import os

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

PLACE = "REPOSITORY"


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("repository", Repository)


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
