"""The notebooks for other places: nothing in them that must not be, and they run."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import editions
import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from . import exercises
from .test_wheel import AWAY, NOT_ASTRAY, PIP

ROOT = Path(__file__).parents[1]
NOTEBOOKS = [path.relative_to(ROOT / "book") for path in (*exercises.CHAPTERS, *exercises.EVIDENCE)]
EDITIONS = ("student", "instructor", "plain")
EXERCISES = [(page, name) for page in NOTEBOOKS for name in exercises.names(ROOT / "book" / page)]
RAW = re.compile(r":::|^```\{|\{[a-z:]+\}`", re.MULTILINE)  # MyST that Markdown does not know


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which all editions were unpacked."""
    folder = tmp_path_factory.mktemp("editions")
    for path in editions.editions(ROOT, folder / "made"):
        zipfile.ZipFile(path).extractall(folder)
    return folder


def cells(made: Path, edition: str, page: Path) -> list[NotebookNode]:
    notebook = nbformat.read(made / f"attention-notes-{edition}" / page, as_version=4)
    nbformat.validate(notebook)
    return list(notebook.cells)


def test_a_grader_tries_hidden_cases_and_nobody_changes_a_question() -> None:
    for path in sorted((exercises.ROOT / "book").glob("*.ipynb")):
        found = editions.for_graders(nbformat.read(path, as_version=4), path.stem, 7)
        marked = [cell for cell in found.cells if "nbgrader" in cell.metadata]
        told = {cell.metadata["nbgrader"]["grade_id"]: cell for cell in marked}
        checks = [cell for name, cell in told.items() if name.endswith("-check")]
        asks = [cell for name, cell in told.items() if name.endswith("-ask")]
        assert len(checks) == len(asks) == len(exercises.names(path)) > 0
        assert all(cell.source.count("seed=7") == 1 for cell in checks)
        assert all(cell.metadata["nbgrader"]["locked"] for cell in checks + asks)


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
def test_an_edition_has_every_page_and_the_wheel(edition: str, made: Path) -> None:
    folder = made / f"attention-notes-{edition}"
    assert {path.relative_to(folder) for path in folder.rglob("*.ipynb")} == set(NOTEBOOKS)
    (wheel,) = folder.glob("*.whl")
    assert "attn_notes/results/deep-qkv.safetensors" in zipfile.ZipFile(wheel).namelist()
    assert edition in (folder / "README.txt").read_text("utf-8")
    assert (folder / "LICENSE").is_file()
    assert bool(list(folder.rglob("teaching/*.md"))) == (edition == "instructor")


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
def test_no_link_is_dead(edition: str, made: Path) -> None:
    folder = made / f"attention-notes-{edition}"
    for page in NOTEBOOKS:
        for cell in cells(made, edition, page):
            if cell.cell_type == "markdown":
                for _, target in editions.LINK.findall(cell.source):
                    inside = not re.match(r"[a-z]+:|#", target)
                    assert not inside or (folder / page.parent / target).is_file(), (page, target)


@pytest.mark.slow
@pytest.mark.parametrize("edition", ["student", "plain"])
@pytest.mark.parametrize(("page", "name"), EXERCISES, ids=lambda part: str(part))
def test_a_student_finds_no_solution(page: Path, name: str, edition: str, made: Path) -> None:
    """Not a line of its code that stands nowhere else; the hint is there."""
    source = ROOT / "book" / page
    code = exercises.solution(source, name)
    stands = exercises.cells(source)
    others = [text for cell, text in stands.items() if not cell.endswith("solution")]
    telling = [
        line.strip()
        for line in code.splitlines()
        if len(line.strip()) > 12 and not any(line.strip() in other for other in others)
    ]
    text = "\n".join(cell.source for cell in cells(made, edition, page))
    assert telling and not [line for line in telling if line in text]
    hints = {cell for cell in stands if cell.endswith("-hint")}
    assert hints <= {cell.id for cell in cells(made, edition, page)}


@pytest.mark.slow
def test_plain_markdown_has_no_directive(made: Path) -> None:
    seen = 0
    for page in NOTEBOOKS:
        for cell in cells(made, "plain", page):
            if cell.cell_type == "markdown":
                assert not RAW.findall(cell.source), (page, cell.id)
                seen += "<details>" in cell.source
            elif "hide-input" in cell.metadata.get("tags", []):
                assert cell.metadata["cellView"] == "form"
    assert seen > len(EXERCISES) / 3  # hints
    assert RAW.findall(":::{dropdown} Hint\nx\n:::") and RAW.findall("{cite:t}`a`")


@pytest.mark.slow
@pytest.mark.parametrize(("page", "name"), EXERCISES, ids=lambda part: str(part))
def test_an_instructors_cell_has_the_solution(page: Path, name: str, made: Path) -> None:
    """Which passes: tests/test_book.py runs every one."""
    source = ROOT / "book" / page
    (cell,) = (c for c in cells(made, "instructor", page) if c.id == f"exercise-{name}-answer")
    assert cell.source == exercises.solution(source, name).strip()


def test_the_first_cell_installs_what_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: asked.append(command))
    notebook = nbformat.read(ROOT / "book" / "deep_qkv.ipynb", as_version=4)
    known, unknown = (
        editions.in_plain(notebook, repository).cells[1].source
        for repository in ("https://github.com/somebody/notes", "")
    )
    monkeypatch.chdir(tmp_path)
    exec(unknown, {})  # the package is there
    assert asked == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="beside this notebook"):
        exec(unknown, {})
    exec(known, {})
    assert asked.pop()[-1] == "attn-notes[book] @ git+https://github.com/somebody/notes"
    (tmp_path / "attn_notes-9.9.9-py3-none-any.whl").touch()
    for source in (known, unknown):
        exec(source, {})
        assert asked.pop()[-1].startswith(f"attn-notes[book] @ {tmp_path.as_uri()}/attn_notes-9")


