"""A hub for real, on this machine: two students, a chapter, an exercise handed in and graded.

    make trial

A JupyterHub with the settings of `jupyterhub_config.py` starts two students' servers, in folders
of their own and as whoever runs this. In a browser each follows the link of a class: nbgitpuller
brings the student edition from a repository, and JupyterLab opens the first chapter. Both run it
to its end at the same time, and use its widget. Then they fetch the assignment; ada solves its
first exercise and bob leaves it as it is; both hand it in, a teacher collects, grades and hands
back, and both fetch what they are told.

Each line that is printed is something that was seen. What students' servers took is printed too.
A memory limit is not tried: it needs containers, and this has none.
"""

import contextlib
import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.parse import parse_qsl, urlencode, urlsplit

import nbformat
import psutil
from playwright.sync_api import Page, expect, sync_playwright

from book.course import course, grading, homework
from book.editions.editions import editions, solutions
from book.site.dependencies import BookError, lesson_page, lesson_stems
from book.site.extension.repository import BRANCH, launches

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = Path(sys.executable).parent  # of this environment, which is not activated
STUDENTS = ("ada", "bob")
CHAPTER, EXERCISE = "deep_qkv", "floor"
POINTS = {"ada": 2.0, "bob": 0.0}
SEED = 1
WEEK = homework.week(ROOT, CHAPTER, lesson_stems(ROOT).index(CHAPTER) + 1)
SHEET = f"week-{WEEK.number}-homework.ipynb"
ASKED = {"assignment_id": WEEK.name, "course_id": "attention-notes"}

CONFIG = """\
load_subconfig({settings!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.JupyterHub.spawner_class = "simple"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allowed_users = {students!r}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.command = [{scripts!r} + "/configurable-http-proxy"]
c.Spawner.cmd = [{scripts!r} + "/jupyterhub-singleuser"]
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
c.Spawner.environment |= {environment!r}
c.Spawner.args = [
    "--allow-root",
    "--LabApp.expose_app_in_browser=True",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
]
"""
CELLS = """() => [...jupyterapp.shell.currentWidget.content.model.cells].map((cell) => ({
    id: cell.id, type: cell.type, count: cell.executionCount ?? null,
    failed: (cell.outputs?.toJSON() ?? []).some((one) => one.output_type === 'error'),
}))"""
IDLE = """() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"""
# Text goes in as it is: typed, the editor would add indents and brackets.
WRITE = """([id, text]) => {
    const cells = [...jupyterapp.shell.currentWidget.content.model.cells];
    cells.find((cell) => cell.id === id).sharedModel.setSource(text);
}"""
POST = """async ([path, form]) => {
    const token = document.cookie.match(/_xsrf=([^;]+)/)?.[1] ?? '';
    const answer = await fetch(path, {method: 'POST', body: new URLSearchParams(form),
        headers: {'X-XSRFToken': decodeURIComponent(token)}});
    return [answer.status, await answer.text()];
}"""


