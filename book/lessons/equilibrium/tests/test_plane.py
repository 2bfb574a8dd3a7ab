"""The plane against its formula, number by number, and against automatic differentiation.

What an estimator makes of it is compared with exact algebra in a page, tests/browser.
"""

import pytest
import torch
from torch import Generator, Tensor
from torch.func import jacrev
from torch.testing import assert_close

from book.lessons.equilibrium.plane import LESSONS, cost, force, jacobian, learning, step_of


def some(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(3), dtype=torch.float64)


@pytest.mark.parametrize("weights", [(0.5, 0.5), (-2.5, 2.5), (0.0, 1.2), (0.3, 2.8), (-1.4, 0.8)])
def test_force_and_jacobian_are_the_formula_number_by_number(weights: tuple[float, float]) -> None:
    (x, z), w = some(2, 5, 1, 2), torch.tensor(weights, dtype=torch.float64)
    found = force(x, w)(z)
    for (x1, x2), (z1, z2), here in zip(x[:, 0], z[:, 0], found[:, 0], strict=True):
        expected = [
            x1 - z1 + weights[0] * 2 * torch.tanh(z2 / 2) / torch.cosh(z1 / 2) ** 2,
            x2 - z2 + weights[1] * 2 * torch.tanh(z1 / 2) / torch.cosh(z2 / 2) ** 2,
        ]
        assert_close(here, torch.stack(expected))
    field = force(torch.zeros(1, 2).double(), w)
    for each in z[:, 0]:
        assert_close(jacobian(each, w), jacrev(lambda u: field(u[None])[0])(each))


def test_the_cost_is_half_a_square() -> None:
    z = torch.tensor([[[1.0, 2.0]], [[0.0, 0.0]]])
    assert cost(torch.tensor([1.0, -1.0]))(z) == (9 + 2) / 2


@pytest.mark.parametrize(
    ("weights", "follow"),
    [([0.5, 0.6], [3, 1]), ([0.0, 0.6], [0, 1]), ([0.5, 0.5], [2, 2]), ([0.0, 0.0], [0, 0])],
)
def test_what_the_weights_follow(weights: list[float], follow: list[float]) -> None:
    assert learning(torch.tensor([3.0, 1.0]), torch.tensor(weights)).tolist() == follow


def test_every_step_is_shorter_than_the_one_before() -> None:
    lengths = [step_of(lesson) for lesson in range(LESSONS)]
    assert lengths == sorted(lengths, reverse=True) and lengths[-1] > 0
    assert sum(lengths) == pytest.approx(lengths[0] * (LESSONS + 1) / 2)
