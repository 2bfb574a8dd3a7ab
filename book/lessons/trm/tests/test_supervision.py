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

from attn_notes.models.trm import TRM, Config, State
from attn_notes.tasks.sudoku import Batch, Sudoku
from book.lessons.trm import supervision
from book.lessons.trm.supervision import Carry, Settings, Supervision, halts

CONFIG = Config(
    vocabulary=5, cells=16, width=12, layers=1, multiple=4, latent_steps=1, cycles=2, norm="tokens"
)
SETTINGS = Settings(seats=7, steps=3, loss="softmax", halt_early=False, ema=None)
SGD = partial(torch.optim.SGD, lr=0.1)


def draw(n: int, generator: Generator) -> Batch:
    return Sudoku(2, 2).sample(n, generator)


def network() -> TRM:
    return TRM(CONFIG, Generator().manual_seed(2))


def begin(settings: Settings = SETTINGS, model: TRM | None = None, **more) -> Supervision:
    more |= {"optimizer": SGD, "generator": Generator().manual_seed(3)}
    return Supervision(model or network(), draw, settings, **more)


def weights(model: TRM) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def stablemax(*logits: float, target: int) -> tuple[float, Tensor]:
    x = torch.tensor([logits], dtype=torch.float64, requires_grad=True)
    loss = supervision.stablemax_cross_entropy(x, torch.tensor([target])).sum()
    return loss.item(), *torch.autograd.grad(loss, x)


def test_stablemax_by_hand():
    """At a logit of 1 the branch that is not taken divides by zero, and the gradient is finite."""
    for target, weight in enumerate((2, 0.5, 1)):
        loss, gradient = stablemax(1, -1, 0, target=target)
        assert loss == pytest.approx(-math.log(weight / 3.5))
        assert gradient.isfinite().all()
    assert stablemax(*[0.7] * 6, target=4)[0] == pytest.approx(math.log(6))
    loss, gradient = stablemax(1e6, -1e6, target=1)
    assert loss == pytest.approx(math.log((1e6 + 1) ** 2 + 1)) and gradient.isfinite().all()


@pytest.mark.parametrize("loss", ["softmax", "stablemax"])
def test_a_pages_step_is_a_runs_step(loss):
    run = begin(replace(SETTINGS, loss=loss, halt_weight=0.3))
    model, seen = deepcopy(run.model), run.step()
    batch = {"puzzles": run.carry.puzzles, "solutions": run.carry.solutions}
    batch |= model.start(SETTINGS.seats)._asdict()
    found, left = supervision.step_loss(model, batch, run.settings)
    assert_close(found, seen.answer + 0.3 * seen.halting)
    assert_close((left["y"], left["z"]), tuple(run.carry.state))
    assert left["halt"].shape == (SETTINGS.seats,)


def test_only_who_leaves_is_replaced():
    start = network().start(4)
    state = State(*(torch.randn(4, 17, 12, generator=Generator().manual_seed(s)) for s in (0, 1)))
    old, new = torch.full((4, 16), 1), torch.full((4, 16), 2)
    halted = torch.tensor([True, False, False, True])
    before = Carry(old, old + 2, state, torch.tensor([3, 1, 2, 1]), halted)
    carry = supervision.seat(before, (new, new + 2), start)
    assert carry.puzzles[:, 0].tolist() == [2, 1, 1, 2]
    assert carry.solutions[:, 0].tolist() == [4, 3, 3, 4]
    assert carry.steps.tolist() == [0, 1, 2, 0] and not carry.halted.any()
    for now, kept, fresh in zip(carry.state, state, start, strict=True):
        assert now[[1, 2]].equal(kept[[1, 2]]) and now[[0, 3]].equal(fresh[[0, 3]])


