"""A chapter's cells and exercises, as CONTRIBUTING has them, tried as a reader would."""

import html
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import pytest

from book.editions import editions
from book.kit.exercises import Outcome
from book.kit.judgement import Judged
from book.site.dependencies import lesson_page, lesson_stems

from .checked import recalled

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted(ROOT / lesson_page(stem) for stem in lesson_stems(ROOT))
EVIDENCE = sorted(p for p in ROOT.glob("book/lessons/*/*.ipynb") if p.stem != p.parent.name)
"""What stands below a lesson, which may have exercises of its own."""


@cache
def cells(chapter: Path, prose: bool = False) -> dict[str, str]:
    found = json.loads(chapter.read_text("utf-8"))["cells"]
    kept = [cell for cell in found if not prose or cell["cell_type"] == "markdown"]
    return {cell["id"]: "".join(cell["source"]) for cell in kept}


def names(chapter: Path) -> list[str]:
    found = (re.fullmatch(r"exercise-(.+)-answer", name) for name in cells(chapter))
    return [match[1] for match in found if match]


def contract(chapter: Path, name: str) -> dict[str, Any]:
    every = json.loads(chapter.read_text("utf-8"))["cells"]
    return next(c["metadata"]["exercise"] for c in every if c["id"] == f"exercise-{name}")


def wrong(stem: str) -> dict[str, list[tuple[str, str]]]:
    """Wrong answers by exercise, each with its symptom's words; none if there is no `wrong.py`."""
    try:
        return import_module(f"book.lessons.{stem}.tests.wrong").WRONG
    except ModuleNotFoundError:
        return {}


def solution(chapter: Path, name: str) -> str:
    return editions.solution(cells(chapter)[f"exercise-{name}-solution"])


def answer_of(judged: Judged, number: int) -> dict[str, Any]:
    """The right answer to a case; what students install has it by no name of its own."""
    case = judged._case(number)
    return {**case.numbers, "verdict": case.verdict}


def telling(chapter: Path, name: str) -> list[str]:
    others = [text for cell, text in cells(chapter).items() if not cell.endswith("solution")]
    lines = map(str.strip, solution(chapter, name).splitlines())
    return [x for x in lines if len(x) > 12 and not any(x in other for other in others)]


@cache
def all_telling() -> list[list[str]]:
    return [telling(page, name) for page in (*CHAPTERS, *EVIDENCE) for name in names(page)]


def shown(page: str) -> str:
    """What is read on a page of HTML: code is in pieces there, each of its own colour."""
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """All that can be read below a folder, in zips too, unpacked beside it; of notebooks cells."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".zip", ".whl"):
            inside = folder.parent / f"{folder.name}-{path.name}-inside"
            with zipfile.ZipFile(path) as archive:
                archive.extractall(inside)
            yield from texts(inside)
        elif path.suffix == ".ipynb":
            cells = nbformat.read(path, as_version=4).cells
            yield str(path), "\n".join(cell.source for cell in cells)
        elif path.suffix == ".html":
            page = path.read_text("utf-8")
            yield str(path), f"{page}\n{shown(page)}"
        elif path.is_file() and path.suffix in (".csv", ".ics", ".js", ".md", ".py", ".txt"):
            yield str(path), path.read_text("utf-8")


def leaks(found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    lines = [line for told in all_telling() for line in told]
    return [(path, line) for path, text in found for line in lines if line in text]


BUILT = ("LICENSE", "README.md", "pyproject.toml", "book/pyproject.toml")
"""What a wheel is built from besides its package."""


def little_book(folder: Path) -> Path:
    package = '"""Tiny."""\n\n__version__ = "0.2.0"\n'
    files: dict[str, Any] = {f"{name}/__init__.py": package for name in ("book", "attn_notes")}
    files |= {name: (ROOT / name).read_bytes() for name in BUILT}
    files["_toc.yml"] = "format: jb-book\nroot: book/lessons/tiny/tiny\n"
    lesson = nbformat.read(ROOT / lesson_page("deep_qkv"), as_version=4)
    lesson.cells = [c for c in lesson.cells if re.match("setup$|exercise-floor", c.id)]
    files[str(lesson_page("tiny"))] = nbformat.writes(lesson)
    return written(folder / "book of one", files)


def written(folder: Path, files: Mapping[str, Any]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, bytes | str) else json.dumps(content)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@cache
def set_up(chapter: Path) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        recalled(patch)
        exec(cells(chapter)["setup"], scope)
    return scope


def after_setup(chapter: Path, code: str = "") -> dict[str, Any]:
    scope = dict(set_up(chapter))
    exec(code, scope)
    return scope


def outcome(chapter: Path, name: str, answer: str | None = None) -> Outcome:
    sources = cells(chapter)
    code = sources[f"exercise-{name}-answer"] if answer is None else answer
    return eval(sources[f"exercise-{name}-check"], after_setup(chapter, code))
