"""Links in the text that open a state: what they name, without a browser."""

import re

import pytest

from book.page import bundle
from book.site.dependencies import lesson_page, stems_with

from ..exercises import CHAPTERS, ROOT


def names(stem: str) -> set[str]:
    chapter = ROOT / "book" / "lessons" / stem
    files = [ROOT / lesson_page(stem), *chapter.glob("*.py")]
    text = "".join(path.read_text("utf-8") for path in files)
    return set(re.findall(r'#open-([\w-]+?)(?:-\d+)?\\?"', text))


def test_some_are_found() -> None:
    assert len(set().union(*(names(path.stem) for path in CHAPTERS))) > 5


def known(stem: str) -> set[str]:
    module = bundle.javascript(stem)
    _, *calls = re.split(r"(?<!function )opens\(root, ", module)  # a widget may have several views
    found = {*re.findall(r'\[\s*"[\w ]+",\s*"(\w+)",\s*\{', module)}  # presets
    for call in calls:
        given = call.partition(");\n")[0]
        if given.startswith(("states,", "view.states")):
            given = module.rpartition("const states = ")[2].partition("};\n")[0] + "}"
        for _ in range(4):  # what is in the functions themselves, from the inside
            given = given[:1] + re.sub(r"\{[^{}]*\}", "", given[1:])
        found |= {*re.findall(r'[{,]\s*"?([\w-]+)"?(?::|\()', given)}
    return found


@pytest.mark.parametrize("stem", stems_with(ROOT, "widget.py"))
def test_the_widget_of_the_page_knows_what_a_link_opens(stem: str) -> None:
    states = known(stem)
    assert names(stem) <= states
    assert not [name for name in states if name[-1].isdigit()]  # a number is a widget's
