import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import Generator, Tensor, nn
from torch.func import jacrev
from torch.testing import assert_close

from attn_notes.analysis.cost import peak_bytes
from attn_notes.chapters.equilibrium import estimators
from attn_notes.chapters.equilibrium.estimators import (
    AEP,
    CORRECTIONS,
    EXACT,
    PUBLISHED,
    Estimator,
    Implicit,
    Nudged,
    asymmetry,
    bptt,
    frozen,
    loss,
)
from attn_notes.models.equilibrium import LanguageModel, Relaxation, residual
from attn_notes.training.ensemble import train

from .sizes import LONG, SMALL, make

LEARNED = replace(SMALL, embedding="learned")
STEP = LONG.step
SEEDS = range(5)
FIRST_SEED_SOON = pytest.mark.parametrize(
    "seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])]
)


def gradient(model: nn.Module, sequences: Tensor, estimator: Estimator) -> Tensor:
    """All of it in one row, the read-out's last."""
    found = torch.autograd.grad(loss(model, sequences, estimator), list(model.parameters()))
    return torch.cat([g.flatten() for g in found])


def off(found: Tensor, true: Tensor) -> float:
    return ((found - true).norm() / true.norm()).item()


def jacobians(model: LanguageModel, sequences: Tensor) -> Tensor:
    """J of each sequence, number by number."""
    x = sequences[:, :-1]
    z, start = model.settle(x), model.embed(x).detach()
    size = z[0].numel()
    return torch.stack(
        [
            jacrev(lambda s, n=n: model.block(s[None], start[n : n + 1])[0])(z[n])
            .detach()
            .reshape(size, size)
            for n in range(len(z))
        ]
    )


def by_hand(model: LanguageModel, sequences: Tensor, matrices: Tensor) -> Tensor:
    """The gradient with a from matrix · a + g = 0, solved number by number."""
    x = sequences[:, :-1]
    z = model.settle(x).requires_grad_()
    cost = nn.functional.cross_entropy(model.unembedding(z).mT, sequences[:, 1:])
    (g,) = torch.autograd.grad(cost, z, retain_graph=True)
    a = torch.linalg.solve(matrices, -g.flatten(1)).reshape(z.shape)
    parameters = list(model.parameters())
    (direct,) = torch.autograd.grad(cost, parameters[-1])
    rest = torch.autograd.grad((a * model.block(z, model.embed(x))).sum(), parameters[:-1])
    return torch.cat([g.flatten() for g in (*rest, direct)])


@FIRST_SEED_SOON
def test_the_exact_gradient_equals_finite_differences(seed: int) -> None:
    model, sequences = make(LEARNED, seed)
    exact = gradient(model, sequences, Implicit(LONG))
    generator = Generator().manual_seed(seed)
    parameters = list(model.parameters())
    sizes = [p.numel() for p in parameters]
    for part in range(len(parameters)):  # along a random direction in each
        direction = torch.randn(parameters[part].shape, generator=generator, dtype=torch.float64)

        def cost(h: float, p: Tensor = parameters[part], d: Tensor = direction) -> float:
            with torch.no_grad():
                p.add_(h * d)
                value = loss(model, sequences, bptt).item()
                p.sub_(h * d)
            return value

        slope = exact.split(sizes)[part] @ direction.flatten()
        # A central difference is off by h², and by rounding over h.
        assert slope.item() == pytest.approx((cost(1e-5) - cost(-1e-5)) / 2e-5, rel=1e-6, abs=1e-9)


@FIRST_SEED_SOON
def test_where_each_estimator_goes(seed: int) -> None:
    """To the solution of its own linear equation, solved without any relaxation."""
    model, sequences = make(LEARNED, seed)
    j = jacobians(model, sequences)
    exact = by_hand(model, sequences, j.mT)
    nudged = partial(Nudged, beta=1e-2, relaxation=LONG)
    assert off(gradient(model, sequences, Implicit(LONG)), exact) < 1e-10
    assert off(gradient(model, sequences, bptt), exact) < 1e-10
    # Of β² = 10⁻⁴ not more than a tenth is left.
    assert off(gradient(model, sequences, nudged("full")), exact) < 1e-5
    naive = by_hand(model, sequences, j)
    assert off(gradient(model, sequences, nudged("none")), naive) < 1e-5
    assert off(naive, exact) > 0.1


@FIRST_SEED_SOON
def test_unclipped_aep_points_along_the_exact_gradient(seed: int) -> None:
    model, sequences = make(LEARNED, seed)
    exact = gradient(model, sequences, Implicit(LONG))
    found = gradient(model, sequences, Nudged("full", 0.02, LONG))
    assert torch.cosine_similarity(found, exact, dim=0) > 1 - 1e-9


def slope(x: list[float], y: list[float]) -> float:
    return float(np.polyfit(x, np.log(y), 1)[0])


