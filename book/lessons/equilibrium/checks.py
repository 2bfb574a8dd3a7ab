"""The checks of the lesson's exercises, and of those of its evidence."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from attn_notes.models.equilibrium import Field, Relaxation
from book.kit.exercises import Score, WrongError, answered, check, need, number, same, yes_or_no
from book.kit.judgement import Case, Judged
from book.lessons.equilibrium import evidence, measure, recipe
from book.lessons.equilibrium.estimators import Estimator, Implicit, Nudged

NOTEBOOK_ONLY = {
    "fewest": "a trained model and a text are read, and both are large",
    "falls": "its numbers are drawn by torch, and a page draws others",
}
"""Checks that a page does not run, and why."""


def _vector(value: Any, n: int, name: str) -> Tensor:
    """The answer as a vector of n numbers.

    Raises:
        WrongError: it is none.
    """
    if not isinstance(value, Tensor) or value.shape != (n,):
        found = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise WrongError(f"{name} should be a tensor of shape ({n},), not {found}.")
    need(bool(value.isfinite().all()), f"{name} holds something that is no number.")
    return value.detach().double()


def _near(found: Tensor, right: Tensor) -> bool:
    return bool((found - right).norm() <= 1e-4 * right.norm())


def _stable(n: int, generator: Generator) -> Tensor:
    """A Jacobian whose state comes to rest, and which is nothing like symmetric."""
    turning = torch.randn(n, n, generator=generator, dtype=torch.float64)
    return -1.5 * torch.eye(n, dtype=torch.float64) + 0.6 * turning.triu(1) - 0.2 * turning.tril(-1)


@check
def credits(answer: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], draw: Generator) -> str:
    """The true credit and the naive one, given a Jacobian [n, n] and the cost's gradient [n]."""
    for n in (3, 5):
        jacobian = _stable(n, draw)
        g = torch.randn(n, generator=draw, dtype=torch.float64)
        given = jacobian.clone(), g.clone()
        pair = answered(answer(jacobian, g))
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise WrongError("return two vectors: the true credit, and the naive one.")
        true, naive = (
            _vector(answered(part), n, name)
            for part, name in zip(pair, ("the true credit", "the naive one"), strict=True)
        )
        need(given[0].equal(jacobian) and given[1].equal(g), "what was passed in has been changed.")
        right = torch.linalg.solve(jacobian.T, -g)
        wrong = torch.linalg.solve(jacobian, -g)
        need(
            not (_near(true, wrong) and _near(naive, right)),
            "the two have changed places: which of them needs the influences backwards?",
        )
        need(not _near(true, -right), "the true credit has the wrong sign: Jᵀa + g = 0.")
        need(
            not _near(true, -jacobian.T @ g),
            "that multiplies by the transposed Jacobian, once. It has to be solved for.",
        )
        need(
            not _near(true, wrong),
            "the true credit solves Jᵀa + g = 0; yours solves it with J, as the naive one does.",
        )
        need(_near(true, right), "the true credit does not solve Jᵀa + g = 0.")
        need(not _near(naive, -wrong), "the naive one has the wrong sign: J a + g = 0.")
        need(not _near(naive, right), "the naive one is to differ: it solves J a + g = 0.")
        need(_near(naive, wrong), "the naive one does not solve J a + g = 0.")
    return "the same equation, but for a transposition."


