"""Chapter 5's widget: a Sudoku board on which the reader's own model thinks, step by step.

The model of `attn_notes.models.trm` and the rules of `attn_notes.tasks.sudoku` run in `trm.js`, the
model on the weights sent from here, so the widget needs no kernel once a page has been saved.
"""

from collections.abc import Mapping
from dataclasses import asdict

import anywidget
import traitlets
from torch import Generator, Tensor

from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from attn_notes.widgets._source import javascript, style
from attn_notes.widgets._weights import named, pack, summary

LARGEST_SIDE = 9
MOST_STEPS = 24
PUZZLE = "..4...1..2...4..65......3...1...5..."
"""A minimal one whose grid is held out, which rounds of singles solve."""


class SudokuExplorer(anywidget.AnyWidget):
    """A board, and models that you load, and may load again any time.

    >>> explorer = SudokuExplorer()
    >>> explorer
    SudokuExplorer: no model yet
    """

    _esm = javascript("trm")
    _css = style("trm")

    # name -> {config, rows, columns, held_out_share, names, shapes, seeds, format, weights}. One
    # trait, so that weights and the description of them never arrive apart.
    runs = traitlets.Dict().tag(sync=True)
    run = traitlets.Unicode().tag(sync=True)
    seed = traitlets.Int(0, min=0).tag(sync=True)
    puzzle = traitlets.Unicode(PUZZLE).tag(sync=True)
    step = traitlets.Int(1, min=0, max=MOST_STEPS).tag(sync=True)  # of supervision; 0: none yet
    shown = traitlets.Enum(("answer", "mind"), default_value="answer").tag(sync=True)
    selected = traitlets.Int(-1, min=-1).tag(sync=True)  # cell; -1: the first blank

    @traitlets.validate("puzzle")
    def _legal(self, proposal: traitlets.Bunch) -> str:
        puzzle: str = proposal["value"]
        self._task().read(puzzle)
        return puzzle

    def _task(self) -> Sudoku:
        """The shape of the boards that are shown."""
        run = self.runs.get(self.run)
        return Sudoku(run["rows"], run["columns"]) if run else Sudoku()

    def load(
        self,
        name: str,
        numbers: Mapping[str, Tensor],
        config: Config,
        task: Sudoku,
        *,
        half: bool = True,
    ) -> None:
        """Show these models under this name; what was shown under it before is replaced.

        Args:
            name: what the reader chooses them by, such as "trained".
            numbers: those of m models stacked along a first dimension, by the names of
                `TRM.state_dict()`, the two vectors that y and z start from among them.
            config: their parts and sizes.
            task: the boards they were trained on, and what was held out from that.
            half: send the weights in half precision; what is shown is computed from these.

        Raises:
            ValueError: a name that is empty or too long, a model or boards that the page cannot
                compute with, or numbers whose names or shapes are not those of a `TRM` with this
                config, or too large to be sent.
        """
        name = named(name)
        _check(config, task)
        run = {
            "config": asdict(config),
            "rows": task.rows,
            "columns": task.columns,
            "held_out_share": task.held_out_share,
            **pack(TRM(config, Generator()), numbers, "model", half=half),
        }
        with self.hold_sync():
            self.runs = {**self.runs, name: run}
            if self.run not in self.runs:
                self.run = name
            if self.run == name and not _readable(self.puzzle, task):
                puzzles, _ = task.sample(1, Generator().manual_seed(0), "minimal")
                self.puzzle = task.write(puzzles[0])

    def __repr__(self) -> str:
        return f"SudokuExplorer: {summary(self.runs, 'model')}"


def _check(config: Config, task: Sudoku) -> None:
    if config.mixer != "mlp":
        raise ValueError(f"the page computes the mixer 'mlp', not {config.mixer!r}")
    if task.symmetries != "labels":
        raise ValueError(
            "the page tells classes up to other names for the digits: load a task whose "
            f"symmetries are 'labels', not {task.symmetries!r}"
        )
    if task.side > LARGEST_SIDE:
        raise ValueError(f"the page has room for {LARGEST_SIDE} digits, not {task.side}")
    if (config.cells, config.vocabulary) != (task.cells, task.vocabulary):
        raise ValueError(
            f"the task's boards have {task.cells} cells and a vocabulary of {task.vocabulary}; the "
            f"model is made for {config.cells} and {config.vocabulary}"
        )


def _readable(puzzle: str, task: Sudoku) -> bool:
    try:
        task.read(puzzle)
    except ValueError:
        return False
    return True
