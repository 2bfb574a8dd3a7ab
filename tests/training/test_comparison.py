from functools import partial

import pytest
import torch
from torch import Generator, nn
from torch.testing import assert_close

from attn_notes.training import comparison
from attn_notes.training.comparison import held_out, train_kinds
from attn_notes.training.ensemble import train
from attn_notes.training.schedules import warmup_cosine


class Line(nn.Module):
    """y = w · x."""

    def __init__(self, size, generator):
        super().__init__()
        self.w = nn.Parameter(torch.randn(size, generator=generator))

    def forward(self, x):
        return x[:, : len(self.w)] @ self.w


def sample(generator):
    return torch.randn(5, 3, generator=generator)


def loss(model, x):
    return (model(x) - 30 * x.sum(1)).square().mean()  # steep, so that the clip bites


KINDS = {"two": partial(Line, 2), "three": partial(Line, 3)}


@pytest.mark.slow
def test_every_kind_is_trained_as_if_alone():
    seen, kept = [], []
    probe = {"probe": lambda model: {"w": model(torch.eye(3))}, "probe_every": 2}
    rates = {"two": 0.1, "three": 0.02}
    runs = train_kinds(
        KINDS, loss, sample, seeds=2, steps=7, lr=rates, warmup=3,
        show=lambda kind, step, found: seen.append((kind, step)),
        watch=lambda kind, step, p: kept.append((kind, step, p["w"].clone())),
        **probe,
    )  # fmt: skip
    assert seen == [(kind, step) for kind in KINDS for step in (0, 2, 4, 6, 7)]
    assert [(kind, step) for kind, step, _ in kept] == seen
    for kind, rate in rates.items():
        assert_close([p for k, _, p in kept if k == kind][-1], runs[kind].parameters["w"])
        models = [KINDS[kind](Generator().manual_seed(seed)) for seed in range(2)]
        draws = [Generator().manual_seed(20_000 + seed) for seed in range(2)]
        alone = train(
            models, loss, sample, generators=draws, steps=7, schedule=warmup_cosine(7, 3),
            optimizer=partial(torch.optim.AdamW, lr=rate), clip=1.0, **probe,
        )  # fmt: skip
        assert_close(runs[kind].parameters["w"], alone.parameters["w"])
        assert_close(runs[kind].history["w"], alone.history["w"])


def test_one_rate_serves_all_and_fifty_steps_warm_up(monkeypatch):
    given = {}
    recorded = lambda *a, **more: given.update(more) or train(*a, **more)  # noqa: E731
    monkeypatch.setattr(comparison, "train", recorded)
    train_kinds(KINDS, loss, sample, seeds=1, steps=60, lr=0.25)
    assert given["optimizer"]([torch.zeros(1)]).param_groups[0]["lr"] == 0.25
    assert given["schedule"](0) == 1 / 50 and given["schedule"](49) == 1
    assert given["clip"] == 1.0 and given["watch"] is None


def test_what_is_held_out_is_in_no_members_batches():
    held = sample(held_out())
    assert held.equal(sample(held_out()))
    batches = (Generator().manual_seed(comparison.BATCHES + seed) for seed in range(100))
    assert not any(sample(batch).equal(held) for batch in batches)


def test_kinds_may_differ_in_their_loss_and_share_optimiser_and_constraint():
    def halve(model, parameters, x):
        return {name: p / 2 for name, p in parameters.items()}

    losses = {"there": loss, "back": lambda m, x: (m(x) + 30 * x.sum(1)).square().mean()}
    shared = {"seeds": 2, "steps": 5, "lr": 0.1, "optimizer": torch.optim.SGD, "constrain": halve}
    runs = train_kinds(dict.fromkeys(losses, KINDS["two"]), losses, sample, **shared)
    for kind, its_loss in losses.items():
        alone = train_kinds({"alone": KINDS["two"]}, its_loss, sample, **shared)["alone"]
        assert_close(runs[kind].parameters["w"], alone.parameters["w"])
    assert not runs["there"].parameters["w"].equal(runs["back"].parameters["w"])
