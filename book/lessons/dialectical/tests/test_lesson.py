"""What the cells of the lesson that a learner reads compute, held against the package."""

import math
import re
from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes.analysis import leaks
from attn_notes.models.dialectical import DialecticalHead
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import Brackets
from book.lessons.dialectical import recipe
from book.site.dependencies import lesson_page
from tests import exercises

CELLS = exercises.cells(exercises.ROOT / lesson_page("dialectical"))


def run(cell: str) -> dict[str, Any]:
    """The names that a cell leaves; of the setup it needs only these."""
    scope = {"math": math, "torch": torch, "nn": nn, "F": F}
    exec(CELLS[cell], scope)
    return scope


def test_the_floor_of_a_beginning_by_hand_is_the_best_predictors() -> None:
    scope = run("floor-by-hand")
    start = brackets.encode("(")[None]
    best = recipe.TASK.ideal(start)[0, 0].exp()
    for character, p in scope["chance"].items():
        assert p == pytest.approx(best[brackets.encode(character.replace("␣", " "))].item())
    assert sum(scope["chance"].values()) == pytest.approx(1)
    assert scope["unknown"] == pytest.approx(recipe.TASK.entropies(start).item(), abs=1e-6)


def test_the_head_on_the_page_is_the_packages() -> None:
    """Not strict: the package's has biases of its two readings, which do nothing."""
    package = DialecticalHead(recipe.MENDED, Generator().manual_seed(0))
    ours = run("head")["Head"]()
    missing, _ = ours.load_state_dict(package.state_dict(), strict=False)
    assert not missing
    z = torch.randn(2, 7, recipe.MENDED.width, generator=Generator().manual_seed(1))
    torch.testing.assert_close(ours(z), package(z))


def test_in_double_precision_rounding_shrinks_and_a_leak_stays() -> None:
    """An honest model that divides by what it may not see rounds otherwise; a weak mask leaks."""
    torch.manual_seed(0)
    embed, x = nn.Embedding(7, 16), torch.randint(7, (4, 8))
    later = torch.ones(8, 8).triu(1) > 0

    def leak(floor: float) -> float:
        def model(x: Tensor) -> Tensor:
            h = embed(x)
            scores = h @ h.mT
            weights = (scores - scores.max()).exp() * later.logical_not() + floor * later
            return (weights @ h) / weights.sum(-1, keepdim=True)

        return leaks.future_leak(model, x, 7)

    once = leak(0.0)
    embed.double()
    assert leak(0.0) < 1e-9 < 1e-8 < once < 1e-5 and leak(1e-9) > 1e-9


def test_the_line_with_the_bug_and_the_detector_fit_a_phone() -> None:
    """40 letters of code are what 390 pixels show."""
    prose = CELLS["mask"] + CELLS["where-yours"]
    quoted = re.findall(r"```python\n(.*?)```", prose, re.S)
    code = [CELLS["blackboard"], CELLS["where-code"], *quoted]
    assert len(quoted) == 2
    assert not [line for each in code for line in each.splitlines() if len(line) > 40]


@pytest.mark.slow
def test_one_string_in_two_thousand_is_cut_and_the_floor_hardly_moves() -> None:
    whole, cut = Brackets(), recipe.TASK
    assert round(1e5 * (whole.floor - cut.floor)) == 1
    x, _ = whole.sample(100_000, Generator().manual_seed(0))
    assert 1 / 3000 < ((x != brackets.PAD).sum(1) > cut.length).float().mean() < 1 / 1500
