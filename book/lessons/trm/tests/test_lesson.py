"""What the lesson's cells compute, derived another way; its drawing, and its widget."""

from copy import deepcopy
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Generator
from torch.func import stack_module_state

from attn_notes.models.trm import TRM, Config, Rereading, Straight
from attn_notes.tasks.sudoku import Sudoku
from book.lessons.trm import evidence, recipe, supervision
from book.lessons.trm.widget import PUZZLE, SudokuExplorer, Used, recursion
from book.site.dependencies import lesson_page
from tests import exercises, packed

CELLS = exercises.cells(exercises.ROOT / lesson_page("trm"))


def scope(*cells: str) -> dict:
    found = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    exec("\n\n".join(CELLS[cell] for cell in cells), found)
    return found


def test_the_lessons_look_is_the_packages():
    generator = Generator().manual_seed(4)
    model = recipe.LIVE.model(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=generator))
    boards, _ = recipe.TASK.sample(5, generator)
    look, weights = scope("rest-cell", "model-cell")["look"], dict(model.named_parameters())
    state = ours = model.start(5)
    for _ in range(3):
        state, digits, q = model(boards, state)
        *ours, our_digits, our_q = look(weights, boards, *ours)
        torch.testing.assert_close((our_digits, our_q), (digits, q), rtol=1e-4, atol=1e-4)
        assert not any(part.requires_grad for part in ours)
    our_digits.sum().backward()
    assert weights["token.weight"].grad is not None


def test_the_lessons_step_is_the_packages():
    marked, settings, sgd = scope("step-cell")["marked"], recipe.LIVE.settings, torch.optim.SGD
    puzzles, solved = batch = recipe.TASK.sample(settings.seats, Generator().manual_seed(0))
    how = {"optimizer": partial(sgd, lr=0.1), "generator": Generator().manual_seed(0)}
    run = supervision.Supervision(recipe.LIVE.model(3), lambda *_: batch, settings, **how)
    ours = deepcopy(run.model)
    optimizer, state = sgd(ours.parameters(), lr=0.1), ours.start(settings.seats)
    for _ in range(2):  # the same puzzles, of which as yet nobody is sure
        run.step()
        state = marked(ours, optimizer, puzzles, solved, state)
        assert not run.carry.halted.any()
        for a, b in zip(ours.parameters(), run.model.parameters(), strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("kind", [recipe.REREADING, recipe.SHARING])
def test_what_tells_the_controls_apart_by_hand(kind):
    """h ← layer(x + h) from nothing, eight layers or four times two; the first as deep as DEEP."""
    again, deep = (recipe.rereading() | recipe.sharing())[kind], recipe.baselines()[recipe.DEEP]
    model, straight = again.model(2), deep.model(2)
    boards, _ = recipe.TASK.sample(3, Generator().manual_seed(1))
    layers = [*model.net] * (recipe.USES if kind == recipe.SHARING else 1)
    found, x = model(boards), model.embed(boards)
    h = torch.zeros_like(x)
    for layer in layers:
        h = layer(x + h)
    torch.testing.assert_close(found.logits, model.decode(h))
    torch.testing.assert_close(model(boards, found.state).logits, found.logits)
    assert recipe.operations(again) == recipe.operations(deep) and again.steps == deep.steps
    assert len(layers) == deep.config.layers == 8 and type(straight) is Straight
    if kind == recipe.SHARING:
        assert again.config == recipe.LIVE.config and isinstance(model, TRM)
    else:
        assert again.config == deep.config and isinstance(model, Rereading)
        torch.testing.assert_close(model.state_dict(), straight.state_dict(), rtol=0, atol=0)


TASK = Sudoku()
FULL = TASK.write(TASK.read(PUZZLE)[1])
SMALL = Config(
    vocabulary=7, cells=36, width=5, layers=1, multiple=3, latent_steps=2, cycles=2, norm="tokens"
)


def numbers(config: Config = SMALL) -> dict[str, torch.Tensor]:
    models = [TRM(config, Generator().manual_seed(i)).half().float() for i in range(2)]
    return {name: x.detach() for of in stack_module_state(models) for name, x in of.items()}


@pytest.mark.parametrize("half", [True, False])
def test_weights_and_all_settings_arrive_exactly(half):
    config, task = replace(SMALL, norm="channels", summary=3), Sudoku(symmetries="all")
    given, widget = numbers(config), SudokuExplorer()
    widget.load("one", given, config, task, half=half)
    run = widget.runs["one"]
    shape = {name: run[name] for name in ("rows", "columns", "held_out_share", "symmetries")}
    assert (Config(**run["config"]), Sudoku(**shape)) == (config, task)
    for name, x in packed.parameters(run, 1).items():
        assert x.float().equal(given[name][1])


def test_what_the_reader_chose_stays_until_boards_have_another_shape():
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
    (TASK, replace(SMALL, mixer="attention", width=16), "mixer 'mlp', not 'attention'"),
    (Sudoku(2, 5), replace(SMALL, cells=100, vocabulary=11), "9 digits, not 10"),
    (Sudoku(2, 2), SMALL, "boards have 16 cells and a vocabulary of 5; .* for 36 and 7"),
]


