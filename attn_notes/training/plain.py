"""torch's functions where they would be refused in company, though what they compute could train.

What is here gives the same numbers as torch's own.
"""

import linecache
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch._decomp import get_decompositions
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.optim import Optimizer
from torch.overrides import TorchFunctionMode

from attn_notes import allowed

__all__ = ["functional_call", "in_words", "line_of", "of_matrices", "raised", "suited"]

LIBRARIES = {"beartype", "einops", "functorch", "jaxtyping", "opt_einsum", "torch"}
OURS = ("attn_notes.programs", "attn_notes.training")
KEEPS = ("track_running_stats", "_power_method")  # what layers have that update their own numbers
MUTATES = "would mutate a captured Tensor"
OWN = (
    "{} updates numbers of its own while it trains, and buffers are read alone here: without, by "
    "eval() or track_running_stats=False"
)
LOST = "It was asked for in a line that could not be found"
READS = "reads a number, as `.item()`, `int`, `bool` and `if` do"
NO_NUMBER = "to return|scalar tensor|should be a tuple"
REASONS = {
    r"\.item\(\)|control flow": READS,
    "boolean indexing|dynamic shape": "has a shape that hangs on numbers",
    "setup_context": "is an `autograd.Function` without `setup_context`",
    "random operation": "draws random numbers (without dropout, by eval() or a rate of 0, or draw "
    "them in `data`, with each member's own generator)",
    "Batching rule": "does what torch can do for one alone",
    r"backward\(\)": "calls `backward`, which is done for it",
    "only return Tensors": "returns something else than tensors",
    NO_NUMBER: "returns something else than one number",
}
"""What torch says of a loss that it cannot trace for several at once, and what we say."""


RECURRENT = {
    getattr(torch, name): apart
    for name in ("gru", "lstm", "rnn_tanh", "rnn_relu")
    for apart in get_decompositions([getattr(torch.ops.aten, name).input]).values()
}


class Stepwise(TorchFunctionMode):
    """Recurrent layers step by step: their kernels know no company."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in RECURRENT or isinstance(args[2], Tensor | tuple):  # the latter of packed
            return func(*args, **(kwargs or {}))
        fused = torch._C._get_mkldnn_enabled()
        torch._C._set_mkldnn_enabled(False)
        try:
            # Between layers torch's own, taken apart, drops nothing: drawn here, it is refused.
            dropped = torch.dropout(args[0], args[5], args[6] and args[4] > 1)
            return RECURRENT[func](dropped, *args[1:])
        finally:
            torch._C._set_mkldnn_enabled(fused)


class OwnNumbersError(ValueError):
    """A layer updates its own numbers, as BatchNorm does while it is trained."""


def functional_call(model: nn.Module, tensors: Any, inputs: Any) -> Any:
    """`torch.func.functional_call`, attention in plain products: its kernel is marked as random.

    Raises:
        OwnNumbersError: a layer updates its own numbers.
    """
    parts = [(name, part) for name, part in model.named_modules() if part.training]
    kept = [f"`{name}`" for name, part in parts if any(getattr(part, own, 0) for own in KEEPS)]
    if kept:
        raise OwnNumbersError(OWN.format(", ".join(kept)))
    try:
        with sdpa_kernel(SDPBackend.MATH), Stepwise():
            return torch.func.functional_call(model, tensors, inputs)
    except RuntimeError as error:
        if MUTATES not in str(error):
            raise
        raise OwnNumbersError(OWN.format("a layer")) from error


@contextmanager
def in_words() -> Iterator[None]:
    """What torch refuses of a loss that is traced for several at once is a ValueError in words."""
    try:
        yield
    except OwnNumbersError as error:
        raise ValueError(f"{error}. {raised(error.__traceback__)}") from error
    except (RuntimeError, ValueError) as error:
        why = next((why for said, why in REASONS.items() if re.search(said, str(error))), "")
        if not why:
            raise
        said = f"what is trained {why}, and it is traced once, for all members"
        raise ValueError(f"{said}. {raised(error.__traceback__)}") from error


def raised(trace: TracebackType | None) -> str:
    """Which line of a model an error came through last."""
    found = LOST
    while trace is not None:
        if line := line_of(trace.tb_frame, trace.tb_lineno):
            found = f"It was asked for in {line}"
        trace = trace.tb_next
    return found


def line_of(frame: FrameType, number: int) -> str | None:
    """A frame's file, line and what stands there, if it is no library's."""
    module, file = frame.f_globals.get("__name__", ""), frame.f_code.co_filename
    if module.split(".")[0] in LIBRARIES or module.startswith(OURS) or file.startswith("<@"):
        return None
    text = linecache.getline(file, number, frame.f_globals).strip()
    return f"{file}, line {number}: {text}" if text else None


def suited(optimizer: Callable[..., Optimizer]) -> Callable[..., Optimizer]:
    """The optimiser itself, or where it takes matrices alone `of_matrices`."""
    try:
        made = optimizer([torch.zeros(1)])
    except ValueError as error:
        if "2D" not in str(error):
            raise
        return of_matrices(optimizer)
    if not isinstance(made, Optimizer):
        raise ValueError(f"optimizer must make an optimiser of a list of tensors, not {made!r:.60}")
    return optimizer


@allowed.typed
def of_matrices(optimizer: Callable[..., Optimizer], **settings: Any) -> Callable[..., Optimizer]:
    """An optimiser of matrices alone, Muon, for `train`: whatever else there is goes by AdamW.

    Args:
        optimizer: makes one of a list of matrices and `settings`.
        settings: its own; `lr` is AdamW's as well, where there is one.
    """
    return lambda tensors, **more: _Parts([*tensors], optimizer, settings | more)


class _Parts(Optimizer):
    """Two optimisers in step, whose rates a schedule sets as one."""

    def __init__(
        self, tensors: list[Tensor], optimizer: Callable[..., Optimizer], settings: dict[str, Any]
    ) -> None:
        matrices, others = ([t for t in tensors if (t.ndim == 2) is two] for two in (True, False))
        self.parts = [optimizer(matrices, **settings)] if matrices else []
        rate = self.parts[0].param_groups[0]["lr"] if matrices else settings.get("lr", 1e-3)
        self.parts += [torch.optim.AdamW(others, lr=rate)] if others else []
        super().__init__(tensors, {"lr": self.parts[0].param_groups[0]["lr"]})
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        with torch.enable_grad():
            at = closure() if closure is not None else None
        for part in self.parts:
            part.step()
        return at
