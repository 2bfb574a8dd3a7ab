"""What the build wrote into a folder that people work in, so that it touches nothing else.

The folder's file `SHA256SUMS` says it, in the form that `sha256sum --check` reads. Whatever else is
in the folder, and whatever has changed since, is somebody's work.
"""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import files
from dependencies import BookError

NAME = "SHA256SUMS"
LITTER = {".DS_Store", "Thumbs.db", "desktop.ini"}  # of a system in which the folder was opened
NAMED = 5
"""So many paths are named to whoever has begun; the others are counted."""


def line(path: Path, name: str) -> str:
    """What the manifest says of a file, `name` being its path in the folder."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}"


def lines(folder: Path) -> set[str]:
    """What the manifest of a folder should say, as the folder stands."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {line(path, path.relative_to(folder).as_posix()) for path in paths}


def written(folder: Path) -> set[str]:
    """What the manifest of a folder says; nothing if there is none."""
    path = folder / NAME
    return set(path.read_text("utf-8").splitlines()) if path.is_file() else set()


def begun(folder: Path) -> list[str]:
    """Paths of what somebody has put into a folder, or changed, in order; none if it is not there.

    A folder that the build did not make is one of them, and nothing that is in it.
    """
    known = written(folder)
    names = {entry.partition("  ")[2] for entry in known}
    folders = {str(parent) for name in names for parent in PurePosixPath(name).parents}

    def look(here: Path) -> Iterator[str]:
        for path in sorted(here.iterdir()):
            name = path.relative_to(folder).as_posix()
            if path.is_dir() and not path.is_symlink():
                if name in folders:
                    yield from look(path)
                else:
                    yield f"{name}/"
            elif path.name in LITTER or name == NAME:
                continue
            elif name not in names:
                yield name
            elif path.is_symlink() or line(path, name) not in known:
                yield f"{name} (changed)"

    return list(look(folder)) if folder.exists() else []


def refuse(found: list[str], folder: Path, advice: str) -> None:
    """Stop if somebody has begun in a folder, before anything is changed.

    Raises:
        BookError: they have; names some of what is there, and says what to do.
    """
    if found:
        named = [*found[:NAMED], *([f"and {len(found) - NAMED} more"] if found[NAMED:] else [])]
        listed = "\n".join(f"    {name}" for name in named)
        raise BookError(
            f"{folder} holds what the build did not write:\n{listed}\n"
            f"Nothing has been changed. {advice} What nobody needs, remove by hand."
        )


def replace(new: Path, folder: Path) -> None:
    """Move what is in `new` to the place of what the build wrote into `folder` before.

    See first that nobody has begun there. While it works, the manifest says the old and the new: a
    call that is cut short leaves nothing that the next takes for a person's.
    """
    coming = lines(new)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, coming | written(folder))
    for path in folder.iterdir():
        if path.name != NAME:
            files.remove(path)
    for path in new.iterdir():
        shutil.move(path, folder)
    write(folder, coming)


def write(folder: Path, entries: set[str]) -> None:
    """Write a folder's manifest, in the order of the paths."""
    ordered = sorted(entries, key=lambda entry: (entry.partition("  ")[2], entry))
    files.write_whole(folder / NAME, "".join(f"{entry}\n" for entry in ordered).encode())
