"""The lesson's checks let every right answer pass; wrong.py has those that are not."""

import math
import random
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Generator

from attn_notes.analysis import statistics
from attn_notes.chapters.deep_qkv import checks
from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import sorting
from attn_notes.training.ensemble import Run, train

from ... import exercises

CHAPTER = exercises.ROOT / "book" / "deep_qkv.ipynb"


def any_token(model, tokens):
    """A detector that draws the other token, which may be the same."""
    found = []
    for i in range(1, 6):
        altered = tokens.clone()
        altered[:, i] = (altered[:, i] + random.randrange(4)) % 4
        found.append((model(altered) - model(tokens))[:, :i].abs().max().item())
    return max(found)


def test_a_detector_that_draws_is_held_to_its_worst() -> None:
    assert "got away with it. Do you change every" in checks.future_leak(any_token).message


def test_other_right_answers_pass() -> None:
    saturated = (torch.arange(1.0, 7)[:, None], torch.tensor([[100.0, 0, 0]]))
    outcome = checks.rank_one_gate(saturated)
    assert outcome.passed and "saturated" in outcome.message
    assert checks.rank_one_gate([[[1.0]] * 6, [[1.0, 0.0, 0.0]]]).passed
    as_tensor = checks.floor(lambda a, n: torch.tensor((n - 1) * math.log(a) / (2 * n)))
    assert as_tensor.passed

    def without_the_future(model, tokens):
        cut = [(model(tokens)[:, :t] - model(tokens[:, :t])).abs().max() for t in range(1, 6)]
        return max(cut)

    assert checks.future_leak(without_the_future).passed


@pytest.mark.slow
def test_rescue_tells_what_is_left_to_try() -> None:
    def trained(variant: str = "plain") -> Run:
        models = [Sorter(Config(variant), Generator().manual_seed(seed)) for seed in range(16)]
        optimizer = partial(torch.optim.AdamW, lr=1e-2)
        tried = {"steps": 2, "optimizer": optimizer, "probe": sorting.probe}
        return train(models, sorting.loss, sorting.population(), **tried)

    run = trained()
    losses = run.history["losses"].clone()
    losses[-1, :, :2] = 2 * math.log(3)
    learnt = losses.clone()
    learnt[-1, :, :2] = math.log(3)  # what nobody can know, as good as it gets

    def seen(losses: torch.Tensor) -> Run:
        solved = torch.zeros(losses.shape[:2], dtype=torch.long)
        return replace(run, history={"losses": losses, "solved": solved})

    for answer, symptom in (
        (lambda: seen(learnt), "What part of the loss"),
        (lambda: seen(losses), "The loss is on the right part"),
        (lambda: replace(run, steps=torch.tensor([0, 601])), "600 are allowed"),
        (lambda: replace(run, history={}), "pass probe=sorting.probe"),
        (lambda: seen(losses[:, :3]), "train 16 seeds, not 3"),
        (lambda: seen(losses[:, [3] * 16]), "start alike"),
        (lambda: trained("gated"), "should be plain"),
    ):
        assert symptom in checks.rescue(answer).message


@pytest.mark.long
def test_the_solution_that_trains_has_room_to_spare() -> None:
    """Rounding differs between processors; the printed solution must not hang on it."""
    run = exercises.after_setup(CHAPTER, exercises.solution(CHAPTER, "rescue"))["rescue"]()
    arrived = statistics.stable_from(run.history["solved"], run.steps, 27)
    assert arrived.max() <= 300
