"""What a program does, one after another: loops, and matrix products."""

from collections.abc import Iterator
from dataclasses import dataclass

from attn_notes.programs.values import Picked, Shape, Stored, Value, leaves


@dataclass(frozen=True)
class Loop:
    """Go through a shape; write an expression, or what becomes of one along the last dimensions."""

    kind: str  # "map" writes every entry; sum, max, min, prod, argmax and argmin reduce
    shape: Shape  # gone through, what is reduced last
    outer: int  # how many dimensions are not reduced
    target: Stored | Picked  # where the results go, of the outer dimensions' shape
    value: Value  # of the whole shape
    adds: bool = False  # whether a map adds to what is there

    def places(self) -> Iterator[Stored | Picked]:
        """All that is read, then all that says where to write."""
        yield from leaves(self.value)
        yield from leaves(self.target)


@dataclass(frozen=True)
class Product:
    """Matrix products: target[b, m, n] = Σ_k left[b, m, k] right[b, k, n], with or without b."""

    left: Stored
    right: Stored
    target: Stored

    def places(self) -> Iterator[Stored | Picked]:
        """Both factors, then the result."""
        yield from (self.left, self.right, self.target)


Kernel = Loop | Product
