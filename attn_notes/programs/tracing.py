"""From a torch function to its operations: flat, without mutations, a few hundred kinds fewer.

`traced` gives a graph of torch's core operations and some that are simpler still. Where one of them
has no place in a program, `refused` says which line of the model asked for it.
"""

import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, fx
from torch._decomp import core_aten_decompositions, get_decompositions
from torch.func import functionalize
from torch.utils._pytree import tree_flatten

from attn_notes.training import ensemble

Tensors = dict[str, Tensor]
Function = Callable[[Tensors], Any]
"""From named tensors to tensors."""

aten = torch.ops.aten
FURTHER = (
    aten._log_softmax,
    aten._softmax,
    aten.addmm,
    aten.leaky_relu,
    aten.repeat,
    aten.linalg_vector_norm,
    aten.mean,
    aten.native_layer_norm,
    aten.split_with_sizes,
    aten.var,
)
"""Core operations of torch that are loops of several others."""

LIBRARIES = {"beartype", "jaxtyping", "torch"}
OURS = (Path(__file__).parent, Path(ensemble.__file__))


class UnknownOperationError(NotImplementedError):
    """A function does something that no program can do."""


def traced(function: Function, inputs: Tensors, refuse: Any = None) -> fx.Graph:
    """The operations that a function does with tensors of these shapes.

    Args:
        function: from named tensors to named tensors.
        inputs: examples.
        refuse: an operation at which to stop, to see who asks for it.
    """
    table = _decompositions()
    if refuse is not None:
        table = table | {refuse: _stop}
    plain = functionalize(function, remove="mutations")
    module = ensemble.traced(plain, (inputs,), decomposition_table=table)
    for node in module.graph.nodes:
        if _mutates(node):
            _renew(node)
    module.graph.eliminate_dead_code()
    for node in module.graph.nodes:
        if node.op == "get_attr":
            node.meta["constant"] = getattr(module, node.target)
    _share(module.graph)
    return module.graph


@cache
def _decompositions() -> dict[Any, Any]:
    """How operations are taken apart: a second's work, so done once."""
    return {**core_aten_decompositions(), **get_decompositions(FURTHER)}


def _mutates(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _renew(node: fx.Node) -> None:
    """A new result in place of a mutation, as there is within what torch takes apart."""
    base = node.args[0]
    assert isinstance(base, fx.Node)
    nodes = list(node.graph.nodes)
    later = set(nodes[nodes.index(node) + 1 :])
    name, _, overload = str(node.target).removeprefix("aten.").partition(".")
    node.target = getattr(getattr(aten, name.removesuffix("_")), overload)
    base.replace_all_uses_with(node, later.__contains__)


def _share(graph: fx.Graph) -> None:
    """Do once what is done twice with the same arguments."""
    seen: dict[Any, fx.Node] = {}
    for node in graph.nodes:
        if node.op != "call_function" or _is_random(node):
            continue
        flat, form = tree_flatten((node.args, node.kwargs))
        # 1, 1.0 and True are equal, and not the same.
        key = (node.target, str(form), tuple((type(x), repr(x)) for x in flat))
        if key in seen:
            node.replace_all_uses_with(seen[key])
        else:
            seen[key] = node
    graph.eliminate_dead_code()


def _is_random(node: fx.Node) -> bool:
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags


class _FoundError(Exception):
    """Ends a second trace where the operation that was looked for is asked for."""


def _stop(*_: Any, **__: Any) -> None:
    frames = traceback.extract_stack()
    for frame in reversed(frames):
        path = Path(frame.filename)
        passed = any(path.is_relative_to(place) for place in OURS)
        if path.is_file() and not passed and not LIBRARIES & {*path.parts}:
            raise _FoundError(f"{frame.filename}, line {frame.lineno}: {frame.line}")
    raise _FoundError("a line that could not be found")


def refused(function: Function, inputs: Tensors, node: fx.Node, why: str) -> UnknownOperationError:
    """What to raise at a node of a function's graph: the operation, why not, and whose it is."""
    line = "a line that could not be found"
    try:
        traced(function, inputs, refuse=node.target)
    except _FoundError as found:
        line = str(found)
    return UnknownOperationError(f"{node.target} {why}. It was asked for in {line}")
