"""The operations of a function, one after another, as they are lowered.

Two ways lead here: `nodes.graph` from what torch has traced, and the page's own torch from what a
reader wrote. So nothing in this file, nor in those that lower it, needs torch: all of them run in
the page as well, in the smaller Python that `book.page.code` brings.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attn_notes.programs.values import Shape

VIEWS = {
    *("_to_copy", "_unsafe_view", "alias", "clone", "copy_strided", "detach", "expand"),
    *("getitem", "permute", "select", "slice", "squeeze", "unsqueeze", "view"),
}
"""What reads a view is what reads its base."""


class Node:
    """An operation, or what a function begins or ends with.

    Attributes:
        operation: its name in `torch.ops.aten`, or "input", "constant" or "output".
        arguments: what it is given in order; other nodes among it, in lists as well.
        options: what it is given by name.
        shape: of what it gives; of the first, where that is several tensors.
        dtype: likewise, as in "float32".
        dtypes: of all that it gives.
        name: an input's.
        data: a constant's numbers, row by row; of what is repeated, once.
        held: the shape of these numbers.
        strides: where torch keeps the result in memory, if it has one: for `as_strided`.
        whole: whether that memory holds the result and nothing else.
        called: what a message calls it.
        asked: a sentence that says which line asked for it.
        inputs: the nodes that it reads, as often as it reads them.
        users: the nodes that read it.
    """

    def __init__(
        self,
        operation: str,
        arguments: Sequence[Any] = (),
        options: dict[str, Any] | None = None,
        *,
        shape: Shape = (),
        dtype: str = "float32",
        **more: Any,
    ) -> None:
        self.operation, self.arguments, self.options = operation, arguments, options or {}
        self.shape, self.dtype = tuple(shape), dtype
        self.dtypes: Sequence[str] = more.get("dtypes", (dtype,))
        self.name: str = more.get("name", "")
        self.data: Sequence[float] = more.get("data", ())
        self.held: Shape = more.get("held", self.shape)
        self.strides: Sequence[int] = more.get("strides", ())
        self.whole: bool = more.get("whole", True)
        self.called: str = more.get("called", operation)
        self.asked: str = more.get("asked", "")
        self.inputs = list(_nodes((self.arguments, *self.options.values())))
        self.users: list[Node] = []
        for node in self.inputs:
            if not node.users or node.users[-1] is not self:
                node.users.append(self)

    @property
    def uses(self) -> int:
        """How many operations read the result, or a view of it."""
        total = 0
        for user in self.users:
            reads = len([node for node in user.inputs if node is self])
            total += user.uses if user.operation in VIEWS else reads
        return total


class RefusedError(Exception):
    """Why an operation cannot be part of a program, as it is used."""

    def __init__(self, node: Node, why: str) -> None:
        super().__init__(f"{node.called} {why}. {node.asked}".rstrip())


def _nodes(given: Any) -> Iterator[Node]:
    if isinstance(given, Node):
        yield given
    elif isinstance(given, (list, tuple)):
        for each in given:
            yield from _nodes(each)


def mapped(given: Any, change: Callable[[Node], Any]) -> Any:
    """Arguments with something else in the place of each node."""
    if isinstance(given, Node):
        return change(given)
    if isinstance(given, (list, tuple)):
        return [mapped(each, change) for each in given]
    return given
