"""A widget's JavaScript and CSS, each one text."""

from pathlib import Path

from attn_notes.programs import source

HERE = Path(__file__).parent
FOLDERS = (HERE, source.HERE)
"""Where a file that a widget imports lies: among the widgets', or with the programs."""


def javascript(stem: str) -> str:
    """`STEM.js` and all that it imports, as one module."""
    return "".join(files(stem))


def files(stem: str) -> list[str]:
    """The files of that module, in their order, as texts that make it one after the other."""
    return source.parts(f"{stem}.js", FOLDERS)


def style(stem: str) -> str:
    """The shared colours, then the widget's own rules."""
    return source.read("_theme.css", FOLDERS) + plain_style(stem)


def plain_style(stem: str) -> str:
    """The rules of a widget that stands in the text, and takes its colours."""
    return source.read(f"{stem}.css", FOLDERS)
