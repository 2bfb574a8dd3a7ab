"""The plane against automatic differentiation, its own symmetries, and the exact gradient."""

import pytest
import torch
from torch import Generator, Tensor
from torch.func import jacrev
from torch.testing import assert_close

from attn_notes.chapters.equilibrium.estimators import Estimator, Implicit, Nudged
from attn_notes.chapters.equilibrium.plane import (
    LESSONS,
    REST,
    cost,
    force,
    jacobian,
    learning,
    step_of,
)
from attn_notes.models.equilibrium import Relaxation, residual

WEIGHTS = [(0.5, 0.5), (-2.5, 2.5), (0.0, 1.2), (0.3, 2.8), (-1.4, 0.8)]
NONE = torch.zeros(1, 2, dtype=torch.float64)


def some(*shape: int, seed: int = 3) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(seed), dtype=torch.float64)


def pair(*w: float) -> Tensor:
    return torch.tensor(w, dtype=torch.float64)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_force_is_the_formula_number_by_number(weights: tuple[float, float]) -> None:
    x, z = some(2, 5, 1, 2)
    found = force(x, pair(*weights))(z)
    for (x1, x2), (z1, z2), here in zip(x[:, 0], z[:, 0], found[:, 0], strict=True):
        expected = [
            x1 - z1 + weights[0] * 2 * torch.tanh(z2 / 2) / torch.cosh(z1 / 2) ** 2,
            x2 - z2 + weights[1] * 2 * torch.tanh(z1 / 2) / torch.cosh(z2 / 2) ** 2,
        ]
        assert_close(here, torch.stack(expected))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_jacobian_is_what_differentiation_finds(weights: tuple[float, float]) -> None:
    field = force(NONE, pair(*weights))
    for z in some(5, 2):
        assert_close(jacobian(z, pair(*weights)), jacrev(lambda u: field(u[None])[0])(z))


def test_equal_weights_are_conservative_and_a_missing_one_goes_one_way() -> None:
    for z in some(5, 2):
        j = jacobian(z, pair(0.7, 0.7))
        assert_close(j, j.T)
        j = jacobian(z, pair(0.0, 1.4))
        assert j[0, 1] == 0 and j[1, 0] != 0


def test_opposed_weights_do_not_change_what_a_pair_has_in_common() -> None:
    """ρ'(z) undone, what they add is at right angles to ρ(z)."""
    z = some(7, 1, 2)
    added = force(z, pair(-1.3, 1.3))(z)  # x − z is zero
    turned = added * torch.cosh(z / 2) ** 2
    assert_close((turned * torch.tanh(z / 2)).sum(-1), torch.zeros(7, 1, dtype=torch.float64))


def test_the_cost_is_half_a_square() -> None:
    z = torch.tensor([[[1.0, 2.0]], [[0.0, 0.0]]])
    assert cost(torch.tensor([1.0, -1.0]))(z) == (9 + 2) / 2


def test_what_the_weights_follow() -> None:
    g = pair(3.0, 1.0)
    assert learning(g, pair(0.5, 0.6)).tolist() == [3.0, 1.0]
    assert learning(g, pair(0.0, 0.6)).tolist() == [0.0, 1.0]
    assert learning(g, pair(0.5, 0.5)).tolist() == [2.0, 2.0]
    assert learning(g, pair(0.0, 0.0)).tolist() == [0.0, 0.0]


def test_every_step_is_shorter_than_the_one_before() -> None:
    lengths = [step_of(lesson) for lesson in range(LESSONS)]
    assert lengths == sorted(lengths, reverse=True) and lengths[-1] > 0
    assert sum(lengths) == pytest.approx(lengths[0] * (LESSONS + 1) / 2)


def gradient(estimator: Estimator, x: Tensor, weights: tuple[float, float]) -> Tensor:
    """dC/dw as an estimator has it."""
    w = pair(*weights).requires_grad_()
    value = estimator(force(x, w), cost(some(2, seed=5)), x, REST)
    return torch.autograd.grad(value, w)[0]


@pytest.mark.slow
@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_gradient_is_how_the_cost_follows_the_weights(weights: tuple[float, float]) -> None:
    x = 0.5 * some(1, 2, seed=4)
    exact = gradient(Implicit(REST), x, weights)

    def value(*w: float) -> Tensor:
        field = force(x, pair(*w))
        z = REST(field, x)
        assert residual(field, z) < 1e-9
        return cost(some(2, seed=5))(z)

    h = 1e-5
    for i in range(2):
        up, down = ([w + side * h * (k == i) for k, w in enumerate(weights)] for side in (1, -1))
        # A central difference is off by h², and by rounding over h.
        assert_close(exact[i], (value(*up) - value(*down)) / (2 * h), rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_naive_is_right_where_the_force_is_conservative_and_only_there() -> None:
    x = 0.5 * some(1, 2, seed=4)
    enough = Relaxation(300, 0.1)
    for weights, right in (((0.4, 0.4), True), ((-1.1, 1.9), False)):
        exact = gradient(Implicit(enough), x, weights)
        naive = gradient(Nudged("none", 1e-4, enough), x, weights)
        full = gradient(Nudged("full", 1e-4, enough), x, weights)
        assert ((full - exact).norm() / exact.norm()).item() < 1e-6
        assert (((naive - exact).norm() / exact.norm()).item() < 1e-6) == right
