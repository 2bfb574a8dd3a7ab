"""A course in a teacher's folder: nothing that somebody began is lost, and no answer is in it."""

import csv
import html
import itertools
import re
import shlex
import shutil
import subprocess
import tempfile
import textwrap
import zipfile
from datetime import UTC, date, timedelta
from pathlib import Path

import icalendar
import nbformat
import pytest
import yaml

from book import build
from book.course import course, exams, homework, papers, questions
from book.editions import manifest
from book.page.code import answers
from book.site import execution
from book.site.dependencies import BookError, all_stems, full_stems, lesson_page, pages_of

from . import exercises
from .exercises import ROOT, written
from .test_version import commit

TEACHING = ROOT / "book" / "teaching"
SEED = 7
WEEKS = [homework.week(ROOT, stem, i, SEED) for i, stem in enumerate(full_stems(ROOT), 1)]
SOLUTIONS = exercises.all_telling()
STUDENTS = Path("students") / "week-1-tiny"
PRIVATE = Path("private") / STUDENTS.name
PARTS = ["Floor", "Control", "Rate", "Seeds", "Verdict"]


def pretend_site(new, old, changed):
    return bool(written(new, {"index.html": "a site"}))


def text_of(path):
    return path.read_text("utf-8")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course") / "seminar"
    chosen = {"seed": SEED, "start": "2027-02-01", "day": "tuesday"}
    course.make(ROOT, folder, chosen, pretend_site)
    return folder


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "seminar"


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setattr(execution, "execute", lambda root: None)
    monkeypatch.setattr(build, "course_site", lambda root, *given: pretend_site(*given))
    return exercises.little_book(tmp_path)


@pytest.fixture
def make(book, folder, capsys):
    def call(*options, fails=False, into=folder):
        where = [str(into)] if into else []
        assert build.main(["course", *where, *options, "--root", str(book)]) == fails
        return "".join(capsys.readouterr())

    return call


def mend(page):
    page.write_text(text_of(page).replace("another floor", "a mended floor"), "utf-8")


def retitle(page, title, into):
    notebook = nbformat.read(page, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(f"# {title}"))
    into.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, into)


# Nothing is lost


def test_nothing_is_lost_and_what_is_mended_comes_where_nobody_worked(make, book, folder, tmp_path):
    assert make("--seed", "7").count("new  ") == len(manifest.parts(manifest.written(folder)))
    before = exercises.contents(folder)
    assert make() == "Nothing has changed.\n" and exercises.contents(folder) == before

    theirs = (f"{STUDENTS}/mine.ipynb", f"{PRIVATE}/answers.ipynb", "grades/week-1.csv")
    before = exercises.contents(written(folder, dict.fromkeys(theirs, "somebody's")))
    left = re.findall(r"left +(\S+): somebody has worked there$", make("--seed", "7"), re.M)
    assert left == [PRIVATE.as_posix(), STUDENTS.as_posix()]
    now = exercises.contents(folder)  # their work, and in the zip that students get, too
    other = {path for path in now if now[path] != before.pop(path)}
    assert other == {folder / f"{STUDENTS}.zip", folder / manifest.NAME} and not before

    (folder / STUDENTS / "mine.ipynb").rename(tmp_path / "mine.ipynb")
    page, sheet = book / lesson_page("tiny"), folder / STUDENTS / "week-1-homework.ipynb"
    mend(page)
    said = make()
    assert f"changed  {STUDENTS.as_posix()}: week-1-homework.ipynb\n" in said
    assert f"left     {PRIVATE}: somebody has worked there; what the book has" in said
    assert "a mended floor" in text_of(sheet)
    assert text_of(folder / PRIVATE / "answers.ipynb") == "somebody's"
    (folder / PRIVATE).rename(tmp_path / "mine")  # as README.txt says
    assert f"new      {PRIVATE}\n" in make()

    retitle(page, "Another title", page)  # a lesson that is taught no longer
    said = make()
    assert f"left     {STUDENTS.as_posix()}: no longer made\n" in said and sheet.is_file()
    assert "new      students/week-1-another-title\n" in said


