"""A version says what it is made of, and the wheel has it; in small trees of their own."""

import os
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from book.editions import version

from . import exercises

ROOT = Path(__file__).parents[1]
Patch = pytest.MonkeyPatch
FIRST = '"""A package."""\n\n__version__ = "0.2.0"\n'


@pytest.fixture
def tree(tmp_path):
    """What wheels are built from: this book's, but for the packages."""
    files = {f"{package}/__init__.py": FIRST.encode() for package in ("attn_notes", "book")}
    for name in (*exercises.BUILT, "book/editions/version.py"):
        files[name] = (ROOT / name).read_bytes()
    return exercises.written(tmp_path / "tree", files)


def commit(root, day="2026-11-24T12:00:00Z"):
    """Commit all that is there, then; returns the commit."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_COMMITTER_DATE": day}

    def git(*command):
        options = ["git", "-c", "user.name=me", "-c", "user.email=me@localhost"]
        done = subprocess.run([*options, *command], cwd=root, env=env, stdout=subprocess.PIPE)
        assert done.returncode == 0
        return done.stdout.decode().strip()

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", "What it does")
    return git("rev-parse", "HEAD")


@pytest.fixture
def new_york(monkeypatch):
    """This process's clock is five hours behind."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "EST5")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_a_commit_has_its_day_by_utc_and_its_hash(tree):
    for day, named in (("2026-11-24T23:30:00-05:00", 1125), ("2026-12-01T12:00:00Z", 1201)):
        found = commit(tree, day)
        assert version.version(tree) == f"0.2.0+2026{named}.g{found[:7]}"


def test_what_is_not_committed_counts_if_it_goes_into_the_wheel(tree):
    commit(tree)
    clean = version.version(tree)
    (tree / "book" / "lesson.md").touch()
    assert version.version(tree) == clean
    found = {clean}
    for text in ("1", "2"):
        (tree / "attn_notes" / "more.py").write_text(text, "utf-8")
        found.add(version.version(tree))
    assert len(found) == 3 and all(name.startswith(clean) for name in found)
    (tree / "attn_notes" / "more.py").unlink()
    assert version.version(tree) == clean


def test_a_commit_of_pages_alone_is_no_other_version_of_the_packages(tree):
    first = commit(tree, "2026-11-24T12:00:00Z")
    for day, name, packages in (
        (25, "book/lessons/a/a.ipynb", first),
        (26, "book/lessons/a/tests/test_a.py", first),
        (27, "book/lessons/a/checks.py", None),
    ):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("1", "utf-8")
        assert (".d" in version.version(tree, pages=False)) == (packages is None)
        now = commit(tree, f"2026-11-{day}T12:00:00Z")
        assert version.version(tree).endswith(now[:7])
        assert version.version(tree, pages=False).endswith((packages or now)[:7])


def test_a_tree_without_git_is_known_by_what_is_in_it(tree, monkeypatch):
    """Also where git is not installed, and in the repository of something else."""
    alone = version.version(tree)
    assert alone.startswith("0.2.0+d")
    (tree / "attn_notes" / "__pycache__").mkdir()
    (tree / "attn_notes" / "__pycache__" / "some.pyc").touch()
    assert version.version(tree) == alone
    commit(tree.parent)
    assert version.version(tree) == alone
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tree))
        assert version.version(tree) == alone
    (tree / "attn_notes" / "more.py").touch()
    assert version.version(tree) != alone


def test_a_hook_of_another_repository_changes_nothing(tree, monkeypatch):
    commit(tree)
    before = version.version(tree)
    other = tree.parent / "other"
    other.mkdir()
    commit(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert version.version(tree) == before


def test_the_wheel_has_it_in_its_name_and_in_the_package(tree, monkeypatch):
    """And is the same however often it is built: the times in it are the sources'."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    os.utime(tree / "attn_notes" / "__init__.py", (1.6e9, 1.6e9))  # in September 2020
    commit(tree)
    said = version.version(tree)
    for name in ("one", "two"):
        (tree.parent / name).mkdir()
    one, two = (version.wheel(tree, tree.parent / name) for name in ("one", "two"))
    assert one.name == two.name == f"attn_notes-{said}-py3-none-any.whl"
    assert one.read_bytes() == two.read_bytes()
    inside = zipfile.ZipFile(one)
    assert inside.getinfo("attn_notes/__init__.py").date_time[:2] == (2020, 9)
    assert inside.read("attn_notes/__init__.py").decode() == FIRST.replace("0.2.0", said)


def test_an_editable_install_stays_at_the_release(tree, tmp_path, monkeypatch):
    commit(tree)
    monkeypatch.chdir(tree)
    assert version.build_editable(str(tmp_path)) == "attn_notes-0.2.0-py3-none-any.whl"


def test_a_wheel_can_be_built_from_a_source_distribution(tree, tmp_path, monkeypatch):
    commit(tree)
    monkeypatch.chdir(tree)
    with tarfile.open(tmp_path / version.build_sdist(str(tmp_path))) as archive:
        # Python 3.11.2, Debian's, knows no filter yet, and 3.12 warns where there is none.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    (unpacked,) = tmp_path.glob("attn_notes-*/")
    assert (unpacked / "book" / "editions" / "version.py").is_file()
    assert version.version(unpacked).startswith("0.2.0+d")
    assert version.wheel(unpacked, tmp_path).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("package", ["attn_notes", "book"])
def test_pip_builds_the_same_wheel(package, tree, tmp_path):
    commit(tree)
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    source = tree / "book" if package == "book" else tree
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*pip, "wheel", *options, "--wheel-dir", tmp_path, source], check=True)
    (built,) = tmp_path.glob("*.whl")
    (tmp_path / "ours").mkdir()
    assert built.read_bytes() == version.wheel(tree, tmp_path / "ours", package).read_bytes()


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package_its_license_and_nothing_else(wheel):
    names, package = zipfile.ZipFile(wheel).namelist(), ROOT / "attn_notes"
    ours = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {"weights", "programs"} <= {path.parent.name for path in ours}
    (about,) = {name.split("/")[0] for name in names} - {"attn_notes"}  # the .dist-info
    expected = {path.relative_to(ROOT).as_posix() for path in ours}
    assert {name for name in names if name.startswith("attn_notes/")} == expected
    assert f"{about}/licenses/LICENSE" in names
    assert wheel.stat().st_size < 2**20  # what a reader is told is small


def test_the_wheel_of_the_book_holds_what_notebooks_import_and_no_page(wheels):
    names = [Path(name) for name in zipfile.ZipFile(wheels[0]).namelist()]
    assert {"kit", "lessons", "page"} == {
        name.parts[1] for name in names if len(name.parts) > 2 and name.parts[0] == "book"
    }
    assert {".py", ".js", ".css", ".json", ".npz"} <= {name.suffix for name in names}
    assert not [name for name in names if name.suffix in (".ipynb", ".md") or "tests" in name.parts]
