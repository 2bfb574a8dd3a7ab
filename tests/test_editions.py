"""The notebooks for other places: nothing in them that must not be, and they run."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient

from book import build
from book.editions import editions
from book.site.dependencies import notebook_paths

from . import exercises
from .exercises import ROOT

NOTEBOOKS = [path.relative_to("book") for path in notebook_paths(ROOT)]
PAGES = editions.EDITIONS
EXERCISES = [(page, name) for page in NOTEBOOKS for name in exercises.names(ROOT / "book" / page)]
ELSEWHERE = re.compile(r"\bmake [a-z-]+`|`make|first page|this site|the site\b|sidebar|\.md\b")
"""What only the book's source has, or only its site."""
RAW = re.compile(r":::|^```\{|\{[a-z:]+\}`", re.MULTILINE)  # MyST that Markdown does not know

# Makes the package importable from the folder of the wheel alone, and afterwards says what is not.
AWAY = f"import sys\nsys.path[:] = [place for place in sys.path if place != {str(ROOT)!r}]\n"
NOT_ASTRAY = f"""\
import os, sys
ours = [m.__file__ for name, m in sys.modules.items() if name in ("attn_notes", "book")]
assert ours and all(f.startswith(os.environ["WHEEL"]) for f in ours), ours
assert {str(ROOT)!r} not in sys.path
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("editions")
    for path in editions.editions(ROOT, folder / "made"):
        zipfile.ZipFile(path).extractall(folder)
    return folder


@pytest.fixture(scope="session")
def read(made):
    folders = {name: made / f"attention-notes-{name}" for name in PAGES} | {"book": ROOT / "book"}
    return {
        name: {page: nbformat.read(folder / page, as_version=4).cells for page in NOTEBOOKS}
        for name, folder in folders.items()
    }


def texts(cells, kind="markdown"):
    return [cell.source for cell in cells if cell.cell_type == kind]


@pytest.mark.slow
@pytest.mark.parametrize("edition", PAGES)
def test_an_edition_is_whole_and_leads_nowhere_else(edition, made, read):
    """Every page, and the wheel whose version each ends with; no Makefile, no page of the site."""
    folder = made / f"attention-notes-{edition}"
    assert {path.relative_to(folder) for path in folder.rglob("*.ipynb")} == {*NOTEBOOKS}
    wheel, other = sorted(folder.glob("*.whl"))
    assert "attn_notes/weights/deep-qkv.safetensors" in zipfile.ZipFile(wheel).namelist()
    assert "book/lessons/trm/widget.py" in zipfile.ZipFile(other).namelist()
    version, readme = wheel.name.split("-")[1], (folder / "README.txt").read_text("utf-8")
    assert edition in readme and version in readme.splitlines()[-1]
    assert not ELSEWHERE.search(readme) and (folder / "LICENSE").is_file()
    assert any(folder.rglob("teaching/*.md")) == (edition == "instructor")
    for page, cells in read[edition].items():
        nbformat.validate(nbformat.read(folder / page, as_version=4))
        assert cells[-1].cell_type == "markdown" and cells[-1].source.split()[2] == version, page
        for _, target in editions.LINK.findall("\n".join(texts(cells))):
            there = re.match(r"[a-z]+:|#", target) or (folder / page.parent / target).is_file()
            assert there, (page, target)
        assert not ELSEWHERE.search("\n".join(cell.source for cell in cells)), page
    # How lessons reach a class is about the book's source, and says so.
    notes = [p for p in folder.rglob("*.md") if p.stem not in ("costs", "department")]
    assert not [path for path in notes if "`make" in path.read_text("utf-8")]
    assert ELSEWHERE.search("with `make lab` (see the first page)")


@pytest.mark.slow
def test_cells_are_the_books_but_for_solutions(read):
    """A student finds no line of one's code that stands nowhere else; an instructor's cell has it.

    That it passes, tests/test_book.py tries.
    """
    for page in NOTEBOOKS:
        source, book = ROOT / "book" / page, texts(read["book"][page], "code")
        assert texts(read["student"][page], "code") == book
        assert texts(read["plain"][page], "code")[1:] == book
        there = {c.id: c.source for c in read["book"][page] if c.cell_type == "code"}
        for name in exercises.names(source):
            there[f"exercise-{name}-answer"] = exercises.solution(source, name).strip()
            assert exercises.telling(source, name)
        found = [(c.id, c.source) for c in read["instructor"][page] if c.cell_type == "code"]
        assert found == [*there.items()]
        hints = {name for name in exercises.cells(source) if name.endswith("-hint")}
        for edition in ("student", "plain"):
            cells = read[edition][page]
            assert not exercises.leaks([(page, "\n".join(cell.source for cell in cells))])
            assert hints <= {cell.id for cell in cells}


@pytest.mark.slow
def test_plain_markdown_has_no_directive(read):
    cells = [(page, cell) for page, cells in read["plain"].items() for cell in cells]
    hidden = [c for _, c in cells if "hide-input" in c.metadata.get("tags", [])]
    assert hidden and all(cell.metadata["cellView"] == "form" for cell in hidden)
    raw = [(page, c.id) for page, c in cells if "outputs" not in c and RAW.search(c.source)]
    assert raw == [] and RAW.search(":::{dropdown} Hint\nx\n:::") and RAW.search("{cite:t}`a`")
    assert sum("<details>" in cell.source for _, cell in cells) > len(EXERCISES) / 3  # hints


def test_a_dead_link_in_brackets_goes_with_them():
    text = "Run it ([how](../i.md)), see [that](i.md), [this](../b.ipynb) (or [w](https://w))."
    there = {Path("b.ipynb"), Path("i.md")}
    found = [editions.without_dead_links(text, Path(of), there.__contains__) for of in ("a", "a/b")]
    assert found == [
        "Run it, see [that](i.md), this (or [w](https://w)).",
        "Run it ([how](../i.md)), see that, [this](../b.ipynb) (or [w](https://w)).",
    ]


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Stands in for what is installed, and for pip: nothing so far."""

    def distribution(name):
        if there.version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return there

    def run(command, check):
        assert check and command[:4] == [sys.executable, "-m", "pip", "install"]
        there.asked += command[5:]

    there = SimpleNamespace(version=None, asked=[], read_text=lambda name: None)
    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.chdir(tmp_path)
    return there


