"""What each of torch's operations is in a program: `TABLE`, by their names in `torch.ops.aten`.

An operation that is not here has been taken apart into others by torch before, or is refused.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from attn_notes.programs.lowering import Lowering, Operation
from attn_notes.programs.values import Layout, Number, Picked, Shape, Stored, Value

TABLE: dict[str, Operation] = {}


def named(*names: str) -> Callable[[Operation], Operation]:
    """Enter a function under these names."""

    def enter(function: Operation) -> Operation:
        TABLE.update(dict.fromkeys(names, function))
        return function

    return enter


# --- Entry by entry

POINTWISE = {
    **{name: name for name in ("abs", "ceil", "cos", "div", "eq", "exp", "expm1", "floor", "ge")},
    **{name: name for name in ("gt", "isnan", "le", "log", "log1p", "lt", "mul", "ne", "neg")},
    **{name: name for name in ("relu", "reciprocal", "rsqrt", "sigmoid", "sign", "sin", "sqrt")},
    **{name: name for name in ("tan", "tanh", "trunc", "where")},
    "logical_and": "and",
    "logical_not": "not",
    "logical_or": "or",
    "maximum": "max",
    "minimum": "min",
}
"""Operations on each entry, and what `javascript` calls them."""


def _pointwise(name: str) -> Operation:
    return lambda low, *values: low.apply(name, *values)


def _logical(name: str) -> Operation:
    """An operation on bits, which is one on truth values only."""

    def apply(low: Lowering, *values: Value | float) -> Value:
        if low.node.meta["val"].dtype is not torch.bool:
            raise low.refuse("is known for truth values only, not for the bits of integers")
        return low.apply(name, *values)

    return apply


TABLE.update({name: _pointwise(ours) for name, ours in POINTWISE.items()})
TABLE.update({f"bitwise_{name}": _logical(name) for name in ("and", "or", "not")})


@named("div")
def _div(low: Lowering, a: Value, b: Value | float, rounding_mode: str | None = None) -> Value:
    quotient = low.apply("div", a, b)
    return quotient if rounding_mode is None else low.apply(rounding_mode, quotient)


@named("add")
def _add(low: Lowering, a: Value, b: Value | float, alpha: float = 1) -> Value:
    return low.apply("add", a, low.apply("mul", b, alpha))


@named("sub")
def _sub(low: Lowering, a: Value, b: Value | float, alpha: float = 1) -> Value:
    return low.apply("sub", a, low.apply("mul", b, alpha))


@named("remainder")
def _remainder(low: Lowering, a: Value, b: Value | float) -> Value:
    a, b = (low.stored(x) if isinstance(x, Value) else x for x in (a, b))
    return low.apply("sub", a, low.apply("mul", low.apply("floor", low.apply("div", a, b)), b))


@named("pow")
def _pow(low: Lowering, a: Value | float, power: Value | float) -> Value:
    known = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
    if isinstance(power, (int, float)) and isinstance(a, Value):
        if power == 1:
            return a
        if power in known:
            return low.apply(known[power], a)
    return low.apply("pow", a, power)


@named("clamp")
def _clamp(
    low: Lowering, a: Value, min: Value | float | None = None, max: Value | float | None = None
) -> Value:
    if min is not None:
        a = low.apply("max", a, min)
    return a if max is None else low.apply("min", a, max)


@named("_to_copy")
def _to_copy(low: Lowering, a: Value, **_: Any) -> Value:
    before, after = (node.meta["val"].dtype for node in (low.node.args[0], low.node))
    if after is torch.bool and before is not torch.bool:
        return low.apply("ne", a, 0.0)
    if before.is_floating_point and not after.is_floating_point:
        return low.apply("trunc", a)
    return a


@named("full_like", "fill")
def _full(low: Lowering, a: Value, number: Value | float, **_: Any) -> Value:
    filled = number if isinstance(number, Value) else Number((), float(number))
    return low.expand(filled, a.shape)


@named("copy")
def _copy(low: Lowering, a: Value, b: Value, *_: Any) -> Value:
    return low.expand(b, a.shape)


# --- Views


@named("alias", "clone", "detach", "lift_fresh_copy")
def _same(low: Lowering, a: Value, **_: Any) -> Value:
    return a


@named("getitem")
def _getitem(low: Lowering, values: Sequence[Value], index: int) -> Value:
    return values[index]


@named("view", "_unsafe_view", "reshape")
def _view(low: Lowering, a: Value, shape: Sequence[int]) -> Value:
    del shape  # in which one length may be left open
    return low.reshape(a, low.node.meta["val"].shape)


@named("permute")
def _permute(low: Lowering, a: Value, dims: Sequence[int]) -> Value:
    return low.permute(a, [d % len(a.shape) for d in dims])


@named("unsqueeze")
def _unsqueeze(low: Lowering, a: Value, dim: int) -> Value:
    return low.view(a, lambda layout: layout.unsqueeze(dim % (len(a.shape) + 1)))


@named("squeeze")
def _squeeze(low: Lowering, a: Value, dims: int | Sequence[int] | None = None) -> Value:
    del dims
    return low.reshape(a, low.node.meta["val"].shape)


@named("expand")
def _expand(low: Lowering, a: Value, shape: Sequence[int], **_: Any) -> Value:
    del shape  # in which a length may be left as it is
    return low.expand(a, low.node.meta["val"].shape)


@named("broadcast_in_dim")
def _broadcast(low: Lowering, a: Value, shape: Sequence[int], dims: Sequence[int]) -> Value:
    lengths = dict(zip(dims, a.shape, strict=True))
    return low.expand(low.reshape(a, [lengths.get(d, 1) for d in range(len(shape))]), shape)


@named("slice")
def _slice(
    low: Lowering,
    a: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    return low.view(a, lambda layout: layout.slice(dim % len(a.shape), start, end, step))


@named("select")
def _select(low: Lowering, a: Value, dim: int, index: int) -> Value:
    return low.view(a, lambda layout: layout.select(dim % len(a.shape), index))


@named("as_strided")
def _as_strided(
    low: Lowering, a: Value, size: Sequence[int], stride: Sequence[int], offset: int | None = None
) -> Value:
    """Strides over the memory that torch's tensor has, which need not stand row by row."""
    base: Tensor = low.node.all_input_nodes[0].meta["val"]
    order = sorted(range(base.ndim), key=lambda d: -base.stride(d))
    whole = base.untyped_storage().nbytes() == base.numel() * base.element_size()
    if not whole or not base.permute(order).is_contiguous():
        raise low.refuse("takes strides over a tensor that is a part of its memory, or overlaps")
    ordered = low.stored(low.permute(a, order))
    if not ordered.layout.is_contiguous:
        ordered = low.copy(ordered)
    start = ordered.layout.offset + (offset or 0)
    return Stored(ordered.buffer, Layout(tuple(size), tuple(stride), start))


