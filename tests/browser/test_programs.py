"""Programs in a page: torch's own numbers, for every operation and for every chapter's step."""

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from attn_notes import programs
from attn_notes.programs import forward, training
from attn_notes.training import ensemble
from attn_notes.training.schedules import warmup_cosine

from . import program_page
from .chapter_steps import STEPS, Step
from .conftest import STRICT_POLICY, empty_page
from .torch_layers import LAYERS, TEXT, InALanguageModel, next_token

Tensors = dict[str, Tensor]
MOST = settings.default.max_examples  # type: ignore[union-attr]
FEW = MOST // 10
"""Examples of what is quick."""
THOROUGH = MOST > 60
"""Whether each operation is tried at more sizes than the odd ones that are written here."""
quick = partial(settings, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """An empty page, and in it what a page has around programs."""
    with empty_page(browser, tmp_path_factory.mktemp("empty")) as page:
        program_page.load_tools(page)
        yield page


def with_gradient(function: Callable[..., Tensor], names: list[str]) -> Callable[..., Tensors]:
    """A function's value and, where it is a float, the gradients of the sum of its sines."""

    def whole(tensors: Tensors) -> Tensors:
        value = function(**tensors)
        if not value.is_floating_point() or not names:
            return {"value": value}

        def total(floats: Tensors) -> Tensor:
            return function(**{**tensors, **floats}).sin().sum()

        grads = torch.func.grad(total)({name: tensors[name] for name in names})
        return {"value": value, **{f"gradient.{name}": grads[name] for name in names}}

    return whole


def assert_same(page: Page, function: Callable[..., Tensor], inputs: Tensors) -> None:
    """Fail unless a function and its gradients are the same here and in the page."""
    floats = [name for name, tensor in inputs.items() if tensor.is_floating_point()]
    whole = with_gradient(function, floats)
    found = program_page.outputs(page, programs.export(whole, inputs), inputs)
    for name, tensor in whole(inputs).items():
        torch.testing.assert_close(
            found[name], tensor.double(), rtol=1e-11, atol=1e-12, equal_nan=True
        )


# --- Every operation

Shaped = Callable[..., Tensor]
ANY: list[Callable[[Tensor], Tensor]] = [
    *(torch.neg, torch.exp, torch.expm1, torch.tanh, torch.sigmoid, torch.erf, torch.abs),
    *(torch.floor, torch.ceil, torch.trunc, torch.sign, torch.sin, torch.cos),
    *(F.silu, F.relu, F.softplus, F.logsigmoid, F.gelu, F.elu),
]
POSITIVE = [torch.log, torch.log1p, torch.sqrt, torch.rsqrt, torch.reciprocal]


def of(entrywise: Callable[[Tensor], Tensor]) -> Shaped:
    if entrywise in POSITIVE:
        return lambda x: entrywise(x * x + 0.1)
    return lambda x: entrywise(4 * x) + x


X: dict[str, Shaped] = {
    **{each.__name__: of(each) for each in (*ANY, *POSITIVE)},
    # entry by entry
    "add": lambda x, y: x + 2 * y,
    "sub": lambda x, y: torch.sub(x, y, alpha=3),
    "rsub": lambda x: 2 - x,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y * y + 1),
    "rounded": lambda x, y: torch.div(x * 5, y * y + 1, rounding_mode="floor") + x,
    "remainder": lambda x, y: (x * 5) % (y * y + 0.5),
    "broadcast": lambda x, y: x[:, :1] * y[0] + y[..., -1:],
    "powers": lambda x: x**2 + (x * x + 1) ** -1 + (x * x + 1) ** 1.7 + x**3,
    "power of": lambda x, y: (x * x + 1) ** y,
    "leaky relu": lambda x: F.leaky_relu(x, 0.1),
    "gelu by tanh": lambda x: F.gelu(3 * x, approximate="tanh"),
    "clamp": lambda x: x.clamp(-0.5, 0.7),
    "clamp to tensors": lambda x, y: torch.clamp(x, y - 1, y + 1),
    "maximum": lambda x, y: torch.maximum(x, y) * torch.minimum(x, y),
    "comparisons": lambda x, y: (x < y).double() + 2 * (x >= 0) + 4 * (y == y) + 8 * (x != y) + x,
    "logic": lambda x, y: ((x > 0) & ~(y > 0) | (x > y)).double() * x,
    "where": lambda x, y: torch.where(x > y, x, 2.0),
    "masked fill": lambda x: x.masked_fill(x > 0.5, -math.inf).softmax(-1),
    "nan to num": lambda x: torch.nan_to_num(x / (x > 0), nan=0.3, posinf=2.0, neginf=-3.0),
    "to whole": lambda x: (3 * x).long(),
    "to truth": lambda x: (x * (x > 0)).bool(),
    "truths added": lambda x, y: ((x > 0) + (y > 0)).double() * x,
    "truth of numbers": lambda x: x.logical_not() + 2.0 * x.trunc().logical_and(x),
    # layers
    "sums so far": lambda x: x.cumsum(1) * x.cumsum(-1),
    "a norm of groups": lambda x: F.group_norm(torch.cat([x, x.exp()], 1), 2),
    "convolution": lambda x, y: F.conv1d(x, y[..., :2]),
    "convolution in steps": lambda x, y: F.conv1d(x, y[..., :1], stride=2, padding=3, dilation=2),
    "attention": lambda x: F.scaled_dot_product_attention(x, x.exp(), x.sin(), is_causal=True),
    "attention with a mask": lambda x: F.scaled_dot_product_attention(
        x, x, x, attn_mask=torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
    ),
    # views
    "transpose": lambda x: x.mT @ x,
    "reshape of a transpose": lambda x: x.transpose(0, 1).reshape(-1) * 2,
    "view": lambda x: x.flatten(1).unsqueeze(0).squeeze(0) * 3,
    "steps": lambda x: x[..., ::2].cos() + x[:, -1:, :1],
    "select": lambda x: x[0, -1].exp(),
    "expand": lambda x: x.exp()[:, None].expand(-1, 3, -1, -1).sum(0),
    "permute": lambda x: x.permute(2, 0, 1).reshape(x.shape[2], -1).sin(),
    "flip": lambda x: x.flip(1) * 2,
    "roll": lambda x: x.roll(1, 0) * x,
    # parts put together
    "cat": lambda x, y: torch.cat([x, y.exp(), x[:1]], 0),
    "stack": lambda x, y: torch.stack([x, y], 1).sin(),
    "split": lambda x: torch.cat([part * i for i, part in enumerate(x.split(1, -1))], 1),
    "chunk": lambda x: sum(part.sum() * i for i, part in enumerate(x.chunk(2, 0), 1)),
    "unbind": lambda x: x.unbind(1)[0] * 2,
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=0.5).exp(),
    "repeat": lambda x: x.repeat(2, 1, 3) * 2,
    "triu": lambda x: x.triu(1) + x.tril(-1) * 2,
    # along dimensions
    "sum": lambda x: x.sum(1) + x.sum((0, 1), keepdim=True)[0] + x.sum(),
    "mean": lambda x: x.mean((0, 2)) + x.mean(),
    "amax": lambda x: x.amax(-1) + x.amin(0).sum(),
    "max": lambda x: x.max(1).values * x.min(1).values,
    "argmax": lambda x: x.argmax(1) + 10 * x.argmin(1),
    "argmax of all": lambda x: x.argmax(),
    "any and all": lambda x: (x > 0).any(1).double() + 2 * (x > 0).all(1) + 4 * (x > 0).any(),
    "any and all of numbers": lambda x: x.clamp(max=0).any(1) + 2.0 * x.trunc().all(1),
    "var": lambda x: x.var((1, 2), correction=0) + x.std(correction=0),
    "norm": lambda x: x.norm(dim=1) + x.norm() + torch.linalg.vector_norm(x, 1, dim=(0, 1)).sum(),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "logsumexp": lambda x: x.logsumexp(1),
    "softmax": lambda x: x.softmax(1),
    "log softmax": lambda x: x.log_softmax(-1),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "layer norm, weighted": lambda x, y: F.layer_norm(x, x.shape[1:], y[0], y[-1]),
    "rms norm": lambda x, y: F.rms_norm(x, x.shape[-1:], y[0, 0], 1e-5),
    "cosine": lambda x, y: F.cosine_similarity(x, y, dim=1),
    # products
    "matmul": lambda x, y: x @ y.mT,
    "one matrix for all": lambda x, y: x @ y[0].mT,
    "matrix and vector": lambda x, y: (x[0] @ y[0, 0]).sum() + x[0, 0] @ y[0, 0],
    "einsum": lambda x, y: torch.einsum("abc,dbc->adb", x, y),
    "linear": lambda x, y: F.linear(x, y[0], y[0, :, 0]),
    # places that are computed
    "embedding": lambda x, i: F.embedding(i[0] % x.shape[1], x[0]),
    "index": lambda x, i: x[i[0, 0] % x.shape[0]],
    "negative index": lambda x, i: x[:, -1 - i[0] % x.shape[1]],
    "two indices": lambda x, i: x[i[0] % x.shape[0], i[0] % x.shape[1]],
    "gather": lambda x, i: x.gather(1, i % x.shape[1]),
    "scatter": lambda x, i: torch.zeros_like(x).scatter(1, i[:, :1] % x.shape[1], x[:, :1].exp()),
    "scatter of one": lambda x, i: x.scatter(1, i[:, :1] % x.shape[1], 2.0),
    "scatter add": lambda x, i: x.scatter_add(1, i % x.shape[1], x.exp()),
    "index add": lambda x, i: x.index_add(0, i[0, 0] % len(x), x[:1].expand(x.shape[2], -1, -1)),
    "index put": lambda x, i: x.index_put((i[0, 0, :1] % x.shape[0],), x[:1] * 2),
    "cross entropy": lambda x, i: F.cross_entropy(x[0], i[0, :, 0] % x.shape[2]),
    "cross entropy, ignoring": lambda x, i: F.cross_entropy(
        x.flatten(0, 1), i[..., 0].flatten() % x.shape[2], ignore_index=0, reduction="sum"
    ),
    "binary cross entropy": lambda x, y: F.binary_cross_entropy_with_logits(x, (y > 0).double()),
    # in place
    "in place": lambda x: x.clone().mul_(2).add_(x)[..., 0].clone().zero_() + x.sum(-1),
    "in a part": lambda x, y: torch.cat([x, x]).index_fill(0, torch.tensor([0]), 1.5) * 2,
}  # fmt: skip
"""Functions of x and y, floats of a shape of three, and of i, whole numbers of that shape."""


