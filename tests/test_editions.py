"""The notebooks for other places: nothing in them that must not be, and they run."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import build
import editions
import nbformat
import pytest
from dependencies import notebook_paths
from nbclient import NotebookClient
from nbformat import NotebookNode

from . import exercises
from .test_wheel import AWAY, NOT_ASTRAY

ROOT = Path(__file__).parents[1]
NOTEBOOKS = [path.relative_to("book") for path in notebook_paths(ROOT)]
PAGES = ("student", "instructor", "plain")  # the editions that have every page
EXERCISES = [(page, name) for page in NOTEBOOKS for name in exercises.names(ROOT / "book" / page)]
ELSEWHERE = re.compile(r"\bmake [a-z-]+`|`make|first page|this site|the site\b|sidebar|\.md\b")
"""What only the book's source has, or only its site."""
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


@pytest.mark.slow
@pytest.mark.parametrize("edition", PAGES)
def test_an_edition_has_every_page_and_the_wheel(edition: str, made: Path) -> None:
    folder = made / f"attention-notes-{edition}"
    assert {path.relative_to(folder) for path in folder.rglob("*.ipynb")} == set(NOTEBOOKS)
    (wheel,) = folder.glob("*.whl")
    assert "attn_notes/results/deep-qkv.safetensors" in zipfile.ZipFile(wheel).namelist()
    assert edition in (folder / "README.txt").read_text("utf-8")
    assert (folder / "LICENSE").is_file()
    assert bool(list(folder.rglob("teaching/*.md"))) == (edition == "instructor")


@pytest.mark.slow
@pytest.mark.parametrize("edition", PAGES)
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
    stands, telling = exercises.cells(source), exercises.telling(source, name)
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


@pytest.mark.slow
def test_the_cells_of_code_are_the_books(made: Path) -> None:
    """So what runs in one of these editions runs in the others."""

    def code(cells: list[NotebookNode]) -> list[str]:
        return [cell.source for cell in cells if cell.cell_type == "code"]

    for page in NOTEBOOKS:
        book = code(nbformat.read(ROOT / "book" / page, as_version=4).cells)
        assert code(cells(made, "student", page)) == book
        assert code(cells(made, "plain", page))[1:] == book
        assert len(code(cells(made, "instructor", page))) == len(book)


@pytest.mark.slow
@pytest.mark.parametrize("edition", editions.EDITIONS)
def test_every_notebook_ends_with_the_version_of_its_wheel(edition: str, made: Path) -> None:
    folder = made / f"attention-notes-{edition}"
    (wheel,) = folder.glob("*.whl")
    version = wheel.name.split("-")[1]
    paths = list(folder.rglob("*.ipynb"))
    assert len(paths) == len(NOTEBOOKS)
    for path in paths:
        last = nbformat.read(path, as_version=4).cells[-1]
        assert last.cell_type == "markdown" and last.source.split()[2] == version
    assert version in (folder / "README.txt").read_text("utf-8").splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("edition", editions.EDITIONS)
def test_nothing_is_said_that_is_true_elsewhere_only(edition: str, made: Path) -> None:
    """An edition has no Makefile, and no page of the site but the notebooks."""
    folder = made / f"attention-notes-{edition}"
    texts = {path: path.read_text("utf-8") for path in folder.rglob("README.txt")}
    for path in folder.rglob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        texts[path] = "\n".join(cell.source for cell in cells)
    # How lessons reach a class is about the book's source, and says so.
    ours = ("costs", "department")
    notes = [path for path in folder.rglob("teaching/*.md") if path.stem not in ours]
    said = {path: found[0] for path, text in texts.items() if (found := ELSEWHERE.search(text))}
    assert not said and len(texts) > len(NOTEBOOKS)
    assert not [path for path in notes if "`make" in path.read_text("utf-8")]
    assert ELSEWHERE.search("with `make lab` (see the first page)")


def test_a_dead_link_in_brackets_goes_with_them() -> None:
    text = (
        "Run it ([how](index.md)), see [that](index.md), [this](there.ipynb) (or [w](https://w))."
    )
    found = editions.without_dead_links(
        text, Path("here.ipynb"), {Path("there.ipynb")}.__contains__
    )
    assert found == "Run it, see that, [this](there.ipynb) (or [w](https://w))."
    assert editions.without_dead_links(
        "a ([b](b.ipynb))", Path("c"), {Path("b.ipynb")}.__contains__
    ) == ("a ([b](b.ipynb))")