@pytest.mark.now("0-False", "1-True")
@pytest.mark.slow
@pytest.mark.parametrize(("symmetric", "order"), [(False, 1), (True, 2)])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_error_in_beta(seed: int, symmetric: bool, order: int) -> None:
    model, sequences = make(LEARNED, seed)
    exact = gradient(model, sequences, Implicit(LONG))
    betas = [0.05, 0.1, 0.2, 0.4]
    errors = [
        off(gradient(model, sequences, Nudged("full", beta, LONG, symmetric)), exact)
        for beta in betas
    ]
    assert slope(np.log(betas).tolist(), errors) == pytest.approx(order, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_error_in_nudged_steps_falls_as_the_state_contracts(seed: int) -> None:
    """A step leaves 1 + ε Jᵀ of the way, and after many the slowest direction is all."""
    model, sequences = make(LEARNED, seed)
    exact = gradient(model, sequences, Implicit(LONG))
    modes = torch.linalg.eigvals(jacobians(model, sequences))
    rate = (1 + STEP * modes).abs().max().log().item()
    # Between the first steps, in which the quicker directions go, and what β and rounding leave.
    steps = [n for n in range(4, 60, 2) if 1e-9 < math.exp(rate * n) < 1e-4]
    errors = [
        off(gradient(model, sequences, Nudged("full", 1e-4, Relaxation(n, STEP))), exact)
        for n in steps
    ]
    assert slope(steps, errors) == pytest.approx(rate, rel=0.1)


def test_where_the_force_is_conservative_naive_is_exact() -> None:
    """F = x − 2 z + tanh(z W) Wᵀ is downhill of an energy, so J = Jᵀ and there is no correction."""
    g = Generator().manual_seed(1)
    w = (torch.randn(5, 5, generator=g, dtype=torch.float64) / 4).requires_grad_()
    x, v = torch.randn(2, 2, 3, 5, generator=g, dtype=torch.float64)

    def force(z: Tensor) -> Tensor:
        return x - 2 * z + torch.tanh(z @ w) @ w.T

    def credited(estimator: Estimator) -> Tensor:
        return torch.autograd.grad(estimator(force, lambda z: z.pow(4).mean(), x, LONG), w)[0]

    assert_close(asymmetry(force, x)(v), torch.zeros_like(v))
    naive, full = (credited(Nudged(c, 1e-3, LONG)) for c in ("none", "full"))
    assert_close(naive, full)
    assert off(naive, credited(Implicit(LONG))) < 1e-6


def test_the_asymmetry_of_a_linear_force() -> None:
    g = Generator().manual_seed(1)
    a = torch.randn(5, 5, generator=g, dtype=torch.float64)
    z, v = torch.randn(2, 2, 3, 5, generator=g, dtype=torch.float64)
    # The row z moves by z A: its Jacobian, for columns, is Aᵀ.
    assert_close(asymmetry(lambda z: z @ a, z)(v), v @ (a.T - a).T)


def test_a_rotation_in_the_plane() -> None:
    """F = θ − R z, C = b · z: at rest z = R⁻¹ θ, so dC/dθ = R⁻ᵀ b. Naive has R⁻¹ b."""
    angle = 0.9
    r = torch.tensor(
        [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    ).double()
    theta = torch.tensor([[0.3, -0.8]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[1.0, 2.0]], dtype=torch.float64)

    def credited(estimator: Estimator) -> Tensor:
        cost = estimator(
            lambda z: theta - z @ r.T, lambda z: (b * z).sum(), torch.zeros_like(b), LONG
        )
        return torch.autograd.grad(cost, theta)[0]

    exact, turned = b @ r.T, b @ r  # the inverse of a rotation is its transposed
    for estimator in (bptt, Implicit(LONG), *(Nudged("full", 0.5, LONG, s) for s in (True, False))):
        assert_close(credited(estimator), exact)
    for symmetric in (True, False):
        assert_close(credited(Nudged("none", 0.5, LONG, symmetric)), turned)


def test_the_clip_lets_no_correction_be_longer_than_the_force() -> None:
    """z moves by 0.1 (force − correction); the correction of a quarter turn is 2 z turned."""
    quarter = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    z = torch.zeros(1, 2)
    correct = Nudged("clipped", 1.0, LONG).corrected(lambda z: z @ quarter, z)
    pushed = torch.tensor([[3.0, 4.0]])
    assert_close(correct(pushed, torch.tensor([[1.0, 0.0]])), pushed - torch.tensor([[0.0, 2.0]]))
    assert_close(correct(pushed, torch.tensor([[8.0, 0.0]])), pushed - torch.tensor([[0.0, 5.0]]))
    assert_close(correct(pushed, z), pushed)
    assert_close(correct(torch.zeros(1, 2), z), z)


ALL: dict[str, Estimator] = {
    "bptt": bptt,
    "frozen": frozen,
    "exact": EXACT,
    "naive": replace(PUBLISHED, correction="none"),
    "published": PUBLISHED,
    "corrected": AEP,
    "one side": replace(AEP, symmetric=False),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_all_return_the_cost_where_the_state_is_left_and_the_read_outs_gradient(
    name: str, dtype: torch.dtype
) -> None:
    model, sequences = make(replace(LEARNED, relaxation=Relaxation(5, STEP)))
    model.to(dtype)
    cost = nn.functional.cross_entropy(model(sequences[:, :-1]).mT, sequences[:, 1:])
    (direct,) = torch.autograd.grad(cost, model.unembedding.weight)
    value = loss(model, sequences, ALL[name])
    assert value.dtype == dtype and value.shape == ()
    assert_close(value, cost)
    assert_close(torch.autograd.grad(value, model.unembedding.weight)[0], direct)


@pytest.mark.parametrize("steps", [0, 3])
def test_frozen_teaches_the_read_out_only(steps: int) -> None:
    model, sequences = make(replace(LEARNED, relaxation=Relaxation(steps, STEP)))
    loss(model, sequences, frozen).backward()
    assert [name for name, p in model.named_parameters() if p.grad is not None] == [
        "unembedding.weight"
    ]


def test_single_precision_finds_the_gradient_of_double() -> None:
    """At the chapter's β, 1/50 of the number of predictions, rounding is no matter."""
    model, sequences = make(LEARNED)
    exact = gradient(model, sequences, Implicit(LONG))
    model.float()
    estimator = Nudged("full", sequences[:, 1:].numel() / 50, LONG)
    found = gradient(model, sequences, estimator).double()
    assert torch.cosine_similarity(found, exact, dim=0) > 0.999


def test_an_accelerated_adjoint_and_nudge_come_to_the_same() -> None:
    model, sequences = make(LEARNED)
    exact = gradient(model, sequences, Implicit(LONG))
    quick = Relaxation(30, STEP, memory=5)
    assert off(gradient(model, sequences, Implicit(quick)), exact) < 1e-8
    assert off(gradient(model, sequences, Nudged("full", 1e-2, quick)), exact) < 1e-5


def peak(estimator: Estimator, free: int) -> int:
    config = replace(LEARNED, relaxation=Relaxation(free, STEP))
    model, sequences = make(config)
    return peak_bytes(lambda: gradient(model, sequences, estimator))


@pytest.mark.slow
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_memory_of_a_nudge_does_not_grow_with_the_steps(correction: str) -> None:
    def nudged(steps: int) -> Nudged:
        return Nudged(correction, 0.1, Relaxation(steps, STEP))

    few = peak(nudged(3), free=3)
    assert peak(nudged(3), free=30) == pytest.approx(few, rel=0.02)
    assert peak(nudged(30), free=3) == pytest.approx(few, rel=0.02)


def test_the_memory_of_backpropagation_grows_with_every_step() -> None:
    ten, twenty, forty = (peak(bptt, free) for free in (10, 20, 40))
    assert forty - twenty == pytest.approx(2 * (twenty - ten), rel=0.05)
    assert twenty > 1.8 * ten


SHORT = Relaxation(steps=3, step=STEP)


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [bptt, frozen, Implicit(SHORT), *(Nudged(c, 0.1, SHORT) for c in CORRECTIONS)],
    ids=["bptt", "frozen", "implicit", *CORRECTIONS],
)
def test_members_of_an_ensemble_learn_as_they_would_alone(estimator: Estimator) -> None:
    config = replace(LEARNED, relaxation=SHORT)
    models = [make(config, seed)[0] for seed in (1, 2)]
    sequences = make(LEARNED)[1]
    optimizer = partial(torch.optim.SGD, lr=0.1)
    trained = train(
        models, partial(loss, estimator=estimator), sequences, steps=2, optimizer=optimizer
    )
    for i, model in enumerate(models):
        ordinary = optimizer(model.parameters())
        for _ in range(2):
            ordinary.zero_grad()
            loss(model, sequences, estimator).backward()
            ordinary.step()
        for parameter, p in model.named_parameters():
            assert_close(trained.parameters[parameter][i], p.detach(), rtol=0, atol=1e-9)


def test_a_step_along_each_gradient_lowers_the_loss_and_moves_rest() -> None:
    """Training really goes through the state: what was at rest before is not afterwards."""
    for name in ("exact", "corrected"):
        model, sequences = make(LEARNED)
        z, before = model.settle(sequences[:, :-1]), loss(model, sequences, ALL[name])
        before.backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(0.05 * p.grad)
        assert loss(model, sequences, bptt) < before
        start = model.embed(sequences[:, :-1])
        assert residual(lambda s, m=model, x=start: m.block(s, x), z) > 1e-5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("half", 1.0), "correction must be one of none, clipped, full, not 'half'"),
        *((("full", beta), f"beta must be .* not {beta}") for beta in (0.0, math.nan, math.inf)),
    ],
)
def test_impossible_nudges_are_refused(settings: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Nudged(*settings, relaxation=LONG)


def test_what_is_published_and_what_is_corrected() -> None:
    assert Nudged("clipped", 0.02, Relaxation(20, 0.1), symmetric=True) == estimators.PUBLISHED