@pytest.mark.parametrize("name", X)
def test_an_operation_is_torchs(page, name):
    function = X[name]
    wanted = function.__code__.co_varnames[: function.__code__.co_argcount]

    @quick(max_examples=MOST // 20, phases=[*Phase] if THOROUGH else [Phase.explicit])
    @given(shape=st.tuples(*[st.integers(1, 5)] * 3), seed=st.integers(0, 99))
    @example(shape=(3, 2, 5), seed=1)
    def same(shape: tuple[int, ...], seed: int) -> None:
        g = Generator().manual_seed(seed)
        all_inputs = {
            "x": torch.randn(shape, generator=g, dtype=torch.float64),
            "y": torch.randn(shape, generator=g, dtype=torch.float64),
            "i": torch.randint(0, 30, shape, generator=g),
        }
        assert_same(page, function, {each: all_inputs[each] for each in wanted})

    same()


# --- Operations after one another

NEXT: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, y: x + y,
    lambda x, y: x * y.sigmoid(),
    lambda x, y: torch.where(x > y, x, y.sin()),
    lambda x, y: x.softmax(-1),
    lambda x, y: F.layer_norm(x, x.shape[-1:]),
    lambda x, y: x.tanh().mT.reshape(x.shape),
    lambda x, y: x.transpose(0, 1).reshape(x.shape),
    lambda x, y: x @ (y.mT @ x) / x.shape[-1],
    lambda x, y: x - x.mean((0, 2), keepdim=True),
    lambda x, y: x + x[:, :1] * y[..., -1:],
    lambda x, y: torch.cat([x[..., 1:], y[..., :1] * x[..., :1]], -1),
    lambda x, y: x.flip(1) + x.exp().sum() / (1 + x.exp().sum()),
    lambda x, y: torch.stack([x, y], 0).amax(0),
    lambda x, y: F.pad(x, (1, 0))[..., :-1] + y,
    lambda x, y: x.clone().index_copy(0, torch.tensor([0]), y[-1:]),
    lambda x, y: F.silu(x) * x * x,
]
"""Each keeps the shape of x."""


