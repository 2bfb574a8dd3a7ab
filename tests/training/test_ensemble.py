import math
from functools import partial

import pytest
import torch
from torch import Generator, nn
from torch.testing import assert_close

from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import prediction, sorting
from attn_notes.training.ensemble import ELEMENTWISE, train
from attn_notes.training.schedules import warmup_cosine
from book.kit import recorded

SEEDS = (2, 3, 5)


def sorters(seeds, **config):
    return [Sorter(Config(**config), Generator().manual_seed(s)).double() for s in seeds]


def run(seeds, **change):
    settings = {"steps": 30, "optimizer": partial(torch.optim.AdamW, lr=1e-2, fused=True)}
    settings |= {"schedule": warmup_cosine(200, 20), "clip": 1.0}
    settings |= {"probe": sorting.probe, "probe_every": 50}
    settings["generators"] = [Generator().manual_seed(s) for s in seeds]

    def data(generator):
        return sorting.sample_weights(128, generator).double()

    return train(sorters(seeds), sorting.loss, data, **{**settings, **change})


def step_by_step(model, make, factor, losses) -> None:
    optimizer = make(list(model.parameters()))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for of_batch in losses:

        def closure(of_batch=of_batch):
            optimizer.zero_grad()
            loss = of_batch()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            return loss

        optimizer.step(closure)
        schedule.step()


def own(crowd, i):
    """The parameters of one member."""
    return {name: p[i] for name, p in crowd.parameters.items()}


@pytest.mark.parametrize("steps", [30, pytest.param(200, marks=pytest.mark.long)])
def test_members_equal_an_ordinary_loop(steps):
    """Of batches drawn by a member's own generator; models that are given stay as they were."""
    crowd = run(SEEDS, steps=steps)
    for i, seed in enumerate(SEEDS):
        (model,), generator = sorters((seed,)), Generator().manual_seed(seed)
        batches = [sorting.sample(128, generator) for _ in range(steps)]

        def loss(x, model=model):
            return prediction.token_losses(model(x[:, :-1]), x).mean()

        make = partial(torch.optim.AdamW, lr=1e-2)
        step_by_step(model, make, warmup_cosine(200, 20), [partial(loss, x) for x in batches])
        assert_close(own(crowd, i), dict(model.named_parameters()), rtol=0, atol=1e-9)


USUAL = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "ASGD", "Adafactor")
OPTIMIZERS = {name: dict(lr=1e-2) for name in USUAL} | {
    **{"SGD": dict(lr=0.1, momentum=0.9), "LBFGS": dict(lr=1e-2, max_iter=3)},
    **{"Adadelta": dict(lr=1.0), "RMSprop": dict(lr=1e-3), "Rprop": dict(lr=1e-3)},
}
assert {kind.__name__ for kind in ELEMENTWISE} <= {*OPTIMIZERS}


class Curve(nn.Module):
    def __init__(self, seed) -> None:
        super().__init__()
        drawn = torch.randn(7, 3, generator=Generator().manual_seed(seed), dtype=torch.float64)
        self.inner, self.outer = nn.Parameter(drawn[:6]), nn.Parameter(drawn[6])

    def forward(self, x):
        return (x @ self.inner).tanh() @ self.outer


@pytest.mark.in_short(3)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_any_optimizer(name):
    x = torch.randn(8, 6, generator=Generator().manual_seed(1), dtype=torch.float64)

    def loss(model, x):
        return (model(x) - x.mean(-1)).square().mean()

    make, factor = partial(getattr(torch.optim, name), **OPTIMIZERS[name]), warmup_cosine(20, 5)
    # LBFGS divides by differences of gradients and blows rounding up, which differs by processor.
    steps, atol = (3, 1e-6) if name == "LBFGS" else (10, 1e-9)
    settings = {"steps": steps, "optimizer": make, "schedule": factor, "clip": 1.0}
    crowd = train([Curve(s) for s in SEEDS], loss, x, **settings)
    for i, seed in enumerate(SEEDS):
        alone, start = Curve(seed), Curve(seed)
        step_by_step(alone, make, factor, [partial(loss, alone, x)] * steps)
        for (part, p), q in zip(alone.named_parameters(), start.parameters(), strict=True):
            assert_close(crowd.parameters[part][i], p.detach(), rtol=0, atol=atol)
            assert (p - q).abs().max() > 1e-4


