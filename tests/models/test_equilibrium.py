import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator
from torch.nn import functional as F
from torch.testing import assert_close

from attn_notes.models import equilibrium
from attn_notes.models.equilibrium import PUBLISHED, TOLERANCE, Config, LanguageModel, Relaxation

V = 7
SMALL = Config(vocabulary=V, context=11, width=10, heads=2, damping=1.0)
SMALL = replace(SMALL, relaxation=Relaxation(steps=80, step=0.4))


def make(config=SMALL, seed=0):
    return LanguageModel(config, Generator().manual_seed(seed)).double()


def tokens(*shape, seed=0):
    return torch.randint(V, shape, generator=Generator().manual_seed(seed))


def states(*shape, seed=0):
    return torch.randn(*shape, generator=Generator().manual_seed(seed), dtype=torch.float64)


def independent_force(model, z, x):
    c, out = model.config, torch.zeros_like(z)
    parts = [*zip(*(w.chunk(c.heads) for w in model.block.qkv.weight.chunk(3)), strict=True)]
    for n, i in itertools.product(*map(range, z.shape[:2])):
        mixed = []
        for w_q, w_k, w_v in parts:
            keys = [w_k @ z[n, j] for j in range(i + 1)]
            raised = [torch.exp(w_q @ z[n, i] @ k / math.sqrt(len(k))) for k in keys]
            total = sum(a * (w_v @ z[n, j]) for j, a in enumerate(raised))
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
def test_force_equals_an_independent_one(heads, batch, length, strength, damping, seed):
    config = replace(SMALL, width=5 * heads, heads=heads, strength=strength, damping=damping)
    model = make(config, seed)
    z, x = states(2, batch, length, config.width, seed=seed)
    assert_close(model.block(z, x), independent_force(model, z, x))


@torch.no_grad()
def test_the_embedding_by_its_kinds():
    x = tokens(3, 5)
    raw = make(replace(SMALL, input="raw"))
    expected = torch.stack([raw.token[row] for row in x]) + raw.position[:5]
    assert_close(raw.embed(x), expected)
    assert_close(make().embed(x), F.layer_norm(expected, expected.shape[-1:]))


def test_what_is_learned_by_the_kind_of_embedding():
    fixed, learned = make(), make(replace(SMALL, embedding="learned"))
    names = ["block.qkv.weight", "block.o.weight", "unembedding.weight"]
    assert [name for name, _ in fixed.named_parameters()] == names
    assert [name for name, _ in fixed.named_buffers()] == ["token", "position"]
    assert sorted(n for n, _ in learned.named_parameters()) == sorted(["token", "position", *names])
    assert torch.equal(fixed.token, learned.token)


@torch.no_grad()
def test_at_rest_nothing_moves_and_each_sequence_rests_alone():
    model, x = make(), tokens(3, 5)
    z = model.settle(x)
    assert_close(independent_force(model, z, model.embed(x)), torch.zeros_like(z))
    for n in range(3):
        assert_close(model.settle(x[n]), z[n])
        assert_close(model(x[n : n + 1])[0], model(x)[n])
    assert_close(model.unembedding(z), model(x))


@torch.no_grad()
def test_observed_are_all_states_and_what_was_left():
    model, x = make(replace(SMALL, relaxation=Relaxation(6, 0.4))), tokens(3, 5)
    logits, seen = model.observe(x)
    z = start = model.embed(x)
    for state, left in zip(seen.states, seen.residuals, strict=True):
        force = independent_force(model, z, start)
        assert_close([state, left], [z, force.norm() / z.norm()])
        z = z + 0.4 * force
    assert len(seen.states) == 7
    assert_close(logits, model(x))
    assert_close(seen.attention.sum(-1), torch.ones(3, 2, 5, dtype=torch.float64))
    assert_close(seen.attention, model.block.attend(seen.states[-1])[1])


