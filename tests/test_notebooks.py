"""Notebooks are committed as they were written: without outputs, counts or the state of widgets."""

import os
import re
from pathlib import Path

import nbformat
import pytest

from book.site.extension import citations

ROOT = Path(__file__).parents[1]


def notebooks():
    for folder, subfolders, files in os.walk(ROOT):
        subfolders[:] = [name for name in subfolders if name[0] not in "._"]
        yield from (Path(folder, name) for name in files if name.endswith(".ipynb"))


NOTEBOOKS = list(notebooks())
assert NOTEBOOKS
WORKS = citations.links(ROOT / "book" / "references.bib")
ADDRESSES = {link.rpartition("](")[2].rstrip(")") for link in WORKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stripped_and_folded_and_its_citations_can_be_followed(path):
    """Other readers of notebooks know no `cite`. What a link says is what the bibliography says."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)  # also that each cell has an id
    assert "widgets" not in notebook.metadata, "run: make strip"
    assert notebook.metadata.kernelspec.name == "python3", "run: make strip"
    assert notebook.metadata.language_info == {"name": "python"}, "run: make strip"
    for cell in notebook.cells:
        hidden = {"hide-input", "remove-input"} & set(cell.metadata.get("tags", []))
        folded = {"source_hidden": True} if hidden else {}
        assert cell.metadata.get("jupyter", {}) == folded, f"{cell.id}: run: make strip"
        assert "execution" not in cell.metadata
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None), "run: make strip"
        elif cell.cell_type == "markdown":
            assert not re.search(r"\{[a-z:]+\}`", cell.source), cell.id
            left = re.findall(r"(\[[^\]]*\d{4}\)\]\(([^)]*)\))", citations.cite(cell.source, WORKS))
            wrong = [
                link for link, address in left if address in ADDRESSES or "bibliography" in address
            ]
            assert not wrong, f"{cell.id}: not as in references.bib"
