"""The Sudoku explorer: a Sudoku board on which a model thinks, step by step, and can be trained.

One use of the network and a step of its training are torch's own, traced into programs that the
page runs; the rules of `attn_notes.tasks.sudoku` are written again in JavaScript. So the widget
needs no kernel once a page has been saved.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
import traitlets
from jaxtyping import Float, Int
from torch import Generator, Tensor

from attn_notes.models.trm import TRM, Config
from attn_notes.programs import initial, training
from attn_notes.programs.forward import forward
from attn_notes.tasks.sudoku import Sudoku
from book.kit import recorded
from book.lessons.trm import measure
from book.page.bundle import javascript, style
from book.page.shown import ModelsByName
from book.page.weights import named, pack

OPENS = {  # rem high as each opens: wide, on a page, on a phone
    "board": (28.5, 59.0, 60.0),
    "recursion": (28.0, 28.0, 35.0),
}
LARGEST_SIDE = 9
MOST_STEPS = 24
PUZZLE = "..4...1..2...4..65......3...1...5..."
"""A minimal one whose grid is held out, which rounds of singles solve."""
AT_ONCE = 20  # puzzles that a model in training is judged on together


class Used(TRM):
    """The model, one use of its network at a time: the page does the recursion around it."""

    def use(
        self,
        puzzles: Int[Tensor, "b c"],
        y: Float[Tensor, "b t e"],
        z: Float[Tensor, "b t e"],
        seen: Float[Tensor, " 1"],
    ) -> tuple[Float[Tensor, "b t e"], Float[Tensor, "b c v"], Float[Tensor, " b"]]:
        """A thought, net(x + y + z), or an answer, net(y + z), and what the heads read in it."""
        h = self.net(seen * self.embed(puzzles) + y + z)
        return h, self.decode(h), self.halt(h[..., 0, :])[..., 0]


@recorded.noted
def use(config: Config, boards: int = 1) -> str:
    """The program of one use of the network, on so many boards at once."""
    y, z = TRM(config, Generator()).start(boards)
    puzzles = torch.zeros(boards, config.cells, dtype=torch.long)
    inputs = {"puzzles": puzzles, "y": y, "z": z, "seen": torch.ones(1)}
    model = Used(config, Generator())
    return forward(model, inputs, ("h", "logits", "halt"), method="use").module


@recorded.noted
def _step(config: Config, loss: Callable[..., Any], seats: int) -> dict[str, Any]:
    """One step of training on so many seats, and how much memory it works in."""
    model = TRM(config, Generator())
    y, z = model.start(seats)
    boards = torch.zeros(seats, config.cells, dtype=torch.long)
    batch = {"puzzles": boards, "solutions": boards, "y": y, "z": z}
    program = training.step(model, loss, batch, has_aux=True)
    return {"step": program.module, "megabytes": round(4 * program.size / 1e6)}


class SudokuExplorer(ModelsByName):
    """A board, and models that you load, and may load again any time; or the recursion, drawn.

    >>> explorer = SudokuExplorer()
    >>> explorer
    SudokuExplorer: no model yet
    """

    _esm = javascript("trm")
    _css = style("trm")

    # runs: name -> {config, use, rows, columns, held_out_share, symmetries, names, shapes, seeds,
    # format, weights}
    # What the page needs to train a model; empty where there is nothing to be trained.
    lesson = traitlets.Dict().tag(sync=True)
    # the board, or the recursion as a drawing, of what `drawing` has of one puzzle
    picture = traitlets.Enum(tuple(OPENS), default_value="board").tag(sync=True)
    drawing = traitlets.Dict().tag(sync=True)
    puzzle = traitlets.Unicode(PUZZLE).tag(sync=True)
    step = traitlets.Int(1, min=0, max=MOST_STEPS).tag(sync=True)  # of supervision; 0: none yet
    shown = traitlets.Enum(("answer", "mind"), default_value="answer").tag(sync=True)
    failures = traitlets.List(traitlets.Unicode()).tag(sync=True)  # puzzles it is seen to fail on
    selected = traitlets.Int(-1, min=-1).tag(sync=True)  # cell; -1: the first blank

    @traitlets.validate("puzzle")
    def _legal(self, proposal: traitlets.Bunch) -> str:
        puzzle: str = proposal["value"]
        self._task().read(puzzle)
        return puzzle

    @traitlets.validate("failures")
    def _all_legal(self, proposal: traitlets.Bunch) -> list[str]:
        puzzles: list[str] = proposal["value"]
        for puzzle in puzzles:
            self._task().read(puzzle)
        return puzzles

    def _task(self) -> Sudoku:
        """The shape of the boards that are shown."""
        run = self.runs.get(self.run)
        return Sudoku(run["rows"], run["columns"]) if run else Sudoku()

    def load(
        self,
        name: str,
        numbers: Mapping[str, Tensor] | None,
        config: Config,
        task: Sudoku,
        *,
        half: bool = True,
    ) -> None:
        """Show these models under this name; what was shown under it before is replaced.

        Args:
            name: what the reader chooses them by, such as "trained".
            numbers: those of m models stacked along a first dimension, by the names of
                `TRM.state_dict()`, the two vectors that y and z start from among them; or None,
                for one as it starts, which the page draws.
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
            "use": use(config),
            **_shape(task),
            **pack(partial(TRM, config), numbers, "model", half=half),
        }
        with self.hold_sync():
            self._put(name, run)
            if self.run == name and not _readable(self.puzzle, task):
                puzzles, _ = task.sample(1, Generator().manual_seed(0), "minimal")
                self.puzzle = task.write(puzzles[0])

    def teach(
        self,
        config: Config,
        task: Sudoku,
        loss: Callable[..., Any],
        *,
        sizes: Mapping[int, int],
        supervision: Mapping[str, Any],
        optimizer: Mapping[str, float],
        judged: Mapping[str, int],
        goal: Mapping[str, Any],
        look: float = 0.0,
    ) -> None:
        """Let the reader train such a model in the page.

        Args:
            config: its parts and sizes.
            task: the boards to train on, and what is held out from that.
            loss: loss(model, batch) of one supervision step, and by name the state that it leaves,
                `y` and `z`, and `halt`; the batch has `puzzles`, `solutions`, `y` and `z`.
            sizes: seats → how many steps of the optimiser, the first being offered first.
            supervision: `steps` of a puzzle at most, the `exploration` of seats that are kept from
                halting, and the `ema` of the weights.
            optimizer: AdamW's `rate`, `warmup`, `decay`, `beta1` and `beta2`.
            judged: how many held-out minimal puzzles are tried `along` the way, and at the `last`
                step, for how many supervision `steps`, and `probes`, how often.
            goal: the challenge: `solved`, a share, within so many `steps` of the optimiser.
            look: seconds that training takes for one look of one seat, where they were measured:
                the page says how long a run will take before it begins.

        Raises:
            ValueError: a model or boards that the page cannot compute with.
        """
        _check(config, task)
        self.lesson = {
            "config": asdict(config),
            **_shape(task),
            "use": use(config),
            "use_many": use(config, AT_ONCE),
            "sizes": [
                {"seats": seats, "steps": steps, **_step(config, loss, seats)}
                for seats, steps in sizes.items()
            ],
            "draws": initial.draws(partial(TRM, config)),
            "supervision": dict(supervision),
            "optimizer": dict(optimizer),
            "judged": dict(judged),
            "goal": dict(goal),
            "look": look,
        }

    def __repr__(self) -> str:
        if self.picture == "recursion":
            return "SudokuExplorer: the recursion, drawn"
        return super().__repr__()