@example(steps=[(14, 0), (6, 0)], shape=(2, 2, 1))  # whose gradient copies by strides
@quick(max_examples=2 * FEW)
@given(
    steps=st.lists(st.tuples(st.sampled_from(range(len(NEXT))), st.integers(0, 5)), max_size=8),
    shape=st.tuples(*[st.integers(1, 4)] * 3),
)
def test_operations_after_one_another_are_torchs(page, steps, shape):
    def function(x: Tensor, y: Tensor) -> Tensor:
        values = [x, y]
        for which, other in steps:
            values.append(NEXT[which](values[-1], values[other % len(values)]))
        return values[-1] * 1.5 + values[len(values) // 2]

    g = Generator().manual_seed(len(steps))
    inputs = {name: torch.randn(shape, generator=g, dtype=torch.float64) for name in "xy"}
    assert_same(page, function, inputs)


def test_several_outputs_may_be_one_tensor_and_an_input(page):
    def function(tensors: Tensors) -> Tensors:
        x = tensors["x"]
        y = x.exp()
        same = {"x": x, "again": x, "y": y, "y too": y}
        return {**same, "turned": y.mT, "part": y[1:], "two": x * 0 + 2}

    inputs = {"x": torch.arange(6.0).reshape(2, 3)}
    found = program_page.outputs(page, programs.export(function, inputs), inputs)
    for name, tensor in function(inputs).items():
        torch.testing.assert_close(found[name], tensor.double(), rtol=1e-6, atol=0)


# --- Every chapter's training step


def trained(
    model: torch.nn.Module, step: Step, count: int, **adamw: Any
) -> tuple[Tensors, Tensor, Tensors]:
    """In torch: the first gradients, and the last loss and weights."""
    descend = ensemble.gradient(model, step.loss, 1.0)
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    first, loss = descend(weights, dict(model.named_buffers()), step.batch)
    optimizer = torch.optim.AdamW(list(weights.values()), **adamw)
    schedule = warmup_cosine(count, 3)
    for i in range(count):
        grads, loss = descend(weights, dict(model.named_buffers()), step.batch)
        for name, weight in weights.items():
            weight.grad = grads[name]
        optimizer.param_groups[0]["lr"] = adamw["lr"] * schedule(i)
        optimizer.step()
    return first, loss, weights


@cache
def exported(name: str) -> tuple[Step, torch.nn.Module, programs.Program]:
    """A chapter's step in double precision, traced once for all tests."""
    step = STEPS[name]()
    model = step.model.double()
    return step, model, training.step(model, step.loss, step.batch, clip=1.0)


def inputs_of(model: torch.nn.Module, step: Step) -> Tensors:
    buffers = {f"buffer.{name}": buffer for name, buffer in model.named_buffers()}
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    return {**parameters, **buffers, **training.named(step.batch)}


ADAMW = dict(lr=3e-3, weight_decay=0.1, betas=(0.9, 0.95), eps=1e-7)
TRAIN = """(count) => {
  const how = { rate: 3e-3, decay: 0.1, beta1: 0.9, beta2: 0.95, eps: 1e-7 };
  const [step, factor] = [tools.adamw(H, program, how), tools.warmupCosine(count, 3)];
  for (let i = 0; i < count; i++) { run(); step(factor(i)); }
}"""


def assert_trains_as_torch(
    page: Page, model: torch.nn.Module, step: Step, program: programs.Program, count: int
) -> Tensors:
    """Fail unless so many steps of training are torch's; gives the gradients of the first."""
    found = program_page.outputs(page, program, inputs_of(model, step))
    first, loss, weights = trained(model, step, count, **ADAMW)
    for parameter, gradient in first.items():
        assert gradient.isfinite().all()
        assert (found[f"gradient.{parameter}"] - gradient).abs().max() <= 1e-12, parameter
    page.evaluate(TRAIN, count)
    torch.testing.assert_close(program_page.read(page)["loss"], loss.double(), rtol=0, atol=1e-9)
    after = program_page.read(page, "inputs")
    for parameter, weight in weights.items():
        off = (after[parameter] - weight).abs().max()
        assert off <= 1e-9, f"{parameter} is {off:.1e} off after {count} steps"
    return first


@pytest.mark.by_day(5)
@pytest.mark.parametrize("name", STEPS)
def test_a_chapters_step_is_torchs_and_ten_of_them_are(page, name):
    step, model, program = exported(name)
    first = assert_trains_as_torch(page, model, step, program, 10 if step.tame else 1)
    assert any(bool(gradient.abs().max() > 1e-4) for gradient in first.values())


@pytest.mark.by_day(4)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_of_torch_is_torchs_and_trains_in_the_page(page, name):
    """Forwards, and five steps of its training, in double."""
    torch.manual_seed(5)
    model = InALanguageModel(LAYERS[name]()).double()
    inputs = {n: p.detach() for n, p in model.named_parameters()} | {"x": TEXT}
    program = forward.forward(model.eval(), {"x": TEXT}, ("y",))
    found = program_page.outputs(page, program, inputs)
    torch.testing.assert_close(found["y"], model(TEXT), rtol=0, atol=1e-12)
    step = Step(lambda _: model, next_token, {"x": TEXT})
    program = training.step(model.train(), next_token, step.batch, clip=1.0)
    for parameter, gradient in assert_trains_as_torch(page, model, step, program, 5).items():
        assert gradient.abs().max() > 1e-6 or parameter.endswith("bias"), parameter


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5)], ids=str)
def test_a_batch_norm_in_evaluation_takes_what_it_has_kept(page, shape):
    g = Generator().manual_seed(1)
    layer = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(3).double().eval()
    for name, kept in layer.state_dict().items():
        if kept.is_floating_point():
            kept.copy_(torch.rand(3, generator=g) + 0.5 * (name == "running_var"))
    x = torch.randn(shape, generator=g, dtype=torch.float64)
    program = forward.forward(layer, {"x": x}, ("y",))
    found = program_page.outputs(page, program, {**layer.state_dict(), "x": x})["y"]
    torch.testing.assert_close(found, layer(x).detach(), rtol=0, atol=1e-12)
    one = (1, -1, *[1] * (len(shape) - 2))
    mean, var, gain, bias = (
        getattr(layer, name).detach().view(one)
        for name in ("running_mean", "running_var", "weight", "bias")
    )
    by_hand = (x - mean) / (var + layer.eps).sqrt() * gain + bias
    torch.testing.assert_close(found, by_hand, rtol=0, atol=1e-12)


