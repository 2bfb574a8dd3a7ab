"""The pipeline, on a book of one tiny chapter: what is executed, when, and what is kept."""

import ast
import contextlib
import dataclasses
import functools
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from unittest.mock import Mock

import matplotlib
import nbformat
import pooch
import pytest

from attn_notes.tasks import text
from book import build
from book.course import course
from book.site import dependencies, execution, files, running

from .exercises import ROOT, written

TINY = "book/lessons/tiny/tiny.ipynb"
FILES = {
    "_config.yml": "title: Tiny\nexecute:\n  execute_notebooks: 'off'\n",
    "_toc.yml": "format: jb-book\nroot: book/index\nchapters:\n- file: book/lessons/tiny/tiny\n",
    "requirements.txt": "# pins\nnumpy==2.4.6\n",
    "book/index.md": "# Tiny\n",
    "book/lessons/tiny/records/tiny_rates.json": "[1, 2]",
    "book/lessons/other/records/other_rates.json": "[3]",
    **dict.fromkeys(("attn_notes/__init__.py", "book/__init__.py"), '__version__ = "1.0"\n'),
    **{f"attn_notes/{name}.py": "" for name in ("late", "models/__init__", "tasks/__init__")},
    **{f"attn_notes/tasks/{name}.py": "" for name in ("letters", "unrelated")},
    "attn_notes/models/tiny.py": (
        "from ..tasks import letters\n"
        "def answer():\n    from attn_notes import late\n    return 42\n"
    ),
    "book/page/tiny.py": (
        "import pathlib\nimport anywidget\nimport traitlets\n"
        "class Tiny(anywidget.AnyWidget):\n"
        "    _esm = pathlib.Path(__file__).with_suffix('.js')\n"
        "    weights = traitlets.Bytes(b'abc').tag(sync=True)\n"
    ),
    "book/page/tiny.js": "export default { render() {} }",
    **{f"book/page/{name}": "" for name in ("__init__.py", "_theme.css", "unrelated.css")},
}
CODE = [
    "%%time\nfrom attn_notes.models.tiny import answer\nimport book.page.tiny as widgets",
    "print(answer(), len(open('records/tiny_rates.json').read()))",
    "import os, sys\nprint(sys.executable, os.environ['OMP_NUM_THREADS'], answer.__module__)",
    "import matplotlib\nprint(matplotlib.matplotlib_fname(), 'mine' in globals())",
    "from IPython.display import SVG, display\n"
    "display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>'))",
    "widgets.Tiny()",
]
IMAGE_CELL = 4


def write_notebook(root, code=CODE, prose="# The sorter", tags=(), name="tiny", **metadata):
    cells = [nbformat.v4.new_markdown_cell(prose)]
    cells += [nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}) for source in code]
    metadata["kernelspec"] = running.KERNELSPEC
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    return written(root, {str(dependencies.lesson_page(name)): nbformat.writes(notebook)})


def chapter(root):
    (only,) = dependencies.read_chapters(root)
    return only


def kept(root):
    return sorted(path.name for path in (root / ".cache/executed").glob("*"))


class InstantRun:
    """Stands in for a run: it has ended well at once, without outputs."""

    returncode, seconds = 0, 7.0

    def __init__(self, chapter, folder):
        self.chapter, self.notebook = chapter, folder / chapter.path.name
        folder.mkdir()
        nbformat.write(running.code_only(chapter), self.notebook)

    def close(self):
        pass


@pytest.fixture
def rendered(monkeypatch):
    """Where a site was pretended to be rendered, each time."""
    outputs = []

    def render(folder, output, besides=None):
        outputs.append(output)
        shutil.copytree(folder / "site", output / "_build/html", dirs_exist_ok=True)

    monkeypatch.setattr(build, "render", render)
    return outputs


@pytest.fixture
def project(tmp_path):
    return write_notebook(written(tmp_path / "project", FILES))


