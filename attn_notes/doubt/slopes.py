"""Does a loss fall along its gradient as it should? Taylor's remainder, parameter by parameter."""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Generator, Tensor, nn

from attn_notes.analysis.asking import Asked, unchanged
from attn_notes.doubt.precision import doubled, widening
from attn_notes.doubt.reports import ALONE, REFUSED, Answer, RefusedError, Report, refusal
from attn_notes.doubt.subject import stirred

STEPS = (1e-1, 1e-2, 1e-3, 1e-4)
FINER = (1e-5, 1e-6)
LEAST = 1.8  # the order that is taken for 2: kinks cost a little
DIRECTIONS, DRAWS = 2, 3  # in which it moves; of random numbers, where any are drawn
LITTLE = 1e-2  # how far a parameter moves whose entries are alike, at h = 1
ROUNDING = 1e-12  # of the loss: what is smaller says nothing


def slope(model: nn.Module, loss: Callable[[Any], Tensor]) -> Report:
    """Hold a model's gradient against what its loss does, in double precision.

    Where a parameter θ moves by h·v, the loss changes by h·g·v and a remainder. With the right
    gradient g the remainder falls as h², with another one as h: a part that is detached, a slope
    that is a percent too steep, a custom backward pass that forgets a factor, an estimator. An
    answer's `size` is that order, infinite where there is no remainder to be seen: the loss is as
    good as linear in θ, or does not hang on it.

    It is asked of the model as it is, and once more with its parameters moved a little: what starts
    at zero hides the slopes behind it. Where random numbers are drawn, several draws are asked. The
    model is left as it was, and its gradients too. What raises is a line of the report.

    Args:
        model: its parameters that are trained are asked about, each by itself.
        loss: loss(model), a number; the batch is yours to keep. Random numbers fall alike each
            time.

    Raises:
        ValueError: nothing is trained, or the loss is not one finite number.
    """
    trained: dict[str, Tensor] = {
        name: p for name, p in model.named_parameters() if p.requires_grad
    }
    if not trained:
        raise ValueError("no parameter of the model is trained")

    def value() -> Tensor:
        with widening():
            return loss(model)

    found: dict[str, Answer] = {}
    for little in (False, True):
        with unchanged(model), doubled([model]), ExitStack() as stack:
            if little:
                stack.enter_context(stirred(model))
            ask = stack.enter_context(unchanged(value))
            for draw in range(DRAWS):
                ask.draw = draw
                try:
                    orders = _orders(trained, ask)
                except _NotFiniteError:
                    if not little:
                        raise
                    break
                except Exception as error:
                    said = f"{REFUSED}: {refusal(error)}"
                    found.setdefault("slope", Answer("slope", "not asked", found=said, needed=True))
                    break
                for name, (order, unused) in orders.items():
                    if name not in found or (found[name].verdict == "ok" and order < LEAST):
                        when = f", {ALONE}" * little
                        found[name] = _answer(name, order, unused, when)
                if draw and not ask.drew:
                    break
    return Report(f"slope, of {type(model).__name__}", [*found.values()])


class _NotFiniteError(ValueError): ...


def _orders(trained: dict[str, Tensor], ask: Asked) -> dict[str, tuple[float, bool]]:
    """Of each parameter the order, and whether the loss does not know it."""
    at = ask()
    if at.numel() != 1 or not bool(at.isfinite()):
        raise _NotFiniteError("a loss is one finite number")
    slopes: Sequence[Tensor | None] = [None] * len(trained)
    if at.requires_grad:
        slopes = torch.autograd.grad(at, list(trained.values()), allow_unused=True)
    if float(ask().detach()) != float(at.detach()):
        raise RefusedError("the loss is not the same twice")
    found = {}
    for (name, parameter), g in zip(trained.items(), slopes, strict=True):
        slope = torch.zeros_like(parameter) if g is None else g
        orders = [_order(parameter, slope, ask, draw) for draw in range(DIRECTIONS)]
        found[name] = min(orders), g is None
    return found


@torch.no_grad()
def _order(parameter: Tensor, g: Tensor, ask: Callable[[], Tensor], draw: int) -> float:
    """The order of the remainder between the two smallest steps at which it can be seen.

    Where it looks wrong, smaller steps are asked: a kink in the way looks so, and lies behind.
    """
    v = torch.randn(parameter.shape, generator=Generator().manual_seed(draw))
    size = float(parameter.std(correction=0)) + LITTLE  # gains are all one, biases zero
    v = (v.to(parameter) * size / parameter.numel() ** 0.25).reshape(parameter.shape)
    start, at, along = parameter.clone(), float(ask()), float((g * v).sum())
    seen: list[tuple[float, float]] = []
    order = math.inf
    for h in (*STEPS, *FINER):
        if h in FINER and order >= LEAST:
            break
        parameter.copy_(start + h * v)
        moved = float(ask()) - at
        parameter.copy_(start)
        rest, least = abs(moved - h * along), ROUNDING * (abs(at) + abs(moved))
        if rest > least:
            seen.append((h, rest))
        elif h in FINER and seen[-1][1] * h / seen[-1][0] > 10 * least:
            return math.inf  # as a wrong slope would be seen
        if len(seen) > 1:
            (one, more), (other, less) = seen[-2:]
            order = math.log(more / less) / math.log(one / other)
    return order


def _answer(name: str, order: float, unused: bool, when: str) -> Answer:
    if math.isinf(order):
        said = "the loss does not hang on it" if unused else "the loss is as good as linear in it"
        return Answer(name, "ok", size=order, found=said)
    verdict = "ok" if order >= LEAST else "wrong"
    said = f"the remainder falls with order {order:.2f}{when}"
    return Answer(name, verdict, size=order, found=said)
