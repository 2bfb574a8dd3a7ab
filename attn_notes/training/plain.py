"""torch's functions where they would be refused in company, though what they compute could train.

What is here gives the same numbers as torch's own, so that no run hangs on it: `recorded.ASIDE`.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.optim import Optimizer

__all__ = ["functional_call", "of_matrices"]


def functional_call(model: nn.Module, tensors: Any, inputs: Any) -> Any:
    """`torch.func.functional_call`, attention in plain products: its kernel is marked as random.

    Raises:
        ValueError: a layer updates its own numbers, as BatchNorm does while it is trained.
    """
    try:
        with sdpa_kernel(SDPBackend.MATH):
            return torch.func.functional_call(model, tensors, inputs)
    except RuntimeError as error:
        if "would mutate a captured Tensor" not in str(error):
            raise
        parts = model.named_modules()
        kept = [f"`{name}`" for name, part in parts if getattr(part, "track_running_stats", False)]
        who = ", ".join(kept) or "a layer"
        raise ValueError(
            f"{who} updates numbers of its own while it trains, and buffers are read alone here: "
            "without, by eval() or track_running_stats=False"
        ) from error


def of_matrices(optimizer: Callable[..., Optimizer], **settings: Any) -> Callable[..., Optimizer]:
    """An optimiser of matrices alone, Muon, for `train`: whatever else there is goes by AdamW.

    Args:
        optimizer: makes one of a list of matrices and `settings`.
        settings: its own; `lr` is AdamW's as well, where there is one.
    """

    def made(tensors: Iterable[Tensor], **more: Any) -> Optimizer:
        return _Parts([*tensors], optimizer, settings | more)

    return made


class _Parts(Optimizer):
    """Two optimisers in step, whose rates a schedule sets as one."""

    def __init__(
        self, tensors: list[Tensor], optimizer: Callable[..., Optimizer], settings: dict[str, Any]
    ) -> None:
        matrices, others = ([t for t in tensors if (t.ndim == 2) is two] for two in (True, False))
        self.parts = [optimizer(matrices, **settings)] if matrices else []
        rate = settings.get("lr", 1e-3)
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
