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
    """An operation, or what a function begins or ends with."""

    def __init__(
        self,
        operation: str,  # its name in `torch.ops.aten`, or "input", "constant" or "output"
        arguments: Sequence[Any] = (),  # in order; other nodes among them, in lists as well
        options: dict[str, Any] | None = None,  # what it is given by name
        *,
        shape: Shape = (),  # of what it gives; of the first, where that is several tensors
        dtype: str = "float32",  # likewise
        **more: Any,
    ) -> None:
        self.operation, self.arguments, self.options = operation, arguments, options or {}
        self.shape, self.dtype = tuple(shape), dtype
        self.dtypes: Sequence[str] = more.get("dtypes", (dtype,))  # of all that it gives
        self.name: str = more.get("name", "")  # an input's
        self.data: Sequence[float] = more.get("data", ())  # a constant's; what is repeated, once
        self.held: Shape = more.get("held", self.shape)  # of these numbers, row by row
        self.strides: Sequence[int] = more.get("strides", ())  # in torch's memory: for `as_strided`
        self.whole: bool = more.get("whole", True)  # that memory holds the result and nothing else
        self.called: str = more.get("called", operation)  # what a message calls it
        self.asked: str = more.get("asked", "")  # a sentence that says which line asked for it
        self.inputs = list(_nodes((self.arguments, *self.options.values())))  # as often as it reads
        self.users: list[Node] = []  # the nodes that read it
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