@pytest.mark.parametrize("parts", range(1, 5))
def test_a_call_cut_short_leaves_nothing_like_a_persons(parts, make, book, folder, monkeypatch):
    move, moved = shutil.move, []

    def full(source, target):
        moved.append(source)
        if len(moved) == parts:
            raise OSError(28, "No space left on device")
        move(source, target)

    make("--seed", "7")
    (book / "LICENSE").write_text("Another.", "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "move", full)
        make(fails=True)
    assert "left" not in make()
    ours = ("  SHA256SUMS", "  course.yml")
    found = {line for line in manifest.lines(folder) if not line.endswith(ours)}
    assert manifest.written(folder) == found


# What is chosen


def test_what_was_chosen_stands_in_a_teachers_file(make, book, folder):
    before = exercises.contents(book)  # a folder of something else is not touched
    assert "no course: name a folder of its own" in make(into=book, fails=True)
    assert exercises.contents(book) == before
    assert "Name one of your own" in make(into=None, fails=True)
    make("--seed", "7", "--start", "2027-02-01", "--day", "Friday", "--hints", "no")
    path, sheet = folder / "course.yml", folder / STUDENTS / "week-1-homework.ipynb"
    chosen = {"seed": 7, "start": date(2027, 2, 1), "day": "friday", "hints": False}
    assert yaml.safe_load(text_of(path)) == chosen
    assert "floor" in text_of(sheet) and "Hint" not in text_of(sheet)
    path.write_text("# mine\nseed: 7\n", "utf-8")
    assert "week-1-homework.ipynb" in make() and "Hint" in text_of(sheet)
    make("--day", "monday")
    others = {"--seed": "8", "--day": "sunday", "--hints": "no", "--start": "2027-03-01"}
    for option, value in others.items():
        assert f"write {value.replace('no', 'False')} there" in make(option, value, fails=True)
    assert text_of(path) == "# mine\nseed: 7\n"


NOT_SO = {"start": "soon", "day": "someday", "hints": "perhaps", "attempts": "first"}
NOT_SO |= {"zone": "Mars", "due": 1080, "penalty": 2}
REFUSED = {
    **{f"seed: {value}": f"not {value}" for value in (-1, 2**63)},
    **{f"{{seed: 1, {name}: {value}}}": f"not {value}" for name, value in NOT_SO.items()},
    "{seed: 1, colour: red}": "no setting 'colour'",
    "{seed: 1, weeks: trm}": "weeks are lessons, each once",
    "{seed: 1, weeks: [trm, trm]}": "weeks are lessons, each once",
    "{seed: 1, dates: {2: soon}}": "a week, and the session's day",
    "{seed: 1, dates: {b: 2027-02-01}}": "a week, and the session's day",
    "{seed: 1, dates: {2: 2027-02-01 10:00:00}}": "a week, and the session's day",
    "{seed: 1, holidays: soon}": "holidays are as",
    "{seed: 1, holidays: [[2027-02-03, 2027-02-01]]}": "holidays are as",
    "{seed: 1, hours: '9-10', zone: Europe/Berlin}": "hours are as",
    "{seed: 1, hours: '09:00-10:00'}": "hours want a zone",
    "{seed: 1, rooms: Hall}": "rooms are as",
    "{seed: 1, points: {1: 3}}": "points are as",
    "{seed: 1, points: {1: {floor: -1}}}": "points are as",
    "{seed: 1, own: {1: {title: Mine}}}": "of your own has title, points, minutes",
    "{seed: 1, own: {1: [Mine]}}": "of your own has title, points, minutes",
    "{seed: 1, extensions: {Ada: 3}}": "a student, a week, a day",
    "{seed: 1, extensions: {Ada: {2: soon}}}": "a student, a week, a day",
    "{seed: 1, groups: {One: Ada}}": "groups are as",
}


@pytest.mark.parametrize("text", [*REFUSED, "", "- 1", "day: monday", "seed: ["])
def test_a_setting_that_cannot_be_is_named(text, tmp_path):
    assert course.settings(tmp_path, {}).seed != course.settings(tmp_path, {}).seed  # another each
    if text in REFUSED:  # and not the file of something else
        with pytest.raises(BookError, match=REFUSED[text]):
            course.settings(tmp_path, yaml.safe_load(text))
    with pytest.raises(BookError, match=rf"course\.yml.*{REFUSED.get(text, '')}"):
        course.settings(written(tmp_path, {"course.yml": text}), {})


def test_make_passes_on_what_was_chosen():
    chosen = "SEED=7 START=2027-02-01 DAY=friday HINTS=no"
    marks = "WEEK=3 IN='all of it.zip' TABLE='a b.csv'"
    for given, said in (
        (f"course {chosen}", "--seed 7 --start 2027-02-01 --day friday --hints no"),
        (f"grade {marks}", '--week 3 --in "all of it.zip" --table "a b.csv"'),
    ):
        command = ["make", "--dry-run", *shlex.split(given), "COURSE=my course"]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        assert f'build.py {command[2]} "my course" {said}\n' in done.stdout


def calendar_of(folder):
    """A calendar, its events by their titles, and the rows of the table beside it."""
    calendar = icalendar.Calendar.from_ical((folder / "students/calendar.ics").read_bytes())
    events = {str(event["summary"]): event for event in calendar.walk("VEVENT")}
    with (folder / "students/calendar.csv").open(encoding="utf-8") as file:
        return calendar, events, [*csv.DictReader(file)]


@pytest.mark.slow
def test_the_days_are_those_of_the_week_that_was_chosen(made):
    _, events, rows = calendar_of(made)
    found = {title: event["dtstart"].dt for title, event in events.items()}
    sessions = [day for title, day in found.items() if title.startswith("Week")]
    assert sessions == [date(2027, 2, 2) + timedelta(weeks=n) for n in range(6)]
    assert [day for title, day in found.items() if title.startswith("Due")][:-1] == sessions[1:]
    assert [row["session"] for row in rows] == [*map(str, sessions)]
    said = "Tuesday, 2 February 2027. Homework due on Tuesday, 9 February 2027, 23:59 (UTC)."
    assert said in text_of(made / "students/index.html")


@pytest.mark.slow
def test_a_course_of_three_weeks_in_another_order_on_other_days(folder, capsys):
    told = "start: 2027-02-01\nday: tuesday\ndates: {2: 2027-02-11}\n"
    chosen_of(f"{told}weeks: [trm, attention, deep_qkv]", folder)
    before = capsys.readouterr().out.partition("new  ")[0]
    assert before.splitlines()[:5] == [
        "Week 1, Think longer, not larger, builds on Attention, seen whole, which comes later.",
        "Week 2's page of notes says “The next lesson”, as in the book's order.",
        "Week 3's lesson says “our first lesson”, as in the book's order.",
        "Week 3's lesson says “the first lesson”, as in the book's order.",
        "The first page of the site begins with the book's first lesson.",
    ]
    (lesson,) = folder.glob("students/week-1-*/*lesson.ipynb")
    assert "Next: Attention, seen whole." in text_of(lesson)
    table = calendar_of(folder)[2]
    assert [(row["title"], row["session"], row["homework due"]) for row in table] == [
        ("Think longer, not larger", "2027-02-02", "2027-02-09"),
        ("Attention, seen whole", "2027-02-11", "2027-02-18"),
        ("Was it the new part?", "2027-02-16", "2027-02-23"),
    ]
    assert len([*(folder / "students").glob("week-*.zip")]) == 3
    assert len([*(folder / "private").glob("week-*/notes.html")]) == 3
    assert "takes" in before
    papers_ = [*map(text_of, (folder / "private/exams").glob("*.html"))]
    assert len(papers_) == 12 and not [text for text in papers_ if "inside one bracket" in text]
    syllabus = text_of(folder / "private/teaching/syllabus.html")
    rows = re.findall(r"<tr>\s*<td>(\d)</td>\s*<td>(.*?)</td>", syllabus, re.S)
    lesson = [re.sub("<[^>]+>", "", text) for _, text in rows[:3]]
    assert lesson == [row["title"] for row in table] and {n for n, _ in rows} == {"1", "2", "3"}
    assert "equilibrium" not in syllabus and "eigenvalues as well" not in syllabus
    terms = re.findall(r"<dt>(?:Before|After) (week \d)</dt>\s*<dd>(.{20})", syllabus)
    assert terms == [("week 2", "Change the word at t"), ("week 1", "The training of this")]


def sources_of_the_site():
    paths = (ROOT / "_toc.yml", *build.visible_files(ROOT))
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}


