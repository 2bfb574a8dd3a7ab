"""`_toc.yml` lists the chapters, and little else does: a new one is found by its stem."""

import json
import os
import re
from pathlib import Path

from book.site import dependencies
from book.site.dependencies import evidence_page, lesson_page

from .exercises import ROOT

STEMS, OWN = dependencies.lesson_stems(ROOT), dependencies.own_stems(ROOT)
BACKED = dependencies.evidence_stems(ROOT)

LISTS = {
    "_toc.yml": "the list that all else is derived from",
    "book/teaching/syllabus.md": "gives each week a lesson",
    "book/reference/glossary.md": "leads from each word to the lessons that use it",
    "book/lessons/your_model/your_model.ipynb": "needs one lesson, and leads to two more",
    "book/reference/page.md": "documents every widget and every check",
    "book/experiments/weights.py": "trains a model of each chapter",
    "benchmarks/programs.py": "times a step of each model that trains in the page",
    "benchmarks/waiting.py": "times what a reader of each page waits for",
    "tests/analysis/test_pretrained.py": "asks each trained model for what its chapter says of it",
    "tests/widgets/test_each.py": "asks the same of each widget that shows models",
    "tests/browser/chapter_steps.py": "has a training step of each model",
    "tests/browser/test_programs.py": "names some of these steps",
    "tests/browser/test_waiting.py": "counts what each page does at a time while it works",
    "tests/programs/test_initial.py": "has a model of each kind",
    "tests/test_questions.py": "computes the numbers of some questions again",
    "tests/test_recorded.py": "changes what runs of several chapters depend on",
    "tests/test_parity.py": "holds each model against its source",
}
"""The files that name more than two chapters, and why each has to.

One that names a single chapter has it as an example or is about it, and two tell one from another.
"""

TEXT = {".css", ".html", ".ipynb", ".js", ".md", ".py", ".toml", ".yml"}
"""What somebody writes: a text is an excerpt, or what a page shows, which a machine has written."""


def named(text, stems):
    """The chapters that a text names: as a name, a file, a module or a class of a style sheet.

    An English word that is one's stem, and a module of `models`, are no chapter's name.
    """
    stem = rf"(?:{'|'.join(stems)})"
    places = (
        rf"""["'`=/]{stem}["'`\s]""",
        rf"[/(]{stem}\.(?:css|html|ipynb|js|md|py)\b",
        rf"\blessons\.{stem}\b",
        r"\blessons import (?:\([^)]*\)|[^\n]*)",
        rf"\.live-widget\.{stem}\b",
    )
    found = [place for pattern in places for place in re.findall(pattern, text)]
    return {name for place in found for name in re.findall(rf"\b{stem}\b", place)}


def own(path):
    return re.search(rf"(?:^|[/_])(?:{'|'.join(STEMS)})(?:[_./]|$)", path) is not None


def texts_of(root):
    """The texts of the tree by their paths from the root, without what commands make."""
    found = {}
    for folder, folders, names in os.walk(root):
        made = {"_build", "records", "golden", "__pycache__", "node_modules"}
        folders[:] = [name for name in folders if name not in made and name[0] != "."]
        for path in (Path(folder) / name for name in names):
            if path.suffix in TEXT or path.name == "Makefile":
                found[path.relative_to(root).as_posix()] = path.read_text("utf-8")
    return found


SHARED = {path: text for path, text in texts_of(ROOT).items() if not own(path)}


def test_every_chapter_has_its_page_and_its_rooms_and_is_listed():
    found = {path.name: path for path in (ROOT / "book" / "lessons").glob("[!._]*/")}
    assert found.keys() == {*STEMS, *OWN}
    modules = ("recipe", "measure", "evidence", "claims", "figures", "checks", "widget")
    rooms = {f"{name}.py" for name in modules} | {"deck.yml", "methods.yml", "questions.yml"}
    for stem in dependencies.full_stems(ROOT):
        assert {path.name for path in found[stem].iterdir()} >= rooms | {"teaching.md"}, stem


def test_nothing_else_lists_the_chapters():
    assert len(SHARED) > 100
    assert {path for path, text in SHARED.items() if len(named(text, STEMS)) > 2} == {*LISTS}


def test_no_chapter_has_a_number():
    """The order of `_toc.yml` may change: a page asks for a number by `[#](STEM.ipynb)`."""
    numbered = re.compile(r"\b(?:chapter|lesson)s? \d", re.IGNORECASE)
    assert {path for path, text in SHARED.items() if numbered.search(text)} == set()


def test_a_lesson_has_one_name():
    """Its title: on its evidence, in the notes for teachers, over its symbols and its checks."""

    def page(path):
        text = (ROOT / path).read_text("utf-8")
        return "".join(json.loads(text)["cells"][0]["source"]) if text[0] == "{" else text

    glossary, checks = page("book/reference/glossary.md"), page("book/reference/page.md")
    for stem in STEMS:
        name = page(lesson_page(stem)).split("\n")[0].removeprefix("# ")
        ends = " The evidence" if name.endswith("?") else ": the evidence"
        assert stem not in BACKED or page(evidence_page(stem)).startswith(f"# {name}{ends}")
        assert f"# Teaching: {name}\n" in page(lesson_page(stem).with_name("teaching.md"))
        symbols = f"In [its lesson](../lessons/{stem}/{stem}.ipynb)"
        assert f"### {name}\n\n{symbols}." in glossary or symbols not in glossary, stem
        assert f"### {name}\n\n" in checks
    found = re.findall(r"^In \[its lesson\]\(\.\./lessons/\w+/(\w+)\.ipynb\)", glossary, re.M)
    assert found == [stem for stem in STEMS if stem in found], "symbols in the lessons' order"
    assert {*BACKED} <= {*found}
