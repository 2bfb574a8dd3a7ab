"""The lesson's checks let every right answer pass; wrong.py has those that are not."""

import math
import random
from typing import Any

import pytest
import torch
from torch.func import stack_module_state

from attn_notes.analysis import statistics
from attn_notes.models.deep_qkv import Config
from attn_notes.training.ensemble import Run
from book.lessons.deep_qkv import checks, recipe
from book.site.dependencies import lesson_page
from tests import exercises

from .wrong import leak

CHAPTER = exercises.ROOT / lesson_page("deep_qkv")


def test_a_detector_that_draws_is_held_to_its_worst():
    scope: dict[str, Any] = {"random": random}
    exec(leak(token="(altered[:, i] + random.randrange(4)) % 4"), scope)  # which may be the same
    assert "Do you change every" in checks.future_leak(scope["future_leak"]).message


def test_other_right_answers_pass():
    saturated = (torch.arange(1.0, 7)[:, None], torch.tensor([[100.0, 0, 0]]))
    outcome = checks.rank_one_gate(saturated)
    assert outcome.passed and "saturated" in outcome.message
    assert checks.rank_one_gate([[[1.0]] * 6, [[1.0, 0.0, 0.0]]]).passed
    assert checks.floor(lambda a, n: torch.tensor((n - 1) * math.log(a) / (2 * n))).passed
    cut = lambda f, x, t: (f(x)[:, :t] - f(x[:, :t])).abs().max()  # noqa: E731
    assert checks.future_leak(lambda f, x: max(cut(f, x, t) for t in range(1, 6))).passed


LEFT_TO_TRY = [
    ({}, "What part of the loss"),  # what nobody can know, as good as it gets
    ({"even": 2.0}, "The loss is on the right part"),
    ({"steps": 600}, "0 of 16 seeds sort all 27 inputs; the worst sorts"),
    ({"steps": 601}, "you took 601 steps; 600 are allowed"),
    ({"made": 601}, "you took 601 steps"),  # whatever the run says
    ({"history": {}}, "pass probe=sorting.probe"),
    ({"first": 27}, "they sort before the first step"),
    ({"seeds": 3}, "train 16 seeds, not 3"),
    ({"apart": 0.0}, "start alike"),
    ({"variant": "gated"}, "should be plain"),
]


@pytest.mark.parametrize(("changed", "symptom"), LEFT_TO_TRY)
def test_rescue_tells_what_is_left_to_try(changed, symptom):
    given = dict(variant="plain", seeds=16, steps=2, even=1.0, apart=1.0, first=0) | changed
    seeds, sorters = given["seeds"], recipe.sorters(Config(given["variant"]), range(16))
    losses = torch.arange(seeds)[:, None] * given["apart"] + torch.zeros(2, seeds, 6)
    losses[-1, :, :2] = given["even"] * math.log(3)
    solved = torch.full((2, seeds), given["first"])
    history = given.get("history", {"losses": losses, "solved": solved})
    steps = torch.tensor([0, given["steps"]])
    run = Run(*stack_module_state(sorters), steps, history, 1.0, sorters[0])
    weights = torch.zeros(16 * sum(p.numel() for p in sorters[0].parameters()), requires_grad=True)
    weights.grad = torch.zeros_like(weights)

    def rescue() -> Run:
        optimizer = torch.optim.SGD([weights])
        for _ in range(given.get("made", 0)):
            optimizer.step()
        return run

    assert symptom in checks.rescue(rescue).message


@pytest.mark.long
def test_the_solution_that_trains_has_room_to_spare():
    run = exercises.after_setup(CHAPTER, exercises.solution(CHAPTER, "rescue"))["rescue"]()
    assert statistics.stable_from(run.history["solved"], run.steps, 27).max() <= 300
