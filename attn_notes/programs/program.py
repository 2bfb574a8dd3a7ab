"""Export: a torch function in, an ES module out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from attn_notes.allowed import typed
from attn_notes.programs import trainer
from attn_notes.programs.decompositions import UnknownOperationError
from attn_notes.programs.graph import Node, RefusedError
from attn_notes.programs.lowering import DTYPES, NAMES
from attn_notes.programs.module import Slots, module
from attn_notes.programs.nodes import name_of_dtype, nodes
from attn_notes.programs.operations import TABLE
from attn_notes.programs.tracing import Tensors, traced


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

    def __repr__(self) -> str:
        slots = (f"{_told(self.inputs)} → {_told(self.outputs)}", f"{self.size:,} numbers")
        return f"Program({'; '.join(slots)}; {len(self.module):,} characters)"

    @typed
    def save(
        self,
        folder: Path | str,
        inputs: Tensors,
        *,
        rate: float,
        steps: int,
        warmup: int = 0,
        decay: float = 0.01,
        batches: Sequence[Tensors] = (),
        draws: Mapping[str, Mapping[str, Any]] | None = None,
        double: bool = False,
        title: str = "A model in training",
    ) -> Path:
        """Write a training step into a folder, with a page that trains it.

        `index.html` has all it needs in it, asks for nothing, and opens from a disk as well as from
        any server. The other files are for a page of your own: `step.js`, the program;
        `weights.json`, every input as it starts; `setup.json`, the settings; `program.js`,
        `vectors.js` and `trainer.js`, AdamW, draws, products and a Worker to train in. Files of
        these names are replaced.

        Args:
            folder: made, if it is not there.
            inputs: every input by its name, `training.inputs` of a model and a batch.
            rate: AdamW's; the page's reader may change it, and the steps.
            steps: how many. After `warmup` the rate falls along a cosine to a tenth.
            warmup: steps in which the rate rises.
            decay: AdamW's weight decay.
            batches: one for each step, from the first again after the last, each with the same
                inputs by their names: `training.named` of a batch. Without any it stays as it is.
            draws: how weights start for another seed, as `initial.draws` finds it. Without it the
                page has no seeds. What is not trained starts as it is in `inputs`, always.
            double: compute in double precision, exact but some times slower.
            title: of the page.

        Returns:
            The page.

        Raises:
            ValueError: the program has no gradients or no loss; inputs or batches of other names
                or shapes; a setting that cannot be.
        """
        how = {"rate": rate, "steps": steps, "warmup": warmup, "decay": decay, "double": double}
        slots = self.inputs, self.outputs
        return trainer.write(folder, inputs, self.module, slots, how, batches, draws or {}, title)


def _told(slots: dict[str, Slot]) -> str:
    """The first few with their shapes, and how many more there are."""
    shown = [f"{name} {list(slot.shape)}" for name, slot in list(slots.items())[:3]]
    return ", ".join(shown + [f"and {len(slots) - 3} more"] * (len(slots) > 3))


@typed
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
        if name_of_dtype(tensor.dtype) not in DTYPES:
            raise UnknownOperationError(
                f"The input {name} is {tensor.dtype}, and a program has {NAMES}"
            )
    examples = {name: tensor.detach().contiguous().clone() for name, tensor in inputs.items()}
    names: list[str] = []

    def named(tensors: Tensors) -> list[Tensor]:
        results = function(tensors)
        if not isinstance(results, Mapping):
            raise ValueError(f"function must return tensors by name, not {results!r:.60}")
        names[:] = results
        return list(results.values())

    graph = traced(named, examples)
    if not names:
        raise ValueError("a program has at least one output, and there is none")
    try:
        found = nodes(graph, list(examples))
        for node in found:
            _fit(node)
        text, size, of_inputs, of_outputs = module(found, names)
    except RefusedError as error:
        raise UnknownOperationError(str(error)) from None
    return Program(text, size, _slots(of_inputs), _slots(of_outputs))


def _slots(found: Slots) -> dict[str, Slot]:
    return {name: Slot(*slot) for name, slot in found.items()}


_signature = cache(signature)


def _fit(node: Node) -> None:
    """Refuse what an operation of a program does not take: torch's have more forms than one."""
    if node.operation in TABLE:
        try:
            _signature(TABLE[node.operation]).bind(None, *node.arguments, **node.options)
        except TypeError as error:
            raise RefusedError(node, f"is not known to a program in this form: {error}") from None
