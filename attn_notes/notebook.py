"""What a chapter shows besides figures: how far a cell has come, source code, computed tables."""

import html
import inspect
import time
from collections.abc import Sequence
from textwrap import dedent
from types import FunctionType

import torch
from IPython.display import HTML, Markdown, display


class Progress:
    """One line under the cell, rewritten in place, that stays as one line in the saved page.

    `line = Progress()`, then `line("step 300 of 1,000")` as often as you like. The elapsed
    seconds are added. In a plain terminal every call prints a line of its own.
    """

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._handle = display(self._bundle("starting"), raw=True, display_id=True)

    def __call__(self, text: str) -> None:
        if self._handle is None:
            display(self._bundle(text), raw=True)
        else:
            self._handle.update(self._bundle(text), raw=True)

    def _bundle(self, text: str) -> dict[str, str]:
        return {"text/plain": f"{text} · {time.perf_counter() - self._start:.0f} s"}


class Clock:
    """Tells at the end of a chapter how long it took: `clock = Clock()`, then `clock.report()`."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def report(self) -> Markdown:
        """One sentence with the seconds since the clock was made, and on what."""
        seconds = time.perf_counter() - self._start
        if torch.cuda.is_available():
            machine = torch.cuda.get_device_name()
        else:
            threads = torch.get_num_threads()
            machine = f"a CPU, on {threads} thread{'s' if threads > 1 else ''}"
        return Markdown(f"From the first cell to here this run took {seconds:.0f} s on {machine}.")


def source(*objects: type | FunctionType) -> Markdown:
    """The source code of functions and classes, read from the package's own files."""
    code = "\n\n".join(dedent(inspect.getsource(thing)).rstrip() for thing in objects)
    return Markdown(f"```python\n{code}\n```")


def table(header: Sequence[str], rows: Sequence[Sequence[object]], kind: str = "") -> HTML:
    """A table of computed cells; `kind` is a class for the style sheet, for example `claims`.

    The first cell of a row is its heading. Everything is escaped.

    Raises:
        ValueError: a row has more or fewer cells than the header.
    """

    def cells(tag: str, row: Sequence[object], scope: str) -> str:
        attribute = f' scope="{scope}"' if scope else ""
        return "".join(f"<{tag}{attribute}>{html.escape(str(cell))}</{tag}>" for cell in row)

    body = ""
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"{len(header)} columns, but a row of {len(row)} cells: {row}")
        body += f"<tr>{cells('th', row[:1], 'row')}{cells('td', row[1:], '')}</tr>"
    head = f"<thead><tr>{cells('th', header, 'col')}</tr></thead>"
    return HTML(
        f'<table class="{html.escape(f"notes-table {kind}".strip())}">{head}'
        f"<tbody>{body}</tbody></table>"
    )
