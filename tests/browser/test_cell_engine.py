"""The engine of the lessons' cells beside torch: values, gradients, programs, errors, traps."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page
from torch import Generator, nn
from torch.func import grad, jvp, vjp
from torch.nn import functional as F

from book.page.code.python import lowered

from . import engine_page
from .engine_page import ask

NAMES = {"torch": torch, "F": F, "nn": nn, "grad": grad, "jvp": jvp, "vjp": vjp}
# torch's own jvp warns of its own parts, and `torch.tensor` of another way to copy.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script` is deprecated", "ignore:To copy construct from a tensor"
)
quick = partial(
    settings, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.generate,)
)


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """An empty page with a started engine."""
    with engine_page.engine_page(browser, tmp_path_factory.mktemp("engine")) as page:
        yield page


TASK = """
def task(cell, given):
    names = sorted(given)
    y, back = vjp(lambda *xs: cell["f"](*xs), *[given[name] for name in names])
    weights = (torch.arange(y.numel(), dtype=torch.float64) + 1).sin().view(y.shape)
    found = {"y": y}
    if y.is_floating_point():
        for name, g in zip(names, back(weights)):
            found["gradient." + name] = g
    return found
"""


def evaluated(page: Page, source: str, inputs: dict[str, torch.Tensor]) -> dict[str, Any]:
    """What the page makes of `f`."""
    assert ask(page, "run", source=source) == {"error": None}
    tensors = [engine_page.given(name, x) for name, x in inputs.items()]
    made = ask(page, "evaluate", task=TASK, inputs=tensors)
    assert made["error"] is None, made["error"]
    made["nodes"] = {name: out["node"] for name, out in made["outputs"].items()}
    return made


def assert_agrees(page: Page, source: str, shapes: dict[str, list[int]], seed: int = 0) -> None:
    """Fail unless `f` gives what it gives by torch, with gradients, at once and as a program."""
    draw = Generator().manual_seed(seed)
    inputs = {
        name: torch.randn(shape, generator=draw, dtype=torch.float64, requires_grad=True)
        for name, shape in sorted(shapes.items())
    }
    space: dict[str, Any] = dict(NAMES)
    exec(source, space)
    y = space["f"](*inputs.values())
    true = {"y": y}
    if y.is_floating_point():
        weights = (torch.arange(y.numel(), dtype=torch.float64) + 1).sin().view(y.shape)
        slopes = torch.autograd.grad((y * weights).sum(), list(inputs.values()), allow_unused=True)
        for (name, x), slope in zip(inputs.items(), slopes, strict=True):
            true[f"gradient.{name}"] = torch.zeros_like(x) if slope is None else slope

    made = evaluated(page, source, inputs)
    program = ask(page, "program", outputs=made["nodes"])
    assert program["error"] is None, program["error"]
    values = {name: x.detach().flatten().tolist() for name, x in inputs.items()}
    ran = page.evaluate(engine_page.RUN, {"text": program["text"], "values": values})
    assert {*made["outputs"]} == {*true}
    for name, tensor in true.items():
        out = made["outputs"][name]
        assert out["shape"] == list(tensor.shape)
        for found in (out["values"], ran[name]):
            torch.testing.assert_close(
                engine_page.tensor(found, out["shape"]),
                tensor.detach().double(),
                rtol=1e-10,
                atol=1e-10,
                equal_nan=True,
            )


A, B3, TWO = {"a": [3, 5]}, {"a": [2, 3, 5]}, {"a": [5, 3], "b": [3, 7]}
SQUARE, WIDE = {"a": [5, 5], "b": [5, 7]}, {"a": [1, 6, 5]}
LINEAR = {"a": [2, 5], "b": [3, 5], "c": [3]}
EXPRESSIONS: dict[str, dict[str, list[int]]] = {
    "a.exp() * a.sigmoid() - a.tanh() / (a.square() + 1)": A,
    "F.silu(a) + F.relu(a) + a.abs() + (a * a + 1).rsqrt() + (a * a + 2).log().sqrt()": B3,
    "a.sin() * a.cos() + 2**a + a**3 - 1 / (a + 9) + (a * a + 1) ** 0.5": A,
    "a.expm1() + (a * a).log1p() + (a / 9).tan() + (a + 9).reciprocal() + a.sign()": A,
    "(a @ b).softmax(-1) + (a @ b).log_softmax(0)": TWO,
    "a @ b": {"a": [2, 3, 5, 7], "b": [3, 7, 2]},
    "a @ b + 1": {"a": [2, 3, 5], "b": [5]},
    "torch.einsum('bte,hed->bhtd', a, b)": {"a": [2, 3, 5], "b": [4, 5, 3]},
    "torch.einsum('bij,bjk->ik', a, b)": {"a": [2, 3, 5], "b": [2, 5, 7]},
    "torch.einsum('ij,kj,k->ik', a, b, c)": {"a": [2, 3], "b": [5, 3], "c": [5]},
    "torch.einsum('bij->jb', a)": B3,
    "a.masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(-1)": {"a": [2, 5, 5]},
    "torch.where(a > 0, a * b, -b).cumsum(1)": {"a": [3, 5], "b": [5]},
    "F.layer_norm(a, a.shape[-1:], b, c)": {"a": [2, 3, 5], "b": [5], "c": [5]},
    "F.layer_norm(a, (3, 5)) + F.rms_norm(a, (5,))": B3,
    "F.normalize(a, dim=-1) + F.normalize(a, dim=1)": B3,
    "F.cosine_similarity(a, b, dim=-1)": {"a": [2, 3, 5], "b": [2, 3, 5]},
    "F.cross_entropy(a.mT, torch.tensor([[0, 4, 2], [1, 1, 3]]))": B3,
    "F.cross_entropy(a, torch.tensor([4, -100, 0]), ignore_index=-100)": A,
    "F.linear(a, b, c) + F.mse_loss(a, 2 * a) + F.softplus(a).sum()": LINEAR,
    "torch.cat([x for x in a.chunk(3, -1)][::-1], -1) + a": {"a": [2, 3, 7]},
    "a.unflatten(-1, (2, -1)).permute(2, 0, 3, 1).flatten(2)": {"a": [3, 5, 6]},
    "a[:, None] * a[..., None, 1:4].transpose(-1, -2)": A,
    "a[torch.tensor([[2, 0], [1, 1]])] * 2 + a[..., 0::2].sum()": A,
    "a[:, torch.tensor([4, 0, 4])] - a[-1, 2]": A,
    "a[torch.arange(3), torch.tensor([4, 0, -2])]": A,
    "a.gather(1, torch.tensor([[1, 0], [4, 4], [2, 3]]))": A,
    "a.amax(-1) + a.max(0).values.sum() + a.min() + a.mean((0, 1)) + a.var(-1) + a.std()": A,
    "a.sum(0, keepdim=True) * a.mean(1)[:, None] + a.clamp(-0.5, 0.5) + a.prod(0)": A,
    "torch.stack(a.unbind(1), 0).roll(2, 0).flip(1) + a.T.tril()": A,
    "torch.maximum(a, b) + torch.minimum(a, b * 2) + a.outer(b)": {"a": [5], "b": [5]},
    "a.expand(4, -1, -1).reshape(2, -1) + a.flatten()[:6].view(1, 6).repeat(2, 10)": WIDE,
    "a.logsumexp(-1) + a.diff().square().sum() + a.diagonal().sum() + a.norm()": A,
    "a.diagonal().sum(0) + a.diagonal(-1, 2, 0).sum(0) * a.diagonal(2, -1, 1)[:, 0]": B3,
    "torch.func.grad(lambda z: (z.tanh() @ z).exp())(a)": {"a": [5]},
    "torch.func.jvp(lambda u: (u @ b).softmax(-1), (a,), (a * a,))[1]": {"a": [3, 5], "b": [5, 4]},
    "F.one_hot(torch.tensor([3, 0, 1]), 5) * a": A,
    "(a * 1).tril_().fill_diagonal_(2.0) + a.index_fill(1, torch.tensor([0, -2]), 0.5)": A,
    "(a.T * 1).fill_diagonal_(2, wrap=True).square_().clamp_(max=3)": A,
    "a.clone()[:, 1:4].fill_diagonal_(7).sub_(a[:, :3]) + (a @ b).triu_(1)[:, :3]": SQUARE,
    "(lambda x: (x[::2].square_(), x[1::2, ::2].zero_(), x.diagonal(1).fill_(2), x)[-1])(a * 1)": A,
    "(lambda x: (x.fill_diagonal_(fill_value=torch.nan), x.fill_(3), x)[-1])(a * 1)": A,
    "a[::2, 1::2] + a[..., ::2, torch.tensor([0, 3])]": A,
    "a.sum(axis=1) + (a > 0).sum(1, dtype=a.dtype)": A,
    "a.argmax(-1) + a.argmin(0).sum() + (a > 0).sum() + (a > 0).any(-1) + (a > 9).all()": A,
    "F.scaled_dot_product_attention(a, b, b, is_causal=True)": {"a": [2, 5, 3], "b": [2, 5, 3]},
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_slopes_are_torchs_at_once_and_as_a_program(page, expression):
    shapes = EXPRESSIONS[expression]
    assert_agrees(page, f"def f({', '.join(sorted(shapes))}):\n    return {expression}", shapes)


IN_PLACE = """
def f(a):
    y = a.clone()
    y[:, 1] = 7 * y[:, 2]
    y[0] += y[1]
    row = y[2]
    row[1:3] -= a[0, 1:3]
    y[y > 1] = 0.5
    return y * 1.5 + row
