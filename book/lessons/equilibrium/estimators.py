"""Ways to the gradient of a cost at rest, behind one signature.

A state z rests where a force vanishes, F(z*; θ) = 0, and is judged by a cost C(z*; θ). Moving θ
moves z*, and with the Jacobian J = ∂F/∂z and g = ∂C/∂z, both at z*, the chain rule says

    dC/dθ = ∂C/∂θ + aᵀ ∂F/∂θ,        Jᵀ a + g = 0.

The credit a, how much the cost would rise if a state were pushed, is all that is not local in it.
The estimators differ in where they take a from:

    bptt         from nowhere: they differentiate the whole relaxation
    Implicit     from Jᵀ a + g = 0, solved by the relaxation ȧ = Jᵀ a + g
    Nudged       from a second relaxation, with a force of β against the cost's gradient added:

                     ż = F(z) − β ∂C/∂z − correction,        a = (z₋ − z₊) / 2β

                 z± is where it comes to rest with ±β, or (z* − z₊) / β with one side only
    frozen       a = 0: nothing but what reads the state learns

Scurria, Vanden Abeele, Mognetti and Massar, "Equilibrium Propagation for Non-Conservative Systems"
(2026), arXiv 2602.03670: close to z*, the nudged state moves by J (z − z*), and settles where J
says, not Jᵀ. The two are the same if the force is conservative, which attention is not. The
correction (J − Jᵀ)(z − z*), its J taken once, at z*, turns one into the other. Then a is exact in
the limit of small β and long relaxation, the first order of β being left with one side, the second
with two.

An estimator is called as `estimator(force, cost, start, relax)`. It returns the cost at rest, and
the gradient of what it returns is the estimate, by `backward`, `torch.func.grad` or whatever else.
So any loop that trains by a loss takes any of them, `attn_notes.training.ensemble` too.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import grad, vjp

from attn_notes import allowed
from attn_notes.models.equilibrium import CORRECTIONS, Field, Relaxation, unroll
from attn_notes.tasks.prediction import token_losses

Cost = Callable[[Tensor], Tensor]
"""From a state to a scalar."""

Estimator = Callable[[Field, Cost, Tensor, Relaxation], Tensor]

bptt: Estimator = unroll
"""Backpropagation through all steps of the relaxation, which have to be remembered."""


def asymmetry(force: Field, z: Float[Tensor, "*b t e"]) -> Field:
    """The map v → (J − Jᵀ) v with the Jacobian J of the force at z.

    The force is linearised once. Its transposed Jacobian is a linear map of its own, so J is the
    transposed of that, and neither costs another forward pass.
    """
    transposed = vjp(force, z)[1]
    jacobian = vjp(lambda u: transposed(u)[0], torch.zeros_like(z))[1]
    return lambda v: jacobian(v)[0] - transposed(v)[0]


def frozen(
    force: Field, cost: Cost, start: Float[Tensor, "*b t e"], relax: Relaxation
) -> Float[Tensor, ""]:
    """No gradient passes the state: what an estimator has to do better than."""
    return cost(rest(force, start, relax))


class CreditRelaxation(ABC):
    """An estimator that lets the credit come to rest, by a relaxation of its own."""

    relaxation: Relaxation

    @abstractmethod
    def credits(
        self, force: Field, cost: Cost, z: Float[Tensor, "*b t e"]
    ) -> Iterator[Float[Tensor, "*b t e"]]:
        """The credit after each step of the relaxation, z being the state at rest."""

    def last_credit(
        self, force: Field, cost: Cost, z: Float[Tensor, "*b t e"]
    ) -> Float[Tensor, "*b t e"]:
        """The credit after the last of them, and nothing where there is none."""
        credit = torch.zeros_like(z)
        with torch.no_grad():
            for each in self.credits(force, cost, z):
                credit = each
        return credit

    def __call__(
        self, force: Field, cost: Cost, start: Float[Tensor, "*b t e"], relax: Relaxation
    ) -> Float[Tensor, ""]:
        z = rest(force, start, relax)
        return with_credit(force, cost, z, self.last_credit(force, cost, z))


@dataclass(frozen=True)
class Implicit(CreditRelaxation):
    """The exact gradient at rest, as far as the state rests and the adjoint relaxation does."""

    relaxation: Relaxation

    def credits(
        self, force: Field, cost: Cost, z: Float[Tensor, "*b t e"]
    ) -> Iterator[Float[Tensor, "*b t e"]]:
        g, transposed = grad(cost)(z), vjp(force, z)[1]
        return self.relaxation.path(lambda a: transposed(a)[0] + g, torch.zeros_like(z))


@dataclass(frozen=True)
class Nudged(CreditRelaxation):
    """Equilibrium propagation: relax, nudge, and take the difference.

    The correction is "none" (naive), "full" (AEP) or "clipped": no longer than the force that it
    corrects, over the whole batch, as published. At rest both are of one length, so the clip
    acts just where the correction should be whole.

    β belongs to the cost. Of a mean over n predictions each is nudged by β / n, so the more there
    are, the larger a β stays clear of rounding.

    Raises:
        ValueError: an unknown correction, or a β that is not positive and finite.
    """

    correction: str
    beta: float
    relaxation: Relaxation
    symmetric: bool = True

    def __post_init__(self) -> None:
        if self.correction not in CORRECTIONS:
            raise ValueError(
                f"correction must be one of {', '.join(CORRECTIONS)}, not {self.correction!r}"
            )
        allowed.positive(beta=self.beta)

    def credits(
        self, force: Field, cost: Cost, z: Float[Tensor, "*b t e"]
    ) -> Iterator[Float[Tensor, "*b t e"]]:
        correct = self.corrected(force, z)

        def nudged(beta: float) -> Iterator[Tensor]:
            def field(state: Tensor) -> Tensor:
                return correct(force(state) - beta * grad(cost)(state), state - z)

            return self.relaxation.path(field, z)

        if self.symmetric:
            both = zip(nudged(self.beta), nudged(-self.beta), strict=True)
            return ((back - there) / (2 * self.beta) for there, back in both)
        return ((z - there) / self.beta for there in nudged(self.beta))

    def corrected(self, force: Field, z: Float[Tensor, "*b t e"]) -> Callable[..., Tensor]:
        """A function of the nudged force and of z's displacement: what the state follows."""
        if self.correction == "none":
            return lambda pushed, displacement: pushed
        curl = asymmetry(force, z)

        def correct(pushed: Tensor, displacement: Tensor) -> Tensor:
            correction = curl(displacement)
            if self.correction == "clipped":
                # The published 1e-8 also keeps 0 / 0 away.
                ratio = (pushed.norm() + 1e-8) / correction.norm()
                correction = correction * ratio.clamp(max=1)
            return pushed - correction

        return correct


