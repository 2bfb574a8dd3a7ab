"""The version of both packages, which tells one commit from another, and their wheels.

The source says the release, as 0.2.0. A wheel, the editions and the site say what they are made of:

0.2.0+20261124.g1234567             a commit, and its day by UTC, first, so that versions sort
0.2.0+20261124.g1234567.d89abcde    that commit with changes of what goes into the wheel, by a hash
0.2.0+d89abcde                      a tree without git, such as a downloaded zip, by the same hash

pip builds the wheels by this module as well, as each pyproject.toml says, and all else by flit's.
So it needs nothing but flit. An editable install, of the root, has both packages, and stays at the
release, whatever is changed.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from flit_core.buildapi import build_editable, build_sdist
from flit_core.wheel import make_wheel_in

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "commit",
    "stamped",
    "told",
    "version",
    "wheel",
    "wheels",
]

LINE = re.compile(rb'(?<=^__version__ = ")([^"]+)(?=")', re.MULTILINE)
PARTS = {
    "attn_notes": ("LICENSE", "README.md", "attn_notes", "pyproject.toml"),
    "book": (
        "LICENSE",
        "book/pyproject.toml",
        "book/__init__.py",
        "book/kit",
        "book/lessons",
        "book/page",
    ),
}
"""What goes into the wheel of a package, from the root."""
ASIDE = {".ipynb", ".md", ".pyc", ".yml"}
"""Of these no kind does."""


def version(root: Path, pages: bool = True) -> str:
    """The version of the package in a tree, as it stands.

    Args:
        root: of the project.
        pages: whether a commit counts in which nothing but pages has changed, and no package.
    """
    inside = [*PARTS["attn_notes"], *PARTS["book"], *(f":(exclude)*{kind}" for kind in ASIDE)]
    inside.append(":(exclude,glob)**/tests/**")
    release = LINE.findall((root / "attn_notes" / "__init__.py").read_bytes())[0].decode()
    if git(root, "rev-parse", "--show-prefix") != "":  # a zip unpacked in another repository
        return f"{release}+{digest(root)}"
    said = git(root, "log", "-1", "--format=%H %ct", "--", *([] if pages else inside))
    if not said:
        return f"{release}+{digest(root)}"
    commit, seconds = said.split()
    day = datetime.fromtimestamp(int(seconds), UTC)
    changed = f".{digest(root)}" if git(root, "status", "--porcelain", "--", *inside) else ""
    return f"{release}+{day:%Y%m%d}.g{commit[:7]}{changed}"


def git(root: Path, *command: str) -> str | None:
    """What git says in a tree; None if it complains, or is not there."""
    hooks = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE")  # set while a hook runs, of any tree
    env = {name: value for name, value in os.environ.items() if name not in hooks}
    options = ["git", "--no-optional-locks", "-C", str(root)]
    try:
        done = subprocess.run([*options, *command], env=env, capture_output=True, text=True)
    except OSError:
        return None
    return None if done.returncode else done.stdout.strip()


def sources(root: Path, package: str) -> Iterator[Path]:
    """The files that go into a package's wheel."""
    for part in PARTS[package]:
        found = root / part
        for path in sorted(found.rglob("*")) if found.is_dir() else [found]:
            here = path.relative_to(found)
            if path.is_file() and "tests" not in here.parts and here.suffix not in ASIDE:
                yield path


def digest(root: Path) -> str:
    """A letter, so that it is no number, and a short hash of what goes into the wheels."""
    found = hashlib.sha256()
    for path in [path for package in PARTS for path in sources(root, package)]:
        found.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
        found.update(path.read_bytes())
    return f"d{found.hexdigest()[:7]}"


def stamped(source: bytes, version: str) -> bytes:
    r"""The package's first file with another version.

    >>> stamped(b'import os\n\n__version__ = "0.2.0"\n', "0.2.0+d89abcde")
    b'import os\n\n__version__ = "0.2.0+d89abcde"\n'
    """
    return LINE.sub(version.encode(), source)


def commit(version: str) -> str:
    """The commit that a version stands for, and nothing else; empty if there is none.

    >>> commit("0.2.0+20261124.g1234567"), commit("0.2.0+20261124.g1234567.d89abcde")
    ('1234567', '')
    """
    found = re.search(r"\.g(\w+)$", version)
    return found[1] if found else ""


def told(version: str) -> str:
    """A version as it is told to a reader.

    >>> told("0.2.0+20261124.g1234567")
    'Attention Notes 0.2.0+20261124.g1234567 of 24 November 2026'
    >>> told("0.2.0+d89abcde")
    'Attention Notes 0.2.0+d89abcde'
    """
    found = re.search(r"\+(\d{8})\.", version)
    day = date.fromisoformat(found[1]) if found else None
    return f"Attention Notes {version}" + (f" of {day.day} {day:%B %Y}" if day else "")


def wheel(root: Path, folder: Path, package: str = "attn_notes", made_of: str = "") -> Path:
    """Build a package's wheel into a folder: the same, byte for byte, as long as the tree is."""
    made_of = made_of or version(root)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for path in sources(root, package):
            there = copy / path.relative_to(root)
            if path.name == "pyproject.toml":
                there = copy / path.name
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, there)  # with its time, which the wheel has, too
        first = Path(package, "__init__.py")
        (copy / first).write_bytes(stamped((root / first).read_bytes(), made_of))
        shutil.copystat(root / first, copy / first)
        return Path(make_wheel_in(copy / "pyproject.toml", folder).file)


def wheels(root: Path, folder: Path, made_of: str = "") -> list[Path]:
    """Those of both packages, that of the book first."""
    return [wheel(root, folder, package, made_of) for package in ("book", "attn_notes")]


def build_wheel(folder: str, config: Any = None, metadata: Any = None) -> str:
    """What pip calls, in the root or in `book`, to have the wheel built; returns its name."""
    here = Path.cwd()
    if (here / "attn_notes").is_dir():
        return wheel(here, Path(folder)).name
    return wheel(here.parent, Path(folder), "book").name
