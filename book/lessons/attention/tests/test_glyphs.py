"""The small pictures show what the recorded sorter computes."""

import math
from xml.etree import ElementTree

import pytest

from book.lessons.attention import glyphs

NAMES = sorted(glyphs.drawings())


def rects(name: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(glyphs.glyph(name)).iter("rect"))


def fills(name: str) -> list[str]:
    return [rect.get("style", "") for rect in rects(name)]


@pytest.mark.parametrize("name", NAMES)
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
    assert fills("score") == [f"fill:{glyphs.signed(score.item(), 8.5)}"]


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
        assert ["--positive" in fill for fill in fills(name)] == (numbers > 0).tolist(), name
        assert ["--negative" in fill for fill in fills(name)] == (numbers < 0).tolist(), name


@pytest.mark.parametrize(("name", "heads"), [("mask", 1), ("head", 2)])
def test_what_comes_later_has_no_cell(name, heads):
    places = [(float(r.attrib["y"]) / 3, float(r.attrib["x"]) % 21 / 3) for r in rects(name)]
    assert sorted(places) == [(i, j) for i in range(6) for j in range(i + 1) for _ in range(heads)]


def test_the_share_that_is_almost_all_is_drawn_so():
    heights = [float(rect.attrib["height"]) for rect in rects("softmax")]
    assert heights.index(max(heights)) == glyphs.FOUND
    assert max(heights) == pytest.approx(16 * 0.9998, abs=0.01)