@pytest.mark.parametrize(("task", "config", "sentence"), REFUSED)
def test_what_no_page_can_show_is_neither_loaded_nor_taught(task, config, sentence):
    widget = SudokuExplorer()
    with pytest.raises(ValueError, match=sentence):
        widget.load("a", numbers(), config, task)
    with pytest.raises(ValueError, match=sentence):
        widget.teach(**recipe.lesson() | {"config": config, "task": task})
    assert widget.runs == widget.lesson == {}


def test_the_puzzle_to_start_with_is_minimal_and_of_a_class_that_is_held_out():
    puzzle, solution = TASK.read(PUZZLE)
    assert TASK.held_out(solution[None]).all()
    clues = puzzle.nonzero()[:, 0]
    assert (TASK.solve(puzzle.repeat(len(clues), 1).scatter(1, clues[:, None], 0))[0] == 2).all()


def test_a_use_of_the_network_is_a_thought_or_an_answer():
    model = Used(SMALL, Generator().manual_seed(1)).requires_grad_(False)
    puzzles, _ = TASK.sample(3, Generator().manual_seed(2))
    y, z = model.start(3)
    for _ in range(SMALL.cycles):
        for _ in range(SMALL.latent_steps):
            z, mind, _ = model.use(puzzles, y, z, torch.ones(1))
        y, logits, halt = model.use(puzzles, y, z, torch.zeros(1))
    state, *wanted = model(puzzles)
    found = (y, mind, logits, halt)
    torch.testing.assert_close(found, (state.y, model.decode(state.z), *wanted))


def test_the_lessons_loop_uses_one_layer_again_and_again():
    found = scope("meet-cell")
    layer, x = found["layer"].eval(), torch.randn(1, 36, 64, generator=Generator().manual_seed(2))
    h = torch.zeros_like(x)
    for _ in range(8):
        h = layer(x + h)
    torch.testing.assert_close(found["Looped"](layer, 8)(x), h)
    sizes = [sum(p.numel() for p in found[name].parameters()) for name in ("stack", "layer")]
    assert sizes[0] == 8 * sizes[1]


def test_the_drawing_has_what_the_network_reads_after_each_use():
    """Thoughts change the mind, answers the answer, which is that of the network's own looks."""
    model, looks = evidence.network(), 3
    drawn = recursion(model, recipe.TASK, looks).drawing
    mind, answer = torch.tensor(drawn["mind"]), torch.tensor(drawn["answer"])
    assert drawn["thoughts"] == recipe.USES - 1 and len(mind) == len(answer) == looks * recipe.USES
    logits, _ = model.trace(torch.tensor([drawn["clues"]]), looks)
    for use in range(1, looks * recipe.USES):
        kept = mind if (use + 1) % recipe.USES == 0 else answer
        assert kept[use].equal(kept[use - 1])
    assert not answer[: recipe.USES - 1].any()
    assert answer[recipe.USES - 1 :: recipe.USES].equal(logits[:, 0].argmax(-1))
