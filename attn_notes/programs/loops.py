"""Kernels with addresses for buffers, their loops as few and as long as they can be.

Dimensions through which all of a loop's layouts step evenly become one. Neighbouring loops through
the same lengths become one too, where none writes what the other reads or writes elsewhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from attn_notes.programs.kernels import Kernel, Loop, Product
from attn_notes.programs.values import Buffer, Number, Picked, Stored, Value, merged

LARGE = 4096
"""Products of so many multiplications or more, and rows of so many numbers, go to the page's own
functions, if it has them."""

QUICKER = ("sigmoid",)
"""Operations on a row that a page may have a function for, by the same name."""


@dataclass(frozen=True)
class Place:
    """The number at start + Σ i strides, plus an index where it is computed."""

    start: int
    strides: tuple[int, ...]
    index: "Term | None" = None


@dataclass(frozen=True)
class Call:
    """An operation on terms."""

    operation: str
    arguments: tuple["Term", ...]


Term = float | Place | Call


@dataclass(frozen=True)
class Nest:
    """A loop in a loop in a loop: a `kernels.Loop`, or several maps."""

    kind: str
    lengths: tuple[int, ...]
    outer: int
    targets: tuple[Place, ...]
    terms: tuple[Term, ...]
    adds: bool


@dataclass(frozen=True)
class Row:
    """An operation of `QUICKER` on so many numbers in a row, from one address to another."""

    operation: str
    length: int
    source: int
    target: int

    @property
    def nest(self) -> Nest:
        """The same as a loop."""
        source, target = (Place(start, (1,)) for start in (self.source, self.target))
        value = Call(self.operation, (source,))
        return Nest("map", (self.length,), 1, (target,), (value,), adds=False)


@dataclass(frozen=True)
class Matrices:
    """A `kernels.Product`: addresses and strides as the page's `product` takes them."""

    sizes: tuple[int, int, int, int]  # B, M, N, K
    left: tuple[int, int, int, int]  # start, and strides along B, M, K
    right: tuple[int, int, int, int]  # along B, K, N
    target: int  # row by row


Addressed = Nest | Row | Matrices


def addressed(kernels: Sequence[Kernel], starts: Mapping[Buffer, int]) -> list[Addressed]:
    """The kernels, with these places for their buffers."""
    done: list[Addressed] = []
    for kernel in kernels:
        if isinstance(kernel, Product):
            done.append(_matrices(kernel, starts))
            continue
        nest = _nest(kernel, starts)
        row, before = _row(nest), done[-1] if done else None
        if row is None and isinstance(before, Nest) and _fit(before, nest):
            targets, terms = before.targets + nest.targets, before.terms + nest.terms
            done[-1] = replace(before, targets=targets, terms=terms)
        else:
            done.append(row or nest)
    return done


def _matrices(product: Product, starts: Mapping[Buffer, int]) -> Matrices:
    left, right, target = (place.layout for place in (product.left, product.right, product.target))
    *batch, M, N = target.shape
    B, K = batch[0] if batch else 1, left.shape[-1]
    sa, am, ak = (0, *left.strides)[-3:]
    sb, bk, bn = (0, *right.strides)[-3:]
    if sb == 0 and (B == 1 or sa == M * am):  # one matrix on the right: rows of a single left one
        B, M, sa = 1, B * M, 0
    a = starts[product.left.buffer] + left.offset
    b = starts[product.right.buffer] + right.offset
    return Matrices((B, M, N, K), (a, sa, am, ak), (b, sb, bk, bn), starts[product.target.buffer])


def _nest(loop: Loop, starts: Mapping[Buffer, int]) -> Nest:
    inner = (0,) * (len(loop.shape) - loop.outer)
    rows = [(*place.layout.strides, *inner)[: len(loop.shape)] for place in loop.places()]
    outside = merged(loop.shape[: loop.outer], [row[: loop.outer] for row in rows])
    inside = merged(loop.shape[loop.outer :], [row[loop.outer :] for row in rows])
    dims = outside + inside
    order = iter(range(len(rows)))

    def term(value: Value) -> Term:
        if isinstance(value, Number):
            return value.number
        if isinstance(value, (Stored, Picked)):
            return place(value)
        return Call(value.operation, tuple(term(argument) for argument in value.arguments))

    def place(value: Stored | Picked) -> Place:
        which = next(order)
        start = starts[value.buffer] + value.layout.offset
        index = term(value.index) if isinstance(value, Picked) else None
        return Place(start, tuple(strides[which] for _, strides in dims), index)

    value = term(loop.value)
    lengths = tuple(length for length, _ in dims)
    return Nest(loop.kind, lengths, len(outside), (place(loop.target),), (value,), loop.adds)


def _row(nest: Nest) -> Row | None:
    """What a loop does, if it is a row's and long."""
    value, target = nest.terms[0], nest.targets[0]
    if nest.kind != "map" or nest.adds or not isinstance(value, Call):
        return None
    if value.operation not in QUICKER or len(nest.lengths) != 1 or nest.lengths[0] < LARGE:
        return None
    source = value.arguments[0]
    if not isinstance(source, Place):
        return None
    if any(place.strides != (1,) or place.index is not None for place in (source, target)):
        return None
    return Row(value.operation, nest.lengths[0], source.start, target.start)


def _fit(before: Nest, after: Nest) -> bool:
    """Whether what two loops do may be done entry by entry."""
    if not before.kind == after.kind == "map" or before.lengths != after.lengths:
        return False
    if before.adds or after.adds:
        return False
    places = [[*nest.targets, *_places(nest.terms)] for nest in (before, after)]
    if any(place.index is not None for both in places for place in both):
        return False
    lengths = before.lengths
    written = [(x, y) for x in before.targets for y in places[1]]
    written += [(x, y) for x in after.targets for y in places[0]]
    return not any(_collide(x, y, lengths) for x, y in written)


def _collide(x: Place, y: Place, lengths: Sequence[int]) -> bool:
    """Whether two places may be one at different times."""
    if (x.start, x.strides) == (y.start, y.strides):
        # Entry for entry the same, unless several entries are one.
        return any(stride == 0 for stride in x.strides)
    (low, high), (least, most) = (_span(place, lengths) for place in (x, y))
    return low <= most and least <= high


def _span(place: Place, lengths: Sequence[int]) -> tuple[int, int]:
    """The first and the last number that a place may be."""
    reach = [(n - 1) * stride for n, stride in zip(lengths, place.strides, strict=True)]
    below, above = (sum(sign(step, 0) for step in reach) for sign in (min, max))
    return place.start + below, place.start + above


def _places(terms: Sequence[Term]) -> Iterator[Place]:
    for term in terms:
        if isinstance(term, Place):
            yield term
            if term.index is not None:
                yield from _places([term.index])
        elif isinstance(term, Call):
            yield from _places(term.arguments)
