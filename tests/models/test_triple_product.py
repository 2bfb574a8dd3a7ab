import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator
from torch.testing import assert_close

from attn_notes.models import triple_product
from attn_notes.models.attention import rotate
from attn_notes.models.triple_product import SCORES, VOLUMES, AttentionOnly, Config, cos2_to_plane


def true_volume(q, k, r):
    """det G of every query and key, in whole numbers: nothing is rounded until the end."""
    whole = np.vectorize(lambda x: int(x * 2.0**149), otypes=[object])  # float32 has none smaller
    q, k, r = (whole(x.double().numpy()) for x in (q, k, r))
    qq, rr, qr = ((a * b).sum(1)[:, None] for a, b in ((q, q), (r, r), (q, r)))
    kk, qk, rk = (k * k).sum(1), q @ k.T, r @ k.T
    det = qq * (rr * kk - rk**2) - qr * (qr * kk - rk * qk) + qk * (qr * rk - rr * qk)
    return torch.from_numpy((det / 2 ** (6 * 149)).astype(np.float64))


def hadamard(q, k, r):
    """The square root of the largest that det G could be."""
    q, k, r = (x.double().norm(dim=-1) for x in (q, k, r))
    return q[:, None] * k * r[:, None]


def vectors(kind, d, scale, generator):
    """Five queries and references and seven keys, float32, of a kind that makes trouble."""
    q, r = torch.randn(2, 5, d, generator=generator)
    k = torch.randn(7, d, generator=generator)
    match kind:
        case "in the plane" | "near the plane":  # of the first query, to rounding
            near = 1e-4 * k if kind[0] == "n" else 0
            k = torch.randn(7, 2, generator=generator) @ torch.stack([q[0], r[0]]) + near
        case "parallel":
            r = q * torch.tensor([1.0, -2.0, 0.5, 3.0, -1e-3])[:, None]
        case "nearly parallel":
            r = q + 1e-5 * r
        case "the query itself":
            k = torch.cat([q, -q[:2]])
        case "zero":
            q[0], r[1], k[2] = 0, 0, 0
        case "long keys":
            k = 1000 * k
    return scale * q, k, scale * r


KINDS = ["random", "in the plane", "near the plane", "parallel", "nearly parallel"]
KINDS += ["the query itself", "zero", "long keys"]


@given(
    kind=st.sampled_from(KINDS),
    d=st.sampled_from([3, 4, 7, 16, 31]),
    exponent=st.integers(-6, 5),
    seed=st.integers(0, 9999),
)
def test_the_stable_form_is_true_everywhere(kind, d, exponent, seed):
    q, k, r = vectors(kind, d, 10.0**exponent, Generator().manual_seed(seed))
    truth, largest = true_volume(q, k, r), hadamard(q, k, r).square()
    stable = VOLUMES["stable"](q, k, r)
    assert stable.dtype == q.dtype
    assert (stable >= 0).all() and (VOLUMES["projected"](q, k, r) >= 0).all()
    # Relative to the truth, down to what rounding in double leaves of the largest volume there is.
    error, tiny = (stable.double() - truth).abs(), torch.finfo(torch.float32).tiny
    assert (error <= 1e-5 * truth + 1e-14 * largest + tiny).all()
    # In single precision, the fast form is right to single rounding of the largest volume.
    assert ((VOLUMES["projected"](q, k, r).double() - truth).abs() <= 1e-5 * largest + tiny).all()


@given(kind=st.sampled_from(KINDS), exponent=st.integers(-3, 3), seed=st.integers(0, 9999))
def test_the_residual_keeps_digits_in_single_precision(kind, exponent, seed):
    """The error of the volume's square root is single rounding of the lengths, not its square."""
    q, k, r = vectors(kind, 7, 10.0**exponent, Generator().manual_seed(seed))
    truth, residual = true_volume(q, k, r), VOLUMES["residual"](q, k, r).double()
    assert (residual >= 0).all()
    assert ((residual.sqrt() - truth.sqrt()).abs() <= 5e-6 * hadamard(q, k, r)).all()


def test_the_published_form_goes_negative_and_the_stable_one_does_not(generator):
    q, k, r = vectors("in the plane", 16, 1.0, generator)
    q, k, r = q[:1], 1000 * torch.cat([k] * 20) * torch.rand(140, 1, generator=generator), r[:1]
    published, stable = VOLUMES["expanded"](q, k, r), VOLUMES["stable"](q, k, r)
    negative = published < 0
    assert negative.float().mean() > 0.2 and published.abs().max() > 100
    assert ((stable.double() - true_volume(q, k, r)).abs()[negative] < 1e-5).all()


@pytest.mark.parametrize("form", [*VOLUMES, "cos2"])
def test_gradients_are_finite(form):
    function = cos2_to_plane if form == "cos2" else VOLUMES[form]
    for kind, scale in itertools.product(KINDS, [1e-12, 1e-4, 1.0, 1e3]):
        inputs = [x.requires_grad_() for x in vectors(kind, 6, scale, Generator().manual_seed(1))]
        function(*inputs).sum().backward()
        assert all(x.grad is not None and x.grad.isfinite().all() for x in inputs), (kind, scale)


