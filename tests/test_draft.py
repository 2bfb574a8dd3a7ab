"""A small lesson of the tests' own is built, trained, shown, judged and graded as the others are.

It is a draft: one folder, `tests/draft/last_sign`. In a copy of the project it is put among the
lessons and listed in `_toc.yml`; nothing else of the copy is touched.
"""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from .exercises import ROOT
from .test_judging import runs

STEM = "last_sign"
LESSON = ROOT / "tests" / "draft" / STEM
MADE = (".git", ".venv", ".cache", "_build", "__pycache__", ".*_cache", ".hypothesis")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    root = tmp_path_factory.mktemp("house") / "book"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*MADE))
    (ROOT / ".cache").mkdir(exist_ok=True)
    (root / ".cache").symlink_to(ROOT / ".cache")  # what is taken from npm is read, and no more
    shutil.copytree(LESSON, root / "book" / "lessons" / STEM)
    listed, line = (root / "_toc.yml").read_text("utf-8"), "      - file: book/lessons/{0}/{0}\n"
    last, mine = line.format("your_model"), line.format(STEM)
    (root / "_toc.yml").write_text(listed.replace(last, mine + last), "utf-8")
    return root


def run(house, *command, **more):
    env = os.environ | {"PYTHONPATH": str(house), "OMP_NUM_THREADS": "1"} | more
    done = subprocess.run(
        [sys.executable, *command], cwd=house, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_it_trains_can_be_made_again(house, tmp_path, take):
    run(house, "book/experiments", f"{STEM}_runs", ATTN_NOTES_RESULTS=str(tmp_path))
    for lesson in (LESSON, house / "book" / "lessons" / STEM) if take else ():
        shutil.copytree(tmp_path, lesson / "records", dirs_exist_ok=True)
    name = f"{STEM}_runs.npz"
    with np.load(tmp_path / name) as now, np.load(LESSON / "records" / name) as kept:
        assert {*now.files} == {*kept.files}, "it is stale: --take all takes this one over"
        for each in (name for name in kept.files if not name.endswith(":s")):  # seconds
            np.testing.assert_allclose(now[each], kept[each], rtol=0.01, atol=0.01)


def test_it_is_asked_what_the_others_are(house, take):
    where = ["tests", "--ignore=tests/browser", "--ignore=tests/engines"]
    also = ["--take", take] if take else []
    said = run(house, "-m", "pytest", "-q", "-m", "not long", "-k", STEM, *where, *also)
    assert int(re.findall(r"(\d+) passed", said)[0]) >= 10
    if take:
        shutil.copy(house / "book/lessons" / STEM / "tests/page.txt", LESSON / "tests")


def test_it_is_a_page(house):
    run(house, "-c", f"from book import build; build.page(build.ROOT, '{STEM}')")
    folder = house / "_build" / "page" / "_build" / "html" / "book"
    page = (folder / "lessons" / STEM / f"{STEM}.html").read_text("utf-8")
    for shown in ("A table comes to the best of tables", "did not hold", 'data-name="unknown"'):
        assert shown in page
    first = (folder / "index.html").read_text("utf-8")
    assert "Is the last sign enough to guess the next?" in first


COURSE = """
import sys, zipfile
from pathlib import Path
from book.course import course, grading
from tests.test_course import pretend_site

folder = Path(sys.argv[1])
(folder / "course.yml").write_text("seed: 7\\nweeks: [last_sign]\\n")
course.make(Path(".").resolve(), folder, {}, pretend_site)
(answers,) = folder.glob("private/week-1-*/answers.ipynb")
right = answers.read_text("utf-8")
with zipfile.ZipFile(folder / "all.zip", "w") as archive:
    archive.writestr("ada/week.ipynb", right)
    archive.writestr("bob/week.ipynb", right.replace("math.log(3)", "math.log(2)"))
(table,) = grading.grade(folder, 1, folder / "all.zip").glob("*.csv")
print(table.read_text("utf-8"))
"""


@runs
def test_it_is_a_week_of_a_course_and_its_answers_are_graded(house, tmp_path):
    assert "ada,ada,2,2,2,\nbob,bob,0,0,2,\n" in run(house, "-c", COURSE, str(tmp_path))