EXACT = Implicit(Relaxation(steps=60, step=0.25))
"""The exact gradient, to rounding in float64 where half of what is off is left after a step."""

PUBLISHED = Nudged("clipped", beta=0.02, relaxation=Relaxation(steps=20, step=0.1))
"""AEP as published."""

AEP = Nudged("full", beta=10.0, relaxation=Relaxation(steps=8, step=0.25))
"""AEP without the clip, with a β above rounding for some 500 predictions, and longer steps."""


def loss(
    model: Callable[..., Tensor], sequences: Int[Tensor, "*b n"], estimator: Estimator
) -> Float[Tensor, ""]:
    """The mean loss of predicting next tokens, whose gradient is what `estimator` says.

    `model` is an `attn_notes.models.equilibrium.LanguageModel`, or stands for one as in
    `attn_notes.training.ensemble.train`.
    """

    def solve(force: Field, read: Field, start: Tensor, relax: Relaxation) -> Tensor:
        def cost(z: Tensor) -> Tensor:
            return token_losses(read(z), sequences).mean()

        return estimator(force, cost, start, relax)

    return model(sequences[..., :-1], solve)


def rest(
    force: Field, start: Float[Tensor, "*b t e"], relax: Relaxation
) -> Float[Tensor, "*b t e"]:
    """The state that a relaxation ends with, of which no gradient is taken."""
    with torch.no_grad():
        return relax(force, start).detach()  # after no step it is still the start


def with_credit(
    force: Field, cost: Cost, z: Float[Tensor, "*b t e"], credit: Float[Tensor, "*b t e"]
) -> Float[Tensor, ""]:
    """A scalar whose value is C(z) and whose gradient is ∂C/∂θ + creditᵀ ∂F/∂θ."""
    local = (credit * force(z)).sum()
    return cost(z) + (local - local.detach())
