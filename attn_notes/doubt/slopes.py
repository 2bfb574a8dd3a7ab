"""Does a loss fall along its gradient as it should? Taylor's remainder, parameter by parameter."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch
from torch import Generator, Tensor, nn

from attn_notes import allowed
from attn_notes.analysis.snapshot import Asked, unchanged
from attn_notes.doubt.labels import number
from attn_notes.doubt.precision import doubled, widening
from attn_notes.doubt.reports import ALONE, Answer, RefusedError, Report, unasked
from attn_notes.doubt.subject import stirred

STEPS = (1e-1, 1e-2, 1e-3, 1e-4)
FINER = (1e-5, 1e-6)
LEAST = 1.8  # the order that is taken for 2: kinks cost a little
DIRECTIONS, DRAWS = 2, 3  # in which it moves; of random numbers, where any are drawn
LITTLE = 1e-2  # how far a parameter moves whose entries are alike, at h = 1
STILL = "with what changes from call to call held still"
MOST = 2.5  # and what is no cause to look closer: a step that leaves a jump behind falls faster
SAME = 1e-9  # of a loss and its slopes: so much is rounding
KINK = 0.1  # how far from one the orders on its sides may be
NUMBER = "a loss is one finite number"
ROUNDING = 1e-12  # of the loss: what is smaller says nothing


@allowed.typed
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
        loss: loss(model), a number, or what has a `loss`; the batch is yours to keep. Random
            numbers fall alike each time.

    Raises:
        ValueError: nothing is trained, or the loss is not one finite number.
    """
    trained: dict[str, Tensor] = {n: p for n, p in model.named_parameters() if p.requires_grad}
    if not trained:
        raise ValueError("no parameter of the model is trained")

    def value() -> Tensor:
        with widening():
            made = number(loss(model))
        if made is None or made.numel() != 1:
            raise _NotFiniteError(NUMBER)
        return made

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
                    found.setdefault("slope", unasked("slope", error))
                    break
                when = f", {ALONE}" * little
                if any(order < LEAST for order, _ in orders.values()):
                    with suppress(Exception), _still(model, trained, ask, value) as still:
                        if still:  # evaluation may refuse
                            orders, when = _orders(trained, still), f"{when}, {STILL}"
                for name, (order, unused) in orders.items():
                    if name not in found or (found[name].verdict == "ok" and order < LEAST):
                        found[name] = _answer(name, order, unused, when)
                if draw and not ask.drew:
                    break
    return Report(f"slope, of {type(model).__name__}", [*found.values()])


class _NotFiniteError(ValueError): ...


@contextmanager
def _still(
    model: nn.Module, trained: dict[str, Tensor], ask: Asked, value: Callable[[], Tensor]
) -> Iterator[Asked | None]:
    """The same loss without what changes from call to call; none if that is no part of it.

    So it is with power iterations, as of a spectral norm: no slope goes through the buffers that
    a call moves. In evaluation the layer takes them as they are: loss and slopes are the same.
    """
    ask.restore()
    kept = {part: _copies(part) for part in model.modules()}
    at = _in_line(_graded(trained, ask))
    moved = {part: _copies(part) for part in kept}
    ask.restore()
    still: list[nn.Module] = []
    with unchanged(model):
        for part, now in moved.items():
            if part.training and any(not a.equal(b) for a, b in zip(now, kept[part], strict=True)):
                _fill(part, now)
                part.training = False
                with unchanged(value) as asked:
                    asked.draw = ask.draw
                    here = _in_line(_graded(trained, asked))
                if here.shape == at.shape and (here - at).abs().max() <= SAME * at.abs().max():
                    still.append(part)
                else:  # as of a batch norm, which a call moves and does not read
                    _fill(part, kept[part])
                    part.training = True
        with unchanged(value) as asked:
            asked.draw = ask.draw
            yield asked if still else None


def _graded(trained: dict[str, Tensor], ask: Asked) -> list[Tensor]:
    """The loss, and its slope at each parameter; one of none has no size."""
    at = ask()
    if not bool(at.isfinite()):
        raise _NotFiniteError(NUMBER)
    slopes: Sequence[Tensor | None] = [None] * len(trained)
    if at.requires_grad:
        slopes = torch.autograd.grad(at, list(trained.values()), allow_unused=True)
    return [at.detach(), *(at.new_zeros(0) if g is None else g for g in slopes)]


def _in_line(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in tensors])


def _copies(part: nn.Module) -> list[Tensor]:
    return [buffer.clone() for buffer in part.buffers(recurse=False)]


