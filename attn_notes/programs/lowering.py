"""From a graph of operations to kernels over buffers.

A view stays a view and what is done entry by entry stays an expression as long as it can. It is
computed, into a buffer of its own, where more than one operation reads it, where it would be
computed over and over, and where a matrix product or an output wants it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from attn_notes.programs import constants
from attn_notes.programs.graph import Node, RefusedError, mapped
from attn_notes.programs.kernels import Kernel, Loop, Product
from attn_notes.programs.values import (
    Applied,
    Buffer,
    Change,
    Layout,
    Number,
    Operand,
    Picked,
    Shape,
    Stored,
    Value,
    broadcast,
    count,
    viewed,
)

Operation = Callable[..., Any]
"""operation(lowering, *arguments, **options) → a value, or a tuple of values."""

DTYPES = ("float32", "float64", "int32", "int64", "bool")
"""Of inputs and of what is computed: what others round or wrap around, a program would not."""

NAMES = "float32, float64, int32, int64 and bool"


def entering(table: dict[str, Operation]) -> Callable[..., Callable[[Operation], Operation]]:
    """A decorator that enters a function into a table, under the names that it is given."""

    def named(*names: str) -> Callable[[Operation], Operation]:
        def enter(function: Operation) -> Operation:
            table.update(dict.fromkeys(names, function))
            return function

        return enter

    return named


class Lowering:
    """Kernels and buffers as they come; `node` is the operation that is being lowered."""

    def __init__(self, operations: dict[str, Operation]) -> None:
        self.operations = operations  # what to do with each, by its name
        self.kernels: list[Kernel] = []
        self.buffers: list[Buffer] = []
        self.node: Node
        self.known: dict[Node, Any] = {}  # values
        self._constants: dict[tuple[float, ...], Buffer] = {}

    def refuse(self, why: str) -> RefusedError:
        """What to raise where the operation at hand is used in a way that is not supported."""
        return RefusedError(self.node, why)

    # --- Buffers and kernels

    def buffer(self, size: int, **settings: Any) -> Buffer:
        self.buffers.append(Buffer(size, **settings))
        return self.buffers[-1]

    def empty(self, shape: Sequence[int]) -> Stored:
        """Room for a result."""
        layout = Layout.contiguous(shape)
        return Stored(self.buffer(layout.size), layout)

    def constant(self, node: Node) -> Value:
        """Numbers that are known now: they become part of the program's text."""
        return self.expand(self.numbers(node.data, node.held), node.shape)

    def numbers(self, data: Sequence[float], shape: Shape) -> Value:
        """Numbers in a row, as a tensor of this shape."""
        data = tuple(data)
        if len(data) and all(x == data[0] for x in data):
            return Number(shape, data[0])
        if (cost := constants.length(data)) > constants.MOST:
            raise self.refuse(
                f"stands in the program as a constant of {cost:,} numbers, and at most "
                f"{constants.MOST:,} may: make it an input"
            )
        if data not in self._constants:
            self._constants[data] = self.buffer(len(data), role="constant", data=data)
        return Stored(self._constants[data], Layout.contiguous(shape))

    def store(self, value: Value, target: Stored | Picked, *, adds: bool = False) -> None:
        """Write a value somewhere, or add it to what is there."""
        self.kernels.append(Loop("map", value.shape, len(value.shape), target, value, adds))

    def copy(self, value: Value) -> Stored:
        """A value in a buffer of its own."""
        target = self.empty(value.shape)
        self.store(value, target)
        return target

    def stored(self, value: Value) -> Stored:
        """A value in a buffer, its own or another's."""
        return value if isinstance(value, Stored) else self.copy(value)

    # --- Views

    def view(self, value: Value, change: Change) -> Value:
        """A view of a value; of a copy where there is none of it as it stands."""
        seen = viewed(value, change) or viewed(self.copy(value), change)
        assert seen is not None  # of a contiguous buffer there is every view
        return seen

    def expand(self, value: Value, shape: Sequence[int]) -> Value:
        """Broadcast; what takes work is computed before that."""
        if value.shape == tuple(shape):
            return value
        if isinstance(value, (Applied, Picked)) and count(value.shape) < count(shape):
            value = self.copy(value)
        return self.view(value, lambda layout: layout.expand(shape))

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        return self.view(value, lambda layout: layout.reshape(shape))

    def permute(self, value: Value, dims: Sequence[int]) -> Value:
        return self.view(value, lambda layout: layout.permute(dims))

    # --- Computation

    def apply(self, operation: str, *arguments: Operand) -> Value:
        """An operation on each entry, the arguments broadcast."""
        values = [x if isinstance(x, Value) else Number((), float(x)) for x in arguments]
        shape: Shape = broadcast([value.shape for value in values])
        return _simplified(operation, [self.expand(value, shape) for value in values], shape)

    def truth(self, value: Value, dtype: str) -> Value:
        """Whether numbers are not 0."""
        return value if dtype == "bool" else self.apply("ne", value, 0.0)

    def reduce(self, kind: str, value: Value, dims: Sequence[int], keepdim: bool) -> Value:
        """What becomes of a value along some dimensions, all of them where none is given."""
        rank = len(value.shape)
        inner = sorted(d % rank for d in dims) or list(range(rank))
        outer = [d for d in range(rank) if d not in inner]
        ordered = self.permute(value, [*outer, *inner])
        target = self.empty([value.shape[d] for d in outer])
        self.kernels.append(Loop(kind, ordered.shape, len(outer), target, ordered))
        if not keepdim:
            return target
        return self.reshape(target, [1 if d in inner else n for d, n in enumerate(value.shape)])

    def multiply(self, left: Value, right: Value) -> Value:
        a, b = self.stored(left), self.stored(right)
        target = self.empty((*a.shape[:-1], b.shape[-1]))
        self.kernels.append(Product(a, b, target))
        return target

    # --- The graph

    def run(self, nodes: Sequence[Node]) -> list[Stored]:
        """Lower the nodes of a graph, the last of which is "output"; returns its outputs."""
        known = self.known

        def value(node: Node) -> Any:
            return self.constant(node) if node.operation == "constant" else known[node]

        for node in nodes:
            self.node = node
            if node.operation == "input":
                layout = Layout.contiguous(node.shape)
                known[node] = Stored(self.buffer(layout.size, role="input", name=node.name), layout)
            elif node.operation == "output":
                return [self._output(value(each)) for each in node.inputs]
            elif node.operation != "constant":
                known[node] = self._lower(node, value)
        raise AssertionError("a graph ends with its outputs")

    def _lower(self, node: Node, value: Callable[[Node], Any]) -> Any:
        if node.operation not in self.operations:
            raise self.refuse("is not among the operations of a program")
        for dtype in node.dtypes:
            if dtype not in DTYPES:
                raise self.refuse(f"gives torch.{dtype}, and a program has {NAMES}")
        arguments = mapped(node.arguments, value)
        options = {name: mapped(each, value) for name, each in node.options.items()}
        result = self.operations[node.operation](self, *arguments, **options)
        if isinstance(result, (Applied, Picked)) and node.uses > 1:
            result = self.copy(result)
        return result

    def _output(self, value: Value) -> Stored:
        found = self.stored(value)
        if found.buffer.role != "temporary" or not found.layout.is_contiguous:
            found = self.copy(found)
        found.buffer.role = "output"
        return found


def _simplified(operation: str, values: list[Value], shape: Shape) -> Value:
    """An expression, without what changes nothing."""
    known = [value.number if isinstance(value, Number) else None for value in values]
    first, last = known[0], known[-1]
    if len(values) == 2 and first is not None and last is not None and operation in FOLDED:
        return Number(shape, FOLDED[operation](first, last))
    if len(values) == 2 and first is not None and (operation, first) in LEFT:
        return values[1]
    if len(values) == 2 and last is not None and (operation, last) in RIGHT:
        return values[0]
    if operation == "where" and first is not None:
        return values[1] if first else values[2]
    return Applied(shape, operation, tuple(values))


FOLDED: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}
LEFT = {("add", 0.0), ("mul", 1.0), ("and", 1.0), ("or", 0.0)}
"""Operations that leave what is on their right as it is, with this on their left."""
RIGHT = {("add", 0.0), ("sub", 0.0), ("or", 0.0), ("mul", 1.0), ("div", 1.0), ("and", 1.0)}
"""The other way round."""