class Tied(nn.Module):
    """A model unlike the sorter: tied weights, buffers, one of them not saved, two inputs."""

    def __init__(self, seed) -> None:
        super().__init__()
        self.encode = nn.utils.skip_init(nn.Linear, 5, 5, bias=False)
        self.decode = nn.utils.skip_init(nn.Linear, 5, 5, bias=False)
        nn.init.orthogonal_(self.encode.weight, generator=Generator().manual_seed(seed))
        self.decode.weight = self.encode.weight
        self.register_buffer("scale", torch.tensor(float(seed)))
        self.register_buffer("shift", torch.tensor(float(seed)), persistent=False)

    def forward(self, x, y):
        return self.decode(self.encode(x)) * self.scale + self.shift - y


def test_other_models_and_nested_batches(generator):
    x, y = torch.randn(2, 7, 5, generator=generator)

    def loss(model, batch):
        return model(batch["x"], batch["y"]).square().mean()

    batch, make = {"x": x, "y": y}, partial(torch.optim.SGD, lr=1e-3)
    given = [Tied(2), Tied(3)]
    trained = train(given, loss, batch, steps=11, optimizer=make, clip=1.0)
    for i, model in enumerate(given):
        before = model(x, y)
        step_by_step(model, make, lambda step: 1.0, [partial(loss, model, batch)] * 11)
        assert_close(trained.member(i).encode.weight, model.encode.weight)
        assert_close(trained.member(i)(x, y), model(x, y))
        assert_close(before, Tied(i + 2)(x, y))  # what is given is not changed
    assert trained.history == {} and len(trained.steps) == 0


def test_run_keeps_what_was_probed():
    """And is told in a line, with its sizes and none of its numbers."""
    watched = []
    trained = run(SEEDS, steps=25, probe_every=10, watch=lambda *seen: watched.append(seen))
    assert trained.steps.tolist() == [step for step, _, _ in watched] == [0, 10, 20, 25]
    shapes = {name: values.shape for name, values in trained.history.items()}
    assert shapes == {"losses": (4, 3, 6), "solved": (4, 3)}
    assert torch.equal(watched[2][1]["losses"], trained.history["losses"][2])
    for models, at in ((sorters(SEEDS), 0), ([trained.member(i) for i in range(3)], -1)):
        probed = torch.stack([sorting.probe(model)["losses"] for model in models])
        assert_close(trained.history["losses"][at], probed.detach())
    assert repr(trained).startswith("Run(3 × Sorter of 480 parameters; 25 steps, ")
    assert "tensor" not in repr(trained) and repr(trained).count("[4, 3]") >= 1
    bare = train([Tied(2)], of_both, torch.ones(3, 5), steps=0, optimizer=torch.optim.SGD)
    assert repr(bare).endswith("probed: nothing)")


def of_both(model, x):
    return model(x, x).sum()


def test_warmup_cosine():
    factor = warmup_cosine(1000, 100)
    half = 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi / 2))
    for step, of in ((0, 0.01), (49, 0.5), (99, 1.0), (100, 1.0), (550, half), (1000, 0.1)):
        assert factor(step) == pytest.approx(of)


@pytest.mark.slow
def test_a_subclass_of_an_elementwise_optimizer_is_not_trusted():
    class Mean(torch.optim.SGD):
        """Steps every number by the mean of its tensor's gradient: mixes whatever it is given."""

        @torch.no_grad()
        def step(self, closure) -> None:
            closure()
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(group["lr"] * p.grad.mean())

    optimizer = partial(Mean, lr=0.1)
    crowd, alone = (run(s, optimizer=optimizer, steps=3, schedule=None) for s in (SEEDS, (3,)))
    assert_close(own(crowd, 1), own(alone, 0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adafactor])
