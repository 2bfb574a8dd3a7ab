"""What the chapter's two pages hold between them: the lesson's cells, numbers in sentences."""

import re
from copy import deepcopy
from functools import partial
from pathlib import Path

import nbformat
import pytest
import torch
from torch import Generator

from attn_notes.chapters.trm import recipe, supervision
from attn_notes.chapters.trm.controls import Sharing
from attn_notes.models.trm import OFFICIAL, PUBLISHED, Rereading, Straight

from ... import exercises

LESSON = exercises.ROOT / "book" / "trm.ipynb"
EVIDENCE = exercises.ROOT / "book" / "evidence" / "trm.ipynb"


def text_of(page: Path, cell: str) -> str:
    """A cell of text, its lines joined."""
    (found,) = (c for c in nbformat.read(page, as_version=4).cells if c.id == cell)
    return " ".join(found.source.split())


def test_the_lessons_look_is_the_packages() -> None:
    """Its cell, run with other weights, off the start, where q is constant; three looks."""
    generator = Generator().manual_seed(4)
    model = recipe.LIVE.model(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=generator))
    puzzles, _ = recipe.TASK.sample(5, generator)
    scope = {"torch": torch, "F": torch.nn.functional}
    exec(exercises.cells(LESSON)["model-cell"], scope)
    state = ours = model.start(5)
    weights = dict(model.named_parameters())
    for _ in range(3):
        state, digits, q = model(puzzles, state)
        *ours, our_digits, our_q = scope["look"](weights, puzzles, *ours)
        torch.testing.assert_close((our_digits, our_q), (digits, q), rtol=1e-4, atol=1e-4)
        assert not any(part.requires_grad for part in ours)
    our_digits.sum().backward()
    assert weights["token.weight"].grad is not None


def test_the_numbers_of_the_lesson() -> None:
    count = recipe.parameters(recipe.LIVE.config)
    assert f"Here a network with {count:,} weights" in text_of(LESSON, "title")
    deep = recipe.baselines()[recipe.DEEP]
    assert round(recipe.parameters(deep.config) / count) == 4
    assert deep.config.layers == 8
    assert "the eight layers of a look" in text_of(LESSON, "opponents")
    assert recipe.rereading()[recipe.REREADING].config == deep.config
    assert "36 cells and the summary place" in text_of(EVIDENCE, "model")
    assert "mixes the 37 tokens" in text_of(LESSON, "blackboard-text")
    assert recipe.LIVE.config.tokens == 37
    assert recipe.LIVE.config.width == 8**2  # the root in the model's cell
    assert OFFICIAL.norm == "tokens" and PUBLISHED.norm == "channels"


