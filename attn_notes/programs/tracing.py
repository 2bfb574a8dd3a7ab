"""From a torch function to its operations: flat, without mutations, a few hundred kinds fewer.

`traced` gives a graph of torch's core operations and some that are simpler still. Each has as its
`stack_trace` the line of the model that asked for it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor, fx
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._guards import TracingContext, tracing
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves

from attn_notes.programs.decompositions import APART, UnknownOperationError
from attn_notes.programs.lines import Lines
from attn_notes.training.plain import READS, OwnNumbersError, Stepwise, raised

Tensors = dict[str, Tensor]
Function = Callable[[Tensors], Any]
"""From named tensors to tensors."""

aten = torch.ops.aten
NORMS = (aten.native_batch_norm, aten.native_group_norm, aten.native_layer_norm)
SLOPES = (aten.gelu_backward, aten.native_batch_norm_backward, aten.native_group_norm_backward)
FURTHER = (
    *(aten._log_softmax, aten._softmax, aten.addmm, aten.elu, aten.gelu, aten.leaky_relu),
    *(aten.linalg_vector_norm, aten.mean, aten.repeat, aten.split_with_sizes, aten.var),
    *(*NORMS, *SLOPES),
)
"""Core operations of torch that are loops of several others."""
NONE = "while a function is traced there are none"


READING = (Tensor.numpy, Tensor.__array__, Tensor.__dlpack__, Tensor.tolist)


class _NoNumbers(TorchFunctionMode):
    """Refuses what reads a tensor's memory past torch's dispatch, where a traced one has none."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in READING and args[0].numel() and not args[0].data_ptr():
            raise RuntimeError(f"`{func.__name__}` reads numbers, and {NONE}")
        return func(*args, **(kwargs or {}))


class _Following(TorchDispatchMode):
    """Knows what is computed from some tensors: by its memory, which it does not keep."""

    def __init__(self, tensors: Tensors) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known = {StorageWeakRef(x.untyped_storage()) for x in tensors.values()}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if any(map(self.follows, tree_leaves((args, kwargs)))):
            made = [x for x in tree_leaves(found) if isinstance(x, Tensor)]
            self._known |= {StorageWeakRef(x.untyped_storage()) for x in made}
        return found

    def follows(self, x: Any) -> bool:
        """Whether this is one of the tensors, or was computed from one."""
        return isinstance(x, Tensor) and StorageWeakRef(x.untyped_storage()) in self._known


def traced(function: Function, inputs: Tensors) -> fx.Graph:
    """The operations that a function does with tensors of these shapes and dtypes.

    While it is traced its inputs are fake tensors, which have no numbers: none can get into a
    program, neither by a shape nor by a branch. What it makes itself are tensors as ever. What it
    has kept of a call before this one has `kept` in its node's meta.

    Raises:
        UnknownOperationError: it does something that needs its inputs' numbers.
    """
    versions = {name: x._version for name, x in inputs.items()}
    with _Following(inputs) as before, _plain_attention():
        try:  # what torch refuses with numbers is said here, and not all of it without
            function(inputs)
        except OwnNumbersError as error:
            raise UnknownOperationError(f"{error}. {raised(error.__traceback__)}") from error
    if changed := [name for name, x in inputs.items() if x._version != versions[name]]:
        raise UnknownOperationError(f"The input {changed[0]} is changed, and a run leaves it alone")
    mode = FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=True)
    with mode:
        fakes = {
            name: torch.empty(x.shape, dtype=x.dtype, device=x.device) for name, x in inputs.items()
        }
    lines = Lines()
    plain = functionalize(function, remove="mutations")
    try:
        with (
            tracing(TracingContext(mode)),
            fx.traceback.preserve_node_meta(),
            _plain_attention(),
            _NoNumbers(),
            lines,
        ):
            module = make_fx(plain, decomposition_table=_decompositions())(fakes)
    except Exception as error:
        raise UnknownOperationError(_ended(error, lines)) from None
    for node in module.graph.nodes:
        if _mutates(node) and not _is_random(node):  # which is refused by name
            _renew(node)
    module.graph.eliminate_dead_code()
    for node in module.graph.nodes:
        if node.op == "get_attr":
            node.meta["constant"] = getattr(module, node.target)
            node.meta["kept"] = before.follows(node.meta["constant"])
    _share(module.graph)
    return module.graph


@contextmanager
def _plain_attention() -> Iterator[None]:
    """Layers of torch as the operations that they stand for, without their fused kernels."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH), Stepwise():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _ended(error: Exception, lines: Lines) -> str:
    """Why a function cannot be traced, and which of its lines it is."""
    known, operation, asked = lines.ended
    if error is not known:
        return f"This cannot be traced: {_first(error)}. {raised(error.__traceback__)}"
    if torch.Tag.data_dependent_output in operation.tags:
        why = f"{READS}, and {NONE}"
    elif isinstance(error, DynamicOutputShapeException):
        why = "has a shape that depends on numbers, and the shapes of a program are fixed"
    else:
        why = f"cannot be traced: {_first(error)}"
    return f"{operation} {why}. {asked}"


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


@cache
def _decompositions() -> dict[Any, Any]:
    """How operations are taken apart: a second's work, so done once."""
    return {**core_aten_decompositions(), **get_decompositions(FURTHER), **APART}


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
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