@pytest.mark.parametrize("wasm", [False, True])
@pytest.mark.parametrize("name", ["deep_qkv gated", "triple_product angle", "trm softmax"])
def test_a_step_in_single_precision_is_close(page, name, wasm):
    step, model, program = exported(name)
    inputs = inputs_of(model, step)
    single = {k: v.float() if v.is_floating_point() else v for k, v in inputs.items()}
    found = program_page.outputs(page, program, single, single=True, wasm=wasm)
    first, *_ = trained(model, step, 0, lr=1.0)
    for parameter, gradient in first.items():
        off = found[f"gradient.{parameter}"] - gradient
        assert off.abs().max() <= 1e-5 * max(1.0, float(gradient.abs().max())), parameter


# --- What a page has around programs


@pytest.mark.parametrize("rates", [{}, {"fast": 15}])
def test_adamw_is_torchs_also_at_a_rate_of_a_parameters_own(page, rates):
    start = torch.tensor([0.3, -1.2, 0.0], dtype=torch.float64)
    inputs = {name: start.clone() for name in ("slow", "fast")}

    def quartics(tensors: Tensors) -> Tensors:
        slopes = {f"gradient.{n}": w**3 - 0.1 * w.square() for n, w in tensors.items()}
        return {**slopes, "other": tensors["slow"]}

    program_page.make(page, programs.export(quartics, inputs), inputs)
    page.evaluate(
        "(rates) => { const step = tools.adamw(H, program, { rate: 1e-2, rates });"
        " for (let i = 0; i < 50; i++) { run(); step(0.5); } }",
        rates,
    )
    groups = [{"params": [w], "lr": rates.get(n, 1) * 0.5e-2} for n, w in inputs.items()]
    optimizer = torch.optim.AdamW(groups)
    for _ in range(50):
        for name, weight in inputs.items():
            weight.grad = quartics(inputs)[f"gradient.{name}"]
        optimizer.step()
    for name, weight in program_page.read(page, "inputs").items():
        torch.testing.assert_close(weight, inputs[name], rtol=0, atol=1e-14)


