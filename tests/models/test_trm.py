import cmath
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator
from torch.testing import assert_close

from attn_notes.models import trm
from attn_notes.models.trm import PARTS, PUBLISHED, TRM, Config, State, Straight

SIZES = dict(vocabulary=5, cells=7, summary=2, width=12, layers=2, multiple=11, heads=3)
SIZES |= dict(latent_steps=2, cycles=2)


def make(seed=0, kind=TRM, **change):
    """A small model in double precision whose weights are far from their start."""
    generator = Generator().manual_seed(seed)
    model = kind(Config(**{**SIZES, **change}), generator).double()
    for p in model.parameters():
        p.data += 0.1 * torch.randn(p.shape, generator=generator, dtype=p.dtype)
    return model


def puzzles(model, n=3, seed=0):
    sizes = (n, model.config.cells)
    return torch.randint(model.config.vocabulary, sizes, generator=Generator().manual_seed(seed))


def independent_step(model, x, state):
    """A supervision step on one puzzle, token by token: y, z, logits and q."""
    c, w = model.config, {n: p.detach() for n, p in model.state_dict().items()}
    t, e = c.summary + c.cells, c.width

    def swiglu(row, name):
        gate, up = (w[f"{name}.gate_up.weight"] @ row).chunk(2)
        return w[f"{name}.down.weight"] @ (gate / (1 + torch.exp(-gate)) * up)

    def scaled(row):
        return row / torch.sqrt(row @ row / len(row) + 1e-5)

    def attend(h, name):
        d = e // c.heads
        q, k, v = (h @ w[f"{name}.qkv.weight"].T).chunk(3, -1)
        mixed = torch.zeros(t, e, dtype=h.dtype)
        for head in range(c.heads):
            part = slice(head * d, (head + 1) * d)
            for i in range(t):
                scores = torch.zeros(t, dtype=h.dtype)
                for j in range(t):  # pairs of entries are complex numbers that positions turn
                    for plane in range(d // 2):
                        pair = slice(head * d + 2 * plane, head * d + 2 * plane + 2)
                        turn = (i - j) * 10_000 ** (-2 * plane / d)
                        product = complex(*q[i, pair]) * complex(*k[j, pair]).conjugate()
                        scores[j] += (product * cmath.exp(1j * turn)).real / d**0.5
                mixed[i, part] = scores.softmax(0) @ v[:, part]
        return mixed @ w[f"{name}.o.weight"].T

    def net(h):
        for layer in range(c.layers):
            name = f"net.{layer}"
            if c.mixer == "mlp":
                h = h + torch.stack([swiglu(h[:, i], f"{name}.mixer.swiglu") for i in range(e)], 1)
            else:
                h = h + attend(h, f"{name}.mixer")
            along = int(c.norm != "channels")
            h = torch.stack([scaled(row) for row in h.unbind(along)], along)
            h = torch.stack([scaled(h[i] + swiglu(h[i], f"{name}.swiglu")) for i in range(t)])
        return h

    rows = [*w["summary"], *(w["token.weight"][digit] for digit in x)]
    embedded = torch.stack([row * math.sqrt(e) for row in rows])
    y, z = state or (torch.stack([w["y_init"]] * t), torch.stack([w["z_init"]] * t))
    if isinstance(model, Straight):
        y = net(embedded)
    else:
        for _ in range(c.cycles):
            for _ in range(c.latent_steps):
                z = net(embedded + y + z)
            y = net(y + z)
    logits = y[c.summary :] @ w["out.weight"].T
    return y, z, logits, w["halt.weight"][0] @ y[0] + w["halt.bias"][0]


@settings(max_examples=12)
@given(
    parts=st.fixed_dictionaries({part: st.sampled_from(kinds) for part, kinds in PARTS.items()}),
    kind=st.sampled_from([TRM, TRM, TRM, Straight]),
    summary=st.integers(1, 3),
    latent_steps=st.integers(1, 2),
    cycles=st.integers(1, 2),
    seed=st.integers(0, 9999),
)
def test_two_supervision_steps_equal_independent_ones(parts, kind, seed, **sizes):
    # With the published norm a difference may grow tenfold at each use of the network.
    model = make(seed, kind, **parts, **sizes, layers=1, cells=5)
    x = puzzles(model, 2, seed)
    first = model(x)
    for i in range(2):
        state = None
        for found in (first, model(x, first.state)):
            expected = independent_step(model, x[i], state)
            seen = (found.state.y[i], found.state.z[i], found.logits[i], found.halt[i])
            assert_close(seen, expected, rtol=1e-5, atol=1e-5)
            state = expected[:2]


def test_parameter_counts(generator):
    def count(config):
        return sum(p.numel() for p in TRM(config, generator).parameters())

    assert count(PUBLISHED) == 4_856_833
    # The official code's 5,028,866 have a second output of the q head, and its 16 summary tokens
    # are kept elsewhere.
    assert count(trm.OFFICIAL) == 5_028_866 - (512 + 1) + 16 * 512
    # q, k, v and o in the mixer's place, in two layers.
    attending = replace(PUBLISHED, mixer="attention")
    assert count(attending) == 4_856_833 + 2 * (4 * 512**2 - 3 * 82 * 256)


def test_the_state_is_carried_on():
    model = make()
    x = puzzles(model)
    traced, state = model.trace(x, 3), None
    assert not any(found.requires_grad for found in traced)
    for logits, halt in zip(*traced, strict=True):
        state, *step = model(x, state)
        assert step[0].equal(logits) and step[1].equal(halt)
    assert not torch.allclose(traced[0][0], traced[0][1])


def test_the_path_passes_every_use_of_the_network_and_ends_at_the_step():
    model = make()
    c, x, start = model.config, puzzles(model), model.start(3)
    path, output = [*model.path(model.embed(x), start)], model(x)
    assert len(path) == c.cycles * (c.latent_steps + 1)
    assert torch.equal(path[-1].y, output.state.y) and torch.equal(path[-1].z, output.state.z)
    assert torch.equal(model.decode(path[-1].y), output.logits)
    # While it thinks the answer stands still, and when it answers the thought does.
    for before, after in zip([start, *path], path, strict=False):
        assert torch.equal(after.y, before.y) != (after.z is before.z)


def test_only_the_last_cycle_has_a_gradient_and_none_goes_on_to_the_next_step():
    model = make(cycles=3)
    x = puzzles(model)
    assert not model(x).state.y.requires_grad and not model(x).state.z.requires_grad
    names, weights = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(model(x).logits.square().sum(), weights, allow_unused=True)
    embedded, before_the_last = model.embed(x), 2 * (model.config.latent_steps + 1)
    reached = [*model.path(embedded, model.start(3))][before_the_last - 1]
    *_, last = model.cycle(embedded, State(reached.y.detach(), reached.z.detach()))
    value = model.decode(last.y).square().sum()
    expected = torch.autograd.grad(value, weights, allow_unused=True)
    for name, a, b in zip(names, found, expected, strict=True):
        assert (a is None) == (b is None) == name.startswith("halt"), name
        if a is not None:
            assert a.abs().max() > 0
            assert_close(a, b, rtol=0, atol=0)


def test_a_swiglu_is_as_wide_as_two_thirds_of_the_expansion_rounded_up():
    config = Config(expansion=2.0, multiple=4)
    # 2 · 2/3 · 50 = 66.7, 67 when rounded, 68 as a multiple of four; of 51 it is 68 at once.
    assert [config.inner(width) for width in (50, 51, 52)] == [68, 68, 72]
    assert replace(config, multiple=1).inner(50) == 67


def test_truncated_normal_has_its_deviation_after_the_cut(generator):
    x = trm.truncated_normal(torch.empty(200_000), 0.3, generator)
    assert abs(x.std().item() / 0.3 - 1) < 5 / math.sqrt(2 * 200_000)
    edge = 2 * 0.3 / 0.87962566  # of a normal number that share is left by a cut at two sigmas
    assert 0.99 * edge < x.abs().max().item() <= edge * (1 + 1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [1e-2, 1.0, 300.0, 60_000.0])
def test_norm_in_half_precision_is_that_of_single(dtype, size):
    """Rounded once, at the end. The square of 300 is more than float16 has."""
    x = (torch.randn(3, 5, 7, generator=Generator().manual_seed(0)).clamp(-1, 1) * size).to(dtype)
    for dim in (-1, -2):
        found = trm.rms_norm(x, dim)
        assert found.dtype == dtype and torch.equal(found, trm.rms_norm(x.float(), dim).to(dtype))
    even, right = torch.full((1, 1, 5), size, dtype=dtype), size / math.sqrt(size**2 + 1e-5)
    assert trm.rms_norm(even)[0, 0, 0].item() == pytest.approx(right, rel=torch.finfo(dtype).eps)
