"""A word of the glossary leads to its entry, and shows what it means where it stands.

A Markdown link leads to a word: `[nat](reference/glossary.md#term-nat)`. MyST knows the headings of
a page as what a link may lead to. Sphinx gives each word of a glossary an anchor too, so these are
added; a word that is not there is still a warning, and stops the build.

In a lesson to which an entry leads, and in its evidence, the first place of the word in each
section becomes such a link by itself; of words that are plain English as well, only a place that
is emphasised. What the words of a page mean stands at its end, once and hidden: picture, word and
the first sentence of the entry, of which `words.js` makes a card.

The pictures are those of the lesson on attention. A page whose metadata says `"pictures": true` has
each behind the first link to its word.
"""

import html
import re
from collections.abc import Iterable
from functools import cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from book.site.dependencies import lesson_of
from book.site.extension import punctuation

PAGE = "book/reference/glossary"

# Said in another sense as well, in the lessons that their entries lead to.
ALSO_ENGLISH = {
    "angle", "answer", "class", "corrected", "could not be told", "cycle", "did not hold",
    "family", "friend", "frozen", "held", "interval", "kind", "line", "live", "look", "minimal",
    "mix", "mixed", "naive", "period", "piece", "plain", "position", "probe", "reading", "recorded",
    "reference", "round", "score", "source", "straight", "strict", "think", "twin", "unit",
    "validation", "value", "volume", "wider",
}  # fmt: skip


def setup(app: Sphinx) -> None:
    """Add the words of each page when it has been read, and mark them before it is written."""
    app.add_css_file("words.css")
    app.add_js_file("words.js", defer="defer")
    app.connect("doctree-read", _add)
    app.connect("doctree-resolved", _mark)
    app.connect("html-page-context", _tell)


class Word(NamedTuple):
    """An entry of the glossary: names, their anchors, what it says first, where it leads."""

    names: tuple[str, ...]
    anchors: tuple[str, ...]
    sentence: str
    lessons: frozenset[str]

    @property
    def picture(self) -> str:
        """Its picture as SVG, empty if it has none."""
        from book.lessons.attention import glyphs  # heavy

        return next((glyphs.glyph(name) for name in self.names if name in glyphs.drawings()), "")


# What the glossary says


def anchors(doctree: nodes.document) -> dict[str, tuple[int, str, str]]:
    """What MyST keeps of a heading, for each word of the glossaries on a page."""
    return {
        name: (term.line or 0, name, term.astext())
        for term in doctree.findall(nodes.term)
        for name in term["ids"]
    }


def first_sentence(meaning: str) -> str:
    """What an entry says first.

    >>> first_sentence("A coin costs ln 2 = 0.69. That is much. (3)")
    'A coin costs ln 2 = 0.69.'
    """
    return re.split(r"(?<=[.?!])\s", meaning, maxsplit=1)[0]


def items(doctree: nodes.document) -> list[nodes.definition_list_item]:
    """The entries of the glossaries on a page, as Sphinx has them."""
    glossaries = doctree.findall(addnodes.glossary)
    return [item for each in glossaries for item in each.findall(nodes.definition_list_item)]


def entries(doctree: nodes.document) -> list[Word]:
    """The same as words."""
    found = []
    for item in items(doctree):
        *terms, meaning = item.children
        leads = (link["reftarget"] for link in meaning.findall(addnodes.pending_xref))
        found.append(
            Word(
                tuple(term.astext() for term in terms),
                tuple(term["ids"][0] for term in terms),
                first_sentence(meaning.astext()),
                frozenset(PurePosixPath(target).stem for target in leads),
            )
        )
    return found


@cache
def _words(app: Sphinx) -> list[Word]:
    return entries(app.env.get_doctree(PAGE)) if PAGE in app.env.found_docs else []


def by_anchor(words: Iterable[Word]) -> dict[str, Word]:
    """Each word by all its anchors."""
    return {anchor: word for word in words for anchor in word.anchors}


def forms(names: Iterable[str]) -> dict[str, str]:
    """How a name may be written, in singular and plural.

    >>> sorted(forms(["nat", "query"]))
    ['nat', 'nates', 'nats', 'queries', 'query', 'queryes', 'querys']
    """
    return {
        form: name
        for name in names
        for form in (name, f"{name}s", f"{name}es", re.sub("y$", "ies", name))
    }


def pattern(written: Iterable[str]) -> re.Pattern[str]:
    """Finds any of these as a word of its own, the longest that begins at a place."""
    longest = sorted(map(re.escape, written), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(longest) or '(?!)'})(?![\w-])", re.IGNORECASE)


