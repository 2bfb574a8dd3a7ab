"""The smallest place with chapter 4's problem: two numbers, coupled both ways and one way.

    F(z; x) = x − z + ρ'(z) W ρ(z)        ρ(z) = 2 tanh(z / 2),   W = [[0, σ − ω], [σ + ω, 0]]
    C(z) = ½ ‖z − y‖²

With a symmetric W this is the force of Scellier and Bengio, "Equilibrium Propagation" (2017),
arXiv 1602.05179: downhill of an energy, so that J = Jᵀ and naive is right. That is σ. What ω adds
is no slope of anything: it turns. With σ = ω the second number hears the first and is not heard, as
under a causal mask.

The parameter is x itself: ∂F/∂x = 1, so that dC/dx is the credit a, and an estimator of
`attn_notes.chapters.equilibrium.estimators` run from x has it as the gradient with respect to x.

Symbols: coupling = σ, rotation = ω, target = y.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attn_notes import allowed
from attn_notes.chapters.equilibrium.estimators import Cost
from attn_notes.models.equilibrium import Field, Relaxation

REST = Relaxation(steps=1000, step=0.1)
"""Long enough to come to rest, there and back, where the slowest direction contracts by 0.3."""


def force(x: Float[Tensor, "*b 1 2"], coupling: float, rotation: float) -> Field:
    """F(·; x), the field that two numbers follow; each row of the batch is a pair of its own."""
    w = weights(coupling, rotation).to(x)

    def field(z: Float[Tensor, "*b 1 2"]) -> Float[Tensor, "*b 1 2"]:
        rho, slope = squash(z)
        return x - z + slope * (rho @ w.mT)

    return field


def squash(z: Float[Tensor, "*b"]) -> tuple[Float[Tensor, "*b"], Float[Tensor, "*b"]]:
    """ρ, which is as steep as the line at 0 and stays between −2 and 2, and its slope ρ'."""
    rho = 2 * torch.tanh(z / 2)
    return rho, 1 - rho.square() / 4


def weights(coupling: float, rotation: float) -> Float[Tensor, "2 2"]:
    """W, in double precision: row i is what number i hears.

    Raises:
        ValueError: a coupling or rotation that is not finite.
    """
    allowed.number(coupling=coupling, rotation=rotation)
    heard, told = coupling - rotation, coupling + rotation
    return torch.tensor([[0.0, heard], [told, 0.0]], dtype=torch.float64)


def cost(target: Float[Tensor, " 2"]) -> Cost:
    """C, half the square of the distance to the target; of a batch, the sum."""
    return lambda z: (z - target).square().sum() / 2


def jacobian(z: Float[Tensor, " 2"], coupling: float, rotation: float) -> Float[Tensor, "2 2"]:
    """J = ∂F/∂z, a row for each component of the force."""
    w = weights(coupling, rotation).to(z)
    rho, slope = squash(z)
    return slope[:, None] * w * slope - torch.diag(1 + rho * slope * (w @ rho) / 2)
