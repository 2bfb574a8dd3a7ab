"""What every chapter promises: stubs that fail their checks, solutions that pass them."""

import subprocess
import sys
from pathlib import Path

import pytest

from attn_notes.analysis import pretrained
from book.experiments import every_experiment
from book.site.dependencies import full_stems, read_chapter

from . import exercises
from .exercises import CHAPTERS, EVIDENCE, ROOT

EXERCISES = [
    pytest.param(chapter, name, id=f"{chapter.stem}-{name}")
    for chapter in CHAPTERS + EVIDENCE
    for name in exercises.names(chapter)
]
every_exercise = pytest.mark.parametrize(("chapter", "name"), EXERCISES)


# The first of a chapter's needs its setup, which takes seconds.
@pytest.mark.by_day(2)
@pytest.mark.slow
@every_exercise
def test_a_stub_is_told_that_there_is_no_answer(chapter, name):
    assert repr(exercises.outcome(chapter, name)).startswith("Not yet: there is no answer yet")


@pytest.mark.slow
@every_exercise
def test_a_solution_passes(chapter, name):
    outcome = exercises.outcome(chapter, name, exercises.solution(chapter, name))
    assert repr(outcome).startswith("Right: ")


@pytest.mark.parametrize("page", CHAPTERS + EVIDENCE, ids=lambda path: "-".join(path.parts[-2:]))
def test_every_exercise_is_tried(page):
    cells = exercises.cells(page).items()
    asked = [cell for cell, source in cells if ":class: exercise" in source]
    assert asked == [f"exercise-{name}" for name in exercises.names(page)]
    assert (3 if page.stem in full_stems(ROOT) else 0) <= len(asked) <= 5


@pytest.mark.in_short(2)
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_depends_on_no_other_chapter(chapter):
    """Work on one chapter does not make another one run again. A model may serve several."""
    files = read_chapter(ROOT, chapter.relative_to(ROOT)).files
    assert f"book/lessons/{chapter.stem}/checks.py" in files
    others = {other.stem for other in CHAPTERS} - {chapter.stem}
    own = [file for file in files if not file.startswith("attn_notes/models/")]
    assert not [file for file in own if others & {*Path(file.partition(".")[0]).parts}]


def test_every_record_can_be_made_again():
    """Each experiment has its file, and each file is found, and named by its chapter or says so."""
    experiments = every_experiment()
    records = {path.stem for path in (ROOT / "book").glob("**/records/*.json")}
    records |= {pretrained.about(name)["made_by"] for name in pretrained.names()}
    # Written by `make gpu`, where there is a GPU.
    assert records - {"lessons_gpu"} == set(experiments), "run: make experiments"
    for name, run in experiments.items():
        assert name.startswith(f"{run.__module__.split('.')[-2]}_") or "book.exp" in run.__module__


@pytest.mark.slow
def test_one_command_knows_every_experiment():
    command = [sys.executable, ROOT / "book" / "experiments", "--list"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert [line.partition(":")[0] for line in listed.splitlines()] == list(every_experiment())
