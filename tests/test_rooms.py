"""The rooms of the package: imports go one way, and every chapter has the same ones."""

import ast
from pathlib import Path

import nbformat
import pytest
from dependencies import imported_names, lesson_stems, own_stems, python_code

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attn_notes"
ORDER = (
    *("tasks", "models", "training", "analysis", "programs"),
    *("doubt", "widgets", "cell", "chapters"),
)
"""Each may import those before it. What lies beside them is for all that need it."""

STEMS = lesson_stems(ROOT)
OF_A_CHAPTER = {"recipe", "measure", "evidence", "claims", "figures", "checks"}
NOTEBOOKS = sorted((ROOT / "book").glob("**/*.ipynb"))


def room(module: str) -> str:
    """The room of a module of the package, `attn_notes.tasks.text` → `tasks`; empty if none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "attn_notes" and parts[1] in ORDER else ""


def modules() -> dict[str, set[str]]:
    """Every module of the package, and what it may import."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        package = ".".join(parts[:-1])
        name = package if parts[-1] == "__init__" else ".".join(parts)
        found[name] = imported_names(path.read_text("utf-8"), package)
    return found


def leftwards(found: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Imports from a room that lies to the right of the importer's, or in another chapter."""
    wrong = set()
    for module, names in found.items():
        for name in names:
            ours, theirs = room(module), room(name)
            if not theirs:
                continue
            # What lies beside the rooms serves them all, so it imports none of them.
            place = ORDER.index(ours) if ours else -1
            if place < ORDER.index(theirs) or (
                ours == theirs == "chapters" and module.split(".")[2:3] != name.split(".")[2:3]
            ):
                wrong.add((module, name))
    return wrong


def test_imports_go_one_way() -> None:
    found = modules()
    assert len(found) > 50
    assert leftwards(found) == set()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("attn_notes.tasks.text", "attn_notes.models.trm"),
        ("attn_notes.analysis.leaks", "attn_notes.doubt.causality"),
        ("attn_notes.widgets.trm", "attn_notes.chapters.trm.recipe"),
        ("attn_notes.chapters.trm.claims", "attn_notes.chapters.deep_qkv.claims"),
        ("attn_notes.figures", "attn_notes.analysis.claims"),
    ],
)
def test_an_import_that_goes_back_is_seen(module: str, name: str) -> None:
    assert leftwards({module: {name}}) == {(module, name)}
    assert leftwards({name: {module}}) - {(name, module)} == set()


def test_every_chapter_there_is_is_listed() -> None:
    """In `_toc.yml`, from which all that goes over the chapters takes them."""
    rooms = {path.name for path in (PACKAGE / "chapters").iterdir() if path.name[0] not in "._"}
    pages = {path.stem for path in (ROOT / "book").glob("*.ipynb")}
    assert rooms == pages == {*STEMS, *own_stems(ROOT)}


@pytest.mark.parametrize("stem", STEMS)
def test_a_chapter_has_its_rooms_and_its_page(stem: str) -> None:
    assert {path.stem for path in (PACKAGE / "chapters" / stem).glob("*.py")} >= OF_A_CHAPTER
    assert (ROOT / "book" / f"{stem}.ipynb").is_file()


INSIDE = ("evidence", "claims", "figures", "tables")
"""Rooms of a chapter: each may import those before it. A verdict knows nothing of its drawing."""


def place(module: str) -> int | None:
    """Where in `INSIDE` a chapter's module stands, if it does."""
    inner = module.split(".")[3:4]
    return INSIDE.index(*inner) if room(module) == "chapters" and {*inner} & {*INSIDE} else None


def backwards(found: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Imports within a chapter from a room that comes after the importer's."""
    wrong = set()
    for module, names in found.items():
        ours = place(module)
        if ours is not None:
            wrong |= {(module, name) for name in names if (place(name) or 0) > ours}
    return wrong


def test_within_a_chapter_imports_go_one_way() -> None:
    found = modules()
    assert backwards(found) == set()
    inside = [(stem, f"attn_notes.chapters.{stem}.claims") for stem in STEMS]
    assert all(found[claims] for _, claims in inside)


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize(
    ("module", "name"),
    [("evidence", "claims"), ("claims", "figures"), ("claims", "tables"), ("figures", "tables")],
)
def test_a_verdict_that_knows_its_drawing_is_seen(stem: str, module: str, name: str) -> None:
    one, other = (f"attn_notes.chapters.{stem}.{x}" for x in (module, name))
    assert backwards({one: {other}}) == {(one, other)}
    assert backwards({one: {f"{other}.NAMES"}}) == {(one, f"{other}.NAMES")}
    assert backwards({other: {one}}) == set()


# What a notebook leaves to the package


def cells(path: Path) -> list[tuple[str, ast.Module]]:
    """The code cells of a notebook that parse, by their ids."""
    notebook = nbformat.read(path, as_version=4)
    code = [(c.id, python_code(c.source)) for c in notebook.cells if c.cell_type == "code"]
    return [(name, ast.parse(source)) for name, source in code]


DECIDES = {"attn_notes.analysis.statistics", "attn_notes.figures", "matplotlib", "scipy"}
"""What computes verdicts, or draws: a notebook calls a chapter's functions that do."""


def decides(path: Path) -> list[str]:
    """Where a notebook computes what belongs into its chapter's claims and figures."""
    wrong = []
    for cell, tree in cells(path):
        names = imported_names(ast.unparse(tree))
        wrong += [f"{cell} imports {name}" for name in names & DECIDES]
        for node in ast.walk(tree):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called != "doubt.compare" and called.split(".")[-1] in {  # which a reader calls
                *("Finding", "Claim", "Picture", "show_figure"),
                *("ends_lower", "compare", "sign_test", "held"),
            }:
                wrong.append(f"{cell} calls {called}")
            if isinstance(node, ast.keyword) and node.arg in ("alt", "caption", "title"):
                wrong.append(f"{cell} writes a {node.arg}")
    return wrong


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: "-".join(path.parts[-2:]))
def test_a_notebook_computes_no_verdict_and_draws_no_figure(path: Path) -> None:
    assert decides(path) == []


def test_a_verdict_in_a_notebook_is_seen(tmp_path: Path) -> None:
    code = [
        "from attn_notes.analysis import statistics",
        "statistics.ends_lower(a, b)",
        "figures.show(fig, alt='a curve')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in code])
    nbformat.write(notebook, tmp_path / "a.ipynb")
    assert len(decides(tmp_path / "a.ipynb")) == 3
