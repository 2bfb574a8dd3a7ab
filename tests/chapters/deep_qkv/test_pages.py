"""What chapter 1's two pages hold between them: the lesson's cells, the evidence's exercise."""

import torch

from attn_notes.chapters.deep_qkv import claims, recipe
from attn_notes.models.deep_qkv import VARIANTS, Config, Sorter
from attn_notes.tasks import sorting

from ... import exercises

LESSON = exercises.ROOT / "book" / "deep_qkv.ipynb"
EVIDENCE = exercises.ROOT / "book" / "evidence" / "deep_qkv.ipynb"


def test_the_exercise_of_the_evidence_page() -> None:
    stub = exercises.outcome(EVIDENCE, "rank")
    assert not stub.passed and "there is no answer yet" in repr(stub)
    assert exercises.outcome(EVIDENCE, "rank", exercises.solution(EVIDENCE, "rank")).passed


def test_the_lessons_model_is_the_packages() -> None:
    """Its cell, run with other weights, off the start, where a LayerNorm is trivial."""
    scope = exercises.after_setup(LESSON, exercises.cells(LESSON)["model-cell"])
    generator = torch.Generator().manual_seed(4)
    model = Sorter(Config("gated"), generator)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.5 * torch.randn(p.shape, generator=generator))
    tokens = sorting.all_sequences()[:, :-1]
    ours = scope["forward"](dict(model.named_parameters()), tokens)
    torch.testing.assert_close(ours, model(tokens))


def test_the_lessons_loop_is_the_packages() -> None:
    """Its cell, cut short: the losses of `recipe.train_sorters` from the same seed."""
    cells = exercises.cells(LESSON)
    steps = "STEPS = 5"
    loop = cells["loop-cell"].replace("STEPS = 1000", steps).rpartition("\n")[0]
    assert steps in loop
    tokens = "tokens = sorting.all_sequences()\n"
    losses = exercises.after_setup(LESSON, tokens + loop)["torch_losses"]
    setting = recipe.Setting(
        (1,), steps=5, lr=recipe.RATE["plain"], warmup=50, batch=None, probe_every=1
    )
    run = recipe.train_sorters(Config("plain"), setting)
    ours = run.history["losses"][:-1, 0].mean(-1)
    torch.testing.assert_close(torch.tensor(losses), ours, rtol=1e-4, atol=1e-5)


def test_the_lessons_labels_leave_the_prompt_out() -> None:
    """As `sorting.loss` on the answer does."""
    cell = exercises.cells(LESSON)["meet-cell"]
    before = cell.partition("for name, labels")[0]
    scope = exercises.after_setup(LESSON, "tokens = sorting.all_sequences()\n" + before)
    counted = scope["answer"] != -100
    assert counted[:, sorting.OUTPUTS].all() and counted.sum() == 27 * 3
    model = Sorter(Config("plain"), torch.Generator().manual_seed(0))
    logits = model(sorting.all_sequences()[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.mT, scope["answer"], ignore_index=-100)
    expected = sorting.loss(model, sorting.population(), predictions=sorting.OUTPUTS)
    torch.testing.assert_close(loss, expected)


def test_the_kinds() -> None:
    """The lesson trains four of those that are recorded; all five weights have all six."""
    assert set(claims.LESSON) <= set(recipe.KINDS) == set(recipe.RATE)
    assert {name for name, kind in recipe.KINDS.items() if kind.part == "all"} == set(VARIANTS)
    parts = {name: kind.predictions for name, kind in recipe.KINDS.items()}
    assert parts["plain, knowable"] == sorting.KNOWABLE != parts["plain, answer"]
    assert parts["gated, answer"] == sorting.OUTPUTS and parts["gated"] == sorting.ALL