def test_the_site_follows_the_courses_order_and_the_books_where_there_is_none():
    """Its contents, and so *Next*, the menu and the first page; and what a lesson's end says."""
    sources, book, two = sources_of_the_site(), all_stems(ROOT), full_stems(ROOT)[3:5]
    weeks = [homework.week(ROOT, stem, n, SEED) for n, stem in enumerate(two, 1)]
    for given, order in ((WEEKS, book), (weeks, [*two, *(x for x in book if x not in two)])):
        leads = course.following(ROOT, given)
        found = course.for_site(sources, True, given, leads)
        contents = re.findall(r"file: book/lessons/(\w+)/\1\n", found["_toc.yml"].decode())
        assert contents == order and bool(leads) == (given == weeks)
        for stem, after in itertools.pairwise(order):
            pages = [nbformat.reads(found[str(x)].decode(), 4) for x in pages_of(ROOT, stem)]
            cells = [cell.source for page in pages for cell in page.cells if cell.id == "retell"]
            ends = re.findall(r"^(?:\W*Next|Back to).*\.\./(\w+)/\1\.ipynb", "\n".join(cells), re.M)
            assert ends == [after] * len(cells) and cells
    assert not [*course.out_of_order(ROOT, WEEKS)]
    assert "is not in the course" in next(course.out_of_order(ROOT, weeks))