# nbgrader


def graded(course: Path, chapter: str, environment: dict[str, str]) -> dict[str, list[float]]:
    """Each student's points in a chapter's exercises, as nbgrader gives them."""
    command = [sys.executable, "-m", "nbgrader", "autograde", chapter, "--force"]
    subprocess.run(command, cwd=course, env=environment, check=True, capture_output=True)
    book = Gradebook(f"sqlite:///{course}/gradebook.db")
    try:
        return {
            hand_in.student.id: [
                grade.auto_score
                for notebook in sorted(hand_in.notebooks, key=lambda n: n.name)
                for grade in sorted(notebook.grades, key=lambda g: g.name)
            ]
            for hand_in in book.assignment_submissions(chapter)
        }
    finally:
        book.close()


def hand_in(course: Path, student: str, chapter: str, change: dict[str, str]) -> None:
    """A student's copy of what was released, with other code in some exercises' cells."""
    for path in (course / "release" / chapter).glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            cell.source = change.get(f"{path.stem}/{cell.id}", cell.source)
        there = course / "submitted" / student / chapter / path.name
        there.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, there)


FORGED = """

from attn_notes import exercises
{check} = lambda answer, seed=None: exercises.Outcome(1.0, "mine")
exercises.need = exercises.check = lambda *_, **__: None
"""


@pytest.mark.parametrize(
    "chapter",
    [
        pytest.param(stem, marks=pytest.mark.slow if stem == "deep_qkv" else pytest.mark.long)
        for stem in (path.stem for path in exercises.CHAPTERS)
    ],
)
def test_nbgrader_gives_nothing_for_stubs_and_all_for_solutions(
    chapter: str, made: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Nor for a notebook that puts its own check in the place of ours."""
    course = tmp_path / "course"
    shutil.copytree(made / "attention-notes-grading", course)
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", chapter]
    subprocess.run(command, cwd=course, env=environment, check=True, capture_output=True)
    released = "".join(path.read_text("utf-8") for path in (course / "release").rglob("*.ipynb"))
    assert not re.search("SOLUTION|HIDDEN|seed=", released)
    right, forged, points = {}, {}, []
    for suffix, folder in (("", ""), ("-evidence", "evidence")):
        page = ROOT / "book" / folder / f"{chapter}.ipynb"
        stubs = exercises.cells(page)
        for name in sorted(exercises.names(page), key=lambda name: f"{name}-check"):
            cell = f"{chapter}{suffix}/exercise-{name}-answer"
            right[cell] = exercises.solution(page, name)
            check = stubs[f"exercise-{name}-check"].partition("(")[0]
            forged[cell] = stubs[f"exercise-{name}-answer"] + FORGED.format(check=check)
            points.append(exercises.contract(page, name)["points"])
    for student, cells in (("idle", {}), ("able", right), ("sly", forged)):
        hand_in(course, student, chapter, cells)
    nothing = [0.0] * len(points)
    assert graded(course, chapter, environment) == {
        "able": points,
        "idle": nothing,
        "sly": nothing,
    }


@pytest.fixture(scope="module")
def environment(made: Path) -> dict[str, str]:
    """The variables of a kernel that finds the package where an edition's wheel was installed."""
    (wheel,) = (made / "attention-notes-plain").glob("*.whl")
    folder = made / "installed"
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile", "--target", folder]
    subprocess.run([*PIP, "install", *options, wheel], check=True)
    here = str(Path(sys.executable).parent)  # nbgrader looks for its programs
    path = os.pathsep.join([here, os.environ.get("PATH", "")])
    return os.environ | {"PYTHONPATH": str(folder), "WHEEL": str(folder), "PATH": path}


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("stem", [path.stem for path in exercises.CHAPTERS])
def test_a_lesson_of_an_edition_runs_fast_where_there_is_nothing_else(
    edition: str, stem: str, made: Path, environment: dict[str, str]
) -> None:
    """With the recorded runs that the wheel brings, and nothing trained."""
    execute(made / f"attention-notes-{edition}" / f"{stem}.ipynb", environment | {"FAST": "1"})


def execute(path: Path, environment: dict[str, str]) -> None:
    """Run a notebook in its folder, with the tree that the tests run in out of reach."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(AWAY))
    notebook.cells.append(nbformat.v4.new_code_cell(f"import sys\n{NOT_ASTRAY}"))
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=900, resources=resources).execute(env=environment)
    assert json.dumps(notebook.cells[-1].outputs) == "[]"


SHORT = {
    ("plain", Path("evidence/deep_qkv.ipynb")),
    ("student", Path("evidence/dialectical.ipynb")),
}


@pytest.mark.parametrize(
    ("edition", "page"),
    [
        pytest.param(
            *(edition, page),
            marks=pytest.mark.slow if (edition, page) in SHORT else pytest.mark.long,
            id=f"{edition}-{page}",
        )
        for edition in EDITIONS
        for page in NOTEBOOKS
    ],
)
def test_a_page_runs_where_there_is_nothing_but_its_edition(
    edition: str, page: Path, made: Path, environment: dict[str, str]
) -> None:
    execute(made / f"attention-notes-{edition}" / page, environment)
