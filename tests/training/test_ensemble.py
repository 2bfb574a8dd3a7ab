import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.testing import assert_close

from attn_notes import recall
from attn_notes.models.deep_qkv import Config, Sorter
from attn_notes.tasks import prediction, sorting
from attn_notes.training.ensemble import ELEMENTWISE, Run, train
from attn_notes.training.schedules import warmup_cosine

SEEDS = (2, 3, 5)


def sorters(seeds: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[Sorter]:
    return [Sorter(Config(), Generator().manual_seed(s)).to(dtype) for s in seeds]


def run(seeds: tuple[int, ...], **change: object) -> Run:
    settings = {
        "steps": 30,
        "optimizer": partial(torch.optim.AdamW, lr=1e-2, fused=True),
        "generators": [Generator().manual_seed(s) for s in seeds],
        "schedule": warmup_cosine(200, 20),
        "clip": 1.0,
        "probe": sorting.probe,
        "probe_every": 50,
    }

    def data(generator: Generator) -> Tensor:
        return sorting.sample_weights(128, generator).double()

    return train(sorters(seeds), sorting.loss, data, **{**settings, **change})


def plain_loop(seed: int, make_optimizer: Callable, steps: int) -> Sorter:
    """The same training as `run`, one model, written the ordinary way."""
    model, generator = sorters((seed,))[0], Generator().manual_seed(seed)
    batches = [sorting.sample(128, generator) for _ in range(steps)]

    def loss(x: Tensor) -> Tensor:
        return prediction.token_losses(model(x[:, :-1]), x).mean()

    step_by_step(model, make_optimizer, warmup_cosine(200, 20), [partial(loss, x) for x in batches])
    return model


def step_by_step(
    model: nn.Module, make: Callable, factor: Callable, losses: list[Callable[[], Tensor]]
) -> None:
    """A step for each loss, gradients clipped at 1."""
    optimizer = make(list(model.parameters()))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for of_batch in losses:

        def closure(of_batch: Callable[[], Tensor] = of_batch) -> Tensor:
            optimizer.zero_grad()
            loss = of_batch()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            return loss

        optimizer.step(closure)
        schedule.step()


@pytest.mark.parametrize("steps", [30, pytest.param(200, marks=pytest.mark.long)])
def test_members_equal_an_ordinary_loop(steps: int) -> None:
    crowd = run(SEEDS, steps=steps)
    for i, seed in enumerate(SEEDS):
        alone = plain_loop(seed, partial(torch.optim.AdamW, lr=1e-2), steps)
        for name, p in alone.named_parameters():
            assert_close(crowd.parameters[name][i], p.detach(), rtol=0, atol=1e-9)


def test_a_member_does_not_depend_on_its_company() -> None:
    crowd, alone = (run(seeds, steps=10, probe_every=5) for seeds in (SEEDS, (5,)))
    for name, p in alone.parameters.items():
        assert_close(crowd.parameters[name][2], p[0], rtol=0, atol=1e-9)
    assert_close(crowd.history["losses"][:, 2], alone.history["losses"][:, 0], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_in_float32_losses_agree_to_1e_4_after_100_steps() -> None:
    def losses(seeds: tuple[int, ...]) -> Tensor:
        members = sorters(seeds, torch.float32)
        optimizer = partial(torch.optim.AdamW, lr=1e-2, fused=True)
        trained = train(
            members, sorting.loss, sorting.population(), steps=100, optimizer=optimizer,
            probe=sorting.probe,
        )  # fmt: skip
        return trained.history["losses"][-1]

    assert_close(losses(SEEDS)[1], losses((3,))[0], rtol=0, atol=1e-4)


OPTIMIZERS = {
    "SGD": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    "Adam": partial(torch.optim.Adam, lr=1e-2),
    "AdamW": partial(torch.optim.AdamW, lr=1e-2),
    "Adamax": partial(torch.optim.Adamax, lr=1e-2),
    "NAdam": partial(torch.optim.NAdam, lr=1e-2),
    "RAdam": partial(torch.optim.RAdam, lr=1e-2),
    "Adagrad": partial(torch.optim.Adagrad, lr=1e-2),
    "Adadelta": partial(torch.optim.Adadelta, lr=1.0),
    "RMSprop": partial(torch.optim.RMSprop, lr=1e-3),
    "Rprop": partial(torch.optim.Rprop, lr=1e-3),
    "ASGD": partial(torch.optim.ASGD, lr=1e-2),
    "Adafactor": partial(torch.optim.Adafactor, lr=1e-2),
    "LBFGS": partial(torch.optim.LBFGS, lr=1e-2, max_iter=3),
}


class Curve(nn.Module):
    """Weights of one dimension and of two."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        drawn = torch.randn(7, 3, generator=Generator().manual_seed(seed), dtype=torch.float64)
        self.inner, self.outer = nn.Parameter(drawn[:6]), nn.Parameter(drawn[6])

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.inner).tanh() @ self.outer


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_any_optimizer(name: str) -> None:
    x = torch.randn(8, 6, generator=Generator().manual_seed(1), dtype=torch.float64)

    def loss(model: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        return (model(x) - x.mean(-1)).square().mean()

    make, factor = OPTIMIZERS[name], warmup_cosine(20, 5)
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


def test_every_elementwise_optimizer_is_tried() -> None:
    assert {kind.__name__ for kind in ELEMENTWISE} <= set(OPTIMIZERS)


class Tied(nn.Module):
    """A model unlike the sorter: tied weights, a buffer, two inputs."""

    scale: Tensor

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.encode = nn.utils.skip_init(nn.Linear, 5, 5, bias=False)
        self.decode = nn.utils.skip_init(nn.Linear, 5, 5, bias=False)
        nn.init.orthogonal_(self.encode.weight, generator=Generator().manual_seed(seed))
        self.decode.weight = self.encode.weight
        self.register_buffer("scale", torch.tensor(float(seed)))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.decode(self.encode(x)) * self.scale - y


def test_other_models_and_nested_batches(generator: Generator) -> None:
    x, y = torch.randn(2, 7, 5, generator=generator)

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        return model(batch["x"], batch["y"]).square().mean()

    optimizer = partial(torch.optim.SGD, lr=1e-3)
    trained = train(
        [Tied(2), Tied(3)], loss, {"x": x, "y": y}, steps=11, optimizer=optimizer, clip=0.5
    )
    for i, model in enumerate([Tied(2), Tied(3)]):
        ordinary = optimizer(model.parameters())
        for _ in range(11):
            ordinary.zero_grad()
            loss(model, {"x": x, "y": y}).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            ordinary.step()
        assert_close(trained.member(i).encode.weight, model.encode.weight)
        assert trained.member(i)(x, y).shape == (7, 5)
        assert_close(trained.member(i)(x, y), model(x, y))
    assert trained.history == {} and len(trained.steps) == 0


def test_run_keeps_what_was_probed() -> None:
    watched = []
    trained = run(SEEDS, steps=25, probe_every=10, watch=lambda *seen: watched.append(seen))
    assert trained.steps.tolist() == [0, 10, 20, 25]
    assert trained.history["solved"].shape == (4, 3)
    assert trained.history["losses"].shape == (4, 3, 6)
    assert [step for step, _, _ in watched] == [0, 10, 20, 25]
    assert torch.equal(watched[2][1]["losses"], trained.history["losses"][2])
    untrained = torch.stack([sorting.probe(m)["losses"] for m in sorters(SEEDS)])
    assert_close(trained.history["losses"][0], untrained.detach())
    end = torch.stack([sorting.probe(trained.member(i))["losses"] for i in range(3)])
    assert_close(trained.history["losses"][-1], end.detach())


def test_models_given_are_not_changed() -> None:
    members = sorters(SEEDS)
    before = [p.clone() for m in members for p in m.parameters()]
    optimizer = partial(torch.optim.SGD, lr=1.0)
    train(members, sorting.loss, sorting.population().double(), steps=3, optimizer=optimizer)
    for p, q in zip(before, (p for m in members for p in m.parameters()), strict=True):
        assert torch.equal(p, q)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"generators": None}, "give generators where data is a function"),
        ({"generators": [Generator()]}, "3 models need as many generators, not 1"),
    ],
)
def test_refuses(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(SEEDS, **change)
    with pytest.raises(ValueError, match="at least one model"):
        train([], sorting.loss, sorting.population(), steps=1, optimizer=torch.optim.SGD)


def test_warmup_cosine() -> None:
    factor = warmup_cosine(1000, 100)
    assert [factor(s) for s in (0, 49, 99)] == pytest.approx([0.01, 0.5, 1.0])
    assert factor(100) == 1.0
    assert factor(550) == pytest.approx(0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi / 2)))
    assert factor(1000) == pytest.approx(0.1)


def test_refuses_models_that_differ_in_more_than_numbers() -> None:
    settings = {"steps": 1, "optimizer": partial(torch.optim.SGD, lr=0.1)}

    def go(*models: nn.Module) -> None:
        train(models, sorting.loss, sorting.population(), **settings)

    plain, fixed = (Sorter(Config(v), Generator().manual_seed(1)) for v in ("plain", "fixed_gate"))
    with pytest.raises(ValueError, match="model 1 has other settings"):
        go(plain, fixed)
    warm = Sorter(Config("gated", temperature=2.0), Generator().manual_seed(1))
    with pytest.raises(ValueError, match="model 1 has other settings"):
        go(Sorter(Config("gated"), Generator().manual_seed(1)), warm)
    one, two = sorters((1, 2))
    one.token.weight.requires_grad_(False)
    with pytest.raises(ValueError, match="model 1 trains others"):
        go(one, two)
    with pytest.raises(ValueError, match="these have none"):
        go(one.requires_grad_(False))


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.LBFGS])
def test_refuses_random_numbers_that_no_member_has_for_itself(optimizer: type) -> None:
    def go(model: nn.Module) -> None:
        train([model], lambda m, x: m(x).sum(), torch.ones(2, 3), steps=1, optimizer=optimizer)

    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.1))
    with pytest.raises(ValueError, match=r"draws random numbers \(aten\..*: without dropout"):
        go(model)
    go(model.eval())


def test_refuses_a_batch_of_another_shape() -> None:
    lengths = iter((3, 3, 5))

    def data(_: Generator) -> Tensor:
        return torch.zeros(next(lengths), 5)

    def loss(model: nn.Module, x: Tensor) -> Tensor:
        return model(x, x).sum()

    with pytest.raises(ValueError, match="batches must keep their shapes"):
        train([Tied(2)], loss, data, steps=5, optimizer=torch.optim.SGD, generators=[Generator()])


@pytest.mark.slow
def test_a_subclass_of_an_elementwise_optimizer_is_not_trusted() -> None:
    class Mean(torch.optim.SGD):
        """Steps every number by the mean of its tensor's gradient: mixes whatever it is given."""

        @torch.no_grad()
        def step(self, closure: Callable) -> None:
            closure()
            for group in self.param_groups:
                for p in group["params"]:
                    p.sub_(group["lr"] * p.grad.mean())

    optimizer = partial(Mean, lr=0.1)
    crowd, alone = (run(s, optimizer=optimizer, steps=3, schedule=None) for s in (SEEDS, (3,)))
    for name, p in alone.parameters.items():
        assert_close(crowd.parameters[name][1], p[0], rtol=0, atol=1e-9)


def test_member_keeps_buffers_that_are_not_saved() -> None:
    class Unsaved(Tied):
        def __init__(self, seed: int) -> None:
            super().__init__(seed)
            self.register_buffer("scale", self.scale, persistent=False)

    x = torch.ones(7, 5)
    trained = train(
        [Unsaved(2), Unsaved(3)],
        lambda model, x: model(x, x).square().mean(),
        x,
        steps=1,
        optimizer=torch.optim.SGD,
    )
    assert [trained.member(i).scale.item() for i in range(2)] == [2.0, 3.0]


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adafactor])
def test_a_constraint_holds_after_every_step(optimizer: Callable) -> None:
    """Each member is held to what it makes of its own batch, by the model as just stepped."""

    def onto_the_ball(model: Callable, parameters: dict, batch: Tensor) -> dict:
        radius = model(batch).detach().abs().mean()
        return {n: p * (radius / p.norm()).clamp(max=1) for n, p in parameters.items()}

    def line(seed: int) -> nn.Linear:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return nn.Linear(3, 2, bias=False).double()

    def draw(generator: Generator) -> Tensor:
        return torch.randn(5, 3, dtype=torch.float64, generator=generator)

    def square(model: Callable, x: Tensor) -> Tensor:
        return (model(x) - 1).square().mean()

    make = partial(optimizer, lr=0.3)
    crowd = train(
        [line(s) for s in SEEDS],
        square,
        draw,
        generators=[Generator().manual_seed(s) for s in SEEDS],
        steps=6,
        optimizer=make,
        constrain=onto_the_ball,
    )
    for i, seed in enumerate(SEEDS):
        model, generator, free = line(seed), Generator().manual_seed(seed), line(seed)
        stepping, roaming = make(model.parameters()), make(free.parameters())
        for _ in range(6):
            x = draw(generator)
            for each, its in ((model, stepping), (free, roaming)):
                its.zero_grad()
                square(each, x).backward()
                its.step()
            with torch.no_grad():
                bounded = onto_the_ball(model, dict(model.named_parameters()), x)
                model.weight.copy_(bounded["weight"])
        assert_close(crowd.parameters["weight"][i], model.weight.detach(), rtol=0, atol=1e-9)
        assert not torch.allclose(model.weight, free.weight)  # it did bind


