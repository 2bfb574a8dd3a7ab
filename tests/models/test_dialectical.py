import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator
from torch.testing import assert_close

from attn_notes.analysis.leaks import future_leak
from attn_notes.models.dialectical import PARTS, PUBLISHED, Config, LanguageModel, Observed
from attn_notes.tasks import brackets
from attn_notes.tasks.brackets import PAD

V = 7


def make(config, seed=0, **sizes):
    """A small model in double precision whose weights are far from their start."""
    sizes = {"context": 13, "width": 11, "head_dim": 5, "steps": 4, **sizes}
    generator = Generator().manual_seed(seed)
    model = LanguageModel(replace(config, **sizes), generator).double()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1.5).add_(0.2 * torch.randn(p.shape, generator=generator, dtype=p.dtype))
    return model


def strings(n, t, seed=0):
    """Padded strings of 1 to t characters, one of them of t."""
    generator = Generator().manual_seed(seed)
    x = torch.randint(PAD, (n, t), generator=generator)
    lengths = torch.randint(1, t + 1, (n, 1), generator=generator)
    lengths[0] = t
    return x.masked_fill(torch.arange(t) >= lengths, PAD)


def independent_forward(model, x):
    """The same function, token by token and key by key.

    As published, what a token tells others once it has halted has no gradient.
    """
    c, w = model.config, dict(model.named_parameters())
    (b, t), d = x.shape, c.head_dim

    def norm(h, name):
        h = (h - h.mean()) / (h.var(unbiased=False) + 1e-5).sqrt()
        return h * w[f"block.{name}.weight"] + w[f"block.{name}.bias"]

    def affine(h, name):
        return w[f"{name}.weight"] @ h + w[f"{name}.bias"]

    def silu(h):
        return h / (1 + torch.exp(-h))

    w_q, w_k, w_v = w["block.head.qkv.weight"].split(d)
    places = list(itertools.product(range(b), range(t)))
    kept = {(n, i): x[n, i].item() != PAD for n, i in places}
    h = {(n, i): w["token.weight"][x[n, i]] + w["position.weight"][i] for n, i in places}
    z = {at: norm(h[at], "ln1") for at in places}
    active = dict(kept)
    attentions = torch.zeros(b, c.steps, c.streams, t, t, dtype=torch.float64)
    tensions = torch.zeros(b, c.steps, t, dtype=torch.float64)
    actives = torch.zeros(b, c.steps, t, dtype=torch.bool)
    keeps = torch.zeros(b, c.steps, t, dtype=torch.bool)
    for s in range(c.steps):
        moved, halts = {}, {}
        whole = c.halting == "absorbing"
        read = {at: z[at] if whole or active[at] else z[at].detach() for at in places}
        for n, i in places:
            q = w_q @ read[n, i]
            streams, here = [], []
            for stream in range(c.streams):
                scores = torch.full((t,), -math.inf, dtype=torch.float64)
                for j in range(t):
                    k = w_k @ read[n, j]
                    if c.mask == "published":
                        reads, score = kept[n, j], torch.tensor(0.0, dtype=torch.float64)
                    else:
                        reads, score = (kept[n, j] and j < i) or j == i, q @ k / d**0.5
                    if c.tilts == "key":  # by the query it is the same for all j
                        score = score + w["block.head.tilt"][:, stream] @ k
                    if reads:
                        scores[j] = score
                attention = scores.softmax(0)
                attentions[n, s, stream, i] = attention.detach()
                u = torch.zeros(d, dtype=torch.float64)
                for j in range(t):
                    v = w_v @ read[n, j]
                    if c.values == "opposed":
                        v = w["block.head.poles.weight"].split(d)[stream] @ v
                    u = u + attention[j] * v
                streams.append(u)
                here.append(attention)
            if c.streams == 1:
                tension = torch.tensor(1.0, dtype=torch.float64)
                made = torch.cat([streams[0], q])
            else:
                up, un = streams
                made = torch.cat([up, un, up - un, up + un, q])
                if c.tension == "cosine":
                    tension = 0.5 - 0.5 * (up @ un) / (up.norm() * un.norm())
                else:
                    tension = 1 - torch.minimum(here[0], here[1]).sum()  # what they do not share
                tension = tension.clamp(0, 1)  # of rounding
            proposal = affine(silu(affine(made, "block.head.synthesis")), "block.head.up")
            step = affine(q, "block.head.gate").sigmoid() if c.learned_gate else 1
            step = step * (tension if c.tension_gate else 1)
            moved[n, i] = z[n, i] + step * proposal
            small = (moved[n, i] - z[n, i]).norm() / z[n, i].norm() < c.halt_eps
            halts[n, i] = (
                kept[n, i] and s + 1 >= c.min_steps and bool(small or tension < c.tension_tau)
            )
            tensions[n, s, i], actives[n, s, i] = tension.detach(), active[n, i]
        anyone = s == 0 or any(active.values())
        for at in places:
            going = anyone if c.halting == "published" else active[at]
            keeps[at[0], s, at[1]] = going and not halts[at]
            z[at] = moved[at] if going and not halts[at] else z[at]
            active[at] = active[at] and not halts[at]
    logits = torch.zeros(b, t, c.vocabulary, dtype=torch.float64)
    for n, i in places:
        out = h[n, i] + affine(z[n, i], "block.out")
        inner = silu(affine(norm(out, "ln2"), "block.feed_forward.l1"))
        logits[n, i] = affine(out + affine(inner, "block.feed_forward.l2"), "unembedding")
    return logits, Observed(attentions, tensions, actives, keeps)