def first_cell(version, repository=""):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title")])
    return str(editions.in_plain(notebook, version, repository).cells[1].source)


OLD, NEW = "0.2.0+20261124.g1234567", "0.2.0+20261201.gabcdef0"


def wheels_of(version, folder, written=1e9):
    names = ("attn_notes", "attn_notes_book")
    paths = [folder / f"{name}-{version}-py3-none-any.whl" for name in names]
    for path in paths:
        path.touch()
        os.utime(path, (written, written))
    return [f"{x.replace('_', '-')} @ {y.as_uri()}" for x, y in zip(names, paths, strict=True)]


@pytest.mark.parametrize("folder", ["", "lessons/cats"])
def test_the_first_cell_installs_its_wheel(folder, installed, tmp_path, monkeypatch, capsys):
    (tmp_path / "lessons" / "cats").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / folder)
    for version in (OLD, NEW):  # of two versions beside a notebook the newer
        wheels = wheels_of(version, tmp_path)
        for there in (None, "0.2.0", OLD, NEW):
            installed.version = there
            exec(first_cell(OLD), {})
            assert installed.asked == (wheels if there != version else [])
            installed.asked.clear()
    # This process has imported the package, as somebody may have who put the new wheel there.
    assert capsys.readouterr().out.count("restart the kernel") == 6
    installed.version = "0.2.0"
    installed.read_text = lambda name: '{"dir_info": {"editable": true}}'
    exec(first_cell(OLD), {})  # somebody works on it
    assert installed.asked == [] and f"wants version {NEW}" in capsys.readouterr().out


def test_of_two_wheels_of_a_day_the_later_is_installed(installed, tmp_path):
    for commit in ("g1abcdef", "gfedcba9"):
        later = f"0.2.0+20261201.{commit}"
        for version, written in ((NEW, 1e9), (later, 1e9 + 60), (OLD, 2e9)):
            wheels_of(version, tmp_path, written)
        exec(first_cell(OLD), {})
        assert commit in installed.asked[-1].rpartition("/")[2]
        for wheel in tmp_path.glob("*.whl"):
            wheel.unlink()