@pytest.mark.parametrize("form", ["projected", "residual", "stable"])
def test_gradients_equal_those_of_the_determinant(form, generator):
    q, r = torch.randn(2, 2, 3, 5, generator=generator, dtype=torch.float64).requires_grad_()
    k = torch.randn(2, 7, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, 3, 7, generator=generator, dtype=torch.float64)
    triples = torch.stack(
        [x.expand(2, 3, 7, 5) for x in (q[:, :, None], k[:, None], r[:, :, None])], -2
    )
    truth, ours = torch.linalg.det(triples @ triples.mT), VOLUMES[form](q, k, r)
    assert_close(ours, truth)
    slopes = [torch.autograd.grad(volume, (q, k, r), weights) for volume in (ours, truth)]
    assert_close(*slopes, rtol=1e-9, atol=1e-9)


@given(
    d=st.sampled_from([2, 4, 6, 10, 14]),
    t=st.integers(1, 13),
    scale=st.floats(0.3, 2),
    seed=st.integers(0, 999),
)
def test_quadratic_features_give_the_same_score(d, t, scale, seed):
    generator = Generator().manual_seed(seed)
    q, k, r, v = scale * torch.randn(4, 3, 2, t, d, generator=generator, dtype=torch.float64)
    phi, psi = triple_product.quadratic_features(q, k, r)
    assert phi.shape == psi.shape == (3, 2, t, d * (d + 1) // 2)
    assert_close(phi @ psi.mT, -VOLUMES["expanded"](q, k, r))
    future = torch.ones(t, t, dtype=torch.bool).triu(1)
    scores = (-VOLUMES["stable"](q, k, r) / d**1.5).masked_fill(future, -math.inf)
    assert_close(triple_product.feature_attention(q, k, r, v), scores.softmax(-1) @ v)


def test_angles_are_angles(generator):
    """cos² to the plane: what a least-squares fit of the key by q and r explains."""
    q, r = torch.randn(2, 5, 7, generator=generator, dtype=torch.float64)
    k = torch.randn(11, 7, generator=generator, dtype=torch.float64)
    found = cos2_to_plane(q, k, r)
    for i in range(5):
        plane = torch.stack([q[i], r[i]], 1)
        fit = (plane @ torch.linalg.lstsq(plane, k.T).solution).T
        assert_close(found[i], fit.square().sum(1) / k.square().sum(1))
    loud = torch.logspace(-3, 3, 11, dtype=torch.float64)[:, None]
    assert_close(cos2_to_plane(q * 3, k * loud, r * 0.2), found)
    assert_close(cos2_to_plane(q, q, r).diagonal(), torch.ones(5, dtype=torch.float64))


@pytest.mark.parametrize("length", [1.0, -3.0, 1e-3, 1e3, 0.0])
def test_without_a_plane_the_angle_is_to_the_query(length, generator):
    q, k = torch.randn(5, 16, generator=generator), torch.randn(7, 16, generator=generator)
    cosines = (q @ k.T) / (q.norm(dim=1)[:, None] * k.norm(dim=1))
    assert_close(cos2_to_plane(q, k, length * q), cosines**2, rtol=0, atol=2e-3)
    assert torch.equal(cos2_to_plane(q, 0 * k, length * q), torch.zeros(5, 7))


def independent_forward(model, x, loudness):
    """The same function for one sequence: loops, and the determinant of every Gram matrix."""
    config, w = model.config, dict(model.named_parameters())

    def norm(h, n):
        rms = (h.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return h / rms * w[f"norms.{n}.weight"] if config.residual else h

    h = w["embedding.weight"][x] * loudness[:, None]
    for n in range(config.layers):
        w_n = {name.removeprefix(f"layers.{n}."): p for name, p in w.items()}
        names = "qkv" if config.score in ("dot", "line") else "qkrv"
        made = norm(h, n) @ w_n[f"{names}.weight"].T
        parts = made.unflatten(-1, (len(names), config.heads, -1)).unbind(1)
        out = []
        for head in range(config.heads):
            here = {name: part[:, head] for name, part in zip(names, parts, strict=True)}
            v = here.pop("v")
            here = {name: rotate(p) for name, p in here.items()}
            rows = []
            for i in range(len(x)):
                scores = []
                for j in range(i + 1):
                    q, k = here["q"][i], here["k"][j]
                    if config.score == "dot":
                        score = q @ k / config.d**0.5
                    elif config.score == "line":
                        score = w_n["beta"][head] * (q @ k) ** 2 / (q @ q) / (k @ k)
                    elif config.score == "volume":
                        triple = torch.stack([q, k, here["r"][i]])
                        score = -torch.linalg.det(triple @ triple.T) / config.d**1.5
                    else:
                        basis = torch.linalg.qr(torch.stack([q, here["r"][i]], 1)).Q
                        score = w_n["beta"][head] * (k @ basis).square().sum() / (k @ k)
                    scores.append(score)
                rows.append(torch.stack(scores).softmax(0) @ v[: i + 1])
            out.append(torch.stack(rows))
        y = torch.cat(out, -1) @ w_n["o.weight"].T
        h = h + y if config.residual else y
    return norm(h, config.layers) @ w["unembedding.weight"].T


@given(
    config=st.builds(
        Config,
        score=st.sampled_from(SCORES),
        form=st.sampled_from([*VOLUMES]),
        vocabulary=st.just(13),
        width=st.sampled_from([5, 7, 11]),
        heads=st.integers(1, 3),
        head_dim=st.sampled_from([2, 4, 6]),
        layers=st.integers(1, 3),
        residual=st.booleans(),
    ),
    length=st.integers(1, 7),
    seed=st.integers(0, 999),
)
def test_forward_equals_an_independent_one(config, length, seed):
    generator = Generator().manual_seed(seed)
    model = AttentionOnly(config, generator).double()
    for p in model.parameters():
        p.data = 1.5 * p + 0.2 * torch.randn(p.shape, generator=generator, dtype=torch.float64)
    x = torch.randint(13, (3, length), generator=generator)
    loudness = 0.5 + torch.rand(x.shape, generator=generator).double()
    logits, attention = model.observe(x, loudness)
    expected = torch.stack([*map(independent_forward, [model] * 3, x, loudness)])
    if config.head_dim == 2 and config.score == "angle":
        assert_close(logits, expected)  # every key lies in the plane: attention is even
        even = 1 / torch.arange(1, length + 1, dtype=torch.float64)[:, None]
        assert_close(attention, even.expand(length, length).tril().expand_as(attention))
    assert_close(logits, expected, rtol=1e-6, atol=1e-6)
    assert torch.equal(logits, model(x, loudness))
    assert_close(model(x), model(x, torch.ones_like(loudness)))
    assert attention.shape == (3, config.layers, config.heads, length, length)
    assert_close(attention.sum(-1), torch.ones_like(attention[..., 0]))


def test_the_volume_is_the_published_score():
    assert (triple_product.PUBLISHED.score, triple_product.PUBLISHED.form) == ("volume", "expanded")


@pytest.mark.parametrize("form", VOLUMES)
def test_a_layer_uses_the_form_that_it_was_made_with(form, generator, monkeypatch):
    called = []
    for name, volume in VOLUMES.items():
        monkeypatch.setitem(VOLUMES, name, lambda *x, n=name, v=volume: called.append(n) or v(*x))
    AttentionOnly(Config("volume", form), generator)(torch.ones(1, 3, dtype=torch.long))
    assert called == [form]


@pytest.mark.parametrize("score", SCORES)
def test_what_attention_is_made_from_gives_it_back(score, generator):
    config = Config(score, vocabulary=7, width=13, heads=3, head_dim=4, layers=2, residual=True)
    model = AttentionOnly(config, generator).double().requires_grad_(False)
    x = torch.randint(0, 7, (2, 11), generator=generator)
    loudness = 1 + torch.rand(2, 11, generator=generator).double()
    logits, attention, scores, q, k, *rest = model.look(x, loudness)
    assert_close((logits, attention), model.observe(x, loudness))
    future = torch.ones(11, 11, dtype=torch.bool).triu(1)
    assert_close(scores.masked_fill(future, -math.inf).softmax(-1), attention)
    assert len(rest) == (score in ("volume", "angle"))
    vectors = (q, k, *rest)
    assert all(vector.shape == (2, 2, 3, 11, 4) for vector in vectors)
    again = [layer.scores(*(v[:, i] for v in vectors)) for i, layer in enumerate(model.layers)]
    assert_close(torch.stack(again, 1), scores)


@pytest.mark.parametrize("scale", [1e-13, 1e-9, 1e-6, 1.0, 1e6, 1e15])
@pytest.mark.parametrize("near", [1.0, 1e-3])
def test_an_angle_is_one_at_all_lengths(scale, near, generator):
    q, noise = torch.randn(2, 5, 7, generator=generator)
    k, r = torch.randn(11, 7, generator=generator), q + near * noise
    found = cos2_to_plane(scale * q, k / scale, scale * r)
    truth = cos2_to_plane(q.double(), k.double(), r.double())
    assert_close(found.double(), truth, rtol=0, atol=1e-5 / near)
    assert found.max() < 1 + 1e-5


@pytest.mark.parametrize("near", [1e-2, 1e-3, 1e-4, 3e-5])
def test_the_plane_of_near_parallels_has_a_right_angle(near, generator):
    """No cosine is above 1. One that projects on two directions askew is, by the cosine of these.

    A single orthogonalisation leaves them askew by rounding over `near`.
    """
    q, noise = torch.randn(2, 400, 5, generator=generator)
    r = q + near * noise
    first = q / q.norm(dim=1, keepdim=True)
    rest = r - (r * first).sum(1, keepdim=True) * first
    second = rest / rest.norm(dim=1, keepdim=True)
    for key in (first + second, first - second):
        cos2 = cos2_to_plane(q[:, None], key[:, None], r[:, None])
        assert cos2.max() <= 1 + 20 * torch.finfo(q.dtype).eps
