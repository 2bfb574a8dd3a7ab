"""A model in double precision, whatever precision it was written in: the judge of small leaks.

What a leak does stays in double precision; what rounding does shrinks by 1e-9. A copy would be the
plain way, and a function cannot be copied. So the model's own tensors are doubled where they are
and put back, and while it computes, whatever is still narrower is widened at each call of torch.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

WIDE = {
    **dict.fromkeys((torch.float32, torch.float16, torch.bfloat16), torch.float64),
    **dict.fromkeys((torch.complex64, torch.complex32), torch.complex128),
}
"""What is narrower, and what it is widened to."""

CONVERSIONS = {Tensor.float, Tensor.half, Tensor.bfloat16}


LEFT = {"__get__", "__set__", "__delete__", "__setitem__"}
"""What reads or sets a tensor itself, which a widened one is not."""

DTYPE: Any = Tensor.dtype.__get__  # type: ignore[attr-defined]


def _wide(value: Any) -> Any:
    """Number types and tensors widened, within lists as well; anything else as it is."""
    if isinstance(value, Tensor):
        return value.to(WIDE[value.dtype]) if value.dtype in WIDE else value
    if isinstance(value, torch.dtype):
        return WIDE.get(value, value)
    if type(value) in (list, tuple):
        return type(value)(map(_wide, value))
    return value


class _Widening(TorchFunctionMode):
    """Widens what torch is given: tensors, and number types that are asked for by name."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = getattr(func, "__name__", ""), kwargs or {}
        if name in LEFT:
            made = func(*args, **kwargs)
            return WIDE.get(made, made) if func == DTYPE else made  # which layers compare
        if func in CONVERSIONS:
            return args[0].to(torch.float64)
        # What is changed in place has to stay itself.
        stays = 1 if name.endswith("_") and not name.endswith("__") else 0
        wide = {key: v if key == "out" else _wide(v) for key, v in kwargs.items()}
        return func(*args[:stays], *map(_wide, args[stays:]), **wide)


@contextmanager
def widening() -> Iterator[None]:
    """What is made and computed within is in double precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Widening():
            yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def doubled(modules: Iterable[nn.Module], times: float = 1.0) -> Iterator[None]:
    """Parameters and buffers in double precision, and matrices `times` as large; then as before."""
    parameters: dict[nn.Parameter, Tensor] = {}
    buffers: list[tuple[dict[str, Any], dict[str, Any]]] = []
    try:
        for module in modules:
            for parameter in module.parameters():
                if parameter not in parameters:
                    parameters[parameter] = parameter.data
                    grown = times if parameter.ndim > 1 else 1.0
                    wide = WIDE.get(parameter.dtype, parameter.dtype)
                    if wide is not parameter.dtype or grown != 1:
                        parameter.data = parameter.data.to(wide) * grown
            for part in module.modules():
                buffers.append((part._buffers, dict(part._buffers)))
                for name, buffer in part._buffers.items():
                    if buffer is not None:
                        part._buffers[name] = _wide(buffer)
        yield
    finally:
        for parameter, data in parameters.items():
            parameter.data = data
        for now, before in buffers:
            now.clear()
            now.update(before)


class Coarsest(TorchDispatchMode):
    """Notes the coarsest precision in which numbers are computed from numbers."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.eps = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if any(isinstance(x, Tensor) and x.dtype.is_floating_point for x in tree_leaves(args)):
            for x in tree_leaves(made):
                if isinstance(x, Tensor) and x.dtype.is_floating_point:
                    self.eps = max(self.eps, torch.finfo(x.dtype).eps)
        return made
