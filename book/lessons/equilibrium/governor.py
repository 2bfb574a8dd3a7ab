"""A governor for models that have to come to rest.

An estimator of the gradient at rest is worth what the rest is worth. Training makes the weights
grow, and with them the Jacobian of the force, until the state no longer settles and neither does
what is nudged; from there on the gradient means nothing, and the weights run away.

As the governor of an engine does, this one lets go only as far as it has to: after each step, where
the force that is left is above a tolerance, the block's weights are scaled down by a few per cent.
The tolerance is that of the model's own test, but it is the batch that is tested, as one state:
`settle` tests each sequence, and may still find one that moves.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attn_notes import allowed
from attn_notes.models.equilibrium import TOLERANCE, Field, Relaxation, residual
from attn_notes.training.ensemble import Tensors

BLOCK = "block."
"""How the names of what is scaled begin."""


def force_left(model: Callable[..., Tensor], x: Int[Tensor, "*b t"]) -> Tensor:
    """What is left of the force after the model's own relaxation, as `residual` measures it.

    `model` is an `attn_notes.models.equilibrium.LanguageModel`, or stands for one as in
    `attn_notes.training.ensemble.train`.
    """

    def solve(force: Field, read: Field, start: Tensor, relax: Relaxation) -> Tensor:
        return residual(force, relax(force, start))

    return model(x, solve)


@dataclass(frozen=True)
class Governor:
    """Keeps the block of a model contracting: the `constrain` of `ensemble.train`.

    Raises:
        ValueError: a factor that is not between 0 and 1, a tolerance that is not positive and
            finite; when called, a model without a block.
    """

    factor: float = 0.95
    tolerance: float = TOLERANCE["force"]

    def __post_init__(self) -> None:
        if not 0 < self.factor < 1:
            raise ValueError(f"the factor is between 0 and 1, not {self.factor}")
        allowed.positive(tolerance=self.tolerance)

    def __call__(
        self, model: Callable[..., Tensor], parameters: Tensors, sequences: Int[Tensor, "*b n"]
    ) -> Tensors:
        """The parameters, the block's scaled down if this batch does not settle as a whole."""
        if not any(name.startswith(BLOCK) for name in parameters):
            raise ValueError(
                f"what is governed has names that begin with {BLOCK!r}, and the model has "
                f"{', '.join(parameters)}"
            )
        with torch.no_grad():
            settled = force_left(model, sequences[..., :-1]) < self.tolerance  # NaN is not below
            factor = torch.where(settled, 1.0, self.factor)
            return {
                name: p * factor if name.startswith(BLOCK) else p for name, p in parameters.items()
            }
