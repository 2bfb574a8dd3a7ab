"""What the lesson's cells compute: its board by hand, its model and its loop as the package's."""

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Generator
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.chapters.deep_qkv import recipe
from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting

from ... import exercises

LESSON = exercises.ROOT / "book" / "deep_qkv.ipynb"
CELLS = exercises.cells(LESSON)


def ran(code: str) -> dict[str, Any]:
    """The names that there are after some code of the lesson, and what its setup imports."""
    scope: dict[str, Any] = {"torch": torch, "F": F, "nn": torch.nn, "Generator": Generator}
    scope |= {"recipe": recipe, "Sorter": Sorter, "Config": Config, "sorting": sorting}
    exec(code, scope)
    return scope


@pytest.mark.parametrize(("letter", "query"), [("a", ""), ("b", "-2.0, -2.0"), ("c", "-1.0, 3.0")])
def test_the_blackboards_query_finds_what_it_asks_for(letter: str, query: str) -> None:
    """The mixture is near its value, and far from every other and from their mean."""
    asked = re.findall(r"\[([-0-9., ]+)\]", CELLS["blackboard"].partition("query")[2])
    assert letter != "b" or query == asked[1]  # the page names this one
    found = ran(CELLS["blackboard"].replace(asked[0], query or asked[0]))
    values = torch.tensor(found["values"])
    near = (values - found["mixture"]).norm(dim=1)
    even = (values.mean(0) - found["mixture"]).norm()
    at = "cab".index(letter)
    assert near.argmin() == found["scores"].argmax() == at
    assert near[at] < min(0.2 * even, *(0.2 * near[i] for i in range(3) if i != at))


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
    ours = ran(CELLS["model-cell"])["forward"](dict(model.named_parameters()), tokens)
    assert_close(ours, model(tokens))


def test_the_lessons_loop_is_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short: the losses of `recipe.train_sorters` from the same seed."""
    short = replace(recipe.LIVE, steps=5, warmup=2)
    monkeypatch.setattr(recipe, "LIVE", short)
    loop = "from attn_notes.training.schedules import warmup_cosine\n"
    losses = ran(loop + CELLS["loop-cell"].rpartition("\n")[0])["losses"]
    setting = replace(short, seeds=(1,), lr=recipe.RATE["plain"], probe_every=1)
    ours = recipe.train_sorters(Config("plain"), setting).history["losses"][:-1, 0].mean(-1)
    assert_close(torch.tensor(losses), ours, rtol=1e-4, atol=1e-5)


def test_the_lessons_labels_leave_the_prompt_out() -> None:
    """As `sorting.loss` on the answer does."""
    given = "x, y = (sorting.all_sequences()[:, part] for part in (slice(-1), slice(1, None)))\n"
    answer = ran(given + CELLS["meet-cell"].partition("for name, labels")[0])["answer"]
    model = Sorter(Config("plain"), Generator().manual_seed(0))
    logits = model(sorting.all_sequences()[:, :-1])
    loss = F.cross_entropy(logits.mT, answer, ignore_index=-100)
    whole = sorting.loss(model, sorting.population(), predictions=sorting.OUTPUTS)
    assert_close(loss, whole)