def main() -> None:
    """Run all of it in a folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="hub-") as name:
        folder = Path(name)
        seminar = make_course(folder)
        with hub(folder) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            pages = {}
            for student in STUDENTS:
                context = browser.new_context(viewport={"width": 1280, "height": 1000})
                pages[student] = context.new_page()
                pages[student].set_default_timeout(120_000)
                log_in(pages[student], address, student)
                pull(pages[student], address, folder / "class")
            run_chapter(pages, folder)
            for student, page in pages.items():
                use_widget(page, student)
            for student, page in pages.items():
                do_assignment(page, address, student)
            grade(seminar)
            for student, page in pages.items():
                read_feedback(page, address, student, folder / "homes" / student)
            browser.close()


def make_course(folder: Path) -> Path:
    """The editions: a repository to pull from, as the workflow fills it; a course, handed out."""
    editions(ROOT, folder / "editions")
    there, source = folder / "editions", folder / "published"
    for edition in ("student", "plain"):
        shutil.copytree(there / f"attention-notes-{edition}", source / edition)
    for command in (
        ("init", "--quiet", "-b", BRANCH),
        ("add", "--all"),
        ("-c", "user.name=class", "-c", "user.email=class@localhost", "commit", "-qm", "Editions"),
    ):
        subprocess.run(["git", *command], cwd=source, check=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", source, folder / "class"], check=True)
    for name in ("exchange", "data", "config"):
        (folder / name).mkdir()
    (folder / "exchange").chmod(0o777)
    shutil.copy(ROOT / "hub" / "nbgrader_config.py", folder / "config")
    course.make(ROOT, folder / "course", {"seed": SEED}, without_site)
    nbgrader(folder / "course", "release_assignment", WEEK.name)
    print(f"made: a repository of the editions; {WEEK.name}, handed out")
    return folder / "course"


def without_site(new: Path, old: Path, changed: course.Changed) -> bool:
    """In the place of a site, which the trial does not show."""
    new.mkdir(parents=True)
    return True


def nbgrader(folder: Path, *command: str) -> str:
    """Run one of nbgrader's commands as the teacher; returns what it printed."""
    environment = own_environment(folder.parent)
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise BookError(f"nbgrader {' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout + done.stderr


def own_environment(folder: Path) -> dict[str, str]:
    """The environment, with the trial's settings in place of a user's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")}
    kept["PATH"] = f"{SCRIPTS}{os.pathsep}{kept.get('PATH', '')}"
    return kept | settings(folder) | {"HOME": str(folder)}


def settings(folder: Path) -> dict[str, str]:
    """What stands in other places on this machine than on a hub's."""
    return {
        "JUPYTER_CONFIG_PATH": str(folder / "config"),
        "NBGRADER_EXCHANGE": str(folder / "exchange"),
        "ATTN_NOTES_DATA": str(folder / "data"),
    }


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextlib.contextmanager
def hub(folder: Path) -> Iterator[str]:
    """A JupyterHub; gives its address."""
    homes = folder / "homes"
    for student in STUDENTS:
        (homes / student).mkdir(parents=True)
    port = free_port()
    config = folder / "config.py"
    filled = CONFIG.format(
        settings=str(ROOT / "hub" / "jupyterhub_config.py"),
        port=port,
        hub_port=free_port(),
        proxy_port=free_port(),
        students=set(STUDENTS),
        scripts=str(SCRIPTS),
        homes=str(homes),
        environment=settings(folder),
    )
    config.write_text(filled, "utf-8")
    log = folder / "hub.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(config)],
            cwd=folder,
            env=own_environment(folder),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            if process.poll() is not None:
                raise BookError(f"The hub ended: {log.read_text('utf-8')[-3000:]}")
            with contextlib.suppress(URLError, ConnectionError):
                urllib.request.urlopen(f"{address}/hub/login", timeout=5).close()
                break
            time.sleep(0.2)
        yield address
    except BaseException:
        print(log.read_text("utf-8")[-3000:], file=sys.stderr)
        raise
    finally:
        children = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def chromium() -> str | None:
    """A browser of this machine, or None for playwright's own."""
    found = map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))
    return os.environ.get("CHROME_PATH") or next(filter(None, found), None)


def log_in(page: Page, address: str, student: str) -> None:
    """As a student does; the hub starts a server."""
    page.goto(f"{address}/hub/login")
    page.get_by_label("Username").fill(student)
    page.get_by_label("Password").fill("any")
    page.locator("#login_submit").click()
    page.wait_for_url(re.compile(f"/user/{student}/"))
    print(f"{student}: logged in, has a server")


def pull(page: Page, address: str, repository: Path) -> None:
    """Follow the link that the site makes, from this hub and with this repository."""
    link = launches(f"https://localhost/{repository.name}", CHAPTER)["a JupyterHub"]
    asked = dict(parse_qsl(urlsplit(link).query)) | {"repo": str(repository)}
    page.goto(f"{address}/hub/user-redirect/git-pull?{urlencode(asked)}")
    page.wait_for_url(re.compile(f"/{asked['urlpath']}"))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.ready")