@pytest.fixture
def instant(project, monkeypatch):
    monkeypatch.setattr(execution, "Run", InstantRun)
    execution.execute(project)
    return project


@pytest.fixture
def main(project, capsys):
    def call(*command):
        code = build.main([*command, "--root", str(project)])
        return code, "".join(capsys.readouterr())

    return call


@contextlib.contextmanager
def full_disk(size):
    """No file can grow beyond `size` bytes: writing it stops on the way, with an error."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def settings_of_a_user(home):
    """Environment variables of someone whose settings, in `home` and beside it, break a run."""
    profile, backend = ".ipython/profile_default", "backend: not-a-backend"
    kernel = {"argv": ["not-a-kernel"], "display_name": "Mine", "language": "python"}
    theirs = {
        "jupyter/kernels/python3/kernel.json": kernel,
        f"{profile}/startup/mine.py": "mine = 1",
        f"{profile}/ipython_kernel_config.py": "get_config().IPKernelApp.exec_lines = ['mine = 1']",
        **dict.fromkeys((".config/matplotlib/matplotlibrc", "matplotlibrc"), backend),
    }
    written(home, theirs)
    settings = dict.fromkeys(("HOME", "MATPLOTLIBRC", "XDG_DATA_HOME"), str(home))
    settings |= {"JUPYTER_PATH": f"{home}/jupyter"}
    settings |= {"IPYTHONDIR": f"{home}/.ipython", "MPLCONFIGDIR": f"{home}/.config/matplotlib"}
    settings |= {"XDG_CONFIG_HOME": f"{home}/.config", "MPLBACKEND": "not-a-backend"}
    settings |= {"OMP_NUM_THREADS": "2", "PYTEST_ADDOPTS": "--no-such-option"}
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | settings


def started(root, *command, **given):
    line = [sys.executable, ROOT / "book/build.py", *command, "--root", root]
    return subprocess.Popen(line, text=True, **given)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tiny book, executed by a process that had to wait for another build, and what it said.

    It is started by someone whose own settings would break it, in a path that is not plain.
    """
    root = write_notebook(written(tmp_path_factory.mktemp("built") / "Mein schönes Buch", FILES))
    settings = settings_of_a_user(tmp_path_factory.mktemp("home"))
    with execution.only_build(root):
        process = started(root, "execute", env=settings, stdout=subprocess.PIPE)
        said = process.stdout.readline()
        assert not kept(root)
    said += process.communicate()[0]
    assert process.returncode == 0
    return root, said


# When a chapter is executed: its key


def test_chapter_depends_on_what_its_imports_reach_and_its_key_follows_that_alone(project):
    others = {"_config.yml", "_toc.yml", "requirements.txt", "book/index.md"}
    others |= {"attn_notes/tasks/unrelated.py", "book/lessons/other/records/other_rates.json"}
    reached = {*FILES} - others
    assert {*chapter(project).files} == reached
    for name, content in FILES.items():
        before = chapter(project).key
        (project / name).write_text(f"{content}\n")
        assert (chapter(project).key != before) == (name in reached), name
    before = chapter(project).key
    path = write_notebook(project, prose="# The sorter, told better") / TINY
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].execution_count = 7
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="old")]
    notebook.metadata["widgets"] = {}
    nbformat.write(notebook, path)
    assert chapter(project).key == before


