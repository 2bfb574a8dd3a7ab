"""What the lesson's cells compute: its board by hand, its model and its loop as the package's."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Generator
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from book.lessons.deep_qkv import recipe
from book.site.dependencies import lesson_page
from tests import exercises

LESSON = exercises.ROOT / lesson_page("deep_qkv")
CELLS = exercises.cells(LESSON)


def ran(code: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"torch": torch, "F": F, "nn": torch.nn, "Generator": Generator}
    scope |= {"recipe": recipe, "Sorter": Sorter, "Config": Config, "sorting": sorting}
    exec(code, scope)
    return scope


@pytest.mark.parametrize("gradient", [1e-3, 10.0])
def test_a_step_of_adamw_whatever_the_gradient(gradient: float) -> None:
    """Base goes from 0.30 to 0.32, and a third of it from 0.100 to 0.107."""
    base = torch.nn.Parameter(torch.tensor([0.30]))
    base.grad = torch.tensor([-gradient])
    torch.optim.AdamW([base], lr=recipe.RATE["plain"], weight_decay=0).step()
    assert base.item() == pytest.approx(0.32, abs=1e-4)
    assert f"{base.item() / 3:.3f}" == "0.107"


def test_the_lessons_model_is_the_packages() -> None:
    """Run with other weights, off the start, where a LayerNorm is trivial."""
    model = Sorter(Config("gated"), generator := Generator().manual_seed(4))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    tokens = sorting.all_sequences()[:, :-1]
    forward = ran("\n".join((CELLS["model-cell"], CELLS["rest-cell"])))["forward"]
    ours = forward(dict(model.named_parameters()), tokens)
    assert_close(ours, model(tokens))


def test_the_lessons_loop_is_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short: the weights of `recipe.train_sorters` from the same seed."""
    short = replace(recipe.LIVE, steps=5, warmup=2)
    monkeypatch.setattr(recipe, "LIVE", short)
    loop = "from attn_notes.training.schedules import warmup_cosine\n"
    model = ran(loop + CELLS["loop-cell"])["model"]
    setting = replace(short, seeds=(1,), lr=recipe.RATE["plain"])
    ours = recipe.train_sorters(Config("plain"), setting).member(0)
    for name, weight in model.named_parameters():
        assert_close(weight, ours.get_parameter(name), rtol=1e-3, atol=1e-5)


def test_the_row_of_small_numbers_by_hand() -> None:
    small, weights = torch.tensor([[0.05, 0, -0.05], [0.3, -0.6, 0.9]])
    shares = small.softmax(0)
    for label, row, digits in (
        ("their shares", shares, 3),
        ("**times their shares**", weights * shares, 3),
        ("**divided by three**", weights / 3, 3),
    ):
        mark = "**" * label.startswith("**")
        cells = (f"{mark}{x:.{digits}f}{mark}".replace("-", "−") for x in row.tolist())
        assert " | ".join(("", label, *cells, "")).strip() in CELLS["idea"]


def test_the_lessons_labels_leave_out_what_nobody_can_know() -> None:
    given = "x, y = (sorting.all_sequences()[:, part] for part in (slice(-1), slice(1, None)))\n"
    known = ran(given + CELLS["meet-cell"].partition("for name, labels")[0])["known"]
    model = Sorter(Config("plain"), Generator().manual_seed(0))
    logits = model(sorting.all_sequences()[:, :-1])
    loss = F.cross_entropy(logits.mT, known, ignore_index=-100)
    whole = sorting.loss(model, sorting.population(), predictions=sorting.KNOWABLE)
    assert_close(loss, whole)