"""


def test_what_is_changed_in_place_is_seen_through_its_views(page):
    assert_agrees(page, IN_PLACE, A)


STEPS = """\
x.exp().sqrt()
x.softmax({d})
x - x.mean({d}, True)
x.tanh() * y
x + y.sum({d}, True)
x.flip({d})
torch.maximum(x, y)
torch.where(x > y, x, -y)
x.transpose(0, {d}).reshape(x.shape)
x.clamp(-1, 1)
x.square() / (1 + y.abs())
(x @ y.mT).softmax(-1) @ x
x.cumsum({d})
torch.cat([x, y], {d}).narrow({d}, 1, x.shape[{d}])
x[torch.arange(x.shape[0] - 1, -1, -1)]""".splitlines()


@quick(max_examples=15)
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2)), min_size=1, max_size=6),
    shape=st.tuples(*[st.sampled_from([1, 2, 3, 5])] * 3),
    seed=st.integers(0, 2**31 - 1),
)
def test_random_graphs_agree(page, steps, shape, seed):
    lines = [f"    x, y = {step.format(d=d)}, x" for step, d in steps]
    source = "\n".join(["def f(a):", "    x, y = a, a * 0.5", *lines, "    return x + y"])
    assert_agrees(page, source, {"a": list(shape)}, seed)


def test_the_page_lowers_to_the_text_that_python_lowers_to(page):
    """One lowering: the same nodes give the same program, wherever it runs."""
    source = "def f(a, b):\n    return (F.layer_norm(a @ b, (7,)).relu() @ b.T).softmax(-1)"
    shapes = {"a": [5, 3], "b": [3, 7]}
    given_ = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in shapes.items()}
    nodes = evaluated(page, source, given_)["nodes"]
    graph = ask(page, "graph", ends=[nodes[name] for name in sorted(nodes)])["graph"]

    class Way:
        """In the place of JavaScript."""

        def graph(self, ids: str) -> str:
            found: str = graph
            return found

    text = lowered.text(Way(), {name: nodes[name] for name in sorted(nodes)})
    assert ask(page, "program", outputs=nodes)["text"] == text


# --- What is wrong, in torch's words

WRONG = (
    "torch.ones(2, 3) + torch.ones(2, 4)",
    "torch.ones(2, 3) @ torch.ones(2, 3)",
    "torch.ones(5, 2, 3) @ torch.ones(5, 2, 3)",
    "torch.ones(4, 5, 2, 3) @ torch.ones(4, 5, 2, 3)",
    "torch.ones(5, 2, 3) @ torch.ones(4, 3, 2)",
    "torch.ones(2, 3) @ torch.ones(2)",
    "torch.ones(3) @ torch.ones(2)",
    "torch.ones(2, 3).view(4, 2)",
    "torch.ones(2, 3).reshape(-1, 4)",
    "torch.ones(2, 3).softmax(2)",
    "torch.ones(2, 3).transpose(0, 3)",
    "torch.ones(3)[4]",
    "torch.ones(3)[0, 0]",
    "torch.ones(4, 2)[torch.tensor([5])]",
    "torch.einsum('ij,jk->ik', torch.ones(2, 3), torch.ones(4, 5))",
    "torch.einsum('ijk,jk->ik', torch.ones(2, 3), torch.ones(3, 5))",
    "torch.cat([torch.ones(2, 3), torch.ones(2, 4)], 0)",
    "torch.stack([torch.ones(2), torch.ones(3)])",
    "torch.ones(2, 3).unflatten(-1, (2, 2))",
    "torch.ones(2, 3).expand(4, 3)",
    "torch.ones(2, 3).permute(0, 1, 2)",
    "F.layer_norm(torch.ones(2, 3), (4,))",
    "F.cross_entropy(torch.ones(2, 3, 4), torch.ones(2, 3).long())",
    "F.cross_entropy(torch.ones(2, 3), torch.ones(3).long())",
    "torch.ones(2, 3).masked_fill(torch.ones(2, 3), 0)",
    "torch.ones(2, 3).masked_fill(torch.ones(2, 2).bool(), 0)",
    "torch.arange(3).softmax(0)",
    "torch.arange(3).log_softmax(0)",
    "(torch.ones(2, 3) > 0).log_softmax(-1)",
    "torch.ones(2, 3).long().softmax(0)",
    "torch.arange(3).mean()",
    "torch.ones(3).item()",
    "bool(torch.ones(3) > 0)",
    "torch.ones(3).mT",
    "-torch.ones(3).bool()",
    "len(torch.tensor(1))",
    "torch.ones(2, 3).fancy()",
    "torch.fancy",
    "F.fancy(torch.ones(2))",
    "nn.Module().fancy",
    "torch.ones(3).fill_diagonal_(1)",
    "torch.ones(2, 3, 2).fill_diagonal_(1)",
)


ERRORS = (AttributeError, IndexError, RuntimeError, TypeError, ValueError)


@pytest.mark.parametrize("code", WRONG)
def test_an_error_has_torchs_words_and_its_line(page, code):
    with pytest.raises(ERRORS) as true:
        eval(code, dict(NAMES))
    answer = ask(page, "run", source=f"x = 1\n{code}\n")
    assert answer["error"]["kind"] == type(true.value).__name__
    assert answer["error"]["message"] == str(true.value)
    assert answer["error"]["lines"] == [2]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("torch.ones(2, 2).exponential_()", "Tensor.exponential_"),
        ("torch.ones(2, 2) ^ torch.ones(2, 2).long()", "Tensor.bitwise_xor"),
        ("torch.heaviside(torch.ones(2), torch.ones(2))", "torch.heaviside"),
        ("F.gelu(torch.ones(2))", "torch.nn.functional.gelu"),
        ("class M(nn.Module):\n    pass\nM().register_buffer('a', None)", "Module.register_buffer"),
        ("from torch.nn import GELU", "torch.nn.GELU"),
        ("import torch.utils.data as data", "torch.utils"),
        ("from torch.nn.utils import clip_grad_norm_", "torch.nn.utils"),
        ("torch.linalg.cholesky_ex", "torch.linalg.cholesky_ex"),
    ],
)
def test_what_torch_has_and_the_page_lacks_is_no_error_of_the_reader(page, code, name):
    answer = ask(page, "run", source=f"x = 1\n{code}\n")["error"]
    assert answer["page"] and answer["message"].startswith(f"this page’s torch has no {name}. ")
    assert answer["lines"][0] >= 2


# --- Where the page's smaller Python would do otherwise, without a word


HANDLED = """
# a number times a tensor is a tensor, of which Python's own functions know
x = torch.tensor(2.0)
print(0.5 * x, 1 - x, 3 / x, float(torch.tensor(2.5)), int(torch.tensor(7)))
print(max(0.0, x), min(x, 5.0), max([x, 3 * x]))
# sorted keeps equals in order, backwards too; zip may be strict
print(sorted(['b1', 'c0', 'a1'], key=lambda p: p[1]))
print(sorted(['b1', 'c0', 'a1'], key=lambda p: p[1], reverse=True))
print(list(zip([1, 2], 'ab', strict=True)))
# another dtype, and whole numbers beyond 32 bits
print(torch.arange(3).softmax(0, torch.float64), torch.ones(2).log_softmax(0, torch.float64))
print(F.softmax(torch.arange(4).view(2, 2), 0, dtype=torch.float32))
print(torch.tensor(2**40).item(), 2**40)
# what is so already is the same tensor, and what is made anew another
x = torch.zeros(3)
for y in (x.flatten(), x.float(), x.to(torch.float32), x.view(1, 3).flatten(0, 1)):
    y[0] += 1