def test_key_follows_code_tags_pins_versions_and_how_it_runs(project, tmp_path, monkeypatch):
    keys = [chapter(project).key]

    def is_another():
        keys.append(chapter(project).key)
        return keys[-1] not in keys[:-1]

    for changed in ({"code": [*CODE, "1"]}, {"code": CODE[::-1]}, {"tags": ["raises-exception"]}):
        write_notebook(project, **changed)
        assert is_another()
    for pins, another in (("# words\nnumpy==2.4.6  # why\n", False), ("numpy==2.4.5\n", True)):
        (project / "requirements.txt").write_text(pins)
        assert is_another() == another
    for name in ("_view.js", "view.css", "view.md", "view.yml"):  # what a widget is made of
        (project / "book" / "page" / name).write_text("1")
        assert is_another() == (name[-3:] in (".js", "css"))
    assert [path.name for path in dependencies.RUNNING] == ["running.py", "settings.py"]
    copies = [tmp_path / path.name for path in dependencies.RUNNING]
    monkeypatch.setattr(dependencies, "RUNNING", copies)
    for content in ("aa", "ba", "bb"):
        for copy, letter in zip(copies, content, strict=True):
            copy.write_text(letter)
        assert is_another()
    with monkeypatch.context() as patch:
        patch.setattr(dependencies.importlib.metadata, "version", lambda name: "0")
        assert is_another()
    monkeypatch.setattr(dependencies.sys, "version_info", (3, 99))
    assert is_another()


