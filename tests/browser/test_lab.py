"""A lesson in a real JupyterLab, as a reader runs it: the server, a kernel and a browser.

Its training is cut short. Lab draws only the cells that are in view, so what a cell came to is
read from the notebook's model, which Lab shows to scripts where it is asked to.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from book.kit import figures
from book.site.dependencies import lesson_page, own_stems

from .conftest import ROOT, recorded

CHAPTER = ROOT / lesson_page("deep_qkv")
OWN = ROOT / lesson_page(own_stems(ROOT)[0])
OPTIONS = (
    "--no-browser",
    "--allow-root",
    "--ServerApp.port_retries=0",
    "--IdentityProvider.token=",
    "--LabApp.expose_app_in_browser=True",
    # Nothing asks another host for anything.
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
SHORT = """\
# Cut short for a test.
from dataclasses import replace
if hasattr(recipe, "train_kind"):
    recipe.train_kind.__defaults__ = (replace(recipe.LIVE, steps=60),)
"""
CELLS = """(of) => [...(of ?? jupyterapp.shell.currentWidget).content.model.cells].map((cell) => ({
    id: cell.id, type: cell.type, tags: cell.getMetadata('tags') ?? [],
    count: cell.executionCount ?? null, outputs: cell.outputs?.toJSON() ?? [],
}))"""
GO_TO = """async (id) => {
    const notebook = jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = notebook.widgets.findIndex((cell) => cell.model.id === id);
    await notebook.scrollToItem(notebook.activeCellIndex, 'start');
}"""
FOLDED = """() => jupyterapp.shell.currentWidget.content.widgets
    .filter((cell) => cell.model.type === 'code' && cell.inputHidden).map((cell) => cell.model.id)
"""


def is_first_training(cell: Any) -> bool:
    return cell["id"].startswith("train") and cell.get("cell_type", cell.get("type")) == "code"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the chapter, cut short."""
    folder = tmp_path_factory.mktemp("lab") / "notebooks"
    folder.mkdir()
    notebook = nbformat.read(CHAPTER, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = cell.source.replace("STEPS = 1000", "STEPS = 60")
    training = next(filter(is_first_training, notebook.cells))
    if "recipe." in training.source:
        training.source = SHORT + training.source
    nbformat.write(notebook, folder / CHAPTER.name)
    with figures.figure() as (fig, ax):
        ax.plot([0, 1])
        data, metadata = figures.Picture(fig, "Up", "A caption", "A figure")._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", data, metadata=metadata)
    cell = nbformat.v4.new_code_cell("draw()", outputs=[output])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "drawn.ipynb")
    shutil.copy(OWN, folder)
    return folder


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab that has nothing of a user's, in that folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = folder.parent / "home"
    home.mkdir()
    places = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    own = {f"JUPYTER_{name}": str(home / name) for name in places}
    own |= {"HOME": str(home), "IPYTHONDIR": str(home / "ipython")}
    command = [sys.executable, "-m", "jupyterlab", *OPTIONS, f"--ServerApp.port={port}"]
    command.append(f"--ServerApp.root_dir={folder}")
    log = folder.parent / "log.txt"
    with log.open("w") as out:
        process = subprocess.Popen(
            command, env=os.environ | own, cwd=folder, stdout=out, stderr=subprocess.STDOUT
        )
    address = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text("utf-8")
            try:
                urllib.request.urlopen(f"{address}api/status", timeout=5).close()
                break
            except URLError:
                time.sleep(0.2)
        yield address
    finally:
        process.terminate()  # its kernels end with it
        process.wait()


