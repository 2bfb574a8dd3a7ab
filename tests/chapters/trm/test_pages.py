"""What the chapter's two pages hold between them: the lesson's cells, numbers in sentences."""

from pathlib import Path

import nbformat
import torch
from torch import Generator

from attn_notes.chapters.trm import evidence, recipe
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
    assert f"A network with {count:,} weights" in text_of(LESSON, "title")
    deep = recipe.baselines()[recipe.DEEP]
    assert round(recipe.parameters(deep.config) / count) == 4
    assert f"the {deep.config.layers == 8 and 'eight'} layers of a look" in text_of(LESSON, "looks")
    assert recipe.rereading()[recipe.REREADING].config == deep.config
    said = text_of(LESSON, "puzzles")
    assert "719 such disguises" in said and "39,168 *classes*" in said and "49 classes" in said
    assert recipe.CLASSES == 49
    assert "36 cells and the summary place" in text_of(EVIDENCE, "model")
    assert "mixes the 37 tokens" in text_of(LESSON, "blackboard-text")
    assert recipe.LIVE.config.tokens == 37
    assert recipe.LIVE.config.width == 8**2  # the root in the model's cell
    assert OFFICIAL.norm == "tokens" and PUBLISHED.norm == "channels"


def test_the_blackboard_is_what_the_text_works() -> None:
    first, second = evidence.blackboard()
    said = text_of(LESSON, "blackboard")
    assert "½ (4 + 0 + 0) = 2" in said and "½ (4 + 0 + 2) = 3" in said and "½ (0 + 3) = 1.5" in said
    assert (first.thoughts, first.answer) == ([2, 3], 1.5)
    assert "goes on from $y$ = 1.5 and $z$ = 3" in text_of(LESSON, "blackboard-text")
    assert first.gradient == first.through and second.gradient < second.through


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