# Where words stand


def links(doctree: nodes.document, address: str) -> list[tuple[nodes.reference, str]]:
    """The links of a page that lead to a word, each with the word's anchor."""
    start = f"{address}#term-"
    found = [(link, link.get("refuri", "")) for link in doctree.findall(nodes.reference)]
    return [(link, to.partition("#")[2]) for link, to in found if to.startswith(start)]


def mark(doctree: nodes.document, words: list[Word], address: str) -> None:
    """Make a link of the first place of each word in each section that has none."""
    entry = {name: word for word in words for name in word.names}
    known = forms(entry)
    anyhow = pattern(known)
    alone = pattern(form for form, name in known.items() if name not in ALSO_ENGLISH)
    of = by_anchor(words)
    told = {(_section(link), of.get(anchor)) for link, anchor in links(doctree, address)}
    for text in list(doctree.findall(nodes.Text)):
        stressed = isinstance(text.parent, nodes.emphasis | nodes.strong)
        piece = text.parent if stressed else text
        if not isinstance(piece.parent, nodes.paragraph) or _in_link_or_table(piece):
            continue
        parts: list[nodes.Node] = []
        end = 0
        found = [anyhow.fullmatch(text)] if stressed else alone.finditer(text)
        for place in filter(None, found):
            name = known.get(place[0]) or known.get(place[0].lower())  # a capital may be the name's
            if name is None:
                continue
            word = entry[name]
            if (_section(text), word) in told:
                continue
            told.add((_section(text), word))
            link = nodes.reference(refuri=f"{address}#{word.anchors[0]}", internal=True)
            link += nodes.Text(place[0])
            parts += [nodes.Text(text[end : place.start()]), link]
            end = place.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def _in_link_or_table(piece: nodes.Node) -> bool:
    """Whether a piece of a paragraph stands between the tags of a link, or in a table's cell."""
    paragraph = piece.parent
    before = paragraph.children[: paragraph.index(piece)]
    tags = [tag.astext()[:3] for tag in before if isinstance(tag, nodes.raw)]
    return tags.count("<a ") > tags.count("</a") or isinstance(paragraph.parent, nodes.entry)


def _section(node: nodes.Node) -> nodes.Node:
    while not isinstance(node, nodes.section | nodes.document):
        node = node.parent
    return node


def with_pictures(doctree: nodes.document, words: list[Word], address: str) -> None:
    """Put each word's picture behind the first link to it, on one line with what follows."""
    known, shown = by_anchor(words), set()
    for link, anchor in links(doctree, address):
        word = known.get(anchor)
        if word and word not in shown and word.picture:
            shown.add(word)
            pair = nodes.inline(classes=["together"])
            link.replace_self(pair)
            pair += [link, nodes.raw(text=f" {word.picture}", format="html")]
            punctuation.keep(pair)


def meanings(words: Iterable[Word]) -> str:
    """What words mean, as a hidden list at the end of a page."""
    said = [
        f'<div data-anchors="{" ".join(word.anchors)}">'
        f"<dt>{word.picture}{html.escape(', '.join(word.names))}</dt>"
        f'<dd id="means-{word.anchors[0]}">{html.escape(word.sentence)}</dd></div>'
        for word in words
    ]
    return f'<dl class="attn-words" hidden>{"".join(said)}</dl>' if said else ""


def _add(app: Sphinx, doctree: nodes.document) -> None:
    page = app.env.metadata[app.env.docname]
    page["myst_slugs"] = {**page.get("myst_slugs", {}), **anchors(doctree)}


def _mark(app: Sphinx, doctree: nodes.document, page: str) -> None:
    words = _words(app)
    if page == PAGE:
        for item, word in zip(items(doctree), words, strict=True):
            if word.picture:
                item[-1].insert(0, nodes.raw(text=word.picture, format="html"))
        return
    address = app.builder.get_relative_uri(page, PAGE)
    if stem := lesson_of(page):
        mark(doctree, [word for word in words if stem in word.lessons], address)
    for link, _ in links(doctree, address):
        link["classes"].append("attn-word")
    if app.env.metadata[page].get("pictures"):
        with_pictures(doctree, words, address)


def _tell(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: Any) -> None:
    if doctree is not None and page != PAGE:
        known = by_anchor(_words(app))
        met = links(doctree, app.builder.get_relative_uri(page, PAGE))
        context["body"] += meanings(dict.fromkeys(known[anchor] for _, anchor in met))
