"""Every way to the gradient by linear algebra, finite differences and hand; what governs it."""

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.func import jacrev
from torch.testing import assert_close

from attn_notes.models.equilibrium import TOLERANCE, LanguageModel, Relaxation
from attn_notes.training.ensemble import train
from book.lessons.equilibrium import estimators as ways
from book.lessons.equilibrium.estimators import Estimator, Implicit, Nudged, bptt, frozen, loss
from book.lessons.equilibrium.governor import Governor, force_left

from .sizes import LONG, SMALL, make

LEARNED, STEP = replace(SMALL, embedding="learned"), LONG.step
LATER = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5)]
FIRST_SEED_SOON = pytest.mark.parametrize("seed", [0, *LATER])


def gradient(model: nn.Module, sequences: Tensor, estimator: Estimator) -> Tensor:
    found = torch.autograd.grad(loss(model, sequences, estimator), list(model.parameters()))
    return torch.cat([g.flatten() for g in found])


def off(found: Tensor, true: Tensor) -> float:
    return ((found - true).norm() / true.norm()).item()


def by_hand(model: LanguageModel, sequences: Tensor, transposed: bool) -> Tensor:
    """The gradient with a from Jᵀ a + g = 0, or from J a + g = 0, solved number by number."""
    x = sequences[:, :-1]
    z, start = model.settle(x).requires_grad_(), model.embed(x)
    size = z[0].numel()
    each = [
        jacrev(lambda s, n=n: model.block(s[None], start[n : n + 1])[0])(z[n]).detach()
        for n in range(len(z))
    ]
    j = torch.stack(each).view(len(z), size, size)
    cost = nn.functional.cross_entropy(model.unembedding(z).mT, sequences[:, 1:])
    (g,) = torch.autograd.grad(cost, z, retain_graph=True)
    a = torch.linalg.solve(j.mT if transposed else j, -g.flatten(1)).reshape(z.shape)
    parameters = list(model.parameters())
    (direct,) = torch.autograd.grad(cost, parameters[-1])
    rest = torch.autograd.grad((a * model.block(z, start)).sum(), parameters[:-1])
    return torch.cat([g.flatten() for g in (*rest, direct)])


@FIRST_SEED_SOON
def test_where_each_estimator_goes(seed):
    model, sequences = make(LEARNED, seed)
    exact, naive = (by_hand(model, sequences, transposed) for transposed in (True, False))
    mixed = Relaxation(30, STEP, memory=5)
    for estimator, goal, near in (
        (Implicit(LONG), exact, 1e-10),
        (Implicit(mixed), exact, 1e-8),
        (bptt, exact, 1e-10),
        (Nudged("full", 1e-2, LONG), exact, 1e-5),  # a tenth of β² = 10⁻⁴
        (Nudged("full", 1e-2, mixed), exact, 1e-5),
        (Nudged("none", 1e-2, LONG), naive, 1e-5),
    ):
        assert off(gradient(model, sequences, estimator), goal) < near, estimator
    assert off(naive, exact) > 0.1


def test_a_rotation_in_the_plane():
    """F = θ − R z, C = b · z: at rest z = R⁻¹ θ, so dC/dθ = R⁻ᵀ b. Naive has R⁻¹ b."""
    cos, sin = math.cos(0.9), math.sin(0.9)
    r = torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64)
    theta = torch.tensor([[0.3, -0.8]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[1.0, 2.0]], dtype=torch.float64)

    def credited(estimator: Estimator) -> Tensor:
        force, start = lambda z: theta - z @ r.T, torch.zeros_like(b)
        return torch.autograd.grad(estimator(force, lambda z: (b * z).sum(), start, LONG), theta)[0]

    for estimator in (bptt, Implicit(LONG), *(Nudged("full", 0.5, LONG, s) for s in (True, False))):
        assert_close(credited(estimator), b @ r.T)  # the inverse of a rotation is its transposed
    for symmetric in (True, False):
        assert_close(credited(Nudged("none", 0.5, LONG, symmetric)), b @ r)


def test_the_clip_lets_no_correction_be_longer_than_the_force():
    """z moves by 0.1 (force − correction); the correction of a quarter turn is 2 z turned."""
    quarter, z = torch.tensor([[0.0, 1.0], [-1.0, 0.0]]), torch.zeros(1, 2)
    correct = Nudged("clipped", 1.0, LONG).corrected(lambda z: z @ quarter, z)
    for state, clipped in ((1.0, 2.0), (8.0, 5.0), (0.0, 0.0)):
        found = correct(torch.tensor([[3.0, 4.0]]), torch.tensor([[state, 0.0]]))
        assert_close(found, torch.tensor([[3.0, 4.0 - clipped]]))
    assert_close(correct(torch.zeros(1, 2), z), z)


