"""What the build wrote into a folder is told from what somebody did there."""

import shutil
from unittest.mock import DEFAULT, Mock

import pytest

from book.editions import manifest
from book.site.dependencies import BookError

from .exercises import written

FILES = {"a/b/one": "1", "a/two": "2", "three": "3"}


def read(folder):
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != manifest.NAME]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}


@pytest.fixture
def made(tmp_path):
    manifest.replace(written(tmp_path / "new", FILES), tmp_path / "made")
    return tmp_path / "made"


def test_what_the_build_wrote_is_nobodys_and_whatever_else_is_there_is_named(made):
    assert read(made) == FILES
    assert manifest.begun(made) == manifest.begun(made.with_name("none")) == []
    (made / "a" / ".DS_Store").touch()
    (made / "a" / "two").rename(made.with_name("two"))
    assert manifest.begun(made) == []  # what is missing can be made again
    (made / "a" / "two").symlink_to(made.with_name("two"))
    (made / "link").symlink_to(made / "a")
    (made / "a" / "b" / "submitted" / "ada").mkdir(parents=True)
    written(made, {"a/gradebook.db": "", "three": "changed"})
    found = ["a/b/submitted/", "a/gradebook.db", "a/two (changed)", "link", "three (changed)"]
    assert manifest.begun(made) == found
    (made / manifest.NAME).unlink()
    assert manifest.begun(made) == ["a/", "link", "three"]  # all is somebody's


def test_a_refusal_names_the_first_and_counts_the_rest(tmp_path):
    manifest.refuse([], tmp_path, "Go.")
    with pytest.raises(BookError) as refused:
        manifest.refuse([f"file-{i}" for i in range(7)], tmp_path, "Go elsewhere.")
    said = str(refused.value)
    assert str(tmp_path) in said and "Go elsewhere." in said and "and 2 more" in said
    assert [f"file-{i}" in said for i in range(7)] == [True] * 5 + [False] * 2


def test_the_new_stands_in_the_place_of_the_old(made, tmp_path):
    changed = {"a/two": "two", "c/four": "4"}
    manifest.replace(written(tmp_path / "new", changed), made)
    assert read(made) == changed and manifest.begun(made) == [] and not (made / "a" / "b").exists()


@pytest.mark.parametrize("moves", [0, 1])
def test_what_was_cut_short_is_not_taken_for_somebodys(moves, made, tmp_path, monkeypatch):
    interrupted = Mock(wraps=shutil.move, side_effect=[DEFAULT] * moves + [KeyboardInterrupt])
    written(tmp_path / "new", {"three": "changed", "five": "5"})
    monkeypatch.setattr(shutil, "move", interrupted)
    with pytest.raises(KeyboardInterrupt):
        manifest.replace(tmp_path / "new", made)
    assert manifest.begun(made) == []