@pytest.mark.slow
def test_reaches_all_that_python_loads():
    """For the real chapters: what their imports load is among what they are said to depend on."""
    program, reachable = ["import sys"], []
    for path in dependencies.notebook_paths(ROOT):
        cells = nbformat.read(ROOT / path, as_version=4).cells
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        code = "\n".join(map(dependencies.python_code, code))
        reachable.append(set(dependencies.reachable_modules(ROOT, code)))
        nodes = ast.walk(ast.parse(code))
        program += [ast.unparse(n) for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
        program += ["ours = [m for m in sys.modules if m.split('.')[0] in ('attn_notes', 'book')]"]
        program += ["print(*ours)", "for m in ours: del sys.modules[m]"]  # the next from nothing
    command = [sys.executable, "-c", "\n".join(program)]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    loaded = [set(line.split()) for line in said.splitlines()]
    assert len(loaded) == len(reachable) >= 5 and all(loaded)
    assert all(some <= all_ for some, all_ in zip(loaded, reachable, strict=True))


def test_two_notebooks_of_one_name_are_refused(project):
    """One of them may lie alone in somebody's downloads; and each has its executed copy."""
    (project / "_toc.yml").write_text(f"root: {TINY}\nchapters:\n- file: book/tiny\n")
    shutil.copy(project / TINY, project / "book")
    with pytest.raises(dependencies.BookError, match=rf"^book/tiny\.ipynb .* {TINY}"):
        dependencies.read_chapters(project)


# Executing


@pytest.mark.slow
def test_it_waits_for_another_build_and_runs_here_on_one_thread_without_the_users_settings(built):
    """The settings of `built` are broken; here only what they would show is asked for."""
    root, said = built
    waiting, executing, executed = said.splitlines()
    assert waiting == "Waiting for another build of this book to end ..."
    assert executing == "Executing tiny.ipynb ..."
    assert executed.startswith("Executed tiny.ipynb in ")
    cells = build.with_outputs(root, chapter(root)).cells[2:5]
    answered, where, settings = ("".join(out.text for out in cell.outputs) for cell in cells)
    assert answered == "42 6\n" and where == f"{sys.executable} 1 attn_notes.models.tiny\n"
    settings, mine = settings.rsplit(maxsplit=1)  # a path may hold spaces
    assert Path(settings).parent == Path(matplotlib.get_data_path()) and mine == "False"


@pytest.mark.slow
def test_nothing_is_executed_again_and_outputs_meet_todays_prose(built, capsys):
    root, _ = built
    before = kept(root)
    execution.execute(root)
    assert "nothing to execute" in capsys.readouterr().out
    assert kept(root) == before == [chapter(root).executed_name]
    notebook = build.with_outputs(write_notebook(root, prose="# Today's prose"), chapter(root))
    assert notebook.cells[0].source == "# Today's prose"
    assert notebook.cells[1 + IMAGE_CELL].outputs[0].output_type == "display_data"
    view = notebook.cells[-1].outputs[0].data["application/vnd.jupyter.widget-view+json"]
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"].state
    state = states[view.model_id]
    assert state.state["_esm"] == FILES["book/page/tiny.js"]
    assert [buffer["data"] for buffer in state["buffers"]] == ["YWJj"]  # b"abc"
    write_notebook(root, code=[*CODE, "1"])
    with pytest.raises(dependencies.BookError, match="execute it first"):
        build.with_outputs(root, chapter(root))
    write_notebook(root)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Where what is downloaded will be."""
    monkeypatch.setenv("ATTN_NOTES_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_download_that_came_makes_the_chapters_that_read_it_run_again(project, data):
    written(project, {dependencies.DOWNLOADS: ""})
    write_notebook(project, code=["from attn_notes.tasks import text"])
    offline = chapter(project).key
    written(data, {dependencies.DOWNLOADED: "To be"})
    here = chapter(project).key
    assert here != offline
    written(data, {"more.txt": "or not"})
    assert chapter(project).key == here  # nobody reads it
    without = chapter(write_notebook(project, code=["import attn_notes"])).key
    written(data, {dependencies.DOWNLOADED: "To be, or not"})
    assert chapter(project).key == without


FETCH = """\
import os
from pathlib import Path

def tiny_shakespeare():
    with (Path(os.environ['ATTN_NOTES_DATA']) / 'tinyshakespeare.txt').open('x') as file:
        file.write('To be')
"""


def test_what_is_at_hand_is_not_downloaded_again(project, data, tmp_path, monkeypatch):
    written(project, {dependencies.DOWNLOADS: FETCH})
    data.mkdir()
    for _ in range(2):  # the second time it is there, and could not be written again
        execution.fetch_data(project, tmp_path)
    assert dependencies.data_at_hand() == {"tinyshakespeare.txt": 5}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTN_NOTES_DATA", "data")
    assert running.environment(tmp_path, tmp_path)["ATTN_NOTES_DATA"] == str(data)


@pytest.mark.usefixtures("data")
def test_offline_a_sentence_says_so_and_what_does_not_run_stops_the_build(
    project, tmp_path, monkeypatch, capfd
):
    code = "import warnings\n\ndef tiny_shakespeare():\n    warnings.warn('It is not there.')\n"
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    execution.fetch_data(written(project, {dependencies.DOWNLOADS: code}), tmp_path)
    assert capfd.readouterr() == ("It is not there.\n", "")
    broken = written(project, {dependencies.DOWNLOADS: "import nothing_of_that_name\n"})
    with pytest.raises(dependencies.BookError, match=r"tasks/text\.py does not run"):
        execution.fetch_data(broken, tmp_path)
    assert "No module named 'nothing_of_that_name'" in capfd.readouterr().err


def test_the_download_is_looked_for_where_the_package_keeps_it(tmp_path, monkeypatch):
    asked = Mock(side_effect=OSError)
    monkeypatch.setattr(pooch, "retrieve", asked)
    assert dependencies.CACHE == text.CACHE and Path(text.__file__) == ROOT / dependencies.DOWNLOADS
    for folder in ("", str(tmp_path)):
        monkeypatch.setenv(text.CACHE, folder)
        with pytest.warns(text.FallbackWarning):
            text.tiny_shakespeare()
        told = asked.call_args.kwargs
        there = (Path(told["path"]) / told["fname"]).resolve()
        assert there == dependencies.data_folder() / dependencies.DOWNLOADED
    monkeypatch.setattr(Path, "stat", Mock(side_effect=PermissionError))
    assert dependencies.data_at_hand() == {}  # of a folder that cannot be looked into
    with pytest.warns(text.FallbackWarning):
        text.tiny_shakespeare()


@pytest.mark.slow
def test_failing_cell_is_shown_and_nothing_is_kept(project, capsys):
    """What fails is to read what the key does not cover: no output can depend on it unwatched."""
    last = "nonsense = importlib.import_module('attn_notes.tasks.unrelated')"
    listed = "import importlib, os\nassert os.listdir('records') == ['tiny_rates.json']"
    with pytest.raises(dependencies.BookError, match=r"tiny\.ipynb"):
        execution.execute(write_notebook(project, [listed, "import attn_notes", last]))
    shown = capsys.readouterr().err
    assert last in shown and ".cache" not in shown
    assert "No module named 'attn_notes.tasks'" in shown and kept(project) == []


BROKEN = [
    *(b"\x80\x00", b"[]", b"{}", b'{"cells": ['),
    b'{"nbformat": 4, "nbformat_minor": 5, "metadata": [], "cells": []}',
    b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}',  # another notebook
]


@pytest.mark.slow
def test_what_is_no_executed_copy_is_made_anew(instant):
    (name,) = kept(instant)
    copy = instant / ".cache/executed" / name
    odd = copy.read_bytes().replace(b'"outputs": []', b'"outputs": [{"a": 1}]')
    for broken in (*({name: content} for content in (*BROKEN, odd)), {f"{name}/a folder": ""}):
        copy.unlink()
        written(copy.parent, broken)
        with pytest.raises(dependencies.BookError, match="execute it first"):
            build.site_sources(instant)
        execution.execute(instant)
        assert kept(instant) == [name], broken
        assert build.site_sources(instant)


def test_a_chapter_that_is_no_notebook_is_named(project, main):
    (project / TINY).write_text("{")
    for command in ("execute", "site", "strip"):
        code, said = main(command)
        assert code == 1 and "tiny.ipynb is not a notebook" in said


# The order


def test_the_longest_chapter_starts_first(project, monkeypatch):
    """By the last time that is known; before there is one, by what its notebook says."""
    order = []

    class TimedRun(InstantRun):
        def __init__(self, chapter, folder):
            super().__init__(chapter, folder)
            order.append(chapter.name)
            self.seconds = float(chapter.name.partition("_")[2])

    monkeypatch.setattr(execution, "Run", TimedRun)
    said = {"of_10": 40, "of_40": 30, "of_20": 20, "of_30": 10}
    pages = "".join(f"- file: book/lessons/{name}/{name}\n" for name in said)
    (project / "_toc.yml").write_text(f"root: book/index\nchapters:\n{pages}")
    for code in ("1", "2"):
        for name, seconds in said.items():
            write_notebook(project, [code], name=name, seconds_to_execute=seconds)
        execution.execute(project)
    assert order == [*said, "of_40", "of_30", "of_20", "of_10"]


def test_every_chapter_says_how_long_it_takes():
    for path in dependencies.notebook_paths(ROOT):
        notebook = dependencies.read_notebook(ROOT / path)
        assert notebook.metadata[execution.SECONDS] in range(2, 3600), path


def test_two_run_side_by_side(project, monkeypatch):
    alive, most = set(), []

    class SlowRun(InstantRun):
        def __init__(self, chapter, folder):
            super().__init__(chapter, folder)
            alive.add(self)
            most.append(len(alive))

        # The first ends when there is a second.
        returncode = property(lambda self: 0 if len(most) > 1 else None)

        def close(self):
            alive.remove(self)

    chapters = [dataclasses.replace(chapter(project), path=Path(f"book/{i}.ipynb")) for i in "abc"]
    monkeypatch.setattr(execution, "Run", SlowRun)
    ended = [run.chapter.path.stem for run in execution.ended_runs(chapters, project)]
    assert ended == ["a", "b", "c"] and not alive and max(most) == execution.AT_ONCE == 2


# The site


def test_site_is_rendered_when_something_changed(instant, rendered, monkeypatch, capsys):
    """Or is of another commit: each page says which. Bytecode is part of nothing."""
    html, stamp = instant / "_build/html", instant / "_build/made_of"
    more, commit = instant / "book/more.md", "1.0+20261124.g1234567"

    def no_stamp():
        stamp.unlink()
        stamp.mkdir()

    for change in (
        lambda: None, lambda: write_notebook(instant, prose="# Another title"),
        lambda: more.write_text("# More"), more.unlink, lambda: (html / "book/index.md").unlink(),
        lambda: (html / "book/index.md").write_text("cut"), lambda: shutil.rmtree(html),
        lambda: stamp.write_bytes(b"\x80"), no_stamp,
        lambda: monkeypatch.setattr(build.version, "version", lambda root: commit),
    ):  # fmt: skip
        change()
        for is_new in (True, False):
            before = len(rendered)
            build.site(instant)
            assert (len(rendered) > before) == is_new
            assert ("nothing has changed" in capsys.readouterr().out) != is_new
        assert (html / "book/more.md").exists() == more.exists()
    assert commit in (html / "attn_notes/__init__.py").read_text()
    key, sources = chapter(instant).key, build.site_sources(instant)
    for folder in ("attn_notes", "book/page", "book", "book/lessons"):
        written(instant, {f"{folder}/__pycache__/tiny.cpython-311.pyc": b"\x80"})
    assert chapter(instant).key == key and build.site_sources(instant) == sources


def test_the_folder_of_the_site_is_emptied_but_stays(instant, rendered, monkeypatch):
    """It may be mounted, and then it cannot be removed, or be a link to a folder elsewhere.

    One that was cut short is not taken for whole.
    """
    names = ("html/old", ".doctrees/old", "editions/course")
    elsewhere = written(instant.parent / "elsewhere", dict.fromkeys(names, ""))
    (instant / "_build").symlink_to(elsewhere)
    build.site(instant)
    assert (elsewhere / "html/book/index.md").exists() and not list(elsewhere.rglob("old"))
    assert (elsewhere / "editions/course").exists() and (instant / "_build/made_of").exists()
    monkeypatch.setattr(files, "empty", lambda folder: (_ for _ in ()).throw(KeyboardInterrupt))
    write_notebook(instant, prose="# Another title")
    with pytest.raises(KeyboardInterrupt):
        build.site(instant)
    assert not (instant / "_build/made_of").exists()


def test_a_courses_site_is_told_no_address_and_made_once(instant, tmp_path, monkeypatch):
    told = []

    def render(folder, output, besides):
        told.append(besides)
        (output / "_build/html").mkdir(parents=True)

    monkeypatch.setattr(build, "render", render)
    new, hints = tmp_path / "new", functools.partial(course.for_site, hints=True)
    assert build.course_site(instant, tmp_path / "old", tmp_path / "none", hints)
    unread = "course/exams.py paper/decks.py editions/more.py build.py teaching/x.md"
    of_tiny = (f"lessons/tiny/{name}" for name in ("teaching.md", "questions.yml"))
    for path in (*unread.split(), *of_tiny):
        written(instant, {f"book/{path}": "another"})
        assert not build.course_site(instant, new, tmp_path / "old", hints), path
    (instant / "book/more.md").write_text("# More")
    assert build.course_site(instant, new, tmp_path / "old", hints)
    assert told == [{"SITE_URL": "", "SITE_REPOSITORY": ""}] * 2


@pytest.mark.slow
def test_site_has_todays_title_and_todays_package(built, monkeypatch):
    """Also for someone without a home, whose Python drops docstrings and fails on warnings."""
    root, _ = built
    theirs = {"HOME": str(root / "_toc.yml"), "PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error"}
    for name, value in theirs.items():
        monkeypatch.setenv(name, value)
    build.site(write_notebook(root, prose="# Today's title"))
    html = root / "_build/html/book"
    assert "Today’s title" in (html / "index.html").read_text("utf-8")
    assert "42 6" in (html / "lessons/tiny/tiny.html").read_text("utf-8")


@pytest.mark.slow
def test_one_lesson_is_a_page_and_what_has_changed_shows(built, tmp_path, monkeypatch):
    root = shutil.copytree(built[0], tmp_path / "mine")
    monkeypatch.setenv("FAST", "1")
    for title in ("Today", "Tomorrow"):
        said = build.page(write_notebook(root, prose=f"# {title}"), "tiny").read_text("utf-8")
        assert f"<h1>{title}" in said and "42 6" in said


def test_one_lesson_needs_no_other_executed(project, rendered, monkeypatch, main):
    monkeypatch.setattr(execution, "Run", InstantRun)
    monkeypatch.setenv("FAST", "")
    write_notebook(project, name="other")
    (project / "_toc.yml").write_text(FILES["_toc.yml"] + "- file: book/lessons/other/other\n")
    (project / "book/index.md").write_text("# Tiny\n\n```{live-widget} other\n```\n\nEnd.\n")
    page = build.page(project, "tiny")
    assert [name.partition("-")[0] for name in kept(project)] == ["tiny"] and len(rendered) == 1
    assert page.name == "tiny.html" and os.environ["FAST"] == "1"
    assert "live" not in (page.parents[2] / "index.md").read_text()
    (project / "book/lessons/other/other.ipynb").unlink()  # and what is gone is not shown
    (project / "_toc.yml").write_text(FILES["_toc.yml"])
    build.page(project, "tiny")
    assert not list((project / "_build/page/site").rglob("other.ipynb"))
    code, said = main("page", "cats")
    assert code == 1 and said.endswith("Which lesson? LESSON=tiny\n")


@pytest.mark.slow
def test_warning_fails_the_site(built, capfd):
    root, _ = built
    (root / "book/index.md").write_text("# Tiny\n\n[](missing.md)\n")
    with pytest.raises(dependencies.BookError):
        build.site(root)
    said = capfd.readouterr().err
    assert "index.md:3" in said and ".cache" not in said
    assert not (root / "_build/made_of").exists()
    (root / "book/index.md").write_text(FILES["book/index.md"])


# What goes wrong around it


def test_a_full_disk_is_a_sentence_and_keeps_what_there_was(project, rendered, monkeypatch, main):
    def fails(command):
        with full_disk(1000):
            code, said = main(command)
        return code == 1 and "File too large" in said.splitlines()[-1]

    monkeypatch.setattr(execution, "Run", InstantRun)
    assert fails("execute") and kept(project) == []
    execution.execute(project)
    assert fails("site") and not (project / "_build/made_of").exists()
    with_outputs = nbformat.writes(build.with_outputs(project, chapter(project)))
    (project / TINY).write_text(with_outputs)
    assert fails("strip") and (project / TINY).read_text() == with_outputs
    assert not list(project.rglob("*.part"))


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(path)
    files.write_whole(link, b"old")
    with full_disk(1000), pytest.raises(OSError, match="File too large"):
        files.write_whole(link, bytes(2000))
    assert link.is_symlink() and path.read_bytes() == b"old" and len([*tmp_path.iterdir()]) == 2


def test_a_program_that_failed_on_a_full_disk_shows_no_traceback(project, monkeypatch, main):
    class FailedRun(InstantRun):
        returncode = 1
        report = "Traceback"

    monkeypatch.setattr(execution, "Run", FailedRun)
    with full_disk(2**19):
        code, said = main("execute")
    assert code == 1 and said.endswith("...\nThe build stopped: File too large.\n")
    code, said = main("execute")
    assert code == 1 and "Traceback" in said


def test_a_tree_that_cannot_be_written_is_a_sentence(project, main):
    code, said = main("serve")
    assert code == 1 and "There is no site yet" in said
    (project / ".cache").write_text("")  # for root too, who may write whatever is read-only
    for command in ("execute", "site"):
        code, said = main(command)
        assert code == 1 and str(project / ".cache") in said and said.count("\n") == 1


def test_each_build_has_a_folder_of_its_own(project):
    with execution.only_build(project) as first:
        (first / "left").mkdir()
    assert not first.exists()
    (project / ".cache/running/killed").mkdir(parents=True)
    with execution.only_build(project) as second:
        assert second != first and [*second.parent.iterdir()] == [second]


INTERRUPTS = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
"""A shell ignores interrupts in what it starts in the background, tests and all that they start."""


@pytest.mark.slow
@pytest.mark.by_day
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=repr)
def test_a_kernel_ends_with_its_build(project, tmp_path, number):
    """It writes into a file for as long as it runs."""
    beat = tmp_path / "beat"
    write = f"pathlib.Path({str(beat)!r}).write_text(str(time.time()))"
    write_notebook(project, [f"import pathlib, time\nwhile True: {write}; time.sleep(0.1)"])

    def goes_on():
        before = beat.read_text()
        time.sleep(1)
        return beat.read_text() != before

    with started(project, "execute", stderr=subprocess.PIPE, preexec_fn=INTERRUPTS) as process:
        try:
            while not beat.exists():
                assert process.poll() is None
                time.sleep(0.1)
            assert goes_on()
            process.send_signal(number)
            interrupted = number == signal.SIGINT
            assert process.wait(20) == (130 if interrupted else -number)
            assert process.stderr.read() == ("Interrupted.\n" if interrupted else "")
        finally:
            process.kill()
    assert not all(goes_on() for _ in range(10))
    assert kept(project) == []


@pytest.mark.slow
def test_strip_leaves_what_was_written(built, capsys):
    root, _ = built
    build.strip(write_notebook(root))
    stripped = (root / TINY).read_bytes()
    notebook = build.with_outputs(root, chapter(root))
    assert notebook.metadata.widgets
    nbformat.write(notebook, root / TINY)
    for said in ("Stripped ", ""):
        capsys.readouterr()
        build.strip(root)
        assert (root / TINY).read_bytes() == stripped
        assert capsys.readouterr().out.partition("book")[0] == said


def test_what_was_made_is_removed_and_nothing_else(instant, rendered, main):
    build.site(instant)
    written(instant, {"_build/autumn/gradebook.db": ""})
    before = sorted(instant.rglob("*"))
    code, said = main("clean")
    assert code == 1 and "    autumn/\nNothing has been changed. Move it to" in said
    assert sorted(instant.rglob("*")) == before
    (instant / "_build/autumn").rename(instant / "autumn")
    for _ in range(2):  # the second time there is nothing
        assert main("clean") == (0, "")
        assert not (instant / "_build").exists() and not (instant / ".cache").exists()
    assert (instant / "autumn/gradebook.db").exists() and chapter(instant)


# The command line


@pytest.mark.slow
def test_serves_the_site_until_interrupted(project):
    written(project / "_build/html", {"index.html": "A tiny book", "module.js": ""})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(dependencies.BookError, match="name another"):
            build.serve(project, port)
    serving = "serve", "--port", str(port)
    with started(project, *serving, stdout=subprocess.PIPE, preexec_fn=INTERRUPTS) as process:
        try:
            assert f"http://localhost:{port}" in process.stdout.readline()
            for name, text in (("", b"A tiny book"), ("module.js", b"")):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}") as response:
                    assert response.read() == text
                    assert response.headers["Cache-Control"] == "no-cache"
            assert response.headers["Content-Type"] == "text/javascript"
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()


def test_a_browser_that_goes_away_is_no_error(tmp_path, capsys):
    (tmp_path / "large.bin").write_bytes(bytes(2**24))
    handler = functools.partial(build.Handler, directory=tmp_path)
    for answers, said in ((handler, ""), (lambda *args: 1 / 0, "ZeroDivisionError")):
        with build.Server(("127.0.0.1", 0), answers) as server:
            server.daemon_threads = False  # leaving the block waits for the answer to end
            with socket.create_connection(server.server_address) as browser:
                browser.sendall(b"GET /large.bin HTTP/1.1\r\n\r\n")
                server.handle_request()
                if not said:
                    browser.recv(10)  # and goes away before the rest has come
                at_once = struct.pack("ii", 1, 0)
                browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        found = capsys.readouterr().err
        assert said in found and bool(found) == bool(said)
