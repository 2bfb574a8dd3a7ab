"""What the cells of the lesson that a learner reads compute, held against the package."""

import math
import re
from typing import Any

import pytest
import torch
from torch import Generator, nn
from torch.nn import functional as F

from attn_notes.models.dialectical import DialecticalHead
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import Brackets
from book.lessons.dialectical import recipe
from book.site.dependencies import lesson_page
from tests import exercises

CELLS = exercises.cells(exercises.ROOT / lesson_page("dialectical"))


def run(*cells: str) -> dict[str, Any]:
    scope = {"math": math, "torch": torch, "nn": nn, "F": F}
    for cell in cells:
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
    ours = run("head", "rest")["Head"]()
    missing, _ = ours.load_state_dict(package.state_dict(), strict=False)
    assert not missing
    z = torch.randn(2, 7, recipe.MENDED.width, generator=Generator().manual_seed(1))
    torch.testing.assert_close(ours(z), package(z))


def test_the_line_with_the_bug_and_what_shows_it_fit_a_phone() -> None:
    """40 letters of code are what 390 pixels show."""
    quoted = re.findall(r"```python\n(.*?)```", CELLS["mask"], re.S)
    code = [CELLS["blackboard"], CELLS["where-code"], *quoted]
    assert len(quoted) == 1
    assert not [line for each in code for line in each.splitlines() if len(line) > 40]


@pytest.mark.slow
def test_one_string_in_two_thousand_is_cut_and_the_floor_hardly_moves() -> None:
    whole, cut = Brackets(), recipe.TASK
    assert round(1e5 * (whole.floor - cut.floor)) == 1
    x, _ = whole.sample(100_000, Generator().manual_seed(0))
    assert 1 / 3000 < ((x != brackets.PAD).sum(1) > cut.length).float().mean() < 1 / 1500