def test_a_state_that_still_moves_is_reported():
    hurried, broken = make(replace(SMALL, relaxation=Relaxation(3, 0.1))), make()
    said = r"3 steps of 0.1: by the test of the force, .*e"
    with pytest.warns(equilibrium.NotSettledWarning, match=said):
        hurried.settle(tokens(2, 5))
    with torch.no_grad():
        broken.block.o.weight.fill_(math.nan)
    with pytest.warns(equilibrium.NotSettledWarning, match="nan is left"):
        broken.settle(tokens(2, 5))


def test_the_published_test_passes_anything_if_the_step_is_small():
    """Not one step is taken, and none is needed."""
    config, x = replace(SMALL, test="step", relaxation=Relaxation(0, 1e-4)), tokens(2, 5)
    z, model = make(config).settle(x), make(replace(config, test="force"))
    assert equilibrium.residual(model.block.force(model.embed(x)), z) > 0.5
    with pytest.warns(equilibrium.NotSettledWarning):
        model.settle(x)


def test_the_mixture_is_the_smallest():
    fields, z = states(3, 2, 5, 4, seed=1), states(3, 2, 5, 4, seed=2)
    mixed, field = equilibrium.mix(z, fields)
    for n in range(2):
        f = fields[:, n].flatten(1)
        best = torch.linalg.lstsq((f[1:] - f[:1]).T, -f[0]).solution
        weights = torch.cat([1 - best.sum(0, keepdim=True), best])
        assert_close(field[n], torch.einsum("m,mte->te", weights, fields[:, n]))
        assert_close(mixed[n], torch.einsum("m,mte->te", weights, z[:, n]))

    still, z = torch.zeros(3, 1, 2, 4), torch.ones(3, 1, 2, 4)
    assert_close(equilibrium.mix(z, still), (z[0], still[0]))  # of nothing it is a number


@torch.no_grad()
def test_published_and_corrected_come_to_rest_at_their_sizes():
    for config in (PUBLISHED, Config()):
        model = LanguageModel(config, Generator().manual_seed(3))
        x = torch.randint(65, (2, 64), generator=Generator().manual_seed(4))
        assert_close(F.linear(model.settle(x), model.unembedding.weight), model(x))


def test_a_restless_sequence_does_not_hide_among_calm_ones():
    """The test of the force looks at each; the published one looks at the whole batch."""
    config = Config(width=8, heads=2, vocabulary=7, context=6)
    model, x = LanguageModel(config, Generator().manual_seed(0)), tokens(64, 6, seed=1)
    with torch.no_grad():
        for p in model.block.parameters():
            p.mul_(1.5)
        start = model.embed(x)
        force = model.block.force(start)
        z = config.relaxation(force, start)
        each = force(z).norm(dim=(1, 2)) / z.norm(dim=(1, 2))
    calm = each < TOLERANCE["force"] / 2
    assert each.max() > TOLERANCE["force"] and calm.sum() > 4
    model.settle(x[calm])
    many = torch.cat([x[each == each.max()], *[x[calm]] * 100])
    with pytest.warns(equilibrium.NotSettledWarning, match="by the test of the force"):
        z = model.settle(many)
    assert equilibrium.residual(model.block.force(model.embed(many)), z) < TOLERANCE["force"]


def test_the_corrected_step_stops_at_once_where_attention_does_nothing():
    config = Config()
    assert 1 - config.relaxation.step * (1 + config.strength * config.damping) == 0
    assert TOLERANCE == {"step": 1e-2, "force": 1e-3}  # the first is the source's


def test_anderson_mixes_the_last_states_and_no_others():
    matrix = torch.tensor([[-1.0, 0.6, 0.0], [-0.6, -0.5, 0.2], [0.1, 0.0, -0.8]]).double()

    def field(z):
        return z @ matrix.mT + 1

    for memory in (2, 3):
        z = start = torch.zeros(1, 1, 3).double()
        states, fields = [], []
        for found in Relaxation(6, 0.3, memory=memory).path(field, start):
            states, fields = [*states, z][-memory:], [*fields, field(z)][-memory:]
            mixed, force = equilibrium.mix(torch.stack(states), torch.stack(fields))
            z = mixed + 0.3 * force
            assert_close(found, z)
        assert not torch.allclose(z, Relaxation(6, 0.3)(field, start))
