"""Export: a torch function in, an ES module out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from attn_notes.programs import javascript
from attn_notes.programs.arena import placed
from attn_notes.programs.loops import addressed
from attn_notes.programs.lowering import DTYPES, NAMES, Lowering, RefusedError
from attn_notes.programs.operations import TABLE
from attn_notes.programs.tracing import Tensors, UnknownOperationError, traced
from attn_notes.programs.values import Stored


class Slot(NamedTuple):
    """Where a tensor stands in the array, row by row."""

    start: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """A function that a page can run.

    Attributes:
        module: the text of an ES module, the same for the same function and shapes.
        size: numbers in the one array that it works on.
        inputs: where the inputs stand.
        outputs: where the outputs stand after a run.
    """

    module: str
    size: int
    inputs: dict[str, Slot]
    outputs: dict[str, Slot]


def export(function: Callable[[Tensors], Tensors], inputs: Tensors) -> Program:
    """A torch function as a program.

    Args:
        function: from named tensors to named tensors. It is run once, and traced: what it does
            must not hang on what the numbers are, nor on what it kept of them when it was run.
        inputs: examples of its inputs, whose names, shapes and dtypes count.

    Raises:
        UnknownOperationError: the function does what no program can do, or needs to know its
            inputs' numbers; the message says what it is, and which line asked for it.
        ValueError: no input, or no output.
    """
    if not inputs:
        raise ValueError("a program has at least one input, and there is none")
    for name, tensor in inputs.items():
        if tensor.dtype not in DTYPES:
            raise UnknownOperationError(
                f"The input {name} is {tensor.dtype}, and a program has {NAMES}"
            )
    examples = {name: tensor.detach().contiguous() for name, tensor in inputs.items()}
    names: list[str] = []

    def named(tensors: Tensors) -> list[Tensor]:
        results = function(tensors)
        names[:] = results
        return list(results.values())

    graph = traced(named, examples)
    if not names:
        raise ValueError("a program has at least one output, and there is none")
    lowering = Lowering(TABLE)
    try:
        outputs = lowering.run(graph, list(examples))
    except RefusedError as error:
        node = error.node
        said = f"{node.target} {error.why}. {node.stack_trace or ''}"
        raise UnknownOperationError(said.rstrip()) from None
    starts, size = placed(lowering.kernels, lowering.buffers)

    def slot(value: Stored) -> Slot:
        return Slot(starts[value.buffer] + value.layout.offset, tuple(value.shape))

    of_inputs = {
        buffer.name: Slot(starts[buffer], tuple(examples[buffer.name].shape))
        for buffer in lowering.buffers
        if buffer.role == "input"
    }
    of_outputs = {name: slot(value) for name, value in zip(names, outputs, strict=True)}
    data = [(starts[b], b.data) for b in lowering.buffers if b.role == "constant"]
    kernels = addressed(lowering.kernels, starts)
    text = javascript.module(kernels, data, size, of_inputs, of_outputs)
    return Program(text, size, of_inputs, of_outputs)