@pytest.mark.parametrize(("kept", "slopes"), [(True, [7, 13.375]), (False, [7, 20.5])])
def test_the_blackboard_by_hand(
    kept: bool, slopes: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """w = 1/2, x = 4, worked out on paper; the slopes by the product rule."""
    cell = exercises.cells(LESSON)["blackboard-cell"]
    line = "    y, z = y.detach(), z.detach()\n"
    assert line in cell
    exec(cell if kept else cell.replace(line, ""), {"torch": torch})
    found = [float(x) for x in re.findall(r"= ([\d.]+)", capsys.readouterr().out)]
    assert found == [3, 1.5, slopes[0], 4.875, 3.1875, slopes[1]]
    said = text_of(LESSON, "blackboard")
    assert "½ (4 + 0 + 0) = 2" in said and "½ (4 + 0 + 2) = 3" in said and "½ (0 + 3) = 1.5" in said
    told = text_of(LESSON, "blackboard-text")
    assert "goes on from $y$ = 1.5 and $z$ = 3" in told and "its slope would be 20.5" in told


def test_the_lessons_step_is_the_packages() -> None:
    """Its cell, on the seats that the package has, moves weights and average as far as it does."""
    scope = {"torch": torch, "F": torch.nn.functional}
    exec(exercises.cells(LESSON)["step-cell"], scope)
    settings, task = recipe.LIVE.settings, recipe.TASK
    batches = [task.sample(settings.seats, Generator().manual_seed(k)) for k in range(2)]
    fresh = iter(batches)
    run = supervision.Supervision(
        recipe.LIVE.model(3),
        lambda n, generator: next(fresh),
        settings,
        optimizer=partial(torch.optim.SGD, lr=0.1),
        generator=Generator().manual_seed(0),
    )
    ours, mean = deepcopy(run.model), deepcopy(run.model)
    optimizer = torch.optim.SGD(ours.parameters(), lr=0.1)
    nobody = torch.zeros(settings.seats, dtype=torch.bool)
    state = ours.start(settings.seats)
    for had, (puzzles, solutions) in enumerate(batches):
        run.carry = run.carry._replace(halted=nobody) if had else run.carry
        if had:  # the same puzzles, gone on with
            puzzles, solutions = run.carry.puzzles, run.carry.solutions
        run.step()
        seats = (puzzles, solutions, torch.full((settings.seats,), had), nobody, state)
        state, leaves = scope["step"](ours, mean, optimizer, seats)
        for a, b in zip(ours.parameters(), run.model.parameters(), strict=True):
            torch.testing.assert_close(a, b)
        for a, b in zip(mean.parameters(), run.judged.parameters(), strict=True):
            torch.testing.assert_close(a, b)
        assert leaves.equal(ours(puzzles, state).halt > 9)  # as yet nobody is sure
    last = (*seats[:2], torch.full((settings.seats,), 7), nobody, state)
    assert scope["step"](ours, mean, optimizer, last)[1].all()


def test_the_checker_of_the_lesson_finds_twins_and_only_twins() -> None:
    cell = exercises.cells(LESSON)["meet-cell"].partition("boards = ")[0]
    scope = {"torch": torch}
    exec(cell, scope)
    board = torch.tensor([[1, 2, 0, 0, 1, 0, 0, 0, 2]])
    turned = board.view(3, 3).rot90().reshape(1, 9)
    mirrored = board.view(3, 3).mT.reshape(1, 9)
    other = torch.tensor([[1, 2, 0, 0, 1, 0, 0, 2, 0]])
    for test, share in ((turned, 1.0), (mirrored, 1.0), (other, 0.0)):
        assert scope["twins"](board, test, scope["key"]) == share
    grids = recipe.TASK.grids(3, Generator().manual_seed(0))
    names = torch.tensor([0, 2, 1, 3, 4, 5, 6])[grids]
    assert scope["twins"](grids, names, recipe.TASK.class_key) == 1


def test_reading_again_is_all_that_tells_the_control_from_the_deeper_network() -> None:
    """By hand: h ← layer(x + h) from nothing; the same weights, gone through once, without x."""
    again = recipe.rereading()[recipe.REREADING]
    model, once = again.model(2), recipe.baselines()[recipe.DEEP].model(2)
    assert isinstance(model, Rereading) and type(once) is Straight
    pairs = zip(model.state_dict().values(), once.state_dict().values(), strict=True)
    assert all(a.equal(b) for a, b in pairs)
    puzzles, _ = recipe.TASK.sample(3, Generator().manual_seed(1))
    x = model.embed(puzzles)
    h, straight = torch.zeros_like(x), x
    for layer in model.net:
        h, straight = layer(x + h), layer(straight)
    torch.testing.assert_close(model(puzzles).logits, model.decode(h))
    torch.testing.assert_close(once(puzzles).logits, once.decode(straight))
    assert recipe.operations(again) == recipe.operations(recipe.baselines()[recipe.DEEP])
    state = model(puzzles).state
    torch.testing.assert_close(model(puzzles, state).logits, model(puzzles).logits)


def test_sharing_weights_is_all_that_tells_the_other_control_from_that_one() -> None:
    """Four times the two layers by hand; and no more weights than the recursion has."""
    shares = recipe.sharing()[recipe.SHARING]
    model = shares.model(2)
    assert isinstance(model, Sharing)
    puzzles, _ = recipe.TASK.sample(3, Generator().manual_seed(1))
    x = model.embed(puzzles)
    h = torch.zeros_like(x)
    for layer in [*model.net] * 4:
        h = layer(x + h)
    torch.testing.assert_close(model(puzzles).logits, model.decode(h))
    again = recipe.rereading()[recipe.REREADING]
    assert recipe.operations(shares) == recipe.operations(again)
    assert shares.steps == again.steps and len(model.net) * 4 == again.config.layers
    assert recipe.parameters(shares.config) == recipe.parameters(recipe.LIVE.config)