@torch.no_grad()
def _fill(part: nn.Module, values: Sequence[Tensor]) -> None:
    for buffer, value in zip(part.buffers(recurse=False), values, strict=True):
        buffer.copy_(value)


def _orders(trained: dict[str, Tensor], ask: Asked) -> dict[str, tuple[float, bool]]:
    """Of each parameter the order, and whether the loss does not know it."""
    at, *slopes = _graded(trained, ask)
    if float(ask().detach()) != float(at):
        raise RefusedError("the loss is not the same twice")
    found = {}
    for (name, parameter), g in zip(trained.items(), slopes, strict=True):
        unused = g.shape != parameter.shape
        slope = torch.zeros_like(parameter) if unused else g
        orders = [_order(parameter, slope, ask, draw) for draw in range(DIRECTIONS)]
        found[name] = min(orders), unused
    return found


@torch.no_grad()
def _order(
    parameter: Tensor, g: Tensor, ask: Callable[[], Tensor], draw: int, where: Tensor | None = None
) -> float:
    """The order by which the remainder falls on the way to the right.

    Where it looks wrong, smaller steps are asked, and the way to the left as well. What is seen
    from both sides tells a slope that is off from two that are not: curvature, which cancels in
    half their difference, may be as good as none and so be passed by what is of third order; and
    at a kink both remainders have one sign, for the gradient lies between two slopes. Where it
    jumps, as where a sign is kept as a number, only what has a slope is moved: training moves no
    more.
    """
    v = torch.randn(parameter.shape, generator=Generator().manual_seed(draw))
    size = float(parameter.std(correction=0)) + LITTLE  # gains are all one, biases zero
    v = (v.to(parameter) * size / parameter.numel() ** 0.25).reshape(parameter.shape)
    v = v if where is None else v * where
    start, at, along = parameter.clone(), float(ask()), float((g * v).sum())

    def rest(h: float) -> float:
        there = start + h * v
        parameter.copy_(there)
        moved = float(ask().nan_to_num(math.inf)) - at  # no number where it is not defined
        own = not parameter.equal(there)  # as where a table is kept to a norm
        parameter.copy_(start)
        return math.nan if own else moved - h * along

    least = max(ROUNDING * (abs(at) + abs(along)), sys.float_info.min)
    right = {h: rest(h) for h in STEPS}
    if any(map(math.isnan, right.values())):
        return -math.inf
    if LEAST <= (order := _falls(right, least)) <= MOST or math.isinf(order):
        return order
    right |= {h: rest(h) for h in FINER}
    left = {h: rest(-h) for h in right}
    odd = {h: (right[h] - left[h]) / 2 for h in right}
    orders = [_falls(rests, least) for rests in (right, left, odd)]
    one_sign = all(right[h] * left[h] > 0 for h in FINER)
    if one_sign and all(abs(order - 1) < KINK for order in orders[:2]):
        return math.inf
    near, other = right[FINER[-1]], left[FINER[-1]]
    if abs(near) > least and abs(near + other) < KINK * abs(near) and abs(min(orders) - 1) < KINK:
        return min(orders)  # off by as much on both sides, however one has jumped before
    jumps = all(abs(order) < KINK for order in orders[:2])
    if jumps and where is None and g.any():
        return _order(parameter, g, ask, draw, g != 0)
    return max(orders)


def _falls(rests: dict[float, float], least: float) -> float:
    """The order of a remainder between the two smallest steps at which it can be seen.

    At the next it is no more than what can be seen: of a wrong slope no order above one follows.
    """
    seen = [(h, abs(rest)) for h, rest in rests.items() if least < abs(rest) < math.inf]
    if len(seen) < 2:
        return math.inf
    (one, more), (other, less) = seen[-2:]
    bounds = [math.log(less / least) / math.log(other / h) for h in rests if h < other]
    return max([math.log(more / less) / math.log(one / other), *bounds])


def _answer(name: str, order: float, unused: bool, when: str) -> Answer:
    if order == -math.inf:
        said = "could not be told: each call changes it, and no slope goes through that"
        return Answer(name, "not asked", found=said, needed=True)
    if math.isinf(order):
        linear = "the loss is as good as linear in it, or has a kink there"
        said = "the loss does not hang on it" if unused else linear
        return Answer(name, "ok", size=order, found=said)
    verdict = "ok" if order >= LEAST else "wrong"
    said = f"the remainder falls with order {order:.2f}{when}"
    return Answer(name, verdict, size=order, found=said)
