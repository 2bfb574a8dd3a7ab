"""A notebook cites by links that any notebook reader can follow; here they become citations.

JupyterLab, Colab and VS Code know nothing of a bibliography. So a notebook says

    [Press and Wolf (2017)](https://aclanthology.org/E17-2025/)

with the names, the year and the address of the work in `references.bib`, or the bibliography's file
for a work without an address; or `[(Press and Wolf, 2017)](...)`. On the site both lead to the page
of the bibliography, as the roles `cite:t` and `cite:p` do.
"""

from pathlib import Path

from pybtex.database import Entry, parse_file
from sphinx.application import Sphinx

BIBLIOGRAPHY = [f"{'../' * up}reference/bibliography.md" for up in range(3)]


def setup(app: Sphinx) -> None:
    """Turn links into citations before a notebook is parsed."""
    app.connect("source-read", _cite)


def authors(entry: Entry) -> str:
    """Who wrote a work, as it is cited: one name, two, or the first and the others."""
    persons = entry.persons["author"]
    names = [" ".join([*person.prelast_names, *person.last_names]) for person in persons]
    return " and ".join(names) if len(names) < 3 else f"{names[0]} et al."


def links(bibliography: Path) -> dict[str, str]:
    """Every link that cites → the role that it stands for."""
    found = {}
    for key, entry in parse_file(str(bibliography)).entries.items():
        year, url = entry.fields["year"], entry.fields.get("url")
        for text, role in (
            (f"{authors(entry)} ({year})", "t"),
            (f"({authors(entry)}, {year})", "p"),
        ):
            for target in (url,) if url else BIBLIOGRAPHY:
                found[f"[{text}]({target})"] = f"{{cite:{role}}}`{key}`"
    return found


def cite(source: str, roles: dict[str, str]) -> str:
    """A notebook's source with a role in each link's place.

    >>> cite("After [Press and Wolf (2017)](a).", {"[Press and Wolf (2017)](a)": "{cite:t}`press`"})
    'After {cite:t}`press`.'
    """
    for link, role in roles.items():
        source = source.replace(link, role)
    return source


def _cite(app: Sphinx, page: str, source: list[str]) -> None:
    if Path(app.env.doc2path(page)).suffix == ".ipynb":
        roles = links(Path(app.srcdir) / app.config.bibtex_bibfiles[0])
        source[0] = cite(source[0], roles)
