"""MicroPython for the site's pages, from npm: see packages.py.

Where it cannot be had the site is made without what needs it, and says so.
"""

import subprocess
from pathlib import Path

from book.site import packages

PACKAGE = "@micropython/micropython-webassembly-pyscript"
FILES = ("micropython.mjs", "micropython.wasm")
TARGET = "micropython"  # folder among the sources of the site


def files(root: Path) -> dict[str, bytes]:
    """MicroPython's files, by their paths among the site's sources.

    None where it cannot be had, or where a book does not ask for it.
    """
    if not (root / packages.LOCK).is_dir():
        return {}
    try:
        package = packages.folder(root, PACKAGE)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"Without MicroPython, so no code runs in the pages: {packages.why(error)}")
        return {}
    return {f"{TARGET}/{name}": (package / name).read_bytes() for name in FILES}
