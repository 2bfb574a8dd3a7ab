"""From a graph of torch's operations to kernels over buffers.

A view stays a view and what is done entry by entry stays an expression as long as it can. It is
computed, into a buffer of its own, where more than one operation reads it, where it would be
computed over and over, and where a matrix product or an output wants it.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._pytree import tree_leaves

from attn_notes.programs import constants
from attn_notes.programs.kernels import Kernel, Loop, Product
from attn_notes.programs.values import (
    Applied,
    Buffer,
    Change,
    Layout,
    Number,
    Picked,
    Shape,
    Stored,
    Value,
    viewed,
)

Operation = Callable[..., Any]
"""operation(lowering, *arguments, **options) → a value, or a tuple of values."""

VIEWS = {
    *("_to_copy", "_unsafe_view", "alias", "clone", "copy_strided", "detach", "expand"),
    *("getitem", "permute", "select", "slice", "squeeze", "unsqueeze", "view"),
}
"""What reads a view is what reads its base."""

DTYPES = (torch.float32, torch.float64, torch.int32, torch.int64, torch.bool)
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


class RefusedError(Exception):
    """Why an operation cannot be part of a program, as it is used."""

    def __init__(self, node: fx.Node, why: str) -> None:
        super().__init__(why)
        self.node, self.why = node, why


class Lowering:
    """Kernels and buffers as they come; `node` is the operation that is being lowered.

    Args:
        operations: what to do with each operation, by its name.
    """

    def __init__(self, operations: dict[str, Operation]) -> None:
        self.operations = operations
        self.kernels: list[Kernel] = []
        self.buffers: list[Buffer] = []
        self.node: fx.Node
        self._constants: dict[tuple[float, ...], Buffer] = {}

    def refuse(self, why: str) -> RefusedError:
        """What to raise where the operation at hand is used in a way that is not supported."""
        return RefusedError(self.node, why)

    # --- Buffers and kernels

    def buffer(self, size: int, **settings: Any) -> Buffer:
        """A new buffer."""
        self.buffers.append(Buffer(size, **settings))
        return self.buffers[-1]

    def empty(self, shape: Sequence[int]) -> Stored:
        """Room for a result."""
        layout = Layout.contiguous(shape)
        return Stored(self.buffer(layout.size), layout)

    def constant(self, tensor: Tensor) -> Value:
        """A tensor whose numbers are known now: they become part of the program's text."""
        # What is repeated along a dimension is written once.
        once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in tensor.stride())
        small = tensor.detach()[once]
        data = tuple(small.to(torch.float64).flatten().tolist())
        if len(data) and all(x == data[0] for x in data):
            return Number(tuple(tensor.shape), data[0])
        if (cost := constants.length(data)) > constants.MOST:
            raise self.refuse(
                f"stands in the program as a constant of {cost:,} numbers, and at most "
                f"{constants.MOST:,} may: make it an input"
            )
        if data not in self._constants:
            self._constants[data] = self.buffer(len(data), role="constant", data=data)
        stored = Stored(self._constants[data], Layout.contiguous(small.shape))
        return self.expand(stored, tensor.shape)

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
        seen = viewed(value, change)
        if seen is None:
            seen = viewed(self.copy(value), change)
        assert seen is not None  # of a contiguous buffer there is every view
        return seen

    def expand(self, value: Value, shape: Sequence[int]) -> Value:
        """Broadcast; what takes work is computed before that."""
        if value.shape == tuple(shape):
            return value
        if isinstance(value, (Applied, Picked)) and math.prod(value.shape) < math.prod(shape):
            value = self.copy(value)
        return self.view(value, lambda layout: layout.expand(shape))

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """The same entries in another shape."""
        return self.view(value, lambda layout: layout.reshape(shape))

    def permute(self, value: Value, dims: Sequence[int]) -> Value:
        """The dimensions in another order."""
        return self.view(value, lambda layout: layout.permute(dims))

    # --- Computation

    def apply(self, operation: str, *arguments: Value | int | float) -> Value:
        """An operation on each entry, the arguments broadcast."""
        values = [
            argument if isinstance(argument, Value) else Number((), float(argument))
            for argument in arguments
        ]
        shape: Shape = tuple(torch.broadcast_shapes(*[value.shape for value in values]))
        return _simplified(operation, [self.expand(value, shape) for value in values], shape)

    def truth(self, value: Value, dtype: torch.dtype) -> Value:
        """Whether numbers are not 0."""
        return value if dtype is torch.bool else self.apply("ne", value, 0.0)

    def reduce(self, kind: str, value: Value, dims: Sequence[int], keepdim: bool) -> Value:
        """What becomes of a value along some dimensions, all of them where none is given."""
        count = len(value.shape)
        inner = sorted(d % count for d in dims) or list(range(count))
        outer = [d for d in range(count) if d not in inner]
        ordered = self.permute(value, [*outer, *inner])
        target = self.empty([value.shape[d] for d in outer])
        self.kernels.append(Loop(kind, ordered.shape, len(outer), target, ordered))
        if not keepdim:
            return target
        return self.reshape(target, [1 if d in inner else n for d, n in enumerate(value.shape)])

    def multiply(self, left: Value, right: Value) -> Value:
        """Matrix products."""
        a, b = self.stored(left), self.stored(right)
        target = self.empty((*a.shape[:-1], b.shape[-1]))
        self.kernels.append(Product(a, b, target))
        return target

    # --- The graph

    def run(self, graph: fx.Graph, names: Sequence[str]) -> list[Stored]:
        """Lower a graph whose inputs have these names; returns its outputs."""
        known: dict[fx.Node, Any] = {}  # values
        folded: dict[fx.Node, Any] = {}  # tensors and other things that do not hang on an input
        inputs = iter(names)

        def value(node: fx.Node) -> Any:
            if node in known:
                return known[node]
            found = folded[node]
            return self.constant(found) if isinstance(found, Tensor) else found

        for node in graph.nodes:
            self.node = node
            if node.op == "placeholder":
                layout = Layout.contiguous(node.meta["val"].shape)
                buffer = self.buffer(layout.size, role="input", name=next(inputs))
                known[node] = Stored(buffer, layout)
            elif node.op == "get_attr":
                folded[node] = self._found(node)
            elif node.op == "output":
                return [self._output(value(each)) for each in tree_leaves(node.args)]
            elif all(each in folded for each in node.all_input_nodes):
                folded[node] = self._fold(node, folded)
            else:
                known[node] = self._lower(node, value)
        raise AssertionError("a graph ends with its outputs")

    def _found(self, node: fx.Node) -> Any:
        constant = node.meta["constant"]
        if isinstance(constant, Tensor) and constant.requires_grad:
            raise self.refuse("reads a tensor that is trained and is no input: make it one")
        if node.meta["kept"]:
            raise self.refuse(
                "reads what an earlier call made of its inputs and kept: make it an input"
            )
        return constant

    def _fold(self, node: fx.Node, folded: dict[fx.Node, Any]) -> Any:
        """What an operation comes to that no input has a part in."""
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise self.refuse("draws random numbers, which are inputs of a program")
        if "empty" in name_of(node):  # whatever stands there is not read, and is always the same
            return torch.zeros(node.meta["val"].shape, dtype=node.meta["val"].dtype)
        args, kwargs = fx.node.map_arg((node.args, node.kwargs), folded.__getitem__)
        assert callable(node.target)
        return node.target(*args, **kwargs)

    def _lower(self, node: fx.Node, value: Callable[[fx.Node], Any]) -> Any:
        if name_of(node) not in self.operations:
            raise self.refuse("is not among the operations of a program")
        for each in tree_leaves(node.meta["val"]):
            if isinstance(each, Tensor) and each.dtype not in DTYPES:
                raise self.refuse(f"gives {each.dtype}, and a program has {NAMES}")
        args, kwargs = fx.node.map_arg((node.args, node.kwargs), value)
        operation = self.operations[name_of(node)]
        try:
            _signature(operation).bind(self, *args, **kwargs)
        except TypeError as error:
            raise self.refuse(f"is not known to a program in this form: {error}") from None
        result = operation(self, *args, **kwargs)
        if isinstance(result, (Applied, Picked)) and _uses(node) > 1:
            result = self.copy(result)
        return result

    def _output(self, value: Value) -> Stored:
        if (
            not isinstance(value, Stored)
            or not value.layout.is_contiguous
            or value.buffer.role != "temporary"
        ):
            value = self.copy(value)
        value.buffer.role = "output"
        return value


