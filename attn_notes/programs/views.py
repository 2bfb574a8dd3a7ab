"""Operations that say where entries stand, and those that put parts together."""

from collections.abc import Callable, Sequence
from typing import Any

from attn_notes.programs.graph import VIEWS
from attn_notes.programs.lowering import Lowering, Operation, entering
from attn_notes.programs.values import Layout, Number, Stored, Value, count

TABLE: dict[str, Operation] = {}
named = entering(TABLE)
ALIASES = VIEWS - {"_to_copy", "_unsafe_view", "clone", "copy_strided", "getitem"}


@named("alias", "clone", "copy_strided", "detach", "lift_fresh_copy")
def _same(low: Lowering, a: Value, stride: Sequence[int] = (), **_: Any) -> Value:
    return a  # wherever a copy's numbers lie, which nobody asks


@named("getitem")
def _getitem(low: Lowering, values: Sequence[Value], index: int) -> Value:
    return values[index]


@named("view", "_unsafe_view", "reshape", "squeeze")
def _view(low: Lowering, a: Value, shape: int | Sequence[int] | str | None = None) -> Value:
    if isinstance(shape, str):
        raise low.refuse("reads the bits of numbers as those of others")
    del shape  # in which one length may be left open; of `squeeze` the dimensions that go
    return low.reshape(a, low.node.shape)


@named("permute")
def _permute(low: Lowering, a: Value, dims: Sequence[int]) -> Value:
    return low.permute(a, [d % len(a.shape) for d in dims])


@named("unsqueeze")
def _unsqueeze(low: Lowering, a: Value, dim: int) -> Value:
    return low.view(a, lambda layout: layout.unsqueeze(dim % (len(a.shape) + 1)))


@named("expand")
def _expand(low: Lowering, a: Value, shape: Sequence[int], **_: Any) -> Value:
    del shape  # in which a length may be left as it is
    return low.expand(a, low.node.shape)


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
    node = low.node.inputs[0]
    # A part has a memory of its own in the graph, and the strides are over that of the whole.
    while offset is not None and node.operation in ALIASES:
        node = node.inputs[0]
        a = low.known[node]
    shape, strides = node.shape, node.strides
    order = sorted(range(len(shape)), key=lambda d: strides[d], reverse=True)
    kept = Layout(tuple(shape[d] for d in order), tuple(strides[d] for d in order))
    if not node.whole or node.operation in ALIASES or not kept.is_contiguous:
        raise low.refuse("takes strides over a tensor that is a part of its memory, or overlaps")
    ordered = low.stored(low.permute(a, order))
    if not ordered.layout.is_contiguous:
        ordered = low.copy(ordered)
    start = ordered.layout.offset + (offset or 0)
    return Stored(ordered.buffer, Layout(tuple(size), tuple(stride), start))


@named("flip")
def _flip(low: Lowering, a: Value, dims: Sequence[int]) -> Value:
    turned = {d % len(a.shape) for d in dims}

    def back(layout: Layout) -> Layout:
        for d in turned:
            layout = layout.reverse(d)
        return layout

    return low.view(low.stored(a), back)


@named("cat")
def _cat(low: Lowering, parts: Sequence[Value], dim: int = 0) -> Value:
    target, start = low.empty(low.node.shape), 0
    dim %= len(target.shape)
    for part in parts:
        if count(part.shape):
            stop = start + part.shape[dim]
            low.store(part, Stored(target.buffer, target.layout.slice(dim, start, stop)))
            start = stop
    return target


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
def _pad(low: Lowering, a: Value, pad: Sequence[int], value: int | float = 0.0) -> Value:
    base = Number(low.node.shape, float(value))
    before = [*reversed(pad[::2])]
    before = [0] * (len(a.shape) - len(before)) + before
    for dim, (start, length) in enumerate(zip(before, base.shape, strict=True)):
        first = max(0, -start)  # less than nothing is put there: some is taken away
        end = max(first, length - start)
        a = low.view(a, lambda view: view.slice(dim, first, end))  # noqa: B023 — called at once
    before = [max(0, start) for start in before]

    def inside(layout: Layout) -> Layout:
        for dim, start in enumerate(before):
            layout = layout.slice(dim, start, start + a.shape[dim])
        return layout

    return _put(low, base, a, inside)
