"""The plane against automatic differentiation, its own symmetries, and the exact gradient."""

import pytest
import torch
from torch import Generator, Tensor
from torch.func import jacrev
from torch.testing import assert_close

from attn_notes.chapters.equilibrium.estimators import Implicit, Nudged
from attn_notes.chapters.equilibrium.plane import REST, cost, force, jacobian
from attn_notes.models.equilibrium import Relaxation, residual

SETTINGS = [(0.5, 0.0), (0.0, 2.5), (0.6, 0.6), (1.4, 1.4), (-0.3, 1.1)]


def some(*shape: int, seed: int = 3) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(("coupling", "rotation"), SETTINGS)
def test_the_force_is_the_formula_number_by_number(coupling: float, rotation: float) -> None:
    x, z = some(2, 5, 1, 2)
    found = force(x, coupling, rotation)(z)
    for (x1, x2), (z1, z2), here in zip(x[:, 0], z[:, 0], found[:, 0], strict=True):
        up, down = coupling + rotation, coupling - rotation
        expected = [
            x1 - z1 + down * 2 * torch.tanh(z2 / 2) / torch.cosh(z1 / 2) ** 2,
            x2 - z2 + up * 2 * torch.tanh(z1 / 2) / torch.cosh(z2 / 2) ** 2,
        ]
        assert_close(here, torch.stack(expected))


@pytest.mark.parametrize(("coupling", "rotation"), SETTINGS)
def test_the_jacobian_is_what_differentiation_finds(coupling: float, rotation: float) -> None:
    for z in some(5, 2):
        field = force(torch.zeros(1, 2, dtype=torch.float64), coupling, rotation)
        expected = jacrev(lambda u, f=field: f(u[None])[0])(z)
        assert_close(jacobian(z, coupling, rotation), expected)


def test_coupling_alone_is_conservative_and_equal_parts_go_one_way() -> None:
    for z in some(5, 2):
        j = jacobian(z, coupling=0.7, rotation=0.0)
        assert_close(j, j.T)
        j = jacobian(z, coupling=0.7, rotation=0.7)
        assert j[0, 1] == 0 and j[1, 0] != 0


def test_rotation_alone_does_not_change_what_a_pair_has_in_common() -> None:
    """ρ'(z) undone, what ω adds is at right angles to ρ(z)."""
    z = some(7, 1, 2)
    added = force(z, 0.0, 1.3)(z)  # x − z is zero
    turned = added * torch.cosh(z / 2) ** 2
    assert_close((turned * torch.tanh(z / 2)).sum(-1), torch.zeros(7, 1, dtype=torch.float64))


def test_the_cost_is_half_a_square() -> None:
    z = torch.tensor([[[1.0, 2.0]], [[0.0, 0.0]]])
    assert cost(torch.tensor([1.0, -1.0]))(z) == (9 + 2) / 2


def credit(estimator: Implicit | Nudged, x: Tensor, coupling: float, rotation: float) -> Tensor:
    x = x.clone().requires_grad_()
    value = estimator(force(x, coupling, rotation), cost(some(2, seed=5)), x, REST)
    return torch.autograd.grad(value, x)[0]


@pytest.mark.slow
@pytest.mark.parametrize(("coupling", "rotation"), SETTINGS)
def test_the_credit_is_how_the_cost_follows_x(coupling: float, rotation: float) -> None:
    x = 0.5 * some(1, 2, seed=4)
    exact = credit(Implicit(REST), x, coupling, rotation)

    def value(x: Tensor) -> Tensor:
        field = force(x, coupling, rotation)
        z = REST(field, x)
        assert residual(field, z) < 1e-9
        return cost(some(2, seed=5))(z)

    h = 1e-5
    for i in range(2):
        step = torch.zeros(1, 2, dtype=torch.float64)
        step[0, i] = h
        slope = (value(x + step) - value(x - step)) / (2 * h)
        # A central difference is off by h², and by rounding over h.
        assert_close(exact[0, i], slope, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_naive_is_right_where_the_force_is_conservative_and_only_there() -> None:
    x = 0.5 * some(1, 2, seed=4)
    enough = Relaxation(300, 0.1)
    for rotation, right in ((0.0, True), (1.5, False)):
        exact = credit(Implicit(enough), x, 0.4, rotation)
        naive = credit(Nudged("none", 1e-4, enough), x, 0.4, rotation)
        full = credit(Nudged("full", 1e-4, enough), x, 0.4, rotation)
        assert ((full - exact).norm() / exact.norm()).item() < 1e-6
        assert (((naive - exact).norm() / exact.norm()).item() < 1e-6) == right