class LoRA(nn.Module):
    """A layer as it is, and a product of two small matrices beside it."""

    def __init__(self, layer: nn.Linear, generator: Generator) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(False)
        down = torch.randn(2, layer.in_features, generator=generator, dtype=layer.weight.dtype)
        self.down = nn.Parameter(down)
        self.up = nn.Parameter(torch.zeros(layer.out_features, 2, dtype=layer.weight.dtype))

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) + x @ self.down.T @ self.up.T


def with_adapter(seed: int) -> Sorter:
    """All of it frozen, but for an adapter beside the output of its attention."""
    (model,) = sorters((seed,))
    model.requires_grad_(False)
    attention = model.block.attention
    attention.o = LoRA(attention.o, Generator().manual_seed(seed))
    return model


def probing(seed: int) -> Sorter:
    """All of it frozen but for its last norm: what can be read from the rest as it is."""
    (model,) = sorters((seed,))
    model.requires_grad_(False).norm.requires_grad_(True)
    return model


@pytest.mark.now("AdamW-with_adapter", "LBFGS-probing")
@pytest.mark.parametrize("make", [with_adapter, probing])
@pytest.mark.parametrize("optimizer", [torch.optim.AdamW, torch.optim.LBFGS])
def test_what_is_frozen_stays_and_the_rest_trains_as_by_itself(
    make: Callable[[int], Sorter], optimizer: Callable
) -> None:
    """With a weight decay, which would move whatever is stepped."""
    batch, steps = sorting.population().double(), 5
    kwargs = dict(weight_decay=0.3) if optimizer is torch.optim.AdamW else dict(max_iter=3)
    optimizer = partial(optimizer, lr=1e-2, **kwargs)
    watched: list[set[str]] = []

    def watch(_step: int, _seen: object, parameters: dict[str, Tensor]) -> None:
        watched.append({*parameters})

    found = train(
        [make(seed) for seed in SEEDS], sorting.loss, batch, steps=steps, optimizer=optimizer,
        schedule=warmup_cosine(200, 20), clip=1.0, probe=sorting.probe, watch=watch,
    )  # fmt: skip
    for i, seed in enumerate(SEEDS):
        alone, start = make(seed), make(seed)
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
    assert watched == [{n for n, _ in make(1).named_parameters()}] * 2


def test_runs_of_what_is_frozen_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers, other parts of which are trained, are another run."""
    keys: list[str] = []
    key = recall.key
    monkeypatch.setenv("FAST", "1")
    monkeypatch.setattr(recall, "key", lambda *how: keys.append(key(*how)) or keys[-1])
    for model in (sorters((1,))[0], probing(1)):
        optimizer = partial(torch.optim.SGD, lr=0.1)
        train([model], sorting.loss, sorting.population().double(), steps=0, optimizer=optimizer)
    assert len(set(keys)) == 2


def test_a_run_is_told_in_a_line() -> None:
    """With its sizes, and none of its numbers."""
    told = repr(run((2, 3), steps=3))
    assert told.startswith("Run(2 × Sorter of 480 parameters; 3 steps, ")
    assert "tensor" not in told and told.count("[2, 2]") >= 1
    bare = train(
        [Tied(2)],
        lambda m, x: m(x, x).sum(),
        torch.ones(3, 5),
        steps=0,
        optimizer=partial(torch.optim.SGD, lr=0.1),
    )
    assert repr(bare).endswith("probed: nothing)")
