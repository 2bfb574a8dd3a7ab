"""What the lesson's cells compute is the package's; what its widget takes, refuses, opens on."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Generator
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from book.lessons.deep_qkv import evidence, recipe
from book.lessons.deep_qkv.widget import ABCSorter
from book.site.dependencies import lesson_page
from tests import exercises

CELLS = exercises.cells(exercises.ROOT / lesson_page("deep_qkv"))


def ran(code: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"torch": torch, "F": F, "nn": torch.nn, "Generator": Generator}
    scope |= {"recipe": recipe, "Sorter": Sorter, "Config": Config, "sorting": sorting}
    exec(code, scope)
    return scope


def test_the_lessons_model_is_the_packages():
    model = Sorter(Config("gated"), generator := Generator().manual_seed(4))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    tokens = sorting.all_sequences()[:, :-1]
    forward = ran("\n".join((CELLS["model-cell"], CELLS["rest-cell"])))["forward"]
    assert_close(forward(dict(model.named_parameters()), tokens), model(tokens))


def test_the_lessons_loop_is_the_packages(monkeypatch):
    short = replace(recipe.LIVE, steps=5, warmup=2)
    monkeypatch.setattr(recipe, "LIVE", short)
    loop = "from attn_notes.training.schedules import warmup_cosine\n"
    model = ran(loop + CELLS["loop-cell"])["model"]
    setting = replace(short, seeds=(1,), lr=recipe.RATE["plain"])
    ours = recipe.train_sorters(Config("plain"), setting).member(0)
    for name, weight in model.named_parameters():
        assert_close(weight, ours.get_parameter(name), rtol=1e-3, atol=1e-5)


def test_the_lessons_labels_leave_out_what_nobody_can_know():
    given = "x, y = (sorting.all_sequences()[:, part] for part in (slice(-1), slice(1, None)))\n"
    known = ran(given + CELLS["meet-cell"].partition("for name, labels")[0])["known"]
    model = Sorter(Config("plain"), Generator().manual_seed(0))
    loss = F.cross_entropy(model(sorting.all_sequences()[:, :-1]).mT, known, ignore_index=-100)
    assert_close(loss, sorting.loss(model, sorting.population(), predictions=sorting.KNOWABLE))


def test_it_opens_on_what_was_asked_for_and_leaves_a_reader_to_choose():
    sorter = ABCSorter(variant="plain", seed=2, text=" BCA ")
    for variant, shown in (("gated", "gated"), ("plain", "plain"), ("strict", "plain")):
        sorter.load(variant, evidence.weights(variant), Config(variant))
        assert sorter.variant == shown
    before = sorter.runs["strict"]
    assert (sorter.seed, sorter.text) == (2, "bca")  # as the page takes it
    sorter.variant = "gated"
    sorter.load("plain", evidence.weights("plain"), Config("plain"))
    assert sorter.variant == "gated" and sorter.runs["strict"] is before


def test_a_variant_that_is_not_the_configs_is_refused():
    sorter, settings = ABCSorter(), {"rate": 0.1, "steps": 10, "warmup": 1}
    for variant, said in (
        ("deep", "variant must be one of gated, strict"),
        ("plain", "of a gated model, not of a plain"),
    ):
        with pytest.raises(ValueError, match=said):
            sorter.load(variant, {}, Config())
        with pytest.raises(ValueError, match=said):
            sorter.teach(variant, Config(), **settings)
    assert sorter.runs == sorter.lessons == {}
