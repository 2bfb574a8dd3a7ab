"""What the lesson's own cells compute, derived another way: look, step, blackboard, checker."""

import re
from copy import deepcopy
from functools import partial

import pytest
import torch
from torch import Generator, Tensor

from attn_notes.models.trm import TRM, Rereading, Straight
from attn_notes.tasks.sudoku import Batch
from book.lessons.trm import figures, puzzles, recipe, supervision
from book.site.dependencies import lesson_page
from tests import exercises

LESSON = exercises.ROOT / lesson_page("trm")
CELLS = exercises.cells(LESSON)


def scope(cell: str) -> dict:
    found = {"torch": torch, "F": torch.nn.functional}
    exec(CELLS[cell].partition("boards = ")[0], found)
    return found


def test_the_lessons_look_is_the_packages() -> None:
    """Its cell, run with other weights, off the start, where q is constant; three looks."""
    generator = Generator().manual_seed(4)
    model = recipe.LIVE.model(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=generator))
    boards, _ = recipe.TASK.sample(5, generator)
    look, weights = scope("model-cell")["look"], dict(model.named_parameters())
    state = ours = model.start(5)
    for _ in range(3):
        state, digits, q = model(boards, state)
        *ours, our_digits, our_q = look(weights, boards, *ours)
        torch.testing.assert_close((our_digits, our_q), (digits, q), rtol=1e-4, atol=1e-4)
        assert not any(part.requires_grad for part in ours)
    our_digits.sum().backward()
    assert weights["token.weight"].grad is not None


@pytest.mark.parametrize(("kept", "slopes"), [(True, [7, 13.375]), (False, [7, 20.5])])
def test_the_blackboard_by_hand(
    kept: bool, slopes: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """w = 1/2, x = 4, worked out on paper; the slopes by the product rule, 20.5 without detach."""
    line = "    y, z = y.detach(), z.detach()\n"
    assert line in CELLS["blackboard-cell"]
    exec(CELLS["blackboard-cell"].replace(line, line if kept else ""), {"torch": torch})
    found = [float(x) for x in re.findall(r"= ([\d.]+)", capsys.readouterr().out)]
    assert found == [3, 1.5, slopes[0], 4.875, 3.1875, slopes[1]]


def test_the_lessons_step_is_the_packages() -> None:
    """Its cell, on the seats that the package has, moves weights and average as far as it does."""
    step, settings, sgd = scope("step-cell")["step"], recipe.LIVE.settings, torch.optim.SGD
    batches = [recipe.TASK.sample(settings.seats, Generator().manual_seed(k)) for k in range(2)]
    fresh = iter(batches)
    run = supervision.Supervision(
        recipe.LIVE.model(3),
        lambda n, generator: next(fresh),
        settings,
        optimizer=partial(sgd, lr=0.1),
        generator=Generator().manual_seed(0),
    )
    ours, mean = deepcopy(run.model), deepcopy(run.model)
    optimizer, state = sgd(ours.parameters(), lr=0.1), ours.start(settings.seats)

    def leave(batch: Batch, had: int, stays: bool) -> Tensor:
        nonlocal state
        some = torch.zeros(settings.seats, dtype=torch.long)
        state, leaves = step(ours, mean, optimizer, (*batch, some + had, (some + stays) > 0, state))
        return leaves

    for had, batch in enumerate(batches):
        if had:  # the same puzzles, gone on with
            run.carry = run.carry._replace(halted=torch.zeros_like(run.carry.halted))
            batch = run.carry.puzzles, run.carry.solutions
        run.step()
        assert not leave(batch, had, False).any()  # as yet nobody is sure
        for own, package in ((ours, run.model), (mean, run.judged)):
            for a, b in zip(own.parameters(), package.parameters(), strict=True):
                torch.testing.assert_close(a, b)
    with torch.no_grad():
        ours.halt.bias.fill_(9.0)  # now everybody is
    assert leave(batch, 7, True).all() and leave(batch, 2, False).all()
    assert not leave(batch, 2, True).any()


def test_the_checker_of_the_lesson_finds_twins_and_only_twins() -> None:
    found = scope("meet-cell")
    board, other = torch.tensor([[1, 2, 0, 0, 1, 0, 0, 0, 2], [1, 2, 0, 0, 1, 0, 0, 2, 0]])
    square = board.view(3, 3)
    for test, share in ((square.rot90(), 1.0), (square.mT, 1.0), (other, 0.0)):
        assert found["twins"](board[None], test.reshape(1, 9), found["key"]) == share


def test_the_disguises_are_of_one_class_or_of_two() -> None:
    """The second has other names; the third is of the first's class for the stricter split only."""
    grids = torch.stack([*puzzles.disguises().values()])
    names, every = (task.class_key(grids).tolist() for task in (recipe.TASK, recipe.STRICTER))
    assert names[0] == names[1] != names[2] and every[0] == every[1] == every[2]
    assert recipe.TASK.rounds(grids).tolist() == [0, 0, 0]  # whole grids


def test_the_emblem_is_a_board_with_what_is_wrong_in_it() -> None:
    picture = figures.emblem()
    board, _ = picture.fig.axes
    assert (picture.title, picture.caption, len(board.texts)) == ("", "", 36)
    assert f": {len(board.patches)} cells are in a frame" in picture.alt and board.patches


@pytest.mark.parametrize("kind", [recipe.REREADING, recipe.SHARING])
def test_what_tells_the_controls_apart_by_hand(kind: str) -> None:
    """h ← layer(x + h) from nothing, with eight layers or four times two; one look is all.

    The first has the weights of the deeper straight network, which goes on without x.
    """
    again = (recipe.rereading() | recipe.sharing())[kind]
    deep, model = recipe.baselines()[recipe.DEEP], again.model(2)
    straight = deep.model(2)
    boards, _ = recipe.TASK.sample(3, Generator().manual_seed(1))
    layers = [*model.net] * (recipe.USES if kind == recipe.SHARING else 1)
    x = model.embed(boards)
    h = torch.zeros_like(x)
    for layer in layers:
        h = layer(x + h)
    found = model(boards)
    torch.testing.assert_close(found.logits, model.decode(h))
    torch.testing.assert_close(model(boards, found.state).logits, found.logits)
    assert recipe.operations(again) == recipe.operations(deep) and again.steps == deep.steps
    assert len(layers) == deep.config.layers == 8 and type(straight) is Straight
    if kind == recipe.SHARING:
        assert again.config == recipe.LIVE.config and isinstance(model, TRM)
    else:
        assert again.config == deep.config and isinstance(model, Rereading)
        torch.testing.assert_close(model.state_dict(), straight.state_dict(), rtol=0, atol=0)
