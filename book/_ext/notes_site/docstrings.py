"""Read the package's docstrings as they are written: indented lines are set as they stand."""

from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Come before Napoleon, which turns "Args:" and the like into indented lines of its own."""
    app.connect("autodoc-process-docstring", _process, priority=400)


def mark_literal(lines: list[str]) -> list[str]:
    """Put "::" before each indented block that follows a blank line after running text.

    >>> mark_literal(["The weights:", "", "    W = softmax(A B)"])
    ['The weights:', '', '::', '', '    W = softmax(A B)']
    """
    marked: list[str] = []
    text = ""  # the last line that was not blank
    for line in lines:
        after_text = text and not text.startswith((" ", "..", ":"))
        if line.startswith("    ") and after_text and not marked[-1]:
            marked += ["::", ""]
        marked.append(line)
        text = line or text
    return marked


def _process(app: Sphinx, what: str, name: str, it: Any, options: Any, lines: list[str]) -> None:
    lines[:] = mark_literal(lines)
