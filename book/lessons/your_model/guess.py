"""What the lesson asks its reader to predict."""

from collections.abc import Callable

from torch import Tensor

from attn_notes import doubt
from book.kit.predictions import Choice, Part

WRONG = Choice(
    "wrong",
    "Wrong is",
    {"collate": 1.0, "loss": 0.999, "both": 0.998, "neither": 0.0},
)
"""What is asked before it is told. All that is wrong lies as good as equally far off."""


def predicted(
    collate: Callable[[Tensor], Tensor], loss: Callable[[Tensor, Tensor], Tensor], texts: Tensor
) -> list[Part]:
    """Which it is, by whether each of the two is right when alone."""
    collates = bool(collate(texts)[:, :-1].eq(texts[:, 1:]).all())
    came = {(True, True): "neither", (False, True): "collate", (True, False): "loss"}
    told = came.get((collates, doubt.targets(loss, texts[:2], 26).ok), "both")
    return [WRONG.came(WRONG.options[told])]
