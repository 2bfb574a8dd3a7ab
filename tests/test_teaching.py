"""What the pages for teachers say of the book: its lessons, its boards, its oldest browsers."""

import math
import re

from attn_notes.tasks import sorting
from book.lessons.trm import recipe
from book.site.dependencies import lesson_stems

from .exercises import ROOT
from .pages.said import Says

BOOK = ROOT / "book"
FOLDERS = [ROOT / folder for folder in ("attn_notes", "book/lessons", "book/page")]
PATHS = [path for folder in FOLDERS for kind in ("*.js", "*.css") for path in folder.rglob(kind)]
WRITTEN = "".join(path.read_text("utf-8") for path in PATHS)
OLDEST = {  # feature → the first Chromium, Firefox and Safari that have it, by MDN
    "color-mix(": (111, 113, 16.2),
    ":has(": (105, 121, 15.4),
    "@container": (105, 110, 16.0),
    ".toSorted(": (110, 115, 16.0),
    ".findLast(": (97, 104, 15.4),
}
NEWER = (
    *("groupBy(", "withResolvers(", "light-dark(", "anchor-name", "popover", "@starting-style"),
    *("fromBase64(", "Promise.try(", "isSubsetOf(", "symmetricDifference(", "Iterator.from("),
)


def teaching(name, *words, where=True):
    path = BOOK / "teaching" / f"{name}.md"
    page = Says(path.name, {"page": path.read_text("utf-8")})
    page(*words, where=where)
    assert page.wrong == []


def test_a_week_has_a_lesson_in_their_order():
    source = (BOOK / "teaching" / "syllabus.md").read_text("utf-8")
    rows = re.findall(r"^\| \d \| \[\]\(\.\./lessons/\w+/(\w+)\.ipynb\)", source, re.M)
    assert rows == lesson_stems(ROOT)


def test_the_boards_are_right():
    side = recipe.TASK.side
    teaching(
        "syllabus",
        f"floor (ln 3 + ln 3) / 6 = {sorting.FLOOR:.3f}",
        f"One grid, {side}! = {math.factorial(side)} names of its digits",
        f"ln 6 = {math.log(6):.2f}",
        where=math.isclose(sorting.FLOOR, 2 * math.log(3) / 6),
    )


def test_the_oldest_browsers_have_what_the_widgets_use():
    used = [since for feature, since in OLDEST.items() if feature in WRITTEN]
    assert not [feature for feature in NEWER if feature in WRITTEN]
    chromium, firefox, safari = (max(each) for each in zip(*used, strict=True))
    teaching(
        "../reference/browsers",
        f"Chromium, Chrome and Edge {chromium:.0f}, Firefox {firefox:.0f}, Safari {safari}",
    )


def test_the_pages_for_teachers_are_in_the_contents():
    """But for the one that is handed to programs, and the notebook of a project."""
    pages = {page.stem for page in (BOOK / "teaching").glob("*.md")} - {"AGENTS", "audit"}
    assert {*re.findall(r"book/teaching/(\w+)\n", (ROOT / "_toc.yml").read_text("utf-8"))} == pages


def test_the_page_on_privacy_names_what_is_kept():
    assert len(re.findall(r"`(attention-notes[^`]*)`", WRITTEN)) >= 2
    teaching("../reference/browsers", "under names that begin with `attention-notes`")
