"""Every lesson shows what was read of it, and what it says of records is what they have.

`said.py` of its tests has its sentences that rest on records, and in `MACHINE`, by cell, patterns
of what hangs on the processor, each with the reason. CONTRIBUTING says how a page is held.
"""

import re
from importlib import import_module

import pytest

from book.site.dependencies import evidence_page, lesson_of, notebook_paths, pages_of

from ..exercises import ROOT
from .described import described
from .held import WRITTEN, hold, indent, place
from .said import Says
from .shown import shown

STEMS = sorted({lesson_of(path) for path in notebook_paths(ROOT)})


@pytest.mark.page
@pytest.mark.parametrize("stem", STEMS)
def test_a_lesson_is_what_was_read_of_it(stem, monkeypatch, take, request):
    """One test a lesson: whatever is changed in it, this one fails, and names the place.

    In `make check` the evidence is not run again: what was read of it is held to its records.
    """
    in_short = "not slow" in request.config.getoption("markexpr")
    book = ROOT / "book"
    tests = book / "lessons" / stem / "tests"
    there = (tests / "said.py").exists()
    lesson = import_module(f"book.lessons.{stem}.tests.said") if there else None
    wrong: list[str] = []
    pages: dict[str, Says] = {}
    for path in pages_of(ROOT, stem):
        below = path.stem.removeprefix(stem).removeprefix("_")
        file = tests / f"{below or 'page'}.txt"
        if path == evidence_page(stem) and in_short and not take:
            now = file.read_text("utf-8").splitlines()
        else:
            with monkeypatch.context() as patch:
                now = list(shown(ROOT / path, patch, getattr(lesson, "MACHINE", {})))
        wrong += hold(file, now, take)
        wrong += [place(now, i) + line.strip() for i, line in enumerate(now) if "  NO: " in line]
        pages[path.stem] = Says(str(path), read(now))

    if draw := getattr(import_module(f"book.lessons.{stem}.figures"), "emblem", None):
        wrong += hold(tests / "emblem.txt", list(described(draw())), take)

    asked: set[str] = set()

    def page(name: str) -> Says:
        asked.add(name)
        if name not in pages:
            file = tests.with_name("teaching.md") if name == "teaching" else book / f"{name}.md"
            parts = re.split(r"^#+ (.*)$", file.read_text("utf-8"), flags=re.MULTILINE)
            texts = dict(zip(["top", *parts[1::2]], parts[::2], strict=True))
            pages[name] = Says(str(file.relative_to(ROOT)), texts)
        return pages[name]

    if lesson:
        lesson.said(page)
        teaching = ["teaching"] * tests.with_name("teaching.md").exists()
        wrong += [f"said.py asks nothing of {name}" for name in {*pages, *teaching} - asked]
    wrong += [each for found in pages.values() for each in found.wrong]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def read(now: list[str]) -> dict[str, str]:
    """What a page shows, by cell: sentences that the lines of a text are of flow on."""
    cells: dict[str, str] = {}
    for line in now:
        if not indent(line):
            cells[name := line] = ""
        else:
            cells[name] += f" {line.strip().removeprefix(WRITTEN)}"
    return cells