_signature = cache(signature)


def _simplified(operation: str, values: list[Value], shape: Shape) -> Value:
    """An expression, without what changes nothing."""
    numbers = [value.number if isinstance(value, Number) else None for value in values]
    match operation, numbers:
        case "add", [float(a), float(b)]:
            return Number(shape, a + b)
        case "sub", [float(a), float(b)]:
            return Number(shape, a - b)
        case "mul", [float(a), float(b)]:
            return Number(shape, a * b)
        case ("add", [0.0, _]) | ("mul", [1.0, _]) | ("and", [1.0, _]) | ("or", [0.0, _]):
            return values[1]
        case ("add" | "sub" | "or", [_, 0.0]) | ("mul" | "div" | "and", [_, 1.0]):
            return values[0]
        case "where", [float(condition), _, _]:
            return values[1] if condition else values[2]
    return Applied(shape, operation, tuple(values))


def name_of(node: fx.Node) -> str:
    """An operation without its overload: `aten.sum.dim_IntList` → `sum`."""
    return str(getattr(node.target, "__name__", node.target)).split(".")[0]


def _uses(node: fx.Node) -> int:
    """How many operations read a result, or a view of it."""
    total = 0
    for user in node.users:
        reads = sum(leaf is node for leaf in tree_leaves((user.args, user.kwargs)))
        total += _uses(user) if name_of(user) in VIEWS else reads
    return total