# --- Along dimensions


@named("sum")
def _sum(low: Lowering, a: Value, dims: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return low.reduce("sum", a, dims or [], keepdim)


def _reduction(kind: str) -> Operation:
    def reduce(low: Lowering, a: Value, dim: Any = None, keepdim: bool = False) -> Value:
        dims = [] if dim is None else [dim] if isinstance(dim, int) else dim
        return low.reduce(kind, a, dims, keepdim)

    return reduce


TABLE.update(amax=_reduction("max"), amin=_reduction("min"), prod=_reduction("prod"))
TABLE.update(any=_reduction("max"), all=_reduction("min"))
TABLE.update(argmax=_reduction("argmax"), argmin=_reduction("argmin"))


def _with_index(kind: str) -> Operation:
    def reduce(low: Lowering, a: Value, dim: int | None = None, keepdim: bool = False) -> Any:
        if dim is None:
            return low.reduce(kind, a, [], False)
        a = low.stored(a)
        return tuple(low.reduce(each, a, [dim], keepdim) for each in (kind, f"arg{kind}"))

    return reduce


TABLE.update(max=_with_index("max"), min=_with_index("min"))


@named("mean")
def _mean(low: Lowering, a: Value, dims: Any = None, keepdim: bool = False, **_: Any) -> Value:
    total = low.reduce("sum", a, dims or [], keepdim)
    return low.apply("div", total, math.prod(a.shape) / max(1, math.prod(total.shape)))


@named("var_mean")
def _var_mean(
    low: Lowering, a: Value, dims: Any = None, correction: float = 1, keepdim: bool = False
) -> tuple[Value, Value]:
    a = low.stored(a)
    dims = [d % len(a.shape) for d in dims or range(len(a.shape))]
    count = math.prod(a.shape[d] for d in dims)
    mean = low.copy(low.apply("div", low.reduce("sum", a, dims, True), count))
    squares = low.apply("square", low.apply("sub", a, mean))
    variance = low.apply("div", low.reduce("sum", squares, dims, True), count - correction)
    if keepdim:
        return variance, mean
    shape = [n for d, n in enumerate(a.shape) if d not in dims]
    return low.reshape(variance, shape), low.reshape(mean, shape)


TABLE.update(mm=Lowering.multiply, bmm=Lowering.multiply)


# --- Parts put together


def _joined(low: Lowering, parts: Sequence[Value], dim: int, shape: Shape) -> Value:
    target, start = low.empty(shape), 0
    for part in parts:
        stop = start + part.shape[dim]
        low.store(part, Stored(target.buffer, target.layout.slice(dim, start, stop)))
        start = stop
    return target


@named("cat")
def _cat(low: Lowering, parts: Sequence[Value], dim: int = 0) -> Value:
    shape = tuple(low.node.meta["val"].shape)
    return _joined(low, [p for p in parts if math.prod(p.shape)], dim % len(shape), shape)


def _put(low: Lowering, base: Value, source: Value, change: Callable[[Layout], Layout]) -> Value:
    """A copy of the base with a part of it replaced."""
    target = low.copy(base)
    low.store(source, Stored(target.buffer, change(target.layout)))
    return target


@named("slice_scatter")
def _slice_scatter(
    low: Lowering,
    base: Value,
    source: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    if source.shape == base.shape:
        return source
    dim %= len(base.shape)
    return _put(low, base, source, lambda layout: layout.slice(dim, start, end, step))


@named("select_scatter")
def _select_scatter(low: Lowering, base: Value, source: Value, dim: int, index: int) -> Value:
    dim %= len(base.shape)
    return _put(low, base, source, lambda layout: layout.select(dim, index))


@named("constant_pad_nd")
def _pad(low: Lowering, a: Value, pad: Sequence[int], value: float = 0.0) -> Value:
    if min(pad, default=0) < 0:
        raise low.refuse("cuts off what it should pad")
    base = Number(tuple(low.node.meta["val"].shape), float(value))
    before = [*reversed(pad[::2])]
    before = [0] * (len(a.shape) - len(before)) + before

    def inside(layout: Layout) -> Layout:
        for dim, start in enumerate(before):
            layout = layout.slice(dim, start, start + a.shape[dim])
        return layout

    return _put(low, base, a, inside)


# --- Places that are computed


def _along(layout: Layout, dim: int, shape: Shape) -> tuple[Layout, int]:
    """A layout without its step along a dimension, for an index of this shape, and that step."""
    strides = [0 if d == dim else stride for d, stride in enumerate(layout.strides)]
    return Layout(shape, tuple(strides), layout.offset), layout.strides[dim]


@named("embedding")
def _embedding(low: Lowering, weight: Value, index: Value, *_: Any, **__: Any) -> Value:
    base = low.stored(weight)
    place = low.reshape(low.apply("mul", index, base.layout.strides[0]), [*index.shape, 1])
    shape = (*index.shape, weight.shape[1])
    strides = (*[0] * len(index.shape), base.layout.strides[1])
    return Picked(base.buffer, Layout(shape, strides, base.layout.offset), low.expand(place, shape))


@named("gather")
def _gather(low: Lowering, a: Value, dim: int, index: Value, **_: Any) -> Value:
    base = low.stored(a)
    layout, step = _along(base.layout, dim % max(1, len(a.shape)), index.shape)
    return Picked(base.buffer, layout, low.apply("mul", index, step))


def _scattered(
    low: Lowering, base: Value, dim: int, index: Value, source: Value | float, *, adds: bool
) -> Value:
    target = low.copy(base)
    layout, step = _along(target.layout, dim % len(base.shape), index.shape)
    place = Picked(target.buffer, layout, low.apply("mul", index, step))
    if not isinstance(source, Value):
        source = Number(index.shape, float(source))
    for d, length in enumerate(index.shape):  # a source may be longer than its index
        source = low.view(source, lambda view, d=d, n=length: view.slice(d, 0, n))  # type: ignore[misc]
    low.store(source, place, adds=adds)
    return target


@named("scatter")
def _scatter(low: Lowering, base: Value, dim: int, index: Value, source: Value | float) -> Value:
    dim %= len(base.shape)
    once = tuple(1 if d == dim else n for d, n in enumerate(base.shape))
    if index.shape != once:
        return _scattered(low, base, dim, index, source, adds=False)
    # One place along the dimension: an expression, which needs no buffer.
    count = low.constant(torch.arange(base.shape[dim]))
    here = low.reshape(count, [n if d == dim else 1 for d, n in enumerate(base.shape)])
    if isinstance(source, Value):
        source = low.view(source, lambda layout: layout.slice(dim, 0, 1))
    return low.apply("where", low.apply("eq", here, index), source, base)


@named("scatter_add")
def _scatter_add(low: Lowering, base: Value, dim: int, index: Value, source: Value) -> Value:
    return _scattered(low, base, dim, index, source, adds=True)


def _place(
    low: Lowering, base: Stored, indices: Sequence[Value | None]
) -> tuple[Layout, Value, Shape]:
    """Where tensors that stand for neighbouring dimensions lead, as `tensor[a, b]` has it."""
    given = [d for d, index in enumerate(indices) if index is not None]
    if given != list(range(given[0], given[-1] + 1)):
        raise low.refuse("has indices with a gap between them")
    tensors = [index for index in indices if index is not None]
    middle = tuple(torch.broadcast_shapes(*[index.shape for index in tensors]))
    before, after = base.shape[: given[0]], base.shape[given[-1] + 1 :]
    shape = (*before, *middle, *after)
    place: Value = Number(middle, 0.0)
    for d, index in zip(given, tensors, strict=True):
        index = low.stored(index)
        end = low.apply("where", low.apply("lt", index, 0.0), float(base.shape[d]), 0.0)
        step = float(base.layout.strides[d])
        place = low.apply("add", place, low.apply("mul", low.apply("add", index, end), step))
    place = low.reshape(place, [*middle, *[1] * len(after)])
    strides = base.layout.strides
    rest = (*strides[: given[0]], *[0] * len(middle), *strides[given[-1] + 1 :])
    return Layout(shape, rest, base.layout.offset), low.expand(place, shape), shape


def _no_mask(low: Lowering) -> None:
    for node in tree_leaves(low.node.args[1]):
        if node is not None and node.meta["val"].dtype is torch.bool:
            raise low.refuse("picks entries by a mask, so that its shape hangs on the data")


@named("index")
def _index(low: Lowering, a: Value, indices: Sequence[Value | None]) -> Value:
    _no_mask(low)
    base = low.stored(a)
    layout, place, _ = _place(low, base, indices)
    return Picked(base.buffer, layout, place)


@named("index_put")
def _index_put(
    low: Lowering,
    base: Value,
    indices: Sequence[Value | None],
    value: Value,
    accumulate: bool = False,
) -> Value:
    _no_mask(low)
    target = low.copy(base)
    layout, place, shape = _place(low, target, indices)
    place = Picked(target.buffer, layout, place)
    low.store(low.expand(value, shape), place, adds=accumulate)
    return target
