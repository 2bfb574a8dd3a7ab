"""Where *Next* leads, and what the menu folds: both follow from `_toc.yml` and its folders.

A lesson leads to the next lesson, and the pages of another folder to one another. What stands below
a lesson, as its evidence, leads back to it, and the menu shows it there alone. A part with a folder
of its own, as the reference, is folded until one is in it.
"""

from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from typing import Any

from bs4 import BeautifulSoup
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from book.site.dependencies import lesson_of


def setup(app: Sphinx) -> None:
    """Say where each page leads, and fold its menu, after the theme has made it."""
    app.connect("html-page-context", _lead, priority=900)


def ways(above: Mapping[str, str | None]) -> dict[str, dict[str, str]]:
    """The pages that each page leads to, as `prev` and `next`, or `back` alone.

    Args:
        above: all pages in their order, each with the one that it stands below; the first has none.

    >>> cats, dogs = "book/lessons/cats/cats", "book/lessons/dogs/dogs"
    >>> found = ways({"book/index": None, cats: "book/index", f"{cats}_more": cats, dogs: cats})
    >>> found[cats], found[f"{cats}_more"]
    ({'prev': 'book/index', 'next': 'book/lessons/dogs/dogs'}, {'back': 'book/lessons/cats/cats'})
    """
    root = next(iter(above))
    found: dict[str, dict[str, str]] = {page: {} for page in above}
    rooms: dict[str, str] = {}
    for page, other in above.items():
        if other and lesson_of(page) and lesson_of(page) == lesson_of(other):
            found[page]["back"] = other
        else:
            rooms[page] = rooms[other] if other and other != root else _room(page)
    chains: dict[str, list[str]] = {}
    for page, room in rooms.items():
        chains.setdefault(room, []).append(page)
    for chain in chains.values():
        for one, other in pairwise(chain):
            found[one]["next"] = other
            found[other]["prev"] = one
    return found


def folded(menu: BeautifulSoup, captions: Collection[str]) -> BeautifulSoup:
    """The theme's menu with the parts of these captions folded, unless one is in them.

    Elsewhere what stands below a chapter is there while one is in that chapter.
    """
    for arrow in menu.select("summary"):
        arrow.decompose()
    for fold in menu.select("details"):
        fold.unwrap()
    for caption, pages in zip(menu.select("p.caption"), menu.select("p.caption + ul"), strict=True):
        if caption.get_text() in captions:
            is_here = "current" in pages["class"]
            fold = caption.wrap(menu.new_tag("details", attrs={"open": ""} if is_here else {}))
            fold.append(pages)
            caption.name, caption.attrs = "summary", {"class": "caption"}
        else:
            for below in pages.select("li:not(.current) > ul"):
                below.decompose()
    return menu


def _room(page: str) -> str:
    """The folder that a page of the contents stands in; that of the book for a lesson."""
    return "book" if lesson_of(page) else page.rpartition("/")[0]


def _lead(app: Sphinx, page: str, _: str, context: dict[str, Any], __: Any) -> None:
    root, builder = app.config.root_doc, app.builder
    assert isinstance(builder, StandaloneHTMLBuilder)
    leads = ways({name: related[0] for name, related in builder.relations.items()}).get(page, {})
    for name in ("prev", "next", "back"):
        context[name] = (other := leads.get(name)) and {
            "link": builder.get_relative_uri(page, other),
            "title": builder.render_partial(app.env.titles[other])["title"],
        }
    captions = {
        part["caption"]
        for part in app.env.tocs[root].findall(addnodes.toctree)
        if _room(part["entries"][0][1]) != _room(root)
    }
    menu: Callable[..., BeautifulSoup] = context["generate_toctree_html"]
    context["generate_toctree_html"] = lambda **how: folded(menu(**how), captions)
