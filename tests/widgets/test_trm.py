"""The Python side of the Sudoku explorer: what it takes, refuses, sends and prints."""

import re
from dataclasses import replace

import pytest
import torch
from torch import Generator

from attn_notes.chapters.trm import measure, recipe
from attn_notes.models.trm import TRM, Config
from attn_notes.tasks.sudoku import Sudoku
from attn_notes.widgets.trm import PUZZLE, SudokuExplorer, Used

from .. import packed

SEEDS = 3
TASK = Sudoku()
SMALL = Config(
    vocabulary=7, cells=36, width=5, layers=1, multiple=3, latent_steps=2, cycles=2, norm="tokens"
)
BIGGER = replace(SMALL, norm="channels", summary=3, layers=2)


def stacked(config, seeds=SEEDS):
    """Models whose every number is one of half precision, and their numbers."""
    models = [TRM(config, Generator().manual_seed(i)).half().float() for i in range(seeds)]
    states = [model.state_dict() for model in models]
    return models, {name: torch.stack([state[name] for state in states]) for name in states[0]}


def load(widget, name="a name", config=SMALL, seeds=SEEDS, **more):
    models, numbers = stacked(config, seeds)
    widget.load(name, numbers, config, TASK, **more)
    return models


def test_there_is_a_widget_before_there_is_a_model():
    widget = SudokuExplorer()
    assert (widget.puzzle, widget.shown, widget.selected) == (PUZZLE, "answer", -1)


def test_the_puzzle_to_start_with_is_minimal_and_of_a_class_that_is_held_out():
    puzzle, solution = TASK.read(PUZZLE)
    assert TASK.held_out(solution[None]).all()
    clues = puzzle.nonzero()[:, 0]
    without = puzzle.repeat(len(clues), 1).scatter(1, clues[:, None], 0)
    assert (TASK.solve(without)[0] == 2).all()


@pytest.mark.parametrize("config", [SMALL, pytest.param(BIGGER, marks=pytest.mark.slow)])
@pytest.mark.parametrize("half", [True, False])
def test_weights_and_all_settings_arrive_exactly(config, half):
    widget = SudokuExplorer()
    models = load(widget, "one", config, half=half)
    run = widget.runs["one"]
    assert Config(**run["config"]) == config
    assert Sudoku(run["rows"], run["columns"], held_out_share=run["held_out_share"]) == TASK
    assert run["seeds"] == SEEDS
    for i, model in enumerate(models):
        found = packed.parameters(run, i)
        assert found.keys() == model.state_dict().keys()  # with what y and z start from
        for name, tensor in model.state_dict().items():
            assert torch.equal(found[name].float(), tensor)


def test_one_as_it_starts_is_sent_as_how_it_is_drawn():
    widget = SudokuExplorer()
    widget.load("untrained", None, SMALL, TASK)
    run = widget.get_state("runs")["runs"]["untrained"]
    assert (run["seeds"], "weights" in run) == (1, False)
    state = TRM(SMALL, Generator()).state_dict()
    assert dict(zip(run["names"], run["shapes"], strict=True)) == {
        name: list(tensor.shape) for name, tensor in state.items()
    }
    assert {name.removeprefix("buffer.") for name in run["draws"]} == set(state)
    assert repr(widget) == "SudokuExplorer: 1 model, 1 seed"


@pytest.mark.parametrize(("half", "size"), [(True, 2), (False, 4)])
def test_weights_are_sent_as_a_binary_buffer(half, size):
    widget = SudokuExplorer()
    (model, *_) = load(widget, "one", half=half)
    weights = widget.get_state("runs")["runs"]["one"]["weights"]
    assert isinstance(weights, bytes)
    assert len(weights) == size * SEEDS * sum(p.numel() for p in model.state_dict().values())


def test_loading_again_replaces_and_keeps_the_others_and_what_the_reader_chose():
    widget = SudokuExplorer()
    load(widget, "one")
    load(widget, " two ", BIGGER)
    before = widget.runs["two"]
    _, solution = TASK.read(PUZZLE)
    typed = TASK.write(solution)[:-1] + "."
    chosen = (typed, "two", 7, 5, "mind")
    widget.puzzle, widget.run, widget.selected, widget.step, widget.shown = chosen
    numbers = {name: 2 * tensor for name, tensor in stacked(SMALL)[1].items()}
    widget.load("one", numbers, SMALL, TASK)
    found = packed.parameters(widget.runs["one"], 1)["out.weight"]
    assert torch.equal(found.float(), numbers["out.weight"][1])
    assert widget.runs["two"] is before
    assert (widget.puzzle, widget.run, widget.selected, widget.step, widget.shown) == chosen


def test_boards_of_another_shape_bring_a_puzzle_of_their_own():
    task = Sudoku(3, 2)
    puzzles, _ = task.sample(1, Generator().manual_seed(0), "minimal")
    widget = SudokuExplorer(puzzle=TASK.write(TASK.read(PUZZLE)[1]))
    load(widget, "one")
    widget.load("two", stacked(SMALL)[1], SMALL, task)
    assert widget.puzzle == TASK.write(TASK.read(PUZZLE)[1])  # the first is still on the screen
    widget.run = "two"
    widget.load("two", stacked(SMALL)[1], SMALL, task)
    assert widget.puzzle == task.write(puzzles[0])
    with pytest.raises(ValueError, match="stands twice in box"):
        widget.puzzle = TASK.write(TASK.read(PUZZLE)[1])


