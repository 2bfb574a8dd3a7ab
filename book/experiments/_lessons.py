"""The lessons themselves, run: what they train is kept for FAST=1, and what they cost."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from dependencies import DOWNLOADS, read_chapter
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient
from torch import nn

from attn_notes import recall
from attn_notes.analysis import results

BOOK = Path(__file__).resolve().parents[1]
NOWHERE = str(Path(__file__) / "none")  # no folder can be made there


def run(chapter: str, **environment: str) -> dict[str, Any]:
    """Run a lesson in an empty folder; returns what its clock says at the end."""
    notebook = nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=1800, resources=resources)
        client.execute(env=os.environ | {"OMP_NUM_THREADS": "1"} | environment)
    (output,) = notebook.cells[-1].outputs
    return dict(output.metadata["cost"])


def keep(chapter: str) -> None:
    """Keep what a lesson trains, and record what it costs: trained, and with what was kept."""
    with tempfile.TemporaryDirectory() as folder:
        trained = run(chapter, ATTN_NOTES_KEEP=folder, FAST="")
        reads = read_chapter(BOOK.parent, Path("book", f"{chapter}.ipynb")).files
        if DOWNLOADS in reads:  # once more with what it reads where nothing can be downloaded
            run(chapter, ATTN_NOTES_KEEP=folder, FAST="", ATTN_NOTES_DATA=NOWHERE)
        runs = recall.gather(Path(folder), chapter)
    costs = {"trained": trained, "FAST=1": run(chapter, FAST="1")}
    results.save(f"{chapter}_runs", {"runs": runs}, costs)


def look_up(chapter: str) -> None:
    """Run a lesson in this process, FAST, and take all that it asks for from what is recorded.

    Raises:
        LookupError: the first that is not: its key is of another code or other settings, or what
            was recorded began otherwise. Nothing is trained.
    """
    key, find, begins = recall.key, recall.find, recall.begins
    asked = ""

    def named(models: Sequence[nn.Module], *settings: object) -> str:
        nonlocal asked
        asked = f"{len(models)} × {type(models[0]).__name__}" if models else str(settings[0])
        return key(models, *settings)

    def known(found: Any) -> Any:
        if not found:
            raise LookupError(
                f"{chapter}, cell {cell.id}: {asked} is not recorded as it is asked for. "
                f"Run: python book/experiments {chapter}_runs"
            )
        return found

    recall.key = named
    recall.find = lambda key: known(find(key))
    recall.begins = lambda found, seen: known(begins(found, seen))
    os.environ["FAST"] = "1"
    shell = InteractiveShell.instance()
    for cell in nbformat.read(BOOK / f"{chapter}.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            shell.run_cell(cell.source).raise_error()
