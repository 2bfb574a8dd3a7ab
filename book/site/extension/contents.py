"""Where *Next* leads, and what the menu folds: both follow from `_toc.yml` and its folders.

Pages of one folder follow one another: a lesson leads to the next lesson. A page below one of
another folder, as the evidence below a lesson, leads back to that one, and the menu shows it there
alone. A part with a folder of its own, as the reference, is folded until one is in it.
"""

from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from bs4 import BeautifulSoup
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder


def setup(app: Sphinx) -> None:
    """Say where each page leads, and fold its menu, after the theme has made it."""
    app.connect("html-page-context", _lead, priority=900)


def ways(above: Mapping[str, str | None]) -> dict[str, dict[str, str]]:
    """The pages that each page leads to, as `prev` and `next`, or `back` alone.

    Args:
        above: all pages in their order, each with the one that it stands below; the first has none.

    >>> below = ways({"index": None, "cats": "index", "more/cats": "cats", "dogs": "index"})
    >>> below["cats"], below["more/cats"]
    ({'prev': 'index', 'next': 'dogs'}, {'back': 'cats'})
    """
    root = next(iter(above))
    found: dict[str, dict[str, str]] = {page: {} for page in above}
    chains: dict[PurePosixPath, list[str]] = {}
    for page, other in above.items():
        if not other or other == root or _folder(other) == _folder(page):
            chains.setdefault(_folder(page), []).append(page)
        else:
            found[page]["back"] = other
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


def _folder(page: str) -> PurePosixPath:
    return PurePosixPath(page).parent


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
        if _folder(part["entries"][0][1]) != _folder(root)
    }
    menu: Callable[..., BeautifulSoup] = context["generate_toctree_html"]
    context["generate_toctree_html"] = lambda **how: folded(menu(**how), captions)