@given(
    config=st.builds(
        Config,
        **{part: st.sampled_from(kinds) for part, kinds in PARTS.items()},
        streams=st.sampled_from([2, 2, 1]),
        tension_gate=st.booleans(),
        learned_gate=st.booleans(),
        min_steps=st.integers(1, 3),
        tension_tau=st.sampled_from([0.0, 0.2, 0.4, 0.6]),
        halt_eps=st.sampled_from([0.0, 0.3]),
    ),
    steps=st.integers(1, 4),
    length=st.integers(1, 5),
    seed=st.integers(0, 9999),
)
def test_forward_equals_an_independent(config, steps, length, seed) -> None:
    """And where attention reads the past, padding may stand anywhere, and a row in no batch."""
    model = make(config, seed, steps=steps)
    x = strings(3, length, seed)
    if config.mask == "causal":
        x = x.masked_fill(torch.rand(x.shape, generator=Generator().manual_seed(seed)) < 0.2, PAD)
    logits, observed = model.observe(x)
    expected, seen = independent_forward(model, x)
    assert_close(observed.attention, seen.attention)
    assert_close(observed.tension, seen.tension)
    assert torch.equal(observed.active, seen.active)
    assert torch.equal(observed.steps, seen.active.long().sum(1))
    assert_close(logits, expected)
    assert torch.equal(logits, model(x))
    upstream = torch.randn(logits.shape, generator=Generator().manual_seed(seed)).double()
    slopes = [
        torch.autograd.grad(found, list(model.parameters()), upstream, materialize_grads=True)
        for found in (logits, expected)
    ]
    assert_close(*slopes)
    if config.halting == "absorbing":
        assert_close(model(x[0]), logits[0])


def test_the_published_mask_leaks() -> None:
    model = make(Config(mask="published"))
    assert future_leak(model, strings(5, 7), V) > 1e-3


def test_the_published_halting_leaks_by_itself() -> None:
    """A token that has started again stops when the last one halts, which may come after it."""
    parts = dict(values="opposed", tension="cosine", halting="published")
    config = Config(**parts, tension_tau=0.5)
    model = make(config, seed=6, steps=8)  # not in every model does a token start again
    assert future_leak(model, strings(1, 7), V) > 1e-3


def test_the_published_streams_attend_evenly_and_alike() -> None:
    model = make(replace(PUBLISHED, tension_tau=0.0, halt_eps=0.0))
    x = strings(5, 7)
    _, observed = model.observe(x)
    kept = (x != PAD).double()
    even = (kept / kept.sum(1, keepdim=True))[:, None, None, None, :]
    assert_close(observed.attention, even.expand_as(observed.attention))
    brackets.loss(model, (x, x)).backward()
    head = model.block.head
    assert (head.qkv.weight.grad[5:10] == 0).all()  # W_k
    assert head.tilt.grad.abs().max() < 1e-12 and head.bias.grad.abs().max() < 1e-12
    assert head.qkv.weight.grad[:5].abs().max() > 1e-3  # W_q, by the other ways


def test_published_tension_is_one_by_construction_and_never_halts(generator) -> None:
    model = LanguageModel(PUBLISHED, generator)
    x = strings(5, 29)
    _, observed = model.observe(x)
    assert observed.tension.transpose(1, 2)[x != PAD].min() > 0.95
    assert torch.equal(observed.steps, 6 * (x != PAD))


def test_published_rows_depend_on_their_batch_mates() -> None:
    """Some do, in one of a dozen models."""
    for seed in range(12):
        model = make(replace(PUBLISHED, tension_tau=0.5, halt_eps=0.3), seed, steps=8)
        x = strings(17, 7)
        together, alone = model(x), torch.cat([model(row[None]) for row in x])
        moved = (together - alone).abs().amax(-1) > 1e-3
        if (moved & (x != PAD)).any():
            return
    raise AssertionError("every row is what it is alone")


def test_corrected_streams_begin_opposed(generator) -> None:
    head = LanguageModel(Config(), generator).block.head
    assert torch.equal(head.tilt[:, 0], -head.tilt[:, 1])
    assert head.tilt.std().item() == pytest.approx(1 / 8, rel=0.3)  # 1 / √64
    _, observed = LanguageModel(Config(), generator).observe(strings(7, 29))
    assert (observed.tension[:, 0, 0] == 0).all()  # the first token has no choice
    assert observed.tension[0, 0, 5:].min() > Config().tension_tau


def test_sizes_are_the_published_ones() -> None:
    c = PUBLISHED
    assert (c.width, c.head_dim, c.steps, c.min_steps, c.context) == (128, 64, 6, 1, 256)
    assert (c.halt_eps, c.tension_tau) == (5e-4, 0.15)
    assert replace(c, **{part: getattr(Config(), part) for part in PARTS}) == Config()


@pytest.mark.parametrize("config", [Config(), PUBLISHED])
def test_padding_is_what_the_config_says(config) -> None:
    x = torch.tensor([[2, 3, 0, 0]])
    model = make(replace(config, pad=0))
    same = make(config)
    assert_close(model(x)[:, :2], same(x.masked_fill(x == 0, PAD))[:, :2])


def test_a_batch_of_padding_takes_the_sources_first_step() -> None:
    """The source asks only after a step whether anyone still moves."""
    model = make(replace(PUBLISHED, steps=3))
    x = torch.full((1, 4), PAD)
    logits, observed = model.observe(x)
    once = make(replace(PUBLISHED, steps=1))
    assert_close(logits, once(x))
    assert observed.steps.max() == 0
