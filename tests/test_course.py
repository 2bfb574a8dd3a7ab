"""A course in a teacher's folder: nothing that somebody began is lost, and no answer is in it."""

import html
import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import build
import course
import execution
import homework
import icalendar
import manifest
import nbformat
import pytest
import questions
import yaml
from dependencies import BookError, evidence_stems, lesson_stems

from attn_notes.cell import answers

from . import exercises

ROOT = Path(__file__).parents[1]
SEED = 7
WEEKS = [homework.week(ROOT, stem, i, SEED) for i, stem in enumerate(lesson_stems(ROOT), 1)]
SOLUTIONS = exercises.all_telling()
TELLING = [line for lines in SOLUTIONS for line in lines]


def pretend_site(new: Path, old: Path, hints: bool) -> bool:
    new.mkdir(parents=True)
    (new / "index.html").write_text("a site", "utf-8")
    return True


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Whose site is made in no time."""
    monkeypatch.setattr(execution, "execute", lambda root: None)
    monkeypatch.setattr(build, "course_site", lambda root, *given: pretend_site(*given))
    return exercises.little_book(tmp_path)


def make(book: Path, folder: Path, *options: str) -> int:
    return build.main(["course", str(folder), *options, "--root", str(book)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course of the whole book, but for its site."""
    folder = tmp_path_factory.mktemp("course") / "seminar"
    course.make(ROOT, folder, {"seed": 7, "start": "2027-02-01", "day": "tuesday"}, pretend_site)
    return folder


# Nothing is lost

STUDENTS = Path("students") / "week-1-tiny"