@pytest.mark.parametrize(
    ("puzzle", "sentence"),
    [
        ("", "a board has 36 cells, and this one has 0"),
        ("x" * 36, "'X' is not a cell"),
        ("11" + "." * 34, "1 stands twice in row 1"),
        ("." * 36, "more than one solution"),
    ],
)
def test_a_board_that_is_no_puzzle_is_refused(puzzle, sentence):
    widget = SudokuExplorer()
    with pytest.raises(ValueError, match=sentence):
        widget.puzzle = puzzle
    assert widget.puzzle == PUZZLE


TEN = {"cells": 100, "vocabulary": 11}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"config": replace(SMALL, mixer="attention", width=16)}, "mixer 'mlp', not 'attention'"),
        ({"task": Sudoku(2, 5), "config": replace(SMALL, **TEN)}, "room for 9 digits, not 10"),
        ({"task": Sudoku(2, 2)}, "boards have 16 cells and a vocabulary of 5; .* for 36 and 7"),
        ({"config": replace(SMALL, vocabulary=8)}, "for 36 and 8"),
        ({"config": replace(SMALL, width=7)}, "must have the shape"),
        (
            {"numbers": lambda n: n | {"halt.bias": torch.full((SEEDS, 1), 1e6)}},
            "halt.bias has a number of 1000000, and half precision none beyond 65504",
        ),
    ],
)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(change, sentence):
    widget = SudokuExplorer()
    numbers = change.get("numbers", lambda n: n)(stacked(SMALL)[1])
    given = {"name": "one", "config": SMALL, "task": TASK} | change | {"numbers": numbers}
    with pytest.raises(ValueError, match=sentence):
        widget.load(**given)
    assert widget.runs == {}
    assert widget.run == ""


def teach(widget, **change):
    given = recipe.lesson() | {"config": SMALL, "sizes": {3: 7, 2: 5}}
    widget.teach(**given | change)


@pytest.mark.slow
def test_a_lesson_has_a_step_for_each_size_and_all_that_is_drawn():
    widget = SudokuExplorer()
    assert widget.lesson == {}
    teach(widget)
    lesson = widget.lesson
    assert [(size["seats"], size["steps"]) for size in lesson["sizes"]] == [(3, 7), (2, 5)]
    for size in lesson["sizes"]:
        (seats,) = re.findall(r'"batch.puzzles":\[\d+,\[(\d+),36\]\]', size["step"])
        assert int(seats) == size["seats"]
    model = TRM(SMALL, Generator())
    names = {name.removeprefix("buffer.") for name in lesson["draws"]}
    assert names == model.state_dict().keys()
    assert (lesson["rows"], lesson["columns"], lesson["held_out_share"]) == (2, 3, 0.1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"task": Sudoku(2, 2)}, "boards have 16 cells and a vocabulary of 5"),
        ({"config": replace(SMALL, mixer="attention", width=16)}, "mixer 'mlp'"),
    ],
)
def test_a_bad_lesson_says_what_is_wrong(change, sentence):
    widget = SudokuExplorer()
    with pytest.raises(ValueError, match=sentence):
        teach(widget, **change)
    assert widget.lesson == {}


def test_a_use_of_the_network_is_a_thought_or_an_answer():
    """Around it, the recursion is the model's own."""
    model = Used(SMALL, Generator().manual_seed(1)).requires_grad_(False)
    puzzles, _ = TASK.sample(3, Generator().manual_seed(2))
    y, z = model.start(3)
    for _ in range(SMALL.cycles):
        for _ in range(SMALL.latent_steps):
            z, mind, _ = model.use(puzzles, y, z, torch.ones(1))
        y, logits, halt = model.use(puzzles, y, z, torch.zeros(1))
    expected = model(puzzles)
    torch.testing.assert_close(y, expected.state.y)
    torch.testing.assert_close(logits, expected.logits)
    torch.testing.assert_close(halt, expected.halt)
    torch.testing.assert_close(mind, model.decode(expected.state.z))


def test_what_is_held_out_up_to_all_symmetries_is_the_pages_as_well():
    """A task with the stricter split is shown and taught: the chapter runs with it."""
    task = Sudoku(2, 3, symmetries="all")
    widget = SudokuExplorer()
    widget.load("stricter", measure.alone(recipe.LIVE.model(0)), recipe.LIVE.config, task)
    assert widget.runs["stricter"]["symmetries"] == "all"
    widget.load("names", measure.alone(recipe.LIVE.model(0)), recipe.LIVE.config, recipe.TASK)
    assert widget.runs["names"]["symmetries"] == "labels"


def test_failures_are_puzzles():
    widget = SudokuExplorer()
    assert widget.failures == []
    widget.failures = [PUZZLE]
    with pytest.raises(ValueError, match="36 cells"):
        widget.failures = [PUZZLE, "12"]
    assert widget.failures == [PUZZLE]
