"""What the cells of the lesson that a learner reads compute, held against the package."""

import math
import re
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes.analysis import leaks
from attn_notes.chapters.dialectical import figures, measure, recipe
from attn_notes.models.dialectical import DialecticalHead
from attn_notes.tasks import brackets

from ... import exercises

LESSON = exercises.ROOT / "book" / "dialectical.ipynb"


def run(cell: str) -> tuple[dict[str, Any], str]:
    """The names that a cell leaves, and what it prints; of the setup it needs only these."""
    scope = {"math": math, "torch": torch, "nn": nn, "F": F, "leaks": leaks}
    printed = StringIO()
    with redirect_stdout(printed):
        exec(exercises.cells(LESSON)[cell], scope)
    return scope, printed.getvalue()


def test_the_floor_of_a_beginning_by_hand_is_the_best_predictors() -> None:
    scope, printed = run("floor-by-hand")
    start = brackets.encode("(")[None]
    best = recipe.TASK.ideal(start)[0, 0].exp()
    for character, p in scope["chance"].items():
        assert p == pytest.approx(best[brackets.encode(character.replace("␣", " "))].item())
    assert sum(scope["chance"].values()) == pytest.approx(1)
    assert scope["unknown"] == pytest.approx(recipe.TASK.entropies(start).item(), abs=1e-6)
    assert printed.endswith(f"unknown: {scope['unknown']:.2f} nats\n")


def test_it_is_the_first_bar_of_the_figure() -> None:
    text = re.fullmatch(r'figures\.unknown\("(.*)"\)', exercises.cells(LESSON)["floor-figure"])
    assert text is not None
    (ax,) = figures.unknown(text[1]).fig.axes
    assert ax.patches[0].get_height() == pytest.approx(run("floor-by-hand")[0]["unknown"])


def test_the_blackboard_shows_a_third_each() -> None:
    scope, _ = run("blackboard")
    assert scope["total"].isnan().all()
    assert scope["guarded"].softmax(0).tolist() == pytest.approx([1 / 3] * 3)
    assert scope["right"].softmax(0).tolist() == [1, 0, 0]


def test_the_head_on_the_page_is_the_packages() -> None:
    """Not strict: the package's has biases of its two readings, which do nothing."""
    package = DialecticalHead(recipe.MENDED, Generator().manual_seed(0))
    ours = run("head")[0]["Head"]()
    missing, _ = ours.load_state_dict(package.state_dict(), strict=False)
    assert not missing
    z = torch.randn(2, 7, recipe.MENDED.width, generator=Generator().manual_seed(1))
    torch.testing.assert_close(ours(z), package(z))


def test_torchs_layer_reads_ahead_unless_it_is_told_not_to() -> None:
    scope, printed = run("where-code")
    assert re.fullmatch(r"forgotten \d\.\d\d\nmasked 0\.00\n", printed)
    assert leaks.future_leak(scope["forgotten"], scope["x"], 7) > 0.1
    assert leaks.future_leak(scope["masked"], scope["x"], 7) == 0


def test_in_double_precision_rounding_shrinks_and_a_leak_stays() -> None:
    """An honest model that divides by what it may not see rounds otherwise; a weak mask leaks."""
    torch.manual_seed(0)
    embed = nn.Embedding(7, 16)
    x = torch.randint(7, (4, 8))

    def attend(floor: float) -> Any:
        def model(x: Tensor) -> Tensor:
            h = embed(x)
            scores = h @ h.mT
            later = torch.ones(8, 8).triu(1) > 0
            weights = (scores - scores.max()).exp() * later.logical_not() + floor * later
            return (weights @ h) / weights.sum(-1, keepdim=True)

        return model

    honest, leaky = attend(0.0), attend(1e-9)
    once = leaks.future_leak(honest, x, 7)
    embed.double()
    assert leaks.future_leak(honest, x, 7) < 1e-9 < 1e-8 < once < 1e-5
    assert leaks.future_leak(leaky, x, 7) > 1e-9


def test_the_line_with_the_bug_and_the_detector_fit_a_phone() -> None:
    """40 letters of code are what 390 pixels show."""
    cells = exercises.cells(LESSON)
    quoted = [
        block
        for name in ("mask", "where-yours")
        for block in re.findall(r"```python\n(.*?)```", cells[name], re.S)
    ]
    assert len(quoted) == 2
    code = "\n".join([cells["blackboard"], cells["where-code"], *quoted])
    assert not [line for line in code.splitlines() if len(line) > 40]


def test_what_is_seen_while_it_trains_is_one_line() -> None:
    lines: list[str] = []
    measure.said(lines.append)("mask mended", 50, {"excess": torch.tensor([0.1, 0.2])})
    assert lines == ["mask mended, step 50: +0.150 nats from the floor"]
