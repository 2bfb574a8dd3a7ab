"""A stranger who installs the package's wheel has all that a chapter needs, in an empty folder.

The tree that the tests run in is out of reach there: see `AWAY`.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attn_notes"
NOTEBOOKS = sorted((ROOT / "book").rglob("[!.]*.ipynb"))

# Makes the package importable from the folder of the wheel alone, and afterwards says what is not.
AWAY = f"""\
import sys
sys.path[:] = [place for place in sys.path if place != {str(ROOT)!r}]
"""
NOT_ASTRAY = f"""\
import os
ours = [m.__file__ for name, m in sys.modules.items() if name.split(".")[0] == "attn_notes"]
assert ours and all(f.startswith(os.environ["WHEEL"]) for f in ours), ours
assert {str(ROOT)!r} not in sys.path
"""

LOAD = """
import sys
from attn_notes.analysis import results
for name in sys.argv[1:]:
    assert results.load(name)["runs"], name
    print(name)
"""

BEGIN = f"""
import json, sys
from pathlib import Path
begun = []
for path in map(Path, sys.argv[1:]):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    (setup,) = ("".join(cell["source"]) for cell in cells if cell["id"] == "setup")
    exec(compile(setup, str(path), "exec"), dict(__name__="__main__"))
    begun.append(path.relative_to({str(ROOT)!r}).as_posix())
print(*begun, sep="\\n")
"""


def run(code: str, environment: dict[str, str], folder: Path, *arguments: str) -> list[str]:
    """What a program prints that is run in a folder, line by line."""
    command = [sys.executable, "-c", AWAY + code + NOT_ASTRAY, *arguments]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package_its_license_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    ours = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {"results", "widgets"} <= {path.parent.name for path in ours}
    (about,) = {name.split("/")[0] for name in names} - {"attn_notes"}  # the .dist-info
    expected = {path.relative_to(ROOT).as_posix() for path in ours}
    assert {name for name in names if name.startswith("attn_notes/")} == expected
    assert f"{about}/licenses/LICENSE" in names


SAVE = """
import os, torch
from pathlib import Path
from attn_notes.programs import training
model, batch = torch.nn.Linear(2, 1), torch.ones(3, 2)
program = training.step(model, lambda model, x: model(x).square().sum(), batch)
page = program.save("saved", training.inputs(model, batch), rate=0.1, steps=9)
around = Path(os.environ["WHEEL"], "attn_notes", "programs")
print(*sorted(path.name for path in page.parent.iterdir()))
for name in ("program.js", "vectors.js", "trainer.js"):
    assert page.with_name(name).read_bytes() == (around / name).read_bytes()
"""


@pytest.mark.slow
def test_a_program_is_saved_from_the_wheel(environment: dict[str, str], tmp_path: Path) -> None:
    """With what goes around it, which the wheel has."""
    names = "index.html program.js setup.json step.js trainer.js vectors.js weights.json"
    assert run(SAVE, environment, tmp_path) == [names]


@pytest.mark.slow
def test_every_record_is_read_from_the_wheel(environment: dict[str, str], tmp_path: Path) -> None:
    records = sorted(path.stem for path in (PACKAGE / "results").glob("*.json"))
    assert records
    assert run(LOAD, environment, tmp_path, *records) == records
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.slow
def test_every_page_of_evidence_begins_in_an_empty_folder(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """The lessons run to their ends, without what they train: tests/test_editions.py."""
    pages = [path for path in NOTEBOOKS if path.parent.name == "evidence"]
    names = [path.relative_to(ROOT).as_posix() for path in pages]
    assert names and run(BEGIN, environment, tmp_path, *map(str, pages))[-len(names) :] == names
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_chapter_runs_to_its_end_in_an_empty_folder(
    path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(AWAY))
    notebook.cells.append(nbformat.v4.new_code_cell(f"import sys\n{NOT_ASTRAY}"))
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env=environment)
    assert not list(tmp_path.iterdir())
