import math
from copy import deepcopy
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.chapters.trm import supervision
from attn_notes.chapters.trm.supervision import (
    Carry,
    Seen,
    Settings,
    Supervision,
    answer_loss,
    halting_loss,
    halts,
    seat,
    stablemax_cross_entropy,
    step_loss,
    train,
    vacant,
)
from attn_notes.models.trm import TRM, Config, State
from attn_notes.tasks.sudoku import Batch, Sudoku

TASK = Sudoku(2, 2)
CONFIG = Config(
    vocabulary=5, cells=16, width=12, layers=1, multiple=4, latent_steps=1, cycles=2, norm="tokens"
)
SETTINGS = Settings(seats=7, steps=3, loss="softmax", halt_early=False, ema=None)


def draw(n: int, generator: Generator) -> Batch:
    return TASK.sample(n, generator)


def begin(
    settings: Settings = SETTINGS, *, dtype: torch.dtype = torch.float32, **change
) -> Supervision:
    model = TRM(CONFIG, Generator().manual_seed(2)).to(dtype)
    given = {
        "optimizer": partial(torch.optim.SGD, lr=0.1),
        "generator": Generator().manual_seed(3),
        **change,
    }
    return Supervision(model, given.pop("draw", draw), settings, **given)


def weights(model: TRM) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_stablemax_by_hand() -> None:
    """Of 1, −1 and 0 the weights are 2, 1/2 and 1."""
    logits = torch.tensor([1.0, -1.0, 0.0], dtype=torch.float64).expand(3, 3)
    found = stablemax_cross_entropy(logits, torch.arange(3))
    expected = [-math.log(weight / 3.5) for weight in (2, 0.5, 1)]
    assert found.tolist() == pytest.approx(expected)


def test_stablemax_at_equal_logits_is_even_and_grows_as_a_logarithm() -> None:
    """At a logit of 1 the branch that is not taken divides by zero, and the gradient is finite."""
    even = stablemax_cross_entropy(torch.full((1, 6), 0.7), torch.tensor([4]))
    assert even.item() == pytest.approx(math.log(6))
    far = stablemax_cross_entropy(torch.tensor([[1e6, -1e6]]).double(), torch.tensor([1]))
    assert far.item() == pytest.approx(math.log((1e6 + 1) * (1e6 + 1) + 1))
    for logits in ([1e6, -1e6], [1.0, 0.0, -1.0]):
        x = torch.tensor([logits], dtype=torch.float64, requires_grad=True)
        stablemax_cross_entropy(x, torch.tensor([1])).sum().backward()
        assert x.grad is not None and x.grad.isfinite().all()


def test_stablemax_gradient() -> None:
    logits = torch.randn(4, 5, generator=Generator().manual_seed(0)).double().requires_grad_()
    targets = torch.tensor([0, 3, 4, 1])
    assert torch.autograd.gradcheck(lambda x: stablemax_cross_entropy(x, targets), logits)


def test_losses_are_means_over_cells_and_puzzles() -> None:
    generator = Generator().manual_seed(0)
    logits, solutions = (
        torch.randn(3, 7, 5, generator=generator),
        torch.randint(5, (3, 7), generator=generator),
    )
    each = [
        F.cross_entropy(a, b)
        for a, b in zip(logits.flatten(0, 1), solutions.flatten(), strict=True)
    ]
    assert_close(answer_loss(logits, solutions, "softmax"), torch.stack(each).mean())
    each = stablemax_cross_entropy(logits.double(), solutions)
    assert_close(answer_loss(logits, solutions, "stablemax"), each.mean().float())


def test_halting_loss_by_hand() -> None:
    halt = torch.tensor([0.0, 2.0, -1.0])
    right = torch.tensor([True, False, False])
    expected = (math.log(2) + math.log(1 + math.exp(2)) + math.log(1 + math.exp(-1))) / 3
    assert halting_loss(halt, right).item() == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["softmax", "stablemax"])
def test_a_pages_step_is_a_runs_step(loss: str) -> None:
    run = begin(replace(SETTINGS, loss=loss, halt_weight=0.3))
    model = deepcopy(run.model)
    start = model.start(SETTINGS.seats)
    seen = run.step()
    batch = {"puzzles": run.carry.puzzles, "solutions": run.carry.solutions}
    found, left = step_loss(model, batch | {"y": start.y, "z": start.z}, run.settings)
    assert_close(found, seen.answer + 0.3 * seen.halting)
    assert_close((left["y"], left["z"]), tuple(run.carry.state))
    assert left["halt"].shape == (SETTINGS.seats,)