def chosen_of(told, folder):
    course.make(ROOT, written(folder, {"course.yml": f"seed: 7\n{told}"}), {}, pretend_site)


HOURS = """
start: 2027-03-08
day: tuesday
zone: Europe/Berlin
hours: "14:15-15:45"
due: "18:00"
room: Hall 2
rooms: {3: "Lab <3>"}
holidays: [2027-03-23, [2027-04-06, 2027-04-12]]
weeks: [attention, trm, deep_qkv]
"""


@pytest.mark.slow
def test_hours_rooms_holidays_and_a_changed_clock_are_followed(folder):
    """The clock is changed on 28 March 2027: a session at 14:15 begins at 13:15 UTC, then 12:15."""
    chosen_of(HOURS, folder)
    calendar, events, rows = calendar_of(folder)
    assert [str(zone["tzid"]) for zone in calendar.walk("VTIMEZONE")] == ["Europe/Berlin"]
    weeks = [event for title, event in events.items() if title.startswith("Week")]
    begins = [event["dtstart"].dt.astimezone(UTC).isoformat()[:16] for event in weeks]
    # The 23rd is a holiday, and the 6th of April is one as well.
    assert begins == ["2027-03-09T13:15", "2027-03-16T13:15", "2027-03-30T12:15"]
    assert [str(event["location"]) for event in weeks] == ["Hall 2", "Hall 2", "Lab <3>"]
    due = ["2027-03-16", "2027-03-30", "2027-04-13"]
    assert [row["homework due"] for row in rows] == due and rows[2]["room"] == "Lab <3>"
    start, day = text_of(folder / "students/index.html"), "Tuesday, 13 April 2027, 18:00"
    assert "Tuesday, 30 March 2027, 14:15 to 15:45, Lab &lt;3&gt;. Homework due on" in start
    assert f"{day} (Europe/Berlin)." in start
    (read_me,) = folder.glob("students/week-3-*/README.txt")
    assert f"It is due on {day} (Europe/Berlin)." in text_of(read_me)


OWN = """
weeks: [attention]
points: {1: {softmax: 5, disagree: 0}}
own:
  1:
    - title: Your words
      points: 3
      minutes: 15
      question: What is a mask for?
      solution: own_1 = 'Time.'
"""


@pytest.mark.slow
def test_points_and_exercises_of_ones_own_are_followed(folder):
    chosen_of(OWN, folder)
    (there,) = folder.glob("students/week-1-*/")
    text = "\n".join(exercises.cells(there / "week-1-homework.ipynb").values())
    assert re.findall(r"## Exercise (\d): (.*?) \((\d) points", text) == [
        ("1", "a softmax by hand", "5"),
        ("2", "make the mask, in Python", "2"),
        ("3", "Your words", "3"),
    ]
    assert "10 points and about 45 minutes in all" in text and "disagree" not in text
    assert "as 3, a person reads" in text and "own_1 = ..." in text and "Time." not in text
    start = text_of(folder / "students/index.html")
    assert "site/book/reference/browsers.html" in start
    assert '<td>Your words</td><td class="number">3</td>' in start
    assert '<td>in all</td><td class="number">10</td>' in start
    (private,) = folder.glob("private/week-1-*/")
    assert "own_1 = 'Time.'" in text_of(private / "answers.ipynb")
    week = homework.from_json(text_of(private / course.EXERCISES))
    points = {one.name: one.points for one in week.exercises}
    assert points == {"softmax": 5, "triangle": 2, "own-1": 3}
    pages = {str(path): (ROOT / path).read_bytes() for path in pages_of(ROOT, "attention")}
    site, book = (b"".join(course.for_site(pages, True, *of).values()) for of in ([[week]], []))
    assert b"a softmax by hand (5 points, " in site and b"exercise-disagree" not in site
    assert site.count(b"These numbers are for practice.") == 1 and b"practice.\n:::" not in site
    assert "the file that *Save* gives under an exercise, but for 1, whose numbers are" in text
    assert b"a softmax by hand (3 points, " in book


