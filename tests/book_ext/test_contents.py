"""Where *Next* leads, and what the menu folds."""

import pytest
from bs4 import BeautifulSoup

from book.site.extension import contents

ABOVE = {
    "book/index": None,
    "book/lessons/cats/cats": "book/index",
    "book/lessons/cats/cats_evidence": "book/lessons/cats/cats",
    "book/lessons/dogs/dogs": "book/index",
    "book/teaching/index": "book/index",
    "book/lessons/cats/teaching": "book/teaching/index",
    "book/bench": "book/index",
}
MENU = """
<p class="caption" role="heading"><span>Lessons</span></p>
<ul class="{lessons}"><li class="{cats}"><a>Cats</a><details><summary>&or;</summary><ul>
<li><a>The evidence</a></li></ul></details></li></ul>
<p class="caption" role="heading"><span>Reference</span></p>
<ul class="{reference}"><li><a>Words</a><details><summary>&or;</summary><ul>
<li><a>More words</a></li></ul></details></li></ul>
"""


def test_each_folder_has_a_chain_of_its_own():
    """The lessons' folders count as one; what backs a lesson leads back to it."""
    assert {page.removeprefix("book/"): way for page, way in contents.ways(ABOVE).items()} == {
        "index": {"next": "book/lessons/cats/cats"},
        "lessons/cats/cats": {"prev": "book/index", "next": "book/lessons/dogs/dogs"},
        "lessons/cats/cats_evidence": {"back": "book/lessons/cats/cats"},
        "lessons/dogs/dogs": {"prev": "book/lessons/cats/cats", "next": "book/bench"},
        "teaching/index": {"next": "book/lessons/cats/teaching"},
        "lessons/cats/teaching": {"prev": "book/teaching/index"},
        "bench": {"prev": "book/lessons/dogs/dogs"},
    }


@pytest.mark.parametrize("here", ["cats", "reference", ""])
def test_what_is_folded_is_open_while_one_is_in_it(here):
    at = {name: "current" if name == here else "" for name in ("lessons", "cats", "reference")}
    menu = contents.folded(BeautifulSoup(MENU.format(**at), "html.parser"), {"Reference"})
    (fold,) = menu.select("details")
    assert [part.name for part in fold.select(":scope > *")] == ["summary", "ul"]
    assert fold.select("summary")[0].get_text() == "Reference" and fold.select("ul ul")
    assert fold.has_attr("open") == (here == "reference")
    assert [title.get_text() for title in menu.select("[role=heading]")] == ["Lessons"]
    assert ("The evidence" in menu.get_text()) == (here == "cats")
