"""What a chapter shows besides figures: how far a cell has come, source code, computed tables."""

import html
import inspect
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from textwrap import dedent
from types import FunctionType
from typing import Any

import torch
from IPython.display import HTML, Markdown, display

from book.kit import recorded


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


@dataclass(frozen=True)
class Cost:
    """What a notebook took from its first cell on; shown as a sentence.

    Args:
        seconds: by the clock on the wall.
        processor: seconds of the processor, all threads together.
        memory: the most that the kernel held, in GB.
        machine: what it ran on.
        fast: whether recorded runs took the place of training.
        gpu_memory: the most that a GPU held, in GB.
    """

    seconds: float
    processor: float
    memory: float
    machine: str
    fast: bool
    gpu_memory: float = 0.0

    @property
    def words(self) -> str:
        """One sentence."""
        ran = " with recorded runs, nothing trained," if self.fast else ""
        return (
            f"From the first cell to here this run{ran} took {self.seconds:.0f} s on "
            f"{self.machine}, and {self.memory:.1f} GB of memory."
        )

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        return {"text/markdown": self.words, "text/plain": self.words}, {"cost": asdict(self)}


class Clock:
    """Tells at the end of a chapter what it took: `clock = Clock()`, then `clock.report()`.

    Where `FAST=1` puts recorded runs in the place of training, it says so at once.
    """

    def __init__(self) -> None:
        self._start = time.perf_counter()
        if recorded.fast():
            display(Markdown(FAST))

    def report(self) -> Cost:
        """The seconds since the clock was made, what else it took, and on what."""
        seconds, gpu = time.perf_counter() - self._start, 0.0
        if torch.cuda.is_available():
            machine, gpu = torch.cuda.get_device_name(), torch.cuda.max_memory_allocated() / 1e9
        else:
            threads = torch.get_num_threads()
            machine = f"a CPU, on {threads} thread{'s' if threads > 1 else ''}"
        return Cost(seconds, time.process_time(), peak_memory(), machine, recorded.fast(), gpu)


FAST = (
    "**Recorded, not trained.** FAST is set: what is called live, or trained when this page was "
    "made, was recorded earlier, from the same seeds."
)


def peak_memory() -> float:
    """The most memory that this process has held, in GB."""
    if sys.platform == "win32":
        import psutil  # comes with every kernel

        return float(psutil.Process().memory_info().peak_wset) / 1e9
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def source(*objects: type | FunctionType) -> Markdown:
    """The source code of functions and classes, read from the package's own files."""
    code = "\n\n".join(dedent(inspect.getsource(thing)).rstrip() for thing in objects)
    return Markdown(f"```python\n{code}\n```")


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    kind: str = "",
    **attributes: str,
) -> HTML:
    """A table of computed cells; `kind` is a class for the style sheet, for example `claims`.

    Further attributes are the element's, as they are named. The first cell of a row is its heading.
    Everything is escaped.

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
    more = "".join(f' {name}="{html.escape(value)}"' for name, value in attributes.items())
    return HTML(
        f'<table class="{html.escape(f"notes-table {kind}".strip())}"{more}>{head}'
        f"<tbody>{body}</tbody></table>"
    )
