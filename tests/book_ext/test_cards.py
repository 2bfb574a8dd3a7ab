"""The landing page's map of the lessons: from `_toc.yml`, the notebooks and the records; and its
three sentences, with which the README begins as well."""

import re

import pytest

from book.site.dependencies import all_stems, full_stems, lesson_page, notebook_paths, read_notebook
from book.site.extension import cards
from tests.exercises import ROOT, written

ALL = [path.stem for path in notebook_paths(ROOT) if path.stem == path.parent.name]


@pytest.mark.parametrize("stem", ALL)
def test_every_lesson_has_its_question_and_its_picture(stem):
    card = cards.read(ROOT / lesson_page(stem))
    assert card.stem == stem and card.title and card.question.endswith("?")
    assert card.time.endswith(" minutes") or stem not in full_stems(ROOT)
    svg = cards.emblem(stem)
    drawn = 'role="img"' in svg and svg.count("<svg") == 1 and len(svg) < 40_000
    assert drawn or (stem not in full_stems(ROOT) and svg == "")
    before = [cards.read(ROOT / lesson_page(other)) for other in ALL[: ALL.index(stem)]]
    assert f'href="{stem}.html"' in cards.entry(card, before, f"{stem}.html", svg)


def test_a_lesson_without_a_question_is_named(tmp_path):
    def read(source, **metadata):
        notebook = {"cells": [{"source": [source]}], "metadata": metadata}
        return cards.read(written(tmp_path, {"cats.ipynb": notebook}) / "cats.ipynb")

    card = read("# Cats\n\nMany.", question="Why?", needs=["dogs"])
    assert card == ("cats", "Cats", "Why?", "", ("dogs",))
    with pytest.raises(cards.ExtensionError, match=r"cats\.ipynb has no question"):
        read("# Cats")
    with pytest.raises(cards.ExtensionError, match=r"cats\.ipynb has no title"):
        read("Cats", question="Why?")


def test_a_card_names_each_lesson_that_is_needed():
    row = [cards.Card(stem, stem.title(), "Why?", "", ()) for stem in ("cats", "dogs", "owls")]
    told = cards.entry(row[2]._replace(needs=("cats", "dogs")), row[:2], "", "")
    assert "after no. 1 and 2" in told
    assert "needs no other lesson" in cards.entry(row[2], row[:2], "", "")
    for later in ("owls", "bees"):
        with pytest.raises(cards.ExtensionError, match=f"needs {later}, which is no lesson"):
            cards.entry(row[1]._replace(needs=(later,)), row[:1], "", "")


def test_a_second_page_stands_below_its_lesson_and_the_evidence_does_not():
    seconds = [page.stem for stem in ALL for page in cards.second_pages(ROOT, stem)]
    assert seconds == ["dialectical_writing", "triple_product_volume"]
    card = cards.read(ROOT / lesson_page("trm"))._replace(needs=())
    shown = cards.entry(card, [card], "", "", {"A & B": "b.html"})
    assert shown.endswith('</a><a class="lesson-then" href="b.html">A &amp; B</a></li>')


def test_in_the_book_what_a_lesson_needs_stands_before_it():
    """A course may have another order, and is told what that leaves without its ground."""
    stems = all_stems(ROOT)
    for i, stem in enumerate(stems):
        needs = read_notebook(ROOT / lesson_page(stem)).metadata.get("needs", ())
        assert {*needs} <= {*stems[:i]}, stem


def test_the_readme_begins_with_a_picture_and_the_sentences_of_the_landing_page():
    def said(page, begins):
        text = (ROOT / page).read_text("utf-8").partition(begins)[2]
        plain = re.sub(r"\]\([^)]*\)|\[", "", text)  # links lead elsewhere
        return [" ".join(sentence.split()) for sentence in plain.split("\n\n") if sentence][:3]

    told = said("book/index.md", "{div} landing-says\n")
    told[2] = told[2].removesuffix(" :::")
    assert said("README.md", "</picture>\n") == told
    pictures = re.findall(r'src(?:set)?="([^"]+)"', (ROOT / "README.md").read_text("utf-8"))
    assert len(pictures) == 2 and all((ROOT / picture).is_file() for picture in pictures)
    assert all(re.fullmatch(r"[A-Z][^.]*\.", sentence) for sentence in told)
