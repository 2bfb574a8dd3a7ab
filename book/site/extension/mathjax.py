"""Serve MathJax from the site itself, and only the parts that a page of this book can ask for."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from sphinx.application import Sphinx

# The ready-made bundle tex-chtml.js is 1.1 MB: it carries a speech engine and a context menu.
# These parts are what is left without them. `assistive-mml` gives screen readers MathML.
# Must agree with `mathjax_path` and `mathjax3_config.loader` in _config.yml.
PARTS = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "input/tex/extensions",
    "output/chtml.js",
    "output/chtml/fonts",
    "a11y/assistive-mml.js",
)
# The text of its licence, Apache's, goes where MathJax goes; the package leaves it out.
LICENSE = Path(__file__).with_name("mathjax-license.txt")


def setup(app: Sphinx) -> None:
    """Copy the parts once the pages are written."""
    app.connect("build-finished", _copy)


def _copy(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "mathjax"
    with as_file(files("sphinx-mathjax-offline") / "static" / "mathjax") as source:
        for part in PARTS:
            (target / part).parent.mkdir(parents=True, exist_ok=True)
            if (source / part).is_dir():
                shutil.copytree(source / part, target / part, dirs_exist_ok=True)
            else:
                shutil.copyfile(source / part, target / part)
    shutil.copyfile(LICENSE, target / "LICENSE")