print(x)
for y in (torch.tensor(x, dtype=x.dtype), x.clone(), x.double(), torch.stack([x, x]).flatten()):
    y[0] += 1
print(x)
# masks are combined
keep = torch.tensor([True, False, True])
past = torch.ones(3, 3, dtype=torch.bool).tril_()
print(past ^ keep, torch.logical_and(past, keep), past.logical_or(keep[:, None]))
print((past & keep).fill_diagonal_(True), past.long().logical_xor(keep).logical_not_())
print(keep.new_ones(2), keep.new_zeros(1, 2), keep.new_full((2,), True))
# a tensor is printed as torch prints it
print(torch.tensor([[1.0, 20.5], [-3.0, 4.0]]), torch.arange(3), torch.eye(2) > 0)
print(torch.tensor([1e-6, 1.0]), torch.tensor([float('inf'), 1.0]), torch.zeros(2, 2, 2))
"""


def test_what_the_page_does_as_python_does(page):
    lines: list[str] = []

    def show(*values: object) -> None:
        lines.append(" ".join(map(str, values)))

    exec(HANDLED, NAMES | {"print": show})
    assert engine_page.printed(page, HANDLED) == "\n".join(lines)


SAID = {
    "changing in place by *=": ("x = torch.ones(2)\ny = x\n\ny *= 2", 4, "does not change the old"),
    "changing in place by /=": ("y[0] /= 2", 1, "does not change the old"),
    "a dictionary in a loop": ("a = 1\nfor k, v in a.items():\n    pass", 2, "has no order"),
    "a dictionary in a list": ("b = [k for k in a.keys()]", 1, "has no order"),
    "sort of a list": ("x = [2, 1]\nx.sort()", 2, "keep the order of equals"),
    "in a list of tensors": ("if x in [a, b]:\n    pass", 1, "does not compare tensors"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_it_cannot_do_is_said_before_with_its_line(page, name):
    code, line, words = SAID[name]
    (found,) = traps(page, code)
    assert found["line"] == line and words in found["words"]


def test_what_is_as_in_python_is_not_said(page):
    for code in (
        "for x in [1, 2]:\n    pass",
        "'y *= 2'  # y *= 2\n'''\ny *= 2\n'''",
        "y = x * 2\nz = y == 2\nw = x @ y\nprint(sorted(a.items()))",
        "x += 1\nx -= 1",
    ):
        assert traps(page, code) == []


def traps(page: Page, code: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(
        "async (code) => (await import('./_traps.js')).traps(code)", code
    )
    return found


# --- Reading ahead

PEEKS = """async ([rows, length, peeks]) => {
  const { futureMoves } = await import('./_ahead.js');
  const tokens = Float64Array.from({ length: rows * length }, (_, i) => i % 4);
  // each place gives what it reads, and one of them what comes after it as well
  const predict = (read) => read.map((x, i) => x + (i % length === peeks ? 0.5 * read[i + 1] : 0));
  return futureMoves({ tokens, shape: [rows, length], vocabulary: 4 }, predict);
}"""


@pytest.mark.parametrize(("rows", "length"), [(1, 7), (2, 12), (27, 6), (32, 24), (5, 5)])
def test_a_model_that_peeks_at_one_place_is_found(page, rows, length):
    for peeks in range(length - 1):
        found = page.evaluate(PEEKS, [rows, length, peeks])
        assert found["moved"] >= 0.5
        assert (found["reader"], found["read"]) == (peeks, peeks + 1)
    assert page.evaluate(PEEKS, [rows, length, -1])["moved"] == 0


JUDGED = """
def task(cell, given):
    x = given["table"][given["tokens"]]
    return {"logits": cell["f"](x)}
