"""Notebooks are committed as they were written: without outputs, counts or the state of widgets."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from notes_site import citations

ROOT = Path(__file__).parents[1]


def notebooks():
    for folder, subfolders, files in os.walk(ROOT):
        subfolders[:] = [name for name in subfolders if name[0] not in "._"]
        yield from (Path(folder, name) for name in files if name.endswith(".ipynb"))


NOTEBOOKS = list(notebooks())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_stripped(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)  # also that each cell has an id
    for cell in notebook.cells:
        assert "execution" not in cell.metadata
        if cell.cell_type == "code":
            assert cell.outputs == [], "run: make strip"
            assert cell.execution_count is None, "run: make strip"
    assert "widgets" not in notebook.metadata, "run: make strip"
    assert notebook.metadata.kernelspec.name == "python3", "run: make strip"
    assert notebook.metadata.language_info == {"name": "python"}, "run: make strip"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_the_site_folds_is_folded_in_jupyterlab_too(path):
    for cell in nbformat.read(path, as_version=4).cells:
        hidden = {"hide-input", "remove-input"} & set(cell.metadata.get("tags", []))
        folded = {"source_hidden": True} if hidden else {}
        assert cell.metadata.get("jupyter", {}) == folded, f"{cell.id}: run: make strip"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_citations_can_be_followed_where_nobody_knows_roles(path):
    """Other readers of notebooks know no `cite`. What a link says is what the bibliography says."""
    works = citations.links(ROOT / "book" / "references.bib")
    addresses = {link.rpartition("](")[2].rstrip(")") for link in works}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"\{[a-z:]+\}`", cell.source), cell.id
            left = citations.cite(cell.source, works)
            wrong = [
                link
                for link, address in re.findall(r"(\[[^\]]*\d{4}\)\]\(([^)]*)\))", left)
                if address in addresses
            ]
            assert not wrong, f"{cell.id}: not as in references.bib"


def test_there_is_a_notebook_to_look_at():
    assert NOTEBOOKS
