"""Operations that do the same with every entry."""

from typing import Any

from attn_notes.programs.graph import Node
from attn_notes.programs.lowering import Lowering, Operation, entering
from attn_notes.programs.values import Number, Operand, Value

TABLE: dict[str, Operation] = {}
named = entering(TABLE)


POINTWISE = {
    **{name: name for name in ("abs", "ceil", "cos", "div", "eq", "exp", "expm1", "floor", "ge")},
    **{name: name for name in ("gt", "isnan", "le", "log", "log1p", "lt", "mul", "ne", "neg")},
    **{name: name for name in ("relu", "reciprocal", "rsqrt", "sigmoid", "sign", "sin", "sqrt")},
    **{name: name for name in ("tan", "tanh", "trunc", "where")},
    "clamp_max": "min",
    "clamp_min": "max",
    "maximum": "max",
    "minimum": "min",
}
"""Operations on each entry, and what `javascript` calls them."""


def _pointwise(name: str) -> Operation:
    return lambda low, *values: low.apply(name, *values)


def _bitwise(name: str) -> Operation:
    """An operation on bits, which is one on truth values only."""

    def apply(low: Lowering, *values: Operand) -> Value:
        if low.node.dtype != "bool":
            raise low.refuse("is known for truth values only, not for the bits of integers")
        return low.apply(name, *values)

    return apply


def _logical(name: str) -> Operation:
    """An operation on truth values, and on whether numbers are not 0."""

    def apply(low: Lowering, *values: Value) -> Value:
        dtypes = [node.dtype for node in low.node.arguments if isinstance(node, Node)]
        return low.apply(name, *(low.truth(*pair) for pair in zip(values, dtypes, strict=True)))

    return apply


TABLE.update({name: _pointwise(ours) for name, ours in POINTWISE.items()})
TABLE.update({f"bitwise_{name}": _bitwise(name) for name in ("and", "or", "not")})
TABLE.update({f"logical_{name}": _logical(name) for name in ("and", "or", "not")})


@named("div")
def _div(low: Lowering, a: Operand, b: Operand, rounding_mode: str | None = None) -> Value:
    quotient = low.apply("div", a, b)
    return quotient if rounding_mode is None else low.apply(rounding_mode, quotient)


@named("add")
def _add(low: Lowering, a: Operand, b: Operand, alpha: int | float = 1) -> Value:
    if low.node.dtype == "bool":
        return low.apply("or", a, low.apply("and", b, alpha))
    return low.apply("add", a, low.apply("mul", b, alpha))


@named("sub")
def _sub(low: Lowering, a: Operand, b: Operand, alpha: int | float = 1) -> Value:
    return low.apply("sub", a, low.apply("mul", b, alpha))


@named("remainder")
def _remainder(low: Lowering, a: Operand, b: Operand) -> Value:
    first, second = (low.stored(x) if isinstance(x, Value) else x for x in (a, b))
    whole = low.apply("floor", low.apply("div", first, second))
    return low.apply("sub", first, low.apply("mul", whole, second))


@named("pow")
def _pow(low: Lowering, a: Operand, power: Operand) -> Value:
    known = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
    if isinstance(power, (int, float)) and isinstance(a, Value):
        if power == 1:
            return a
        if power in known:
            return low.apply(known[power], a)
    return low.apply("pow", a, power)


@named("clamp")
def _clamp(
    low: Lowering, a: Value, min: Operand | None = None, max: Operand | None = None
) -> Value:
    if min is not None:
        a = low.apply("max", a, min)
    return a if max is None else low.apply("min", a, max)


@named("_to_copy")
def _to_copy(low: Lowering, a: Value, **_: Any) -> Value:
    before, after = low.node.inputs[0].dtype, low.node.dtype
    if after == "bool":
        return low.truth(a, before)
    if before.startswith("float") and not after.startswith("float"):
        return low.apply("trunc", a)
    return a


@named("full_like", "fill")
def _full(low: Lowering, a: Value, number: Operand, **_: Any) -> Value:
    filled = number if isinstance(number, Value) else Number((), float(number))
    return low.expand(filled, a.shape)


@named("copy")
def _copy(low: Lowering, a: Value, b: Value, *_: Any) -> Value:
    return low.expand(b, a.shape)