def test_the_example_of_a_course_is_one(tmp_path):
    told = text_of(TEACHING / "costs.md").split("```yaml\n")[1].split("```")[0]
    written(tmp_path, {"course.yml": f"seed: 7\n{textwrap.dedent(told)}"})
    weeks = course.weeks_of(ROOT, tmp_path, course.settings(tmp_path, {}))
    assert len(weeks) == 3 and weeks[1].exercises[-1].title == "Your words"


UNFIT = [
    ("weeks: [trm, nothing]", "weeks has nothing, which is no lesson. There are attent"),
    ("weeks: [trm]\ndates: {2: 2027-02-18}", "dates has week 2; there are 1"),
    ("weeks: [trm]\nrooms: {0: Hall}", "rooms has week 0; there are 1"),
    ("weeks: [attention]\npoints: {1: {mask: 2}}", "no exercise mask, but softmax, disagree, tri"),
    ("weeks: [attention]\npoints: {1: {softmax: 0, disagree: 0, triangle: 0}}",
     "week 1 is left without an exercise"),
    ("start: 2027-02-01\nweeks: [trm, attention]\ndates: {1: 2027-02-20}",
     "Monday, 8 February 2027 is not after Saturday, 20 February 2027"),
    ("start: 2027-02-01\ndates: {1: 2027-02-02}\nholidays: [2027-02-02]",
     "Tuesday, 2 February 2027 is one of the holidays"),
    ("exams: mine.yml", "exams: there is no .*mine.yml"),
]  # fmt: skip


OWN_ONE = "title: A, points: 1, minutes: 1, question: a, solution: a"
CHECKED = f"weeks: [attention]\nown: {{1: [{{{OWN_ONE}, %s}}]}}"
UNFIT += [
    (CHECKED % told, f"own: {said}")
    for told, said in (
        ("check: mine.py", "there is no .*mine.py"),
        ("check: ../mine", "../mine is no name for a file of Python"),
        ("check: json.py", "json.py is no name for a file of Python of your own"),
        ("check: broken.py", "broken.py stops: invalid syntax"),
        ("check: other.py", "other.py has no check own_1, called as the answer is"),
        ("check: other.py, stub: softmax = 1", "week 1 has two checks called softmax"),
    )
] + [(CHECKED % "checks: mine.py", "an exercise of your own has title, .*; stub and check may be")]
OTHER = """
from book.kit.exercises import check
def own_1(answer): pass
@check
def softmax(answer, draw): return "so it is."
"""


@pytest.mark.parametrize(("told", "said"), UNFIT)
def test_what_does_not_fit_is_refused_before_anything_is_built(told, said, folder):
    written(folder, {"broken.py": "def", "other.py": OTHER})
    with pytest.raises(BookError, match=rf"course\.yml: .*{said}"):
        chosen_of(told, folder)
    assert {path.name for path in folder.iterdir()} == {"course.yml", "broken.py", "other.py"}


@pytest.mark.slow
def test_exams_of_ones_own_take_the_place_of_the_books(folder):
    entry = yaml.safe_load(text_of(TEACHING / "exams.yml"))[0] | {"title": "Mine"}
    for one in (*entry["questions"], *entry["tasks"]):
        one.pop("of")
    written(folder, {"mine.yml": yaml.safe_dump([entry], sort_keys=False)})
    chosen_of("weeks: [attention]\nexams: mine.yml", folder)
    there = sorted(path.name for path in (folder / "private/exams").iterdir())
    assert there == [f"mine-{n}{end}.html" for n in (1, 2, 3) for end in ("-key", "")]
    assert "60 minutes, 60 points" in text_of(folder / "private/exams/mine-1.html")


# A part is made anew only if it is another