"""
MIXES = """
def f(x):
    t = x.shape[1]
    scores = (x @ x.mT).masked_fill(torch.ones(t, t).triu(FROM).bool(), -torch.inf)
    return scores.softmax(-1) @ x
"""


@pytest.mark.parametrize("width", [3, 300])
@pytest.mark.parametrize(("start", "ahead"), [(1, False), (2, True)])
def test_a_model_is_judged_alike_at_once_and_by_its_program(page, width, start, ahead):
    """The wide one is worth a program."""
    assert ask(page, "run", source=MIXES.replace("FROM", str(start))) == {"error": None}
    draw = Generator().manual_seed(1)
    table = torch.randn(5, width, generator=draw) / width**0.5
    tokens = torch.randint(5, (9, 11), generator=draw)
    inputs = [engine_page.given("table", table), engine_page.given("tokens", tokens)]
    made = ask(page, "evaluate", task=JUDGED, inputs=inputs, numbers=False)
    assert made["outputs"]["logits"]["values"] is None
    names = {"logits": made["outputs"]["logits"]["node"], "tokens": made["names"]["tokens"]}
    found = ask(page, "judge", **names, vocabulary=5, most=40)
    x = table[tokens]
    later = torch.ones(11, 11).triu(start).bool()
    true = (x @ x.mT).masked_fill(later, -torch.inf).softmax(-1) @ x
    near = torch.tensor(found["values"])
    torch.testing.assert_close(near, true.flatten()[:40], rtol=1e-4, atol=1e-6)
    assert (found["ahead"]["moved"] > 1e-3) is ahead
    assert (found["ahead"]["slope"] > 1e-3) is ahead
    if ahead:
        assert found["ahead"]["read"] == found["ahead"]["reader"] + 1
    every = ask(page, "judge", **names, vocabulary=5, most=40, every=True)["ahead"]
    assert (every["slope"] > 1e-3) is ahead
    assert found["ahead"]["cuts"] == [5, 10] and every["cuts"] == [10, 10]


# --- Limits


ONES = {"a": torch.ones(3, dtype=torch.float64)}


def test_what_looks_at_a_number_is_told(page):
    source = "def f(a):\n    return a * 2 if a.sum() > 0 else a"
    assert evaluated(page, source, ONES)["looked"] is True


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a + torch.rand(3)", "random numbers cannot be part of a program"),
        ("a.argsort()", "argsort is not among the operations of a program"),
    ],
)
def test_what_no_program_can_have_is_named(page, value, words):
    nodes = evaluated(page, f"def f(a):\n    return {value}", ONES)["nodes"]
    assert words in ask(page, "program", outputs=nodes)["error"]["message"]


def test_a_heap_that_fills_is_said_and_the_next_run_works(page):
    answer = ask(page, "run", source="x = torch.zeros(40_000, 40_000)")
    assert answer["error"]["kind"] == "MemoryError"
    assert ask(page, "run", source="x = 1") == {"error": None}


ROOM = """
first = torch.arange(2**20) * 3
deep = first
for i in range(24):
    deep = deep + torch.arange(2**20) * i
    assert deep[-1].item() == (2**20 - 1) * (3 + i * (i + 1) // 2)
print((deep - first).max().item() == 276 * (2**20 - 1))
print(first.sum().item() == 3 * 2**19 * (2**20 - 1))
"""


def test_what_is_computed_makes_room_and_is_there_when_it_is_asked_for_again(page):
    """Some 75 million numbers, of which few are needed at a time; not so the others."""
    assert engine_page.printed(page, ROOM) == "True\nTrue"
    drawn = "kept = [torch.rand(2**22) for _ in range(9)]"
    at_once = "x = torch.arange(2**24)\n(x + (x + 1))[0].item()"
    for source in (drawn, at_once):
        assert ask(page, "run", source=source)["error"]["kind"] == "MemoryError"


def test_endless_printing_shows_some_lines(page):
    page.evaluate("printed.length = 0")
    assert ask(page, "run", source="for i in range(3000):\n    print(i)") == {"error": None}
    lines = page.evaluate("printed")
    assert len(lines) == 501 and lines[:2] == ["0", "1"]
    assert lines[-1] == "… only the first 500 lines are shown."