class Installed:
    """Stands in for what is installed, and for pip."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.version: str | None = None
        self.url = {}
        self.asked: list[str] = []
        monkeypatch.setattr(importlib.metadata, "distribution", self.distribution)
        monkeypatch.setattr(subprocess, "run", self.run)

    def distribution(self, name: str) -> "Installed":
        if self.version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return self

    def read_text(self, name: str) -> str | None:
        return json.dumps(self.url) if self.url else None

    def run(self, command: list[str], check: bool) -> None:
        assert check and command[:4] == [sys.executable, "-m", "pip", "install"]
        self.asked.append(command[-1])


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Installed:
    """Nothing so far; the working directory is empty."""
    monkeypatch.chdir(tmp_path)
    return Installed(monkeypatch)


def first_cell(version: str, repository: str = "") -> str:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title")])
    return str(editions.in_plain(notebook, version, repository).cells[1].source)


OLD, NEW = "0.2.0+20261124.g1234567", "0.2.0+20261201.gabcdef0"


@pytest.mark.parametrize("folder", ["", "evidence"])
def test_the_first_cell_installs_the_wheel_beside_it_unless_it_is_there(
    folder: str,
    installed: Installed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "evidence").mkdir()
    monkeypatch.chdir(tmp_path / folder)
    for version in (OLD, NEW):  # two wheels beside a notebook: the newer
        wheel = tmp_path / f"attn_notes-{version}-py3-none-any.whl"
        wheel.touch()
        for there in (None, "0.2.0", OLD, NEW):
            installed.version = there
            exec(first_cell(OLD), {})
            wanted = [f"attn-notes[book] @ {wheel.as_uri()}"] if there != version else []
            assert installed.asked == wanted
            installed.asked.clear()
    # This process has imported the package, as somebody may have who put the new wheel there.
    assert capsys.readouterr().out.count("restart the kernel") == 6


@pytest.mark.parametrize("later", ["0.2.0+20261201.g1abcdef", "0.2.0+20261201.gfedcba9"])
def test_of_two_wheels_of_a_day_the_first_cell_installs_the_later(
    later: str, installed: Installed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever their commits are called."""
    for version, written in ((NEW, 1e9), (later, 1e9 + 60), (OLD, 2e9)):
        wheel = tmp_path / f"attn_notes-{version}-py3-none-any.whl"
        wheel.touch()
        os.utime(wheel, (written, written))
    exec(first_cell(OLD), {})
    assert [later.partition("+")[2] in asked for asked in installed.asked] == [True]
    capsys.readouterr()


