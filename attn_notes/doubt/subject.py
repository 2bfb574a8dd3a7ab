"""A model in one mode and one precision, asked for its logits; and what counts as a difference."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from attn_notes.analysis.asking import distance, roots, unchanged
from attn_notes.doubt.precision import Coarsest, doubled, widening

Call = Callable[[Any, Tensor], Any]
"""call(model, tokens [n, t]) → logits [n, t, v], or something that holds them."""

EXACT, COARSE = 1e4, 32.0
"""Times the precision: what counts, in double where a leak stands far above it, and elsewhere."""
FINE = 1e-12  # a precision below this is double
NUMBERS = 2**25  # logits that are held at once
MOST_ROWS, MOST_TOKENS = 32, 2000  # that are read at once
AT_ONCE = 2.0  # seconds that a model may read without being asked whether time is up
LARGE = 2000  # from so many tokens on, mixtures of logits are asked in the place of logits
MIXED = 64


class RefusedError(Exception):
    """A model cannot be asked in this way; its own error is the cause."""


def logits(made: Any, tokens: Tensor) -> Tensor:
    """The logits [n, t, v] in what a model returns: itself, or the first such part of it.

    Raises:
        ValueError: there are none, or not at every position.
    """
    n, t = tokens.shape
    for found in _parts(made):
        if found.ndim == 3 and found.shape[:2] == (n, t) and found.is_floating_point():
            return found
    shapes = [tuple(found.shape) for found in _parts(made)]
    raise ValueError(
        f"of tokens ({n}, {t}) the model makes {shapes or type(made).__name__}, and what is asked "
        f"for are the logits of every position, ({n}, {t}, vocabulary): give `call=lambda model, "
        "tokens: ...` that returns them"
    )


def _parts(made: Any) -> Iterator[Tensor]:
    if isinstance(made, Tensor):
        yield made
    elif getattr(made, "logits", None) is not None:
        yield from _parts(made.logits)
    elif isinstance(made, Mapping):
        for key in sorted(made, key=lambda key: key != "logits"):
            yield from _parts(made[key])
    elif isinstance(made, Sequence) and not isinstance(made, str):
        for each in made:
            yield from _parts(each)
    elif hasattr(made, "__dict__") and not isinstance(made, nn.Module):
        yield from _parts(vars(made))


class Subject:
    """Asked, it answers; it counts the rows that it has read.

    Attributes:
        name: its mode and precision.
        eps: the precision in which it computes, known after `level`.
        noise: how far the same question is from itself.
        scale: how large its logits are, but for a few that stand out.
    """

    def __init__(self, ask: Callable[..., Any], name: str) -> None:
        self._ask, self.name, self.rows = ask, name, 0
        self.eps = self.noise = self.scale = 0.0
        self.width, self.took = 0, 0.0  # of its logits; seconds that a row took

    def __call__(self, x: Tensor, call: Call | None = None) -> Tensor:
        """Logits, in the precision that it has.

        Raises:
            RefusedError: the model raises something.
            ValueError: it gives no logits.
        """
        self.rows += len(x)
        try:
            made = self._ask(x, call)
        except Exception as error:
            said = str(error).partition("\n")[0][:160]
            raise RefusedError(f"{type(error).__name__}: {said}") from error
        return logits(made, x)

    @torch.no_grad()
    def level(self, x: Tensor, repeats: int = 1) -> Tensor:
        """Learn what counts as a difference here; returns the logits."""
        start = time.perf_counter()
        with Coarsest() as coarsest:
            first = self(x).clone()
        self.took = (time.perf_counter() - start) / len(x)
        self.eps = max(coarsest.eps, torch.finfo(first.dtype).eps)
        self.width = first.shape[-1]
        few = first.flatten()[:: max(1, first.numel() // 10_000)].double().abs()
        few = few[few.isfinite() & (few > 0)]
        self.scale = float(few.quantile(0.95)) if len(few) else 1.0
        self.noise = 0.0
        for _ in range(repeats):
            self.noise = max(self.noise, float(distance(first.double(), self(x).double()).max()))
        return first

    @property
    def relative(self) -> float:
        """What counts, of a number's size."""
        return (EXACT if self.eps < FINE else COARSE) * self.eps

    @property
    def above(self) -> float:
        """What counts, of a logit of the usual size."""
        return 2 * self.relative * self.scale + 4 * self.noise

    def at_once(self, t: int) -> int:
        """How many texts of t tokens are asked at once."""
        soon = int(AT_ONCE / self.took)
        return max(1, min(MOST_ROWS, MOST_TOKENS // t, NUMBERS // (t * self.width), soon))

    def moved(self, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
        """How far logits [n, t, v] are apart at each position: as it is, and of what counts."""
        a, b = before.double(), after.double()
        apart = distance(a, b)
        large = torch.maximum(a.abs(), b.abs()).nan_to_num(0, 0, 0)
        counts = self.relative * (large + self.scale) + 4 * self.noise
        return apart.amax(-1), (apart / counts).amax(-1)


def _run(wide: bool, call: Call, model: Any, x: Tensor, other: Call | None = None) -> Any:
    """A model's answer, in double or as it is."""
    with widening() if wide else nullcontext():
        return (other or call)(model, x)


@contextmanager
def asked(
    model: Any,
    call: Call,
    *,
    train: bool,
    wide: bool,
    times: float = 1.0,
    head: nn.Linear | None = None,
) -> Iterator[Subject]:
    """A model in training mode or not, in double or as it is; afterwards it is as it was.

    Args:
        model: a module, or anything that can be called.
        call: how it is asked.
        train: in training mode.
        wide: in double precision.
        times: how much larger its matrices are, in double.
        head: mix this layer's outputs into `MIXED`.
    """
    within = partial(_run, wide, call, model)
    with ExitStack() as stack:
        stack.enter_context(unchanged(within))
        top = roots(within)
        for module in top:
            module.train(train)
        if wide:
            stack.enter_context(doubled(top, times))
        if head is not None:
            stack.enter_context(_mixing(head))
        ask = stack.enter_context(unchanged(within))
        dtype = next((p.dtype for m in top for p in m.parameters() if p.is_floating_point()), None)
        kind = "double" if wide else str(dtype or "as it is").removeprefix("torch.")
        yield Subject(ask, f"{'train' if train else 'eval'}, {kind}")


@contextmanager
def _mixing(head: nn.Linear) -> Iterator[None]:
    """A few random mixtures of a layer's outputs in the place of all of them."""
    own, size = dict(head._parameters), head.out_features
    weight = head.weight.detach()
    mixes = torch.randn(MIXED, size, generator=Generator().manual_seed(0)) / size**0.5
    mixes = mixes.to(weight)
    head._parameters["weight"] = nn.Parameter(mixes @ weight)
    if head.bias is not None:
        head._parameters["bias"] = nn.Parameter(mixes @ head.bias.detach())
    head.out_features = MIXED
    try:
        yield
    finally:
        head._parameters.update(own)
        head.out_features = size
