"""Read the package's docstrings as they are written: indented lines are set as they stand.

Of a constant or a property, what stands before a colon is no type; and a field that says no more
than its number is left to the docstring of its class.
"""

from typing import Any

from sphinx.application import Sphinx

VALUES = ("attribute", "data", "property")
"""What Napoleon takes the words before a colon for a type of."""
before: dict[str, list[str]] = {}
"""Docstrings as they came to Napoleon, by what they are of."""


def setup(app: Sphinx) -> None:
    """Come before Napoleon, which turns "Args:" and the like into indented lines of its own."""
    app.connect("autodoc-process-docstring", _process, priority=400)
    app.connect("autodoc-process-docstring", _restore, priority=600)
    app.connect("autodoc-skip-member", _skip)


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
    if what in VALUES:
        before[name] = [*lines]


def _restore(app: Sphinx, what: str, name: str, it: Any, options: Any, lines: list[str]) -> None:
    if what in VALUES:
        lines[:] = before.pop(name)


def _skip(app: Sphinx, what: str, name: str, it: Any, skip: bool, options: Any) -> bool | None:
    """Skip a field of a named tuple that says only which it is; else as it would be."""
    return (getattr(it, "__doc__", None) or "").startswith("Alias for field number") or None
