"""What a teacher and a project find in a course's folder, without the book."""

import html
import re
from pathlib import Path

import course
import nbformat
import papers
import pytest
from dependencies import lesson_stems

from .says import BOOK
from .test_course import ROOT, WEEKS, pretend_site

PARTS = ["Floor", "Control", "Rate", "Seeds", "Verdict"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers") / "seminar"
    course.make(ROOT, folder, {"seed": 7}, pretend_site)
    return folder


def test_every_page_for_teachers_is_in_the_private_folder(made: Path) -> None:
    found = {path.name for path in (made / "private" / "teaching").iterdir()}
    pages = {path.stem for path in (BOOK / "teaching").glob("*.md")}
    lessons = {*lesson_stems(ROOT)}
    assert found == {f"{name}.html" for name in pages - lessons - {"index", "AGENTS", "audit"}} | {
        papers.AGENTS
    }
    for week in WEEKS:
        notes = (made / "private" / week.name / "notes.html").read_text("utf-8")
        assert f"<h1>Teaching: {html.escape(week.title)}</h1>" in notes
        assert "<dt>" in notes and "<td>" in notes  # what students stumble over; the plan


def test_a_page_for_teachers_has_no_link_that_is_dead_and_no_markup_that_is_read(
    made: Path,
) -> None:
    """Pages of the site are those of the book: that these are made, the build says."""
    pages = [*made.glob("private/week-*/notes.html"), *made.glob("private/teaching/*.html")]
    assert len(pages) == len(WEEKS) + 4
    for path in pages:
        text = path.read_text("utf-8")
        assert not re.search(r"\{[\w:]+\}`|```|\.ipynb\"|\.md\"|<script", text), path
        for target in re.findall(r'href="([^"]+)"', text):
            place = target.partition("#")[0]
            if re.match("[a-z]+:", target) or not place:
                continue
            there = (path.parent / place).resolve()
            if "site/book" in place:
                page = ROOT / "book" / there.relative_to((made / "students/site/book").resolve())
                assert any(page.with_suffix(end).is_file() for end in (".ipynb", ".md")), target
            else:
                assert there.is_file(), (path, target)


def test_works_are_cited_by_name_and_lead_to_them(made: Path) -> None:
    text = (made / "private" / "teaching" / "syllabus.html").read_text("utf-8")
    assert '<a href="https://arxiv.org/abs/1802.06509">Arora and others (2018)</a>' in text
    assert "Do not write, complete or correct" in text  # AGENTS.md, as it is included


def test_a_project_has_the_parts_of_its_rubric_and_of_a_report(made: Path) -> None:
    notebook = nbformat.read(made / "students" / "project" / "audit-a-claim.ipynb", as_version=4)
    nbformat.validate(notebook)
    heads = re.findall(r"^## (.+)", "\n".join(cell.source for cell in notebook.cells), re.M)
    assert heads == ["The claim", *PARTS]
    rubric = (BOOK / "teaching" / "project.md").read_text("utf-8")
    assert re.findall(r"^\| (\w+) \|", rubric.partition("## Rubric")[2], re.M) == [
        part.lower() for part in PARTS
    ]
    start = (made / "students" / "index.html").read_text("utf-8")
    assert 'href="project.zip"' in start and (made / "students" / "project.zip").is_file()


@pytest.mark.long
@pytest.mark.slow
def test_a_project_runs_as_it_is_given_and_finds_nothing() -> None:
    """At fewer steps and seeds: the new part changes nothing, and that is what it says."""
    cells = papers.template(BOOK / "teaching" / "audit.md").cells
    scope: dict[str, object] = {}
    for cell in cells:
        if cell.cell_type == "code":
            exec(cell.source, scope)
            if "STEPS" in cell.source.splitlines()[-2]:
                scope |= {"STEPS": 3, "RATES": (1e-2, 3e-2), "TUNING": 1, "SEEDS": 6}
    for compared in (scope["with_plain"], scope["with_control"]):
        assert compared.verdict is None and bool((compared.ours == compared.theirs).all())
        assert any("is the change in the model at all?" in note for note in compared.notes)