def test_halting_early_follows_q_and_exploration_keeps_a_share():
    n, early = 40_000, Settings(steps=5, halt_early=True, exploration=0.0)
    q, ones = torch.tensor([0.1, -0.1]).repeat(n // 2), torch.ones(n, dtype=torch.long)
    assert halts(q, ones, early, Generator().manual_seed(0)).equal(q > 0)
    assert halts(q, 5 * ones, early, Generator()).all()
    steps = torch.arange(1, 6)
    assert halts(q.abs()[:5], steps, replace(early, halt_early=False), Generator()).equal(steps > 4)

    kept = replace(early, exploration=0.3)
    for step, beyond in ((1, 1.0), (2, 3 / 4), (4, 1 / 4)):  # least is even on 2, 3, 4, 5
        stays = ~halts(q.abs(), step * ones, kept, Generator().manual_seed(step))
        p = 0.3 * beyond
        assert abs(stays.double().mean().item() - p) < 5 * math.sqrt(p * (1 - p) / n)


def by_hand(settings: Settings, steps: int) -> TRM:
    """Deep supervision as the paper writes it: all puzzles together, one after the other."""
    model, generator = network().double(), Generator().manual_seed(3)
    optimizer = SGD(model.parameters())
    while steps:
        x, y = draw(settings.seats, generator)
        state = None
        for done in range(settings.steps):
            state, logits, halt = model(x, state)
            right = (logits.argmax(-1) == y).all(-1)
            if settings.loss == "stablemax":
                logits = torch.where(logits < 0, 1 / (1 - logits), logits + 1).log()
            loss = F.cross_entropy(logits.mT, y)
            certain = F.binary_cross_entropy_with_logits(halt, right.to(halt.dtype))
            optimizer.zero_grad()
            (loss + settings.halt_weight * certain).backward()
            optimizer.step()
            if done < settings.steps - 1:
                draw(settings.seats, generator)  # drawn for seats of which none is free
            steps -= 1
    return model


CHANGES = {}, {"steps": 1}, {"halt_weight": 0.0}, {"loss": "stablemax", "halt_weight": 0.3}


@pytest.mark.in_short(2)
@pytest.mark.parametrize("change", CHANGES)
def test_a_run_equals_the_papers_loop(change):
    settings = replace(SETTINGS, **change)
    run = begin(settings, network().double())
    for _ in range(6):
        run.step()
    assert_close(weights(run.model), weights(by_hand(settings, 6)), rtol=0, atol=1e-12)


def test_the_average_is_the_sum_in_closed_form():
    run = begin(replace(SETTINGS, ema=0.8))
    expected = 0.8**5 * weights(run.model)
    for i in range(1, 6):
        run.step()
        expected += 0.2 * 0.8 ** (5 - i) * weights(run.model)
    assert_close(weights(run.judged), expected, rtol=1e-5, atol=1e-6)
    assert not weights(run.judged).equal(weights(run.model)) and begin().average is None


def test_the_schedule_and_the_clip_bound_a_step():
    run = begin(replace(SETTINGS, clip=1e-3), schedule=lambda step: 0.5 if step == 0 else 0.0)
    before, moved = weights(run.model), []
    for _ in "ab":
        run.step()
        moved.append((weights(run.model) - before).norm().item())
    assert moved[0] == pytest.approx(0.1 * 0.5 * 1e-3, rel=1e-2)
    assert moved[1] == pytest.approx(moved[0], rel=1e-5)  # its rate was none


def test_mixed_precision_stays_near():
    """bfloat16 keeps eight bits. Older torch lost gradients of what was used without before."""
    exact, rough = begin(), begin(autocast=torch.bfloat16)
    a, b = exact.step().answer, rough.step().answer
    assert a != b
    assert_close(a, b, rtol=1e-2, atol=0)
    for (name, p), q in zip(exact.model.named_parameters(), rough.model.parameters(), strict=True):
        assert (p.grad - q.grad).norm() < 0.05 * p.grad.norm(), name


@pytest.mark.parametrize("ema", [None, 0.5])
def test_what_is_judged_is_probed_off_the_clock(ema, monkeypatch):
    """On a clock that only the run moves: a step by a second, a probe by a hundred."""
    run, now, watched = begin(replace(SETTINGS, ema=ema)), 0.0, []
    monkeypatch.setattr(supervision, "time", SimpleNamespace(perf_counter=lambda: now))
    step = run.step

    def takes(seconds: int, done: object) -> object:
        nonlocal now
        now += seconds
        return done

    monkeypatch.setattr(run, "step", lambda: takes(1, step()))
    how = {"probe": lambda model: takes(100, {"w": weights(model)}), "probe_every": 2}
    seen = supervision.train(run, 5, **how, watch=lambda step, _: watched.append(step))
    assert seen.steps.tolist() == seen.seconds.tolist() == watched == [0, 2, 4, 5]
    assert now == 405 and seen.seen["w"].shape == (4, len(weights(run.model)))
    assert seen.seen["w"][-1].equal(weights(run.judged))
    assert seen.seen["w"][-1].equal(weights(run.model)) == (ema is None)


def test_settings_that_cannot_be_are_refused():
    for name, reason, *values in (
        ("loss", "softmax, stablemax", "hinge"),
        *(("seats", "no training", 0), ("steps", "no training", 0)),
        ("exploration", "shares", 1.5, math.nan),
        ("ema", "shares", 1.0, -0.5, math.nan),
        ("halt_weight", "halt_weight is 0 or more", -1.0, math.nan),
        ("clip", "clip above 0", -1.0, 0.0, math.nan),
    ):
        for value in values:
            with pytest.raises(ValueError, match=reason):
                Settings(**{name: value})