@check
def nudged(answer: Callable[..., Callable[[Tensor], Tensor]], draw: Generator) -> str:
    """The field of AEP, given force, slope of the cost, state at rest, Jacobian and β."""
    n, beta = 4, 0.3
    jacobian = _stable(n, draw)
    rest, z, target = torch.randn(3, n, generator=draw, dtype=torch.float64)

    def force(state: Tensor) -> Tensor:
        """Zero at rest, with this Jacobian there; bent, so that J (z − rest) is not enough."""
        apart = state - rest
        return jacobian @ apart - 0.3 * apart**3

    def slope(state: Tensor) -> Tensor:
        return (state - target) ** 3

    def at(state: Tensor, beta: float) -> Tensor:
        field = answered(answer(force, slope, rest, jacobian, beta))
        if not callable(field):
            raise WrongError("return a function of the state.")
        return _vector(answered(field(state)), n, "the field")

    apart = z - rest
    twist = (jacobian - jacobian.T) @ apart
    right = force(z) - beta * slope(z) - twist
    found = at(z, beta)
    for wrong, symptom in (
        (force(z) - beta * slope(z), "that is naive: the correction is missing."),
        (
            right + 2 * twist,
            "the correction has the wrong sign: F and it together are to move by Jᵀ.",
        ),
        (right + twist / 2, "the correction is halved: it is J − Jᵀ, not half of it."),
        (right + 2 * beta * slope(z), "the nudge goes up: it is to lower the cost."),
        (
            force(z) - beta * slope(rest) - twist,
            "the slope of the cost is taken at rest; take it where the state is.",
        ),
        (
            jacobian.T @ apart - beta * slope(z),
            "that is the linearised field. Use F itself: its bend matters for larger nudges.",
        ),
        (right + beta * slope(z), "nothing nudges: where is β?"),
        (right + beta * slope(z) - slope(z), "the nudge is not weighed by β."),
        (
            force(z) - beta * slope(z) - (jacobian - jacobian.T) @ z,
            "the correction has to vanish at rest: it works on how far z is from there.",
        ),
    ):
        need(not _near(found, wrong), symptom)
    need(_near(found, right), "that is not F(z) − β · slope(z) − (J − Jᵀ)(z − rest).")
    need(_near(at(rest, beta), -beta * slope(rest)), "at rest only the nudge should be left.")
    other = 0.5 + 0.4 * torch.rand((), generator=draw).item()
    right = force(z) - other * slope(z) - twist
    need(_near(at(z, other), right), f"right for β = {beta}, but not for {other:.2f}.")
    return "at rest the correction is nothing, and close by it turns J into Jᵀ."


@check
def settles(answer: Callable[[Tensor, float], bool], draw: Generator) -> str:
    """Whether a relaxation with this Jacobian [n, n] and step comes to rest."""

    def told(*rows: list[float], eps: float) -> bool:
        return yes_or_no(answer(torch.tensor(rows, dtype=torch.float64), eps))

    need(told([-1.0, 0.0], [0.0, -2.0], eps=0.5), "−1 and −2 on the diagonal, ε = 0.5: it settles.")
    need(
        not told([-1.0, 0.0], [0.0, 0.5], eps=0.5),
        "−1 and +0.5 on the diagonal: along the second it flees. Do you look at all eigenvalues?",
    )
    need(
        not told([-1.0, 0.0], [0.0, -5.0], eps=0.5),
        "−1 and −5 on the diagonal, ε = 0.5: it jumps over its goal, farther each time.",
    )
    need(
        told([-1.0, 4.0], [0.0, -1.0], eps=0.5),
        "a one-way influence of 4: its symmetric part has an eigenvalue of +1 and its norm is "
        "large, and still it settles.",
    )
    need(
        told([-1.0, 1.5], [-1.5, -1.0], eps=0.4),
        "a spiral that winds inwards was taken for one that does not. Its eigenvalues are complex.",
    )
    need(
        not told([-1.0, 3.0], [-3.0, -1.0], eps=0.5),
        "a spiral: the real parts are −1, but steps of 0.5 along its curve lead outwards.",
    )
    need(told([-1.0, 3.0], [-3.0, -1.0], eps=0.1), "the same spiral in steps of 0.1 does settle.")
    need(
        not told([0.0, 2.0], [2.0, 0.0], eps=0.1),
        "nothing on the diagonal, 2 beside it: its eigenvalues are 2 and −2.",
    )
    for _ in range(20):
        jacobian = torch.randn(4, 4, generator=draw, dtype=torch.float64) - 1.2 * torch.eye(4)
        eps = 0.1 + torch.rand((), generator=draw).item()
        farthest = torch.linalg.eigvals(torch.eye(4) + eps * jacobian).abs().max().item()
        need(
            abs(farthest - 1) < 0.01  # too near to call
            or told(*jacobian.tolist(), eps=eps) == (farthest < 1),
            f"right so far, but not for\n{jacobian}\nand ε = {eps:.3f}.",
        )
    return "every eigenvalue of 1 + εJ inside the unit circle."