def test_without_a_wheel_the_first_cell_takes_a_commit(installed, capsys):
    address = "https://github.com/somebody/notes"
    for installed.version in (None, "0.2.0", OLD):
        exec(first_cell(OLD, address), {})
    source = f"git+{address}@1234567"
    both = [f"attn-notes @ {source}", f"attn-notes-book @ {source}#subdirectory=book"]
    assert installed.asked == both * 2
    for cell in (first_cell(OLD), first_cell("0.2.0+d1234567", address)):  # no place, no commit
        installed.version = "0.2.0"
        exec(cell, {})
        assert "0.2.0 is installed, and stays" in capsys.readouterr().out
        installed.version = None
        with pytest.raises(FileNotFoundError, match="beside this notebook"):
            exec(cell, {})
    assert len(installed.asked) == 4


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
def test_pip_installs_what_the_first_cell_asks_for(wheels, tmp_path):
    version, target = wheels[0].name.split("-")[1], tmp_path / "target"
    beside = [Path(shutil.copy(wheel, tmp_path)) for wheel in wheels]
    env = os.environ | {"PIP_TARGET": str(target), "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
    command = [sys.executable, "-c", ALONE + first_cell(version)]
    for _ in range(2):
        assert subprocess.check_output(command, cwd=tmp_path, env=env) == b""
        for wheel in beside:
            wheel.unlink(missing_ok=True)
    found = {path.name for path in target.glob("*.dist-info")}
    assert found == {f"{name}-{version}.dist-info" for name in ("attn_notes", "attn_notes_book")}
    for package in ("attn_notes", "book"):
        assert f'"{version}"' in (target / package / "__init__.py").read_text("utf-8")


# An edition that somebody has begun


@pytest.fixture
def book(tmp_path):
    return exercises.little_book(tmp_path)


def run(book, *command):
    return build.main([*command, "--root", str(book)])


BEGUN = [
    ("student", "answers/tiny.ipynb", "answers/"),
    ("plain", "lessons/tiny/tiny.ipynb", "lessons/tiny/tiny.ipynb (changed)"),
    ("student", "predictions-tiny.json", "predictions-tiny.json"),
]


@pytest.mark.parametrize(("edition", "path", "told"), BEGUN)
def test_what_somebody_has_begun_is_not_touched(edition, path, told, book, capsys):
    made, begun = book / editions.FOLDER, Path(f"attention-notes-{edition}") / path
    assert run(book, "editions") == 0
    exercises.written(made, {str(begun): "mine"})
    before = exercises.contents(book)
    capsys.readouterr()
    for command, said in (
        (["editions"], f"{told}\n"),
        (["clean"], f"{told}\n"),
        (["editions", "--into", str(book)], "    LICENSE\n"),  # a folder of something else
    ):
        assert run(book, *command) == 1
        assert said in capsys.readouterr().err and exercises.contents(book) == before
    made.rename(book / "course")  # as the sentence says
    assert run(book, "editions") == 0 and run(book, "clean") == 0
    assert (book / "course" / begun).read_text("utf-8") == "mine"


LESSONS = [page.relative_to(ROOT / "book") for page in exercises.CHAPTERS]


# What differs in an instructor's are the solutions, which run as well.
@pytest.mark.slow
@pytest.mark.by_day
@pytest.mark.parametrize("page", NOTEBOOKS, ids=str)
@pytest.mark.parametrize("edition", PAGES)
def test_a_page_runs_where_there_is_nothing_but_its_edition(edition, page, made, environment):
    """A lesson with the recorded runs that the wheel brings; `make book` trains what it trains.

    The tree that the tests run in is out of reach there, and nothing is left in the folder.
    """
    run_alone(made / f"attention-notes-{edition}" / page, page in LESSONS, environment)


@pytest.mark.long
@pytest.mark.parametrize("page", LESSONS, ids=str)
@pytest.mark.parametrize("edition", PAGES)
def test_a_lesson_trains_where_there_is_nothing_but_its_edition(edition, page, made, environment):
    run_alone(made / f"attention-notes-{edition}" / page, False, environment)


def run_alone(path, fast, environment):
    before = {*path.parent.rglob("*")}
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(AWAY))
    notebook.cells.append(nbformat.v4.new_code_cell(NOT_ASTRAY))
    where = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=900, resources=where)
    client.execute(env=environment | {"FAST": str(int(fast))})
    assert notebook.cells[-1].outputs == [] and {*path.parent.rglob("*")} == before
