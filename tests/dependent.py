"""What torch functions do with their inputs' numbers beside arithmetic, and what they do not."""

from collections.abc import Callable

import torch
from torch import Tensor

READS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "length": ("aten.nonzero.default", lambda x: x * len((x > 0).nonzero())),
    "places": ("aten.nonzero.default", lambda x: x + torch.where(x > 0)[0].sum()),
    "argwhere": ("aten.nonzero.default", lambda x: x * len(torch.argwhere(x > 0))),
    "mask": ("aten.index.Tensor", lambda x: x + x[x > 0].sum()),
    "masked_select": ("aten.masked_select.default", lambda x: x * len(x.masked_select(x > 0))),
    "unique": ("aten._unique2.default", lambda x: x * len(x.unique())),
    "repeats": (
        "aten.repeat_interleave.Tensor",
        lambda x: x.repeat_interleave((x > 0).long()).sum() + x,
    ),
    "counts": ("aten.bincount.default", lambda x: x * len(x.abs().long().bincount())),
    "item": ("aten._local_scalar_dense.default", lambda x: x * x.max().item()),
    "int": ("aten._local_scalar_dense.default", lambda x: x * int(x[0])),
    "branch": ("aten._local_scalar_dense.default", lambda x: x if x.sum() > 0 else -x),
    "slice": ("aten._local_scalar_dense.default", lambda x: x + x[: x.argmax()].sum()),
    "text": ("aten._local_scalar_dense.default", lambda x: x * len(f"{x[0]:.4g}")),
    "equal": ("aten.equal.default", lambda x: x * torch.equal(x, x.abs())),
    "tolist": ("`tolist` reads numbers", lambda x: x * x.tolist()[0]),
    "numpy": ("`numpy` reads numbers", lambda x: x * float(x.numpy().max())),
    "dlpack": ("`__dlpack__` reads numbers", lambda x: x * torch.from_dlpack(x).max()),
    "new tensor": ("This cannot be traced", lambda x: x * torch.tensor([x[0], x[1]])[0]),
}
"""Each is refused, by this name: of x [n], the same shape again."""

FOLLOWS: list[Callable[[Tensor], Tensor]] = [
    lambda x: torch.where(x > 0, x, 2.0),
    lambda x: x[x.argmax(0, keepdim=True)] - x,
    lambda x: x.masked_fill(x > 0.5, -1.0).flip(0),
    lambda x: x.softmax(0) * len(x),
    lambda x: x * torch.arange(len(x)) + torch.ones(3, 3).tril().nonzero().sum(),
    lambda x: (x.sin() + (x > 0).sum()).roll(1),
]
"""These a program follows, whatever the numbers are."""