@pytest.mark.parametrize("plan", [(100, 7, 0.1), (30, 0, 0.0), (5, 5, 0.3)])
def test_the_schedule_is_the_packages(page, plan):
    found = page.evaluate(
        "([n, warmup, last]) => { const factor = tools.warmupCosine(n, warmup, last);"
        " return Array.from({ length: n + 1 }, (_, i) => factor(i)); }",
        list(plan),
    )
    wanted = [warmup_cosine(*plan)(i) for i in range(plan[0] + 1)]
    assert found == pytest.approx(wanted, rel=1e-14, abs=1e-16)


def test_the_fast_exponential_is_close_over_its_range(page):
    x = torch.linspace(-87.2, 88.6, 20_011, dtype=torch.float64)
    found = page.evaluate("(x) => x.map(tools.fastExp)", x.tolist())
    off = (torch.tensor(found, dtype=torch.float64) / x.exp() - 1).abs().max()
    assert off < 1e-6
    ends = page.evaluate("[-Infinity, -200, 200, Infinity, 0].map(tools.fastExp)")
    assert ends == [0, 0, math.inf, math.inf, 1]
    assert page.evaluate("Number.isNaN(tools.fastExp(NaN))")


def drawn(page: Page, seed: int, method: str, count: int) -> Tensor:
    numbers = page.evaluate(
        "([seed, method, count]) => { const random = tools.random(seed);"
        " return Array.from({ length: count }, () => random[method](6)); }",
        [seed, method, count],
    )
    return torch.tensor(numbers, dtype=torch.float64)