def test_a_mended_sentence_changes_its_own_lessons_part_and_is_said(make, book, folder):
    """Under git, where every commit has a version of its own: the packages' is of their own."""
    page, other = book / lesson_page("other"), "week-2-other"
    retitle(book / lesson_page("tiny"), "Other", page)
    with (book / "_toc.yml").open("a") as listed:
        listed.write("chapters:\n- file: book/lessons/other/other\n")
    commit(book, "2026-11-24T12:00:00Z")
    make("--seed", "7")
    mend(page)
    commit(book, "2026-11-25T12:00:00Z")
    said = make()
    # The sentence is the title of an exercise, and so on the first page as well.
    parts = ["index.html", other, f"{other}.zip"]
    changed = [f"private/{other}", *(f"students/{part}" for part in parts)]
    found = re.findall(r"^(\w+) +(\S+?)(?::|$)", said, re.M)
    assert found == [("changed", part) for part in changed]
    assert "a mended floor" in said and "week-2-homework.ipynb\n         “" in said
    (book / "attn_notes" / "more.py").write_text("", "utf-8")
    commit(book, "2026-11-26T12:00:00Z")
    assert re.search(r"changed  students/week-1-tiny: .*attn_notes-0\.2\.0\+20261126", make())


def test_what_a_teacher_has_changed_is_what_students_download(make, book, folder):
    make("--seed", "7")
    theirs = folder / STUDENTS / "week-1-homework.ipynb"
    theirs.write_text(text_of(theirs).replace("floor", "ceiling"), "utf-8")
    written(folder, {f"{STUDENTS}/.ipynb_checkpoints/x.ipynb": ""})
    said = make()
    assert f"changed  {STUDENTS.as_posix()}.zip" in said and f"left     {STUDENTS}" in said
    with zipfile.ZipFile(folder / f"{STUDENTS}.zip") as archive:
        names = archive.namelist()
        assert archive.read(f"{STUDENTS.name}/{theirs.name}") == theirs.read_bytes()
    assert len(names) == len([*(folder / STUDENTS).glob("[!.]*")])
    assert "changed" not in make()


def test_a_remark_in_one_deck_freezes_no_other(tmp_path):
    new, there = tmp_path / "new", tmp_path / "there"
    for text in ("1", "2"):
        written(new, {f"private/decks/{name}.html": text for name in "ab"})
        said = manifest.merge(new, there)
        written(there, {"private/decks/a.html": "mine"})
    parts = [line.split("private/decks/") for line in said if "private" in line]
    assert [(what.strip(), name[0]) for what, name in parts] == [("left", "a"), ("changed", "b")]
    assert text_of(there / "private/decks/a.html") == "mine"


# What students get


@pytest.mark.slow
def test_no_line_of_a_solution_is_in_what_students_get(made, tmp_path):
    """Neither in folders nor in zips. The package beside has some lines for itself, none whole."""
    shutil.copytree(made / "students", tmp_path / "students")
    telling = {line for lines in SOLUTIONS for line in lines}
    assert len(telling) > 50 and all(SOLUTIONS)
    found = {text: path for path, text in exercises.texts(tmp_path / "students")}
    ours = re.compile(r"\.whl-inside/(?:attn_notes|book)/")
    package = [text for text, path in found.items() if ours.search(path)]
    others = [(path, text) for text, path in found.items() if not ours.search(path)]
    assert exercises.leaks(others) == []
    judged = [one.solution for week in WEEKS for one in week.exercises if one.numbered]
    methods = [[x.strip() for x in text.splitlines()[1:] if len(x.strip()) > 12] for text in judged]
    assert len(methods) == 8
    for whole, there in ((SOLUTIONS, package), (methods, found)):
        assert not [all_ for all_ in whole if any(all(x in text for x in all_) for text in there)]
    assert len(package) > 100 and len(others) > 3 * len(WEEKS)
    # A teacher's answers have all, but for what the book says of numbers that a course has not.
    told = {line for _, line in exercises.leaks(exercises.texts(made / "private"))}
    assert told and all(line.startswith(('"', 'answer = {"')) for line in telling - told)


@pytest.mark.slow
def test_the_site_for_students_tells_nothing_and_checks_as_the_books_does(tmp_path):
    def there(files):
        pages = {name: x for name, x in files.items() if name.endswith((".md", ".ipynb"))}
        return written(Path(tempfile.mkdtemp(dir=tmp_path)), pages)

    sources = sources_of_the_site()
    assert exercises.leaks(exercises.texts(there(sources)))
    for hints in (True, False):
        found = course.for_site(sources, hints)
        folder = there(found)
        pages = [*map(text_of, folder.rglob("*.*"))]
        assert exercises.leaks(exercises.texts(folder)) == []
        contents = found["_toc.yml"].decode()
        assert "teaching" not in contents.lower() and "teaching/" not in " ".join(found)
        assert not [page for page in pages if re.search(r"[/(]teaching/", page)]
        assert any('"exercise-floor-hint"' in page for page in pages) == hints
        for page in re.findall(r"file: (\S+)", contents):
            assert f"{page}.md" in found or f"{page}.ipynb" in found
    for week in WEEKS:
        pages = pages_of(ROOT, week.stem)
        here, told = answers.of_lesson([folder / page for page in pages], week.stem)
        book, told_there = answers.of_lesson([ROOT / page for page in pages], week.stem)
        assert [one.uses for one in here] == [one.uses for one in book], week.stem
        assert told() == told_there() and not any(one.solution for one in here), week.stem


