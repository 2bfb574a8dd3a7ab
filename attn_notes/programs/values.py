"""Values of a program while it is made: numbers, places in buffers, and expressions over them.

A view of a tensor costs nothing: it is the same buffer read with other strides. `Layout` holds that
arithmetic. An expression's leaves all have the expression's own shape, those that are broadcast
with a stride of 0, so that a view of an expression is that view of each of its leaves.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

Shape = tuple[int, ...]


def count(shape: Sequence[int]) -> int:
    """How many entries a tensor of this shape has."""
    total = 1
    for length in shape:
        total *= length
    return total


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape of tensors of these shapes together, which are known to fit."""
    rank = max(len(shape) for shape in shapes)
    found = [1] * rank
    for shape in shapes:
        for d, length in enumerate(shape):
            if length != 1:
                found[rank - len(shape) + d] = length
    return tuple(found)


@dataclass(frozen=True)
class Layout:
    """Where the entries of a tensor stand: entry i at offset + Σ i strides."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def contiguous(cls, shape: Sequence[int]) -> "Layout":
        """Row by row, from 0 on."""
        strides, size = [], 1
        for length in reversed(shape):
            strides.append(size)
            size *= length
        return cls(tuple(shape), tuple(reversed(strides)))

    @property
    def size(self) -> int:
        return count(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether the entries stand row by row, wherever they begin."""
        pairs = zip(self.shape, self.strides, self.contiguous(self.shape).strides, strict=True)
        return all(length == 1 or mine == theirs for length, mine, theirs in pairs)

    def permute(self, dims: Sequence[int]) -> "Layout":
        """The dimensions in another order."""
        shape, strides = (tuple(row[d] for d in dims) for row in (self.shape, self.strides))
        return replace(self, shape=shape, strides=strides)

    def expand(self, shape: Sequence[int]) -> "Layout":
        """Broadcast: new dimensions in front, and longer ones where the length is 1."""
        new = len(shape) - len(self.shape)
        pairs = zip(self.shape, self.strides, shape[new:], strict=True)
        strides = [0 if length != wanted else stride for length, stride, wanted in pairs]
        return replace(self, shape=tuple(shape), strides=(*[0] * new, *strides))

    def slice(self, dim: int, start: int | None, stop: int | None, step: int = 1) -> "Layout":
        """Some entries along a dimension, as Python's slices say."""
        chosen = range(self.shape[dim])[start:stop:step]
        shape, strides = list(self.shape), list(self.strides)
        shape[dim], strides[dim] = len(chosen), self.strides[dim] * step
        offset = self.offset + (chosen.start * self.strides[dim] if chosen else 0)
        return Layout(tuple(shape), tuple(strides), offset)

    def select(self, dim: int, index: int) -> "Layout":
        """One entry along a dimension, which is gone then."""
        at = range(self.shape[dim])[index]
        return self.slice(dim, at, at + 1).squeeze([dim])

    def reverse(self, dim: int) -> "Layout":
        """A dimension from its end."""
        strides = tuple(-stride if d == dim else stride for d, stride in enumerate(self.strides))
        end = max(0, self.shape[dim] - 1) * self.strides[dim]
        return replace(self, strides=strides, offset=self.offset + end)

    def squeeze(self, dims: Sequence[int]) -> "Layout":
        """Without these dimensions, where they have length 1."""
        gone = {d for d in dims if self.shape[d] == 1}
        return self.permute([d for d in range(len(self.shape)) if d not in gone])

    def unsqueeze(self, dim: int) -> "Layout":
        """With a dimension of length 1 more."""
        shape, strides = list(self.shape), list(self.strides)
        shape.insert(dim, 1)
        strides.insert(dim, 0)
        return replace(self, shape=tuple(shape), strides=tuple(strides))

    def reshape(self, shape: Sequence[int]) -> "Layout | None":
        """The same entries, row by row, in another shape; None where no strides can say that."""
        if not self.size:
            return self.contiguous(shape)
        runs = [run for run in merged(self.shape, [self.strides]) if run[0] != 1]
        left, stride = 1, 0
        strides = []
        for length in reversed(shape):
            if length == 1:
                strides.append(0)
                continue
            if left == 1:
                left, (stride,) = runs.pop()
            if left % length:
                return None
            strides.append(stride)
            left, stride = left // length, stride * length
        return replace(self, shape=tuple(shape), strides=tuple(reversed(strides)))


def merged(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> list[tuple[int, tuple[int, ...]]]:
    """Fewer and longer dimensions that go through the same entries in the same order.

    Of several layouts of that shape the strides are a row each. Lengths come with those of all of
    them. Neighbours are one where every layout steps through them evenly; those of 1 are gone.
    """
    found: list[tuple[int, tuple[int, ...]]] = []
    for d, length in enumerate(shape):
        steps = tuple(row[d] for row in strides)
        if length == 1:
            continue
        if found and found[-1][1] == tuple(length * step for step in steps):
            found[-1] = (found[-1][0] * length, steps)
        else:
            found.append((length, steps))
    return found


@dataclass(eq=False)
class Buffer:
    """So many numbers in a row that belong together: one result, input or constant.

    `role` is "input", "constant", "output" or "temporary". Once written, it does not change.
    """

    size: int
    role: str = "temporary"
    name: str = ""
    data: tuple[float, ...] = ()


@dataclass(frozen=True)
class Number:
    """The same number everywhere."""

    shape: Shape
    number: float


@dataclass(frozen=True)
class Stored:
    """A view of a buffer."""

    buffer: Buffer
    layout: Layout

    @property
    def shape(self) -> Shape:
        return self.layout.shape


@dataclass(frozen=True)
class Picked:
    """Entries of a buffer at places that are computed: at the layout's, plus an index."""

    buffer: Buffer
    layout: Layout
    index: "Value"

    @property
    def shape(self) -> Shape:
        """Of the index and the layout alike."""
        return self.layout.shape


@dataclass(frozen=True)
class Applied:
    """An operation on each entry of its arguments, which have its shape. Not yet computed."""

    shape: Shape
    operation: str
    arguments: tuple["Value", ...]


Value = Number | Stored | Picked | Applied
Operand = Value | int | float
Change = Callable[[Layout], Layout | None]


def viewed(value: Value, change: Change) -> Value | None:
    """A view of a value, by what it does to a layout; None where a leaf has no strides for it."""
    if isinstance(value, Number):
        layout = change(Layout.contiguous(value.shape))
        return None if layout is None else replace(value, shape=layout.shape)
    if isinstance(value, Stored):
        layout = change(value.layout)
        return None if layout is None else replace(value, layout=layout)
    if isinstance(value, Picked):
        layout, index = change(value.layout), viewed(value.index, change)
        if layout is None or index is None:
            return None
        return replace(value, layout=layout, index=index)
    arguments = [viewed(argument, change) for argument in value.arguments]
    if any(argument is None for argument in arguments):
        return None
    known = tuple(argument for argument in arguments if argument is not None)
    return replace(value, shape=known[0].shape, arguments=known)


def leaves(value: Value) -> Iterator[Stored | Picked]:
    """The places that a value is read from, from left to right, an index after its place."""
    if isinstance(value, Stored):
        yield value
    elif isinstance(value, Picked):
        yield value
        yield from leaves(value.index)
    elif isinstance(value, Applied):
        for argument in value.arguments:
            yield from leaves(argument)