def recursion(model: TRM, task: Sudoku, looks: int, puzzle: str = PUZZLE) -> SudokuExplorer:
    """The recursion as a drawing that one steps through: one puzzle, use after use of the network.

    Before the first answer there is none to be read.
    """
    clues, solution = task.read(puzzle)
    seen = measure.thoughts(model, clues[None], looks)
    thoughts = model.config.latent_steps * model.config.cycles
    boards = {"mind": [[0] * task.cells], "answer": [[0] * task.cells]}
    for use in range(len(seen.mind)):
        answers = (use + 1) % (thoughts + 1) == 0
        for name, logits in seen._asdict().items():
            now = logits[use, 0].argmax(-1).tolist()
            boards[name].append(now if answers == (name == "answer") else boards[name][-1])
    return SudokuExplorer(
        picture="recursion",
        drawing={
            **_shape(task),
            "thoughts": thoughts,
            "clues": clues.tolist(),
            "solution": solution.tolist(),
            **{name: each[1:] for name, each in boards.items()},
        },
    )


def _shape(task: Sudoku) -> dict[str, Any]:
    """What the page has to know of boards."""
    return {
        "rows": task.rows,
        "columns": task.columns,
        "held_out_share": task.held_out_share,
        "symmetries": task.symmetries,
    }


def _check(config: Config, task: Sudoku) -> None:
    if config.mixer != "mlp":
        raise ValueError(f"the page computes the mixer 'mlp', not {config.mixer!r}")
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
