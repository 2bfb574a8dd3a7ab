"""Does a loss fall along its gradient as it should? Taylor's remainder, parameter by parameter."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor, nn

from attn_notes.analysis.asking import unchanged
from attn_notes.doubt.precision import doubled, widening
from attn_notes.doubt.reports import Answer, Report

STEPS = (1e-1, 1e-2, 1e-3, 1e-4)
LEAST = 1.8  # the order that is taken for 2: kinks cost a little
DRAWS = 2
LITTLE = 1e-2  # how far a parameter moves whose entries are alike, at h = 1
ROUNDING = 1e-12  # of the loss: what is smaller says nothing


def slope(model: nn.Module, loss: Callable[[nn.Module], Tensor]) -> Report:
    """Hold a model's gradient against what its loss does, in double precision.

    Where a parameter θ moves by h·v, the loss changes by h·g·v and a remainder. With the right
    gradient g the remainder falls as h², with another one as h: a part that is detached, a slope
    that is a percent too steep, a custom backward pass that forgets a factor, an estimator. An
    answer's `size` is that order, infinite where there is no remainder to be seen: the loss is as
    good as linear in θ, or does not hang on it.

    The model is left as it was, and its gradients too.

    Args:
        model: its parameters that are trained are asked about, each by itself.
        loss: loss(model), a number; the batch is yours to keep. Random numbers fall alike each
            time.

    Raises:
        ValueError: nothing is trained, or the loss is not one finite number.
    """
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not trained:
        raise ValueError("no parameter of the model is trained")

    def value() -> Tensor:
        with widening():
            return loss(model)

    with unchanged(model), doubled([model]), unchanged(value) as ask:
        at = ask()
        if at.numel() != 1 or not bool(at.isfinite()):
            raise ValueError("a loss is one finite number")
        slopes = torch.autograd.grad(at, list(trained.values()), allow_unused=True)
        if float(ask().detach()) != float(at.detach()):
            noisy = Answer("slope", "not asked", found="the loss is not the same twice")
            return Report(f"slope, of {type(model).__name__}", [noisy])
        answers = []
        for (name, parameter), g in zip(trained.items(), slopes, strict=True):
            orders = [
                _order(parameter, torch.zeros_like(parameter) if g is None else g, ask, draw)
                for draw in range(DRAWS)
            ]
            answers.append(_answer(name, min(orders), g is None))
    return Report(f"slope, of {type(model).__name__}", answers)


@torch.no_grad()
def _order(parameter: Tensor, g: Tensor, ask: Callable[[], Tensor], draw: int) -> float:
    """The order of the remainder between the two smallest steps at which it can be seen."""
    v = torch.randn(parameter.shape, generator=Generator().manual_seed(draw))
    size = float(parameter.std(correction=0)) + LITTLE  # gains are all one, biases zero
    v = (v.to(parameter) * size / parameter.numel() ** 0.25).reshape(parameter.shape)
    start, at, along = parameter.clone(), float(ask()), float((g * v).sum())
    seen: list[tuple[float, float]] = []
    for h in STEPS:
        parameter.copy_(start + h * v)
        moved = float(ask()) - at
        parameter.copy_(start)
        rest = abs(moved - h * along)
        if rest > ROUNDING * (abs(at) + abs(moved)):
            seen.append((h, rest))
    if len(seen) < 2:
        return math.inf
    (h, rest), (smaller, less) = seen[-2:]
    return math.log(rest / less) / math.log(h / smaller)


def _answer(name: str, order: float, unused: bool) -> Answer:
    if math.isinf(order):
        said = "the loss does not hang on it" if unused else "the loss is as good as linear in it"
        return Answer(name, "ok", size=order, found=said)
    verdict = "ok" if order >= LEAST else "wrong"
    return Answer(name, verdict, size=order, found=f"the remainder falls with order {order:.2f}")
