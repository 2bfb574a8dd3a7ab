"""From a graph's nodes to the text of a module, and where inputs and outputs stand in its array."""

from collections.abc import Sequence

from attn_notes.programs import javascript
from attn_notes.programs.arena import placed
from attn_notes.programs.graph import Node
from attn_notes.programs.loops import addressed
from attn_notes.programs.lowering import Lowering
from attn_notes.programs.operations import TABLE
from attn_notes.programs.values import Shape, Stored

Slots = dict[str, tuple[int, Shape]]
"""Name → where a tensor begins, and its shape."""


def module(nodes: Sequence[Node], names: Sequence[str]) -> tuple[str, int, Slots, Slots]:
    """The text of an ES module, how many numbers are in its one array, inputs and outputs.

    The last of the nodes is "output"; the names are those of the outputs, in their order.

    Raises:
        RefusedError: an operation cannot be part of a program.
    """
    lowering = Lowering(TABLE)
    outputs = lowering.run(nodes)
    starts, size = placed(lowering.kernels, lowering.buffers)

    def slot(value: Stored) -> tuple[int, Shape]:
        return starts[value.buffer] + value.layout.offset, value.shape

    inputs = [node for node in nodes if node.operation == "input"]
    of_inputs = {node.name: slot(lowering.known[node]) for node in inputs}
    of_outputs = {name: slot(value) for name, value in zip(names, outputs, strict=True)}
    data = [(starts[b], b.data) for b in lowering.buffers if b.role == "constant"]
    text = javascript.module(addressed(lowering.kernels, starts), data, size, of_inputs, of_outputs)
    return text, size, of_inputs, of_outputs