@pytest.mark.long
def test_the_real_site_tells_nothing(folder, capsys):
    for said in ("Rendering", "Nothing has changed."):
        assert build.main(["course", str(folder), "--seed", "7", "--hints", "no"]) == 0
        assert said in capsys.readouterr().out
    there = folder / "students" / "site"
    pages = there.rglob("*.html")
    site = {page.relative_to(there): exercises.shown(text_of(page)) for page in pages}
    lessons = (lesson_page(week.stem).with_suffix(".html") for week in WEEKS)
    assert {Path("index.html"), *lessons} <= {*site}
    for handed_out in (there, folder / course.DECKS):
        assert exercises.leaks(exercises.texts(handed_out)) == []
    assert not [name for name, text in site.items() if "teaching" in text or "Solution" in text]
    assert not [name for name in site if "teaching" in name.parts]
    assert not re.search("teaching|pull-request", text_of(there / "searchindex.js"))


def test_a_week_has_a_name_that_sorts_and_a_sheet_that_says_what_it_is(made):
    start = text_of(made / "students/index.html")
    for week in WEEKS:
        there = made / "students" / week.name
        assert f"{week.name}.zip" in start
        assert f"site/{lesson_page(week.stem).with_suffix('.html')}" in start
        wheel, _, *names = sorted(p.name for p in there.iterdir() if p.suffix in (".ipynb", ".whl"))
        kinds = sorted(["homework", *map(course.title_of, pages_of(ROOT, week.stem))])
        assert names == [f"week-{week.number}-{kind}.ipynb" for kind in kinds]
        sheet = nbformat.read(there / f"week-{week.number}-homework.ipynb", as_version=4)
        nbformat.validate(sheet)
        assert sheet.metadata[homework.SHEET]["week"] == week.name
        assert wheel.split("-")[1] in sheet.cells[-1].source  # version, and its day
        heads = [head for cell in sheet.cells for head in re.findall("^## (.+)", cell.source, re.M)]
        assert heads == [one.head() for one in week.exercises]
        assert [one.number for one in week.exercises] == [*range(1, len(heads) + 1)]
        told = [(cell, cell.metadata.get("nbgrader", {"locked": True})) for cell in sheet.cells]
        mine = [(cell.source, is_["grade"]) for cell, is_ in told if not is_["locked"]]
        assert mine == [(one.stub, False) for one in week.exercises]


KEPT = "attention-notes reached"


def test_the_index_shows_what_this_browser_has_reached_and_nothing_else(made, browser):
    softmax, _, triangle = next(week for week in WEEKS if week.stem == "attention").exercises
    table = "document.querySelector('table[data-lesson=attention]')"
    for kept, shown in (
        ("", ""),
        ("{", ""),
        ('{"softmax": 7, "triangle": "1"}', f"{triangle.points}"),
        ('{"softmax": 0.5, "gone": 1}', f"{softmax.points / 2:g}"),
    ):
        page = browser.new_page()  # of a context of its own: it finds what stands there before it
        page.add_init_script(f"{kept!r} && localStorage.setItem('{KEPT} attention', {kept!r})")
        page.goto((made / "students/index.html").as_uri())
        assert page.evaluate(f"{table}.rows[0].lastElementChild.hidden") == (not shown)
        last = page.evaluate(f"[...{table}.rows].at(-1).lastElementChild.innerText")
        assert last == shown or not shown
        page.context.close()


def test_no_link_of_a_weeks_notebooks_is_dead(made):
    for path in (made / "students").glob("week-*/*.ipynb"):
        texts = [c.source for c in nbformat.read(path, as_version=4).cells if "outputs" not in c]
        for _, target in course.LINK.findall("\n".join(texts)):
            inside = not re.match(r"[a-z]+:|#", target)
            assert not inside or (path.parent / target.partition("#")[0]).is_file(), (path, target)
    linking = nbformat.v4.new_markdown_cell("[a](../b.ipynb#c), [d](e.ipynb)")
    notebook = nbformat.v4.new_notebook(cells=[linking])
    course.relinked(notebook, Path("evidence/a.ipynb"), {Path("b.ipynb"): "week.ipynb"})
    assert linking.source == "[a](week.ipynb#c), d"


