"""Words of the glossary on a page: where they become links, and what stands at its end."""

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx import addnodes

from book.site.extension import words

GLOSSARY = "reference/glossary.html"


def word(*names, sentence="A thing."):
    return words.Word(names, tuple(f"term-{name}" for name in names), sentence, frozenset())


KNOWN = [
    *map(word, ("seed", "head", "induction", "induction head", "query", "Holm", "look")),
    word("causal mask", "mask"),
]


def link(anchor, said):
    return nodes.reference("", said, refuri=f"{GLOSSARY}#term-{anchor}")


def page(*pieces):
    paragraph = nodes.paragraph()
    paragraph += [nodes.Text(piece) if isinstance(piece, str) else piece for piece in pieces]
    document = new_document("page")
    document += nodes.section("", nodes.title("", "Seeds"), paragraph)
    return document


def marked(document):
    words.mark(document, KNOWN, GLOSSARY)
    found = words.links(document, GLOSSARY)
    return [(each.astext(), anchor.removeprefix("term-")) for each, anchor in found]


def test_an_entry_is_read_with_all_its_names():
    lesson = addnodes.pending_xref(reftarget="../cats.ipynb")
    meaning = nodes.definition("", nodes.paragraph("", "A thing. And more (", lesson))
    terms = [nodes.term("", name, ids=[f"term-{name}"]) for name in ("causal mask", "mask")]
    document = new_document("glossary")
    item = nodes.definition_list_item("", *terms, meaning)
    document += addnodes.glossary("", nodes.definition_list("", item))
    assert words.entries(document) == [KNOWN[-1]._replace(lessons=frozenset({"cats"}))]
    assert words.anchors(document) == {
        f"term-{name}": (0, f"term-{name}", name) for name in ("causal mask", "mask")
    }


MARKED = [
    (["A seed and Seeds."], [("seed", "seed")]),
    (["Queries. A mask."], [("Queries", "query"), ("mask", "causal mask")]),
    (["An induction head. Heads."], [("induction head", "induction head"), ("Heads", "head")]),
    (["a seed-like multi-head holm"], []),
    (["Look, a look. Holm."], [("Holm", "Holm")]),
    (["A ", nodes.emphasis("", "look"), "."], [("look", "look")]),
    ([nodes.emphasis("", "a look back")], []),
    (["A seed, a ", link("seed", "seed"), "."], [("seed", "seed")]),
    ([nodes.literal("", "seed"), link("other", "the seed")], [("the seed", "other")]),
    ([nodes.raw("", "<a href='#open'>"), "seed", nodes.raw("", "</a>")], []),
]  # fmt: skip


@pytest.mark.parametrize(("pieces", "expected"), MARKED)
def test_the_first_place_in_a_section_becomes_a_link(pieces, expected):
    document = page(*pieces)
    before = document.astext()
    assert marked(document) == expected
    assert document.astext() == before


def test_each_section_has_its_own_and_a_table_none():
    document = page("A seed.")
    document += page("Another seed.").children
    document[0] += nodes.entry("", nodes.paragraph("", "A head."))
    assert marked(document) == [("seed", "seed"), ("seed", "seed")]


def test_a_picture_stands_behind_the_first_link_and_before_its_full_stop():
    seed, seeds, holm = link("seed", "seed"), link("seed", "Seeds"), link("Holm", "Holm")
    document = page("A ", seed, ". ", seeds, " and ", holm)
    words.with_pictures(document, KNOWN, GLOSSARY)
    (picture,) = document.findall(nodes.raw)
    assert picture.previous_sibling().astext() == "seed"
    together = picture.parent.parent
    assert together["classes"] == ["together"]
    assert together.astext() == f"seed{picture.astext()}."


def test_what_words_mean_is_text_and_stands_once():
    said = words.meanings([word("head", sentence="1 < 2.")])
    assert '<div data-anchors="term-head"><dt><svg class="attn-glyph"' in said
    assert 'head</dt><dd id="means-term-head">1 &lt; 2.</dd></div></dl>' in said
    assert words.meanings([]) == ""
