import math
import warnings
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models.equilibrium import (
    PUBLISHED,
    TOLERANCE,
    Config,
    LanguageModel,
    NotSettledWarning,
    Relaxation,
    mix,
    residual,
)

V = 7
SETTLING = Relaxation(steps=80, step=0.4)
SMALL = Config(vocabulary=V, context=11, width=10, heads=2, damping=1.0, relaxation=SETTLING)


def make(config=SMALL, seed=0):
    return LanguageModel(config, Generator().manual_seed(seed)).double()


def tokens(*shape, seed=0):
    return torch.randint(V, shape, generator=Generator().manual_seed(seed))


def states(*shape, seed=0):
    return torch.randn(*shape, generator=Generator().manual_seed(seed), dtype=torch.float64)


def independent_force(model, z, x):
    c = model.config
    d = c.width // c.heads
    w_q, w_k, w_v = model.block.qkv.weight.split(c.width)
    out = torch.zeros_like(z)
    for n in range(z.shape[0]):
        for i in range(z.shape[1]):
            mixed = []
            for h in range(0, c.width, d):
                q = w_q[h : h + d] @ z[n, i]
                keys = [w_k[h : h + d] @ z[n, j] for j in range(i + 1)]
                raised = [torch.exp(q @ k / math.sqrt(d)) for k in keys]
                values = [w_v[h : h + d] @ z[n, j] for j in range(i + 1)]
                total = sum(a * v for a, v in zip(raised, values, strict=True))
                mixed.append(total / sum(raised))
            attended = model.block.o.weight @ torch.cat(mixed)
            out[n, i] = x[n, i] - z[n, i] + c.strength * (attended - c.damping * z[n, i])
    return out


@settings(max_examples=25)
@given(
    heads=st.sampled_from([1, 2, 3]),
    batch=st.integers(1, 3),
    length=st.integers(1, 5),
    strength=st.sampled_from([1.0, 0.7]),
    damping=st.sampled_from([1.0, 0.3]),
    seed=st.integers(0, 9999),
)
@torch.no_grad()
def test_force_equals_an_independent_one(heads, batch, length, strength, damping, seed) -> None:
    config = replace(SMALL, width=5 * heads, heads=heads, strength=strength, damping=damping)
    model = make(config, seed)
    z, x = states(2, batch, length, config.width, seed=seed)
    assert_close(model.block(z, x), independent_force(model, z, x))


@torch.no_grad()
def test_the_embedding_by_its_kinds() -> None:
    x = tokens(3, 5)
    raw = make(replace(SMALL, input="raw"))
    expected = torch.stack([raw.token[row] for row in x]) + raw.position[:5]
    assert_close(raw.embed(x), expected)
    centred = expected - expected.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    assert_close(make().embed(x), centred / (variance + 1e-5).sqrt())


def test_what_is_learned_by_the_kind_of_embedding() -> None:
    fixed, learned = make(), make(replace(SMALL, embedding="learned"))
    names = ["block.qkv.weight", "block.o.weight", "unembedding.weight"]
    assert [name for name, _ in fixed.named_parameters()] == names
    assert [name for name, _ in fixed.named_buffers()] == ["token", "position"]
    assert sorted(n for n, _ in learned.named_parameters()) == sorted(["token", "position", *names])
    assert torch.equal(fixed.token, learned.token)


@torch.no_grad()
def test_without_attention_the_way_to_rest_is_known() -> None:
    """Rest is at x / (1 + s c), and each step leaves 1 − ε (1 + s c) of the way there."""
    model = make(replace(SMALL, strength=0.5, damping=3.0))
    model.block.o.weight.zero_()
    x = model.embed(tokens(2, 5))

    def field(z):
        return model.block(z, x)

    for n, z in enumerate(Relaxation(7, 0.3).path(field, x), 1):
        assert_close(z, x / 2.5 + (1 - 0.3 * 2.5) ** n * (x - x / 2.5))
    assert_close(model.settle(tokens(2, 5)), x / 2.5)


@torch.no_grad()
def test_at_rest_nothing_moves_and_each_sequence_rests_alone() -> None:
    model, x = make(), tokens(3, 5)
    z = model.settle(x)
    assert_close(independent_force(model, z, model.embed(x)), torch.zeros_like(z))
    for n in range(3):
        assert_close(model.settle(x[n]), z[n])
        assert_close(model(x[n : n + 1])[0], model(x)[n])
    assert_close(model.unembedding(z), model(x))


@torch.no_grad()
def test_observed_are_all_states_and_what_was_left() -> None:
    model, x = make(replace(SMALL, relaxation=Relaxation(6, 0.4))), tokens(3, 5)
    logits, seen = model.observe(x)
    start = model.embed(x)
    z = start
    for n in range(7):
        assert_close(seen.states[n], z)
        force = independent_force(model, z, start)
        assert seen.residuals[n].item() == pytest.approx((force.norm() / z.norm()).item())
        z = z + 0.4 * force
    assert len(seen.states) == len(seen.residuals) == 7
    assert_close(logits, model(x))
    assert_close(seen.attention.sum(-1), torch.ones(3, 2, 5, dtype=torch.float64))
    assert_close(seen.attention, model.block.attend(seen.states[-1])[1])


