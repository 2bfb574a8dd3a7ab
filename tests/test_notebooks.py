"""Notebooks are committed as they were written: without outputs, counts or the state of widgets."""

import re

import nbformat
import pytest

from book import build
from book.site.extension import citations

from .exercises import ROOT, written
from .test_stems import texts_of

NOTEBOOKS = [ROOT / path for path in texts_of(ROOT) if path.endswith(".ipynb")]
assert NOTEBOOKS
WORKS = citations.links(ROOT / "book" / "references.bib")
ADDRESSES = {link.rpartition("](")[2].rstrip(")") for link in WORKS}


def test_every_notebook_is_stripped_and_folded(tmp_path, capsys):
    files = {f"book/{path.relative_to(ROOT)}": path.read_bytes() for path in NOTEBOOKS}
    build.strip(written(tmp_path, files))
    assert capsys.readouterr().out == "", "run: make strip"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_its_citations_can_be_followed(path):
    """Other readers of notebooks know no `cite`. What a link says is what the bibliography says."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)  # also that each cell has an id
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"\{[a-z:]+\}`", cell.source), cell.id
            left = re.findall(r"(\[[^\]]*\d{4}\)\]\(([^)]*)\))", citations.cite(cell.source, WORKS))
            wrong = [link for link, to in left if to in ADDRESSES or "bibliography" in to]
            assert not wrong, f"{cell.id}: not as in references.bib"