ALL = {"bptt": bptt, "frozen": frozen, "exact": ways.EXACT, "published": ways.PUBLISHED}
ALL |= {"AEP": ways.AEP, "one side": replace(ways.AEP, symmetric=False)}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("estimator", ALL.values(), ids=ALL)
def test_all_return_the_cost_where_the_state_is_left_and_the_read_outs_gradient(estimator, dtype):
    model, sequences = make(replace(LEARNED, relaxation=Relaxation(5, STEP)))
    model.to(dtype)
    cost = nn.functional.cross_entropy(model(sequences[:, :-1]).mT, sequences[:, 1:])
    (direct,) = torch.autograd.grad(cost, model.unembedding.weight)
    value = loss(model, sequences, estimator)
    assert value.dtype == dtype and value.shape == ()
    assert_close(value, cost)
    assert_close(torch.autograd.grad(value, model.unembedding.weight)[0], direct)


@pytest.mark.parametrize("steps", [0, 3])
def test_frozen_teaches_the_read_out_only(steps):
    model, sequences = make(replace(LEARNED, relaxation=Relaxation(steps, STEP)))
    loss(model, sequences, frozen).backward()
    taught = [name for name, p in model.named_parameters() if p.grad is not None]
    assert taught == ["unembedding.weight"]


def test_single_precision_finds_the_gradient_of_double():
    """At the chapter's β, 1/50 of the number of predictions, rounding is no matter."""
    model, sequences = make(LEARNED)
    exact = gradient(model, sequences, Implicit(LONG))
    nudged = Nudged("full", sequences[:, 1:].numel() / 50, LONG)
    found = gradient(model.float(), sequences, nudged).double()
    assert torch.cosine_similarity(found, exact, dim=0) > 0.999


SHORT = Relaxation(steps=3, step=STEP)
FEW = {"bptt": bptt, "frozen": frozen, "implicit": Implicit(SHORT)}
FEW |= {each: Nudged(each, 0.1, SHORT) for each in ways.CORRECTIONS}


@pytest.mark.slow
@pytest.mark.parametrize("estimator", FEW.values(), ids=FEW)
def test_members_of_an_ensemble_learn_as_they_would_alone(estimator):
    models = [make(replace(LEARNED, relaxation=SHORT), seed)[0] for seed in (1, 2)]
    sequences, of = make(LEARNED)[1], partial(loss, estimator=estimator)
    optimizer = partial(torch.optim.SGD, lr=0.1)
    trained = train(models, of, sequences, steps=2, optimizer=optimizer)
    for i, model in enumerate(models):
        ordinary = optimizer(model.parameters())
        for _ in range(2):
            ordinary.zero_grad()
            of(model, sequences).backward()
            ordinary.step()
        assert_close(trained.member(i).state_dict(), model.state_dict(), rtol=0, atol=1e-9)


GOVERNED = [
    (0.1, 1, {}, 1),
    (3, 1, {}, 0.8),
    (3, 1, {"tolerance": 100.0}, 1),
    (1, 1, {"tolerance": 1e-9}, 0.8),
    (0.1, torch.nan, {}, 0.8),  # what is no number has not settled
]


@pytest.mark.parametrize(("scale", "embedding", "settings", "factor"), GOVERNED)
def test_the_block_is_scaled_down_where_it_does_not_settle(scale, embedding, settings, factor):
    model, sequences = make(replace(SMALL, relaxation=Relaxation(20, 0.4)))
    with torch.no_grad():
        model.token.mul_(embedding)
        for p in model.block.parameters():
            p.mul_(scale)
        left = model.observe(sequences[:, :-1])[1].residuals[-1]
    assert_close(force_left(model, sequences[:, :-1]), left, equal_nan=True)
    before = dict(model.named_parameters())
    after = Governor(factor=0.8, **settings)(model, before, sequences)
    due = {name: p * factor if name.startswith("block.") else p for name, p in before.items()}
    assert_close(after, due)


def test_impossible_governors_are_refused():
    assert Governor().tolerance == TOLERANCE["force"]
    for of, message in (
        *((partial(Governor, factor=x), "between 0 and 1") for x in (0.0, 1.0, math.nan)),
        *((partial(Governor, tolerance=x), "tolerance must") for x in (0.0, math.nan, math.inf)),
        (partial(Nudged, "half", 1.0, LONG), "must be one of none, clipped, full, not 'half'"),
        (partial(Nudged, "full", math.nan, LONG), r"beta must be .* not nan"),
    ):
        with pytest.raises(ValueError, match=message):
            of()
    model, sequences = make()
    with pytest.raises(ValueError, match=r"begin with 'block\.', and the model has blok\.weight"):
        Governor()(model, {"blok.weight": torch.ones(1)}, sequences)


@FIRST_SEED_SOON
def test_the_exact_gradient_equals_finite_differences(seed):
    model, sequences = make(LEARNED, seed)
    exact = gradient(model, sequences, Implicit(LONG))
    generator = Generator().manual_seed(seed)
    parameters = list(model.parameters())
    for p, part in zip(parameters, exact.split([p.numel() for p in parameters]), strict=True):
        direction = torch.randn(p.shape, generator=generator, dtype=torch.float64)
        values = []
        with torch.no_grad():
            for h in (1e-5, -2e-5):  # ahead, and back beyond the start
                p.add_(h * direction)
                values.append(loss(model, sequences, bptt).item())
            p.add_(1e-5 * direction)
        # A central difference is off by h², and by rounding over h.
        slope = (values[0] - values[1]) / 2e-5
        assert slope == pytest.approx((part @ direction.flatten()).item(), rel=1e-6, abs=1e-9)