def test_only_who_leaves_is_replaced() -> None:
    model = begin().model
    state = State(*(torch.randn(4, 17, 12, generator=Generator().manual_seed(s)) for s in (0, 1)))
    old, new = torch.full((4, 16), 1), torch.full((4, 16), 2)
    halted = torch.tensor([True, False, False, True])
    carry = seat(
        Carry(old, old + 2, state, torch.tensor([3, 1, 2, 1]), halted),
        (new, new + 2),
        model.start(4),
    )
    assert carry.puzzles[:, 0].tolist() == [2, 1, 1, 2]
    assert carry.solutions[:, 0].tolist() == [4, 3, 3, 4]
    assert carry.steps.tolist() == [0, 1, 2, 0]
    assert not carry.halted.any()
    for now, before, start in zip(carry.state, state, model.start(4), strict=True):
        assert torch.equal(now[[1, 2]], before[[1, 2]])
        assert torch.equal(now[[0, 3]], start[[0, 3]])


def test_without_halting_early_a_puzzle_leaves_after_its_last_step() -> None:
    steps = torch.arange(1, 5)
    left = halts(torch.full((4,), 9.0), steps, replace(SETTINGS, steps=4), Generator())
    assert left.tolist() == [False, False, False, True]


def test_halting_early_follows_q_and_exploration_keeps_a_share() -> None:
    n = 40_000
    early = Settings(steps=5, halt_early=True, exploration=0.0)
    q = torch.tensor([0.1, -0.1]).repeat(n // 2)
    ones = torch.ones(n, dtype=torch.long)
    assert torch.equal(halts(q, ones, early, Generator().manual_seed(0)), q > 0)
    assert halts(q, 5 * ones, early, Generator()).all()

    kept = replace(early, exploration=0.3)
    for step, beyond in ((1, 1.0), (2, 3 / 4), (4, 1 / 4)):  # least is even on 2, 3, 4, 5
        stays = ~halts(q.abs(), step * ones, kept, Generator().manual_seed(step))
        p = 0.3 * beyond
        assert abs(stays.double().mean().item() - p) < 5 * math.sqrt(p * (1 - p) / n)


def by_hand(run: Supervision, steps: int) -> TRM:
    """Deep supervision as the paper writes it: all puzzles together, one after the other."""
    model, generator = begin().model, Generator().manual_seed(3)
    model.to(next(run.model.parameters()).dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    while steps:
        x, y = draw(run.settings.seats, generator)
        state = None
        for done in range(run.settings.steps):
            state, logits, halt = model(x, state)
            right = (logits.argmax(-1) == y).all(-1)
            loss = F.cross_entropy(logits.mT, y)
            loss = loss + run.settings.halt_weight * F.binary_cross_entropy_with_logits(
                halt, right.to(halt.dtype)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if done < run.settings.steps - 1:
                draw(run.settings.seats, generator)  # drawn for seats of which none is free
            steps -= 1
    return model


@pytest.mark.parametrize("change", [{}, {"steps": 1}, {"halt_weight": 0.0}])
def test_a_run_equals_the_papers_loop(change: dict) -> None:
    """In double precision all the way, losses too."""
    run = begin(replace(SETTINGS, **change), dtype=torch.float64)
    for _ in range(6):
        run.step()
    assert_close(weights(run.model), weights(by_hand(run, 6)), rtol=0, atol=1e-12)


def test_without_its_loss_the_q_head_does_not_move() -> None:
    for weight in (0.0, 0.5):
        run = begin(replace(SETTINGS, halt_weight=weight))
        run.step()
        assert (run.model.halt.bias.item() == -5) == (weight == 0)


def test_the_average_is_the_sum_in_closed_form() -> None:
    d, run = 0.8, begin(replace(SETTINGS, ema=0.8))
    seen = [weights(run.model)]
    for _ in range(5):
        run.step()
        seen.append(weights(run.model))
    expected = d**5 * seen[0] + sum((1 - d) * d ** (5 - i) * seen[i] for i in range(1, 6))
    assert_close(weights(run.judged), expected, rtol=1e-5, atol=1e-6)
    assert not torch.equal(weights(run.judged), weights(run.model))


def test_a_run_begins_with_vacant_seats_and_without_an_average_it_is_judged_itself() -> None:
    run = begin()
    assert run.judged is run.model and vacant(run.model, 5).halted.all()


def test_the_schedule_and_the_clip_bound_a_step() -> None:
    run = begin(replace(SETTINGS, clip=1e-3), schedule=lambda step: 0.5 if step == 0 else 0.0)
    before = weights(run.model)
    run.step()
    moved = (weights(run.model) - before).norm().item()
    assert moved == pytest.approx(0.1 * 0.5 * 1e-3, rel=1e-2)
    run.step()  # its rate is none
    assert (weights(run.model) - before).norm().item() == pytest.approx(moved, rel=1e-5)


def test_the_mean_of_two_halves_is_the_step_of_the_whole() -> None:
    """What lets processes share a batch: gradients of equal parts average to that of all."""
    batch = draw(8, Generator().manual_seed(5))

    def gradient(part: slice) -> Tensor:
        run = begin(
            replace(SETTINGS, seats=len(batch[0][part])),
            draw=lambda n, generator: (batch[0][part], batch[1][part]),
            optimizer=partial(torch.optim.SGD, lr=1.0),
        )
        before = weights(run.model)
        run.step()
        return before - weights(run.model)

    halves = (gradient(slice(0, 4)) + gradient(slice(4, 8))) / 2
    assert_close(gradient(slice(0, 8)), halves, rtol=1e-4, atol=1e-6)


def test_mixed_precision_stays_near() -> None:
    """bfloat16 keeps eight bits: losses agree to a per cent, and so does each weight's gradient.

    Older torch has lost those of weights that were used without gradient before.
    """
    exact, rough = begin(), begin(autocast=torch.bfloat16)
    a, b = exact.step().answer, rough.step().answer
    assert a != b
    assert_close(a, b, rtol=1e-2, atol=0)
    for (name, p), q in zip(exact.model.named_parameters(), rough.model.parameters(), strict=True):
        assert (p.grad - q.grad).norm() < 0.05 * p.grad.norm(), name


def test_training_is_probed_at_the_steps_asked_for() -> None:
    run, watched = begin(), []
    history = train(
        run,
        5,
        probe=lambda model: {"norm": weights(model).norm()},
        probe_every=2,
        watch=lambda step, seen: watched.append(step),
    )
    assert history.steps.tolist() == watched == [0, 2, 4, 5]
    assert history.seen["norm"].shape == (4,)
    assert history.seen["norm"][-1] == weights(run.model).norm()
    assert history.seconds[0] == 0
    assert (history.seconds.diff() > 0).all()


def test_the_averaged_model_is_probed() -> None:
    run = begin(replace(SETTINGS, ema=0.5))
    history = train(run, 3, probe=lambda model: {"w": weights(model).clone()}, probe_every=5)
    assert history.seen["w"][-1].equal(weights(run.judged))
    assert not history.seen["w"][-1].equal(weights(run.model))


def test_the_time_of_probes_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that only the run moves: a step by a second, a probe by a hundred."""
    run, now = begin(), 0.0
    monkeypatch.setattr(supervision, "time", SimpleNamespace(perf_counter=lambda: now))
    step = run.step

    def slow(model: TRM) -> dict[str, Tensor]:
        nonlocal now
        now += 100
        return {}

    def second() -> Seen:
        nonlocal now
        now += 1
        return step()

    monkeypatch.setattr(run, "step", second)
    assert train(run, 2, probe=slow, probe_every=1).seconds.tolist() == [0, 1, 2]
    assert now == 302


@pytest.mark.slow
def test_a_network_learns_what_it_is_shown() -> None:
    """One puzzle, again and again: it ends solved, and the q head says so."""
    puzzle, solution = draw(1, Generator().manual_seed(6))
    many = puzzle.expand(7, -1), solution.expand(7, -1)
    run = begin(
        Settings(seats=7, steps=3, ema=0.5),
        draw=lambda n, generator: many,
        optimizer=partial(torch.optim.AdamW, lr=2e-2),
    )
    for _ in range(150):
        seen = run.step()
    assert seen.solved == 1
    logits, halt = run.judged.trace(puzzle, 2)
    assert torch.equal(logits[-1].argmax(-1), solution)
    assert halt[-1].item() > 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"loss": "hinge"}, "softmax, stablemax"),
        *(({name: 0}, "no training") for name in ("seats", "steps")),
        *(({"exploration": x}, "shares") for x in (1.5, math.nan)),
        *(({"ema": x}, "shares") for x in (1.0, -0.5, math.nan)),
        *(({"halt_weight": x}, "halt_weight is 0 or more") for x in (-1.0, math.nan)),
        *(({"clip": x}, "clip above 0") for x in (-1.0, 0.0, math.nan)),
    ],
)
def test_settings_that_cannot_be_are_refused(change: dict, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Settings(**change)
