"""The lesson is short; its small pictures show what the recorded sorter computes; its widget."""

import math
import re
from xml.etree import ElementTree

import pytest

from book.lessons.attention import evidence, glyphs
from book.lessons.attention.widget import SeenWhole
from book.site.dependencies import lesson_page
from tests import exercises


def test_it_is_at_most_a_thousand_words_to_the_end_of_its_story():
    cells = exercises.cells(exercises.ROOT / lesson_page("attention"), prose=True)
    story = "\n".join([*cells.values()][: [*cells].index("retell") + 1])
    for hidden in (r":::\{.*?\n:::", r"\]\([^)]*\)", r"<[^>]*>"):
        story = re.sub(hidden, "", story, flags=re.S)
    assert 800 < len([word for word in story.split() if re.search(r"\w", word)]) <= 1000


def rects(name: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(glyphs.glyph(name)).iter("rect"))


@pytest.mark.parametrize("name", sorted(glyphs.drawings()))
def test_a_picture_keeps_to_its_frame_and_is_silent(name):
    svg = ElementTree.fromstring(glyphs.glyph(name))
    assert svg.get("aria-hidden") == "true"
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    assert (left, top, height) == (0, 0, glyphs.HIGH)
    for rect in rects(name):
        x, y, w, h = (float(rect.attrib[side]) for side in ("x", "y", "width", "height"))
        assert min(x, y) >= 0 and min(w, h) > 0 and x + w <= width and y + h <= height


def test_the_score_is_that_of_the_query_and_the_key_beside_it():
    it = glyphs.seen()
    score = it.whole.query[0, glyphs.ASKS] @ it.whole.key[0, glyphs.FOUND] / math.sqrt(3)
    (rect,) = rects("score")
    assert rect.get("style") == f"fill:{glyphs.signed(score.item(), 8.5)}"


def test_numbers_above_zero_have_one_colour_and_those_below_another():
    it = glyphs.seen()
    for name, numbers in (
        ("embedding", it.whole.embedding[glyphs.FOUND]),
        ("query", it.whole.query[0, glyphs.ASKS]),
        ("key", it.whole.key[0, glyphs.FOUND]),
        ("value", it.whole.value[0, glyphs.FOUND]),
        ("logit", it.whole.logits[glyphs.ASKS]),
        ("seed", it.start),
    ):
        for sign, here in (("--positive", numbers > 0), ("--negative", numbers < 0)):
            assert [sign in rect.get("style", "") for rect in rects(name)] == here.tolist(), name


@pytest.mark.parametrize(("name", "heads"), [("mask", 1), ("head", 2)])
def test_what_comes_later_has_no_cell(name, heads):
    places = [(float(r.attrib["y"]) / 3, float(r.attrib["x"]) % 21 / 3) for r in rects(name)]
    assert sorted(places) == [(i, j) for i in range(6) for j in range(i + 1) for _ in range(heads)]


def test_the_share_that_is_almost_all_is_drawn_so():
    heights = [float(rect.attrib["height"]) for rect in rects("softmax")]
    assert heights.index(max(heights)) == glyphs.FOUND
    assert max(heights) == pytest.approx(16 * 0.9998, abs=0.01)


PARAMETERS = evidence.shown()["mask"]


def test_a_word_is_three_letters_and_models_keep_the_order_in_which_they_came():
    seen = SeenWhole(word=" CAB ")
    assert seen.word == "cab"
    with pytest.raises(ValueError, match="three letters"):
        seen.word = "abd"
    for name in ("z", "a", "z"):
        seen.load(name, PARAMETERS, mask=True)
    assert [(name, run["order"]) for name, run in seen.runs.items()] == [("z", 0), ("a", 1)]
    assert repr(seen) == "SeenWhole: 2 models, 1 seed"
    assert repr(seen.show("rows", "Rows")) == "SeenWhole: rows"


def test_what_is_no_sorter_is_refused_and_changes_nothing():
    seen = SeenWhole()
    for name, parameters in ((" ", PARAMETERS), ("mine", {})):
        with pytest.raises(ValueError, match=r"name has 1 to|lack"):
            seen.load(name, parameters, mask=True)
    assert not seen.runs and not seen.program
