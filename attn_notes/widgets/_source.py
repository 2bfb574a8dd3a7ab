"""A widget's JavaScript and CSS: the files that widgets share, then its own."""

from pathlib import Path

HERE = Path(__file__).parent


def javascript(stem: str) -> str:
    """One module, so that a page needs no second file to import from."""
    return _read("_model.js", "_page.js", f"{stem}.js")


def style(stem: str) -> str:
    """The shared colours, then the widget's own rules."""
    return _read("_theme.css", f"{stem}.css")


def _read(*names: str) -> str:
    return "".join((HERE / name).read_text("utf-8") for name in names)
