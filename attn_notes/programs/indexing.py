"""Operations that read and write where other tensors say."""

from collections.abc import Sequence
from typing import Any

from attn_notes.programs.graph import Node
from attn_notes.programs.lowering import Lowering, Operation, entering
from attn_notes.programs.values import (
    Layout,
    Number,
    Operand,
    Picked,
    Stored,
    Value,
    broadcast,
)

TABLE: dict[str, Operation] = {}
named = entering(TABLE)
Indices = Sequence[Value | None]


def _along(low: Lowering, base: Stored, dim: int, index: Value) -> Picked:
    """Entries as an index says along one dimension, and as they stand along the others."""
    strides = [0 if d == dim else stride for d, stride in enumerate(base.layout.strides)]
    layout = Layout(index.shape, tuple(strides), base.layout.offset)
    return Picked(base.buffer, layout, low.apply("mul", index, base.layout.strides[dim]))


@named("embedding")
def _embedding(low: Lowering, weight: Value, index: Value, *_: Any, **__: Any) -> Value:
    base = low.stored(weight)
    place = low.reshape(low.apply("mul", index, base.layout.strides[0]), [*index.shape, 1])
    shape = (*index.shape, weight.shape[1])
    strides = (*[0] * len(index.shape), base.layout.strides[1])
    return Picked(base.buffer, Layout(shape, strides, base.layout.offset), low.expand(place, shape))


@named("gather")
def _gather(low: Lowering, a: Value, dim: int, index: Value, **_: Any) -> Value:
    return _along(low, low.stored(a), dim % max(1, len(a.shape)), index)


def _scattered(
    low: Lowering, base: Value, dim: int, index: Value, source: Operand, *, adds: bool
) -> Value:
    target = low.copy(base)
    place = _along(low, target, dim % len(base.shape), index)
    if not isinstance(source, Value):
        source = Number(index.shape, float(source))
    for d, length in enumerate(index.shape):  # a source may be longer than its index
        source = low.view(source, lambda view, d=d, n=length: view.slice(d, 0, n))  # type: ignore[misc]
    low.store(source, place, adds=adds)
    return target


@named("scatter")
def _scatter(low: Lowering, base: Value, dim: int, index: Value, source: Operand) -> Value:
    dim %= len(base.shape)
    once = tuple(1 if d == dim else n for d, n in enumerate(base.shape))
    if index.shape != once:
        return _scattered(low, base, dim, index, source, adds=False)
    # One place along the dimension: an expression, which needs no buffer.
    count = low.numbers([float(i) for i in range(base.shape[dim])], (base.shape[dim],))
    here = low.reshape(count, [n if d == dim else 1 for d, n in enumerate(base.shape)])
    if isinstance(source, Value):
        source = low.view(source, lambda layout: layout.slice(dim, 0, 1))
    return low.apply("where", low.apply("eq", here, index), source, base)


@named("scatter_add")
def _scatter_add(low: Lowering, base: Value, dim: int, index: Value, source: Value) -> Value:
    return _scattered(low, base, dim, index, source, adds=True)


def _place(low: Lowering, base: Stored, indices: Indices) -> Picked:
    """Entries where tensors for neighbouring dimensions lead, as `tensor[a, b]` has it."""
    given = [d for d, index in enumerate(indices) if index is not None]
    if given != list(range(given[0], given[-1] + 1)):
        raise low.refuse("has indices with a gap between them")
    tensors = [index for index in indices if index is not None]
    middle = broadcast([index.shape for index in tensors])
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
    layout = Layout(shape, rest, base.layout.offset)
    return Picked(base.buffer, layout, low.expand(place, shape))


@named("index")
def _index(low: Lowering, a: Value, indices: Indices) -> Value:
    return _place(low, low.stored(a), indices)


@named("index_select")
def _index_select(low: Lowering, a: Value, dim: int, index: Value) -> Value:
    return _place(low, low.stored(a), [*[None] * (dim % len(a.shape)), index])


@named("index_put")
def _index_put(
    low: Lowering, base: Value, indices: Indices, value: Value, accumulate: bool = False
) -> Value:
    for node in low.node.arguments[1]:
        if isinstance(node, Node) and node.dtype == "bool":
            raise low.refuse("puts numbers where a mask says: take `torch.where`")
    target = low.copy(base)
    place = _place(low, target, indices)
    low.store(low.expand(value, place.shape), place, adds=accumulate)
    return target