def run_chapter(pages: dict[str, Page], folder: Path) -> None:
    """All students run all cells at the same time; print what each server took."""
    began, most = time.monotonic(), dict.fromkeys(pages, 0.0)
    for page in pages.values():
        page.evaluate("() => void jupyterapp.commands.execute('notebook:run-all-cells')")
    running = set(pages)
    while running:
        time.sleep(1)
        for student in pages:
            most[student] = max(most[student], memory(folder / "homes" / student))
        for student in list(running):
            cells = pages[student].evaluate(CELLS)
            last = [cell for cell in cells if cell["type"] == "code"][-1]
            if last["count"] and pages[student].evaluate(IDLE):
                report_run(student, cells, time.monotonic() - began)
                running.remove(student)
        if time.monotonic() - began > 1200:
            raise BookError(f"after twenty minutes still running: {running}")
    for student in pages:
        print(f"{student}: server and kernel took at most {most[student]:.2f} GB")


def report_run(student: str, cells: list[dict[str, object]], seconds: float) -> None:
    """Say that a chapter has run; its exercises' stubs, and nothing else, may have complained."""
    failed = [cell["id"] for cell in cells if cell["failed"]]
    if failed:
        raise BookError(f"{student}: cells failed: {failed}")
    counted = sum(cell["type"] == "code" for cell in cells)
    print(f"{student}: ran {counted} cells in {seconds:.0f} s, none failed")


def memory(home: Path) -> float:
    """Gigabytes that the processes in a student's folder hold, shared pages counted once each."""
    total = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.cwd().startswith(str(home)):
                total += process.memory_full_info().pss
    return total / 1e9


def use_widget(page: Page, student: str) -> None:
    """Type three letters, and see the model of this student's kernel answer."""
    page.evaluate(
        """async () => {
            const notebook = jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex =
                notebook.widgets.findIndex((cell) => cell.model.id === 'sorter');
            await notebook.scrollToItem(notebook.activeCellIndex, 'start');
        }"""
    )
    widget = page.locator(".abc-sorter").first
    widget.get_by_label("Type three letters").fill("cab")
    answer = widget.locator(".abc-output")
    expect(answer).to_have_text(re.compile("^[abc]{3}$"))
    print(f"{student}: the widget sorts cab into {answer.text_content()}")


def do_assignment(page: Page, address: str, student: str) -> None:
    """Fetch it, solve it or not, hand it in: all through the student's own server."""
    server = f"{address}/user/{student}"
    post(page, f"{server}/assignments/fetch", ASKED)
    page.goto(f"{server}/lab/tree/{WEEK.name}/{SHEET}?reset")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.ready")
    if POINTS[student]:
        notebook = nbformat.read(ROOT / lesson_page(CHAPTER), as_version=4)
        answer = solutions(notebook)[EXERCISE]
        page.evaluate(WRITE, [EXERCISE, answer])
    page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    post(page, f"{server}/assignments/submit", ASKED)
    print(f"{student}: fetched the assignment and handed it in")


def post(page: Page, address: str, form: dict[str, str]) -> None:
    """What the assignments' list in JupyterLab does on a click."""
    status, text = page.evaluate(POST, [address, form])
    if status != 200 or not json.loads(text)["success"]:
        raise BookError(f"{address}: {status} {text[-2000:]}")


def grade(folder: Path) -> None:
    """Collect, grade and hand back as a teacher does; the points must be what each earned."""
    nbgrader(folder, "collect", WEEK.name)
    grading.grade(folder, WEEK.number, folder / "submitted")
    with (folder / "grades" / WEEK.name / "grades.csv").open(encoding="utf-8") as file:
        found = {row["student"]: float(row["points"]) for row in csv.DictReader(file)}
    for student, points in sorted(found.items()):
        print(f"{student}: collected and graded, {points:g} points")
    if found != POINTS:
        raise BookError(f"{found} where {POINTS} were earned")
    nbgrader(folder, "release_feedback", WEEK.name)


def read_feedback(page: Page, address: str, student: str, home: Path) -> None:
    """Fetch the feedback through the student's own server, and read the points there."""
    post(page, f"{address}/user/{student}/assignments/fetch_feedback", ASKED)
    (told,) = home.rglob(f"feedback/*/{Path(SHEET).stem}.html")
    said = f"{POINTS[student]:g} of {WEEK.points} points in all."
    if said not in told.read_text("utf-8"):
        raise BookError(f"{student}: {told} does not say {said}")
    print(f"{student}: fetched the feedback, {said}")


if __name__ == "__main__":
    main()
