"""Operations along dimensions, and matrix products."""

from typing import Any

from attn_notes.programs.lowering import Lowering, Operation, entering
from attn_notes.programs.values import Value, count

TABLE: dict[str, Operation] = {}
named = entering(TABLE)


@named("sum")
def _sum(low: Lowering, a: Value, dims: Any = None, keepdim: bool = False, **_: Any) -> Value:
    return low.reduce("sum", a, dims or [], keepdim)


def _reduction(kind: str, *, truth: bool = False) -> Operation:
    def reduce(low: Lowering, a: Value, dim: Any = None, keepdim: bool = False) -> Value:
        if truth:
            a = low.truth(a, low.node.inputs[0].dtype)
        dims = [] if dim is None else [dim] if isinstance(dim, int) else dim
        return low.reduce(kind, a, dims, keepdim)

    return reduce


TABLE.update(amax=_reduction("max"), amin=_reduction("min"), prod=_reduction("prod"))
TABLE.update(any=_reduction("max", truth=True), all=_reduction("min", truth=True))
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
    return low.apply("div", total, count(a.shape) / max(1, count(total.shape)))


@named("var_mean")
def _var_mean(
    low: Lowering, a: Value, dims: Any = None, correction: int | float = 1, keepdim: bool = False
) -> tuple[Value, Value]:
    a = low.stored(a)
    dims = [d % len(a.shape) for d in dims or range(len(a.shape))]
    size = count([a.shape[d] for d in dims])
    mean = low.copy(low.apply("div", low.reduce("sum", a, dims, True), size))
    squares = low.apply("square", low.apply("sub", a, mean))
    variance = low.apply("div", low.reduce("sum", squares, dims, True), size - correction)
    if keepdim:
        return variance, mean
    shape = [n for d, n in enumerate(a.shape) if d not in dims]
    return low.reshape(variance, shape), low.reshape(mean, shape)


@named("var")
def _var(low: Lowering, a: Value, dims: Any = None, correction: int | float = 1) -> Value:
    return _var_mean(low, a, dims, correction)[0]


TABLE.update(mm=Lowering.multiply, bmm=Lowering.multiply)
