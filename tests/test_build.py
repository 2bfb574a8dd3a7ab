"""The pipeline, on a book of one tiny chapter: what is executed, when, and what is kept."""

import ast
import functools
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import build
import execution
import nbformat
import pytest
from execution import BookError

from attn_notes.tasks import text

ROOT = Path(__file__).parents[1]

FILES = {
    "_config.yml": "title: Tiny\nexecute:\n  execute_notebooks: 'off'\n",
    "_toc.yml": "format: jb-book\nroot: book/index\nchapters:\n- file: book/tiny\n",
    "requirements.txt": "# pins\nnumpy==2.4.6\n",
    "book/index.md": "# Tiny\n",
    "book/results/tiny_runs.json": "[1, 2]",
    "book/results/other.json": "[3]",
    "attn_notes/__init__.py": "",
    "attn_notes/models/__init__.py": "",
    "attn_notes/models/tiny.py": (
        "from ..tasks import letters\n"
        "def answer():\n    from attn_notes import late\n    return 42\n"
    ),
    "attn_notes/late.py": "",
    "attn_notes/tasks/__init__.py": "",
    "attn_notes/tasks/letters.py": "",
    "attn_notes/tasks/unrelated.py": "",
    "attn_notes/widgets/__init__.py": "",
    "attn_notes/widgets/tiny.py": (
        "import pathlib\nimport anywidget\nimport traitlets\n"
        "class Tiny(anywidget.AnyWidget):\n"
        "    _esm = pathlib.Path(__file__).with_suffix('.js')\n"
        "    weights = traitlets.Bytes(b'abc').tag(sync=True)\n"
    ),
    "attn_notes/widgets/tiny.js": "export default { render() {} }",
    "attn_notes/widgets/_theme.css": "",
    "attn_notes/widgets/unrelated.js": "",
}
CODE = [
    "%%time\nfrom attn_notes.models.tiny import answer\nimport attn_notes.widgets.tiny as widgets",
    "print(answer(), len(open('results/tiny_runs.json').read()))",
    "import os, sys\nprint(sys.executable, os.environ['OMP_NUM_THREADS'], answer.__module__)",
    "from IPython.display import SVG, display\n"
    "display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>'))",
    "widgets.Tiny()",
]
IMAGE_CELL = 3


def write_notebook(root, code=CODE, prose="# The sorter", tags=()):
    cells = [nbformat.v4.new_markdown_cell(prose)]
    cells += [nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}) for source in code]
    metadata = {"kernelspec": execution.KERNELSPEC}
    nbformat.write(
        nbformat.v4.new_notebook(cells=cells, metadata=metadata), root / "book/tiny.ipynb"
    )


def write_project(root, files=FILES):
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    write_notebook(root)
    return root


def chapter(root):
    (only,) = execution.read_chapters(root)
    return only


def kept(root):
    return sorted(path.name for path in (root / ".cache/executed").glob("*"))