def test_a_constraint_holds_after_every_step(optimizer):
    """Each member is held to what it makes of its own batch, by the model as just stepped."""

    def onto_the_ball(model, parameters, batch):
        radius = model(batch).detach().abs().mean()
        return {n: p * (radius / p.norm()).clamp(max=1) for n, p in parameters.items()}

    def square(model, x):
        return (model(x) - 1).square().mean()

    draw, make = partial(torch.randn, 5, 6, dtype=torch.float64), partial(optimizer, lr=0.3)
    crowd = train(
        [Curve(s) for s in SEEDS], square, lambda g: draw(generator=g), steps=6, optimizer=make,
        generators=[Generator().manual_seed(s) for s in SEEDS], constrain=onto_the_ball,
    )  # fmt: skip
    for i, seed in enumerate(SEEDS):
        model, generator, binds = Curve(seed), Generator().manual_seed(seed), False
        stepping, numbers = make(model.parameters()), dict(model.named_parameters())
        for _ in range(6):
            x = draw(generator=generator)
            stepping.zero_grad()
            square(model, x).backward()
            stepping.step()
            with torch.no_grad():
                for name, bounded in onto_the_ball(model, numbers, x).items():
                    binds |= not torch.allclose(numbers[name], bounded)
                    numbers[name].copy_(bounded)
        assert binds
        assert_close(own(crowd, i), numbers, rtol=0, atol=1e-9)


def probing(seed):
    """All of it frozen but for its last norm: what can be read from the rest as it is."""
    (model,) = sorters((seed,))
    model.requires_grad_(False).norm.requires_grad_(True)
    return model


@pytest.mark.parametrize("optimizer", [torch.optim.AdamW, torch.optim.LBFGS])
def test_what_is_frozen_stays_and_the_rest_trains_as_by_itself(optimizer):
    """With a weight decay, which would move whatever is stepped."""
    batch, adam = sorting.population().double(), optimizer is torch.optim.AdamW
    steps = 5 if adam else 3  # LBFGS blows rounding up with each
    kwargs = dict(weight_decay=0.3) if adam else dict(max_iter=3)
    optimizer = partial(optimizer, lr=1e-2, **kwargs)
    watched = []
    found = train(
        [probing(seed) for seed in SEEDS], sorting.loss, batch, steps=steps, optimizer=optimizer,
        schedule=warmup_cosine(200, 20), clip=1.0, probe=sorting.probe,
        watch=lambda step, seen, parameters: watched.append({*parameters}),
    )  # fmt: skip
    for i, seed in enumerate(SEEDS):
        alone, start = probing(seed), probing(seed)
        losses = [partial(sorting.loss, alone, batch)] * steps
        trained = [p for p in alone.parameters() if p.requires_grad]
        step_by_step(alone, lambda _, p=trained: optimizer(p), warmup_cosine(200, 20), losses)
        member = found.member(i)
        moved = set()
        for name, p in member.named_parameters():
            assert_close(p, alone.get_parameter(name), rtol=0, atol=1e-9)
            moved |= {name} if not torch.equal(p, start.get_parameter(name)) else set()
            assert p.requires_grad == start.get_parameter(name).requires_grad
        assert moved == {n for n, p in start.named_parameters() if p.requires_grad}
    assert watched == [{n for n, _ in probing(1).named_parameters()}] * 2


def test_runs_of_what_is_frozen_are_kept_apart(monkeypatch):
    """The same numbers, other parts of which are trained, are another run."""
    keys = []
    key = recorded.key
    monkeypatch.setenv("FAST", "1")
    monkeypatch.setattr(recorded, "key", lambda *how: keys.append(key(*how)) or keys[-1])
    settings = {"steps": 0, "optimizer": partial(torch.optim.SGD, lr=0.1)}
    for model in (*sorters((1,)), probing(1)):
        train([model], sorting.loss, sorting.population().double(), **settings)
    assert len(set(keys)) == 2
