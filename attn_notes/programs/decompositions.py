"""Layers of torch taken apart into what programs have, where torch itself does not do it.

Each function stands for one of torch's operations, and is traced in its place.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._decomp import register_decomposition
from torch.nn import functional as F

aten = torch.ops.aten
APART: dict[Any, Callable[..., Any]] = {}


class UnknownOperationError(NotImplementedError):
    """A function does something that no program can do."""


_of = partial(register_decomposition, registry=APART)


def _numbers(*rows: str) -> list[list[float]]:
    return [[*map(float, row.split())] for row in rows]


# Rational approximations of the error function by W. J. Cody (Mathematics of Computation, 1969), as
# accurate as double precision: over and under the bar, by powers that fall.
NEAR = _numbers(
    "1.85777706184603153e-1 3.16112374387056560 1.13864154151050156e2 3.77485237685302021e2",
    "1.0 2.36012909523441209e1 2.44024637934444173e2 1.28261652607737228e3",
    "3.20937758913846947e3 2.84423683343917062e3",
)
FAR = _numbers(
    "2.15311535474403846e-8 5.64188496988670089e-1 8.88314979438837594 6.61191906371416295e1 "
    "2.98635138197400131e2 8.81952221241769090e2 1.71204761263407058e3 2.05107837782607147e3",
    "1.0 1.57449261107098347e1 1.17693950891312499e2 5.37181101862009858e2 1.62138957456669019e3 "
    "3.29079923573345963e3 4.36261909014324716e3 3.43936767414372164e3",
    "1.23033935479799725e3 1.23033935480374942e3",
)
BORDER, ONE = 0.46875, 6.0  # where one ends and the other begins; from where on erf is 1


def _ratio(y: Tensor, parts: Any) -> Tensor:
    over, under, last = parts

    def polynomial(powers: Sequence[float], constant: float) -> Tensor:
        total = powers[0] * y
        for power in powers[1:]:
            total = (total + power) * y
        return total + constant

    return polynomial(over, last[0]) / polynomial(under, last[1])


@_of(aten.erf.default)
def _erf(x: Tensor) -> Tensor:
    size = x.abs().clamp(max=ONE)
    near = x * _ratio(x * x, NEAR)
    far = (1 - (-size * size).exp() * _ratio(size, FAR)) * x.sign()
    return torch.where(size <= BORDER, near, far)


@_of(aten.cumsum.default)
def _cumsum(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    """Sums of two, of four, of eight: each twice as far as the last (Hillis and Steele, 1986)."""
    x = x.to(dtype or x.dtype).movedim(dim, -1)
    n, far = x.shape[-1], 1
    while far < n:
        x = x + F.pad(x, (far, 0))[..., :n]
        far *= 2
    return x.movedim(-1, dim)


def _along(length: int, stride: int, dilation: int, kernel: int) -> list[slice]:
    """What each tap of a kernel reads of a padded input."""
    out = (length - dilation * (kernel - 1) - 1) // stride + 1
    starts = (k * dilation for k in range(kernel))
    return [slice(start, start + (out - 1) * stride + 1, stride) for start in starts]


def _read(x: Tensor, w: Tensor, stride: int, padding: int, dilation: int, groups: int) -> Tensor:
    """For each output all that it is made of, by groups: [n, groups, channels · taps, out]."""
    padded = F.pad(x, (padding, padding))
    taps = [padded[..., tap] for tap in _along(padded.shape[-1], stride, dilation, w.shape[-1])]
    return torch.stack(taps, 2).reshape(len(x), groups, -1, taps[0].shape[-1])


def _one(stride: Sequence[int], transposed: bool) -> None:
    if len(stride) != 1 or transposed:
        raise UnknownOperationError("of convolutions a program has those along one dimension")


@_of(aten.convolution.default)
def _convolution(
    x: Tensor,
    w: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    _one(stride, transposed)
    read = _read(x, w, stride[0], padding[0], dilation[0], groups)
    made = (w.reshape(groups, len(w) // groups, -1) @ read).flatten(1, 2)
    return made if bias is None else made + bias[:, None]


@_of(aten.convolution_backward.default)
def _convolution_backward(
    slope: Tensor,
    x: Tensor,
    w: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    _one(stride, transposed)
    n, channels, t = x.shape
    by_group = slope.unflatten(1, (groups, -1))
    of_x = of_w = of_bias = None
    if output_mask[0]:
        read = w.reshape(groups, len(w) // groups, -1).mT @ by_group
        taps = read.reshape(n, channels, w.shape[-1], -1).unbind(2)
        padded = slope.new_zeros(n, channels, t + 2 * padding[0])
        of_x = padded
        places = _along(padded.shape[-1], stride[0], dilation[0], w.shape[-1])
        for tap, where in zip(taps, places, strict=True):
            of_x = of_x + torch.slice_scatter(padded, tap, 2, where.start, where.stop, where.step)
        of_x = of_x[..., padding[0] : padding[0] + t]
    if output_mask[1]:
        read = _read(x, w, stride[0], padding[0], dilation[0], groups)
        of_w = (by_group @ read.mT).sum(0).reshape(w.shape)
    if output_mask[2]:
        of_bias = slope.sum((0, 2))
    return of_x, of_w, of_bias
