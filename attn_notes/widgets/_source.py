"""A widget's JavaScript and CSS, each one text: pages and notebooks take no second file."""

import re
from pathlib import Path

HERE = Path(__file__).parent
COMMENT = re.compile(r"^ *(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/)\n", re.MULTILINE)
"""Lines of their own: for whoever reads the files, and a tenth of what a page would weigh."""
IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)


def javascript(stem: str) -> str:
    """One module: `STEM.js` after all that it imports, each file once, their imports left out.

    A file comes after those that it imports, so that what it reads at once is there.
    """
    return "".join(IMPORT.sub("", _read(name)) for name in parts_of(f"{stem}.js"))


def parts_of(name: str) -> list[str]:
    """A file and all that it imports, directly or through others, in the order of their use."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found:
            for other in imported(name):
                visit(other)
            found[name] = None

    visit(name)
    return list(found)


def imported(name: str) -> list[str]:
    """The files that a file imports."""
    return IMPORT.findall(_read(name))


def style(stem: str) -> str:
    """The shared colours, then the widget's own rules."""
    return _read("_theme.css") + plain_style(stem)


def plain_style(stem: str) -> str:
    """The rules of a widget that stands in the text, and takes its colours."""
    return _read(f"{stem}.css")


def without_comments(text: str) -> str:
    r"""JavaScript without the comments that have lines of their own.

    >>> without_comments("// Why.\nf(1); // what\n  /** More,\n   * and more. */\ng(2);\n")
    'f(1); // what\ng(2);\n'
    """
    return COMMENT.sub("", text)


def _read(name: str) -> str:
    text = (HERE / name).read_text("utf-8")
    return without_comments(text) if name.endswith(".js") else text
