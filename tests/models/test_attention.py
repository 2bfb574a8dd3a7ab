import jaxtyping
import pytest
import torch
from torch import Generator
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from attn_notes.models.attention import StandardAttention, causal_attention, linear, rotate


def test_equals_torchs_own(generator: Generator) -> None:
    q, k = torch.randn(2, 3, 5, 7, 11, generator=generator).double()
    v = torch.randn(3, 5, 7, 13, generator=generator).double()
    values, attention = causal_attention(q, k, v)
    assert_close(values, scaled_dot_product_attention(q, k, v, is_causal=True))
    assert_close(attention.sum(-1), torch.ones(3, 5, 7).double())
    assert (attention.triu(1) == 0).all()


def test_shapes_are_checked_while_testing() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        causal_attention(torch.ones(2, 3, 5), torch.ones(2, 3, 7), torch.ones(2, 3, 5))


def turned(x: torch.Tensor, base: float) -> torch.Tensor:
    """RoPE by multiplication with complex numbers, coordinates left in pairs."""
    t, d = x.shape[-2:]
    pairs = torch.view_as_complex(x.unflatten(-1, (d // 2, 2)).contiguous())
    angles = torch.tensor(
        [[s / base ** (2 * i / d) for i in range(d // 2)] for s in range(t)], dtype=torch.float64
    )
    return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(-2)


@pytest.mark.parametrize("base", [10_000.0, 7.0])
def test_rotary_positions_are_complex_multiplication(base: float, generator: Generator) -> None:
    q, k = torch.randn(2, 3, 11, 14, generator=generator, dtype=torch.float64)
    expected = turned(q, base) @ turned(k, base).mT
    # Angles are in single precision.
    assert_close(rotate(q, base) @ rotate(k, base).mT, expected, rtol=1e-5, atol=1e-5)
    assert_close(rotate(q)[:, 0], q[:, 0, [*range(0, 14, 2), *range(1, 14, 2)]])


def test_rotary_products_depend_on_the_offset_only(generator: Generator) -> None:
    q, k = torch.randn(2, 1, 14, generator=generator, dtype=torch.float64)
    products = rotate(q.expand(13, 14)) @ rotate(k.expand(13, 14)).mT
    for offset in range(-12, 13):
        diagonal = products.diagonal(offset)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=1e-5, atol=1e-5)


def test_rotary_positions_refuse_odd_sizes() -> None:
    with pytest.raises(ValueError, match="7 is odd"):
        rotate(torch.ones(5, 7))


def test_a_layer_equals_torchs_own_head_by_head(generator: Generator) -> None:
    layer = StandardAttention(11, 3, 14, generator).double()
    x = torch.randn(2, 7, 11, generator=generator, dtype=torch.float64)
    q, k, v = (x @ w.T for w in layer.qkv.weight.split(3 * 14))
    heads = [
        scaled_dot_product_attention(
            turned(q[..., part], 10_000.0),
            turned(k[..., part], 10_000.0),
            v[..., part],
            is_causal=True,
        )
        for part in (slice(0, 14), slice(14, 28), slice(28, 42))
    ]
    out, attention = layer(x)
    assert_close(out, torch.cat(heads, -1) @ layer.o.weight.T, rtol=1e-5, atol=1e-5)
    assert attention.shape == (2, 3, 7, 7)
    for i, head in enumerate(heads):
        assert_close(attention[:, i] @ v[..., 14 * i : 14 * i + 14], head, rtol=1e-5, atol=1e-5)


def test_a_layer_starts_as_torch_starts_its_own() -> None:
    """Kaiming with a = √5: uniform up to 1 / √inputs, and so is a bias."""
    layer = linear(64, 4096, Generator().manual_seed(0), bias=True)
    for p, rel in ((layer.weight, 0.01), (layer.bias, 0.05)):
        assert p.abs().max() <= 1 / 8
        assert p.std().item() == pytest.approx(1 / 8 / 3**0.5, rel=rel)
    assert linear(64, 4096, Generator()).bias is None