@pytest.fixture(scope="module")
def page(lab: str, folder: Path, browser: Browser) -> Iterator[Page]:
    """The chapter, run to the end of the first training."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.visit = recorded(page, lab)
    page.goto(f"{lab}lab/tree/{CHAPTER.name}")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.ready")
    page.folded = page.evaluate(FOLDED)
    training = next(filter(is_first_training, page.evaluate(CELLS)))["id"]
    page.evaluate(GO_TO, training)
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-above')")
    page.evaluate(GO_TO, training)
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")
    page.evaluate(GO_TO, "sorter")  # which shows what was trained
    page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")
    yield page
    page.close()


def shown(page: Page, cell: str) -> Locator:
    """A cell of the notebook, in view."""
    page.evaluate(GO_TO, cell)
    return page.locator(".jp-Notebook .jp-Cell.jp-mod-active")


@pytest.mark.long
def test_it_runs_to_the_end_of_the_first_training(page):
    cells = page.evaluate(CELLS)
    training = next(filter(is_first_training, cells))
    ran = [cell for cell in cells[: cells.index(training) + 1] if cell["type"] == "code"]
    outputs = [output for cell in ran for output in cell["outputs"]]
    assert [each for each in outputs if each["output_type"] == "error"] == []
    assert "trained" in str(training["outputs"])
    told = page.visit
    unsatisfied = [said for said in told.console if "nsatisf" in said]
    assert told.external + told.errors + unsatisfied == []


def test_the_widget_answers(page):
    widget = shown(page, "sorter").locator(".abc-sorter")
    widget.get_by_label("Type three letters").fill("bca")
    expect(widget.locator(".abc-output")).to_have_text(re.compile("^[abc]{3}$"))
    expect(widget.locator(".abc-message")).to_have_text("")


def test_a_model_is_trained_beside_the_kernel(page):
    """By the page, as on the site: the kernel has nothing to do with it."""
    widget = shown(page, "sorter").locator(".abc-sorter")
    widget.locator(".attn-settings > summary").click()
    widget.get_by_label("Speed", exact=True).select_option("fast")
    widget.get_by_role("button", name="Train", exact=True).click()
    expect(widget).to_have_attribute("data-training", "done")
    assert float(widget.get_attribute("data-score") or 0) > 0.5
    expect(widget.locator(".attn-train-line").first).to_contain_text("of 27 sorted")


def test_what_the_site_folds_is_folded(page):
    hides = {"hide-input", "remove-input"}
    tagged = {cell["id"] for cell in page.evaluate(CELLS) if hides & {*cell["tags"]}}
    assert tagged and set(page.folded) == tagged


def test_the_widget_follows_the_kernel(page):
    """As it does where a cell loads what it has just trained."""
    page.evaluate(
        """() => jupyterapp.shell.currentWidget.sessionContext.session.kernel
            .requestExecute({code: 'sorter.text = "ccb"; sorter.variant = "strict"'}).done"""
    )
    widget = shown(page, "sorter").locator(".abc-sorter")
    expect(widget.get_by_label("Type three letters")).to_have_value("ccb")
    expect(widget.get_by_label("Model")).to_have_value("strict")


def test_cards_solutions_and_citations_are_rendered(page):
    cells = [cell["id"] for cell in page.evaluate(CELLS) if cell["type"] == "markdown"]
    name = next(re.match("exercise-[a-z]+$", cell)[0] for cell in cells if "exercise-" in cell)
    card = shown(page, name).locator("aside")
    expect(card).to_contain_text("Exercise 1:")
    for part, title in (("hint", "Hint"), ("solution", "Solution")):
        folded = shown(page, f"{name}-{part}").locator("details")
        expect(folded).to_contain_text(title)
        assert not folded.evaluate("(details) => details.open")
    cited = shown(page, "meet")
    author = re.compile(r"^[A-Z].* \(20\d\d\)$")
    expect(cited.get_by_role("link", name=author).first).to_be_visible()
    for cell in (name, f"{name}-solution", cells[0], cells[-1]):
        rendered = shown(page, cell)
        expect(rendered).to_contain_text(re.compile(r"\w{3}"), use_inner_text=True)
        raw = re.compile(r":::|\{[a-z:]+\}")
        expect(rendered).not_to_contain_text(raw, use_inner_text=True)


@pytest.mark.parametrize("trusted", [True, False])
def test_a_figure_is_drawn_whether_the_notebook_is_trusted_or_not(trusted, page):
    """One from another account is not, and what could do harm is taken out of its outputs."""
    page.evaluate(
        """async (trusted) => {
            const open = {path: 'drawn.ipynb'};
            const other = await jupyterapp.commands.execute('docmanager:open', open);
            await other.context.ready;
            const [cell] = [...other.content.model.cells];
            cell.trusted = trusted;
        }""",
        trusted,
    )
    drawn = page.locator("figure.attn-figure", has_text="A caption")
    still, live = drawn.locator("img"), drawn.locator(".attn-live")
    expect(still).to_be_visible(visible=not trusted)
    expect(live).to_be_visible(visible=trusted)
    expect(live.locator("svg")).to_have_count(1 if trusted else 0)
    assert still.get_attribute("alt") == "A figure"
    page.evaluate("() => jupyterapp.shell.currentWidget.dispose()")


@pytest.mark.long
def test_the_books_own_lesson_runs_to_its_end(page):
    cells = page.evaluate(
        f"""async (path) => {{
            const other = await jupyterapp.commands.execute('docmanager:open', {{path}});
            await other.context.ready;
            await other.sessionContext.ready;
            await jupyterapp.commands.execute('notebook:run-all-cells');
            const cells = ({CELLS})(other);
            other.dispose();
            return cells;
        }}""",
        OWN.name,
    )
    code = [cell for cell in cells if cell["type"] == "code"]
    assert all(cell["count"] for cell in code)
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [each for each in outputs if each["output_type"] == "error"]
    assert sum("image/png" in each.get("data", {}) for each in outputs) == 4


def test_jupyterlab_accepts_its_extensions(folder):
    """Whoever looks after them marks one that was built for another JupyterLab."""
    command = [sys.executable, "-m", "jupyterlab.labextensions", "list"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    text = re.sub(r"\x1b\[\d+m", "", listed.stdout + listed.stderr)
    for name in ("jupyterlab-myst", "anywidget", "@jupyter-widgets/jupyterlab-manager"):
        assert re.search(rf"^\s+{re.escape(name)} v\S+ enabled +OK\b", text, re.MULTILINE), text
    assert not re.search(r"enabled\s+X\b|not compatible", text), text
