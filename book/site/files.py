"""Files and folders of the build: written whole or not at all, removed whatever they are."""

import os
import shutil
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that under its name there is the old content or the new, never a part.

    Raises:
        OSError: it cannot be written, as on a full disk. What was there before still is.
    """
    path = path.resolve()  # a link stays one
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def empty(folder: Path) -> None:
    """Make a folder, or remove what is in it; not the folder, which may be mounted or a link."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        remove(path)


def require_room(folder: Path) -> None:
    """See that another megabyte could be written; a program that failed may have lacked it.

    Raises:
        OSError: it could not, as on a full disk.
    """
    probe = folder / "room"
    try:
        with probe.open("wb") as file:
            file.write(bytes(2**20))
            os.fsync(file.fileno())  # some file systems say only then that they are full
    finally:
        probe.unlink(missing_ok=True)