def test_a_state_that_still_moves_is_reported() -> None:
    hurried = make(replace(SMALL, relaxation=Relaxation(3, 0.1)))
    with pytest.warns(NotSettledWarning, match=r"3 steps of 0.1: by the test of the force, .*e"):
        hurried.settle(tokens(2, 5))
    broken = make()
    with torch.no_grad():
        broken.block.o.weight.fill_(math.nan)
    with pytest.warns(NotSettledWarning, match="nan is left"):
        broken.settle(tokens(2, 5))


def test_the_published_test_passes_anything_if_the_step_is_small() -> None:
    """Not one step is taken, and none is needed."""
    config = replace(SMALL, test="step", relaxation=Relaxation(0, 1e-4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        z = make(config).settle(tokens(2, 5))
    model = make(replace(config, test="force"))
    assert residual(lambda z: model.block(z, model.embed(tokens(2, 5))), z) > 0.5
    with pytest.warns(NotSettledWarning):
        model.settle(tokens(2, 5))


def linear_field(n, seed):
    """A matrix with eigenvalues of negative real part, and what is solved for."""
    g = Generator().manual_seed(seed)
    a = torch.randn(n, n, generator=g, dtype=torch.float64) / (2 * n**0.5)
    return a - torch.eye(n, dtype=torch.float64), states(1, 1, n, seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_anderson_solves_n_linear_equations_in_n_steps(seed) -> None:
    """It is then GMRES (Walker and Ni, 2011), whose n-th Krylov space is all there is.

    One more step moves from the mixture to the solution.
    """
    a, b = linear_field(7, seed)
    start = torch.zeros_like(b)
    solution = torch.linalg.solve(a, -b[0, 0])

    def error(relaxation):
        z = relaxation(lambda z: z @ a.T + b, start)[0, 0]
        return ((z - solution).norm() / solution.norm()).item()

    assert error(Relaxation(8, 0.7, memory=8)) < 1e-6 and error(Relaxation(8, 0.7)) > 1e-5


def test_the_mixture_is_the_smallest() -> None:
    fields, z = states(3, 2, 5, 4, seed=1), states(3, 2, 5, 4, seed=2)
    mixed, field = mix(z, fields)
    for n in range(2):
        f = fields[:, n].flatten(1)
        best = torch.linalg.lstsq((f[1:] - f[:1]).T, -f[0]).solution
        weights = torch.cat([1 - best.sum(0, keepdim=True), best])
        assert_close(field[n], torch.einsum("m,mte->te", weights, fields[:, n]))
        assert_close(mixed[n], torch.einsum("m,mte->te", weights, z[:, n]))


def test_the_mixture_of_nothing_is_a_number() -> None:
    still, z = torch.zeros(3, 1, 2, 4), torch.ones(3, 1, 2, 4)
    mixed, field = mix(z, still)
    assert_close(mixed, z[0])
    assert torch.equal(field, still[0])


@torch.no_grad()
def test_published_and_corrected_come_to_rest_at_their_sizes() -> None:
    for config in (PUBLISHED, Config()):
        model = LanguageModel(config, Generator().manual_seed(3))
        x = torch.randint(65, (2, 64), generator=Generator().manual_seed(4))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            z = model.settle(x)
        assert_close(F.linear(z, model.unembedding.weight), model(x))


def test_a_restless_sequence_does_not_hide_among_calm_ones() -> None:
    """The test of the force looks at each; the published one looks at the whole batch."""
    config = Config(width=8, heads=2, vocabulary=7, context=6)
    model = LanguageModel(config, Generator().manual_seed(0))
    x = torch.randint(7, (64, 6), generator=Generator().manual_seed(1))
    with torch.no_grad():
        for p in model.block.parameters():
            p.mul_(1.5)
        start = model.embed(x)
        force = model.block.force(start)
        z = config.relaxation(force, start)
        each = force(z).norm(dim=(1, 2)) / z.norm(dim=(1, 2))
    worst = int(each.argmax())
    calm = each < TOLERANCE["force"] / 2
    assert each[worst] > TOLERANCE["force"] and calm.sum() > 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.settle(x[calm])
    many = torch.cat([x[worst : worst + 1], *[x[calm]] * 100])
    with pytest.warns(NotSettledWarning, match="by the test of the force"):
        z = model.settle(many)
    assert residual(model.block.force(model.embed(many)), z) < TOLERANCE["force"]


def test_the_corrected_step_stops_at_once_where_attention_does_nothing() -> None:
    config = Config()
    assert 1 - config.relaxation.step * (1 + config.strength * config.damping) == 0
    assert TOLERANCE == {"step": 1e-2, "force": 1e-3}  # the first is the source's


def test_anderson_mixes_the_last_states_and_no_others() -> None:
    matrix = torch.tensor([[-1.0, 0.6, 0.0], [-0.6, -0.5, 0.2], [0.1, 0.0, -0.8]]).double()

    def field(z):
        return z @ matrix.mT + 1

    for memory in (2, 3):
        relaxation = Relaxation(6, 0.3, memory=memory)
        z = torch.zeros(1, 1, 3).double()
        states, fields = [], []
        for found in relaxation.path(field, z):
            states, fields = [*states, z][-memory:], [*fields, field(z)][-memory:]
            mixed, force = mix(torch.stack(states), torch.stack(fields))
            z = mixed + 0.3 * force
            assert_close(found, z)
        assert not torch.allclose(z, Relaxation(6, 0.3)(field, torch.zeros(1, 1, 3).double()))
