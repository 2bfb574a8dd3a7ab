"""From torch's graph to ours. What no input has a part in is computed now, and is a constant."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._pytree import tree_leaves

from attn_notes.programs.graph import Node, RefusedError


def nodes(graph: fx.Graph, names: Sequence[str]) -> list[Node]:
    """The operations of a graph whose inputs have these names, its outputs last.

    Raises:
        RefusedError: it draws random numbers, or reads what is no input and may change.
    """
    found: list[Node] = []
    known: dict[fx.Node, Node] = {}
    folded: dict[fx.Node, Any] = {}  # tensors and other things that do not hang on an input
    inputs = iter(names)

    def read(each: fx.Node) -> Any:
        if each in known:
            return known[each]
        value = folded[each]
        if isinstance(value, Tensor):
            found.append(_constant(each, value))
            return found[-1]
        return value

    for node in graph.nodes:
        if node.op == "placeholder":
            known[node] = _node(node, "input", name=next(inputs))
        elif node.op == "get_attr":
            folded[node] = _held(node)
            continue
        elif node.op == "output":
            ends = [read(each) for each in tree_leaves(node.args)]
            return [*found, Node("output", ends, called="output")]
        elif all(each in folded for each in node.all_input_nodes):
            folded[node] = _folded(node, folded)
            continue
        else:
            arguments, options = fx.node.map_arg((node.args, node.kwargs), read)
            options = {name: _plain(given) for name, given in options.items()}
            known[node] = _node(node, name_of(node), _plain(arguments), options)
        found.append(known[node])
    raise AssertionError("a graph ends with its outputs")


def name_of(node: fx.Node) -> str:
    """An operation without its overload: `aten.sum.dim_IntList` → `sum`."""
    return str(getattr(node.target, "__name__", node.target)).split(".")[0]


def _plain(given: Any) -> Any:
    """A dtype by its name; lists as plain ones."""
    if isinstance(given, torch.dtype):
        return name_of_dtype(given)
    return [_plain(x) for x in given] if isinstance(given, (list, tuple)) else given


def name_of_dtype(dtype: torch.dtype) -> str:
    """As in "float32"."""
    return str(dtype).removeprefix("torch.")


def _node(
    node: fx.Node, operation: str, arguments: Sequence[Any] = (), options: Any = None, **more: Any
) -> Node:
    tensors = [x for x in tree_leaves(node.meta["val"]) if isinstance(x, Tensor)]
    first = tensors[0]
    return Node(
        operation,
        arguments,
        options,
        shape=tuple(first.shape),
        dtype=name_of_dtype(first.dtype),
        dtypes=[name_of_dtype(x.dtype) for x in tensors],
        strides=first.stride(),
        whole=first.untyped_storage().nbytes() == first.numel() * first.element_size(),
        **_said(node),
        **more,
    )


def _said(node: fx.Node) -> dict[str, Any]:
    """How a message calls a node, and which line asked for it."""
    return {"called": str(node.target), "asked": node.stack_trace or ""}


def _constant(node: fx.Node, tensor: Tensor) -> Node:
    """A tensor whose numbers are known now. What is repeated is held once."""
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in tensor.stride())
    small = tensor.detach()[once]
    return Node(
        "constant",
        shape=tuple(tensor.shape),
        dtype=name_of_dtype(tensor.dtype),
        data=tuple(small.to(torch.float64).flatten().tolist()),
        held=tuple(small.shape),
        strides=tensor.stride(),
        **_said(node),
    )


def _held(node: fx.Node) -> Any:
    constant = node.meta["constant"]
    if isinstance(constant, Tensor) and constant.requires_grad:
        raise _refused(node, "reads a tensor that is trained and is no input: make it one")
    if node.meta["kept"]:
        raise _refused(
            node, "reads what an earlier call made of its inputs and kept: make it an input"
        )
    return constant


def _folded(node: fx.Node, folded: dict[fx.Node, Any]) -> Any:
    """What an operation comes to that no input has a part in."""
    if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
        raise _refused(
            node, "draws random numbers, which a program has as inputs only; dropout goes by eval()"
        )
    if "empty" in name_of(node):  # whatever stands there is not read, and is always the same
        return torch.zeros(node.meta["val"].shape, dtype=node.meta["val"].dtype)
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), folded.__getitem__)
    assert callable(node.target)
    return node.target(*args, **kwargs)


def _refused(node: fx.Node, why: str) -> RefusedError:
    return RefusedError(Node(name_of(node), **_said(node)), why)
