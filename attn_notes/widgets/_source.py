"""A widget's JavaScript and CSS: the files that widgets share, then its own."""

from pathlib import Path

HERE = Path(__file__).parent
SHARED = ("_model.js", "_page.js")


def javascript(stem: str) -> str:
    """One module, so that a page needs no second file to import from.

    What widgets share comes first, then the parts of this one by the alphabet, `_STEM_*.js`, then
    `STEM.js`.
    """
    parts = sorted(path.name for path in HERE.glob(f"_{stem}_*.js"))
    return _read(*SHARED, *parts, f"{stem}.js")


def style(stem: str) -> str:
    """The shared colours, then the widget's own rules."""
    return _read("_theme.css", f"{stem}.css")


def _read(*names: str) -> str:
    return "".join((HERE / name).read_text("utf-8") for name in names)