@check
def best_nudge(answer: Callable[[float, float], float], draw: Generator) -> str:
    """The β that makes curvature · β² + rounding / β least."""
    fresh = torch.rand(2, generator=draw, dtype=torch.float64).tolist()
    for curvature, rounding in ((2.0, 0.5), (0.03, 1e-4), (10 * fresh[0] + 0.1, 0.1 + fresh[1])):
        value = number(answer(curvature, rounding))
        right = (rounding / (2 * curvature)) ** (1 / 3)
        for wrong, symptom in (
            (
                (rounding / curvature) ** (1 / 3),
                "there both errors are equal. Least is their sum where its slope is zero.",
            ),
            ((rounding / (2 * curvature)) ** 0.5, "almost: what is the slope of 1 / β?"),
            (
                (2 * curvature / rounding) ** (1 / 3),
                "upside down: should more rounding ask for a larger β?",
            ),
            (
                rounding / (2 * curvature),
                "that is β³. The slope is 2 · curvature · β − rounding / β².",
            ),
            (
                (2 * rounding / curvature) ** (1 / 3),
                "the 2 stands on the wrong side: the slope of β² is 2β.",
            ),
        ):
            need(not same(value, wrong), symptom)
        need(
            same(value, right),
            f"for {curvature} and {rounding} it should be {right:.5g}, not {value:.5g}.",
        )
    return "at the best β the rounding costs twice what the theorem does."


ALLOWED = 1e-3
"""How far from the exact gradient, as a share of its length, an answer to `fewest` may be."""


@dataclass(frozen=True)
class Steps(Relaxation):
    """A relaxation whose steps have a length each."""

    lengths: tuple[float, ...] = ()

    def path(
        self, field: Field, start: Float[Tensor, "*b t e"]
    ) -> Iterator[Float[Tensor, "*b t e"]]:
        z = start
        for length in self.lengths:
            z = z + length * field(z)
            yield z


def _steps(value: Any, name: str) -> Steps:
    """The lengths of steps, as a relaxation that takes them."""
    if not isinstance(value, list | tuple) or not value:
        raise WrongError(f"the {name} are a list of lengths, at least one.")
    lengths = tuple(number(each) for each in value)
    return Steps(len(lengths), 1.0, lengths=lengths)


@check
def fewest(answer: tuple[list[float], list[float], float], _: Generator) -> Score:
    """AEP on the recorded trained model, within a thousandth of the exact gradient."""
    if not isinstance(answer, tuple | list) or len(answer) != 3:
        raise WrongError("give three things: the free steps, the nudged steps, and β.")
    rest, nudge = _steps(answer[0], "free steps"), _steps(answer[1], "nudged steps")
    beta = number(answer[2])
    need(math.isfinite(beta) and beta > 0, "β is a positive number.")
    model = evidence.trained()[0].double()
    batch = evidence.pieces()

    def gradient(relaxation: Relaxation, estimator: Estimator) -> Tensor:
        settled = measure.with_relaxation(model, relaxation)
        return measure.attention_gradient(settled, batch, estimator)

    exact = gradient(recipe.ENOUGH, Implicit(recipe.ENOUGH))
    error = measure.relative_error(gradient(rest, Nudged("full", beta, nudge)), exact)
    count = rest.steps + 2 * nudge.steps
    said = f"{count} evaluations of the force, and {error:.1e} of the gradient is wrong"
    need(error <= ALLOWED, f"{said}: at most {ALLOWED:g} is allowed.")
    # A search of ours, over steps that differ too, found nothing below the published answer.
    return Score(f"{said}.", float(count), half=44.0, best=34.0)


@Judged
def falls(draw: Generator) -> Case:
    """The error of a gradient at four strengths of the nudge: is the method right?"""
    power = int(torch.randint(3, (), generator=draw))
    betas = [1.0, 0.5, 0.25, 0.125]
    noise = (1 + 0.02 * torch.randn(4, generator=draw)).tolist()
    scale = 0.1 + 0.3 * torch.rand((), generator=draw).item()
    # A method that is wrong comes close to something else, and its error to how far off that is.
    shapes = [scale + 0.02 * b if power == 0 else scale * b**power for b in betas]
    errors = [float(f"{e * k:.3g}") for e, k in zip(shapes, noise, strict=True)]
    slope = math.log(errors[0] / errors[-1]) / math.log(betas[0] / betas[-1])
    kinds = ("wrong", "right, with a nudge on one side", "right, with a nudge on both sides")
    return Case(
        {"beta": betas, "error": errors},
        {"slope": slope},
        kinds[power],
        dict(
            zip(
                kinds,
                (
                    "the error falls as a power of β, and so on towards zero.",
                    "of a nudge on one side the error goes as β, with a slope of 1.",
                    "of a nudge on both sides the error goes as β², with a slope of 2.",
                ),
                strict=True,
            )
        ),
        {
            "slope": (
                (-slope, "error grows with β, so the slope is positive."),
                (
                    (errors[0] - errors[-1]) / (betas[0] - betas[-1]),
                    "take logarithms of both: the slope is a power of β.",
                ),
            )
        },
    )