def test_a_seed_gives_the_same_numbers_again_and_another_gives_others(page):
    first = drawn(page, 7, "uniform", 50)
    assert torch.equal(first, drawn(page, 7, "uniform", 50))
    for other in (6, 8, 7 + 2**31):
        assert (first - drawn(page, other, "uniform", 50)).abs().min() > 0


def test_random_numbers_have_their_distribution(page):
    # Kolmogorov and Smirnov: beyond 2.2 / √n once in ten thousand times
    n = 4000
    rank = torch.arange(n, dtype=torch.float64) / n
    uniform = drawn(page, 3, "uniform", n).sort().values
    normal = torch.special.ndtr(drawn(page, 3, "normal", n)).sort().values
    for values in (uniform, normal):
        assert (values - rank).abs().max() < 2.2 / math.sqrt(n)
        assert values.min() >= 0 and values.max() < 1
    counts = drawn(page, 3, "below", n).long().bincount(minlength=6)
    assert len(counts) == 6
    assert (counts - n / 6).abs().max() < 4.5 * math.sqrt(n * 5 / 36)


def test_starting_weights_are_drawn_as_they_are_described(page):
    normal = {"draw": "normal", "mean": 0.0, "std": 1.0}
    term = {"of": 0, "count": 4, "from": 0, "step": 2, "advance": 1}
    terms = [{**term, "factor": 0.5, "start": 0}, {**term, "factor": -0.5, "start": 1}]
    specs: dict[str, dict[str, Any]] = {
        "uniform": {"shape": [50, 40], "draw": "uniform", "low": -0.3, "high": 0.1},
        "normal": {"shape": [2000], **normal, "mean": 2.0, "std": 0.5},
        "ones": {"shape": [3], "draw": "constant", "value": 1.0},
        "cut": {"shape": [2000], **normal, "std": 2.0, "low": -2.0, "high": 4.0},
        "pair": {
            "shape": [4, 2],
            "draw": "sum",
            "of": [{"shape": [4, 1], **normal}],
            "terms": terms,
        },
    }
    specs["cut"]["draw"] = "truncated normal"
    inputs = {name: torch.zeros(spec["shape"]).double() for name, spec in specs.items()}
    program = programs.export(lambda t: {"sum": sum(x.sum() for x in t.values())}, inputs)
    program_page.make(page, program, inputs)
    absent = {"absent": specs["ones"]}  # what a program does not read is left out
    page.evaluate("(s) => tools.draw(H, program.inputs, s, tools.random(5))", {**specs, **absent})
    found = program_page.read(page, "inputs")
    n, limit = 2000, 2.2 / math.sqrt(2000)
    rank = torch.arange(n, dtype=torch.float64) / n
    low, high = torch.special.ndtr(torch.tensor([-1.0, 2.0], dtype=torch.float64))
    shares = {
        "uniform": (found["uniform"] + 0.3) / 0.4,
        "normal": torch.special.ndtr((found["normal"] - 2) / 0.5),
        "cut": (torch.special.ndtr(found["cut"] / 2) - low) / (high - low),
    }
    for name, share in shares.items():
        assert (share.flatten().sort().values - rank).abs().max() < limit, name
    assert found["ones"].tolist() == [1, 1, 1]
    assert torch.equal(found["pair"][:, 0], -found["pair"][:, 1])
    assert found["pair"].abs().min() > 0


