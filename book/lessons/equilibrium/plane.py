"""The smallest place with the chapter's problem: two numbers, coupled both ways or one way.

    F(z; w) = x − z + ρ'(z) W ρ(z)        ρ(z) = 2 tanh(z / 2),   W = [[0, w₁₂], [w₂₁, 0]]
    C(z) = ½ ‖z − y‖²

With equal weights this is the force of Scellier and Bengio, "Equilibrium Propagation" (2017),
arXiv 1602.05179: downhill of an energy, so that J = Jᵀ and naive is right. Where they differ the
force is no slope of anything. With w₁₂ = 0 the second number hears the first and is not heard, as
under a causal mask.

What learns are the weights: dC/dw₁₂ = a₁ ρ'(z₁) ρ(z₂) and dC/dw₂₁ = a₂ ρ'(z₂) ρ(z₁) with the credit
a, so that an estimator of `book.lessons.equilibrium.estimators`, run with weights that ask
for a gradient, has it. Two rules keep a pair what it is, as `learning` says.

Symbols: x = what pulls each number by itself, y = target.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attn_notes.models.equilibrium import Field, Relaxation
from book.lessons.equilibrium.estimators import Cost

REST = Relaxation(steps=1000, step=0.1)
"""Long enough to come to rest, there and back, where the slowest direction contracts by 0.3."""

LESSONS, LONGEST = 30, 0.12
"""Steps of learning, and how long the first of them is; see `step_of`."""


def force(x: Float[Tensor, "*b 1 2"], w: Float[Tensor, " 2"]) -> Field:
    """F(·; w), the field that two numbers follow; each row of the batch is a pair of its own."""
    heard = w.to(x)

    def field(z: Float[Tensor, "*b 1 2"]) -> Float[Tensor, "*b 1 2"]:
        rho, slope = squash(z)
        return x - z + slope * heard * rho.flip(-1)

    return field


def squash(z: Float[Tensor, "*b"]) -> tuple[Float[Tensor, "*b"], Float[Tensor, "*b"]]:
    """ρ, which is as steep as the line at 0 and stays between −2 and 2, and its slope ρ'."""
    rho = 2 * torch.tanh(z / 2)
    return rho, 1 - rho.square() / 4


def cost(target: Float[Tensor, " 2"]) -> Cost:
    """C, half the square of the distance to the target; of a batch, the sum."""
    return lambda z: (z - target).square().sum() / 2


def jacobian(z: Float[Tensor, " 2"], w: Float[Tensor, " 2"]) -> Float[Tensor, "2 2"]:
    """J = ∂F/∂z, a row for each component of the force."""
    heard = w.to(z)
    rho, slope = squash(z)
    couples = torch.diag(heard)[[1, 0]].T  # W
    return slope[:, None] * couples * slope - torch.diag(1 + rho * slope * heard * rho.flip(-1) / 2)


def learning(gradient: Float[Tensor, " 2"], w: Float[Tensor, " 2"]) -> Float[Tensor, " 2"]:
    """What of a gradient the weights follow.

    A weight of 0 is no connection and learns nothing; two equal ones are one weight.
    """
    gradient = gradient * (w != 0)
    return gradient.mean().expand(2) if w[0] == w[1] else gradient


def step_of(lesson: int) -> float:
    """How long a step of the weights is, whoever takes it: each shorter than the one before."""
    return LONGEST * (1 - lesson / LESSONS)
