"""What the lesson's own cells compute, derived another way: look, step, loop; and its drawing."""

from copy import deepcopy
from functools import partial

import pytest
import torch
from torch import Generator

from attn_notes.models.trm import TRM, Rereading, Straight
from book.lessons.trm import evidence, recipe, supervision
from book.lessons.trm.widget import recursion
from book.site.dependencies import lesson_page
from tests import exercises

LESSON = exercises.ROOT / lesson_page("trm")
CELLS = exercises.cells(LESSON)


def scope(cell: str) -> dict:
    found = {"torch": torch, "F": torch.nn.functional}
    exec(CELLS[cell], found)
    return found


def test_the_lessons_look_is_the_packages() -> None:
    generator = Generator().manual_seed(4)
    model = recipe.LIVE.model(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=generator))
    boards, _ = recipe.TASK.sample(5, generator)
    found = scope("rest-cell")
    exec(CELLS["model-cell"], found)
    look, weights = found["look"], dict(model.named_parameters())
    state = ours = model.start(5)
    for _ in range(3):
        state, digits, q = model(boards, state)
        *ours, our_digits, our_q = look(weights, boards, *ours)
        torch.testing.assert_close((our_digits, our_q), (digits, q), rtol=1e-4, atol=1e-4)
        assert not any(part.requires_grad for part in ours)
    our_digits.sum().backward()
    assert weights["token.weight"].grad is not None


def test_the_lessons_step_is_the_packages() -> None:
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


def test_the_lessons_loop_uses_one_layer_again_and_again() -> None:
    found = {"torch": torch, "nn": torch.nn}
    exec(CELLS["meet-cell"], found)
    layer, x = found["layer"].eval(), torch.randn(1, 36, 64, generator=Generator().manual_seed(2))
    h = torch.zeros_like(x)
    for _ in range(8):
        h = layer(x + h)
    torch.testing.assert_close(found["Looped"](layer, 8)(x), h)
    sizes = [sum(p.numel() for p in found[name].parameters()) for name in ("stack", "layer")]
    assert sizes[0] == 8 * sizes[1]


def test_the_drawing_has_what_the_network_reads_after_each_use() -> None:
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