def test_a_zip_is_the_same_as_long_as_its_folder_is(made):
    for week in WEEKS:
        path = made / "students" / f"{week.name}.zip"
        with zipfile.ZipFile(path) as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            there = [p for p in path.with_suffix("").rglob("*") if p.is_file()]
            assert {*archive.namelist()} == {f"{week.name}/{p.name}" for p in there}


# What is for teachers, and for a project


def test_questions_are_where_no_student_looks(made):
    students, private = made / "students", made / "private"
    for name in ("questions-moodle.xml", "questions-canvas.zip", "self-test.html"):
        assert len(list(private.glob(f"week-*/{name}"))) == len(WEEKS)
    assert len(list(private.glob("exams/*.html"))) == 2 * 2 * exams.VERSIONS
    paths = [ROOT / "book" / "lessons" / week.stem / "questions.yml" for week in WEEKS]
    asked = [one for path in paths for one in questions.read(path, SEED)]
    text = "".join(map(text_of, students.rglob("*.html")))
    assert asked and not [one.why for one in asked if html.escape(one.why) in text]
    assert course.NEEDED in text_of(students / "index.html")
    assert "Before the course" in text_of(students / course.NEEDED)


def test_every_page_for_teachers_is_in_the_private_folder_without_a_dead_link(made):
    there = made / "private" / "teaching"
    names = {path.stem for path in TEACHING.glob("*.md")} - {"index", "AGENTS", "audit"}
    assert {path.name for path in there.iterdir()} == {*(f"{n}.html" for n in names), papers.AGENTS}
    for week in WEEKS:
        notes = text_of(made / "private" / week.name / "notes.html")
        assert f"<h1>Teaching: {html.escape(week.title)}</h1>" in notes
        assert "<dt>" in notes and "<td>" in notes  # what students stumble over; the plan
    pages = [*made.glob("private/week-*/notes.html"), *there.glob("*.html")]
    assert len(pages) == len(WEEKS) + 4
    for path in pages:
        text = text_of(path)
        assert not re.search(r"\{[\w:]+\}`|```|\.ipynb\"|\.md\"|<script", text), path
        for target in re.findall(r'href="([^"#]+)', text):
            leads = (path.parent / target).resolve()
            if "site/book" in target:
                page = ROOT / "book" / leads.relative_to((made / "students/site/book").resolve())
                assert any(page.with_suffix(end).is_file() for end in (".ipynb", ".md")), target
            else:
                assert re.match("[a-z]+:", target) or leads.is_file(), (path, target)
    text = text_of(there / "syllabus.html")
    assert '<a href="https://arxiv.org/abs/1802.06509">Arora and others (2018)</a>' in text
    assert "Do not write, complete or correct" in text  # AGENTS.md, as it is included


def test_a_project_has_the_parts_of_its_rubric_and_of_a_report(made):
    notebook = nbformat.read(made / "students/project/audit-a-claim.ipynb", as_version=4)
    nbformat.validate(notebook)
    heads = re.findall(r"^## (.+)", "\n".join(cell.source for cell in notebook.cells), re.M)
    assert heads == ["The claim", *PARTS]
    rubric = text_of(TEACHING / "project.md").partition("## Rubric")[2]
    assert re.findall(r"^\| (\w+) \|", rubric, re.M) == [part.lower() for part in PARTS]
    assert 'href="project.zip"' in text_of(made / "students/index.html")
    assert (made / "students/project.zip").is_file()


@pytest.mark.long
def test_a_project_runs_as_it_is_given_and_finds_nothing():
    """At fewer steps and seeds: the new part changes nothing, and that is what it says."""
    scope = {}
    for cell in papers.template(TEACHING / "audit.md").cells:
        if cell.cell_type == "code":
            exec(cell.source, scope)
            if "STEPS" in cell.source.splitlines()[-2]:
                scope |= {"STEPS": 3, "RATES": (1e-2, 3e-2), "TUNING": 1, "SEEDS": 6}
    for compared in (scope["with_plain"], scope["with_control"]):
        assert compared.verdict is None and bool((compared.ours == compared.theirs).all())
        assert any("is the change in the model at all?" in note for note in compared.notes)
