"""The lessons themselves, run: what they train is kept for FAST=1, and what they cost."""

import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from book.kit import recorded, results
from book.site.dependencies import DOWNLOADS, lesson_page, read_chapter

BOOK = Path(__file__).resolve().parents[1]
NOWHERE = str(Path(__file__) / "none")  # no folder can be made there


def run(chapter: str, **environment: str) -> dict[str, Any]:
    """Run a lesson in an empty folder; returns what its clock says, if it has one."""
    notebook = nbformat.read(BOOK.parent / lesson_page(chapter), as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=1800, resources=resources)
        client.execute(env=os.environ | {"OMP_NUM_THREADS": "1"} | environment)
    told = [out.get("metadata", {}) for cell in notebook.cells for out in cell.get("outputs", ())]
    return dict(next((each["cost"] for each in told if "cost" in each), {}))


def keep(chapter: str) -> None:
    """Keep what a lesson trains, and record what it costs: trained, and with what was kept."""
    with tempfile.TemporaryDirectory() as folder:
        trained = run(chapter, ATTN_NOTES_KEEP=folder, FAST="")
        reads = read_chapter(BOOK.parent, lesson_page(chapter)).files
        if DOWNLOADS in reads:  # once more with what it reads where nothing can be downloaded
            run(chapter, ATTN_NOTES_KEEP=folder, FAST="", ATTN_NOTES_DATA=NOWHERE)
        runs = recorded.gather(Path(folder), results.path(f"{chapter}_runs.npz"))
    costs = {"trained": trained, "FAST=1": run(chapter, FAST="1")}
    results.save(f"{chapter}_runs", {"runs": runs}, costs)