def test_made_again_with_a_students_work_in_it_nothing_is_lost(
    book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "seminar"
    assert make(book, folder, "--seed", "7") == 0
    assert capsys.readouterr().out.count("new  ") == len(manifest.parts(manifest.written(folder)))
    before = exercises.contents(folder)
    assert make(book, folder) == 0
    assert capsys.readouterr().out == "Nothing has changed.\n"
    assert exercises.contents(folder) == before

    (folder / STUDENTS / "mine.ipynb").write_text("a student's", "utf-8")
    notes = folder / "private" / STUDENTS.name / "answers.ipynb"
    notes.write_text("a teacher's", "utf-8")
    (folder / "grades").mkdir()
    (folder / "grades" / "week-1.csv").write_text("ada,2", "utf-8")
    before = exercises.contents(folder)
    assert make(book, folder, "--seed", "7") == 0
    said = capsys.readouterr().out
    assert re.findall(r"left +(\S+): somebody has worked there$", said, re.M) == [
        f"private/{STUDENTS.name}",
        STUDENTS.as_posix(),
    ]
    assert exercises.contents(folder) == before


def test_what_was_mended_in_the_book_is_taken_over_where_nobody_has_worked(
    book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = tmp_path / "seminar", book / "book" / "tiny.ipynb"
    make(book, folder, "--seed", "7")
    (folder / "private" / STUDENTS.name / "mine.txt").write_text("a teacher's", "utf-8")
    page.write_text(page.read_text("utf-8").replace("another floor", "a mended floor"), "utf-8")
    capsys.readouterr()
    assert make(book, folder) == 0
    said = capsys.readouterr().out
    assert f"changed  {STUDENTS.as_posix()}: week-1-homework.ipynb\n" in said
    assert f"left     private/{STUDENTS.name}: somebody has worked there; what the book has" in said
    assert "a mended floor" in (folder / STUDENTS / "week-1-homework.ipynb").read_text("utf-8")
    assert (
        "a mended floor" not in (folder / "private" / STUDENTS.name / "answers.ipynb").read_text()
    )
    (folder / "private" / STUDENTS.name).rename(tmp_path / "mine")  # as README.txt says
    assert make(book, folder) == 0
    assert f"new      private/{STUDENTS.name}\n" in capsys.readouterr().out


def test_a_lesson_that_is_no_longer_taught_stays(
    book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = tmp_path / "seminar", book / "book" / "tiny.ipynb"
    make(book, folder, "--seed", "7")
    notebook = nbformat.read(page, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("# Another title"))
    nbformat.write(notebook, page)
    capsys.readouterr()
    assert make(book, folder) == 0
    said = capsys.readouterr().out
    assert f"left     {STUDENTS.as_posix()}: no longer made\n" in said
    assert "new      students/week-1-another-title\n" in said
    assert (folder / STUDENTS / "week-1-homework.ipynb").is_file()


@pytest.mark.parametrize("parts", range(1, 5))
def test_a_call_that_is_cut_short_leaves_nothing_that_looks_like_a_persons(
    parts: int,
    book: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, move, moved = tmp_path / "seminar", shutil.move, []

    def full(source: Path, target: Path) -> None:
        moved.append(source)
        if len(moved) == parts:
            raise OSError(28, "No space left on device")
        move(source, target)

    make(book, folder, "--seed", "7")
    (book / "LICENSE").write_text("Another.", "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "move", full)
        assert make(book, folder) == 1
    capsys.readouterr()
    assert make(book, folder) == 0
    assert "left" not in capsys.readouterr().out
    assert manifest.written(folder) == {
        line
        for line in manifest.lines(folder)
        if not re.search(r"  (SHA256SUMS|course.yml)$", line)
    }


def test_a_folder_of_something_else_is_not_touched(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = exercises.contents(book)
    assert make(book, book) == 1
    assert "no course: name a folder of its own" in capsys.readouterr().err
    assert exercises.contents(book) == before
    assert build.main(["course", "--root", str(book)]) == 1
    assert "Name one of your own" in capsys.readouterr().err


# What is chosen


def test_what_was_chosen_stands_in_a_file_that_is_the_teachers(
    book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "seminar"
    make(book, folder, "--seed", "7", "--start", "2027-02-01", "--day", "Friday", "--hints", "no")
    path = folder / "course.yml"
    chosen = {"seed": 7, "start": date(2027, 2, 1), "day": "friday", "hints": False}
    assert yaml.safe_load(path.read_text("utf-8")) == chosen
    path.write_text("# mine\nseed: 7\n", "utf-8")
    assert make(book, folder) == 0
    for option, value, said in (
        ("--seed", "8", "write 8 there"),
        ("--day", "monday", ""),
        ("--day", "sunday", "write sunday there"),
        ("--hints", "no", "write False there"),
        ("--start", "2027-03-01", "write 2027-03-01 there"),
    ):
        capsys.readouterr()
        assert make(book, folder, option, value) == bool(said)
        assert said in capsys.readouterr().err
    assert path.read_text("utf-8") == "# mine\nseed: 7\n"
    assert not list((folder / "students").glob("calendar.*.new"))


@pytest.mark.parametrize(
    ("said", "symptom"),
    [
        ({"seed": -1}, "not -1"),
        ({"seed": 2**63}, f"not {2**63}"),
        ({"start": "soon"}, "not soon"),
        ({"day": "someday"}, "not someday"),
        ({"hints": "perhaps"}, "not perhaps"),
        ({"colour": "red"}, "no setting 'colour'"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    said: dict[str, object], symptom: str, tmp_path: Path
) -> None:
    with pytest.raises(BookError, match=symptom):
        course.settings(tmp_path, said)
    (tmp_path / "course.yml").write_text(yaml.safe_dump({"seed": 1, **said}), "utf-8")
    with pytest.raises(BookError, match=rf"course\.yml: .*{symptom}"):
        course.settings(tmp_path, {})


@pytest.mark.parametrize("text", ["", "- 1\n", "day: monday\n", "seed: [\n"])
def test_a_file_that_is_no_courses_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "course.yml").write_text(text, "utf-8")
    with pytest.raises(BookError, match=r"course\.yml"):
        course.settings(tmp_path, {})


def test_each_course_has_another_seed(tmp_path: Path) -> None:
    assert course.settings(tmp_path, {}).seed != course.settings(tmp_path, {}).seed


def test_make_passes_on_what_was_chosen() -> None:
    chosen = ["COURSE=my course", "SEED=7", "START=2027-02-01", "DAY=friday", "HINTS=no"]
    command = ["make", "--dry-run", "course", *chosen]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    options = "--seed 7 --start 2027-02-01 --day friday --hints no"
    assert f'build.py course "my course" {options}\n' in done.stdout


def test_the_days_are_those_of_the_week_that_was_chosen(made: Path) -> None:
    calendar = icalendar.Calendar.from_ical((made / "students/calendar.ics").read_bytes())
    found = {str(event["summary"]): event["dtstart"].dt for event in calendar.walk("VEVENT")}
    sessions = [day for title, day in found.items() if title.startswith("Week")]
    assert sessions == [
        *(date(2027, 2, d) for d in (2, 9, 16, 23)),
        *(date(2027, 3, d) for d in (2, 9)),
    ]
    assert [day for title, day in found.items() if title.startswith("Due")][:-1] == sessions[1:]
    table = (made / "students/calendar.csv").read_text("utf-8").splitlines()
    assert all(str(day) in row for day, row in zip(sessions, table[1:], strict=True))
    start = (made / "students/index.html").read_text("utf-8")
    assert "Tuesday, 2 February 2027. Homework due on Tuesday, 9 February 2027." in start


# What students get


def test_no_line_of_a_solution_is_in_what_students_get(made: Path, tmp_path: Path) -> None:
    """Neither in folders nor in zips. The package beside has some lines for itself, none whole."""
    students = tmp_path / "students"
    shutil.copytree(made / "students", students)
    assert len(TELLING) > 50 and all(SOLUTIONS)
    found = list(exercises.texts(students))
    package = [text for path, text in found if "/attn_notes/" in path]
    others = [(path, text) for path, text in found if "/attn_notes/" not in path]
    assert exercises.leaks(others) == []
    assert not [
        lines for lines in SOLUTIONS if any(all(x in text for x in lines) for text in package)
    ]
    assert len(package) > 100 and len(others) > 3 * len(WEEKS)
    # A teacher's answers have all, but for what the book says of numbers that a course has not.
    own = {line for week in WEEKS for one in week.exercises if one.case for line in one.solution}
    told = {line for _, line in exercises.leaks(exercises.texts(made / "private"))}
    assert own and {*TELLING} - told <= {line for line in TELLING if line.startswith('"')}


@pytest.mark.parametrize("hints", [True, False])
def test_the_site_for_students_is_made_of_nothing_that_tells(hints: bool) -> None:
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in (ROOT / "_toc.yml", *build.visible_files(ROOT))
    }
    found = course.for_site(sources, hints)
    pages = {
        name: text.decode() for name, text in found.items() if name.endswith((".md", ".ipynb"))
    }
    assert exercises.leaks((name, source(text)) for name, text in pages.items()) == []
    assert exercises.leaks(
        (name, source(text.decode())) for name, text in sources.items() if name in pages
    )
    assert not [name for name in found if "teaching/" in name]
    assert not [
        name for name, text in pages.items() if "](teaching/" in text or "/teaching/" in text
    ]
    assert "teaching" not in found["_toc.yml"].decode()
    assert bool([text for text in pages.values() if '"exercise-floor-hint"' in text]) == hints
    listed = [*re.findall(r"file: (\S+)", found["_toc.yml"].decode())]
    assert all(any(f"{page}{end}" in found for end in (".md", ".ipynb")) for page in listed)


@pytest.mark.parametrize("stem", lesson_stems(ROOT))
def test_a_page_without_solutions_checks_answers_as_the_books_does(
    stem: str, tmp_path: Path
) -> None:
    pages = homework.pages(ROOT, stem)
    sources = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in pages}
    for name, content in course.for_site(sources, hints=True).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found, told = answers.of_lesson(homework.pages(tmp_path, stem), stem)
    book, told_there = answers.of_lesson(pages, stem)
    assert [one.uses for one in found] == [one.uses for one in book]
    assert told() == told_there() and not any(one.solution for one in found)


@pytest.mark.long
def test_the_real_site_for_students_tells_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rendered once, and not again while nothing has changed."""
    folder = tmp_path / "seminar"
    for said in ("Rendering", "Nothing has changed."):
        assert build.main(["course", str(folder), "--seed", "7", "--hints", "no"]) == 0
        assert said in capsys.readouterr().out
    there = folder / "students" / "site"
    site = {
        path.relative_to(there): exercises.shown(path.read_text("utf-8"))
        for path in there.rglob("*.html")
    }
    assert {Path("index.html"), *(Path(f"book/{week.stem}.html") for week in WEEKS)} <= {*site}
    for handed_out in (there, folder / course.DECKS):
        assert exercises.leaks(exercises.texts(handed_out)) == []
    assert not [name for name, text in site.items() if "teaching" in text or "Solution" in text]
    assert not [name for name in site if "teaching" in name.parts]
    index = (folder / "students/site/searchindex.js").read_text("utf-8")
    assert "teaching" not in index and "pull-request" not in index


def source(text: str) -> str:
    """A page as it is written; of a notebook what cells hold."""
    if not text.startswith("{"):
        return text
    return "\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)


@pytest.mark.parametrize("week", WEEKS, ids=lambda week: week.stem)
def test_a_week_has_a_name_that_sorts_and_a_sheet_that_says_what_it_is(
    week: homework.Week, made: Path
) -> None:
    folder = made / "students" / week.name
    names = sorted(path.name for path in folder.iterdir() if path.suffix in (".ipynb", ".whl"))
    backed = ["evidence"] if week.stem in evidence_stems(ROOT) else []
    kinds = [*backed, "homework", "lesson"]
    assert names[1:] == [f"week-{week.number}-{kind}.ipynb" for kind in kinds]
    sheet = nbformat.read(folder / f"week-{week.number}-homework.ipynb", as_version=4)
    nbformat.validate(sheet)
    assert sheet.metadata[homework.SHEET]["week"] == week.name
    assert names[0].split("-")[1] in sheet.cells[-1].source  # version, and its day
    heads = [line for cell in sheet.cells for line in re.findall("^## (.+)", cell.source, re.M)]
    assert heads == [one.head() for one in week.exercises]
    assert [one.number for one in week.exercises] == [*range(1, len(heads) + 1)]
    changeable = [c for c in sheet.cells if not c.metadata.get("nbgrader", {"locked": 1})["locked"]]
    assert [cell.source for cell in changeable] == [one.stub for one in week.exercises]
    assert not any(cell.metadata["nbgrader"]["grade"] for cell in changeable)
    start = (made / "students/index.html").read_text("utf-8")
    assert f"{week.name}.zip" in start and f"site/book/{week.stem}.html" in start


@pytest.mark.parametrize("week", WEEKS, ids=lambda week: week.stem)
def test_no_link_of_a_weeks_notebooks_is_dead(week: homework.Week, made: Path) -> None:
    for path in (made / "students" / week.name).glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "markdown":
                for _, target in course.LINK.findall(cell.source):
                    inside = not re.match(r"[a-z]+:|#", target)
                    assert not inside or (path.parent / target.partition("#")[0]).is_file(), target


def test_questions_are_where_no_student_looks(made: Path) -> None:
    students, private = made / "students", made / "private"
    assert len(list(private.glob("week-*/questions-moodle.xml"))) == len(WEEKS)
    assert len(list(private.glob("week-*/questions-canvas.zip"))) == len(WEEKS)
    assert len(list(private.glob("exams/*.html"))) == 4
    folder = ROOT / "book" / "teaching" / "questions"
    asked = [one for week in WEEKS for one in questions.read(folder / f"{week.stem}.yml", SEED)]
    text = "".join(path.read_text("utf-8") for path in students.rglob("*.html"))
    assert asked and not [one.why for one in asked if html.escape(one.why) in text]
    start = (students / "index.html").read_text("utf-8")
    assert course.NEEDED in start and "Before the course" in (students / course.NEEDED).read_text()
