"""A widget's JavaScript and CSS, each one text.

`python -m book.page.bundle`, which `make style` runs, says what keeps a module from being made of
its files: a name that two of them have, or one that is imported and not there.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attn_notes.programs import source

HERE = Path(__file__).parent
LESSONS = HERE.parent / "lessons"
FOLDERS = (HERE, *sorted(LESSONS.glob("[!_]*/")), source.HERE)
"""Where a file that a widget imports lies: here, with a lesson, or with the programs."""
MADE = ("_entrywise.js", "micropython.mjs")
"""Files that are imported and that the build makes."""
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";$', re.MULTILINE)
EXPORT = re.compile(
    r"^export (?=(?:async )?(?:const|class|function\*?) \[?(\w+(?:, \w+)*))", re.MULTILINE
)


def javascript(stem: str, folders: Sequence[Path] = FOLDERS) -> str:
    """`STEM.js` and all that it imports, as one module."""
    return "".join(files(stem, folders))


def files(stem: str, folders: Sequence[Path] = FOLDERS) -> list[str]:
    """The files of that module, in their order, as texts that make it one after the other.

    Each that is imported has a scope of its own, as the module that it is, and gives what it
    exports: names of one file are nothing to another.

    Raises:
        FileNotFoundError: a file is in none of the folders.
        ImportError: a name is imported that its file does not export.
    """
    names = source.parts_of(f"{stem}.js", folders)
    texts = {name: source.read(name, folders) for name in names}
    for name in texts:
        _check(name, folders)
    *imported, (_, own) = texts.items()
    return [*(_scoped(*each) for each in imported), IMPORT.sub(_taken, own)]


def _check(name: str, folders: Sequence[Path]) -> None:
    for wanted, other in IMPORT.findall(source.read(name, folders)):
        if other in MADE:
            continue
        given = {*exports(source.read(other, folders))}
        if lacking := {*re.findall(r"(\w+)(?: as \w+)?", wanted)} - given:
            raise ImportError(f"{name} imports {lacking}, which {other} does not export")


def exports(text: str) -> list[str]:
    r"""The names that a file exports.

    >>> exports("export const [a, b] = [1, 2];\nexport async function c() {}\nconst d = 3;\n")
    ['a', 'b', 'c']
    """
    return ", ".join(EXPORT.findall(text)).split(", ")


def _scoped(name: str, text: str) -> str:
    body = EXPORT.sub("", IMPORT.sub(_taken, text))
    given = ", ".join(exports(text))
    return f"const {_scope(name)} = (() => {{\n{body}return {{ {given} }};\n}})();\n"


def _taken(found: re.Match[str]) -> str:
    return f"const {{{found[1].replace(' as ', ': ')}}} = {_scope(found[2])};"


def _scope(name: str) -> str:
    return "$" + name.removesuffix(".js").replace(".", "_")


def style(stem: str) -> str:
    """The shared colours, then the widget's own rules."""
    return source.read("_theme.css", FOLDERS) + plain_style(stem)


def plain_style(stem: str) -> str:
    """The rules of a widget that stands in the text, and takes its colours."""
    return source.read(f"{stem}.css", FOLDERS)


def wrong(folders: Sequence[Path] = (*FOLDERS, HERE / "code")) -> Iterator[str]:
    """A sentence for each file that has another's name, or imports what is not there."""
    for path in sorted(path for folder in folders for path in folder.glob("*.js")):
        try:
            _check(path.name, folders)
        except (ImportError, OSError) as error:
            yield str(error)


if __name__ == "__main__":
    sys.exit("\n".join(dict.fromkeys(wrong())) or None)