def test_without_a_wheel_the_first_cell_takes_its_commit(
    installed: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    address = "https://github.com/somebody/notes"
    for there in (None, "0.2.0", OLD):
        installed.version = there
        exec(first_cell(OLD, address), {})
    assert installed.asked == [f"attn-notes[book] @ git+{address}@1234567"] * 2
    capsys.readouterr()
    installed.asked.clear()
    for cell in (first_cell(OLD), first_cell("0.2.0+d1234567", address)):  # no place, no commit
        installed.version = "0.2.0"
        exec(cell, {})
        assert "0.2.0 is installed, and stays" in capsys.readouterr().out
        installed.version = None
        with pytest.raises(FileNotFoundError, match="beside this notebook"):
            exec(cell, {})
    assert installed.asked == []


def test_the_first_cell_leaves_a_package_that_somebody_works_on(
    installed: Installed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"attn_notes-{NEW}-py3-none-any.whl").touch()
    installed.version, installed.url = "0.2.0", {"dir_info": {"editable": True}}
    exec(first_cell(OLD), {})
    assert installed.asked == [] and f"wants version {NEW}" in capsys.readouterr().out


ALONE = """\
import importlib.metadata, os
def distribution(name):
    for found in importlib.metadata.distributions(name=name, path=[os.environ["PIP_TARGET"]]):
        return found
    raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.distribution = distribution
"""
"""Before the first cell: only what pip has installed into a folder of its own is there."""


@pytest.mark.slow
def test_pip_installs_what_the_first_cell_asks_for(wheel: Path, tmp_path: Path) -> None:
    """Once: then it is there, wheel or no wheel."""
    version, target, beside = wheel.name.split("-")[1], tmp_path / "target", tmp_path / wheel.name
    shutil.copy(wheel, beside)
    settings = {"PIP_TARGET": str(target), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
    for _ in range(2):
        command = [sys.executable, "-c", ALONE + first_cell(version)]
        env = os.environ | settings
        said = subprocess.run(command, cwd=tmp_path, env=env, check=True, stdout=subprocess.PIPE)
        assert said.stdout == b""
        beside.unlink(missing_ok=True)
    (found,) = target.glob("*.dist-info")
    assert found.name == f"attn_notes-{version}.dist-info"
    assert f'"{version}"' in (target / "attn_notes" / "__init__.py").read_text("utf-8")


# An edition that somebody has begun


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return exercises.little_book(tmp_path)


def run(book: Path, *command: str) -> int:
    return build.main([*command, "--root", str(book)])


@pytest.mark.parametrize(
    ("edition", "path", "told"),
    [
        ("student", "answers/tiny.ipynb", "answers/"),
        ("plain", "tiny.ipynb", "tiny.ipynb (changed)"),
        ("student", "predictions-tiny.json", "predictions-tiny.json"),
    ],
)
def test_an_edition_that_somebody_has_begun_is_not_touched(
    edition: str, path: str, told: str, book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, begun = book / editions.FOLDER, Path(f"attention-notes-{edition}") / path
    assert run(book, "editions") == 0
    (made / begun).parent.mkdir(parents=True, exist_ok=True)
    (made / begun).write_text("mine", "utf-8")
    before = exercises.contents(book)
    for command in ("editions", "clean"):
        capsys.readouterr()
        assert run(book, command) == 1
        said = capsys.readouterr().err
        assert f"{told}\n" in said and "Nothing has been changed" in said
        assert exercises.contents(book) == before
    made.rename(book / "course")  # as the sentence says
    assert run(book, "editions") == 0 and run(book, "clean") == 0
    assert (book / "course" / begun).read_text("utf-8") == "mine"


def test_a_folder_of_something_else_is_not_touched(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = exercises.contents(book)
    assert run(book, "editions", "--into", str(book)) == 1
    assert "    LICENSE\n" in capsys.readouterr().err
    assert exercises.contents(book) == before


LESSONS = [(edition, path.stem) for edition in PAGES for path in exercises.CHAPTERS]


# What differs in an instructor's are the solutions, which run as well.
@pytest.mark.slow
@pytest.mark.now("instructor-deep_qkv")
@pytest.mark.parametrize("lesson", LESSONS, ids="-".join)
def test_a_lesson_of_an_edition_runs_fast_where_there_is_nothing_else(
    lesson: tuple[str, str], made: Path, environment: dict[str, str]
) -> None:
    """With the recorded runs that the wheel brings, and nothing trained."""
    edition, stem = lesson
    execute(made / f"attention-notes-{edition}" / f"{stem}.ipynb", environment | {"FAST": "1"})


def execute(path: Path, environment: dict[str, str]) -> None:
    """Run a notebook in its folder, with the tree that the tests run in out of reach."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(AWAY))
    notebook.cells.append(nbformat.v4.new_code_cell(f"import sys\n{NOT_ASTRAY}"))
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=900, resources=resources).execute(env=environment)
    assert json.dumps(notebook.cells[-1].outputs) == "[]"


SHORT = {("plain", Path("evidence/deep_qkv.ipynb"))}


@pytest.mark.long
@pytest.mark.parametrize(
    ("edition", "page"),
    [
        pytest.param(
            *(edition, page),
            marks=pytest.mark.slow if (edition, page) in SHORT else pytest.mark.long,
            id=f"{edition}-{page}",
        )
        for edition in PAGES
        for page in NOTEBOOKS
    ],
)
def test_a_page_runs_where_there_is_nothing_but_its_edition(
    edition: str, page: Path, made: Path, environment: dict[str, str]
) -> None:
    execute(made / f"attention-notes-{edition}" / page, environment)
