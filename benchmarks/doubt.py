"""`attn_notes.doubt` beside what else there is, on the same models: found, false, seconds.

neural-net-checklist asks whether a loss at one position has a gradient at later inputs,
pytest-torch whether padding or another text in the batch changes anything, and torch's gradcheck
holds a gradient against finite differences. The first two are no dependencies of the book's:
`pip install neural-net-checklist pytest-torch`. Last a model of GPT-2's size with random weights
is asked.
"""

import contextlib
import io
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attn_notes import doubt
from attn_notes.analysis.leaks import future_leak
from zoo import hidden, readers, wrong

TOKENS = 70
BOUND = 300  # seconds of two cores


def text(t: int, vocabulary: int, least: int = 0) -> Tensor:
    """One text at random."""
    g = torch.Generator().manual_seed(1)
    return torch.randint(least, vocabulary, (1, t), generator=g)


def ours(planted: readers.Planted, model: Any, x: Tensor) -> bool:
    """Whether anything is found or warned of."""
    report = doubt.causal(model, x, readers.V, **planted.arguments)
    return bool(report.bad or report.warnings)


def small(planted: readers.Planted, model: Any, x: Tensor) -> bool:
    """The detector of the lessons, in the mode in which a model is trained."""
    return future_leak(lambda x: _tensor(model(x)), x, readers.V) > 0


def checklist(planted: readers.Planted, model: Any, x: Tensor) -> bool:
    """neural-net-checklist: forwards of the tokens, backwards to what is embedded."""
    diagnostics = import_module("neural_net_checklist.torch_diagnostics")
    table = next(part for part in model.modules() if isinstance(part, nn.Embedding))

    def embedded(h: Tensor) -> Tensor:
        handle = table.register_forward_hook(lambda *_: h)
        try:
            return _tensor(model(x))
        finally:
            handle.remove()

    h = table(x).detach()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            read = _Function(lambda x: _tensor(model(x)))
            diagnostics.assert_forward_causal_property(lambda: read, (x, x))
            diagnostics.assert_backward_causal_property(lambda: _Function(embedded), (h, h))
    except AssertionError:
        return True
    return False


def plugin(planted: readers.Planted, model: Any, x: Tensor) -> bool:
    """pytest-torch: of what `pytest --torch-model` asks that a leak could fail; left where told."""
    asks = import_module("pytest_torch")
    read = _Function(lambda input_ids: _tensor(model(input_ids))).eval()
    read.model = model.eval()
    pad = planted.arguments.get("pad")
    try:
        asks.check_inference_contract(read, torch.cat([x, x.flip(1)]))
        for side in ("right",) if pad is None else ("right", "left"):
            given = {"input_ids": x}
            asks.assert_padding_invariant(read, given, side=side, pad_value=pad or 0)
    except AssertionError:
        return True
    return False


class _Function(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.function(input_ids)


def _tensor(made: Any) -> Tensor:
    if isinstance(made, Tensor):
        return made
    return made[0] if isinstance(made, tuple) else made.logits


def reading() -> None:
    """Who finds how many models that read ahead."""
    print(f"{TOKENS} tokens; {len(readers.PLANTED)} planted, {len(readers.HONEST)} honest")
    print(f"{'':34}{'found':>8}{'false':>8}{'refused':>9}{'seconds':>9}")
    for name, way in (
        ("doubt.causal", ours),
        ("analysis.leaks.future_leak, train", small),
        ("neural-net-checklist", checklist),
        ("pytest-torch", plugin),
    ):
        found, false, refused, start = 0, 0, 0, time.perf_counter()
        for planted in (*readers.PLANTED, *hidden.PLANTED, *readers.HONEST, *hidden.HONEST):
            torch.manual_seed(0)
            model, x = planted.make(), text(TOKENS, readers.V, least=2)
            try:
                told = way(planted, model, x)
            except ModuleNotFoundError as error:
                print(f"{name:34}is not installed: {error.name}")
                break
            except Exception as error:
                refused += 1
                print(f"  {name} refuses {planted.name}: {type(error).__name__}", file=sys.stderr)
                continue
            found, false = (
                found + (told and bool(planted.check)),
                false + (told and not planted.check),
            )
        else:
            took = time.perf_counter() - start
            print(f"{name:34}{found:8}{false:8}{refused:9}{took:9.1f}")


def sloping() -> None:
    """Who finds how many gradients that are wrong."""
    print(
        f"\n{len(wrong.SLOPES)} losses, of which {sum(bad for *_, bad in wrong.SLOPES)} are wrong"
    )
    for name, way in (("doubt.slope", _slope), ("torch.autograd.gradcheck", _gradcheck)):
        found, false, start = 0, 0, time.perf_counter()
        for _, make, _, bad in wrong.SLOPES:
            torch.manual_seed(0)
            told = way(make())
            found, false = found + (told and bad), false + (told and not bad)
        print(f"{name:34}{found:8}{false:8}{'':9}{time.perf_counter() - start:9.1f}")


def _slope(model: nn.Module) -> bool:
    return bool(doubt.slope(model, wrong.loss).bad)


def _gradcheck(model: nn.Module) -> bool:
    model = model.double()
    names, values = zip(*model.named_parameters(), strict=True)
    given = tuple(value.detach().clone().requires_grad_() for value in values)

    def value(*tensors: Tensor) -> Tensor:
        called = dict(zip(names, tensors, strict=True))
        return wrong.loss(lambda x: torch.func.functional_call(model, called, (x,)))

    return not torch.autograd.gradcheck(value, given, fast_mode=True, raise_exception=False)


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.network = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)
        )
        self.heads = heads

    def forward(self, h: Tensor) -> Tensor:
        parts = self.inner(self.first(h)).unflatten(-1, (3, self.heads, -1))
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + self.outer(mixed.transpose(1, 2).flatten(-2))
        return h + self.network(self.second(h))


class Large(nn.Module):
    """A model of GPT-2's sizes: 12 layers of 768, a vocabulary of 50,257, 1,024 tokens."""

    def __init__(self, v: int = 50_257, t: int = 1024, width: int = 768, layers: int = 12) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(v, width), nn.Embedding(t, width)
        self.blocks = nn.Sequential(*[_Block(width, 12) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, v, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x: Tensor) -> Tensor:
        h = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(h)))


def large() -> None:
    """How long a model of GPT-2's size takes, and what the report says it left out."""
    torch.manual_seed(0)
    model, start = Large(), time.perf_counter()
    report = doubt.causal(model, text(1024, 50_257), 50_257, budget=0.8 * BOUND)
    print(f"\n{report}\n{time.perf_counter() - start:.0f} s, and {BOUND} are allowed")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in (reading, sloping, large):
        if not sys.argv[1:] or part.__name__ in sys.argv[1:]:
            part()
