"""Serve MathJax from the site itself, and only the parts that a page of this book can ask for."""

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

from sphinx.application import Sphinx

# The ready-made bundle tex-chtml.js is 1.1 MB: it carries a speech engine and a context menu.
# These parts are what is left without them, one file too. `assistive-mml` gives screen readers
# MathML.
STARTUP = "startup.js"
AT_ONCE = (
    *("core.js", "input/tex.js", "output/chtml.js", "output/chtml/fonts/tex.js"),
    "a11y/assistive-mml.js",
)
LATER = ("input/tex/extensions", "output/chtml/fonts")
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
        for folder in LATER:
            shutil.copytree(source / folder, target / folder, dirs_exist_ok=True)
        startup, *parts = ((source / name).read_text("utf-8") for name in (STARTUP, *AT_ONCE))
    # `startup` is told what need not be loaded, for what comes later asks for it by name.
    there = [part.removesuffix(".js") for part in AT_ONCE]
    text = "\n;".join([startup, f"MathJax.loader.preLoad(...{json.dumps(there)})", *parts])
    (target / "mathjax.js").write_text(text, "utf-8")
    shutil.copyfile(LICENSE, target / "LICENSE")
