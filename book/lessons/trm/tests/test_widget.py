"""The Python side of the Sudoku explorer, beyond what test_each.py asks of every widget."""

from dataclasses import replace

import pytest
import torch
from torch import Generator

from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from book.lessons.trm import recipe
from book.lessons.trm.widget import PUZZLE, SudokuExplorer, Used
from tests import packed

TASK = Sudoku()
FULL = TASK.write(TASK.read(PUZZLE)[1])
SMALL = Config(
    vocabulary=7, cells=36, width=5, layers=1, multiple=3, latent_steps=2, cycles=2, norm="tokens"
)


def numbers(config: Config = SMALL) -> dict[str, torch.Tensor]:
    models = [TRM(config, Generator().manual_seed(i)).half().float() for i in range(2)]
    states = [model.state_dict() for model in models]
    return {name: torch.stack([state[name] for state in states]) for name in states[0]}


@pytest.mark.parametrize("half", [True, False])
def test_weights_and_all_settings_arrive_exactly(half: bool) -> None:
    config, task = replace(SMALL, norm="channels", summary=3), Sudoku(symmetries="all")
    given, widget = numbers(config), SudokuExplorer()
    widget.load("one", given, config, task, half=half)
    run = widget.runs["one"]
    shape = {name: run[name] for name in ("rows", "columns", "held_out_share", "symmetries")}
    assert (Config(**run["config"]), Sudoku(**shape)) == (config, task)
    for i in range(2):
        found = {name: x.float() for name, x in packed.parameters(run, i).items()}
        wanted = {name: x[i] for name, x in given.items()}
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_what_the_reader_chose_stays_until_boards_have_another_shape() -> None:
    """A puzzle that is read no more is replaced once it would be shown, and not before."""
    task, widget = Sudoku(3, 2), SudokuExplorer(puzzle=FULL, step=5)
    for name in ("one", "two"):
        widget.load(name, numbers(), SMALL, TASK)
    kept = widget.runs["two"]
    widget.load("one", {name: 2 * x for name, x in numbers().items()}, SMALL, task)
    assert widget.runs["two"] is kept and widget.puzzle != FULL
    drawn, _ = task.sample(1, Generator().manual_seed(0), "minimal")
    assert (widget.run, widget.step, widget.puzzle) == ("one", 5, task.write(drawn[0]))
    first = widget.puzzle
    widget.load("two", numbers(), SMALL, Sudoku(2, 3))
    assert (widget.run, widget.puzzle) == ("one", first)


REFUSED = [
    ({"config": replace(SMALL, mixer="attention", width=16)}, "mixer 'mlp', not 'attention'"),
    (
        {"task": Sudoku(2, 5), "config": replace(SMALL, cells=100, vocabulary=11)},
        "room for 9 digits, not 10",
    ),
    ({"task": Sudoku(2, 2)}, "boards have 16 cells and a vocabulary of 5; .* for 36 and 7"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED)
def test_what_no_page_can_show_is_neither_loaded_nor_taught(change: dict, sentence: str) -> None:
    widget = SudokuExplorer()
    with pytest.raises(ValueError, match=sentence):
        widget.load(**{"name": "a", "numbers": numbers(), "config": SMALL, "task": TASK} | change)
    with pytest.raises(ValueError, match=sentence):
        widget.teach(**recipe.lesson() | {"config": SMALL, "task": TASK} | change)
    assert widget.runs == widget.lesson == {}


def test_no_number_beyond_half_precision_is_taken() -> None:
    widget = SudokuExplorer()
    large = numbers() | {"halt.bias": torch.full((2, 1), 1e6)}
    with pytest.raises(ValueError, match="number of 1000000, and half precision"):
        widget.load("one", large, SMALL, TASK)
    assert widget.runs == {}


def test_the_puzzle_to_start_with_is_minimal_and_of_a_class_that_is_held_out() -> None:
    puzzle, solution = TASK.read(PUZZLE)
    assert TASK.held_out(solution[None]).all()
    clues = puzzle.nonzero()[:, 0]
    without = puzzle.repeat(len(clues), 1).scatter(1, clues[:, None], 0)
    assert (TASK.solve(without)[0] == 2).all()


def test_a_use_of_the_network_is_a_thought_or_an_answer() -> None:
    model = Used(SMALL, Generator().manual_seed(1)).requires_grad_(False)
    puzzles, _ = TASK.sample(3, Generator().manual_seed(2))
    y, z = model.start(3)
    for _ in range(SMALL.cycles):
        for _ in range(SMALL.latent_steps):
            z, mind, _ = model.use(puzzles, y, z, torch.ones(1))
        y, logits, halt = model.use(puzzles, y, z, torch.zeros(1))
    expected = model(puzzles)
    found = (y, logits, halt, mind)
    state = expected.state
    wanted = (state.y, expected.logits, expected.halt, model.decode(state.z))
    torch.testing.assert_close(found, wanted)
