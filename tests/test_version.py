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

from .exercises import BUILT, ROOT, written

FIRST = '"""A package."""\n\n__version__ = "0.2.0"\n'


@pytest.fixture
def tree(tmp_path):
    """What wheels are built from: this book's, but for the packages."""
    files = {name: (ROOT / name).read_bytes() for name in (*BUILT, "book/editions/version.py")}
    files |= dict.fromkeys(("attn_notes/__init__.py", "book/__init__.py"), FIRST)
    return written(tmp_path / "tree", files)


def commit(root, day="2026-11-24T12:00:00Z"):
    """Commit all that is there, then; returns the commit."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_COMMITTER_DATE": day}

    def git(*command):
        options = ["git", "-c", "user.name=me", "-c", "user.email=me@localhost"]
        return subprocess.check_output([*options, *command], cwd=root, env=env, text=True).strip()

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
    files = ({"attn_notes/more.py": text} for text in "12")
    one, two = (version.version(written(tree, each)) for each in files)
    assert len({one, two, clean}) == 3 and one.startswith(clean) and two.startswith(clean)
    (tree / "attn_notes" / "more.py").unlink()
    assert version.version(tree) == clean


def test_a_commit_of_pages_alone_is_no_other_version_of_the_packages(tree):
    first = commit(tree, "2026-11-24T12:00:00Z")
    for day, name, packages in (
        (25, "book/lessons/a/a.ipynb", first),
        (26, "book/lessons/a/tests/test_a.py", first),
        (27, "book/lessons/a/checks.py", None),
    ):
        written(tree, {name: "1"})
        assert (".d" in version.version(tree, pages=False)) == (packages is None)
        now = commit(tree, f"2026-11-{day}T12:00:00Z")
        assert version.version(tree).endswith(now[:7])
        assert version.version(tree, pages=False).endswith((packages or now)[:7])


def test_a_tree_without_git_is_known_by_what_is_in_it(tree, monkeypatch):
    """Also where git is not installed, and in the repository of something else."""
    alone = version.version(tree)
    assert alone.startswith("0.2.0+d")
    assert version.version(written(tree, {"attn_notes/__pycache__/some.pyc": ""})) == alone
    commit(tree.parent)
    assert version.version(tree) == alone
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tree))
        assert version.version(tree) == alone
    assert version.version(written(tree, {"attn_notes/more.py": ""})) != alone


def test_a_hook_of_another_repository_changes_nothing(tree, monkeypatch):
    commit(tree)
    before = version.version(tree)
    commit(written(tree.parent / "other", {"x": ""}))
    monkeypatch.setenv("GIT_DIR", str(tree.parent / "other" / ".git"))
    assert version.version(tree) == before


def test_the_wheel_has_it_in_its_name_and_in_the_package(tree, monkeypatch):
    """And is the same however often it is built: the times in it are the sources'."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    os.utime(tree / "attn_notes" / "__init__.py", (1.6e9, 1.6e9))  # in September 2020
    commit(tree)
    said = version.version(tree)
    one = version.wheel(tree, tree.parent)
    content = one.read_bytes()
    assert one == version.wheel(tree, tree.parent) and one.read_bytes() == content
    assert one.name == f"attn_notes-{said}-py3-none-any.whl"
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
    assert built.read_bytes() == version.wheel(tree, tree, package).read_bytes()


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package_its_license_and_nothing_else(wheel):
    names, package = zipfile.ZipFile(wheel).namelist(), ROOT / "attn_notes"
    ours = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    expected = {path.relative_to(ROOT).as_posix() for path in ours}
    assert {name for name in names if name.startswith("attn_notes/")} == expected
    (about,) = {name.split("/")[0] for name in names} - {"attn_notes"}  # the .dist-info
    assert f"{about}/licenses/LICENSE" in names
    assert wheel.stat().st_size < 2**20  # what a reader is told is small


def test_the_wheel_of_the_book_holds_what_notebooks_import_and_no_page(wheels):
    names = [Path(name) for name in zipfile.ZipFile(wheels[0]).namelist()]
    rooms = {name.parts[1] for name in names if len(name.parts) > 2 and name.parts[0] == "book"}
    assert rooms == {"kit", "lessons", "page"}
    assert {".py", ".js", ".css", ".json", ".npz"} <= {name.suffix for name in names}
    assert not [name for name in names if name.suffix in (".ipynb", ".md") or "tests" in name.parts]
