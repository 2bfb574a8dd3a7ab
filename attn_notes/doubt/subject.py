"""A model in one mode and one precision, asked for its logits; and what counts as a difference."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Generator, Tensor, nn

from attn_notes import allowed
from attn_notes.analysis.snapshot import Asked, distance, held, roots, unchanged
from attn_notes.doubt.precision import Coarsest, doubled, widening
from attn_notes.doubt.reports import RefusedError, refusal

Call = Callable[[Any, Tensor], Any]
"""call(model, tokens [n, t]) → logits [n, t, v], or something that holds them."""

EXACT, COARSE = 1e4, 32.0
"""Times the precision: what counts, in double where a leak stands far above it, and elsewhere."""
FINE = 1e-12  # a precision below this is double
NUMBERS = 2**25  # logits that are held at once
MOST_ROWS, MOST_TOKENS = 32, 2000  # that are read at once
AT_ONCE = 2.0  # seconds that a model may read without being asked whether time is up
LARGE = 2000  # from so many tokens on, mixtures of logits are asked in the place of logits
MIXED = 61  # a width that no state has, so that it tells them
LITTLE = 0.02  # of a parameter's spread: how far it is moved, so that a zero no longer hides
REPEATS = 5  # that a move has to stand
NO_GATE = ("bias", "running_mean")  # what is zero at first and hides nothing


@allowed.typed
def logits(made: Any, tokens: Int[Tensor, "n t"], vocabulary: int | None = None) -> Tensor:
    """The logits [n, t, v] in what a model returns: itself, or a part of it.

    Where there are several tensors [n, t, _], the first whose last axis is the vocabulary; if
    there is none such, or no vocabulary is given, the first of all.

    Raises:
        ValueError: there are none, or not at every position.
    """
    return _found(made, tokens, vocabulary)[0]


def doubtful(made: Any, tokens: Tensor, vocabulary: int) -> str:
    """Why what `logits` finds may not be the logits; empty where it is told by its last axis."""
    which, every = _found(made, tokens, vocabulary)
    fit = sum(found.shape[-1] == vocabulary for found in every)
    if fit == 1:
        return ""
    said = f"{fit} tensors could be the logits, and the first was asked"
    if not fit:
        said = f"no tensor has a last axis of {vocabulary:,}, the vocabulary, and in its place one "
        said += f"of {which.shape[-1]:,} was asked"
    return f"{said}: if that is wrong, name them by `call=`"


def _found(made: Any, tokens: Tensor, vocabulary: int | None) -> tuple[Tensor, list[Tensor]]:
    """The logits, and all that could be them, each once."""
    n, t = tokens.shape
    parts = [*_parts(made)]
    fit = (p for p in parts if p.ndim == 3 and p.shape[:2] == (n, t) and p.is_floating_point())
    every = [*dict.fromkeys(fit)]
    if every:
        right = [found for found in every if found.shape[-1] == vocabulary]
        return (right or every)[0], every
    shapes = [tuple(found.shape) for found in parts]
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
        named = made.get("logits")
        yield from _parts([*made.values()] if named is None else named)
    elif isinstance(made, Sequence) and not isinstance(made, str):
        for each in made:
            yield from _parts(each)
    elif hasattr(made, "__dict__") and not isinstance(made, nn.Module):
        yield from _parts(vars(made))


class Subject:
    """Asked, it answers; it counts the rows that it has read.

    Attributes:
        source: what is asked, and by which random numbers.
        name: its mode and precision.
        eps: the precision in which it computes, known after `level`.
        noise: how far the same question is from itself.
        scale: how large its logits are, but for a few that stand out.
        zeros: the names of moved parameters that are zero; None where none is moved.
        last: whether it is not asked again with its parameters moved.
    """

    def __init__(
        self, ask: Asked, name: str, vocabulary: int | None, zeros: Sequence[str] | None
    ) -> None:
        self.source, self.name, self.vocabulary, self.zeros = ask, name, vocabulary, zeros
        self.rows, self.last = 0, True
        self.eps = self.noise = self.scale = 0.0
        self.width, self.took = 0, 0.0  # of its logits; seconds that a row took

    def made(self, x: Tensor, call: Call | None = None) -> Any:
        """Whatever the model returns.

        Raises:
            RefusedError: the model raises something.
        """
        self.rows += len(x)
        try:
            return self.source(x, call)
        except Exception as error:
            raise RefusedError(refusal(error)) from error

    def __call__(self, x: Tensor, call: Call | None = None) -> Tensor:
        """Logits, in the precision that it has.

        Raises:
            RefusedError: the model raises something.
            ValueError: it gives no logits.
        """
        return _found(self.made(x, call), x, self.vocabulary)[0]

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

    def stands(self, one: Callable[[], Tensor], other: Callable[[], Tensor]) -> bool:
        """Whether two answers are apart each time that both are asked.

        Noise that cannot be repeated comes and goes: what does not stand counts as that.
        """
        asked = [(one(), other()) for _ in range(REPEATS)]
        ones, others = (torch.stack(each) for each in zip(*asked, strict=True))
        a, b = (x.double().nan_to_num(1e150, 1e200, -1e200) for x in (ones, others))
        counts = self.relative * (torch.maximum(a.abs(), b.abs()).amax(0) + self.scale)
        apart = torch.maximum(a.amin(0) - b.amax(0), b.amin(0) - a.amax(0))
        within = torch.maximum(a.amax(0) - a.amin(0), b.amax(0) - b.amin(0))
        if bool((apart > counts + 2 * within).any()):
            return True
        self.noise = max(self.noise, float((a[0] - b[0]).abs().max()))
        return False

    def moved(self, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
        """How far logits [n, t, v] are apart at each position: as it is, and of what counts."""
        a, b = before.double(), after.double()
        apart = distance(a, b)
        large = torch.maximum(a.abs(), b.abs()).nan_to_num(0, 0, 0)
        counts = self.relative * (large + self.scale) + 4 * self.noise
        return apart.amax(-1), (apart / counts).amax(-1)


def run(wide: bool, call: Call, model: Any, x: Tensor, other: Call | None = None) -> Any:
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
    vocabulary: int | None = None,
    little: bool = False,
) -> Iterator[Subject]:
    """A model in training mode or not, in double or as it is; afterwards it is as it was.

    A model is anything that can be called. Its matrices may be some `times` as large, in double; a
    head's outputs mixed into `MIXED`; each parameter moved a `little`.
    """
    within = partial(run, wide, call, model)
    with ExitStack() as stack:
        stack.enter_context(unchanged(within))
        top = roots(within)
        for module in top:
            module.train(train)
        if wide:
            stack.enter_context(doubled(top, times))
        zeros = stack.enter_context(stirred(within)) if little else None
        if head is not None:
            stack.enter_context(_mixing(head))
        ask = stack.enter_context(unchanged(within))
        dtype = next((p.dtype for m in top for p in m.parameters() if p.is_floating_point()), None)
        kind = "double" if wide else str(dtype or "as it is").removeprefix("torch.")
        size = MIXED if head is not None else vocabulary
        yield Subject(ask, f"{'train' if train else 'eval'}, {kind}", size, zeros)


@contextmanager
def stirred(model: Any) -> Iterator[list[str] | None]:
    """Each parameter that is trained, moved a little, as training would: by `LITTLE`.

    A layer that starts at zero hides what lies behind it, and so does a gate that a schedule opens,
    a buffer that is all zero. What training leaves alone stays: what is frozen, the row of padding,
    what has a hook on its gradient.

    Returns: the names of those that are zero, but for biases; None if nothing is trained.
    """
    kept, g = dict[Tensor, tuple[str, Tensor]](), Generator().manual_seed(0)
    try:
        for name, part, own in _parameters(model):
            if own in kept:
                continue
            kept[own] = name, own.data
            off = torch.randn(own.shape, generator=g, dtype=torch.float64)
            spread = float(own.detach().abs().double().std(correction=0)) if own.numel() else 0.0
            alike = not spread > 0  # nor is it no number
            off = off.to(own.device).abs() if alike else off.to(own.device) * min(spread, 1.0)
            if getattr(part, "padding_idx", None) is not None:
                off[part.padding_idx] = 0
            own.data = own.data + LITTLE * off.to(own.dtype)
        zeros = [n for n, data in kept.values() if not n.endswith(NO_GATE) and not bool(data.any())]
        yield zeros if kept else None
    finally:
        for own, (_, data) in kept.items():
            own.data = data


def movable(model: Any) -> bool:
    """Whether there is anything for `stirred` to move."""
    return any(True for _ in _parameters(model))


def _parameters(model: Any) -> Iterator[tuple[str, Any, Tensor]]:
    """Name, owner and tensor of what `stirred` moves, and of tensors that a function holds."""
    for top in roots(model):
        for prefix, part in top.named_modules():
            for name, own in {**vars(part), **part._buffers, **part._parameters}.items():
                if isinstance(own, Tensor) and _moves(own):
                    yield f"{prefix}.{name}".lstrip("."), part, own
    for one in held(model):
        if isinstance(one, Tensor) and not isinstance(one, nn.Parameter) and _moves(one):
            yield "a tensor", None, one


def _moves(own: Tensor) -> bool:
    """Whether it is trained; or no parameter, and all zero."""
    if own.requires_grad:
        return own.is_leaf and not own._backward_hooks
    kept = own.is_floating_point() and not isinstance(own, nn.Parameter)
    return kept and own.numel() > 0 and not bool(own.any())


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
