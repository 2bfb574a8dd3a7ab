"""JavaScript of several files as one text: pages and notebooks take no second file."""

import re
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
COMMENTS = {
    ".js": re.compile(r"^ *(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/)\n", re.MULTILINE),
    ".css": re.compile(r"^ */\*(?:[^*]|\*(?!/))*\*/\n", re.MULTILINE),
}
"""Lines of their own: for whoever reads the files, and a tenth of what a page would weigh."""
IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)


def joined(name: str, folders: Sequence[Path] = (HERE,)) -> str:
    """One module: a file after all that it imports, each file once, their imports left out.

    A file comes after those that it imports, so that what it reads at once is there.
    """
    return "".join(IMPORT.sub("", read(part, folders)) for part in parts_of(name, folders))


def parts_of(name: str, folders: Sequence[Path] = (HERE,)) -> list[str]:
    """A file and all that it imports, directly or through others, in the order of their use."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found:
            for other in IMPORT.findall(read(name, folders)):
                visit(other)
            found[name] = None

    visit(name)
    return list(found)


def read(name: str, folders: Sequence[Path] = (HERE,)) -> str:
    """A file of these folders, JavaScript and styles without comments.

    Raises:
        FileNotFoundError: none of them has it.
        FileExistsError: two have one of that name.
    """
    found = [folder / name for folder in folders if (folder / name).is_file()]
    if not found:
        places = ", ".join(map(str, folders))
        raise FileNotFoundError(f"{name} is imported, and is in none of {places}")
    if len(found) > 1:
        raise FileExistsError(
            f"{' and '.join(map(str, found))}: a file is imported by its name alone, so give one "
            "of them another name"
        )
    return without_comments(found[0].read_text("utf-8"), found[0].suffix)


def without_comments(text: str, kind: str = ".js") -> str:
    r"""A text without the comments that have lines of their own; `kind` is how its file ends.

    >>> without_comments("// Why.\nf(1); // what\n  /** More,\n   * and more. */\ng(2);\n")
    'f(1); // what\ng(2);\n'
    >>> without_comments("/* Why,\n   at length. */\na { b: c; } /* what */\n", ".css")
    'a { b: c; } /* what */\n'
    >>> without_comments("/* Why. */\n", ".html")
    '/* Why. */\n'
    """
    return COMMENTS[kind].sub("", text) if kind in COMMENTS else text