PRODUCT = """({ B, M, N, K, a, sa, am, ak, b, sb, bk, bn, c, size, seed }) => {
  const { H, product } = tools.loadVectors(size);
  const { normal } = tools.random(seed);
  for (let i = 0; i < size; i++) H[i] = normal();
  const before = Array.from(H.subarray(0, size));
  product(B, M, N, K, a, sa, am, ak, b, sb, bk, bn, c);
  return [before, Array.from(H.subarray(0, size))];
}"""
AFTER = 9
"""Numbers after a result, which must stay as they are."""


@quick(max_examples=3 * FEW)
@given(
    sizes=st.tuples(st.integers(1, 3), *[st.integers(1, 19)] * 3),
    turned=st.tuples(st.booleans(), st.booleans()),
    one=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_product_in_webassembly_is_the_sum_in_its_order(page, sizes, turned, one, seed):
    B, M, N, K = sizes
    am, ak = (1, M) if turned[0] else (K, 1)
    bk, bn = (1, K) if turned[1] else (N, 1)
    start = B * M * K
    sb = 0 if one else K * N
    end = start + (K * N if one else B * K * N)
    size = end + B * M * N + AFTER
    given_ = dict(B=B, M=M, N=N, K=K, a=0, sa=M * K, am=am, ak=ak, b=start, sb=sb, bk=bk, bn=bn)
    both = page.evaluate(PRODUCT, {**given_, "c": end, "size": size, "seed": seed})
    before, H = map(torch.tensor, both)
    left = H.as_strided((B, M, K), (M * K, am, ak), 0)
    right = H.as_strided((B, K, N), (sb, bk, bn), start)
    total = torch.zeros(B, M, N)
    for k in range(K):
        total = total + left[:, :, k, None] * right[:, None, k]
    assert torch.equal(H[end:-AFTER].reshape(B, M, N), total)
    assert torch.equal(H[:end], before[:end])
    assert torch.equal(H[-AFTER:], before[-AFTER:])


SIGMOID = """({ values, from, to, size }) => {
  const { H, sigmoid } = tools.loadVectors(size);
  H.set(values, from);
  sigmoid(from, to, values.length);
  const found = H.slice(to, to + values.length);
  const wanted = H.slice(from, from + values.length).map((x) => 1 / (1 + tools.fastExp(-x)));
  H.fill(0, from, from + values.length).fill(0, to, to + values.length);
  const same = wanted.every((x, i) => Object.is(x, found[i]));
  return [same, H.every((x) => x === 0), Array.from(found)];
}"""


@quick(max_examples=3 * FEW)
@given(
    values=st.lists(st.floats(-110, 110, width=32), min_size=2, max_size=9), apart=st.integers(0, 3)
)
@example(values=[math.inf, -math.inf, math.nan, 0.0, -0.0], apart=1)
@example(values=[87.25, 87.375, -88.625, -88.75, -104.0, 1e-40, 3e38], apart=0)
def test_a_sigmoid_in_webassembly_has_the_bits_of_the_one_without(page, values, apart):
    to = 1 + len(values) + apart
    # As text: what is passed as a number is no infinity.
    shown = "[" + ",".join(str(x).replace("inf", "Infinity").replace("nan", "NaN") for x in values)
    given_ = f"{{ values: {shown}], from: 1, to: {to}, size: {to + len(values) + AFTER} }}"
    same, kept, found = page.evaluate(f"() => ({SIGMOID})({given_})")
    assert same and kept
    wanted = torch.tensor(values).double().sigmoid()
    torch.testing.assert_close(
        torch.tensor(found, dtype=torch.float64), wanted, rtol=1e-6, atol=1e-38, equal_nan=True
    )


@pytest.mark.parametrize(("shape", "quicker"), [((67, 67), True), ((63, 65), False)])
def test_a_long_row_of_sigmoids_is_the_same_with_vectors_and_without(page, shape, quicker):
    def gated(tensors: Tensors) -> Tensors:
        gate = tensors["x"].sigmoid()
        return {"y": gate * tensors["x"] + gate, "turned": tensors["x"].T.sigmoid()}

    inputs = {"x": 20 * torch.randn(shape, generator=Generator().manual_seed(0))}
    program = programs.export(gated, inputs)
    calls = "({ make }) => { const all = []; const H = new Float32Array(program.size); "
    calls += "make(H, { sigmoid: (...given) => all.push(given) })(); return all.map((x) => x[2]); }"
    plain = program_page.outputs(page, program, inputs, single=True)
    assert page.evaluate(f"() => ({calls})(program)") == [67 * 67] * quicker
    fast = program_page.outputs(page, program, inputs, wasm=True)
    for name, tensor in gated(inputs).items():
        assert torch.equal(plain[name], fast[name])
        torch.testing.assert_close(fast[name], tensor.double(), rtol=1e-5, atol=1e-6)


def test_there_are_no_vectors_where_webassembly_may_not_be(browser, tmp_path):
    with empty_page(browser, tmp_path, STRICT_POLICY) as page:
        program_page.load_tools(page)
        assert page.evaluate("tools.loadVectors(100)") is None
        # and a program needs nothing that such a policy forbids
        inputs = {"x": torch.arange(3.0)}
        program = programs.export(lambda t: {"y": t["x"].exp().softmax(0)}, inputs)
        found = program_page.outputs(page, program, inputs)
        wanted = inputs["x"].double().exp().softmax(0)
        torch.testing.assert_close(found["y"], wanted, rtol=1e-12, atol=0)
        page.evaluate("delete window.WebAssembly")
        assert page.evaluate("tools.loadVectors(100)") is None