@pytest.fixture
def project(tmp_path):
    return write_project(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The tiny book, executed by two processes that were started together, and what they said.

    They are started by someone whose own python3 kernel, package path and backend do not work.
    """
    root = write_project(tmp_path_factory.mktemp("built"))
    home = tmp_path_factory.mktemp("home")
    kernel = home / "jupyter/kernels/python3/kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text('{"argv": ["not-a-kernel"], "display_name": "Mine", "language": "python"}')
    settings = os.environ | {
        "JUPYTER_PATH": str(home / "jupyter"),
        "XDG_DATA_HOME": str(home),
        "MPLBACKEND": "not-a-backend",
        "OMP_NUM_THREADS": "2",
    }
    command = [sys.executable, ROOT / "book/build.py", "execute", "--root", root]
    both = [
        subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    return root, said


# When a chapter is executed: its key


def test_chapter_depends_on_what_its_imports_reach(project):
    unreached = {
        "attn_notes/tasks/unrelated.py",
        "attn_notes/widgets/unrelated.js",
        "book/results/other.json",
    }
    others = {"_config.yml", "_toc.yml", "requirements.txt", "book/index.md"}
    assert set(chapter(project).files) == set(FILES) - unreached - others


@pytest.mark.parametrize(
    "name",
    [
        "attn_notes/__init__.py",
        "attn_notes/models/tiny.py",
        "attn_notes/tasks/letters.py",
        "attn_notes/late.py",
        "attn_notes/widgets/tiny.js",
        "attn_notes/widgets/_theme.css",
        "book/results/tiny_runs.json",
    ],
)
def test_key_follows_a_file_it_depends_on(project, name):
    before = chapter(project).key
    (project / name).write_text(FILES[name] + "\n")
    assert chapter(project).key != before


@pytest.mark.parametrize(
    "name",
    [
        "attn_notes/tasks/unrelated.py",
        "attn_notes/widgets/unrelated.js",
        "book/results/other.json",
        "book/index.md",
        "_config.yml",
    ],
)
def test_key_ignores_other_files(project, name):
    before = chapter(project).key
    (project / name).write_text(FILES[name] + "\n")
    assert chapter(project).key == before


def test_key_ignores_prose_and_outputs(project):
    before = chapter(project).key
    write_notebook(project, prose="# The sorter, told better")
    path = project / "book/tiny.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].execution_count = 7
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="old")]
    notebook.metadata["widgets"] = {}
    nbformat.write(notebook, path)
    assert chapter(project).key == before


def test_key_follows_code_its_order_and_tags(project):
    keys = {chapter(project).key}
    for changed in (
        {"code": [*CODE, "1"]},
        {"code": CODE[::-1]},
        {"tags": ["raises-exception"]},
    ):
        write_notebook(project, **changed)
        keys.add(chapter(project).key)
    assert len(keys) == 4


def test_key_follows_pins_but_not_their_comments(project):
    before = chapter(project).key
    (project / "requirements.txt").write_text("# other words\nnumpy==2.4.6  # why\n")
    assert chapter(project).key == before
    (project / "requirements.txt").write_text("numpy==2.4.5\n")
    assert chapter(project).key != before


def test_key_follows_the_installed_version(project, monkeypatch):
    before = chapter(project).key
    monkeypatch.setattr(execution.importlib.metadata, "version", lambda name: "0")
    assert chapter(project).key != before


def test_key_follows_the_python_version(project, monkeypatch):
    before = chapter(project).key
    monkeypatch.setattr(execution.sys, "version_info", (3, 99))
    assert chapter(project).key != before


def test_reaches_all_that_python_loads():
    """For the real chapters: what their imports load is among what they are said to depend on."""
    for path in execution.notebook_paths(ROOT):
        notebook = nbformat.read(ROOT / path, as_version=4)
        cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        code = "\n".join(map(execution.python_code, cells))
        imports = [
            n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Import | ast.ImportFrom)
        ]
        program = [ast.unparse(node) for node in imports]
        program += ["import sys", "print(*[m for m in sys.modules if m.startswith('attn_notes')])"]
        command = [sys.executable, "-c", "\n".join(program)]
        loaded = subprocess.run(
            command, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        reachable = execution.reachable_modules(ROOT, code)
        assert loaded.split()
        assert set(loaded.split()) <= set(reachable)


def test_two_chapters_of_one_name_are_refused(project):
    (project / "_toc.yml").write_text("root: book/tiny\nchapters:\n- file: book/more/tiny\n")
    (project / "book/more").mkdir()
    (project / "book/more/tiny.ipynb").write_text("{}")
    with pytest.raises(BookError, match="same file name"):
        execution.notebook_paths(project)


# Executing


def test_two_processes_execute_it_once(built):
    _, said = built
    assert sum("Executed tiny.ipynb" in text for text in said) == 1
    assert sum("nothing to execute" in text for text in said) == 1


def test_runs_in_this_environment_on_one_thread(built):
    root, _ = built
    outputs = [cell.outputs for cell in build.with_outputs(root, chapter(root)).cells[1:]]
    assert outputs[1][0].text == "42 6\n"
    assert outputs[2][0].text == f"{sys.executable} 1 attn_notes.models.tiny\n"


def write_download(project, monkeypatch, tmp_path, code):
    """What downloads is this code, and nothing has been downloaded."""
    (project / execution.DOWNLOADS).parent.mkdir(parents=True, exist_ok=True)
    (project / execution.DOWNLOADS).write_text(code)
    monkeypatch.setenv("ATTN_NOTES_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHONPATH", str(project))


def test_a_download_that_came_makes_the_chapters_that_read_it_run_again(
    project, tmp_path, monkeypatch
):
    other = chapter(project).key
    write_download(project, monkeypatch, tmp_path, "")
    write_notebook(project, code=["from attn_notes.tasks import text"])
    offline = chapter(project).key
    assert offline == chapter(project).key
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / execution.DOWNLOADED).write_text("To be")
    here = chapter(project).key
    assert here not in (offline, other)
    (tmp_path / "data" / "more.txt").write_text("or not")
    assert chapter(project).key == here  # nobody reads it
    write_notebook(project, code=["import attn_notes"])
    without = chapter(project).key
    (tmp_path / "data" / execution.DOWNLOADED).write_text("To be, or not")
    assert chapter(project).key == without


def test_what_is_at_hand_is_not_downloaded_and_chapters_find_it(project, tmp_path, monkeypatch):
    write_download(
        project,
        monkeypatch,
        tmp_path,
        "import os\nfrom pathlib import Path\n\ndef tiny_shakespeare():\n"
        "    folder = Path(os.environ['ATTN_NOTES_DATA'])\n"
        "    with (folder / 'tinyshakespeare.txt').open('x') as file:\n"
        "        file.write('To be')\n",
    )
    (tmp_path / "data").mkdir()
    for _ in range(2):  # the second time it is there, and could not be written again
        execution.fetch_data(project)
    assert execution.data_at_hand() == {"tinyshakespeare.txt": 5}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTN_NOTES_DATA", "data")
    assert execution.kernel_environment(tmp_path)["ATTN_NOTES_DATA"] == str(tmp_path / "data")


def test_offline_a_sentence_says_so_and_the_build_goes_on(project, tmp_path, monkeypatch, capfd):
    write_download(
        project,
        monkeypatch,
        tmp_path,
        "import warnings\n\ndef tiny_shakespeare():\n    warnings.warn('It is not there.')\n",
    )
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    execution.fetch_data(project)
    assert capfd.readouterr() == ("It is not there.\n", "")


def test_a_download_that_does_not_run_stops_the_build(project, tmp_path, monkeypatch, capfd):
    write_download(project, monkeypatch, tmp_path, "import nothing_of_that_name\n")
    with pytest.raises(BookError, match=r"tasks/text\.py does not run"):
        execution.fetch_data(project)
    assert "No module named 'nothing_of_that_name'" in capfd.readouterr().err


def test_the_download_is_looked_for_where_the_package_keeps_it(tmp_path, monkeypatch):
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((Path(path) / fname).resolve())
        raise OSError

    monkeypatch.setattr(text.pooch, "retrieve", retrieve)
    assert (execution.DOWNLOADED, execution.CACHE) == (text.NAME, text.CACHE)
    assert Path(text.__file__) == ROOT / execution.DOWNLOADS
    for folder in ("", str(tmp_path)):
        monkeypatch.setenv(text.CACHE, folder)
        with pytest.warns(text.FallbackWarning):
            text.tiny_shakespeare()
        assert asked.pop() == execution.data_folder() / execution.DOWNLOADED


def test_nothing_is_executed_again(built, capsys):
    root, _ = built
    before = kept(root)
    execution.execute(root)
    assert "nothing to execute" in capsys.readouterr().out
    assert kept(root) == before == [chapter(root).executed_name]


def test_outputs_meet_todays_prose(built):
    root, _ = built
    write_notebook(root, prose="# Today's prose")
    notebook = build.with_outputs(root, chapter(root))
    assert notebook.cells[0].source == "# Today's prose"
    image = notebook.cells[1 + IMAGE_CELL]
    assert image.outputs[0].output_type == "display_data"


def test_state_of_widgets_is_kept(built):
    root, _ = built
    notebook = build.with_outputs(root, chapter(root))
    view = notebook.cells[-1].outputs[0].data["application/vnd.jupyter.widget-view+json"]
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"].state
    state = states[view.model_id]
    assert state.state["_esm"] == FILES["attn_notes/widgets/tiny.js"]
    assert [buffer["data"] for buffer in state["buffers"]] == ["YWJj"]  # b"abc"


def test_failing_cell_is_shown_and_nothing_is_kept(project, capsys):
    write_notebook(project, code=["print('fine')", "nonsense = 1 / 0"])
    with pytest.raises(BookError, match=r"tiny\.ipynb"):
        execution.execute(project)
    shown = capsys.readouterr().err
    assert "nonsense = 1 / 0" in shown
    assert ".cache" not in shown
    assert "ZeroDivisionError" in shown
    assert kept(project) == []


def test_file_that_the_key_does_not_cover_is_not_there(project, capsys):
    """What a chapter could read unwatched, it cannot read: no output depends on it."""
    write_notebook(
        project,
        code=[
            "import importlib, os",
            "assert os.listdir('results') == ['tiny_runs.json']",
            "import attn_notes\nprint(attn_notes.__file__)",
            "importlib.import_module('attn_notes.tasks.unrelated')",
        ],
    )
    with pytest.raises(BookError):
        execution.execute(project)
    assert "No module named 'attn_notes.tasks'" in capsys.readouterr().err


def test_outputs_of_other_code_are_refused(built):
    root, _ = built
    write_notebook(root, code=[*CODE, "1"])
    with pytest.raises(BookError, match="execute it first"):
        build.with_outputs(root, chapter(root))
    write_notebook(root)


# The site


def test_site_is_rendered_when_something_changed(built, capsys):
    root, _ = built
    page = root / "_build/html/book/tiny.html"
    write_notebook(root, prose="# First title")
    (root / "_toc.yml").write_text(FILES["_toc.yml"] + "- file: book/more\n")
    (root / "book/more.md").write_text("# More\n")
    build.site(root)
    assert "First title" in page.read_text("utf-8")
    assert page.with_name("more.html").exists()
    capsys.readouterr()

    build.site(root)
    assert "nothing has changed" in capsys.readouterr().out

    (root / "_toc.yml").write_text(FILES["_toc.yml"])
    (root / "book/more.md").unlink()
    write_notebook(root, prose="# Second title")
    build.site(root)
    assert "Second title" in page.with_name("index.html").read_text("utf-8")  # in its contents
    assert not page.with_name("more.html").exists()


def test_warning_fails_the_site(built, capfd):
    root, _ = built
    (root / "book/index.md").write_text("# Tiny\n\n[](missing.md)\n")
    with pytest.raises(BookError):
        build.site(root)
    said = capfd.readouterr().err
    assert "index.md:3" in said
    assert ".cache" not in said
    with pytest.raises(BookError):
        build.site(root)
    (root / "book/index.md").write_text(FILES["book/index.md"])


# Stripping


def test_strip_leaves_what_was_written(built, capsys):
    root, _ = built
    path = root / "book/tiny.ipynb"
    write_notebook(root)
    build.strip(root)
    stripped = path.read_bytes()
    notebook = build.with_outputs(root, chapter(root))
    assert notebook.metadata.widgets
    nbformat.write(notebook, path)
    capsys.readouterr()

    build.strip(root)
    assert path.read_bytes() == stripped
    assert capsys.readouterr().out.startswith("Stripped ")
    build.strip(root)
    assert capsys.readouterr().out == ""


# The command line


def test_exit_code_and_message(project, capsys):
    assert build.main(["serve", "--root", str(project)]) == 1
    assert "There is no site yet" in capsys.readouterr().err
    assert build.main(["strip", "--root", str(project)]) == 0


def test_serves_the_site_until_interrupted(project):
    page = project / "_build/html/index.html"
    page.parent.mkdir(parents=True)
    page.write_text("A tiny book")
    (page.parent / "module.js").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BookError, match="name another"):
            build.serve(project, port)
    command = [sys.executable, ROOT / "book/build.py", "serve", "--port", str(port)]
    # A shell ignores interrupts in what it starts in the background, tests and all that they start.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        [*command, "--root", project], stdout=subprocess.PIPE, text=True, preexec_fn=heed
    ) as process:
        try:
            assert f"http://localhost:{port}" in process.stdout.readline()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as response:
                assert response.read() == b"A tiny book"
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/module.js") as response:
                assert response.headers["Content-Type"] == "text/javascript"
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
