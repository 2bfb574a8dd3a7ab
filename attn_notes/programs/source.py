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
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";$', re.MULTILINE)
EXPORT = re.compile(
    r"^export (?=(?:async )?(?:const|class|function\*?) \[?(\w+(?:, \w+)*))", re.MULTILINE
)


def joined(name: str, folders: Sequence[Path] = (HERE,)) -> str:
    """One module: a file after all that it imports, each file once."""
    return "".join(parts(name, folders))


def parts(name: str, folders: Sequence[Path] = (HERE,)) -> list[str]:
    """The texts that make one module of a file, one after the other: what it imports, then itself.

    Each file has a scope of its own, as the module that it is, and gives what it exports: names of
    one are nothing to another. It comes after those that it imports, directly or through others.

    Raises:
        FileNotFoundError: a file is in none of the folders.
        ImportError: a name is imported that its file does not export.
    """
    found: dict[str, str] = {}

    def visit(name: str) -> None:
        if name not in found:
            text = read(name, folders)
            for names, other in IMPORT.findall(text):
                visit(other)
                if lacking := {*re.findall(r"(\w+)(?: as \w+)?", names)} - {*exports(found[other])}:
                    raise ImportError(f"{name} imports {lacking}, which {other} does not export")
            found[name] = IMPORT.sub(_taken, text)

    visit(name)
    *imported, (_, own) = found.items()
    return [*(_scoped(*each) for each in imported), own]


def _taken(found: re.Match[str]) -> str:
    return f"const {{{found[1].replace(' as ', ': ')}}} = {_scope(found[2])};"


def exports(text: str) -> list[str]:
    r"""The names that a file exports.

    >>> exports("export const [a, b] = [1, 2];\nexport async function c() {}\nconst d = 3;\n")
    ['a', 'b', 'c']
    """
    return ", ".join(EXPORT.findall(text)).split(", ")


def _scoped(name: str, text: str) -> str:
    given = ", ".join(exports(text))
    return (
        f"const {_scope(name)} = (() => {{\n{EXPORT.sub('', text)}return {{ {given} }};\n}})();\n"
    )


def _scope(name: str) -> str:
    return "$" + name.removesuffix(".js").replace(".", "_")


def read(name: str, folders: Sequence[Path] = (HERE,)) -> str:
    """A file of the first of these folders that has one, JavaScript and styles without comments.

    Raises:
        FileNotFoundError: none has.
    """
    for folder in folders:
        if (folder / name).is_file():
            text = (folder / name).read_text("utf-8")
            return without_comments(text, Path(name).suffix)
    places = ", ".join(map(str, folders))
    raise FileNotFoundError(f"{name} is imported, and is in none of {places}")


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
